//! From a servant to the object it stands for: the reverse-lookup map (paper POA §2.2.4), or a
//! search where there is none. Used by `active_object_map` only.

use super::address;
use crate::slots::{SlotName, Slots};
use corbie_core::server::ActiveObject;
use std::collections::HashMap;
use std::sync::Arc;

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
    pub(super) fn find(
        &self,
        servant: usize,
        objects: &Slots<Arc<ActiveObject>>,
    ) -> Option<SlotName> {
        match &self.0 {
            Some(servants) => servants.get(&servant).map(|its| its.first),
            None => search(servant, objects),
        }
    }

    /// The object at `name` is gone; whether its servant stands for others.
    pub(super) fn remove(
        &mut self,
        servant: usize,
        name: SlotName,
        objects: &Slots<Arc<ActiveObject>>,
    ) -> bool {
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

fn search(servant: usize, objects: &Slots<Arc<ActiveObject>>) -> Option<SlotName> {
    objects
        .iter_named()
        .find(|(_, object)| address(object.servant()) == servant)
        .map(|(name, _)| name)
}
