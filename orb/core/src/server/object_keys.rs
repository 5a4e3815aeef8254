//! Plain names as object keys: what `corbaloc:` references of people carry.
//!
//! A request with a key like `NameService` is answered with `LOCATION_FORWARD` to the object bound
//! here, as TAO's IORTable and omniORB's omniINSPOA do (CORBA 3.3 P2 §7.6.10.3).

use crate::Object;
use corbie_threads::lock::{RankedRw, rank};
use std::collections::HashMap;

/// Names bound to objects. What was bound is dropped after the lock.
#[derive(Default)]
pub(crate) struct ObjectKeys(RankedRw<rank::Leaf, HashMap<Box<[u8]>, Object>>);

impl ObjectKeys {
    pub(crate) fn bind(&self, key: &[u8], object: Object) {
        let before = self.0.write().insert(key.into(), object);
        drop(before);
    }

    pub(crate) fn unbind(&self, key: &[u8]) -> bool {
        let removed = self.0.write().remove(key);
        removed.is_some()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Object> {
        self.0.read().get(key).cloned()
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.write());
        drop(all);
    }
}
