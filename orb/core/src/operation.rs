//! What a stub says about the operation that it invokes.
//!
//! Generated code has one constant for each operation; the dynamic invocation interface makes one
//! at run time (CORBA 3.3 P2 §9.4.2.2: operation names).

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An operation as it goes on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The name on the wire, with `_get_` or `_set_` before the name of an attribute.
    pub name: OperationName,
    /// Whether the caller waits for a reply.
    pub response_expected: bool,
}

impl Operation {
    /// An operation with a reply.
    #[must_use]
    pub const fn twoway(name: &'static str) -> Self {
        Operation { name: OperationName::Known(name), response_expected: true }
    }

    /// An operation declared `oneway`.
    #[must_use]
    pub const fn oneway(name: &'static str) -> Self {
        Operation { name: OperationName::Known(name), response_expected: false }
    }

    /// Its name on the wire.
    #[inline]
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The name of an operation: cheap to clone, whether it was known at build time or not.
#[derive(Clone)]
pub enum OperationName {
    /// From generated code.
    Known(&'static str),
    /// Learnt at run time.
    Learnt(Arc<str>),
}

impl Deref for OperationName {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            OperationName::Known(name) => name,
            OperationName::Learnt(name) => name,
        }
    }
}

impl From<&'static str> for OperationName {
    fn from(name: &'static str) -> Self {
        OperationName::Known(name)
    }
}

impl From<String> for OperationName {
    fn from(name: String) -> Self {
        OperationName::Learnt(name.into())
    }
}

impl From<Arc<str>> for OperationName {
    fn from(name: Arc<str>) -> Self {
        OperationName::Learnt(name)
    }
}

impl PartialEq for OperationName {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for OperationName {}

impl fmt::Debug for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
