//! A POA as applications see it: objects are activated here and get their references
//! (CORBA 3.3 P1 §15.3.9).
//!
//! [`Poa`] is a cheap handle. What it does with servants is in [`crate::active_object_map`], what a
//! request does is in [`crate::dispatch`]. POAs of this version are active from their creation.

mod activation;
mod error;

pub use error::PoaError;

use crate::ObjectId;
use crate::active_object_map::ActiveObjectMap;
use crate::current;
use crate::object_key::ObjectKey;
use crate::poa_manager::{PoaManager, PoaManagerFactory};
use crate::policies::{Lifespan, PoaPolicies, PoaPolicy};
use crate::root::Registry;
use crate::slots::SlotName;
use crate::thread_model::Turns;
use corbie_core::server::upcall::{Gate, closed};
use corbie_core::{Object, Orb};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The longest path of names that fits into a persistent object key, in octets.
const MAX_PATH_OCTETS: usize = u16::MAX as usize;

/// A Portable Object Adapter.
#[derive(Clone)]
pub struct Poa(Arc<PoaInner>);

pub(crate) struct PoaInner {
    pub(crate) orb: Orb,
    registry: Arc<Registry>,
    name: String,
    /// The names from below the root to this POA, each ended by NUL: as in a persistent key.
    path: Box<[u8]>,
    place: OnceLock<SlotName>,
    pub(crate) policies: PoaPolicies,
    pub(crate) manager: PoaManager,
    pub(crate) gate: Arc<Gate>,
    pub(crate) turns: Turns,
    /// Lock order: after the registry's table; never held across an upcall.
    objects: RwLock<ActiveObjectMap>,
    children: Mutex<BTreeMap<String, Poa>>,
    destroyed: AtomicBool,
    /// The next id under `SYSTEM_ID`; see [`first_system_id`].
    next_system_id: AtomicU64,
}

impl Poa {
    pub(crate) fn register(
        orb: &Orb,
        registry: &Arc<Registry>,
        name: &str,
        path: &[u8],
        policies: PoaPolicies,
        manager: PoaManager,
    ) -> Result<Poa, PoaError> {
        let gate = Arc::new(Gate::new().ok_or(PoaError::Full)?);
        let inner = Arc::new(PoaInner {
            orb: orb.clone(),
            registry: Arc::clone(registry),
            name: name.to_owned(),
            path: path.into(),
            place: OnceLock::new(),
            policies,
            manager,
            objects: RwLock::new(ActiveObjectMap::new(policies.id_uniqueness, Arc::clone(&gate))),
            turns: Turns::new(orb, policies.thread, &gate),
            gate,
            children: Mutex::new(BTreeMap::new()),
            destroyed: AtomicBool::new(false),
            next_system_id: AtomicU64::new(first_system_id(policies.lifespan)),
        });
        current::note(&inner);
        inner.manager.adopt(&inner);
        let mut table = registry.write();
        let place = table.poas.insert(Arc::clone(&inner)).ok_or(PoaError::Full)?;
        inner.place.get_or_init(|| place);
        if policies.lifespan == Lifespan::Persistent {
            table.persistent.insert(path.into(), place);
        }
        Ok(Poa(inner))
    }

    pub(crate) fn place(&self) -> Option<SlotName> {
        self.0.place.get().copied()
    }

    /// The name that the POA was created with; `RootPOA` for the root.
    pub fn the_name(&self) -> &str {
        &self.0.name
    }

    /// Its policies.
    pub fn policies(&self) -> PoaPolicies {
        self.0.policies
    }

    /// The manager that says whether this POA takes requests; it begins by holding them
    /// (CORBA 3.3 P1 §15.3.2), so a server activates it once its servants are in place.
    pub fn the_poa_manager(&self) -> PoaManager {
        self.0.manager.clone()
    }

    /// Where POA managers with names are made and found (CORBA 3.3 P1 §15.3.9.16).
    #[must_use]
    pub fn the_poa_manager_factory(&self) -> PoaManagerFactory {
        PoaManagerFactory::new(&self.0.orb, &self.0.registry.managers)
    }

    /// Creates a child POA. Without `manager` it gets one of its own, which holds requests until it
    /// is activated.
    ///
    /// # Errors
    /// [`PoaError::AdapterAlreadyExists`] for a name that a child has, [`PoaError::InvalidPolicy`]
    /// for policies that do not go together, [`PoaError::BadName`] for a name with a NUL or a path
    /// of over 65,535 octets, [`PoaError::Destroyed`].
    pub fn create_poa(
        &self,
        name: &str,
        manager: Option<&PoaManager>,
        policies: &[PoaPolicy],
    ) -> Result<Poa, PoaError> {
        let policies = PoaPolicies::resolve(policies)?;
        let path = [&self.0.path[..], name.as_bytes(), b"\0"].concat();
        if name.contains('\0') || path.len() > MAX_PATH_OCTETS {
            return Err(PoaError::BadName(name.to_owned()));
        }
        let mut children = self.children();
        self.check_alive()?;
        if children.contains_key(name) {
            return Err(PoaError::AdapterAlreadyExists(name.to_owned()));
        }
        let child = {
            let (orb, managers) = (&self.0.orb, &self.0.registry.managers);
            let manager = manager.cloned().unwrap_or_else(|| managers.make_unnamed(orb));
            Poa::register(&self.0.orb, &self.0.registry, name, &path, policies, manager)?
        };
        children.insert(name.to_owned(), child.clone());
        Ok(child)
    }

    /// The child of that name.
    ///
    /// # Errors
    /// [`PoaError::AdapterNonExistent`].
    pub fn find_poa(&self, name: &str) -> Result<Poa, PoaError> {
        let found = self.children().get(name).cloned();
        found.ok_or_else(|| PoaError::AdapterNonExistent(name.to_owned()))
    }

    /// Destroys the POA, its children and their active objects. Requests that are being served go
    /// on; later ones get `OBJECT_NOT_EXIST`.
    pub fn destroy(&self) {
        // First, so that no child and no object is added behind our back: both look under the lock
        // that is taken below.
        self.0.destroyed.store(true, Ordering::Release);
        self.0.gate.change(closed::DESTROYED, 0);
        self.0.manager.forget(&self.0);
        let children = std::mem::take(&mut *self.children());
        children.into_values().for_each(|child| child.destroy());
        if let Some(place) = self.0.place.get() {
            let mut table = self.0.registry.write();
            table.poas.remove(*place);
            if table.persistent.get(&self.0.path) == Some(place) {
                table.persistent.remove(&self.0.path);
            }
        }
        let objects = self.0.objects_mut().take();
        // The servants are dropped after the lock: their destructors are application code.
        drop(objects);
    }

    /// The reference of the object `id` at `place` in this POA's map.
    fn reference(&self, id: &[u8], place: SlotName, type_id: &str) -> Result<Object, PoaError> {
        let key = match self.0.policies.lifespan {
            Lifespan::Persistent => ObjectKey::Persistent { path: &self.0.path, id },
            Lifespan::Transient => ObjectKey::Transient {
                incarnation: self.0.registry.incarnation,
                poa: *self.0.place.get().ok_or(PoaError::Destroyed)?,
                servant: place,
                id,
            },
        };
        Ok(self.0.orb.create_reference(&key.to_octets(), type_id)?)
    }

    fn check_alive(&self) -> Result<(), PoaError> {
        if self.0.destroyed.load(Ordering::Acquire) { Err(PoaError::Destroyed) } else { Ok(()) }
    }

    fn children(&self) -> MutexGuard<'_, BTreeMap<String, Poa>> {
        self.0.children.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn next_system_id(&self) -> ObjectId {
        ObjectId::new(&self.0.next_system_id.fetch_add(1, Ordering::Relaxed).to_be_bytes())
    }
}

impl From<Arc<PoaInner>> for Poa {
    fn from(inner: Arc<PoaInner>) -> Self {
        Poa(inner)
    }
}

impl PoaInner {
    /// What the POAs of one ORB share.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Gives servants back to the servant activator, each once its upcalls have ended.
    pub(crate) fn etherealize_all(&self) {}

    /// Waits until no upcall is under way and all servants were given back.
    pub(crate) fn wait_until_etherealized(&self) {
        self.gate.wait_until_idle();
    }

    /// The map stays whole when a thread panics (see [`ActiveObjectMap`]: no upcall happens under
    /// the lock), so a poisoned lock is used on.
    pub(crate) fn objects(&self) -> RwLockReadGuard<'_, ActiveObjectMap> {
        self.objects.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn objects_mut(&self) -> RwLockWriteGuard<'_, ActiveObjectMap> {
        self.objects.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl std::fmt::Debug for Poa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poa")
            .field("name", &self.0.name)
            .field("policies", &self.0.policies)
            .finish()
    }
}

/// Ids of transient POAs count from zero. A persistent one must not give an id that it gave in a
/// former life, which nothing remembers: the time in nanoseconds is ahead of all former ids as
/// long as fewer than one object a nanosecond was activated.
fn first_system_id(lifespan: Lifespan) -> u64 {
    match lifespan {
        Lifespan::Transient => 0,
        Lifespan::Persistent => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)),
    }
}
