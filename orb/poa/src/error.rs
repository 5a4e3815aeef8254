//! What POA operations fail with: the exceptions of `PortableServer::POA` (CORBA 3.3 P1 §15.3.9).
//!
//! Returned by the operations of [`crate::Poa`]; becomes a system exception where a servant passes
//! it on to its caller.

use crate::object_id::ObjectId;
use corbie_types::{CompletionStatus, SystemException, minor};

/// Why a POA operation failed. Each names what was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoaError {
    /// `AdapterAlreadyExists`.
    #[error("a POA of the name {0:?} exists already: find_poa gives it")]
    AdapterAlreadyExists(String),
    /// `AdapterNonExistent`.
    #[error("there is no child POA of the name {0:?}: create_poa makes one")]
    AdapterNonExistent(String),
    /// `ObjectAlreadyActive`.
    #[error("an object with the id {0} is active already: deactivate it first")]
    ObjectAlreadyActive(ObjectId),
    /// `ServantAlreadyActive`.
    #[error("the servant stands for the object {0} already; the POA has UNIQUE_ID")]
    ServantAlreadyActive(ObjectId),
    /// `ObjectNotActive`.
    #[error("no object with the id {0} is active in this POA")]
    ObjectNotActive(ObjectId),
    /// `ServantNotActive`.
    #[error("the servant is not active in this POA: activate it first")]
    ServantNotActive,
    /// `WrongAdapter`.
    #[error("the reference was not made by this POA")]
    WrongAdapter,
    /// `InvalidPolicy`.
    #[error("the policy at place {index} of the list does not do: {why}")]
    InvalidPolicy {
        /// The place in the list, from 0.
        index: usize,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// `WrongPolicy`.
    #[error("{operation} needs a POA with {needed}")]
    WrongPolicy {
        /// The operation called.
        operation: &'static str,
        /// The policy value that it needs.
        needed: &'static str,
    },
    /// A name that cannot stand in an object key.
    #[error("{0:?} cannot be the name of a POA: it holds a NUL or makes the path too long")]
    BadName(String),
    /// `NoServant`.
    #[error("the POA has no default servant: set_servant gives it one")]
    NoServant,
    /// The POA has `NULL_LOCK` and belongs to another thread.
    #[error("the POA has NULL_LOCK and belongs to the thread that used it first, not this one")]
    OtherThread,
    /// The POA was destroyed.
    #[error("the POA was destroyed")]
    Destroyed,
    /// All 2^32 places are taken.
    #[error("the POA has no place for another object")]
    Full,
    /// The ORB could not do its part.
    #[error(transparent)]
    System(#[from] SystemException),
}

impl From<PoaError> for SystemException {
    /// For servants that pass a failure on to their caller.
    fn from(error: PoaError) -> Self {
        match error {
            PoaError::System(exception) => exception,
            PoaError::Destroyed => SystemException::object_not_exist(
                minor::OBJECT_NOT_EXIST_POA_DESTROYED,
                CompletionStatus::No,
            )
            .with_detail(error.to_string()),
            PoaError::Full => {
                SystemException::no_resources(minor::NO_RESOURCES_POA_FULL, CompletionStatus::No)
                    .with_detail(error.to_string())
            }
            other => SystemException::obj_adapter(minor::OBJ_ADAPTER_REFUSED, CompletionStatus::No)
                .with_detail(other.to_string()),
        }
    }
}
