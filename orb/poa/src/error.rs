//! What operations of POAs (CORBA 3.3 P1 §15.3.9), of their managers and of the factory of these
//! (§15.3.3, §15.3.4) fail with. Becomes a system exception where a servant passes it on to its
//! caller.

use crate::object_id::ObjectId;
use corbie_types::{SystemException, minor};

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

impl PoaError {
    /// [`PoaError::WrongPolicy`] unless the POA has the policy that an operation needs.
    pub(crate) fn unless(
        is_met: bool,
        operation: &'static str,
        needed: &'static str,
    ) -> Result<(), PoaError> {
        if is_met { Ok(()) } else { Err(PoaError::WrongPolicy { operation, needed }) }
    }
}

impl From<PoaError> for SystemException {
    /// For servants that pass a failure on to their caller.
    fn from(error: PoaError) -> Self {
        match error {
            PoaError::System(exception) => exception,
            PoaError::Destroyed => minor::OBJECT_NOT_EXIST_POA_DESTROYED.no(error.to_string()),
            PoaError::Full => minor::NO_RESOURCES_POA_FULL.no(error.to_string()),
            other => minor::OBJ_ADAPTER_REFUSED.no(other.to_string()),
        }
    }
}

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
            PoaManagerError::AdapterInactive => minor::OBJ_ADAPTER_REFUSED.no(error.to_string()),
            other => minor::BAD_PARAM_ARGUMENT.no(other.to_string()),
        }
    }
}
