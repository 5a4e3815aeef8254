//! Which servant stands for which object: the active object map of one POA
//! (CORBA 3.3 P1 §15.2.1; strategies: paper POA §2.2).
//!
//! Servants stand in slots, so that a transient key finds its servant by index and generation.
//! Ids and servants are indexed besides, for persistent keys and for `servant_to_id`.

use crate::slots::{SlotName, Slots};
use crate::{IdUniqueness, ObjectId};
use corbie_core::server::Servant;
use corbie_core::server::upcall::{Activation, ActiveObject, Gate};
use std::collections::HashMap;
use std::sync::Arc;

/// The map; its POA holds it behind a lock that is never held across an upcall.
pub(crate) struct ActiveObjectMap {
    uniqueness: IdUniqueness,
    gate: Arc<Gate>,
    slots: Slots<Arc<ActiveObject>>,
    by_id: HashMap<ObjectId, SlotName>,
    /// The first object of each servant, by the servant's address.
    by_servant: HashMap<usize, SlotName>,
}

impl ActiveObjectMap {
    pub(crate) fn new(uniqueness: IdUniqueness, gate: Arc<Gate>) -> Self {
        ActiveObjectMap {
            uniqueness,
            gate,
            slots: Slots::new(),
            by_id: HashMap::new(),
            by_servant: HashMap::new(),
        }
    }

    /// Makes `servant` stand for `id`. The caller has checked that neither is there already where
    /// that matters; `None` when the map is full.
    pub(crate) fn insert(&mut self, id: ObjectId, servant: Arc<dyn Servant>) -> Option<SlotName> {
        let address = address(&servant);
        let gate = &self.gate;
        let name = self.slots.insert_with(|name| {
            let activation = Activation::new(gate, name.index, id.as_octets());
            Arc::new(ActiveObject::new(activation, servant))
        })?;
        self.by_id.insert(id, name);
        self.by_servant.entry(address).or_insert(name);
        Some(name)
    }

    #[inline]
    pub(crate) fn at(&self, name: SlotName) -> Option<&Arc<ActiveObject>> {
        self.slots.get(name)
    }

    #[inline]
    pub(crate) fn by_id(&self, id: &[u8]) -> Option<&Arc<ActiveObject>> {
        self.by_id.get(id).and_then(|name| self.slots.get(*name))
    }

    pub(crate) fn name_of(&self, id: &[u8]) -> Option<SlotName> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn by_servant(&self, servant: &Arc<dyn Servant>) -> Option<&Arc<ActiveObject>> {
        self.by_servant.get(&address(servant)).and_then(|name| self.slots.get(*name))
    }

    pub(crate) fn remove(&mut self, id: &[u8]) -> Option<Arc<ActiveObject>> {
        let name = self.by_id.remove(id)?;
        let removed = self.slots.remove(name)?;
        removed.activation().close();
        let address = address(removed.servant());
        if self.by_servant.get(&address) == Some(&name) {
            self.by_servant.remove(&address);
            if self.uniqueness == IdUniqueness::MultipleId {
                self.index_another_object_of(removed.servant());
            }
        }
        Some(removed)
    }

    /// The whole map; nothing is left.
    pub(crate) fn take(&mut self) -> ActiveObjectMap {
        let empty = ActiveObjectMap::new(self.uniqueness, Arc::clone(&self.gate));
        std::mem::replace(self, empty)
    }

    /// Under `MULTIPLE_ID` the servant of a removed object may stand for others still.
    fn index_another_object_of(&mut self, servant: &Arc<dyn Servant>) {
        let other = self.slots.iter().find(|object| Arc::ptr_eq(object.servant(), servant));
        if let Some(name) = other.and_then(|object| self.by_id.get(object.activation().id())) {
            self.by_servant.insert(address(servant), *name);
        }
    }
}

fn address(servant: &Arc<dyn Servant>) -> usize {
    Arc::as_ptr(servant).cast::<()>().addr()
}
