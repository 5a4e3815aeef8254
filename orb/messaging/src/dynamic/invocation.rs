//! Sending a dynamic request and reading its reply (CORBA 3.3 P1 §11.2.3, §11.2.4).
//!
//! The arguments are written straight from the anys' octets into the message, and results are
//! taken out of the reply as octets; both go through the calls that generated stubs make.

use super::deferred::State;
use super::{Exception, Flags, Request};
use corbie_cdr::{Encoder, Error};
use corbie_core::Reply;
use corbie_core::generated_code::encode_context;
use corbie_types::{Any, Minor, SystemException, TcKind, minor};

/// The operations of every object that may be called dynamically (CORBA 3.3 P1 §11.2.1).
const IMPLICIT_OPERATIONS: &[&str] =
    &["_is_a", "_non_existent", "_repository_id", "_interface", "_component", "_domain_managers"];

impl Request {
    /// Calls the operation and waits for its answer.
    ///
    /// # Errors
    /// [`Exception::User`] for a user exception that the request lists, `UNKNOWN` for another one;
    /// system exceptions as [`Object::invoke`](corbie_core::Object::invoke). `BAD_INV_ORDER`
    /// (`COMPLETED_NO`), minor 5, when the request was used before; `BAD_PARAM` (`COMPLETED_NO`),
    /// minor 32, for an implicit operation that is not to be called.
    pub fn invoke(&mut self) -> Result<(), Exception> {
        self.check_unused(minor::BAD_INV_ORDER_REQUEST_USED_TWICE)?;
        self.operation.response_expected = true;
        let reply = self.target.invoke(&self.operation, &|e| self.write(e));
        let outcome = reply.map_err(Exception::System).and_then(|reply| self.read(reply));
        self.state = State::Done(outcome.clone());
        outcome
    }

    /// Sends the request; there will be no answer. It is what an operation declared `oneway`
    /// wants; another one is carried out, and its results and exceptions are lost.
    ///
    /// # Errors
    /// As [`Object::invoke_oneway`](corbie_core::Object::invoke_oneway); `BAD_INV_ORDER`
    /// (`COMPLETED_NO`), minor 10, when the request was used before.
    pub fn send_oneway(&mut self) -> Result<(), SystemException> {
        self.check_unused(minor::BAD_INV_ORDER_REQUEST_SENT)?;
        self.operation.response_expected = false;
        self.state = State::Sent;
        self.target.invoke_oneway(&self.operation, &|e| self.write(e))
    }

    /// # Errors
    /// `BAD_INV_ORDER` with this minor code when the request was used before, `BAD_PARAM` for
    /// operations that are not to be called dynamically.
    pub(super) fn check_unused(&self, minor: Minor) -> Result<(), SystemException> {
        if !matches!(self.state, State::Ready) {
            return Err(used(self.operation(), minor));
        }
        let name = self.operation();
        if name.starts_with('_') && !is_callable(name) {
            return Err(implicit(name));
        }
        Ok(())
    }

    /// Writes the in and inout arguments, and the context if the operation has one.
    pub(super) fn write<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
        self.arguments.encode(Flags::is_sent, e)?;
        if self.contexts.is_empty() {
            return Ok(());
        }
        encode_context(&self.contexts, &self.context, e)
    }

    /// Takes the results, or the user exception, out of the reply.
    pub(super) fn read(&mut self, mut reply: Reply) -> Result<(), Exception> {
        if let Some(id) = reply.user_exception() {
            let listed = self.exceptions.iter().find(|listed| listed.id() == id).cloned();
            let Some(listed) = listed else {
                return Err(reply.unknown_user_exception().into());
            };
            return Err(Exception::User(reply.results(|d| Any::decode_exception(listed, d))?));
        }
        let (result, arguments) = (&mut self.result, &mut self.arguments);
        reply.results(|d| {
            if result.type_code().kind() != TcKind::Void {
                *result = Any::decode_value(result.type_code().clone(), d)?;
            }
            arguments.decode(Flags::is_returned, d)
        })?;
        Ok(())
    }
}

fn is_callable(name: &str) -> bool {
    name.starts_with("_get_") || name.starts_with("_set_") || IMPLICIT_OPERATIONS.contains(&name)
}

#[cold]
fn used(operation: &str, minor: Minor) -> SystemException {
    minor.no(format!(
        "the request for {operation} was sent before; a request is used once: make another one"
    ))
}

#[cold]
fn implicit(operation: &str) -> SystemException {
    minor::BAD_PARAM_DII_IMPLICIT_OPERATION.no(format!(
        "{operation} is no operation that can be called dynamically: of those that every object \
         has, these can: {}",
        IMPLICIT_OPERATIONS.join(", ")
    ))
}
