//! POA managers: whether the POAs of a group take requests (CORBA 3.3 P1 §15.3.2).
//!
//! Applications reach the manager of a POA by [`crate::Poa::the_poa_manager`] and activate it once
//! their servants are in place. Children use their parent's manager.

mod admission;

pub(crate) use admission::{Admitted, Pass};

use corbie_types::{CompletionStatus, SystemException};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the POAs of a manager do with requests (`PortableServer::POAManager::State`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoaManagerState {
    /// `HOLDING`: requests wait.
    Holding,
    /// `ACTIVE`: requests are served.
    Active,
}

/// A POA manager. Clones are the same manager.
#[derive(Clone, Debug)]
pub struct PoaManager(Arc<AtomicU8>);

/// Why an operation of a POA manager failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaManagerError {
    /// `AdapterInactive`.
    #[error("the POA manager is inactive, which is for good: create another")]
    AdapterInactive,
}

impl From<PoaManagerError> for SystemException {
    /// For servants and programs that pass a failure on.
    fn from(error: PoaManagerError) -> Self {
        SystemException::obj_adapter(1, CompletionStatus::No).with_detail(error.to_string())
    }
}

impl PoaManager {
    pub(crate) fn new() -> Self {
        PoaManager(Arc::new(AtomicU8::new(0)))
    }

    /// The state.
    pub fn get_state(&self) -> PoaManagerState {
        match self.0.load(Ordering::Acquire) {
            0 => PoaManagerState::Holding,
            _ => PoaManagerState::Active,
        }
    }

    /// Has the POAs of this manager serve requests.
    ///
    /// # Errors
    /// [`PoaManagerError::AdapterInactive`] when the manager is inactive.
    pub fn activate(&self) -> Result<(), PoaManagerError> {
        self.0.store(1, Ordering::Release);
        Ok(())
    }
}
