//! The outcome of a call as a call of its reply handler: of this process, where it is served from
//! the reply's own octets, or of another one.
//!
//! Used by `delivery`, by pollers whose handler was set, and by dynamic requests.
//! CORBA Messaging §22.6, §22.8.

use crate::client::reply_sink::ReplyStub;
use crate::client::{Reply, ReplySink};
use crate::messaging::{ExceptionHolder, reply_body_as};
use crate::server::dispatch;
use crate::{Object, Operation};
use corbie_cdr::{ByteOrder, Decoder, Encoder};
use corbie_types::{SystemException, TypeCode};

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
