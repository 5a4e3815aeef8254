//! The policies of a thread: `CORBA::PolicyCurrent` (CORBA 3.3 P1 §8.9).
//!
//! They lie in a thread-local. A call looks at one flag of it; only when that is set are they
//! joined with the other levels.

use crate::policy::{Policy, PolicyError, PolicySet, PolicyType, SetOverrideType};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

thread_local! {
    static HAS_OVERRIDES: Cell<bool> = const { Cell::new(false) };
    static OVERRIDES: RefCell<PolicySet> = RefCell::default();
}

/// Whether this thread has policies of its own.
#[inline]
pub(crate) fn has_overrides() -> bool {
    HAS_OVERRIDES.with(Cell::get)
}

/// The policies of this thread.
pub(crate) fn overrides() -> PolicySet {
    OVERRIDES.with(|set| *set.borrow())
}

fn replace(set: PolicySet) {
    HAS_OVERRIDES.with(|has| has.set(!set.is_empty()));
    OVERRIDES.with(|slot| *slot.borrow_mut() = set);
}

/// The policies of the calling thread, for its calls through any ORB: they win over those of the
/// ORB, and those of the reference win over them. Made by `Orb::policy_current`.
///
/// ```
/// use corbie_core::policy::{Policy, PolicyCurrent, SetOverrideType};
/// use std::time::Duration;
/// let current = PolicyCurrent::default();
/// let policy = Policy::RelativeRoundtripTimeout(Duration::from_millis(250));
/// current.set_policy_overrides(&[policy], SetOverrideType::Add)?;
/// assert_eq!(current.get_policy_overrides(&[]), [policy]);
/// # Ok::<(), corbie_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicyCurrent(());

impl PolicyCurrent {
    /// Changes the policies of this thread; with [`SetOverrideType::Set`] and an empty list it has
    /// none any more.
    ///
    /// # Errors
    /// [`PolicyError`]; nothing is changed then.
    pub fn set_policy_overrides(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<(), PolicyError> {
        replace(overrides().changed_for_all(policies, how)?);
        Ok(())
    }

    /// The policies of this thread of these kinds; all of them when `types` is empty.
    #[must_use]
    pub fn get_policy_overrides(&self, types: &[PolicyType]) -> Vec<Policy> {
        overrides().select(types)
    }

    /// Adds `policies` to those of this thread until the scope is dropped.
    ///
    /// # Errors
    /// As [`PolicyCurrent::set_policy_overrides`].
    pub fn scope(&self, policies: &[Policy]) -> Result<PolicyScope, PolicyError> {
        let before = overrides();
        self.set_policy_overrides(policies, SetOverrideType::Add)?;
        Ok(PolicyScope { before, on_this_thread: PhantomData })
    }
}

/// Policies that a thread has for a while. Dropped, the thread has again what it had before.
#[must_use = "the policies end when this is dropped"]
#[derive(Debug)]
pub struct PolicyScope {
    before: PolicySet,
    /// It has to be dropped on the thread that it was made on.
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for PolicyScope {
    fn drop(&mut self) {
        replace(self.before);
    }
}
