//! Where in an argument something is: `args[0].members[3].name`.
//!
//! Built on the stack while a value is converted, written only when there is an error.

use std::fmt;

/// A place in a JSON value, from the outside in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// The whole of something, for example `args[0]`.
    Whole(&'a str),
    /// A member of an object.
    Member(&'a Place<'a>, &'a str),
    /// An element of an array.
    Element(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    /// The member `name` of what is here.
    pub(crate) fn member(&'a self, name: &'a str) -> Self {
        Place::Member(self, name)
    }

    /// The element `index` of what is here.
    pub(crate) fn element(&'a self, index: usize) -> Self {
        Place::Element(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole(name) => f.write_str(name),
            Place::Member(outer, name) => write!(f, "{outer}.{name}"),
            Place::Element(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}
