//! The exception for a failure that several modules meet: a reference that takes no policy. Raised
//! where requests get a time-out of their own.

use corbie::policy::PolicyError;
use corbie::{CompletionStatus, SystemException, minor};

/// A reference does not take a policy that the service sets.
pub(crate) fn no_policy(error: PolicyError) -> SystemException {
    SystemException::internal(minor::INTERNAL_STATE, CompletionStatus::No)
        .with_detail(error.to_string())
}
