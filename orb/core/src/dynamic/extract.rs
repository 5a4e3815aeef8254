//! Taking object references out of anys: they belong to an ORB, which an any does not know.
//! Used by applications and by `request` for results (CORBA 3.3 P1 §11.2).

use crate::Orb;
use corbie_types::{Any, SystemException, Typed};

impl Orb {
    /// The value of `any` as a type known at build time. As [`Any::extract`], and references, also
    /// inside structs and sequences, belong to this ORB.
    ///
    /// # Errors
    /// As [`Any::extract`].
    pub fn extract<M: Typed>(&self, any: &Any) -> Result<M::Value, SystemException> {
        any.extract_in::<M>(Some(self))
    }
}
