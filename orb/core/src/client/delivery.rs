//! Brings the outcome of an asynchronous call to its sink: each exactly once.
//!
//! Called by whoever takes a request out of a connection's table of pending ones: the thread that
//! reads its reply, that finds its time over, or that closes the connection. No lock is held here.
//! Paper AMI §2.1, §3.2; CORBA Messaging §22.6.

#[cfg(feature = "messaging")]
mod handler;

use crate::Orb;
use crate::client::asynchronous::{Call, PendingRequest, begin_again, count_forward, start_again};
use crate::client::invoke::{Answer, Elsewhere, follow};
use crate::client::reply_sink::Sink;
use crate::client::{Reply, ReplySink};
use crate::connection::MuxedConnection;
use crate::connection::driver::ReceiveFailure;
use crate::policy::CallPolicies;
use corbie_cdr::payload::PayloadMemory;
use corbie_giop::{Message, OwnedMessage, ReplyStatus};
use corbie_transport::Endpoint;
use corbie_types::{CompletionStatus, SystemException, SystemExceptionKind, minor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[cfg(feature = "messaging")]
pub(crate) use handler::{HandlerOperations, to_handler};

/// A reply that was taken out of the connection's reader.
pub(crate) struct OwnedReply {
    message: OwnedMessage,
    pub(crate) connection: Arc<MuxedConnection>,
}

impl OwnedReply {
    #[inline]
    pub(crate) fn new(message: OwnedMessage, connection: Arc<MuxedConnection>) -> Self {
        OwnedReply { message, connection }
    }

    #[inline]
    pub(crate) fn message(&self) -> Message<'_> {
        self.message.as_message()
    }

    /// The memory that the application's allocator gave for it.
    #[inline]
    pub(crate) fn memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        self.message.memory()
    }
}

/// The reply to `pending` has come.
pub(crate) fn reply(
    orb: &Orb,
    pending: PendingRequest,
    owned: OwnedReply,
    status: ReplyStatus,
    body: usize,
) {
    let reply = Reply::owned(orb, owned, status, body);
    let operation = pending.call.operation.clone();
    match reply.into_answer(&operation) {
        Answer::Done(reply) => {
            pending.call.object.note_bound();
            complete(pending.call, Ok(reply));
        }
        Answer::Raised(exception) => raised(pending, exception),
        Answer::Elsewhere(elsewhere) => forwarded(pending, elsewhere),
    }
}

#[cold]
fn raised(mut pending: PendingRequest, exception: SystemException) {
    let gone = exception.kind == SystemExceptionKind::ObjectNotExist
        && exception.completed == CompletionStatus::No;
    let call = &mut pending.call;
    let is_forwarded = call.object.binding().is_ok_and(|binding| binding.is_forwarded());
    if !gone || call.progress.fell_back || !is_forwarded {
        return complete(pending.call, Err(exception));
    }
    begin_again(call);
    again(pending);
}

#[cold]
fn forwarded(mut pending: PendingRequest, elsewhere: Elsewhere) {
    let call = &mut pending.call;
    let followed = count_forward(call).and_then(|()| {
        let binding = call.object.binding()?;
        // Those of the thread that made the call are not known any more.
        let policies = CallPolicies::effective(&call.object)?;
        follow(&call.object, &binding, &policies, elsewhere)
    });
    match followed {
        Ok(()) => again(pending),
        Err(exception) => complete(pending.call, Err(exception)),
    }
}

/// The server closed in order and served nothing of what was pending: sends it again.
#[cold]
pub(crate) fn unserved(mut pending: PendingRequest, endpoint: &Endpoint) {
    if pending.call.progress.note_closed() {
        let minor = minor::TRANSIENT_CLOSE_CONNECTION;
        let exception =
            SystemException::transient(minor, CompletionStatus::No).with_detail(format!(
                "{endpoint} closed the connection before it served {}, twice",
                pending.call.operation.name()
            ));
        return complete(pending.call, Err(exception));
    }
    again(pending);
}

#[cold]
fn again(pending: PendingRequest) {
    if let Err((call, exception)) = start_again(pending) {
        complete(call, Err(exception));
    }
}

/// What became of `pending` is not known.
#[cold]
pub(crate) fn broken(
    pending: &PendingRequest,
    endpoint: &Endpoint,
    failure: &ReceiveFailure,
) -> SystemException {
    let maybe = CompletionStatus::Maybe;
    let why: &dyn std::fmt::Display = match failure {
        ReceiveFailure::Giop(error) => return error.to_system_exception(maybe),
        ReceiveFailure::Io(error) => error,
        ReceiveFailure::TooSlow => &"a message was not complete in time",
        ReceiveFailure::Closed | ReceiveFailure::NothingCame => &"the server closed it",
    };
    SystemException::comm_failure(minor::COMM_FAILURE_CLOSED, maybe).with_detail(format!(
        "the connection to {endpoint} broke while {} waited for its reply: {why}; the server may \
         have carried it out",
        pending.call.operation.name()
    ))
}

/// `pending` ends with `exception`.
#[cold]
pub(crate) fn fail(pending: PendingRequest, exception: SystemException) {
    complete(pending.call, Err(exception));
}

/// Gives the outcome to the sink.
fn complete(call: Call, outcome: Result<Reply, SystemException>) {
    let Call { operation, sink, .. } = call;
    match sink {
        #[cfg(feature = "messaging")]
        ReplySink(Sink::Handler { handler, stub }) => to_handler(&handler, stub, outcome),
        ReplySink(Sink::Waiting(waiting)) => waiting.complete(outcome),
        ReplySink(Sink::Function(receiver)) => {
            // A receiver that panics fails its own call, not those of others.
            if catch_unwind(AssertUnwindSafe(|| receiver(outcome))).is_err() {
                tracing::error!(
                    operation = operation.name(),
                    "a function that took a reply panicked"
                );
            }
        }
        ReplySink(Sink::Discard) => {
            if let Err(exception) = outcome {
                let operation = operation.name();
                tracing::warn!(operation, %exception, "a call without a handler failed");
            }
        }
    }
}
