//! The children of a POA, and those that an adapter activator is making
//! (CORBA 3.3 P1 §15.3.3). Used by `creation` and `destruction`.

use super::PoaInner;
use crate::map_lock::this_thread;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Lock "family": before the registry's table; never held across an upcall.
#[derive(Default)]
pub(super) struct Family {
    state: Mutex<FamilyState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct FamilyState {
    pub(super) children: BTreeMap<String, Arc<PoaInner>>,
    /// Names that the adapter activator is asked for, with the thread that asks.
    pub(super) activating: HashMap<String, u64>,
    /// Children that have no name any more and whose objects are being etherealised.
    pub(super) ending: usize,
}

impl Family {
    pub(super) fn lock(&self) -> MutexGuard<'_, FamilyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has changed.
    pub(super) fn wait<'f>(
        &'f self,
        state: MutexGuard<'f, FamilyState>,
    ) -> MutexGuard<'f, FamilyState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_change(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    pub(super) fn children(&self) -> Vec<Arc<PoaInner>> {
        self.lock().children.values().cloned().collect()
    }
}

impl FamilyState {
    /// Whether another thread is having `name` made.
    pub(super) fn is_made_elsewhere(&self, name: &str) -> bool {
        self.activating.get(name).is_some_and(|thread| *thread != this_thread())
    }

    /// Whether this thread is having `name` made.
    pub(super) fn is_made_here(&self, name: &str) -> bool {
        self.activating.get(name) == Some(&this_thread())
    }

    /// Whether no child is left, with or without a name.
    pub(super) fn is_empty(&self) -> bool {
        self.children.is_empty() && self.ending == 0
    }
}
