//! A request to connect a typed peer: its object is asked for its typed one (`channel::ask`), and
//! the request is answered when that is connected, or not.
//!
//! Used by `push_supplier` and `pull_consumer` (Event Service 1.2 §2.9.3, §2.9.4).

use crate::channel::{self, Channel, NotTyped, Question};
use crate::cos_event_channel_admin::{AlreadyConnected, TypeError};
use crate::server::proxies::{GiveUp, is_nil};
use crate::server::proxy::{Flow, NotConnected, Proxy};
use corbie::types::Ior;
use corbie::{
    CompletionStatus, Marshal as _, Object, ResponseHandler, ServerRequest, SystemException,
    SystemExceptionKind, minor,
};
use std::sync::Arc;

const ALREADY_CONNECTED: &str = AlreadyConnected::REPOSITORY_ID;
const TYPE_ERROR: &str = TypeError::REPOSITORY_ID;

/// Why a client's object is not connected.
enum NotReached {
    /// It has not the interface that is needed.
    TypeError(String),
    Not(NotConnected),
}

/// The reference that is the argument of a request to connect; none for nil.
fn peer_of(request: &ServerRequest<'_>) -> Result<Option<Object>, SystemException> {
    let ior = Ior::decode(&mut request.arguments())?;
    Ok((!ior.is_nil()).then(|| request.reference(ior)))
}

/// Serves a request to connect: asks the peer `question`, connects what `begin` makes of it and its
/// typed object, and answers. `what`: what the peer is called where it is nil.
pub(super) fn connect(
    proxy: &Arc<Proxy>,
    request: &mut ServerRequest<'_>,
    what: &str,
    question: impl FnOnce(&Object) -> Question,
    begin: impl FnOnce(&Arc<Channel>, &Object, &Object, GiveUp) -> Result<Flow, SystemException>
    + Send
    + 'static,
) -> Result<(), SystemException> {
    let peer = peer_of(request)?.ok_or_else(|| is_nil(what))?;
    peer.check_egress()?;
    let response = request.defer();
    if let Err(refusal) = proxy.check_fresh() {
        answer(response, Err(NotReached::Not(refusal)));
        return Ok(());
    }
    let (proxy, question) = (Arc::clone(proxy), question(&peer));
    let channel = Arc::clone(proxy.channel());
    ask(&channel, &question, response, move |typed| {
        proxy.connect(Some(&peer), |give_up| begin(proxy.channel(), &peer, typed, give_up))
    });
    Ok(())
}

/// Answers a request to connect.
fn answer(response: ResponseHandler, outcome: Result<(), NotReached>) {
    let answered = match outcome {
        Ok(()) => response.reply(&|_| Ok(())),
        Err(NotReached::TypeError(why)) => {
            tracing::info!(why, "a client's object was not connected");
            response.reply_exception(TYPE_ERROR, &|_| Ok(()))
        }
        Err(NotReached::Not(NotConnected::Already)) => {
            response.reply_exception(ALREADY_CONNECTED, &|_| Ok(()))
        }
        Err(NotReached::Not(NotConnected::System(exception))) => response.raise(&exception),
    };
    if let Err(gone) = answered {
        tracing::debug!(%gone, "a client went before it was connected");
    }
}

/// Asks `question`, connects the typed object, and answers `response`.
fn ask(
    channel: &Channel,
    question: &Question,
    response: ResponseHandler,
    connect: impl FnOnce(&Object) -> Result<(), NotConnected> + Send + 'static,
) {
    channel::ask(channel, question, move |found| {
        let outcome = match found {
            Ok(typed) => connect(&typed).map_err(NotReached::Not),
            Err(NotTyped::Other(why)) => Err(NotReached::TypeError(why)),
            Err(NotTyped::System(exception)) => Err(NotReached::Not(explained(exception).into())),
        };
        answer(response, outcome);
    });
}

/// Not as if the channel were gone.
fn explained(exception: SystemException) -> SystemException {
    use SystemExceptionKind as K;
    match exception.kind {
        K::ObjectNotExist | K::InvObjref => {
            let text = format!("what was to be connected is not there: {exception}");
            SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
                .with_detail(text)
        }
        _ => exception,
    }
}
