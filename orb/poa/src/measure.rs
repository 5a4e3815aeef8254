//! The steps of demultiplexing one by one, so that the experiments of the paper can time them
//! without sockets (paper POA §2.2: Figures 3, 5, 8).
//!
//! Used by `bench` and the fuzz targets only: not for applications, and not stable. Each does what
//! a request does, with the same code.

use crate::active_object_map::{ActiveObjectMap, MapShape};
use crate::dispatch::RootPoa;
use crate::error::PoaError;
use crate::object_key::ObjectKey;
use crate::poa::Poa;
use crate::policies::ServantDemux;
use crate::slots::SlotName;
use corbie_core::server::{Adapter, Servant, ServerRequest};
use corbie_threads::lock::{RankedRw, rank};
use corbie_types::SystemException;
use corbie_upcall::Gate;
use std::sync::Arc;

/// What a key is taken for, written again; `None` for octets that are no key.
#[must_use]
pub fn key_again(octets: &[u8]) -> Option<Vec<u8>> {
    ObjectKey::parse(octets).map(ObjectKey::to_octets)
}

/// The names of the POAs that a persistent key leads through, each with a NUL behind it.
#[must_use]
pub fn path(object_key: &[u8]) -> Option<&[u8]> {
    match ObjectKey::parse(object_key)? {
        ObjectKey::Persistent { path, .. } => Some(path),
        ObjectKey::Transient { .. } => None,
    }
}

/// The hash of a path in the hint of a persistent key.
#[must_use]
pub fn path_hash(path: &[u8]) -> u64 {
    crate::object_key::hash_of_path(path)
}

/// The POAs of one ORB as its requests find them.
pub struct Demultiplexer(RootPoa);

impl Demultiplexer {
    /// That of the ORB of `poa`.
    #[must_use]
    pub fn of(poa: &Poa) -> Self {
        Demultiplexer(RootPoa { registry: Arc::clone(&poa.0.registry) })
    }

    /// Key to POA: by index and generation (transient) or by the whole path (persistent). The
    /// number of the POA's gate.
    #[inline]
    #[must_use]
    pub fn find_poa(&self, object_key: &[u8]) -> Option<u32> {
        self.0.find(object_key, |poa, _| Some(poa.gate.number()))
    }

    /// Key to POA to servant, and into the servant's object, as for a request: `None` when there
    /// is no active object behind an open gate.
    #[inline]
    pub fn enter<R>(&self, object_key: &[u8], upcall: impl FnOnce(&dyn Servant) -> R) -> Option<R> {
        self.0.find_active(object_key)?.call(upcall)
    }

    /// As [`Demultiplexer::enter`], by way of the trait that the ORB core knows.
    pub fn call(&self, object_key: &[u8], upcall: &mut dyn FnMut(&Arc<dyn Servant>)) -> bool {
        let adapter: &dyn Adapter = &self.0;
        adapter.call(object_key, "", upcall).is_ok()
    }
}

/// One active object map with objects whose ids are eight octets, as under `SYSTEM_ID`.
pub struct ServantTable {
    map: RankedRw<rank::ObjectMap, ActiveObjectMap>,
    servants: Vec<Arc<dyn Servant>>,
    places: Vec<SlotName>,
}

impl ServantTable {
    /// A table of `servants` servants. Without `reverse_lookup` there is no map from servants to
    /// ids.
    ///
    /// # Errors
    /// [`PoaError::Full`].
    pub fn new(demux: ServantDemux, reverse_lookup: bool, servants: u32) -> Result<Self, PoaError> {
        let gate = Arc::new(Gate::new().ok_or(PoaError::Full)?);
        let mut map = ActiveObjectMap::new(MapShape { demux, reverse_lookup }, gate);
        let servants: Vec<Arc<dyn Servant>> =
            (0..servants).map(|number| Arc::new(Numbered(number)) as Arc<dyn Servant>).collect();
        let places: Option<Vec<SlotName>> = (0_u64..)
            .zip(&servants)
            .map(|(number, servant)| map.insert(&number.to_be_bytes(), Arc::clone(servant)))
            .collect();
        let places = places.ok_or(PoaError::Full)?;
        Ok(ServantTable { map: RankedRw::new(map), servants, places })
    }

    /// The object key of the servant of this number, as a reference to it has it.
    #[must_use]
    pub fn key(&self, number: u32) -> Vec<u8> {
        let servant = self.places.get(number as usize).copied().unwrap_or(SlotName::NOWHERE);
        let id = u64::from(number).to_be_bytes();
        ObjectKey::Transient { incarnation: 0, poa: SlotName::NOWHERE, servant, id: &id }
            .to_octets()
    }

    /// Key to servant by the strategy of the table, with the lock and the count of a request.
    #[inline]
    #[must_use]
    pub fn find(&self, object_key: &[u8]) -> Option<Arc<impl Sized + use<>>> {
        let Some(ObjectKey::Transient { servant, id, .. }) = ObjectKey::parse(object_key) else {
            return None;
        };
        let map = self.map.read();
        let by_place = if map.goes_by_place() { map.at(servant, id) } else { None };
        by_place.or_else(|| map.by_id(id)).cloned()
    }

    /// Servant to id: by the reverse-lookup map, or by a search. The first four octets of the id
    /// are nought.
    #[inline]
    #[must_use]
    pub fn find_id(&self, number: u32) -> Option<u64> {
        let servant = self.servants.get(number as usize)?;
        let map = self.map.read();
        let id = map.by_servant(servant)?.activation().id();
        id.try_into().ok().map(u64::from_be_bytes)
    }
}

/// A servant that nothing is asked of.
struct Numbered(#[allow(dead_code)] u32);

impl Servant for Numbered {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        Err(request.unknown_operation())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_finds_all_servants() {
        for demux in [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear] {
            for reverse_lookup in [true, false] {
                let table = ServantTable::new(demux, reverse_lookup, 100).unwrap();
                for number in 0..100 {
                    assert!(table.find(&table.key(number)).is_some(), "{demux:?} {number}");
                    assert_eq!(table.find_id(number), Some(u64::from(number)));
                }
                assert!(table.find(&table.key(100)).is_none());
                assert_eq!(table.find_id(100), None);
            }
        }
    }
}
