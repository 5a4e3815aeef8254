//! What becomes of a request whose POA does not simply take requests: it is served, taken away to
//! wait, or refused (CORBA 3.3 P1 §15.3.2, §15.3.8.1).
//!
//! The long way comes here when the gate of the POA is not open, before it asks anything else about
//! the object: servant managers and adapter activators are not called for requests that wait.

use crate::closed;
use crate::poa::{Poa, PoaInner};
use crate::poa_manager::{self, PoaManagerState};
use crate::policies::RequestOrder;
use crate::thread_model::Turn;
use corbie_core::server::{LocalRefusal, ServerRequest};
use corbie_types::SystemException;

/// What becomes of a request.
pub(crate) enum Admitted<'p> {
    /// It is to be served now, if the gate lets it in with this pass.
    Serve(Pass<'p>),
    /// It was taken away, and is served later.
    Held,
}

/// The right to make one upcall; to be kept until that has ended.
pub(crate) struct Pass<'p> {
    /// Given back when dropped.
    _turn: Turn<'p>,
}

impl Pass<'_> {
    /// The reasons for a closed gate that have been seen to. If the gate has another one after all,
    /// the request is to ask again.
    #[allow(clippy::unused_self, reason = "only the holder of a pass may ask")]
    pub(crate) fn in_spite_of(&self) -> u32 {
        let waited = closed::MAKING | closed::AWAITING_OBJECTS;
        closed::SERIALISED | closed::DRAINING | closed::ONE_THREAD | closed::AWAITED | waited
    }
}

impl PoaInner {
    /// Whether `request`, which is for this POA, is to be served now.
    ///
    /// # Errors
    /// `TRANSIENT` when the manager discards requests or holds as many as it may, `OBJ_ADAPTER`
    /// when it is inactive; `COMPLETED_NO`.
    #[cold]
    pub(crate) fn admit(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<Admitted<'_>, SystemException> {
        if !self.manager.admit(request)? {
            return Ok(Admitted::Held);
        }
        Ok(match self.turns.take(request)? {
            Some(turn) => Admitted::Serve(Pass { _turn: turn }),
            None => Admitted::Held,
        })
    }

    /// Whether `request`, for the object `id` of this POA, waits until the POA or the object is
    /// made, or behind requests that do.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when the ORB shuts down.
    #[cold]
    pub(crate) fn keeps_waiting(
        &self,
        id: &[u8],
        request: &mut ServerRequest<'_>,
    ) -> Result<bool, SystemException> {
        let bits = self.gate.bits();
        if bits & closed::MAKING != 0
            && let Some(Poa(parent)) = self.handle().and_then(|poa| poa.the_parent())
            && parent.making().hold_while_busy(self.name(), request)?
        {
            return Ok(true);
        }
        if bits & closed::AWAITING_OBJECTS == 0 {
            return Ok(false);
        }
        // What the client does not wait for keeps its order with all that it sent.
        let is_ordered = self.policies.request_order == RequestOrder::AsSent;
        self.transitions.follow(id, is_ordered || !request.response_expected(), request)
    }

    /// Whether a call of this process may be made on this thread now.
    ///
    /// # Errors
    /// As [`PoaInner::admit`]; [`LocalRefusal::Remote`] when it has to wait, as a request does.
    #[cold]
    pub(crate) fn admit_call(&self) -> Result<Pass<'_>, LocalRefusal> {
        match self.manager.get_state() {
            PoaManagerState::Active => {}
            PoaManagerState::Holding => return Err(LocalRefusal::Remote),
            PoaManagerState::Discarding => return Err(poa_manager::discarding().into()),
            PoaManagerState::Inactive => return Err(poa_manager::inactive().into()),
        }
        let turn = self.turns.take_at_once().ok_or(LocalRefusal::Remote)?;
        Ok(Pass { _turn: turn })
    }
}
