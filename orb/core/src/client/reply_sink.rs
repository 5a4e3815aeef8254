//! Where the reply to an asynchronous call goes: to a reply handler, a waiting thread or future, a
//! function, or nowhere.
//!
//! Made by generated code (`sendc_…`) and by `Object::invoke_deferred`; kept with the request until
//! `client/delivery` gives it the reply. Paper AMI §2, §3.1; CORBA Messaging §22.7.

use crate::client::Waiting;
use crate::{Object, Operation, Reply};
use corbie_types::{SystemException, TypeCode};
use std::fmt;
use std::sync::Arc;

/// A function that takes the outcome of a call.
pub(crate) type Receiver = Box<dyn FnOnce(Result<Reply, SystemException>) + Send>;

/// What takes the outcome of an asynchronous call: exactly once.
pub struct ReplySink(pub(crate) Sink);

pub(crate) enum Sink {
    #[cfg(feature = "messaging")]
    Handler {
        handler: Object,
        stub: &'static ReplyStub,
    },
    Waiting(Arc<Waiting>),
    Function(Receiver),
    Discard,
}

/// See [`ReplyStub::forward`].
pub(crate) type Forward = fn(&mut Reply, Option<&Object>) -> Result<(), SystemException>;

/// What generated code says about one operation of a reply handler's interface.
#[derive(Debug)]
pub struct ReplyStub {
    /// The operation that takes the results, for example `get_quote` of `AMI_QuoterHandler`.
    pub operation: Operation,
    /// The operation that takes an exception, for example `get_quote_excep`.
    pub excep_operation: Operation,
    /// Decodes the results, and sends them to a handler in another process; without a handler it
    /// only says whether they can be decoded.
    pub forward: Forward,
    /// The user exceptions that the operation may raise: repository id and TypeCode.
    pub exceptions: &'static [ExceptionType],
}

/// A user exception: its repository id, and what makes its TypeCode.
pub type ExceptionType = (&'static str, fn() -> TypeCode);

impl ReplySink {
    #[cfg(feature = "messaging")]
    /// A reply handler: the results become a call of `stub.operation` on it, an exception one of
    /// `stub.excep_operation`.
    #[must_use]
    pub fn handler(handler: &Object, stub: &'static ReplyStub) -> Self {
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
            #[cfg(feature = "messaging")]
            Sink::Handler { .. } => "ReplySink::handler",
            Sink::Waiting(_) => "ReplySink of a PendingReply",
            Sink::Function(_) => "ReplySink::function",
            Sink::Discard => "ReplySink::discard",
        })
    }
}
