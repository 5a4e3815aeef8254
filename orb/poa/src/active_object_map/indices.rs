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
    /// An object that it stands for; `None` when the one noted here has gone, and others are left.
    one: Option<SlotName>,
    /// How many it stands for.
    objects: u32,
}

impl ServantIndex {
    pub(super) fn new(exists: bool) -> Self {
        ServantIndex(exists.then(HashMap::new))
    }

    pub(super) fn insert(&mut self, address: usize, name: SlotName) {
        if let Some(servants) = &mut self.0 {
            let its = servants.entry(address).or_insert(Use { one: None, objects: 0 });
            its.one.get_or_insert(name);
            its.objects += 1;
        }
    }

    #[inline]
    pub(super) fn find(&self, servant: usize, objects: &Objects) -> Option<SlotName> {
        match &self.0 {
            Some(servants) => servants.get(&servant)?.one.or_else(|| search(servant, objects)),
            None => search(servant, objects),
        }
    }

    /// The object at `name` is gone; whether its servant stands for others. Which ones is found out
    /// when it is asked for: a search here would make ending all objects of a servant quadratic.
    pub(super) fn remove(&mut self, servant: usize, name: SlotName) -> bool {
        let Some(servants) = &mut self.0 else { return false };
        let Some(its) = servants.get_mut(&servant) else { return false };
        its.objects -= 1;
        if its.objects == 0 {
            servants.remove(&servant);
            return false;
        }
        if its.one == Some(name) {
            its.one = None;
        }
        true
    }
}

fn search(servant: usize, objects: &Objects) -> Option<SlotName> {
    #[cfg(test)]
    tests::SEARCHES.set(tests::SEARCHES.get() + 1);
    objects.find(|object| address(object.servant()) == servant)
}

#[cfg(test)]
mod tests {
    use crate::active_object_map::{ActiveObjectMap, MapShape};
    use crate::policies::ServantDemux;
    use corbie_core::server::{Servant, ServerRequest};
    use corbie_types::SystemException;
    use corbie_upcall::Gate;
    use std::cell::Cell;
    use std::sync::Arc;

    thread_local! {
        /// How often this thread looked through all objects.
        pub(super) static SEARCHES: Cell<u32> = const { Cell::new(0) };
    }

    struct Shared;

    impl Servant for Shared {
        fn _interfaces(&self) -> &'static [&'static str] {
            &[]
        }

        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            Err(request.unknown_operation())
        }
    }

    #[test]
    fn ending_the_objects_of_one_servant_searches_for_none() {
        const OBJECTS: u32 = 1000;
        let shape = MapShape { demux: ServantDemux::Active, reverse_lookup: true };
        let mut map = ActiveObjectMap::new(shape, Arc::new(Gate::new().unwrap()));
        let servant: Arc<dyn Servant> = Arc::new(Shared);
        for id in 0..OBJECTS {
            map.insert(&id.to_be_bytes(), Arc::clone(&servant)).unwrap();
        }
        SEARCHES.set(0);
        for index in 0..OBJECTS {
            let removed = map.remove(index).unwrap();
            assert_eq!(removed.remaining_activations, index + 1 < OBJECTS);
        }
        assert_eq!(SEARCHES.get(), 0);
        assert!(map.by_servant(&servant).is_none());
    }

    #[test]
    fn a_servant_is_found_when_the_object_noted_for_it_has_gone() {
        let shape = MapShape { demux: ServantDemux::Active, reverse_lookup: true };
        let mut map = ActiveObjectMap::new(shape, Arc::new(Gate::new().unwrap()));
        let servant: Arc<dyn Servant> = Arc::new(Shared);
        for id in 0..3_u32 {
            map.insert(&id.to_be_bytes(), Arc::clone(&servant)).unwrap();
        }
        map.remove(0).unwrap();
        let found = map.by_servant(&servant).unwrap().activation().index();
        assert!(found == 1 || found == 2, "{found}");
    }
}
