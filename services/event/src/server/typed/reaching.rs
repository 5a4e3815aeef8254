//! A request to connect a typed peer: its object is asked for its typed one (`channel::ask`), and
//! the request is answered when that is connected, or not.
//!
//! Used by `push_supplier` and `pull_consumer` (Event Service 1.2 §2.9.3, §2.9.4).

use crate::channel::{self, Channel, NotTyped, Question};
use crate::cos_event_channel_admin::{AlreadyConnected, TypeError};
use crate::server::proxy::NotConnected;
use corbie::types::Ior;
use corbie::{
    CompletionStatus, Marshal as _, Object, ResponseHandler, ServerRequest, SystemException,
    SystemExceptionKind,
};

const ALREADY_CONNECTED: &str = AlreadyConnected::REPOSITORY_ID;
const TYPE_ERROR: &str = TypeError::REPOSITORY_ID;

/// Why a client's object is not connected.
pub(super) enum NotReached {
    /// It has not the interface that is needed.
    TypeError(String),
    Not(NotConnected),
}

/// The reference that is the argument of a request to connect; none for nil.
pub(super) fn peer_of(request: &ServerRequest<'_>) -> Result<Option<Object>, SystemException> {
    let ior = Ior::decode(&mut request.arguments())?;
    Ok((!ior.is_nil()).then(|| Object::new(request.orb(), ior)))
}

/// Answers a request to connect.
pub(super) fn answer(response: ResponseHandler, outcome: Result<(), NotReached>) {
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
pub(super) fn begin(
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
            SystemException::bad_param(0, CompletionStatus::No).with_detail(text)
        }
        _ => exception,
    }
}
