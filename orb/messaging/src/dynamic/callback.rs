//! Dynamic calls whose answer goes to a reply handler (CORBA 3.3 P2 §10.5: `Request::sendc`).
//!
//! The handler is an object like that of a typed `sendc_`: of the type that the implied IDL gives
//! the interface, or a dynamic servant.

use super::deferred::State;
use super::{ARG_OUT, Flags, NamedValue, NvList, Request};
use crate::delivery::HandlerOperations;
use corbie_core::{Object, Operation, OperationName, Reply, ReplySink};
use corbie_types::{Any, SystemException, TcKind, TypeCode, minor};

impl Request {
    /// Sends the request; its answer becomes a call of `handler`: results one of the operation with
    /// the same name (`get_x` and `set_x` for an attribute `x`), which takes the return value, then
    /// inout and out arguments; an exception one of that name with `_excep` at its end, which takes
    /// a `Messaging::ExceptionHolder`. Without a handler, results are dropped and exceptions
    /// logged.
    ///
    /// # Errors
    /// As [`Request::send_deferred`].
    pub fn sendc(&mut self, handler: Option<&Object>) -> Result<(), SystemException> {
        self.check_unused(minor::BAD_INV_ORDER_REQUEST_SENT)?;
        self.operation.response_expected = true;
        let sink = match handler {
            None => ReplySink::discard(),
            Some(handler) => {
                let (handler, callback) = (handler.clone(), self.callback());
                ReplySink::function(move |outcome| callback.deliver(&handler, outcome))
            }
        };
        self.target.invoke_async(&self.operation, &|e| self.write(e), sink)?;
        self.state = State::Sent;
        Ok(())
    }

    fn callback(&self) -> Callback {
        let name = self.operation();
        let name = name.strip_prefix('_').unwrap_or(name);
        let learnt =
            |name: String| Operation { name: OperationName::from(name), response_expected: true };
        let result = self.result.type_code();
        let result = (result.kind() != TcKind::Void).then(|| result.clone());
        let returned = self.arguments.iter().filter(|item| item.flags().is_returned());
        let types = result.into_iter().chain(returned.map(|item| item.type_code().clone()));
        let item = |type_code| NamedValue::new("", Any::without_value(type_code), ARG_OUT);
        Callback {
            results: learnt(name.to_owned()),
            exception: learnt(format!("{name}_excep")),
            arguments: types.map(item).collect(),
            exceptions: self.exceptions.clone(),
        }
    }
}

/// What the handler will be called with.
struct Callback {
    results: Operation,
    exception: Operation,
    /// The results, by their types.
    arguments: NvList,
    /// The user exceptions that are known.
    exceptions: Vec<TypeCode>,
}

impl Callback {
    fn deliver(self, handler: &Object, outcome: Result<Reply, SystemException>) {
        let forward = |reply: &mut Reply, handler: Option<&Object>| {
            let mut arguments = self.arguments.clone();
            reply.results(|d| arguments.decode(Flags::is_returned, d))?;
            let Some(handler) = handler else { return Ok(()) };
            let write = &|e: &mut _| arguments.encode(Flags::is_returned, e);
            handler.invoke_async(&self.results, write, ReplySink::discard())
        };
        let operations = HandlerOperations {
            results: &self.results,
            exception: &self.exception,
            forward: &forward,
            exception_type: &|id| self.exceptions.iter().find(|known| known.id() == id).cloned(),
        };
        operations.call(handler, outcome);
    }
}
