//! The untyped object reference as data: `CORBA::Object` (CORBA 3.3 P1 §8.3).
//!
//! A cheap handle. The first call binds it (`client/bind`); calls go through `client/invocation`.

use super::{Extension, Orb, Shortcuts};
use crate::policy::{self, CachedPolicies, PolicySet};
use corbie_types::{Ior, SystemException};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A reference to an object, anywhere. Clones are the same reference. Nil is `Option::None`.
#[derive(Clone)]
pub struct Object(Arc<ObjectInner>);

struct ObjectInner {
    orb: Orb,
    ior: Ior,
    /// Where calls go: what the client keeps.
    bindings: Extension,
    /// The ways of calls of this process past the connection.
    shortcuts: Shortcuts,
    /// The object's key, where it is in this process.
    local_key: OnceLock<Option<Vec<u8>>>,
    /// Whether a server sent us on: spares a lock on every call that was not forwarded.
    is_forwarded: AtomicBool,
    /// The state of the table of neighbours in which the object was not in this process; 0: not
    /// asked yet.
    elsewhere_as_of: AtomicU64,
    /// Whether a call was answered: from then on rebinding is what `RebindPolicy` restricts.
    is_bound: AtomicBool,
    /// Policies set on this reference.
    policy_overrides: PolicySet,
    /// What the server says of its policies in the reference.
    exposed_policies: OnceLock<Result<PolicySet, SystemException>>,
    /// What calls go by; made by the first one.
    policies: OnceLock<CachedPolicies>,
}

impl Object {
    /// The reference `ior`, used through `orb`. Nothing is connected yet.
    pub fn new(orb: &Orb, ior: Ior) -> Self {
        Self::with_policies(orb, ior, PolicySet::default())
    }

    /// The reference `ior` with policies of its own.
    pub(crate) fn with_policies(orb: &Orb, ior: Ior, policy_overrides: PolicySet) -> Self {
        Object(Arc::new(ObjectInner {
            orb: orb.clone(),
            ior,
            bindings: Extension::default(),
            shortcuts: Shortcuts::default(),
            local_key: OnceLock::new(),
            is_forwarded: AtomicBool::new(false),
            elsewhere_as_of: AtomicU64::new(0),
            is_bound: AtomicBool::new(false),
            policy_overrides,
            exposed_policies: OnceLock::new(),
            policies: OnceLock::new(),
        }))
    }

    /// The ORB that the reference belongs to.
    pub fn orb(&self) -> &Orb {
        &self.0.orb
    }

    /// What the reference consists of.
    pub fn ior(&self) -> &Ior {
        &self.0.ior
    }

    /// A call was answered.
    #[inline]
    pub(crate) fn note_bound(&self) {
        if !self.0.is_bound.load(Ordering::Relaxed) {
            self.0.is_bound.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a call was ever answered.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.is_bound.load(Ordering::Relaxed)
    }

    /// Policies set on this reference.
    pub(crate) fn policy_overrides(&self) -> &PolicySet {
        &self.0.policy_overrides
    }

    /// What the reference says of its server's policies.
    ///
    /// # Errors
    /// `MARSHAL` (`COMPLETED_NO`) when it cannot be read.
    pub(crate) fn exposed_policies(&self) -> Result<&PolicySet, SystemException> {
        let read =
            || policy::exposed_by(self.orb().settings(), self.orb().transports(), &self.0.ior);
        self.0.exposed_policies.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// What calls go by, as far as the thread says nothing; the first call makes it.
    #[inline]
    pub(crate) fn policy_cache(&self) -> &OnceLock<CachedPolicies> {
        &self.0.policies
    }

    /// Where calls go: the client's.
    #[inline]
    pub(crate) fn bindings(&self) -> &Extension {
        &self.0.bindings
    }

    /// The object's key where it is in this process: the server's.
    pub(crate) fn local_key_slot(&self) -> &OnceLock<Option<Vec<u8>>> {
        &self.0.local_key
    }

    /// Whether a server sent us on.
    #[inline]
    pub(crate) fn is_forwarded(&self) -> bool {
        self.0.is_forwarded.load(Ordering::Acquire)
    }

    /// A server has sent us on, or calls go where the reference leads again.
    pub(crate) fn note_forwarded(&self, is_forwarded: bool) {
        self.0.shortcuts.set_forwarded(is_forwarded);
        self.0.is_forwarded.store(is_forwarded, Ordering::Release);
    }

    /// The state of the table of neighbours in which the object was not in this process.
    #[inline]
    pub(crate) fn elsewhere_as_of(&self) -> u64 {
        self.0.elsewhere_as_of.load(Ordering::Relaxed)
    }

    /// The object is not in this process, in this state of the table of neighbours.
    pub(crate) fn note_elsewhere(&self, generation: u64) {
        self.0.elsewhere_as_of.store(generation, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn shortcuts(&self) -> &Shortcuts {
        &self.0.shortcuts
    }
}

impl PartialEq for Object {
    /// Whether both are surely references to the same object (`is_equivalent`, CORBA 3.3 P1
    /// §8.3.5.2): the same profiles. Two references that differ may lead to one object still.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.ior == other.0.ior
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("ior", &self.0.ior).finish()
    }
}

impl fmt::Display for Object {
    /// The stringified reference, `IOR:…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.ior.fmt(f)
    }
}
