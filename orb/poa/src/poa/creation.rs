//! Making and finding POAs (CORBA 3.3 P1 §15.3.9.2, §15.3.9.3).
//!
//! Called by applications, and by `dispatch` for persistent keys whose POA is not there
//! (adapter activators, §15.3.3).

use super::family::{FamilyGuard, FamilyState};
use super::{
    AdapterActivator, Family, IdSource, Life, Poa, PoaError, PoaInner, Registry, Servants,
};
use crate::active_object_map::{MapLock, MapShape};
use crate::closed;
use crate::object_key::hash_of_path;
use crate::poa_manager::{Managed, PoaManager};
use crate::policies::{Collocation, PoaPolicies, PoaPolicy, RequestOrder, Synchronization};
use crate::thread_model::Turns;
use crate::transitions::{Busy, Transitions};
use corbie_core::Orb;
use corbie_core::portable_interceptor::AddedComponent;
use corbie_settings::{Bidirectional, TlsProtection};
use corbie_threads::lock::RankedRw;
use corbie_types::{SystemException, minor};
use corbie_upcall::{Gate, Owner};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

/// The longest path of names that fits into a persistent object key, in octets.
const MAX_PATH_OCTETS: usize = u16::MAX as usize;

/// What a POA is made of.
pub(crate) struct NewPoa<'n> {
    pub(crate) orb: &'n Orb,
    pub(crate) registry: &'n Arc<Registry>,
    pub(crate) parent: Option<&'n Arc<PoaInner>>,
    pub(crate) name: &'n str,
    pub(crate) path: &'n [u8],
    pub(crate) policies: PoaPolicies,
    pub(crate) manager: PoaManager,
    /// What IOR interceptors add to its references.
    pub(crate) components: Vec<AddedComponent>,
}

impl Poa {
    /// Puts a new POA into the registry.
    pub(crate) fn register(new: NewPoa<'_>) -> Result<Poa, PoaError> {
        let NewPoa { orb, registry, parent, name, path, mut policies, manager, components } = new;
        if policies.synchronization == Synchronization::DefaultLock {
            policies.synchronization = orb.settings().poa_lock.into();
        }
        if policies.collocation == Collocation::OrbDefault {
            policies.collocation = orb.settings().collocation_strategy.into();
        }
        if policies.request_order == RequestOrder::AsSent {
            orb.expect_order();
        }
        if policies.bidirectional == Bidirectional::Both {
            orb.offer_connections();
        }
        let gate = Arc::new(Gate::new().ok_or(PoaError::Full)?);
        if policies.synchronization == Synchronization::NullLock {
            gate.change(closed::ONE_THREAD, 0);
        }
        let shape = MapShape::of(&policies);
        let system_ids = IdSource::new(&policies)?;
        if let Some(parent) = parent {
            parent.making().guard(name.as_bytes(), &gate);
        }
        let inner = Arc::new_cyclic(|myself: &Weak<PoaInner>| PoaInner {
            myself: Weak::clone(myself),
            orb: orb.clone(),
            registry: Arc::clone(registry),
            name: name.to_owned(),
            path: path.into(),
            path_hash: hash_of_path(path),
            place: OnceLock::new(),
            parent: parent.map(Arc::downgrade),
            policies,
            manager,
            objects: MapLock::new(policies.synchronization, shape, &gate),
            turns: Turns::new(orb, policies.thread, &gate),
            transitions: Transitions::new(closed::AWAITING_OBJECTS, Some(Arc::clone(&gate))),
            gate,
            cleanup_in_progress: AtomicBool::new(false),
            family: Family::default(),
            servants: Servants::default(),
            activator: RankedRw::default(),
            system_ids,
            life: Life::default(),
            locates_shown: AtomicBool::new(false),
            is_published: AtomicBool::new(false),
            components: components.into(),
        });
        let owner: Weak<dyn Owner> = Weak::<PoaInner>::clone(&inner.myself);
        inner.gate.set_owner(owner);
        let managed: Arc<dyn Managed> = Arc::<PoaInner>::clone(&inner);
        inner.manager.adopt(&managed);
        registry.add(&inner)?;
        Ok(Poa(inner))
    }

    /// Creates a child POA. Without `manager` it gets one of its own, which holds requests until it
    /// is activated.
    ///
    /// ```
    /// use corbie_poa::{IdAssignment, Lifespan, Poa, PoaError, ServantRetention};
    ///
    /// fn create(root: &Poa) -> Result<Poa, PoaError> {
    ///     let policies = [Lifespan::Persistent.into(), IdAssignment::UserId.into()];
    ///     let accounts = root.create_poa("accounts", Some(&root.the_poa_manager()), &policies)?;
    ///     // NON_RETAIN says nothing about who serves the requests instead.
    ///     let wrong = [Lifespan::Persistent.into(), ServantRetention::NonRetain.into()];
    ///     let error = root.create_poa("wrong", None, &wrong).unwrap_err();
    ///     assert!(matches!(error, PoaError::InvalidPolicy { index: 1, .. }));
    ///     Ok(accounts)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`PoaError::AdapterAlreadyExists`] for a name that a child has (also one that is being
    /// destroyed and has not gone yet), [`PoaError::InvalidPolicy`] for policies that do not go
    /// together, [`PoaError::BadName`] for a name with a NUL or a path of over 65,535 octets;
    /// `BAD_INV_ORDER` minor 17 (`COMPLETED_NO`) when this POA is being destroyed.
    pub fn create_poa(
        &self,
        name: &str,
        manager: Option<&PoaManager>,
        policies: &[PoaPolicy],
    ) -> Result<Poa, PoaError> {
        let list = policies;
        let policies = PoaPolicies::resolve(list)?;
        self.check_protection(list, policies.tls_protection)?;
        self.check_bidirectional(list, policies.bidirectional)?;
        let path = [&self.0.path[..], name.as_bytes(), b"\0"].concat();
        if name.contains('\0') || path.len() > MAX_PATH_OCTETS {
            return Err(PoaError::BadName(name.to_owned()));
        }
        let components = self.0.orb.establish_components(&path)?;
        let mut family = self.0.family.lock();
        // Under the lock: the thread that destroys this POA takes it afterwards and finds the new
        // child.
        if !self.0.is_alive() {
            return Err(being_destroyed(self.the_name()).into());
        }
        if family.children.contains_key(name) {
            return Err(PoaError::AdapterAlreadyExists(name.to_owned()));
        }
        let manager =
            manager.cloned().unwrap_or_else(|| self.0.registry.managers.make_unnamed(&self.0.orb));
        let (orb, registry) = (&self.0.orb, &self.0.registry);
        let parent = Some(&self.0);
        let path = &path;
        let new = NewPoa { orb, registry, parent, name, path, policies, manager, components };
        let child = Poa::register(new)?;
        family.children.insert(name.to_owned(), Arc::clone(&child.0));
        registry.publish(&child.0);
        Ok(child)
    }

    /// Whether the ORB has an address for references of a POA with `protection`, which is in
    /// `list` unless it is the default.
    fn check_protection(
        &self,
        list: &[PoaPolicy],
        protection: TlsProtection,
    ) -> Result<(), PoaError> {
        let why = match protection {
            TlsProtection::Preferred => return Ok(()),
            _ if self.0.orb.has_address_for(protection) => return Ok(()),
            TlsProtection::Required => "TLS is required, and the ORB listens on no ssliop://",
            TlsProtection::Forbidden => "TLS is forbidden, and the ORB listens on nothing else",
        };
        let is_it = |policy: &PoaPolicy| matches!(policy, PoaPolicy::TlsProtection(_));
        Err(PoaError::InvalidPolicy { index: list.iter().position(is_it).unwrap_or(0), why })
    }

    fn check_bidirectional(
        &self,
        list: &[PoaPolicy],
        policy: Bidirectional,
    ) -> Result<(), PoaError> {
        if policy == Bidirectional::Normal
            || self.0.orb.settings().bidirectional == Bidirectional::Both
        {
            return Ok(());
        }
        let is_it = |policy: &PoaPolicy| matches!(policy, PoaPolicy::Bidirectional(_));
        let why = "BOTH needs the setting bidirectional = both of the ORB";
        Err(PoaError::InvalidPolicy { index: list.iter().position(is_it).unwrap_or(0), why })
    }

    /// The child of that name. If there is none and `activate_it`, the adapter activator is asked
    /// to make it.
    ///
    /// # Errors
    /// [`PoaError::AdapterNonExistent`]; `OBJ_ADAPTER` minor 1 when the adapter activator raised an
    /// exception.
    pub fn find_poa(&self, name: &str, activate_it: bool) -> Result<Poa, PoaError> {
        let mut turn = None;
        let mut family = self.0.family.lock();
        let activator = loop {
            match self.look_for(&family, name, Asker::Application { activate_it })? {
                Child::There(child) => return Ok(child),
                Child::Wait => family = self.0.family.wait(family),
                Child::Unknown(activator) if turn.is_some() => break activator,
                Child::Unknown(_) => {
                    // Before the name is taken: another thread that has the turn may want it.
                    drop(family);
                    turn = Some(self.0.turns.wait());
                    family = self.0.family.lock();
                }
            }
        };
        self.ask(&*activator, name, family)
    }

    /// As [`Poa::find_poa`], for a request, which waits in no thread: for a change since the epoch
    /// of [`PoaInner::making`] that is given.
    ///
    /// # Errors
    /// As [`Poa::find_poa`].
    pub(crate) fn make_for_request(&self, name: &str) -> Result<Option<u64>, PoaError> {
        let epoch = self.0.making().epoch();
        let family = self.0.family.lock();
        match self.look_for(&family, name, Asker::Request)? {
            Child::There(_) => Ok(None),
            Child::Wait => Ok(Some(epoch)),
            Child::Unknown(activator) => self.ask(&*activator, name, family).map(|_| None),
        }
    }

    fn look_for(&self, family: &FamilyState, name: &str, asker: Asker) -> Result<Child, PoaError> {
        let missing = || PoaError::AdapterNonExistent(name.to_owned());
        let activate_it = asker != Asker::Application { activate_it: false };
        let is_being_made = match self.0.making().busy(name.as_bytes()) {
            Busy::No => false,
            // An activator finds what it makes; requests that it causes do not.
            Busy::ThisThread => asker == Asker::Request,
            Busy::OtherThread => true,
        };
        match family.children.get(name) {
            Some(child) if child.is_alive() && !(activate_it && is_being_made) => {
                Ok(Child::There(Poa(Arc::clone(child))))
            }
            // It is being destroyed: a new one can be made once it is gone. A thread inside it
            // would wait for itself.
            Some(child) if activate_it && (child.is_alive() || !self.is_inside(child)) => {
                Ok(Child::Wait)
            }
            None if activate_it && is_being_made => Ok(Child::Wait),
            None if activate_it && !self.0.is_making(name) => {
                self.activator().map(Child::Unknown).ok_or_else(missing)
            }
            _ => Err(missing()),
        }
    }

    /// The child of that name, unless it is being destroyed.
    pub(crate) fn living_child(&self, name: &str) -> Option<Poa> {
        let family = self.0.family.lock();
        family.children.get(name).filter(|child| child.is_alive()).cloned().map(Poa)
    }

    /// Whether this thread serves a request of `child` or of a POA below it.
    fn is_inside(&self, child: &PoaInner) -> bool {
        self.0.registry.is_inside_below(child.path())
    }

    /// Has `activator` make `name`, which no thread is making.
    fn ask(
        &self,
        activator: &dyn AdapterActivator,
        name: &str,
        family: FamilyGuard<'_>,
    ) -> Result<Poa, PoaError> {
        self.0.making().try_begin(name.as_bytes());
        drop(family);
        let made = Made { parent: &self.0, name };
        let answer = activator.unknown_adapter(self, name);
        let is_there = answer.map_err(|exception| {
            minor::OBJ_ADAPTER_UNKNOWN_ADAPTER
                .no(format!("the adapter activator failed for {name:?}: {exception}"))
        })?;
        drop(made);
        let child = || self.0.family.lock().children.get(name).cloned();
        let made = if is_there { child() } else { None };
        made.map(Poa).ok_or_else(|| PoaError::AdapterNonExistent(name.to_owned()))
    }
}

/// Ends the making of a POA, also when the activator panics: requests may find it now.
struct Made<'m> {
    parent: &'m PoaInner,
    name: &'m str,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        self.parent.making().end(self.name.as_bytes());
        self.parent.family.note_change();
    }
}

/// What asks for a child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Application { activate_it: bool },
    Request,
}

/// What became of asking.
enum Child {
    There(Poa),
    /// It is being made or ended.
    Wait,
    /// The adapter activator may make it.
    Unknown(Arc<dyn AdapterActivator>),
}

#[cold]
fn being_destroyed(name: &str) -> SystemException {
    minor::BAD_INV_ORDER_POA_BEING_DESTROYED
        .no(format!("the POA {name:?} is being destroyed and gets no more children"))
}
