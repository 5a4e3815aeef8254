//! The policies of an ORB: `CORBA::PolicyManager` (CORBA 3.3 P1 §8.9), and how references notice
//! that they changed.

use crate::policy::{Policy, PolicyError, PolicySet, PolicyType, SetOverrideType};
use corbie_threads::lock::{Guard, Ranked, rank};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The policies that an ORB has for all its references.
#[derive(Default)]
pub(crate) struct OrbPolicies {
    /// Held to copy or replace them.
    overrides: Ranked<rank::Leaf, PolicySet>,
    /// Counts changes: what references have joined from an older state is out of date.
    generation: AtomicU32,
}

impl OrbPolicies {
    /// Changes with every change of the policies.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// What references remember of the ORB's state is out of date.
    pub(crate) fn note_change(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn overrides(&self) -> PolicySet {
        *self.lock()
    }

    fn lock(&self) -> Guard<'_, rank::Leaf, PolicySet> {
        self.overrides.lock()
    }
}

/// The policies of an ORB, for all calls of all its references: what threads and references say
/// wins over them. Made by `Orb::policy_manager`.
#[derive(Clone)]
pub struct PolicyManager(Arc<dyn HasPolicies>);

/// What has the policies of an ORB: the ORB.
pub(crate) trait HasPolicies: Send + Sync {
    /// Those policies.
    fn policies(&self) -> &OrbPolicies;
}

impl PolicyManager {
    pub(crate) fn new(orb: Arc<dyn HasPolicies>) -> Self {
        PolicyManager(orb)
    }

    /// Changes the policies of the ORB; calls that begin afterwards go by them. Best done before
    /// the first call: a reference that was called before joins its policies anew at each call.
    ///
    /// # Errors
    /// [`PolicyError`]; nothing is changed then.
    pub fn set_policy_overrides(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<(), PolicyError> {
        let orb_policies = self.0.policies();
        let mut overrides = orb_policies.lock();
        *overrides = overrides.changed_for_all(policies, how)?;
        orb_policies.note_change();
        Ok(())
    }

    /// The policies of the ORB of these kinds; all of them when `types` is empty.
    #[must_use]
    pub fn get_policy_overrides(&self, types: &[PolicyType]) -> Vec<Policy> {
        self.0.policies().overrides().select(types)
    }
}

impl fmt::Debug for PolicyManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies = self.get_policy_overrides(&[]);
        f.debug_struct("PolicyManager").field("policies", &policies).finish()
    }
}
