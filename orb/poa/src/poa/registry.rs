//! All POAs of one ORB: the table by which requests find them.
//!
//! Made with the root POA, looked into by `dispatch`. Nesting costs nothing: a transient key names
//! its POA by index and generation, a persistent key by the whole path (paper POA §2.2, active
//! demultiplexing).

use super::{PoaError, PoaInner, upcall_context};
use crate::object_key::KeyHint;
use crate::poa_manager::Managers;
use crate::policies::Lifespan;
use crate::slots::{SlotName, Slots};
use corbie_threads::lock::{RankedRw, ReadGuard, rank};
use hashbrown::HashMap;
use std::collections::HashMap as StdHashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

/// All POAs of one ORB.
pub(crate) struct Registry {
    /// Differs from one life of the process to the next, so that transient references of a former
    /// life are recognised.
    pub(crate) incarnation: u32,
    table: RankedRw<rank::PoaTable, Table>,
    pub(crate) managers: Arc<Managers>,
    /// Where the root stands. Not the root itself, which holds the ORB, which holds the adapter.
    root: OnceLock<SlotName>,
}

#[derive(Default)]
pub(crate) struct Table {
    pub(crate) poas: Slots<Arc<PoaInner>>,
    /// Persistent POAs by their path. The application names POAs, not its peers, so a quick hash
    /// does: it is keyed, too.
    pub(crate) persistent: HashMap<Box<[u8]>, SlotName>,
    /// Where the POA of each gate stands.
    gates: StdHashMap<u32, SlotName>,
}

impl Table {
    /// The POA that the hint of a persistent key means, if it is the same one still.
    #[inline]
    pub(crate) fn hinted(&self, hint: KeyHint) -> Option<&Arc<PoaInner>> {
        let (_, poa) = self.poas.at_index(hint.poa_index)?;
        let is_it = poa.path_hash == hint.path_hash && poa.is_published();
        is_it.then_some(poa)
    }
}

impl Default for Slots<Arc<PoaInner>> {
    fn default() -> Self {
        Slots::new()
    }
}

impl Registry {
    /// Without a POA yet.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Registry {
            incarnation: incarnation(),
            table: RankedRw::default(),
            managers: Arc::default(),
            root: OnceLock::new(),
        })
    }

    /// Gives a new POA its place.
    ///
    /// # Errors
    /// [`PoaError::Full`].
    pub(crate) fn add(&self, poa: &Arc<PoaInner>) -> Result<(), PoaError> {
        upcall_context::add(poa);
        let mut table = self.table.write();
        let place = table.poas.insert(Arc::clone(poa)).ok_or(PoaError::Full)?;
        table.gates.insert(poa.gate.number(), place);
        poa.set_place(place);
        Ok(())
    }

    /// Lets requests with persistent keys find the POA.
    pub(crate) fn publish(&self, poa: &PoaInner) {
        if poa.policies.lifespan == Lifespan::Persistent {
            let mut table = self.table.write();
            table.persistent.insert(poa.path().into(), poa.place());
            poa.set_published();
        }
    }

    /// The POA is found no longer.
    pub(crate) fn remove(&self, poa: &PoaInner) {
        upcall_context::remove(poa.gate.number());
        let mut table = self.table.write();
        let removed = table.poas.remove(poa.place());
        if table.persistent.get(poa.path()) == Some(&poa.place()) {
            table.persistent.remove(poa.path());
        }
        table.gates.remove(&poa.gate.number());
        drop(table);
        // Perhaps the last one to hold it.
        drop(removed);
    }

    /// `root` is the root POA.
    pub(crate) fn set_root(&self, root: &PoaInner) {
        let _ = self.root.set(root.place());
    }

    pub(crate) fn root(&self) -> Option<Arc<PoaInner>> {
        self.read().poas.get(*self.root.get()?).cloned()
    }

    /// Whether the gate of this number is that of a POA of this ORB.
    pub(crate) fn has_gate(&self, number: u32) -> bool {
        self.read().gates.contains_key(&number)
    }

    /// Whether the calling thread serves a request of the POA at `path` or of one below it.
    pub(crate) fn is_inside_below(&self, path: &[u8]) -> bool {
        let table = self.read();
        corbie_upcall::is_inside_any(|upcall| {
            let poa = table.gates.get(&upcall.gate).and_then(|place| table.poas.get(*place));
            poa.is_some_and(|poa| poa.path().starts_with(path))
        })
    }

    #[inline]
    pub(crate) fn read(&self) -> ReadGuard<'_, rank::PoaTable, Table> {
        self.table.read()
    }
}

/// A number that another life of this server does not have, but for a chance of 2^-32: from the
/// operating system's random numbers, by way of the standard library's hash keys.
fn incarnation() -> u32 {
    let number = RandomState::new().hash_one(std::process::id());
    (number >> 32) as u32 ^ number as u32
}
