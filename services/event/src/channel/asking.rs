//! From what a client connects to the object that is called: asks it for its typed object, and
//! that object for its interface (Event Service 1.2 §2.9.3, §2.9.4).
//!
//! Used when a typed proxy is connected (`server::typed::reaching`), and when a peer of a durable
//! channel is called again after a failure or a start of the server. Each question is sent by a
//! worker, since it may have to connect, and no thread waits for the answers.

use super::Channel;
use crate::exception::no_policy;
use crate::workers::Workers;
use corbie::cdr::Error;
use corbie::policy::{Policy, SetOverrideType};
use corbie::types::Ior;
use corbie::{
    Encoder, Marshal as _, Object, Operation, Reply, ReplySink, SystemException,
    SystemExceptionKind,
};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

const IS_A: Operation = Operation::twoway("_is_a");

/// What is asked for a typed object.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// What the client connects.
    pub(crate) peer: Object,
    /// What gives its typed object.
    pub(crate) operation: Operation,
    /// The repository id of the interface that this is to have.
    pub(crate) interface: String,
}

/// Why there is no typed object.
#[derive(Debug)]
pub(crate) enum NotTyped {
    /// It has not the interface that is needed: a sentence.
    Other(String),
    System(SystemException),
}

type OnAnswer = Box<dyn FnOnce(Result<Object, NotTyped>) + Send>;

/// One attempt.
struct Asking {
    workers: Arc<Workers>,
    patience: Duration,
    question: Question,
    /// Lock "asking": held to take it out once.
    then: Mutex<Option<OnAnswer>>,
}

/// Asks `question`, and gives the typed object, or why there is none, to `then`.
pub(crate) fn ask(
    channel: &Channel,
    question: &Question,
    then: impl FnOnce(Result<Object, NotTyped>) + Send + 'static,
) {
    ask_by(channel.workers(), channel.qos().push_timeout, question, then);
}

fn ask_by(
    workers: &Arc<Workers>,
    patience: Duration,
    question: &Question,
    then: impl FnOnce(Result<Object, NotTyped>) + Send + 'static,
) {
    let then = Mutex::new(Some(Box::new(then) as OnAnswer));
    let (workers, question) = (Arc::clone(workers), question.clone());
    let asking = Arc::new(Asking { workers, patience, question, then });
    let workers = Arc::clone(&asking.workers);
    workers.soon(move || {
        let next = Arc::clone(&asking);
        let then = move |outcome| next.got_typed_object(outcome);
        let Question { peer, operation, .. } = &asking.question;
        asking.send(peer, operation, &|_| Ok(()), then);
    });
}

impl Asking {
    fn got_typed_object(self: Arc<Self>, outcome: Result<Reply, SystemException>) {
        let found = outcome.and_then(|mut reply| {
            let ior = reply.results_only(Ior::decode)?;
            Ok((!ior.is_nil()).then(|| self.question.peer.related(ior)))
        });
        let object = match found {
            Ok(Some(object)) => object,
            Ok(None) => {
                return self.end(Err(NotTyped::Other("its typed object is nil".to_owned())));
            }
            Err(exception) => return self.end(Err(NotTyped::System(exception))),
        };
        let workers = Arc::clone(&self.workers);
        workers.soon(move || {
            if object.ior().type_id == self.question.interface {
                return self.end(Ok(object));
            }
            let (next, typed) = (Arc::clone(&self), object.clone());
            let then = move |outcome| next.got_whether_it_is(typed, outcome);
            self.send(&object, &IS_A, &|e| e.write_string(&self.question.interface), then);
        });
    }

    fn got_whether_it_is(&self, typed: Object, outcome: Result<Reply, SystemException>) {
        let found = match outcome.and_then(|mut reply| reply.results_only(bool::decode)) {
            Ok(true) => Ok(typed),
            Ok(false) => {
                let why = format!("its typed object is no {}", self.question.interface);
                Err(NotTyped::Other(why))
            }
            Err(exception) => Err(NotTyped::System(exception)),
        };
        self.end(found);
    }

    fn send<'a>(
        &self,
        object: &Object,
        operation: &Operation,
        write: &dyn Fn(&mut Encoder<'a>) -> Result<(), Error>,
        then: impl FnOnce(Result<Reply, SystemException>) + Send + 'static,
    ) {
        let sent = patient(object, self.patience)
            .and_then(|o| o.invoke_async(operation, write, ReplySink::function(then)));
        if let Err(exception) = sent {
            self.end(Err(NotTyped::System(exception)));
        }
    }

    /// An object that does not know the question is of another type.
    fn end(&self, outcome: Result<Object, NotTyped>) {
        use SystemExceptionKind as K;
        let outcome = outcome.map_err(|why| match why {
            NotTyped::System(exception)
                if matches!(exception.kind, K::BadOperation | K::NoImplement | K::Unknown) =>
            {
                NotTyped::Other(format!("it is no typed object: {exception}"))
            }
            why => why,
        });
        let then = self.then.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(then) = then {
            then(outcome);
        }
    }
}

fn patient(object: &Object, patience: Duration) -> Result<Object, SystemException> {
    // Ours does not travel: clocks need not agree.
    let patience = Policy::RelativeReplyTimeout(patience);
    object.set_policy_overrides(&[patience], SetOverrideType::Add).map_err(no_policy)
}

/// Whose operations a proxy calls.
pub(crate) enum Target {
    /// What was connected, or what it gave as its typed object then.
    Fixed(Object),
    /// What it gives as its typed object: asked for again after a failure, since it may have
    /// been started again, with other objects.
    Asked(Asked),
}

/// The typed object of a peer.
pub(crate) struct Asked {
    question: Question,
    workers: Weak<Workers>,
    /// How long the questions may take, and how long calls may.
    patience: Duration,
    patience_of_calls: Duration,
    /// Lock "typed object of a peer": held to take it and to put it in.
    object: Mutex<Option<Object>>,
}

impl Target {
    /// `object`, which may take so long for a call.
    ///
    /// # Errors
    /// What setting policies says.
    pub(crate) fn fixed(object: &Object, calls: Duration) -> Result<Self, SystemException> {
        patient(object, calls).map(Target::Fixed)
    }

    /// What answers to `question`; `object` does now, if it is known.
    ///
    /// # Errors
    /// What setting policies says.
    pub(crate) fn asked(
        channel: &Channel,
        question: Question,
        object: Option<&Object>,
        calls: Duration,
    ) -> Result<Self, SystemException> {
        let object = object.map(|object| patient(object, calls)).transpose()?;
        Ok(Target::Asked(Asked {
            question,
            workers: Arc::downgrade(channel.workers()),
            patience: channel.qos().push_timeout,
            patience_of_calls: calls,
            object: Mutex::new(object),
        }))
    }

    /// The object to call, if it is known.
    pub(super) fn object(&self) -> Option<Cow<'_, Object>> {
        match self {
            Target::Fixed(object) => Some(Cow::Borrowed(object)),
            Target::Asked(asked) => asked.lock().clone().map(Cow::Owned),
        }
    }

    /// A call of it failed: whether another object may be in its place when it is asked for.
    pub(super) fn forget(&self) -> bool {
        match self {
            Target::Fixed(_) => false,
            Target::Asked(asked) => asked.lock().take().is_some(),
        }
    }

    /// Asks for the object, which is known then, and says how that went.
    pub(super) fn find(&self, found: impl FnOnce(Result<Object, NotTyped>) + Send + 'static) {
        let Target::Asked(asked) = self else { return };
        let Some(workers) = asked.workers.upgrade() else { return };
        let calls = asked.patience_of_calls;
        ask_by(&workers, asked.patience, &asked.question, move |outcome| {
            found(outcome.and_then(|object| patient(&object, calls).map_err(NotTyped::System)));
        });
    }

    /// This is the object.
    pub(super) fn set(&self, object: Object) {
        if let Target::Asked(asked) = self {
            *asked.lock() = Some(object);
        }
    }
}

impl Asked {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Object>> {
        self.object.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
