//! `PortableServer::Current`: which object the calling thread is serving a request for
//! (CORBA 3.3 P1 §15.3.11).
//!
//! Applications reach it by `Orb::poa_current`, or by the initial reference `POACurrent`. All it
//! tells is looked up when it is asked for (`poa/upcall_context`), so it costs a call nothing.

use crate::error::PoaError;
use crate::object_id::ObjectId;
use crate::poa::Poa;
use crate::poa::upcall_context::{self, UpcallContext};
use crate::slots::SlotName;
use corbie_core::server::Servant;
use corbie_core::{Object, Orb};
use corbie_types::{SystemException, minor};
use std::sync::Arc;

const REPOSITORY_ID: &str = "IDL:omg.org/PortableServer/Current:1.0";
/// The name of the initial reference.
const NAME: &str = "POACurrent";

/// `PortableServer::Current`. All values are alike: each method tells of the thread that calls it.
///
/// In an upcall it tells which object is called, also when one servant stands for many: over a
/// connection, from within the process, in asynchronous servants (until the upcall returns), and
/// nested in one another (the innermost upcall counts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoaCurrent;

/// Why [`PoaCurrent`] has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaCurrentError {
    /// `Current::NoContext`.
    #[error("the calling thread serves no request, or no servant is known yet")]
    NoContext,
    /// The POA could not do its part.
    #[error(transparent)]
    Poa(#[from] PoaError),
}

impl From<PoaCurrentError> for SystemException {
    /// For servants that pass a failure on to their caller.
    fn from(error: PoaCurrentError) -> Self {
        match error {
            PoaCurrentError::Poa(error) => error.into(),
            PoaCurrentError::NoContext => minor::BAD_INV_ORDER_NO_UPCALL.no(error.to_string()),
        }
    }
}

impl PoaCurrent {
    /// The POA of the object.
    ///
    /// # Errors
    /// [`PoaCurrentError::NoContext`] outside of upcalls.
    pub fn get_poa(&self) -> Result<Poa, PoaCurrentError> {
        context().map(|context| context.poa)
    }

    /// The id of the object.
    ///
    /// # Errors
    /// As [`PoaCurrent::get_poa`].
    pub fn get_object_id(&self) -> Result<ObjectId, PoaCurrentError> {
        context().map(|context| context.object_id)
    }

    /// A reference of the object, of the type that its servant has.
    ///
    /// # Errors
    /// As [`PoaCurrent::get_poa`]; [`PoaCurrentError::Poa`] when the ORB was shut down.
    pub fn get_reference(&self) -> Result<Object, PoaCurrentError> {
        let UpcallContext { poa, object_id, servant } = context()?;
        let servant = servant.ok_or(PoaCurrentError::NoContext)?;
        let id = object_id.as_octets();
        let place = poa.0.objects.read(|map| map.name_of(id)).ok().flatten();
        Ok(poa.reference(id, place.unwrap_or(SlotName::NOWHERE), servant._repository_id())?)
    }

    /// The servant that executes the request.
    ///
    /// # Errors
    /// As [`PoaCurrent::get_poa`]; also in a servant manager that is to find the servant.
    pub fn get_servant(&self) -> Result<Arc<dyn Servant>, PoaCurrentError> {
        context()?.servant.ok_or(PoaCurrentError::NoContext)
    }

    /// What `orb.resolve_initial_references("POACurrent")` gave.
    #[must_use]
    pub fn narrow(object: &Object) -> Option<PoaCurrent> {
        Orb::is_local_reference(object, NAME).then_some(PoaCurrent)
    }

    /// Makes it the initial reference `POACurrent` of `orb`. The reference is good within the
    /// process only, and is not called: [`PoaCurrent::narrow`] makes use of it.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the name is taken.
    pub fn register(orb: &Orb) -> Result<(), SystemException> {
        orb.register_local_reference(NAME, REPOSITORY_ID)
    }
}

fn context() -> Result<UpcallContext, PoaCurrentError> {
    upcall_context::current().ok_or(PoaCurrentError::NoContext)
}
