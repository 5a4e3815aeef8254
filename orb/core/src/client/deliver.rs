//! Brings the outcome of a call to its sink, each exactly once: to a reply handler, a thread or
//! future that waits, a function, or nowhere.
//!
//! A sink is made by generated code (`sendc_…`) and by `Object::invoke_deferred`. The thread that
//! takes a request out of a connection's table calls this: the one that reads its reply, that finds
//! its time over, or that closes the connection. No lock is held here. Paper AMI §2, §3; CORBA
//! Messaging §22.6, §22.7.

use crate::Object;
use crate::client::attempts::{self, Answer, after_exception, after_fault, after_redirect};
use crate::client::awaited_call::{AwaitedCall, Opened, start_again};
use crate::client::csi::Names;
use crate::client::reply::OwnedReply;
use crate::client::{BindingRef, CallFault, Reply, ReplySlot};
use crate::connection::{Connection, ConnectionPool};
use crate::portable_interceptor::{FlowEnd, Watch};
use corbie_connection::{self as connection, AnswerStatus, ConnectionFault};
use corbie_giop::MessageKind;
use corbie_threads::thread::enter_delivery;
use corbie_types::SystemException;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A function that takes the outcome of a call.
pub(crate) type Receiver = Box<dyn FnOnce(Result<Reply, SystemException>) + Send>;

/// What takes the outcome of an asynchronous call: exactly once.
pub struct ReplySink(pub(crate) Sink);

pub(crate) enum Sink {
    Handler { handler: Object, stub: &'static dyn Deliver },
    Slot(Arc<ReplySlot>),
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
    pub(crate) fn as_slot(&self) -> Option<&Arc<ReplySlot>> {
        match &self.0 {
            Sink::Slot(slot) => Some(slot),
            _ => None,
        }
    }

    /// Whether the application gave the call up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.as_slot().is_some_and(|slot| slot.is_cancelled())
    }

    pub(crate) fn slot(slot: &Arc<ReplySlot>) -> Self {
        ReplySink(Sink::Slot(Arc::clone(slot)))
    }
}

impl fmt::Debug for ReplySink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Sink::Handler { .. } => "ReplySink::handler",
            Sink::Slot(_) => "ReplySink of a PendingReply",
            Sink::Function(_) => "ReplySink::function",
            Sink::Discard => "ReplySink::discard",
        })
    }
}

/// The reply to `call` has come.
pub(crate) fn reply(call: AwaitedCall, connection: Arc<Connection>, answer: connection::Answer) {
    let _delivery = enter_delivery();
    let AnswerStatus::Reply(status) = answer.status else {
        return failed(call, ConnectionFault::Unexpected(MessageKind::LocateReply));
    };
    let owned = OwnedReply::new(answer.message, connection);
    let reply = Reply::owned(&call.object, owned, status, answer.body);
    let operation = call.operation.clone();
    if let Some(watch) = &call.watch {
        reply.show_contexts(watch);
    }
    let answer = match call.names {
        Names::Nothing => reply.into_answer(&operation),
        names => reply.into_answer_of_user(&operation, names),
    };
    match answer {
        Answer::Done(reply) => {
            answered(&call);
            if call.watch.is_some() {
                return done_watched(call, reply);
            }
            complete(call, Ok(reply));
        }
        Answer::Raised(exception) => again(call, |call, binding| {
            after_exception(&call.object, binding, &mut call.attempts, exception)
        }),
        Answer::Redirected(to) => again(call, |call, binding| {
            let object = call.object.clone();
            let policies = call.policies(&object)?;
            let AwaitedCall { operation, attempts, .. } = call;
            after_redirect(&object, operation, binding, &policies, attempts, to)
        }),
    }
}

/// Later calls begin at the address that answered.
fn answered(call: &AwaitedCall) {
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
pub(crate) fn failed(call: AwaitedCall, fault: ConnectionFault) {
    again(call, |call, binding| {
        let AwaitedCall { object, operation, attempts, .. } = call;
        after_fault(object, operation, binding, attempts, CallFault::Connection(fault))
    });
}

/// Sends the call again as `prepare` says, or ends it.
#[cold]
fn again(
    mut call: AwaitedCall,
    prepare: impl FnOnce(&mut AwaitedCall, &BindingRef<'_>) -> Result<(), SystemException>,
) {
    let object = call.object.clone();
    let prepared = object.binding().and_then(|binding| {
        let prepared = prepare(&mut call, &binding);
        match call.watch.clone() {
            None => prepared,
            Some(watch) => again_watched(&mut call, &watch, &binding, prepared),
        }
    });
    if let Err(exception) = prepared {
        return complete(call, Err(exception));
    }
    call.clock.sending_again();
    send(call, None);
}

/// The reply to a call is here: interceptors see it first.
#[cold]
fn done_watched(call: AwaitedCall, mut reply: Reply) {
    let (watch, mut ending) = (call.watch.clone(), reply.ending());
    match watch.is_some_and(|watch| watch.outcome(&mut ending)) {
        false => complete(call, Ok(reply)),
        true => again(call, |call, binding| ended(call, binding, ending)),
    }
}

/// Shows interceptors how an attempt ended, and that another follows if `prepared` says so.
///
/// # Errors
/// What the call ends with.
#[cold]
fn again_watched(
    call: &mut AwaitedCall,
    watch: &Watch,
    binding: &BindingRef<'_>,
    prepared: Result<(), SystemException>,
) -> Result<(), SystemException> {
    if watch.is_over() {
        return prepared;
    }
    let mut ending = match &prepared {
        Ok(()) => attempts::watched::next(&call.object, binding),
        Err(exception) => FlowEnd::SystemException(exception.clone()),
    };
    if watch.outcome(&mut ending) { ended(call, binding, ending) } else { prepared }
}

/// Interceptors have changed how an attempt ended.
///
/// # Errors
/// What the call ends with.
fn ended(
    call: &mut AwaitedCall,
    binding: &BindingRef<'_>,
    ending: FlowEnd,
) -> Result<(), SystemException> {
    let object = call.object.clone();
    let policies = call.policies(&object)?;
    let AwaitedCall { operation, attempts, .. } = call;
    match ending {
        FlowEnd::SystemException(exception) => Err(exception),
        FlowEnd::Forward(to) => {
            attempts::after_forward(&object, operation, binding, &policies, attempts, &to)
        }
        _ => Ok(()),
    }
}

/// The call stood in a line of `pool`, for which `connection` was opened.
pub(crate) fn send_over(call: AwaitedCall, pool: &ConnectionPool, connection: &Arc<Connection>) {
    send(call, Some((pool, connection)));
}

/// The time of a call that had to leave later has come.
pub(crate) fn send_now(call: AwaitedCall) {
    send(call, None);
}

fn send(call: AwaitedCall, opened: Opened<'_>) {
    if call.sink.is_cancelled() {
        return;
    }
    if let Err((call, exception)) = start_again(call, opened) {
        complete(call, Err(exception));
    }
}

/// Gives the outcome to the sink.
fn complete(call: AwaitedCall, outcome: Result<Reply, SystemException>) {
    let AwaitedCall { operation, sink, .. } = call;
    match sink {
        ReplySink(Sink::Handler { handler, stub }) => stub.deliver(&handler, outcome),
        ReplySink(Sink::Slot(slot)) => slot.complete(outcome),
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
