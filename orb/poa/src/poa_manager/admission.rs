//! Whether a request may begin now: what stands at the gate of its POA
//! (CORBA 3.3 P1 §15.3.2).
//!
//! Called by `dispatch` before any servant manager is asked.

use crate::poa::PoaInner;
use corbie_core::server::upcall::closed;
use corbie_core::server::{LocalRefusal, ServerRequest};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::marker::PhantomData;

/// What becomes of a request.
pub(crate) enum Admitted<'p> {
    /// It is served now.
    Serve(Pass<'p>),
    #[allow(dead_code)] // for held requests, which are on their way
    /// It was taken away with its message and is served later.
    Held,
}

/// To be kept until the upcall has ended.
pub(crate) struct Pass<'p>(PhantomData<&'p PoaInner>);

impl Pass<'_> {
    /// The reasons for which the gate may be closed all the same.
    pub(crate) fn in_spite_of(&self) -> u32 {
        closed::INTERCEPTED | closed::ONE_THREAD | closed::AWAITED | closed::SERIALISED
    }
}

impl PoaInner {
    /// # Errors
    /// `TRANSIENT` minor 1, `OBJ_ADAPTER` minor 1.
    pub(crate) fn admit(
        &self,
        _request: &mut ServerRequest<'_>,
    ) -> Result<Admitted<'_>, SystemException> {
        self.pass().map(Admitted::Serve)
    }

    /// # Errors
    /// As [`PoaInner::admit`].
    pub(crate) fn admit_call(&self) -> Result<Pass<'_>, LocalRefusal> {
        Ok(self.pass()?)
    }

    fn pass(&self) -> Result<Pass<'_>, SystemException> {
        let bits = self.gate.bits();
        if bits & closed::INACTIVE != 0 {
            let minor = minor::OBJ_ADAPTER_UNKNOWN_ADAPTER;
            return Err(SystemException::obj_adapter(minor, CompletionStatus::No));
        }
        if bits & closed::DISCARDING != 0 {
            let minor = minor::TRANSIENT_REQUEST_DISCARDED;
            return Err(SystemException::transient(minor, CompletionStatus::No));
        }
        Ok(Pass(PhantomData))
    }
}
