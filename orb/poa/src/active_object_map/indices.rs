//! From object ids and from servants to places in the active object map: by a hash table, or one
//! after the other (paper POA §2.2.2, §2.2.4). Used by `active_object_map` only.
//!
//! The tables hold places, the ids are where the objects are. Ids may be chosen by peers (a servant
//! activator makes objects of them), so their hash is keyed and not to be guessed.

use super::address;
use crate::policies::ServantDemux;
use crate::slots::{SlotName, Slots};
use corbie_core::server::ActiveObject;
use hashbrown::HashTable;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The strategy, and what it keeps.
pub(super) enum IdIndex {
    Hashed { places: HashTable<SlotName>, hasher: RandomState },
    Linear,
}

type Objects = Slots<Arc<ActiveObject>>;

impl IdIndex {
    pub(super) fn new(demux: ServantDemux) -> Self {
        match demux {
            // Active demultiplexing needs ids too: for keys without a place, and to activate.
            ServantDemux::Active | ServantDemux::DynamicHash => {
                IdIndex::Hashed { places: HashTable::new(), hasher: RandomState::new() }
            }
            ServantDemux::Linear => IdIndex::Linear,
        }
    }

    pub(super) fn insert(&mut self, id: &[u8], name: SlotName, objects: &Objects) {
        if let IdIndex::Hashed { places, hasher } = self {
            let hash_of = |name: &SlotName| hasher.hash_one(id_at(*name, objects));
            places.insert_unique(hasher.hash_one(id), name, hash_of);
        }
    }

    #[inline]
    pub(super) fn find(&self, id: &[u8], objects: &Objects) -> Option<SlotName> {
        match self {
            IdIndex::Hashed { places, hasher } => {
                let is_it = |name: &SlotName| id_at(*name, objects) == id;
                places.find(hasher.hash_one(id), is_it).copied()
            }
            IdIndex::Linear => objects.find(|object| object.activation().id() == id),
        }
    }

    /// To be called while the object is still there.
    pub(super) fn remove(&mut self, id: &[u8], name: SlotName, objects: &Objects) {
        if let IdIndex::Hashed { places, hasher } = self {
            debug_assert_eq!(id_at(name, objects), id);
            if let Ok(entry) = places.find_entry(hasher.hash_one(id), |at| *at == name) {
                entry.remove();
            }
        }
    }
}

#[inline]
fn id_at(name: SlotName, objects: &Objects) -> &[u8] {
    objects.get(name).map_or(&[], |object| object.activation().id())
}

/// Servants by their address.
pub(super) struct ServantIndex(Option<HashMap<usize, Use>>);

/// What one servant is used for.
struct Use {
    /// An object that it stands for.
    first: SlotName,
    /// How many it stands for.
    objects: u32,
}

impl ServantIndex {
    pub(super) fn new(exists: bool) -> Self {
        ServantIndex(exists.then(HashMap::new))
    }

    pub(super) fn insert(&mut self, address: usize, name: SlotName) {
        if let Some(servants) = &mut self.0 {
            servants.entry(address).or_insert(Use { first: name, objects: 0 }).objects += 1;
        }
    }

    #[inline]
    pub(super) fn find(&self, servant: usize, objects: &Objects) -> Option<SlotName> {
        match &self.0 {
            Some(servants) => servants.get(&servant).map(|its| its.first),
            None => search(servant, objects),
        }
    }

    /// The object at `name` is gone; whether its servant stands for others.
    pub(super) fn remove(&mut self, servant: usize, name: SlotName, objects: &Objects) -> bool {
        let Some(servants) = &mut self.0 else { return false };
        let Some(its) = servants.get_mut(&servant) else { return false };
        its.objects -= 1;
        if its.objects == 0 {
            servants.remove(&servant);
            return false;
        }
        if its.first == name
            && let Some(other) = search(servant, objects)
        {
            its.first = other;
        }
        true
    }
}

fn search(servant: usize, objects: &Objects) -> Option<SlotName> {
    objects.find(|object| address(object.servant()) == servant)
}
