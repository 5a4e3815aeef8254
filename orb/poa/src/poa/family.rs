//! The children of a POA, and those that an adapter activator is making
//! (CORBA 3.3 P1 §15.3.3). Used by `creation` and `destruction`.

use super::PoaInner;
use crate::closed;
use crate::transitions::Transitions;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct Family {
    state: Ranked<rank::PoaFamily, FamilyState>,
    changed: Signal,
    /// Names that the adapter activator is asked for.
    pub(super) making: Transitions,
}

#[derive(Default)]
pub(super) struct FamilyState {
    pub(super) children: BTreeMap<String, Arc<PoaInner>>,
    /// Children that have no name any more and whose objects are being etherealised.
    pub(super) ending: usize,
}

pub(super) type FamilyGuard<'f> = Guard<'f, rank::PoaFamily, FamilyState>;

impl Default for Family {
    fn default() -> Self {
        let making = Transitions::new(closed::MAKING, None);
        Family { state: Ranked::default(), changed: Signal::new(), making }
    }
}

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
        self.making.note_change();
    }

    pub(super) fn children(&self) -> Vec<Arc<PoaInner>> {
        self.lock().children.values().cloned().collect()
    }
}

impl FamilyState {
    /// Whether no child is left, with or without a name.
    pub(super) fn is_empty(&self) -> bool {
        self.children.is_empty() && self.ending == 0
    }
}
