//! The policies of a reference: `get_policy` and its kin on `CORBA::Object` (CORBA 3.3 P1 §8.3),
//! and how they are joined for its calls.
//!
//! `Interface` repeats the first for typed references. Levels are joined as `policy/call` says.

use crate::Object;
use crate::client::bind;
use crate::policy::{
    CachedPolicies, CallPolicies, Effective, Policy, PolicyError, PolicySet, PolicyType,
    RebindMode, SetOverrideType, current, reconciled,
};
use corbie_types::{SystemException, minor};

impl Object {
    /// What calls go by that another thread may have made: as [`Object::call_policies`], without
    /// the policies of the thread.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn policies_of_any_thread(&self) -> Result<Effective<'_>, SystemException> {
        match self.cached_policies().now(self.orb().policies().generation()) {
            Some(policies) => Ok(Effective::Cached(policies)),
            None => Ok(Effective::Joined(joined(self, &PolicySet::default())?)),
        }
    }

    /// For [`Object::cached_policies`].
    #[cold]
    pub(super) fn policies_to_cache(&self) -> CachedPolicies {
        // Read first: a change in between makes the cache out of date, not wrong.
        let generation = self.orb().policies().generation();
        CachedPolicies::new(generation, joined(self, &PolicySet::default()))
    }

    /// A reference to the same object with other policies of its own; this one is unchanged.
    ///
    /// ```
    /// # fn example(quoter: corbie_core::Object) -> Result<(), corbie_core::policy::PolicyError> {
    /// use corbie_core::policy::{Policy, SetOverrideType};
    /// let in_time = Policy::RelativeRoundtripTimeout(std::time::Duration::from_millis(100));
    /// let quoter = quoter.set_policy_overrides(&[in_time], SetOverrideType::Add)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn set_policy_overrides(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<Object, PolicyError> {
        let changed = self.policy_overrides().changed(policies, how)?;
        Ok(Object::with_policies(self.orb(), self.ior().clone(), self.giver().cloned(), changed))
    }

    /// The policies set on this reference of these kinds; all of them when `types` is empty.
    #[must_use]
    pub fn get_policy_overrides(&self, types: &[PolicyType]) -> Vec<Policy> {
        self.policy_overrides().select(types)
    }

    /// The policy that calls of this thread go by: what reference, thread or ORB say, in this
    /// order, narrowed to what the reference says of its server. `None`: none of them says
    /// anything, so that the ORB's settings hold.
    ///
    /// # Errors
    /// `INV_POLICY` (minor 1, `COMPLETED_NO`) when the server's policy excludes the one set here,
    /// minor 2 when the kind is not known.
    pub fn get_policy(&self, policy_type: PolicyType) -> Result<Option<Policy>, SystemException> {
        check_known(policy_type)?;
        let here = overrides(self, &current::overrides());
        let exposed = self.exposed_policies()?.only(policy_type);
        Ok(reconciled(&here.only(policy_type), &exposed)?.get(policy_type))
    }

    /// The policy set here, at the reference, thread or ORB, whatever the server says.
    ///
    /// # Errors
    /// `INV_POLICY` (minor 2, `COMPLETED_NO`) when the kind is not known.
    pub fn get_client_policy(
        &self,
        policy_type: PolicyType,
    ) -> Result<Option<Policy>, SystemException> {
        check_known(policy_type)?;
        Ok(overrides(self, &current::overrides()).get(policy_type))
    }

    /// Binds the reference, opening a connection and following forwards whatever its
    /// `RebindPolicy` says; which of the policies set here the server's exclude. When that list is
    /// not empty, nothing was sent, and calls would raise `INV_POLICY`.
    ///
    /// # Errors
    /// As [`Object::locate`]; `INV_POLICY` (`COMPLETED_NO`) when the place that the server forwards
    /// to excludes what is set here.
    pub fn validate_connection(&self) -> Result<Vec<Policy>, SystemException> {
        let here = overrides(self, &current::overrides());
        let exposed = self.exposed_policies()?;
        let is_excluded = |policy: &Policy| {
            let only = here.only(policy.policy_type());
            reconciled(&only, &exposed.only(policy.policy_type())).is_err()
        };
        let excluded: Vec<Policy> = here.select(&[]).into_iter().filter(is_excluded).collect();
        if excluded.is_empty() {
            let effective = self.call_policies()?;
            let mut told_to = (*effective).clone();
            told_to.rebind = RebindMode::Transparent;
            self.locate_by(&told_to)?;
            bind::note_bound(self, &effective, self.binding()?.target(0));
        }
        Ok(excluded)
    }
}

/// What a call of `object` by this thread goes by now, where that is not cached.
#[cold]
pub(super) fn join_now(object: &Object) -> Result<Effective<'_>, SystemException> {
    Ok(Effective::Joined(joined(object, &current::overrides())?))
}

/// The policies of all levels, `thread` being those of the thread.
fn joined(object: &Object, thread: &PolicySet) -> Result<CallPolicies, SystemException> {
    let set = overrides(object, thread);
    let (orb, set) = (object.orb(), reconciled(&set, object.exposed_policies()?)?);
    Ok(CallPolicies::new(&set, orb.settings()).watched(orb.intercepts_calls()))
}

/// What is set here for calls of `object`, whatever the reference says.
fn overrides(object: &Object, thread: &PolicySet) -> PolicySet {
    let orb = object.orb().policies().overrides();
    orb.overridden_by(thread).overridden_by(object.policy_overrides())
}

/// What calls of `object` by this thread go by where the server has `exposed`.
///
/// # Errors
/// As [`reconciled`].
pub(crate) fn reconciled_for(
    object: &Object,
    exposed: &PolicySet,
) -> Result<PolicySet, SystemException> {
    reconciled(&overrides(object, &current::overrides()), exposed)
}

fn check_known(policy_type: PolicyType) -> Result<(), SystemException> {
    match policy_type.slot() {
        Some(_) => Ok(()),
        None => Err(minor::INV_POLICY_TYPE.no(format!("{policy_type} is not known here"))),
    }
}
