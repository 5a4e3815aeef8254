//! The policies of one level: at most one of each kind, without allocation.
//!
//! Rules of `set_policy_overrides` (CORBA 3.3 P1 §8.9, PolicyManager).

use crate::policy::{Policy, PolicyType};
use corbie_types::{SystemException, minor};
use std::fmt;

const KINDS: usize = PolicyType::ALL.len();

/// At most one policy of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PolicySet {
    slots: [Option<Policy>; KINDS],
}

/// What becomes of the overrides that are there (`CORBA::SetOverrideType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOverrideType {
    /// All are replaced.
    Set,
    /// Those of other kinds stay.
    Add,
}

impl PolicySet {
    /// The policy of this kind.
    pub(crate) fn get(&self, policy_type: PolicyType) -> Option<Policy> {
        self.slots[policy_type.slot()?]
    }

    /// The set with nothing but the policy of this kind.
    pub(crate) fn only(&self, policy_type: PolicyType) -> PolicySet {
        let mut only = PolicySet::default();
        if let Some(policy) = self.get(policy_type) {
            only.insert(policy);
        }
        only
    }

    /// Takes `policy` in, instead of one of its kind.
    pub(crate) fn insert(&mut self, policy: Policy) {
        if let Some(slot) = policy.policy_type().slot() {
            self.slots[slot] = Some(policy);
        }
    }

    /// All policies that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Policy> {
        self.slots.iter().flatten().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    /// What `above` says, and this set where that says nothing.
    pub(crate) fn overridden_by(&self, above: &PolicySet) -> PolicySet {
        let mut joined = *self;
        for (slot, over) in joined.slots.iter_mut().zip(&above.slots) {
            *slot = over.or(*slot);
        }
        joined
    }

    /// The policies of these kinds that are there; all of them when no kind is named.
    pub(crate) fn select(&self, types: &[PolicyType]) -> Vec<Policy> {
        let wanted = |policy: &Policy| types.is_empty() || types.contains(&policy.policy_type());
        self.iter().filter(wanted).collect()
    }

    /// As [`PolicySet::changed`], for the ORB or a thread.
    ///
    /// # Errors
    /// [`PolicyError`], also for policies of references.
    pub(crate) fn changed_for_all(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<PolicySet, PolicyError> {
        let why = "it is settled when a reference is bound: set it for the reference, or use the \
                   setting tls_protection for all";
        let of_references = policies.iter().enumerate().filter(|(_, one)| one.is_of_references());
        match of_references.map(|(index, _)| (index, why)).collect::<Vec<_>>() {
            none if none.is_empty() => self.changed(policies, how),
            faults => Err(PolicyError::invalid(faults)),
        }
    }

    /// The set after `set_policy_overrides(policies, how)`.
    ///
    /// # Errors
    /// [`PolicyError`]; nothing is changed then.
    pub(crate) fn changed(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<PolicySet, PolicyError> {
        let mut changed = match how {
            SetOverrideType::Set => PolicySet::default(),
            SetOverrideType::Add => *self,
        };
        let mut invalid = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let is_same = |other: &Policy| other.policy_type() == policy.policy_type();
            if policies[..index].iter().any(is_same) {
                return Err(duplicate(policy.policy_type()).into());
            }
            if let Some(fault) = policy.fault() {
                invalid.push((index, fault));
            }
            changed.insert(*policy);
        }
        if invalid.is_empty() { Ok(changed) } else { Err(PolicyError::invalid(invalid)) }
    }
}

#[cold]
fn duplicate(policy_type: PolicyType) -> SystemException {
    minor::BAD_PARAM_DUPLICATE_POLICY.no(format!("{policy_type} is in the list of policies twice"))
}

/// Why policies were not set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// `CORBA::InvalidPolicies`: these can never be met.
    InvalidPolicies {
        /// The indices of the policies in the list given.
        indices: Vec<u16>,
        /// What is wrong with the first of them.
        why: &'static str,
    },
    /// A system exception.
    System(SystemException),
}

impl PolicyError {
    fn invalid(faults: Vec<(usize, &'static str)>) -> Self {
        let why = faults.first().map_or("", |(_, why)| *why);
        let indices = faults.iter().map(|(index, _)| u16::try_from(*index).unwrap_or(u16::MAX));
        PolicyError::InvalidPolicies { indices: indices.collect(), why }
    }
}

impl From<SystemException> for PolicyError {
    fn from(exception: SystemException) -> Self {
        PolicyError::System(exception)
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::InvalidPolicies { indices, why } => {
                write!(f, "CORBA::InvalidPolicies: no. {indices:?} of the list: {why}")
            }
            PolicyError::System(exception) => exception.fmt(f),
        }
    }
}

impl std::error::Error for PolicyError {}
