//! Servants that learn at run time what they are called for (CORBA 3.3 P1 §12: the dynamic
//! skeleton interface; §15.3.11: `DynamicImplementation`).
//!
//! A [`DynamicServant`] is activated in a POA like a generated skeleton, and called the same way.

use super::DynamicServerRequest;
use corbie_core::Object;
use corbie_core::server::{Servant, ServerRequest, TypedServant};
use corbie_types::SystemException;
use std::fmt;

/// The application's part of a [`DynamicServant`].
pub trait DynamicImplementation: Send + Sync + 'static {
    /// The repository id of the most derived interface, which references carry.
    fn primary_interface(&self) -> &str;

    /// Serves one request: reads the arguments, sets a result or an exception.
    ///
    /// # Errors
    /// The system exception that the client gets, such as
    /// [`DynamicServerRequest::unknown_operation`].
    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException>;

    /// Whether it serves the interface with this repository id. `Object` is no question.
    fn is_a(&self, repository_id: &str) -> bool {
        self.primary_interface() == repository_id
    }
}

/// A servant that has an application's [`DynamicImplementation`] answer.
///
/// ```
/// use corbie_messaging::dynamic::{
///     ARG_IN, DynamicImplementation, DynamicServant, DynamicServerRequest, NvList,
/// };
/// use corbie_types::{Any, SystemException, TypeCode};
///
/// /// Doubles numbers, without generated code.
/// struct Doubler;
///
/// impl DynamicImplementation for Doubler {
///     fn primary_interface(&self) -> &str {
///         "IDL:Doubler:1.0"
///     }
///
///     fn invoke(
///         &self,
///         request: &mut DynamicServerRequest<'_, '_>,
///     ) -> Result<(), SystemException> {
///         if request.operation() != "double" {
///             return Err(request.unknown_operation());
///         }
///         let mut parameters = NvList::new();
///         parameters.add_item("value", TypeCode::LONG, ARG_IN);
///         let value: i32 = request.arguments(parameters)?[0].value().extract::<i32>()?;
///         request.set_result(Any::from_value::<i32>(&(2 * value))?)
///     }
/// }
///
/// let servant = DynamicServant::new(Doubler); // poa.activate(servant)
/// # let _ = servant;
/// ```
pub struct DynamicServant<D>(D);

impl<D: DynamicImplementation> DynamicServant<D> {
    /// A servant around `implementation`.
    pub fn new(implementation: D) -> Self {
        DynamicServant(implementation)
    }

    /// What it was made of.
    pub fn implementation(&self) -> &D {
        &self.0
    }
}

impl<D: DynamicImplementation> Servant for DynamicServant<D> {
    /// Not known at build time; see [`DynamicImplementation::is_a`].
    fn _interfaces(&self) -> &'static [&'static str] {
        &[]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut request = DynamicServerRequest::new(request);
        self.0.invoke(&mut request)?;
        request.conclude()
    }

    fn _repository_id(&self) -> &str {
        self.0.primary_interface()
    }

    fn _is_a(&self, repository_id: &str) -> bool {
        self.0.is_a(repository_id) || self.0.primary_interface() == repository_id
    }
}

impl<D: DynamicImplementation> TypedServant for DynamicServant<D> {
    type Reference = Object;
}

impl<D> fmt::Debug for DynamicServant<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicServant").finish_non_exhaustive()
    }
}
