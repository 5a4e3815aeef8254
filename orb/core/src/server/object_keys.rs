//! Plain names as object keys: what `corbaloc:` references of people carry.
//!
//! A request with a key like `NameService` is answered with `LOCATION_FORWARD` to the object bound
//! here, as TAO's IORTable and omniORB's omniINSPOA do (CORBA 3.3 P2 §7.6.10.3).

use crate::{Object, profile};
use corbie_threads::lock::{RankedRw, rank};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Names bound to objects. What was bound is dropped after the lock.
#[derive(Default)]
pub(crate) struct ObjectKeys(RankedRw<rank::Leaf, HashMap<Box<[u8]>, Bound>>);

struct Bound {
    object: Object,
    /// That of the object.
    key: Box<[u8]>,
}

impl Bound {
    fn of(object: Object) -> Self {
        let known = object.orb().known();
        let mut profiles = object.ior().profiles.iter();
        let own = profiles.find_map(|p| profile::object_key(known, p.tag, &p.data));
        Self { key: own.unwrap_or_default().into(), object }
    }
}

impl ObjectKeys {
    pub(crate) fn bind(&self, key: &[u8], object: Object) {
        let before = self.0.write().insert(key.into(), Bound::of(object));
        drop(before);
    }

    /// Whether nothing was bound to the name.
    pub(crate) fn bind_new(&self, key: &[u8], object: Object) -> bool {
        let bound = Bound::of(object);
        match self.0.write().entry(key.into()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(bound);
                true
            }
        }
    }

    pub(crate) fn unbind(&self, key: &[u8]) -> bool {
        let removed = self.0.write().remove(key);
        removed.is_some()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Object> {
        self.0.read().get(key).map(|bound| bound.object.clone())
    }

    /// Whether `is_it` holds for a name and the key of the object that it is bound to.
    pub(crate) fn any(&self, is_it: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        self.0.read().iter().any(|(name, bound)| is_it(name, &bound.key))
    }

    /// The key of the object that `name` is bound to.
    pub(crate) fn key_of(&self, name: &[u8]) -> Option<Box<[u8]>> {
        self.0.read().get(name).map(|bound| bound.key.clone())
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.write());
        drop(all);
    }
}
