//! A call made of parts at run time (CORBA 3.3 P1 §11.2: `Request`).
//!
//! Here it is put together and looked at; `invocation` and `deferred` send it.

use super::deferred::State;
use super::{ARG_IN, ARG_INOUT, DynamicOrb, Exception, NamedValue, NvList};
use corbie_core::{Interface, Object, Operation, OperationName};
use corbie_types::{Any, SystemException, TypeCode, Typed};
use std::borrow::Cow;
use std::fmt;

/// The properties that an operation with a `context` clause is called with: name and value.
pub type Context = Vec<(String, String)>;

/// A call of one operation of one object, used once.
///
/// ```no_run
/// # fn f(quoter: corbie_core::Object) -> Result<(), corbie_messaging::dynamic::Exception> {
/// use corbie_messaging::dynamic::DynamicObject;
/// use corbie_types::{Any, TypeCode};
/// let mut request = quoter.request("get_quote");
/// request.add_in_arg("stock_name", Any::string("ACME")?);
/// request.set_return_type(TypeCode::LONG);
/// request.invoke()?;
/// let price: i32 = request.returned::<i32>()?;
/// # let _ = price;
/// # Ok(())
/// # }
/// ```
pub struct Request {
    pub(super) target: Object,
    pub(super) operation: Operation,
    pub(super) arguments: NvList,
    pub(super) result: Any,
    pub(super) exceptions: Vec<TypeCode>,
    pub(super) contexts: Vec<String>,
    pub(super) context: Context,
    pub(super) state: State,
}

/// Makes requests for the operations of an object. Every reference has it, with a type or without.
pub trait DynamicObject: Interface {
    /// A request for the operation with this name: `_get_x` and `_set_x` for an attribute `x`. It
    /// has no arguments, no result and no exceptions until they are added.
    #[must_use]
    fn request(&self, operation: impl Into<OperationName>) -> Request {
        let name = operation.into();
        Request {
            target: self.as_object().clone(),
            operation: Operation { name, response_expected: true },
            arguments: NvList::new(),
            result: Any::without_value(TypeCode::VOID),
            exceptions: Vec::new(),
            contexts: Vec::new(),
            context: Vec::new(),
            state: State::Ready,
        }
    }

    /// A request with all its parts: `result` is the type of the return value (`None`: void),
    /// `exceptions` are the types of the user exceptions that the operation may raise, `contexts`
    /// are the names in its `context` clause, of which `context` has the values.
    ///
    /// CORBA's `req_flags` are not here: they say who owns memory.
    #[must_use]
    fn create_request(
        &self,
        context: Context,
        operation: impl Into<OperationName>,
        arg_list: NvList,
        result: Option<TypeCode>,
        exceptions: Vec<TypeCode>,
        contexts: Vec<String>,
    ) -> Request {
        let result = Any::without_value(result.unwrap_or(TypeCode::VOID));
        let arguments = arg_list;
        Request { arguments, result, exceptions, contexts, context, ..self.request(operation) }
    }
}

impl<I: Interface> DynamicObject for I {}

impl Request {
    /// The object that is called.
    #[must_use]
    pub fn target(&self) -> &Object {
        &self.target
    }

    /// The name of the operation.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// Appends an argument.
    pub fn add_arg(&mut self, argument: NamedValue) -> &mut Self {
        self.arguments.add(argument);
        self
    }

    /// Appends an in argument.
    pub fn add_in_arg(&mut self, name: impl Into<Cow<'static, str>>, value: Any) -> &mut Self {
        self.add_arg(NamedValue::new(name, value, ARG_IN))
    }

    /// Appends an inout argument; after the call it has the value that came back.
    pub fn add_inout_arg(&mut self, name: impl Into<Cow<'static, str>>, value: Any) -> &mut Self {
        self.add_arg(NamedValue::new(name, value, ARG_INOUT))
    }

    /// Appends an out argument; after the call it has a value.
    pub fn add_out_arg(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        type_code: TypeCode,
    ) -> &mut Self {
        self.arguments.add_out(name, type_code);
        self
    }

    /// Appends an in argument of a type known at build time.
    ///
    /// # Errors
    /// When the value cannot be sent; see [`Any::from_value`].
    pub fn add_in<M: Typed>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: &M::Value,
    ) -> Result<&mut Self, SystemException> {
        Ok(self.add_in_arg(name, Any::from_value::<M>(value)?))
    }

    /// Says of what type the return value is. `void` unless said.
    pub fn set_return_type(&mut self, type_code: TypeCode) -> &mut Self {
        self.result = Any::without_value(type_code);
        self
    }

    /// Appends a user exception that the operation may raise. Others become `UNKNOWN`.
    pub fn add_exception(&mut self, exception: TypeCode) -> &mut Self {
        self.exceptions.push(exception);
        self
    }

    /// Sets the properties of which those named by [`Request::add_context`] are sent.
    pub fn set_context(&mut self, context: Context) -> &mut Self {
        self.context = context;
        self
    }

    /// Appends a name of the operation's `context` clause; one that ends in `*` stands for all
    /// that begin like it. An operation with a clause needs at least one.
    pub fn add_context(&mut self, name: impl Into<String>) -> &mut Self {
        self.contexts.push(name.into());
        self
    }

    /// The arguments; after the call with the values that came back.
    #[must_use]
    pub fn arguments(&self) -> &NvList {
        &self.arguments
    }

    /// The arguments, to be changed before the call.
    pub fn arguments_mut(&mut self) -> &mut NvList {
        &mut self.arguments
    }

    /// The user exceptions that the operation may raise.
    #[must_use]
    pub fn exceptions(&self) -> &[TypeCode] {
        &self.exceptions
    }

    /// The return value; without value before the call was answered with results.
    #[must_use]
    pub fn return_value(&self) -> &Any {
        &self.result
    }

    /// The return value as a type known at build time.
    ///
    /// # Errors
    /// As [`Any::extract`].
    pub fn returned<M: Typed>(&self) -> Result<M::Value, SystemException> {
        self.target.orb().extract::<M>(&self.result)
    }

    /// The value of the argument at this place, from 0, as a type known at build time.
    ///
    /// # Errors
    /// As [`Any::extract`]; `BAD_PARAM` when there is no such argument.
    pub fn argument<M: Typed>(&self, index: usize) -> Result<M::Value, SystemException> {
        match self.arguments.item(index) {
            Some(item) => self.target.orb().extract::<M>(item.value()),
            None => Any::default().extract::<M>(),
        }
    }

    /// What the call was answered with, when that was an exception.
    #[must_use]
    pub fn exception(&self) -> Option<&Exception> {
        match &self.state {
            State::Done(outcome) | State::Taken(outcome) => outcome.as_ref().err(),
            _ => None,
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation())
            .field("arguments", &self.arguments)
            .field("result", &self.result)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
