//! All POAs of one ORB: the table by which requests find them.
//!
//! Made with the root POA, looked into by `dispatch`. Nesting costs nothing: a transient key names
//! its POA by index and generation, a persistent key by the whole path (paper POA §2.2, active
//! demultiplexing).

use super::{PoaError, PoaInner, upcall_context};
use crate::object_key::KeyHint;
use crate::places::Places;
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
    /// The POAs by the index of their place, as requests read them.
    places: Places<PoaInner>,
    /// The same and more, for whatever else is asked.
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
            places: Places::new(),
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
        self.places.set(place.index, Some(Arc::clone(poa)));
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
        if removed.is_some() {
            self.places.set(poa.place().index, None);
        }
        if table.persistent.get(poa.path()) == Some(&poa.place()) {
            table.persistent.remove(poa.path());
        }
        table.gates.remove(&poa.gate.number());
        drop(table);
        // Perhaps the last one to hold it.
        drop(removed);
    }

    /// What `look` sees in the POA at this place, without a lock.
    #[inline]
    pub(crate) fn look_at<R>(
        &self,
        place: SlotName,
        look: impl FnOnce(&PoaInner) -> Option<R>,
    ) -> Option<R> {
        let poa = self.places.get(place.index)?;
        look(poa.as_deref().filter(|poa| poa.place() == place)?)
    }

    /// Where the POA with persistent keys of this path stands: by the hint of a key without a lock,
    /// else by the whole path.
    #[inline]
    pub(crate) fn persistent_place(&self, hint: Option<KeyHint>, path: &[u8]) -> Option<SlotName> {
        let by_hint = hint.and_then(|hint| self.hinted(hint, path));
        by_hint.or_else(|| self.read().persistent.get(path).copied())
    }

    /// The place that the hint of a persistent key means, if the same POA is there still. A peer
    /// chooses the hint and the path: where they differ the path decides, as for access rules.
    #[inline]
    fn hinted(&self, hint: KeyHint, path: &[u8]) -> Option<SlotName> {
        let poa = self.places.get(hint.poa_index)?;
        let is_it = |poa: &&PoaInner| {
            poa.path_hash == hint.path_hash && poa.is_published() && poa.path() == path
        };
        poa.as_deref().filter(is_it).map(PoaInner::place)
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

#[cfg(test)]
mod tests {
    use crate::dispatch::RootPoa;
    use crate::policies::PoaPolicy;
    use corbie_core::Orb;
    use corbie_core::server::{Servant, ServerRequest};
    use corbie_settings::Settings;
    use corbie_types::SystemException;
    use std::sync::Arc;

    struct Nothing;

    impl Servant for Nothing {
        fn _interfaces(&self) -> &'static [&'static str] {
            &[]
        }

        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            Err(request.unknown_operation())
        }
    }

    #[test]
    fn a_request_finds_its_object_while_the_table_is_locked() {
        let mut settings = Settings::default();
        settings.listen_endpoints = vec!["iiop://127.0.0.1:0".parse().unwrap()];
        let orb = Orb::new(settings);
        let root = RootPoa::attach(&orb).unwrap();
        let kept = root.create_poa("kept", None, &PoaPolicy::PERSISTENT_USER_ID).unwrap();
        let key_of = |object: &corbie_core::Object| {
            object.ior().iiop_profiles().unwrap().remove(0).object_key
        };
        let id = root.activate_object(Arc::new(Nothing)).unwrap();
        let transient = key_of(&root.id_to_reference(&id).unwrap());
        kept.activate_object_with_id(&"a".into(), Arc::new(Nothing)).unwrap();
        let persistent = key_of(&kept.id_to_reference(&"a".into()).unwrap());
        let adapter = RootPoa { registry: Arc::clone(&root.0.registry) };
        {
            let _table = root.0.registry.table.write();
            for key in [&transient, &persistent] {
                assert!(adapter.find_active(key).is_some(), "{key:?}");
            }
        }
        kept.destroy(false, true).unwrap();
        assert!(adapter.find_active(&persistent).is_none());
        orb.shutdown(true);
    }
}
