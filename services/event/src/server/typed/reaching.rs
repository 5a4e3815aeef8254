//! From what a client connects to the object that is called: asks it for its typed object, and
//! that object for its interface (Event Service 1.2 §2.9.3, §2.9.4).
//!
//! Used by `push_supplier` and `pull_consumer`. Each question is sent by a worker, since it may
//! have to connect, and nobody waits for the answers: the client's request is answered at the end.

use crate::channel::{self, Channel};
use crate::cos_event_channel_admin::{AlreadyConnected, TypeError};
use crate::server::proxy::NotConnected;
use corbie::cdr::Error;
use corbie::policy::{Policy, SetOverrideType};
use corbie::types::Ior;
use corbie::{
    CompletionStatus, Encoder, Marshal as _, Object, Operation, Reply, ReplySink, ResponseHandler,
    ServerRequest, SystemException, SystemExceptionKind,
};
use std::sync::{Arc, Mutex, PoisonError};

const IS_A: Operation = Operation::twoway("_is_a");
const ALREADY_CONNECTED: &str = AlreadyConnected::REPOSITORY_ID;
const TYPE_ERROR: &str = TypeError::REPOSITORY_ID;

/// Why a client's object is not connected.
pub(super) enum NotReached {
    /// It has not the interface that is needed.
    TypeError(String),
    Not(NotConnected),
}

/// What connects the object that is to be called.
type Connect = Box<dyn FnOnce(&Object) -> Result<(), NotConnected> + Send>;

/// One attempt to connect.
pub(super) struct Reaching {
    channel: Arc<Channel>,
    /// What the client connects.
    peer: Object,
    /// What the client's object is asked for its typed one.
    question: Operation,
    /// The repository id of the interface that this is to have.
    interface: String,
    /// Lock "reaching": held to take out what is needed once.
    end: Mutex<Option<(ResponseHandler, Connect)>>,
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

impl Reaching {
    /// Asks `peer`, which a client connects, by the operation `question` for its typed object,
    /// which `connect` is given if it has `interface`; then answers `response`.
    pub(super) fn begin(
        channel: &Arc<Channel>,
        (peer, question): (Object, Operation),
        interface: &str,
        response: ResponseHandler,
        connect: impl FnOnce(&Object) -> Result<(), NotConnected> + Send + 'static,
    ) {
        let end = Mutex::new(Some((response, Box::new(connect) as Connect)));
        let (channel, interface) = (Arc::clone(channel), interface.to_owned());
        let reaching = Arc::new(Self { channel, peer, question, interface, end });
        let workers = Arc::clone(reaching.channel.workers());
        workers.soon(move || {
            let next = Arc::clone(&reaching);
            let then = move |outcome| next.got_typed_object(outcome);
            reaching.ask(&reaching.peer, &reaching.question, &|_| Ok(()), then);
        });
    }

    fn got_typed_object(self: Arc<Self>, outcome: Result<Reply, SystemException>) {
        let found = outcome.and_then(|mut reply| {
            let ior = reply.results_only(Ior::decode)?;
            let object = (!ior.is_nil()).then(|| Object::new(self.peer.orb(), ior));
            Ok(object)
        });
        let object = match found {
            Ok(Some(object)) => object,
            Ok(None) => {
                return self.end(Err(NotReached::TypeError("its typed object is nil".to_owned())));
            }
            Err(exception) => return self.end(Err(explained(exception))),
        };
        let workers = Arc::clone(self.channel.workers());
        workers.soon(move || {
            if object.ior().type_id == self.interface {
                return self.connect(&object);
            }
            let (next, typed) = (Arc::clone(&self), object.clone());
            let then = move |outcome| next.got_whether_it_is(&typed, outcome);
            self.ask(&object, &IS_A, &|e| e.write_string(&self.interface), then);
        });
    }

    fn got_whether_it_is(&self, typed: &Object, outcome: Result<Reply, SystemException>) {
        match outcome.and_then(|mut reply| reply.results_only(bool::decode)) {
            Ok(true) => self.connect(typed),
            Ok(false) => {
                let why = format!("its typed object is no {}", self.interface);
                self.end(Err(NotReached::TypeError(why)));
            }
            Err(exception) => self.end(Err(explained(exception))),
        }
    }

    fn ask<'a>(
        &self,
        object: &Object,
        operation: &Operation,
        write: &dyn Fn(&mut Encoder<'a>) -> Result<(), Error>,
        then: impl FnOnce(Result<Reply, SystemException>) + Send + 'static,
    ) {
        let patience = Policy::RelativeReplyTimeout(self.channel.qos().push_timeout);
        let asked = object
            .set_policy_overrides(&[patience], SetOverrideType::Add)
            .map_err(channel::no_policy)
            .and_then(|object| object.invoke_async(operation, write, ReplySink::function(then)));
        if let Err(exception) = asked {
            self.end(Err(explained(exception)));
        }
    }

    fn connect(&self, typed: &Object) {
        if let Some((response, connect)) = self.take_end() {
            answer(response, connect(typed).map_err(NotReached::Not));
        }
    }

    fn end(&self, outcome: Result<(), NotReached>) {
        if let Some((response, _)) = self.take_end() {
            answer(response, outcome);
        }
    }

    fn take_end(&self) -> Option<(ResponseHandler, Connect)> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An object that does not know the question is of another type; anything else is told as it is,
/// but not as if the channel were gone.
fn explained(exception: SystemException) -> NotReached {
    use SystemExceptionKind as K;
    match exception.kind {
        K::BadOperation | K::NoImplement | K::Unknown => {
            NotReached::TypeError(format!("it is no typed object: {exception}"))
        }
        K::ObjectNotExist | K::InvObjref => {
            let text = format!("what was to be connected is not there: {exception}");
            let bad = SystemException::bad_param(0, CompletionStatus::No).with_detail(text);
            NotReached::Not(bad.into())
        }
        _ => NotReached::Not(exception.into()),
    }
}
