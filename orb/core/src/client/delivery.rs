//! Brings the outcome of an asynchronous call to its sink: each exactly once.
//!
//! Called by whoever takes a request out of a connection's table of pending ones: the thread that
//! reads its reply, that finds its time over, or that closes the connection. No lock is held here.
//! Paper AMI §2.1, §3.2; CORBA Messaging §22.6.

use crate::client::asynchronous::{Call, PendingRequest, begin_again, count_forward, start_again};
use crate::client::invoke::{Answer, Elsewhere, follow};
use crate::client::reply_sink::{ReplyStub, Sink};
use crate::client::{Reply, ReplySink};
use crate::connection::MuxedConnection;
use crate::connection::driver::ReceiveFailure;
use crate::messaging::{ExceptionHolder, reply_body_as};
use crate::policy::CallPolicies;
use crate::server::dispatch;
use crate::{Object, Operation, Orb};
use corbie_cdr::payload::PayloadMemory;
use corbie_cdr::{ByteOrder, Decoder, Encoder};
use corbie_giop::{Message, OwnedMessage, ReplyStatus};
use corbie_transport::Endpoint;
use corbie_types::{CompletionStatus, SystemException, SystemExceptionKind, TypeCode, minor};
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

/// Calls the reply handler with the outcome.
pub(crate) fn to_handler(
    handler: &Object,
    stub: &'static ReplyStub,
    outcome: Result<Reply, SystemException>,
) {
    let operations = HandlerOperations {
        results: &stub.operation,
        exception: &stub.excep_operation,
        forward: &stub.forward,
        exception_type: &|id| {
            let known = stub.exceptions.iter().find(|(known, _)| *known == id);
            known.map(|(_, type_code)| type_code())
        },
    };
    operations.call(handler, outcome);
}

/// [`ReplyStub::forward`] as a function made at run time.
type Forwarding<'s> = dyn Fn(&mut Reply, Option<&Object>) -> Result<(), SystemException> + 's;

/// What a reply handler is called with, from generated code or learnt at run time.
pub(crate) struct HandlerOperations<'s> {
    /// Takes the results.
    pub(crate) results: &'s Operation,
    /// Takes an exception.
    pub(crate) exception: &'s Operation,
    /// See [`ReplyStub::forward`].
    pub(crate) forward: &'s Forwarding<'s>,
    /// The types of the user exceptions that are known, by repository id.
    pub(crate) exception_type: &'s dyn Fn(&str) -> Option<TypeCode>,
}

impl HandlerOperations<'_> {
    /// Calls `handler` with the outcome.
    pub(crate) fn call(&self, handler: &Object, outcome: Result<Reply, SystemException>) {
        let delivered = match outcome {
            Ok(reply) if !reply.is_user_exception() => self.results(handler, reply),
            Ok(reply) => self.raise_user(handler, &reply),
            Err(exception) => self.raise_system(handler, &exception),
        };
        if let Err(exception) = delivered {
            let operation = self.results.name();
            tracing::warn!(operation, %exception, "a reply handler did not take a reply");
        }
    }

    /// The body of the reply is the list of arguments of the handler's operation: a handler of this
    /// process reads it where it lies.
    fn results(&self, handler: &Object, mut reply: Reply) -> Result<(), SystemException> {
        let delivered = if let Some(key) = handler.local_key()
            && let Some(arguments) = reply.decoder()
        {
            dispatch::local(handler.orb(), key, self.results.name(), arguments)
        } else {
            (self.forward)(&mut reply, Some(handler))
        };
        let Err(exception) = delivered else { return Ok(()) };
        // Results that cannot be decoded never reached the handler: that is an outcome, too.
        match (self.forward)(&mut reply, None) {
            Err(unreadable) => self.raise_system(handler, &unreadable),
            Ok(()) => Err(exception),
        }
    }

    #[cold]
    fn raise_user(&self, handler: &Object, reply: &Reply) -> Result<(), SystemException> {
        let Some(came) = reply.decoder() else { return Ok(()) };
        let (order, body) = reply.body_octets();
        let as_needed =
            |e: &Encoder<'_>| reply_body_as(&came, self.exception_type, e.version(), e.code_sets());
        let mut e = Encoder::native();
        if let Some(key) = handler.local_key() {
            // The handler reads the exception in the code sets that it came in.
            e.set_version(came.version());
            e.set_code_sets(came.code_sets());
            let other = as_needed(&e);
            let (order, body) = other.as_ref().map_or((order, body), |o| (o.0, o.1.as_slice()));
            ExceptionHolder::write_copied(false, order, body, &mut e)?;
            return self.raise_local(handler, key, &e);
        }
        handler.invoke_async(
            self.exception,
            &|e| {
                let other = as_needed(e);
                let (order, body) = other.as_ref().map_or((order, body), |o| (o.0, o.1.as_slice()));
                ExceptionHolder::write_copied(false, order, body, e)
            },
            ReplySink::discard(),
        )
    }

    #[cold]
    fn raise_system(
        &self,
        handler: &Object,
        exception: &SystemException,
    ) -> Result<(), SystemException> {
        let local = handler.local_key();
        let mut body = Encoder::native();
        exception.encode_reply(&mut body)?;
        if let (Some(_), Some(detail)) = (local, &exception.detail) {
            // Why it was raised is known here, and only here.
            body.write_str(detail)?;
        }
        let body = body.into_buffer();
        if let Some(key) = local {
            let mut e = Encoder::native();
            ExceptionHolder::write(true, ByteOrder::NATIVE, &body, &mut e)?;
            return self.raise_local(handler, key, &e);
        }
        handler.invoke_async(
            self.exception,
            &|e| ExceptionHolder::write(true, ByteOrder::NATIVE, &body, e),
            ReplySink::discard(),
        )
    }

    fn raise_local(
        &self,
        handler: &Object,
        key: &[u8],
        holder: &Encoder<'_>,
    ) -> Result<(), SystemException> {
        let orb = handler.orb();
        let octets = holder.to_vec();
        let mut arguments = Decoder::new(&octets, holder.order());
        arguments.set_version(holder.version());
        arguments.set_code_sets(holder.code_sets());
        arguments.set_limits(orb.limits());
        arguments.set_context(Some(orb));
        dispatch::local(orb, key, self.exception.name(), arguments)
    }
}
