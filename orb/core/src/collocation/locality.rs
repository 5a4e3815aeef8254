//! Whether the places that a reference leads to are of this process, found out once a binding.
//!
//! That they are not is believed until an ORB of the process begins or ends to listen
//! ([`NEIGHBOURS`]).

use crate::Object;
use crate::client::{Binding, BindingRef};
use crate::handles::NEIGHBOURS;
use crate::neighbours::{self, Here, Neighbour};
use std::sync::atomic::Ordering;

impl Here {
    /// The object's key there.
    pub(crate) fn key<'b>(&self, binding: &'b Binding) -> &'b [u8] {
        binding.object_key_at(self.target)
    }
}

/// Which place of `binding` calls of `object` reach without a connection.
#[inline]
pub(super) fn here<'b>(object: &Object, binding: &'b BindingRef<'_>) -> Option<&'b Here> {
    match binding.locality.0.get() {
        Some(here) => Some(here),
        None => look(object, binding),
    }
}

#[cold]
fn look<'b>(object: &Object, binding: &'b BindingRef<'_>) -> Option<&'b Here> {
    // Read first: an ORB that begins to listen meanwhile makes the answer out of date.
    let generation = NEIGHBOURS.load(Ordering::Acquire);
    let orb = object.orb();
    let found = binding.endpoints().enumerate().find_map(|(target, endpoint)| {
        let listening = neighbours::listening_at(endpoint, orb)?;
        if listening.is_shared_address && !knows(&listening, binding.object_key_at(target)) {
            return None;
        }
        let is_own = listening.orb.is(orb);
        Some(Here { orb: (!is_own).then(|| listening.orb.downgrade()), target })
    });
    match found {
        Some(here) => Some(binding.locality.0.get_or_init(|| here)),
        None => {
            if !binding.is_forwarded() {
                object.note_elsewhere(generation);
            }
            None
        }
    }
}

/// Whether an active object has this key there.
fn knows(listening: &Neighbour, key: &[u8]) -> bool {
    let adapter = listening.orb.server().adapter.get();
    adapter.is_some_and(|adapter| adapter.active_object(key).is_some())
}
