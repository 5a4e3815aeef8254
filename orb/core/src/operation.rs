//! What a stub says about the operation that it invokes.
//!
//! Generated code has one constant for each operation (CORBA 3.3 P2 §9.4.2.2: operation names).

/// An operation as it goes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The name on the wire, with `_get_` or `_set_` before the name of an attribute.
    pub name: &'static str,
    /// Whether the caller waits for a reply.
    pub response_expected: bool,
}

impl Operation {
    /// An operation with a reply.
    #[must_use]
    pub const fn twoway(name: &'static str) -> Self {
        Operation { name, response_expected: true }
    }

    /// An operation declared `oneway`.
    #[must_use]
    pub const fn oneway(name: &'static str) -> Self {
        Operation { name, response_expected: false }
    }
}
