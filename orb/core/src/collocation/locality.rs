//! Whether the places that a reference leads to are of this process, found out once a binding.
//!
//! That they are not is believed until an ORB of the process begins or ends to listen
//! ([`table::generation`]).

use super::table;
use crate::client::Binding;
use crate::orb::OrbInner;
use crate::{Object, Orb};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, Weak};

/// What a binding knows of it.
#[derive(Default)]
pub(crate) struct Locality {
    here: OnceLock<Here>,
    /// The state of the table in which none of the places was of this process; 0: not asked yet.
    elsewhere_as_of: AtomicU64,
}

/// One of the places is of this process.
pub(crate) struct Here {
    /// The ORB that listens there; `None`: the reference's own, which needs no counting.
    orb: Option<Weak<OrbInner>>,
    /// Which target of the binding it is.
    target: usize,
}

impl Here {
    /// The ORB that serves the object; `None` when there is none any more.
    #[inline]
    pub(crate) fn orb<'o>(&self, caller: &'o Orb) -> Option<Cow<'o, Orb>> {
        match &self.orb {
            None => Some(Cow::Borrowed(caller)),
            Some(orb) => Orb::upgrade(orb).map(Cow::Owned),
        }
    }

    /// The object's key there.
    pub(crate) fn key<'b>(&self, binding: &'b Binding) -> &'b [u8] {
        binding.object_key_at(self.target)
    }
}

impl Locality {
    /// Whether nothing of it is of this process, as far as is known without a look.
    #[inline]
    pub(crate) fn is_surely_elsewhere(&self) -> bool {
        self.elsewhere_as_of.load(Ordering::Relaxed) == table::generation()
    }

    /// Which place of `binding` calls of `orb` reach without a connection.
    #[inline]
    pub(crate) fn find(&self, orb: &Orb, binding: &Binding) -> Option<&Here> {
        match self.here.get() {
            Some(here) => Some(here),
            None => self.look(orb, binding),
        }
    }

    #[cold]
    fn look(&self, orb: &Orb, binding: &Binding) -> Option<&Here> {
        // Read first: an ORB that begins to listen meanwhile makes the answer out of date.
        let generation = table::generation();
        let found = binding.endpoints().enumerate().find_map(|(target, endpoint)| {
            let listening = table::listening_at(endpoint, orb)?;
            if listening.is_shared_address && !listening.knows(binding.object_key_at(target)) {
                return None;
            }
            let is_own = listening.orb.is(orb);
            Some(Here { orb: (!is_own).then(|| listening.orb.downgrade()), target })
        });
        match found {
            Some(here) => Some(self.here.get_or_init(|| here)),
            None => {
                self.elsewhere_as_of.store(generation, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Object {
    /// Whether the object is known not to be in this process: one look, for calls that go out.
    #[inline]
    pub(crate) fn is_surely_elsewhere(&self) -> bool {
        self.own_binding().is_some_and(|binding| binding.locality.is_surely_elsewhere())
    }
}
