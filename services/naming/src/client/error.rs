//! What the client has to say when a name does not lead where it should: sentences for people, with
//! the part of the name that is wrong.

use crate::cos_naming::naming_context::NotFoundReason;
use crate::refusal::Refusal;
use crate::{NameComponent, name};
use corbie::{Interface, SystemException};
use thiserror::Error;

/// Why an operation of [`crate::Naming`] failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NamingError {
    /// `NotFound`.
    #[error("{}", not_found(name, rest, *why))]
    NotFound {
        /// The whole name.
        name: String,
        /// The part of it that was not found.
        rest: String,
        /// What is wrong with the first component of `rest`.
        why: NotFoundReason,
    },
    /// `CannotProceed`: the name leads to a server that does not answer, or round in circles.
    #[error("{}", cannot_proceed(name, rest, why.as_deref()))]
    CannotProceed {
        /// The whole name.
        name: String,
        /// What is left to be looked up.
        rest: String,
        /// What the context there said.
        why: Option<Box<SystemException>>,
    },
    /// `InvalidName`.
    #[error("the name `{name}` is malformed: {why}")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// `AlreadyBound`.
    #[error("`{name}` is bound already; rebind replaces it, unbind takes it away")]
    AlreadyBound {
        /// The name.
        name: String,
    },
    /// `NotEmpty`.
    #[error("the context `{name}` has bindings; unbind them first")]
    NotEmpty {
        /// Its name.
        name: String,
    },
    /// The object has another interface than it should have.
    #[error("`{name}` is not of the type {expected}")]
    WrongType {
        /// The name.
        name: String,
        /// The repository id that it should have.
        expected: &'static str,
    },
    /// A nil reference is bound.
    #[error("`{name}` is bound to a nil reference")]
    Nil {
        /// The name.
        name: String,
    },
    /// The naming service cannot be reached or failed.
    #[error("cannot use the naming service for `{name}`: {exception}")]
    System {
        /// The name.
        name: String,
        /// What happened.
        #[source]
        exception: Box<SystemException>,
    },
}

impl NamingError {
    pub(crate) fn of(name: &str, refusal: Refusal) -> Self {
        let name = name.to_owned();
        match refusal {
            Refusal::NotFound(exception) => {
                let rest = name::stringify(&exception.rest_of_name);
                NamingError::NotFound { name, rest, why: exception.why }
            }
            Refusal::CannotProceed(exception) => Self::stuck(&name, &exception.rest_of_name, None),
            Refusal::InvalidName(_) => {
                NamingError::InvalidName { name, why: "the server refuses it".to_owned() }
            }
            Refusal::AlreadyBound(_) => NamingError::AlreadyBound { name },
            Refusal::NotEmpty(_) => NamingError::NotEmpty { name },
            Refusal::System(exception) => Self::system(&name)(exception),
        }
    }

    pub(crate) fn stuck(name: &str, rest: &[NameComponent], why: Option<SystemException>) -> Self {
        let (name, rest) = (name.to_owned(), name::stringify(rest));
        NamingError::CannotProceed { name, rest, why: why.map(Box::new) }
    }

    pub(crate) fn system(name: &str) -> impl Fn(SystemException) -> Self + use<'_> {
        |exception| {
            let exception = Box::new(exception);
            NamingError::System { name: name.to_owned(), exception }
        }
    }

    pub(crate) fn wrong_type<I: Interface>(name: &str) -> Self {
        NamingError::WrongType { name: name.to_owned(), expected: I::REPOSITORY_ID }
    }
}

fn not_found(name: &str, rest: &str, why: NotFoundReason) -> String {
    let what = match why {
        NotFoundReason::MissingNode => "is not bound",
        NotFoundReason::NotContext => "is an object where a context is needed",
        NotFoundReason::NotObject => "is a context where an object is needed",
    };
    match up_to_first(name, rest) {
        Some(part) if part != name => format!("`{name}` was not found: `{part}` {what}"),
        _ => format!("`{name}` {what}"),
    }
}

/// `name` up to the first component of its end `rest`.
fn up_to_first(name: &str, rest: &str) -> Option<String> {
    let (name, rest) = (name::parse(name).ok()?, name::parse(rest).ok()?);
    let before = name.strip_suffix(&rest[..])?;
    Some(name::stringify(name.get(..=before.len())?))
}

fn cannot_proceed(name: &str, rest: &str, why: Option<&SystemException>) -> String {
    let because = match why {
        Some(exception) => format!("the context that has `{rest}` cannot be used: {exception}"),
        None => format!(
            "the naming service stopped before `{rest}`: the context there does not answer, or \
             contexts lead round in a circle"
        ),
    };
    format!("cannot follow `{name}`: {because}")
}
