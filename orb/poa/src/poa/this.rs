//! `_this`: the reference of a servant's object (CORBA 3.3 P1 §15.2.5 and the C++ mapping's
//! `_this()`).
//!
//! For applications; what it does is [`Poa::servant_to_reference`].

use super::{Poa, PoaError, upcall_context};
use corbie_core::Interface;
use corbie_core::server::{Servant, TypedServant};
use std::sync::Arc;

/// `_this` for every servant with a generated skeleton.
pub trait This: TypedServant + Sized {
    /// The typed reference of the object that this servant stands for. Inside a request that it
    /// serves: the object of the request. Otherwise as `default_poa` has it, which may activate the
    /// servant ([`crate::ImplicitActivation`]).
    ///
    /// # Errors
    /// As [`Poa::servant_to_reference`].
    fn _this(self: &Arc<Self>, default_poa: &Poa) -> Result<Self::Reference, PoaError> {
        let servant: Arc<dyn Servant> = Arc::<Self>::clone(self);
        let serving = upcall_context::current();
        let poa = match &serving {
            Some(current) if current.is_served_by(&servant) => &current.poa,
            _ => default_poa,
        };
        poa.servant_to_reference(&servant).map(Self::Reference::from_object)
    }
}

impl<S: TypedServant> This for S {}
