//! The exceptions of `NamingContext` under one type, and how each operation gets those that its
//! `raises` lists.
//!
//! Generated code has an error enum for every operation. What the server does is the same for many
//! of them; so it speaks of [`Refusal`], and the last step is here.

use crate::NameComponent;
use crate::cos_naming::NamingContext;
use crate::cos_naming::naming_context::{
    AlreadyBound, BindError, CannotProceed, DestroyError, InvalidName, NotEmpty, NotFound,
    NotFoundReason, RebindError,
};
use crate::cos_naming::naming_context_ext::ResolveStrError;
use crate::store::{Kind, StoreError};
use corbie::{CompletionStatus, SystemException, minor};

/// Why an operation was not done.
#[derive(Debug)]
pub(crate) enum Refusal {
    NotFound(NotFound),
    CannotProceed(CannotProceed),
    InvalidName(InvalidName),
    AlreadyBound(AlreadyBound),
    NotEmpty(NotEmpty),
    System(SystemException),
}

impl Refusal {
    pub(crate) fn not_found(why: NotFoundReason, rest: &[NameComponent]) -> Self {
        Refusal::NotFound(NotFound { why, rest_of_name: rest.to_vec() })
    }

    pub(crate) fn cannot_proceed(context: &NamingContext, rest: &[NameComponent]) -> Self {
        let (cxt, rest_of_name) = (Some(context.clone()), rest.to_vec());
        Refusal::CannotProceed(CannotProceed { cxt, rest_of_name })
    }

    /// What the store says of the last component of a name.
    pub(crate) fn of_store(error: StoreError, last: &[NameComponent]) -> Self {
        match error {
            StoreError::NotBound => Refusal::not_found(NotFoundReason::MissingNode, last),
            StoreError::AlreadyBound => Refusal::AlreadyBound(AlreadyBound {}),
            StoreError::NotEmpty => Refusal::NotEmpty(NotEmpty {}),
            StoreError::OtherKind(Kind::Context) => {
                Refusal::not_found(NotFoundReason::NotObject, last)
            }
            StoreError::OtherKind(Kind::Object) => {
                Refusal::not_found(NotFoundReason::NotContext, last)
            }
            other => Refusal::System(system(&other)),
        }
    }
}

/// The system exception for what has no exception in CosNaming.
pub(crate) fn system(error: &StoreError) -> SystemException {
    let no = CompletionStatus::No;
    let exception = match error {
        StoreError::NoContext => {
            SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_DISCONNECTED, no)
        }
        StoreError::Full(_) => SystemException::imp_limit(minor::IMP_LIMIT_NAMES, no),
        StoreError::Unavailable(_) => SystemException::transient(minor::TRANSIENT_STORE, no),
        StoreError::Uncertain(_) => {
            SystemException::transient(minor::TRANSIENT_STORE, CompletionStatus::Maybe)
        }
        _ => SystemException::persist_store(minor::PERSIST_STORE_FAILED, no),
    };
    exception.with_detail(error.to_string())
}

impl From<SystemException> for Refusal {
    fn from(exception: SystemException) -> Self {
        Refusal::System(exception)
    }
}

/// Both directions for one operation: `raises` lists the variants that both types have.
macro_rules! exceptions {
    ($($error:ident { $($variant:ident),* })*) => { $(
        impl From<$error> for Refusal {
            fn from(error: $error) -> Self {
                match error {
                    $($error::$variant(exception) => Refusal::$variant(exception),)*
                    $error::System(exception) => Refusal::System(exception),
                }
            }
        }

        impl From<Refusal> for $error {
            fn from(refusal: Refusal) -> Self {
                match refusal {
                    $(Refusal::$variant(exception) => $error::$variant(exception),)*
                    Refusal::System(exception) => $error::System(exception),
                    #[allow(unreachable_patterns, reason = "of operations that raise them all")]
                    other => $error::System(unlisted(&other)),
                }
            }
        }
    )* };
}

// Operations that raise the same have one error type.
exceptions! {
    BindError { NotFound, CannotProceed, InvalidName, AlreadyBound }
    RebindError { NotFound, CannotProceed, InvalidName }
    DestroyError { NotEmpty }
    ResolveStrError { NotFound, CannotProceed, InvalidName }
}

/// A context elsewhere that raises what its operation does not list.
fn unlisted(refusal: &Refusal) -> SystemException {
    SystemException::unknown(minor::UNKNOWN_USER_EXCEPTION, CompletionStatus::Maybe)
        .with_detail(format!("an exception that the operation does not list: {refusal:?}"))
}
