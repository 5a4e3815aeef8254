//! From an object id to its place in the map: by a hash table, or one after the other
//! (paper POA §2.2.2). Used by `active_object_map` only.
//!
//! The table holds places, the ids are where the objects are. Ids may be chosen by peers (a servant
//! activator makes objects of them), so the hash is keyed and not to be guessed.

use crate::policies::ServantDemux;
use crate::slots::{SlotName, Slots};
use corbie_core::server::ActiveObject;
use hashbrown::HashTable;
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
            IdIndex::Linear => objects
                .iter_named()
                .find(|(_, object)| object.activation().id() == id)
                .map(|(name, _)| name),
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
