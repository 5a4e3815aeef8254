//! The policies of a reference: `get_policy` and its kin on `CORBA::Object` (CORBA 3.3 P1 §8.3.7).
//!
//! `Interface` repeats them for typed references.

use crate::Object;
use crate::policy::call::{overrides, reconciled};
use crate::policy::{Policy, PolicyError, PolicySet, PolicyType, SetOverrideType, current};
use corbie_types::{CompletionStatus, SystemException, minor};

impl Object {
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
        Ok(Object::with_policies(self.orb(), self.ior().clone(), changed))
    }

    /// The policies set on this reference of these kinds; all of them when `types` is empty.
    #[must_use]
    pub fn get_policy_overrides(&self, types: &[PolicyType]) -> Vec<Policy> {
        self.policy_overrides().select(types)
    }

    /// The policy that calls of this thread go by: what reference, thread or ORB say, in this
    /// order, narrowed to what the reference says of its server. `None`: nobody says anything, so
    /// that the ORB's settings hold.
    ///
    /// # Errors
    /// `INV_POLICY` (minor 1, `COMPLETED_NO`) when the server's policy excludes the one set here,
    /// minor 2 when the kind is not known.
    pub fn get_policy(&self, policy_type: PolicyType) -> Result<Option<Policy>, SystemException> {
        check_known(policy_type)?;
        let only = |set: &PolicySet| {
            let mut only = PolicySet::default();
            set.get(policy_type).into_iter().for_each(|policy| only.insert(policy));
            only
        };
        let here = overrides(self, &current::overrides());
        Ok(reconciled(&only(&here), &only(self.exposed_policies()?))?.get(policy_type))
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
}

fn check_known(policy_type: PolicyType) -> Result<(), SystemException> {
    match policy_type.slot() {
        Some(_) => Ok(()),
        None => Err(SystemException::inv_policy(minor::INV_POLICY_TYPE, CompletionStatus::No)
            .with_detail(format!("{policy_type} is not known here"))),
    }
}
