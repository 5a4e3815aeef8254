//! Where the reply to an asynchronous call goes: to a reply handler, a waiting thread or future, a
//! function, or nowhere.
//!
//! Made by generated code (`sendc_…`) and by `Object::invoke_deferred`; kept with the request until
//! `client/delivery` gives it the reply. Paper AMI §2, §3.1; CORBA Messaging §22.7.

use crate::client::Waiting;
use crate::{Object, Reply};
use corbie_types::SystemException;
use std::fmt;
use std::sync::Arc;

/// A function that takes the outcome of a call.
pub(crate) type Receiver = Box<dyn FnOnce(Result<Reply, SystemException>) + Send>;

/// What takes the outcome of an asynchronous call: exactly once.
pub struct ReplySink(pub(crate) Sink);

pub(crate) enum Sink {
    Handler { handler: Object, stub: &'static dyn Deliver },
    Waiting(Arc<Waiting>),
    Function(Receiver),
    Discard,
}

/// Gives the outcome of a call to its reply handler. `orb/messaging` implements it.
pub trait Deliver: Sync {
    /// Calls `handler` with the outcome. Never fails: what goes wrong is logged.
    fn deliver(&self, handler: &Object, outcome: Result<Reply, SystemException>);
}

impl ReplySink {
    /// A reply handler, called as `stub` says.
    #[must_use]
    pub fn handler(handler: &Object, stub: &'static dyn Deliver) -> Self {
        ReplySink(Sink::Handler { handler: handler.clone(), stub })
    }

    /// A function, called by the thread that reads the reply: it should be brief, and must not wait
    /// for other replies of the same connection.
    #[must_use]
    pub fn function(
        receiver: impl FnOnce(Result<Reply, SystemException>) + Send + 'static,
    ) -> Self {
        ReplySink(Sink::Function(Box::new(receiver)))
    }

    /// Nothing: results are dropped and exceptions are logged (a nil handler, paper AMI §2.1).
    #[must_use]
    pub fn discard() -> Self {
        ReplySink(Sink::Discard)
    }

    /// What shares the outcome with the thread or future that waits for it.
    #[inline]
    pub(crate) fn as_waiting(&self) -> Option<&Arc<Waiting>> {
        match &self.0 {
            Sink::Waiting(waiting) => Some(waiting),
            _ => None,
        }
    }

    /// Whether the application gave the call up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.as_waiting().is_some_and(|waiting| waiting.is_cancelled())
    }

    pub(crate) fn waiting(waiting: &Arc<Waiting>) -> Self {
        ReplySink(Sink::Waiting(Arc::clone(waiting)))
    }
}

impl fmt::Debug for ReplySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Sink::Handler { .. } => "ReplySink::handler",
            Sink::Waiting(_) => "ReplySink of a PendingReply",
            Sink::Function(_) => "ReplySink::function",
            Sink::Discard => "ReplySink::discard",
        })
    }
}
