//! One argument of a dynamic call: a name, a value with its type, and the way it travels
//! (CORBA 3.3 P1 §11.1.1: `NamedValue`, `Flags`).

use corbie_types::{Any, SystemException, TypeCode, minor};
use std::borrow::Cow;
use std::fmt;

/// The way an argument travels.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flags(u32);

/// From the client to the server.
pub const ARG_IN: Flags = Flags(1);
/// From the server to the client.
pub const ARG_OUT: Flags = Flags(2);
/// Both ways.
pub const ARG_INOUT: Flags = Flags(3);

impl Flags {
    /// Whether the request has a value of it.
    #[must_use]
    pub const fn is_sent(self) -> bool {
        self.0 & ARG_IN.0 != 0
    }

    /// Whether the reply has a value of it.
    #[must_use]
    pub const fn is_returned(self) -> bool {
        self.0 & ARG_OUT.0 != 0
    }

    /// The number that it has in the language mappings: 1 to 3.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            ARG_IN => "ARG_IN",
            ARG_OUT => "ARG_OUT",
            _ => "ARG_INOUT",
        })
    }
}

/// An argument: a name for people, a value, and the way it travels. Its type is fixed when it is
/// made. Names do not travel: what counts is the order in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue {
    name: Cow<'static, str>,
    pub(super) value: Any,
    flags: Flags,
}

impl NamedValue {
    /// An argument of the type that `value` has. [`Any::without_value`] makes one that the server
    /// is to fill in.
    pub fn new(name: impl Into<Cow<'static, str>>, value: Any, flags: Flags) -> Self {
        NamedValue { name: name.into(), value, flags }
    }

    /// Its name; may be empty.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The way it travels.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> &Any {
        &self.value
    }

    /// Its type.
    #[must_use]
    pub fn type_code(&self) -> &TypeCode {
        self.value.type_code()
    }

    /// Gives it another value of its type.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`), minor `BAD_PARAM_WRONG_TYPE`, when the type is not equivalent
    /// to that of the argument; the old value stays.
    pub fn set_value(&mut self, value: Any) -> Result<(), SystemException> {
        if !value.type_code().equivalent(self.type_code()) {
            let name = if self.name.is_empty() { "an argument" } else { &self.name };
            return Err(minor::BAD_PARAM_WRONG_TYPE.no(format!(
                "{name} is {}, and cannot be given a value of type {}",
                self.type_code(),
                value.type_code()
            )));
        }
        self.value = value;
        Ok(())
    }
}
