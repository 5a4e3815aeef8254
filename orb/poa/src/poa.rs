//! A POA as applications see it (CORBA 3.3 P1 §15.3.9).
//!
//! [`Poa`] is a cheap handle. What makes and finds POAs is in `creation`, what ends them in
//! `destruction`; `registry` has all POAs of an ORB. Objects begin in `activation`, end in
//! `deactivation` and are named in `references`; `servant_manager` has what applications
//! plug in. What a request does is in `dispatch`.

mod activation;
mod creation;
mod deactivation;
mod destruction;
mod family;
mod id_source;
mod references;
mod registry;
pub(crate) mod servant_manager;
mod servants;
pub(crate) mod upcall_context;

pub(crate) use creation::NewPoa;
pub use references::This;
pub(crate) use registry::Registry;
pub(crate) use servants::{no_default_servant, no_servant_manager};

use crate::active_object_map::MapLock;
use crate::closed;
use crate::error::PoaError;
use crate::poa_manager::{PoaManager, PoaManagerFactory};
use crate::policies::PoaPolicies;
use crate::slots::SlotName;
use crate::thread_model::Turns;
use crate::transitions::{Busy, Transitions};
use corbie_core::Orb;
use corbie_core::portable_interceptor::AddedComponent;
use corbie_threads::lock::{RankedRw, rank};
use corbie_upcall::Gate;
use destruction::Life;
use family::Family;
use id_source::IdSource;
use servant_manager::AdapterActivator;
use servants::Servants;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A Portable Object Adapter. Clones are the same POA.
#[derive(Clone)]
pub struct Poa(pub(crate) Arc<PoaInner>);

pub(crate) struct PoaInner {
    pub(crate) orb: Orb,
    pub(crate) registry: Arc<Registry>,
    /// The handle that application code gets.
    myself: Weak<PoaInner>,
    name: String,
    /// The names from below the root to this POA, each ended by NUL: as in a persistent key.
    path: Box<[u8]>,
    pub(crate) path_hash: u64,
    place: OnceLock<SlotName>,
    /// `None` for the root.
    parent: Option<Weak<PoaInner>>,
    pub(crate) policies: PoaPolicies,
    pub(crate) manager: PoaManager,
    pub(crate) gate: Arc<Gate>,
    pub(crate) turns: Turns,
    pub(crate) objects: MapLock,
    pub(crate) transitions: Transitions,
    /// Whether objects end because the POA or its manager does.
    cleanup_in_progress: AtomicBool,
    family: Family,
    servants: Servants,
    activator: RankedRw<rank::Leaf, Option<Arc<dyn AdapterActivator>>>,
    system_ids: IdSource,
    life: Life,
    /// Whether what the servant locator gave last can be called without a message.
    locates_shown: AtomicBool,
    /// Whether persistent keys lead here.
    is_published: AtomicBool,
    /// What IOR interceptors add to its references.
    components: Box<[AddedComponent]>,
}

impl Poa {
    /// The name that the POA was created with; `RootPOA` for the root.
    #[must_use]
    pub fn the_name(&self) -> &str {
        &self.0.name
    }

    /// The POA that this one is a child of; `None` for the root, and when the parent is gone.
    #[must_use]
    pub fn the_parent(&self) -> Option<Poa> {
        self.0.parent.as_ref().and_then(Weak::upgrade).map(Poa)
    }

    /// Its children, by name.
    #[must_use]
    pub fn the_children(&self) -> Vec<Poa> {
        self.0.family.children().into_iter().map(Poa).collect()
    }

    /// The manager that says whether this POA takes requests; it begins by holding them
    /// (CORBA 3.3 P1 §15.3.2), so a server activates it once its servants are in place.
    #[must_use]
    pub fn the_poa_manager(&self) -> PoaManager {
        self.0.manager.clone()
    }

    /// Where POA managers with names are made and found (CORBA 3.3 P1 §15.3.9.16).
    #[must_use]
    pub fn the_poa_manager_factory(&self) -> PoaManagerFactory {
        PoaManagerFactory::new(&self.0.orb, &self.0.registry.managers)
    }

    /// The adapter activator; `None` when there is none.
    #[must_use]
    #[cfg(feature = "adapter-activators")]
    pub fn the_activator(&self) -> Option<Arc<dyn AdapterActivator>> {
        self.activator()
    }

    pub(crate) fn activator(&self) -> Option<Arc<dyn AdapterActivator>> {
        if cfg!(not(feature = "adapter-activators")) {
            return None;
        }
        self.0.activator.read().clone()
    }

    /// Sets or takes away the adapter activator.
    #[cfg(feature = "adapter-activators")]
    pub fn set_the_activator(&self, activator: Option<Arc<dyn AdapterActivator>>) {
        self.0.set_activator(activator);
    }

    /// Octets that name this POA within its process (CORBA 3.3 P1 §15.3.9.11).
    #[must_use]
    pub fn id(&self) -> Vec<u8> {
        self.0.gate.number().to_be_bytes().to_vec()
    }

    /// Its policies, with what was left open decided.
    #[must_use]
    pub fn policies(&self) -> PoaPolicies {
        self.0.policies
    }

    /// The ORB that it belongs to.
    #[must_use]
    pub fn orb(&self) -> &Orb {
        &self.0.orb
    }

    fn check_alive(&self) -> Result<(), PoaError> {
        if self.0.is_alive() { Ok(()) } else { Err(PoaError::Destroyed) }
    }
}

impl PoaInner {
    fn set_activator(&self, activator: Option<Arc<dyn AdapterActivator>>) {
        let before = std::mem::replace(&mut *self.activator.write(), activator);
        // After the lock: its destructor is application code.
        drop(before);
    }

    /// Whether its destruction has not begun.
    #[inline]
    pub(crate) fn is_alive(&self) -> bool {
        self.gate.bits() & closed::ENDING == 0
    }

    /// Where it stands in the registry. Set before any other thread sees it.
    pub(crate) fn place(&self) -> SlotName {
        self.place.get().copied().unwrap_or(SlotName::NOWHERE)
    }

    pub(crate) fn set_place(&self, place: SlotName) {
        let _ = self.place.set(place);
    }

    /// Whether requests with persistent keys may find it; see `creation`.
    #[inline]
    pub(crate) fn is_published(&self) -> bool {
        self.is_published.load(Ordering::Relaxed)
    }

    pub(crate) fn set_published(&self) {
        self.is_published.store(true, Ordering::Relaxed);
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }

    /// The children that adapter activators are making.
    pub(crate) fn making(&self) -> &Transitions {
        &self.family.making
    }

    /// Whether an adapter activator is making it.
    pub(crate) fn is_being_made(&self) -> bool {
        self.gate.bits() & closed::MAKING != 0
    }

    /// Whether this thread is in the adapter activator that makes it.
    pub(crate) fn is_made_by_this_thread(&self) -> bool {
        let parent = self.parent.as_ref().and_then(Weak::upgrade);
        parent.is_some_and(|parent| parent.is_making(&self.name))
    }

    /// Whether this thread is in the adapter activator that makes the child `name`.
    pub(crate) fn is_making(&self, name: &str) -> bool {
        self.making().busy(name.as_bytes()) == Busy::ThisThread
    }

    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }
}

impl PartialEq for Poa {
    /// Whether both are the same POA.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Arc<PoaInner>> for Poa {
    fn from(inner: Arc<PoaInner>) -> Self {
        Poa(inner)
    }
}

impl std::fmt::Debug for Poa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poa")
            .field("name", &self.0.name)
            .field("policies", &self.0.policies)
            .finish_non_exhaustive()
    }
}
