//! How a dynamic call fails: with a system exception, or with a user exception of a type that the
//! request lists (CORBA 3.3 P1 §11.2: the environment of a request).

use corbie_types::{Any, SystemException, Typed};
use std::fmt;

/// What an operation raised.
#[derive(Clone, Debug, PartialEq)]
pub enum Exception {
    /// A system exception.
    System(SystemException),
    /// A user exception of the operation; the any holds its members and knows its type.
    User(Any),
}

impl Exception {
    /// The repository id of the exception.
    #[must_use]
    pub fn repository_id(&self) -> String {
        match self {
            Exception::System(exception) => exception.repository_id().to_owned(),
            Exception::User(exception) => {
                exception.type_code().unaliased().unwrap_or_default().id()
            }
        }
    }

    /// The members as a type known at build time; `None` when it is another exception.
    ///
    /// # Errors
    /// As [`Any::extract`].
    pub fn user<M: Typed>(&self) -> Result<Option<M::Value>, SystemException> {
        match self {
            Exception::User(any) if any.holds::<M>() => any.extract::<M>().map(Some),
            _ => Ok(None),
        }
    }
}

impl From<SystemException> for Exception {
    fn from(exception: SystemException) -> Self {
        Exception::System(exception)
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exception::System(exception) => exception.fmt(f),
            Exception::User(any) => match any.to_value() {
                Ok(value) => write!(f, "{}: {value:?}", self.repository_id()),
                Err(_) => f.write_str(&self.repository_id()),
            },
        }
    }
}

impl std::error::Error for Exception {}
