//! Which servant stands for which object: the active object map of one POA
//! (CORBA 3.3 P1 §15.2.1; strategies: paper POA §2.2.2).
//!
//! Objects stand in slots, so that a transient key finds its servant by index and generation
//! whatever the number of objects. `indices` lead there from ids, and from servants where the POA
//! needs the way back. An object that is being deactivated stays until its last upcall has ended.

mod indices;
mod lock;

pub(crate) use lock::{MapLock, this_thread};

use crate::policies::{
    IdUniqueness, PoaPolicies, RequestProcessing, ServantDemux, ServantRetention,
};
use crate::slots::{SlotName, Slots};
use corbie_core::server::{ActiveObject, Servant};
use corbie_upcall::{Activation, Gate};
use indices::{IdIndex, ServantIndex};
use std::sync::Arc;

/// The map; its POA holds it behind a lock that is never held across an upcall.
pub(crate) struct ActiveObjectMap {
    gate: Arc<Gate>,
    shape: MapShape,
    slots: Slots<Arc<ActiveObject>>,
    ids: IdIndex,
    servants: ServantIndex,
}

/// What a map is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapShape {
    pub(crate) demux: ServantDemux,
    /// Whether servants are indexed; without, finding the object of a servant is a search.
    pub(crate) reverse_lookup: bool,
}

impl MapShape {
    /// What POAs with these policies need: the way back from servant to object under `UNIQUE_ID`
    /// (paper POA §2.2.4), and how many objects a servant stands for, for servant activators.
    pub(crate) fn of(policies: &PoaPolicies) -> Self {
        let retains = policies.servant_retention == ServantRetention::Retain;
        let unique = policies.id_uniqueness == IdUniqueness::UniqueId;
        let activator = policies.request_processing == RequestProcessing::ServantManager;
        MapShape { demux: policies.servant_demux, reverse_lookup: retains && (unique || activator) }
    }
}

/// What was in the map, and whether its servant stands for other objects still.
pub(crate) struct Removed {
    pub(crate) object: Arc<ActiveObject>,
    pub(crate) remaining_activations: bool,
}

impl ActiveObjectMap {
    pub(crate) fn new(shape: MapShape, gate: Arc<Gate>) -> Self {
        ActiveObjectMap {
            gate,
            shape,
            slots: Slots::new(),
            ids: IdIndex::new(shape.demux),
            servants: ServantIndex::new(shape.reverse_lookup),
        }
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Makes `servant` stand for `id`. The caller has checked that neither is there already where
    /// that matters; `None` when the map is full.
    pub(crate) fn insert(&mut self, id: &[u8], servant: Arc<dyn Servant>) -> Option<SlotName> {
        let address = address(&servant);
        let gate = &self.gate;
        let name = self.slots.insert_with(|name| {
            Arc::new(ActiveObject::new(Activation::new(gate, name.index, id), servant))
        })?;
        self.ids.insert(id, name, &self.slots);
        self.servants.insert(address, name);
        Some(name)
    }

    /// The object at this place, if it is `id` too: a key is only as good as its sender.
    #[inline]
    pub(crate) fn at(&self, name: SlotName, id: &[u8]) -> Option<&Arc<ActiveObject>> {
        self.slots.get(name).filter(|object| object.activation().id() == id)
    }

    #[inline]
    pub(crate) fn at_index(&self, index: u32) -> Option<&Arc<ActiveObject>> {
        self.slots.at_index(index).map(|(_, object)| object)
    }

    /// The object `id`, by the strategy of the map.
    #[inline]
    pub(crate) fn by_id(&self, id: &[u8]) -> Option<&Arc<ActiveObject>> {
        self.slots.get(self.name_of(id)?)
    }

    #[inline]
    pub(crate) fn name_of(&self, id: &[u8]) -> Option<SlotName> {
        self.ids.find(id, &self.slots)
    }

    /// The object that the servant stands for; one of them if there are several.
    pub(crate) fn by_servant(&self, servant: &Arc<dyn Servant>) -> Option<&Arc<ActiveObject>> {
        self.slots.get(self.servants.find(address(servant), &self.slots)?)
    }

    /// Takes the object at this index out.
    pub(crate) fn remove(&mut self, index: u32) -> Option<Removed> {
        let (name, object) = self.slots.at_index(index)?;
        self.ids.remove(object.activation().id(), name, &self.slots);
        let object = self.slots.remove(name)?;
        let address = address(object.servant());
        let remaining_activations = self.servants.remove(address, name);
        Some(Removed { object, remaining_activations })
    }

    /// The whole content; nothing is left.
    pub(crate) fn take(&mut self) -> Self {
        let empty = ActiveObjectMap::new(self.shape, Arc::clone(&self.gate));
        std::mem::replace(self, empty)
    }

    /// Takes out one object after the other.
    pub(crate) fn drain(mut self) -> impl Iterator<Item = Removed> {
        let indices: Vec<u32> = self.slots.iter_named().map(|(name, _)| name.index).collect();
        indices.into_iter().filter_map(move |index| self.remove(index))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ActiveObject>> {
        self.slots.iter()
    }

    /// Whether the demultiplexing goes by the place that a key names.
    #[inline]
    pub(crate) fn goes_by_place(&self) -> bool {
        self.shape.demux == ServantDemux::Active
    }
}

fn address(servant: &Arc<dyn Servant>) -> usize {
    Arc::as_ptr(servant).cast::<()>().addr()
}
