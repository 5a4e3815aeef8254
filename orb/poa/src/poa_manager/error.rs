//! What operations of POA managers and of their factory fail with (CORBA 3.3 P1 §15.3.3, §15.3.4).
//!
//! Returned by [`super::PoaManager`] and [`super::PoaManagerFactory`]; becomes a system exception
//! where a servant passes it on to its caller.

use corbie_types::{CompletionStatus, SystemException, minor};

/// Why an operation of a POA manager or of their factory failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaManagerError {
    /// `POAManager::AdapterInactive`.
    #[error("the POA manager is inactive, which is for good: make POAs with another one")]
    AdapterInactive,
    /// `POAManagerFactory::ManagerAlreadyExists`.
    #[error("a POA manager of the name {0:?} exists already: find gives it")]
    ManagerAlreadyExists(String),
    /// `CORBA::PolicyError`.
    #[error("policy number {index} of a POA manager: {why}")]
    InvalidPolicy {
        /// Its place in the list.
        index: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A system exception.
    #[error(transparent)]
    System(#[from] SystemException),
}

impl From<PoaManagerError> for SystemException {
    /// For servants and programs that pass a failure on.
    fn from(error: PoaManagerError) -> Self {
        match error {
            PoaManagerError::System(exception) => exception,
            PoaManagerError::AdapterInactive => {
                SystemException::obj_adapter(minor::OBJ_ADAPTER_REFUSED, CompletionStatus::No)
                    .with_detail(error.to_string())
            }
            other => SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
                .with_detail(other.to_string()),
        }
    }
}
