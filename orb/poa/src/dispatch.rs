//! From the object key of a request to its servant: the server half of the call path.
//!
//! `orb/core/server/dispatch` calls this for every request. No string is copied and nothing is
//! allocated: a transient key leads to its servant by two indices (paper POA §2.2, §2.3). The locks
//! are released before the servant is called (invariant 8 of `ARCHITECTURE.md`). What is not there
//! or not open goes the long way round, in `long_way`.

mod admission;
mod long_way;
mod servant_search;
mod target;

use crate::closed;
use crate::object_key::ObjectKey;
use crate::object_operations;
use crate::poa::{NewPoa, Poa, PoaInner, Registry};
use crate::poa_manager::PoaManagerState;
use crate::policies::{Collocation, PoaPolicies, RequestOrder};
use admission::Admitted;
use corbie_core::server::{
    ActiveObject, Adapter, LocalRefusal, Location, Reach, Servant, ServerRequest,
};
use corbie_core::{Object, Orb};
use corbie_settings::{Bidirectional, TlsProtection};
use corbie_types::{SystemException, minor};
use corbie_upcall::Activation;
use std::any::Any;
use std::ptr;
use std::sync::Arc;
use target::Step;

/// The reasons for which a gate may be closed that are none for requests on the right thread.
const NO_REASON_FOR_REQUESTS: u32 = closed::ONE_THREAD | closed::AWAITED;

/// The adapter of one ORB: owns all POAs.
pub struct RootPoa {
    pub(crate) registry: Arc<Registry>,
}

impl Adapter for RootPoa {
    #[inline]
    fn dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let permitted = |poa: &PoaInner, key: &ObjectKey<'_>| {
            if poa.permits(request) { poa.active(key) } else { None }
        };
        if let Some(object) = self.find(request.object_key(), permitted)
            && let Some(_entered) = object.activation().enter_in_spite_of(NO_REASON_FOR_REQUESTS)
        {
            return serve(&**object.servant(), request);
        }
        self.dispatch_the_long_way(request)
    }

    fn may_come(&self, object_key: &[u8]) -> bool {
        let is_held = |poa: &PoaInner| poa.manager.get_state() == PoaManagerState::Holding;
        match self.step(object_key, "") {
            Ok(Step::Missing { parent, .. }) => is_held(&parent.0),
            Ok(Step::There(_)) => false,
            // Plain names are bound before the root POA is active; other keys have no such hope.
            Err(_) if ObjectKey::parse(object_key).is_none() => {
                self.registry.root().is_some_and(|root| is_held(&root))
            }
            Err(_) => false,
        }
    }

    fn wait_for_object(&self, request: &mut ServerRequest<'_>) -> Result<bool, SystemException> {
        if !self.may_come(request.object_key()) {
            return Ok(false);
        }
        let Some(root) = self.registry.root() else { return Ok(false) };
        Ok(matches!(root.admit(request)?, Admitted::Held))
    }

    fn locate(&self, object_key: &[u8]) -> Location {
        if self.may_serve(object_key) { Location::Here } else { Location::Unknown }
    }

    fn keeps_order(&self, object_key: &[u8]) -> bool {
        let (mut is_policy, mut is_known) = (false, false);
        let servant = self.find(object_key, |poa, key| {
            is_known = true;
            is_policy = poa.policies.request_order == RequestOrder::AsSent;
            if is_policy {
                return None;
            }
            let active = poa.active(key).map(|object| Arc::clone(object.servant()));
            active.or_else(|| poa.default_servant())
        });
        // An adapter activator may be about to make the POA, with this policy.
        let may_be_made = !is_known && ObjectKey::parse(object_key).is_some();
        is_policy || may_be_made || servant.is_some_and(|servant| servant._keeps_order())
    }

    fn tls_protection(&self, object_key: &[u8]) -> TlsProtection {
        let said = self.find(object_key, |poa, _| Some(poa.policies.tls_protection));
        said.unwrap_or(TlsProtection::Preferred)
    }

    fn takes_call_backs(&self, object_key: &[u8]) -> bool {
        let takes = self.find(object_key, |poa, _| {
            (poa.policies.bidirectional == Bidirectional::Both).then_some(())
        });
        takes.is_some()
    }

    fn active_object(&self, object_key: &[u8]) -> Option<Reach> {
        self.find(object_key, |poa, key| match poa.policies.collocation {
            Collocation::None => None,
            _ if !poa.objects.belongs_to_this_thread() => None,
            Collocation::ThroughPoa => poa.active(key).map(Reach::LookedUp),
            Collocation::OrbDefault | Collocation::Direct => poa.active(key).map(Reach::Straight),
        })
    }

    fn is_active_as(&self, object_key: &[u8], activation: &Activation) -> bool {
        let is_it = |object: &Arc<ActiveObject>| ptr::eq(&**object.activation(), activation);
        self.find(object_key, |poa, key| poa.look_active(key, is_it)).unwrap_or_default()
    }

    fn servant(&self, object_key: &[u8]) -> Option<Arc<dyn Servant>> {
        self.find(object_key, |poa, key| {
            let active = poa.active(key).map(|object| Arc::clone(object.servant()));
            active.or_else(|| poa.default_servant())
        })
    }

    fn name(&self, object_key: &[u8], look: &mut dyn FnMut(&[u8], &[u8])) {
        if let Some(ObjectKey::Persistent { path, id, .. }) = ObjectKey::parse(object_key) {
            return look(path, id);
        }
        self.find(object_key, |poa, key| {
            look(poa.path(), key.id());
            Some(())
        });
    }

    fn are_of_one_object(&self, one: &[u8], other: &[u8]) -> bool {
        let lasting = |key| match ObjectKey::parse(key) {
            Some(ObjectKey::Persistent { path, id, .. }) => Some((path, id)),
            _ => None,
        };
        one == other || lasting(one).is_some_and(|place| lasting(other) == Some(place))
    }

    fn call(
        &self,
        object_key: &[u8],
        operation: &str,
        upcall: &mut dyn FnMut(&Arc<dyn Servant>),
    ) -> Result<(), LocalRefusal> {
        // Beside what is found, as a refusal is large and would be copied with it.
        let mut is_for_messages = false;
        let found = self.find(object_key, |poa, key| {
            is_for_messages = poa.policies.collocation == Collocation::None
                || !poa.objects.belongs_to_this_thread();
            if is_for_messages { None } else { poa.active(key) }
        });
        if is_for_messages {
            return Err(LocalRefusal::Remote);
        }
        if let Some(object) = found
            && let Some(_entered) = object.activation().enter_in_spite_of(NO_REASON_FOR_REQUESTS)
        {
            upcall(object.servant());
            return Ok(());
        }
        self.call_the_long_way(object_key, operation, upcall)
    }

    fn is_busy(&self) -> bool {
        self.registry.read().poas.iter().any(|poa| poa.gate.count_inside() > 0)
    }

    /// Destroys all POAs (CORBA 3.3 P1 §8.2.3.6: objects are etherealised).
    fn close(&self) {
        if let Some(root) = self.registry.root() {
            root.begin_destruction(true);
        }
    }
}

/// The name of the root POA, also as an initial reference.
const NAME: &str = "RootPOA";
/// The type of POAs (CORBA 3.3 P1 §15.4).
const REPOSITORY_ID: &str = "IDL:omg.org/PortableServer/POA:2.3";

impl Poa {
    /// What `orb.resolve_initial_references("RootPOA")` gave: the root POA, made at the first need;
    /// `None` for any other reference.
    ///
    /// # Errors
    /// As [`RootPoa::of`].
    pub fn narrow(object: &Object) -> Result<Option<Poa>, SystemException> {
        if !Orb::is_local_reference(object, NAME) {
            return Ok(None);
        }
        RootPoa::of(object.orb()).map(Some)
    }
}

impl RootPoa {
    /// Makes `RootPOA` an initial reference of `orb`. It is good within the process only, and is
    /// not called: [`Poa::narrow`] makes use of it.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the name is taken.
    pub fn register(orb: &Orb) -> Result<(), SystemException> {
        orb.register_local_reference(NAME, REPOSITORY_ID)
    }

    /// The root POA of `orb`; the first call makes it.
    ///
    /// # Errors
    /// As [`RootPoa::attach`]; `BAD_INV_ORDER` when it was destroyed.
    pub fn of(orb: &Orb) -> Result<Poa, SystemException> {
        let attached = match Self::attached_to(orb) {
            Some(root) => return Ok(root),
            None => Self::attach(orb),
        };
        // Another thread may have been faster.
        attached.or_else(|refused| Self::attached_to(orb).ok_or(refused))
    }

    fn attached_to(orb: &Orb) -> Option<Poa> {
        let adapter = orb.adapter()?;
        let adapter: &dyn Any = &*adapter;
        adapter.downcast_ref::<RootPoa>()?.registry.root().map(Poa)
    }

    /// Makes the root POA of `orb`, registers it there, and starts listening.
    ///
    /// # Errors
    /// What [`Orb::set_adapter`] says: `INITIALIZE` (`COMPLETED_NO`) when no endpoint can be
    /// listened on, `BAD_INV_ORDER` when the ORB has an adapter already or was shut down.
    pub fn attach(orb: &Orb) -> Result<Poa, SystemException> {
        let registry = Registry::new();
        let root = Poa::register(NewPoa {
            orb,
            registry: &registry,
            parent: None,
            name: NAME,
            path: &[],
            policies: PoaPolicies::root(),
            manager: registry.managers.make_unnamed(orb),
            components: orb.establish_components(&[])?,
        });
        let root = root.map_err(SystemException::from)?;
        registry.set_root(&root.0);
        match orb.set_adapter(Arc::new(RootPoa { registry })) {
            Ok(()) => Ok(root),
            Err(exception) => {
                // Without it registry and root would keep each other alive.
                root.0.begin_destruction(false);
                Err(exception)
            }
        }
    }

    /// The active object with this key.
    #[inline]
    pub(crate) fn find_active(&self, object_key: &[u8]) -> Option<Arc<ActiveObject>> {
        self.find(object_key, PoaInner::active)
    }

    /// What `look` sees in the POA of this key. No lock is taken, but for a persistent key without
    /// a hint that is good.
    #[inline]
    pub(crate) fn find<R>(
        &self,
        object_key: &[u8],
        look: impl FnOnce(&PoaInner, &ObjectKey<'_>) -> Option<R>,
    ) -> Option<R> {
        let key = ObjectKey::parse(object_key)?;
        let place = match key {
            ObjectKey::Transient { incarnation, poa, .. } => {
                (incarnation == self.registry.incarnation).then_some(poa)?
            }
            ObjectKey::Persistent { hint, path, .. } => {
                self.registry.persistent_place(hint, path)?
            }
        };
        self.registry.look_at(place, |poa| look(poa, &key))
    }
}

impl PoaInner {
    /// Whether `request` came in a way that the policy of this POA lets be used.
    #[inline]
    fn permits(&self, request: &ServerRequest<'_>) -> bool {
        let protection = self.policies.tls_protection;
        protection == TlsProtection::Preferred || request.is_permitted_by(protection)
    }

    /// The active object with this key, which is of this POA.
    #[inline]
    fn active(&self, key: &ObjectKey<'_>) -> Option<Arc<ActiveObject>> {
        self.look_active(key, Arc::clone)
    }

    /// What `look` sees in the active object with this key, under the lock of the map.
    #[inline]
    fn look_active<R>(
        &self,
        key: &ObjectKey<'_>,
        look: impl FnOnce(&Arc<ActiveObject>) -> R,
    ) -> Option<R> {
        let found = self.objects.look(|map| {
            let by_place = match *key {
                ObjectKey::Transient { servant, id, .. } if map.goes_by_place() => {
                    map.at(servant, id)
                }
                ObjectKey::Persistent { hint: Some(hint), id, .. } if map.goes_by_place() => {
                    let hinted = map.at_index(hint.servant_index);
                    hinted.filter(|object| object.activation().id() == id)
                }
                _ => None,
            };
            // A reference from before the object was activated, or from an earlier activation.
            by_place.or_else(|| map.by_id(key.id())).map(look)
        });
        found.flatten()
    }
}

/// The upcall itself.
#[inline]
fn serve(servant: &dyn Servant, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
    if request.is_intercepted() {
        return request.past_interceptors(servant, |request| upcall(servant, request));
    }
    upcall(servant, request)
}

#[inline]
fn upcall(servant: &dyn Servant, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
    if is_object_operation(request.operation()) && !servant._forwards() {
        return object_operations::answer(servant, request);
    }
    servant._dispatch(request)
}

/// Whether every object answers `operation` without its servant. `_get_` and `_set_` are the
/// accessors of attributes.
#[inline]
fn is_object_operation(operation: &str) -> bool {
    operation.starts_with('_') && !operation.starts_with("_get_") && !operation.starts_with("_set_")
}

#[cold]
fn not_permitted(poa: &PoaInner, operation: &str) -> SystemException {
    let (name, protection) = (poa.name(), poa.policies.tls_protection.name());
    minor::NO_PERMISSION_TLS_NEEDED.no(format!(
        "{operation} was not called: TLS is {protection} for the objects of the POA {name:?}, and \
         the connection of the request is another; use a reference that this POA made"
    ))
}

#[cold]
fn no_object(operation: &str, object_key: &[u8]) -> SystemException {
    minor::OBJECT_NOT_EXIST_NO_MATCH.no(format!(
        "{operation} was called on an object that is not active here (key of {} octets): it was \
         deactivated, or the reference is from a former life of this server",
        object_key.len()
    ))
}
