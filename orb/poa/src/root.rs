//! The root of all POAs of one ORB, and the table by which requests find them.
//!
//! The façade makes one [`RootPoa`] per ORB and registers it as the ORB's adapter; `dispatch` looks
//! POAs up in its [`Registry`]. Nesting costs nothing: a transient key names its POA by index and
//! generation, a persistent key by the whole path (paper POA §2.2, active demultiplexing).

use crate::poa::{Poa, PoaError, PoaInner};
use crate::poa_manager::Managers;
use crate::policies::PoaPolicies;
use crate::slots::{SlotName, Slots};
use corbie_core::Orb;
use corbie_types::SystemException;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The adapter of one ORB: owns all POAs.
pub struct RootPoa {
    pub(crate) registry: Arc<Registry>,
    /// Where the root stands. Not the root itself, which holds the ORB, which holds the adapter.
    root: SlotName,
}

/// All POAs of one ORB. Lock order: `table` before any POA's map.
pub(crate) struct Registry {
    /// Differs from one life of the process to the next, so that transient references of a former
    /// life are recognised.
    pub(crate) incarnation: u32,
    table: RwLock<Table>,
    pub(crate) managers: Arc<Managers>,
}

#[derive(Default)]
pub(crate) struct Table {
    pub(crate) poas: Slots<Arc<PoaInner>>,
    pub(crate) persistent: HashMap<Box<[u8]>, SlotName>,
}

impl Default for Slots<Arc<PoaInner>> {
    fn default() -> Self {
        Slots::new()
    }
}

impl RootPoa {
    /// Makes the root POA of `orb`, registers it there, and starts listening.
    ///
    /// # Errors
    /// What [`Orb::set_adapter`] says: `INITIALIZE` (`COMPLETED_NO`) when no endpoint can be
    /// listened on, `BAD_INV_ORDER` when the ORB has an adapter already or was shut down.
    pub fn attach(orb: &Orb) -> Result<Poa, SystemException> {
        let registry = Arc::new(Registry {
            incarnation: incarnation(),
            table: RwLock::default(),
            managers: Arc::default(),
        });
        let policies = PoaPolicies::root();
        let manager = registry.managers.make_unnamed(orb);
        let root = Poa::register(orb, &registry, "RootPOA", &[], policies, manager)
            .map_err(SystemException::from)?;
        let place = root.place().ok_or(PoaError::Destroyed)?;
        match orb.set_adapter(Arc::new(RootPoa { registry, root: place })) {
            Ok(()) => Ok(root),
            Err(exception) => {
                // Else registry and root would keep each other alive.
                root.destroy();
                Err(exception)
            }
        }
    }

    /// Destroys all POAs: the ORB has shut down.
    pub(crate) fn destroy(&self) {
        let root = self.registry.read().poas.get(self.root).cloned();
        if let Some(root) = root {
            Poa::from(root).destroy();
        }
    }
}

impl Registry {
    /// A panic in another thread leaves the table whole: every change is a single insertion or
    /// removal. So a poisoned lock is used on.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A number that another life of this server does not have, but for a chance of 2^-32: from the
/// operating system's random numbers, by way of the standard library's hash keys.
fn incarnation() -> u32 {
    let number = RandomState::new().hash_one(std::process::id());
    (number >> 32) as u32 ^ number as u32
}
