//! Brings the outcome of an asynchronous call to its sink: each exactly once.
//!
//! Called by the thread that takes a request out of a connection's table: the one that reads its
//! reply, that finds its time over, or that closes the connection. No lock is held here.
//! Paper AMI §2.1, §3.2; CORBA Messaging §22.6.

use crate::Orb;
use crate::client::BindingRef;
use crate::client::asynchronous::{AwaitedCall, Call, Opened, policies_of, start_again};
use crate::client::attempts::{Answer, after_exception, after_fault, after_redirect};
use crate::client::reply_sink::Sink;
use crate::client::{CallFault, Reply, ReplySink};
use crate::connection::{ConnectionFault, ConnectionPool, MuxedConnection};
use corbie_cdr::payload::PayloadMemory;
use corbie_giop::{Message, OwnedMessage, ReplyStatus};
use corbie_types::SystemException;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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
    pending: AwaitedCall,
    owned: OwnedReply,
    status: ReplyStatus,
    body: usize,
) {
    let reply = Reply::owned(orb, owned, status, body);
    let operation = pending.call.operation.clone();
    match reply.into_answer(&operation) {
        Answer::Done(reply) => {
            answered(&pending.call);
            complete(pending.call, Ok(reply));
        }
        Answer::Raised(exception) => again(pending, |call, binding| {
            after_exception(&call.object, binding, &mut call.attempts, exception)
        }),
        Answer::Redirected(to) => again(pending, |call, binding| {
            let Call { object, operation, attempts, policies, .. } = call;
            let policies = policies_of(object, policies.as_deref())?;
            after_redirect(object, operation, binding, &policies, attempts, to)
        }),
    }
}

/// Later calls begin at the address that answered.
fn answered(call: &Call) {
    call.object.note_bound();
    if call.attempts.address() != 0
        && let Ok(binding) = call.object.binding()
    {
        binding.prefer(call.attempts.address());
    }
}

/// The connection ended, or its time did, before there was a reply: sends the call again where that
/// is safe.
#[cold]
pub(crate) fn failed(pending: AwaitedCall, fault: ConnectionFault) {
    again(pending, |call, binding| {
        let Call { object, operation, attempts, .. } = call;
        after_fault(object, operation, binding, attempts, CallFault::Connection(fault))
    });
}

/// Sends the call again as `prepare` says, or ends it.
#[cold]
fn again(
    mut pending: AwaitedCall,
    prepare: impl FnOnce(&mut Call, &BindingRef<'_>) -> Result<(), SystemException>,
) {
    let object = pending.call.object.clone();
    let prepared = object.binding().and_then(|binding| prepare(&mut pending.call, &binding));
    if let Err(exception) = prepared {
        return complete(pending.call, Err(exception));
    }
    pending.call.clock.sending_again();
    send(pending, None);
}

/// A call that stood in the line of `pool` goes over the `connection` that was opened for it.
pub(crate) fn send_over(
    pending: AwaitedCall,
    pool: &ConnectionPool,
    connection: &Arc<MuxedConnection>,
) {
    send(pending, Some((pool, connection)));
}

fn send(pending: AwaitedCall, opened: Opened<'_>) {
    if pending.call.sink.is_cancelled() {
        return;
    }
    if let Err((call, exception)) = start_again(pending, opened) {
        complete(call, Err(exception));
    }
}

/// Gives the outcome to the sink.
fn complete(call: Call, outcome: Result<Reply, SystemException>) {
    let Call { operation, sink, .. } = call;
    match sink {
        ReplySink(Sink::Handler { handler, stub }) => stub.deliver(&handler, outcome),
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
