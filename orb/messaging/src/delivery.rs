//! Gives the outcome of a call to its reply handler: to one of this process from the reply's own
//! octets, to one of another process as a call.
//!
//! [`ReplyStub`] is what generated code says of one operation; `orb/core` calls its [`Deliver`] for
//! `sendc_…`. Pollers whose handler was set and dynamic requests use the same functions. Paper AMI
//! §2, §3.1; CORBA Messaging §22.6, §22.8.

use crate::exception_holder::{ExceptionHolder, reply_body_as};
use corbie_cdr::{Decoder, Encoder, Error};
use corbie_core::server::serve_local;
use corbie_core::{Deliver, Object, Operation, Reply, ReplySink};
use corbie_types::{SystemException, TypeCode};

/// See [`ReplyStub::forward`].
type Forward = fn(&mut Reply, Option<&Object>) -> Result<(), SystemException>;

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

impl Deliver for ReplyStub {
    /// The results become a call of `operation` on the handler, an exception one of
    /// `excep_operation`.
    fn deliver(&self, handler: &Object, outcome: Result<Reply, SystemException>) {
        let operations = HandlerOperations {
            results: &self.operation,
            exception: &self.excep_operation,
            forward: &self.forward,
            exception_type: &|id| {
                let known = self.exceptions.iter().find(|(known, _)| *known == id);
                known.map(|(_, type_code)| type_code())
            },
        };
        operations.call(handler, outcome);
    }
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
        let delivered = if handler.is_local()
            && let Some(arguments) = reply.decoder()
        {
            serve_local(handler, self.results.name(), arguments)
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
        self.raise(handler, Some(&came), &|e| {
            let other = reply_body_as(&came, self.exception_type, e.version(), e.code_sets());
            let (order, body) = other.as_ref().map_or((order, body), |o| (o.0, o.1.as_slice()));
            ExceptionHolder::write(false, order, body, e)
        })
    }

    #[cold]
    fn raise_system(
        &self,
        handler: &Object,
        exception: &SystemException,
    ) -> Result<(), SystemException> {
        let mut body = Encoder::native();
        exception.encode_reply(&mut body)?;
        if let (true, Some(detail)) = (handler.is_local(), &exception.detail) {
            // Why it was raised is known here, and only here.
            body.write_str(detail)?;
        }
        let (order, body) = (body.order(), body.to_vec());
        self.raise(handler, None, &|e| ExceptionHolder::write(true, order, &body, e))
    }

    /// Calls the handler with the exception holder that `write` writes. A handler of this process
    /// reads it in the version and the code sets of the reply that `came`.
    fn raise(
        &self,
        handler: &Object,
        came: Option<&Decoder<'_>>,
        write: &dyn Fn(&mut Encoder<'_>) -> Result<(), Error>,
    ) -> Result<(), SystemException> {
        if !handler.is_local() {
            return handler.invoke_async(self.exception, &|e| write(e), ReplySink::discard());
        }
        let mut e = Encoder::native();
        if let Some(came) = came {
            e.set_version(came.version());
            e.set_code_sets(came.code_sets());
        }
        write(&mut e)?;
        let (orb, octets) = (handler.orb(), e.to_vec());
        let mut arguments = Decoder::new(&octets, e.order());
        arguments.set_version(e.version());
        arguments.set_code_sets(e.code_sets());
        arguments.set_limits(orb.limits());
        arguments.set_context(Some(orb));
        serve_local(handler, self.exception.name(), arguments)
    }
}
