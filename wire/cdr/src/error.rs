//! The one error of this crate: what was read or written, where, what was found and what was
//! needed. Built in cold functions only; one pointer wide, so that `Result<(), Error>` travels
//! in a register. `corbie_types` turns it into a system exception.

use std::borrow::Cow;
use std::fmt;

/// What went wrong; decides the system exception that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The octets end before the value does. `MARSHAL`.
    UnexpectedEnd,
    /// The octets are there but mean nothing: boolean 7, an enumerator out of range, a string
    /// without terminator, a sequence longer than its bound. `MARSHAL`.
    InvalidValue,
    /// A limit of [`Limits`](crate::Limits) is exceeded. `IMP_LIMIT`.
    LimitExceeded,
    /// A character has no place in the target code set, or octets are no valid text.
    /// `DATA_CONVERSION`.
    DataConversion,
    /// The application handed over what cannot be sent: a NUL in a string, a value beyond its
    /// bound. `BAD_PARAM`.
    BadParameter,
    /// The negotiated code set is none that we convert. `CODESET_INCOMPATIBLE`.
    CodeSetIncompatible,
    /// `wchar` or `wstring` in a GIOP 1.0 message, which has none. `MARSHAL`, minor 5
    /// (CORBA 3.3 P2 §9.3.1.6).
    WideCharacterInGiop10,
    /// An object reference that cannot be read as one. `INV_OBJREF`.
    InvalidReference,
    /// A TypeCode that is malformed or does not fit. `BAD_TYPECODE`.
    BadTypeCode,
    /// A reference to a local object, which has no form on the wire. `MARSHAL`, minor 4
    /// (CORBA 3.3 P1 §8.3.14).
    LocalObject,
    /// A value whose type no factory makes values of. `MARSHAL`, minor 1 (CORBA 3.3 P2 §9.3.4.3).
    NoValueFactory,
    /// A feature that Corbie does not have yet. `NO_IMPLEMENT`.
    NotImplemented,
}

/// Whether octets were being taken off the wire or put on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// In a [`Decoder`](crate::Decoder).
    Reading,
    /// In an [`Encoder`](crate::Encoder).
    Writing,
}

struct Report {
    kind: ErrorKind,
    direction: Direction,
    offset: usize,
    what: Cow<'static, str>,
    /// Members and parameters that the value is of, outermost first: `order.price`; or nothing.
    member: String,
    found: Cow<'static, str>,
    needed: Cow<'static, str>,
}

/// Why a value could not be read or written.
///
/// `Display` is a sentence: what was read or written, at which octet, what was found, what was
/// needed.
pub struct Error(Box<Report>);

impl Error {
    /// An error at `offset` octets from the start of the message.
    #[cold]
    #[inline(never)]
    pub fn new(
        kind: ErrorKind,
        direction: Direction,
        offset: usize,
        what: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
        needed: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Report {
            kind,
            direction,
            offset,
            what: what.into(),
            member: String::new(),
            found: found.into(),
            needed: needed.into(),
        }))
    }

    /// The value in question is, or is in, this member of a struct or parameter of an operation.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn within(mut self, member: &str) -> Self {
        let inner = std::mem::take(&mut self.0.member);
        let dot = if inner.is_empty() { "" } else { "." };
        self.0.member = format!("{member}{dot}{inner}");
        self
    }

    /// Of which member or parameter the value is, as `order.price`; empty when that is not known.
    #[must_use]
    pub fn member(&self) -> &str {
        &self.0.member
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Reading or writing.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.0.direction
    }

    /// Octets from the start of the message to the value in question.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The value in question, in IDL words ("unsigned long", "string", "enum Stock::Side").
    #[must_use]
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// What was there.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What should have been there, or what to try.
    #[must_use]
    pub fn needed(&self) -> &str {
        &self.0.needed
    }
}

/// For generated code: the value that `$read`, a `Result<_, Error>`, gives. Its error names the
/// member or parameter, and is returned.
#[doc(hidden)]
#[macro_export]
macro_rules! member {
    ($member:literal, $read:expr) => {
        match $read {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(error) => {
                let error = $crate::Error::within(error, $member);
                return ::core::result::Result::Err(::core::convert::From::from(error));
            }
        }
    };
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { kind: _, direction, offset, what, member, found, needed } = &*self.0;
        let verb = match direction {
            Direction::Reading => "read",
            Direction::Writing => "write",
        };
        let of = if member.is_empty() { "" } else { " of " };
        write!(f, "cannot {verb} {what}{of}{member} at octet {offset}: ")?;
        write!(f, "found {found}, needed {needed}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        (a.kind, a.direction, a.offset) == (b.kind, b.direction, b.offset)
            && (&a.what, &a.member) == (&b.what, &b.member)
            && (&a.found, &a.needed) == (&b.found, &b.needed)
    }
}

impl Eq for Error {}
