//! The children of a POA, and those that an adapter activator is making
//! (CORBA 3.3 P1 §15.3.3). Used by `creation` and `destruction`.

use super::PoaInner;
use crate::active_object_map::this_thread;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Family {
    state: Ranked<rank::PoaFamily, FamilyState>,
    changed: Signal,
}

#[derive(Default)]
pub(super) struct FamilyState {
    pub(super) children: BTreeMap<String, Arc<PoaInner>>,
    /// Names that the adapter activator is asked for, with the thread that asks.
    pub(super) activating: HashMap<String, u64>,
    /// Children that have no name any more and whose objects are being etherealised.
    pub(super) ending: usize,
}

type FamilyGuard<'f> = Guard<'f, rank::PoaFamily, FamilyState>;

impl Family {
    pub(super) fn lock(&self) -> FamilyGuard<'_> {
        self.state.lock()
    }

    /// Waits until something has changed.
    pub(super) fn wait<'f>(&self, state: FamilyGuard<'f>) -> FamilyGuard<'f> {
        self.changed.wait(state)
    }

    pub(super) fn note_change(&self) {
        drop(self.lock());
        self.changed.wake_all();
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
