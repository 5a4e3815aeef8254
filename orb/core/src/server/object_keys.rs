//! Plain names as object keys: what `corbaloc:` references of people carry.
//!
//! A request with a key like `NameService` is answered with `LOCATION_FORWARD` to the object bound
//! here, as TAO's IORTable and omniORB's omniINSPOA do (CORBA 3.3 P2 §7.6.10.3).

use crate::Object;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Names bound to objects. Lock "object keys": held for a look-up.
#[derive(Default)]
pub(crate) struct ObjectKeys(RwLock<HashMap<Box<[u8]>, Object>>);

impl ObjectKeys {
    pub(crate) fn bind(&self, key: &[u8], object: Object) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key.into(), object);
    }

    pub(crate) fn unbind(&self, key: &[u8]) -> bool {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key).is_some()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Object> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
