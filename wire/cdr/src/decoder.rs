//! Reads IDL values from CDR (CORBA 3.3 P2 §9.3). Called by generated code through
//! [`Marshal`](crate::Marshal), and by `corbie_giop` for message headers.
//!
//! Borrows the received octets; strings and octet sequences can be had without a copy. Every
//! length is checked against the octets that remain and against [`Limits`] before it is used.

mod primitives;
mod spent;
mod text;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use crate::{ByteOrder, CodeSets, Context, Direction, Error, ErrorKind, Limits, Version};

use spent::Spent;
use values::ReadValues;
pub use values::{RepositoryIds, StateRead, ValueHeader, ValueStart};

static DEFAULT_LIMITS: Limits = Limits::DEFAULT;

/// Reads values in CDR from a slice. Cheap to construct and to clone.
///
/// ```
/// use corbie_cdr::{ByteOrder, Decoder};
/// let octets = [1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, b'h', b'i', 0];
/// let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
/// assert_eq!(d.read_octet()?, 1);
/// assert_eq!(d.read_ulong()?, 2);
/// assert_eq!(d.read_string()?, "hi");
/// # Ok::<(), corbie_cdr::Error>(())
/// ```
#[derive(Clone)]
pub struct Decoder<'a> {
    /// `data[0]` is the alignment origin.
    data: &'a [u8],
    /// `0 <= position <= data.len()`.
    position: usize,
    /// Octets of the message before `data[0]`.
    base: usize,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
    depth: u32,
    /// What was spent of `dynamic_values` and `empty_elements`.
    spent: Spent,
    limits: &'a Limits,
    context: Option<&'a dyn Context>,
    /// Set by the first value. An `Arc`, as cloning and dropping none of it are one test each.
    values: Option<Arc<ReadValues<'a>>>,
}

impl<'a> Decoder<'a> {
    /// Starts at the first octet, which is the alignment origin.
    #[inline]
    #[must_use]
    pub fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Self::with_position(data, 0, order)
    }

    /// Starts `position` octets after the first, which is the alignment origin. A position
    /// beyond the end means that nothing remains.
    #[inline]
    #[must_use]
    pub fn with_position(data: &'a [u8], position: usize, order: ByteOrder) -> Self {
        Self {
            data,
            position: position.min(data.len()),
            base: 0,
            order,
            version: Version::V1_2,
            code_sets: CodeSets::DEFAULT,
            depth: 0,
            spent: Spent::default(),
            limits: &DEFAULT_LIMITS,
            context: None,
            values: None,
        }
    }

    /// Over octets that begin with the byte-order octet of an encapsulation, without a length
    /// before them (profile bodies, service context data; CORBA 3.3 P2 §9.3.3).
    ///
    /// # Errors
    /// `UnexpectedEnd` when it is empty, `InvalidValue` when the first octet is neither 0 nor 1.
    #[inline]
    pub fn from_encapsulation(data: &'a [u8]) -> Result<Self, Error> {
        let mut inner = Self::new(data, ByteOrder::BigEndian);
        inner.read_byte_order()?;
        Ok(inner)
    }

    /// Sets the GIOP version, which decides how wide characters look. Default 1.2.
    #[inline]
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// Sets the transmission code sets. Default [`CodeSets::DEFAULT`].
    #[inline]
    pub fn set_code_sets(&mut self, code_sets: CodeSets) {
        self.code_sets = code_sets;
    }

    /// Sets the limits. Default [`Limits::DEFAULT`].
    #[inline]
    pub fn set_limits(&mut self, limits: &'a Limits) {
        self.limits = limits;
    }

    /// Sets what decoding object references and values needs: the ORB.
    #[inline]
    pub fn set_context(&mut self, context: Option<&'a dyn Context>) {
        self.context = context;
    }

    /// What [`Decoder::set_context`] set.
    #[inline]
    #[must_use]
    pub fn context(&self) -> Option<&'a dyn Context> {
        self.context
    }

    /// The limits.
    #[inline]
    #[must_use]
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// The GIOP version.
    #[inline]
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The transmission code sets.
    #[inline]
    #[must_use]
    pub fn code_sets(&self) -> CodeSets {
        self.code_sets
    }

    /// The byte order read.
    #[inline]
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Octets since the alignment origin.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Octets since the start of the message, also inside an encapsulation.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> usize {
        self.base + self.position
    }

    /// Octets not yet read.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        match &self.values {
            None => self.data.len() - self.position,
            Some(values) => values.whole.len() - self.position,
        }
    }

    /// The octets not yet read.
    #[inline]
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// The octets from position `start` up to the present one; empty when there are none.
    #[inline]
    #[must_use]
    pub fn octets_since(&self, start: usize) -> &'a [u8] {
        self.data.get(start..self.position).unwrap_or_default()
    }

    /// Skips padding until the position is a multiple of `n`, which is 1, 2, 4 or 8. What the
    /// padding contains does not matter (CORBA 3.3 P2 §9.3.1).
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn align(&mut self, n: usize) -> Result<(), Error> {
        debug_assert!(matches!(n, 1 | 2 | 4 | 8), "alignments of CDR are 1, 2, 4 and 8");
        let start = (self.position + (n - 1)) & !(n - 1);
        if start > self.data.len() {
            if self.is_in_chunks() {
                self.next_chunk("padding")?;
                return self.align(n);
            }
            return Err(self.unexpected_end("padding", start - self.position));
        }
        self.position = start;
        Ok(())
    }

    /// Reads an encapsulation: its length, its byte order, and a decoder over the rest, with the
    /// same version, code sets, limits and context (CORBA 3.3 P2 §9.3.3).
    ///
    /// # Errors
    /// `UnexpectedEnd`; `InvalidValue` for a byte-order octet that is neither 0 nor 1;
    /// `LimitExceeded` when nested too deeply.
    pub fn encapsulation(&mut self) -> Result<Decoder<'a>, Error> {
        let octets = self.read_octet_sequence()?;
        let base = self.offset() - octets.len();
        let depth = self.deeper()?;
        let mut inner = Decoder { data: octets, position: 0, base, depth, ..self.shallow() };
        inner.read_byte_order()?;
        Ok(inner)
    }

    fn read_byte_order(&mut self) -> Result<(), Error> {
        match self.read_octet()? {
            flag @ (0 | 1) => {
                self.order = ByteOrder::from_flag(flag);
                Ok(())
            }
            flag => Err(self.error_back(
                1,
                ErrorKind::InvalidValue,
                "byte order of an encapsulation",
                format!("octet {flag}"),
                "0 (big-endian) or 1 (little-endian)",
            )),
        }
    }

    /// Runs `body` one level deeper; for values that can contain values of their own type.
    ///
    /// # Errors
    /// `LimitExceeded` when that is too deep, and what `body` returns.
    #[inline]
    pub fn nested<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outer = self.depth;
        self.depth = self.deeper()?;
        let result = body(self);
        self.depth = outer;
        result
    }

    #[inline]
    fn deeper(&self) -> Result<u32, Error> {
        if self.depth >= self.limits.nesting_depth {
            return Err(self.too_deep());
        }
        Ok(self.depth + 1)
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self) -> Error {
        let limit = self.limits.nesting_depth;
        let found = format!("more than {limit} nested levels");
        let needed = format!("at most {limit} (limit nesting_depth)");
        self.error(ErrorKind::LimitExceeded, "nested value", found, needed)
    }

    /// An error at the present position, for the readers of composed values.
    #[cold]
    #[inline(never)]
    pub fn error(
        &self,
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
        needed: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::new(kind, Direction::Reading, self.offset(), what, found, needed)
    }

    /// An error at the value that begins `back` octets before the present position.
    #[cold]
    #[inline(never)]
    pub(crate) fn error_back(
        &self,
        back: usize,
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
        needed: impl Into<Cow<'static, str>>,
    ) -> Error {
        let offset = self.offset().saturating_sub(back);
        Error::new(kind, Direction::Reading, offset, what, found, needed)
    }

    /// An `InvalidValue` error at the present position.
    #[cold]
    #[inline(never)]
    pub fn invalid(
        &self,
        what: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
        needed: impl Into<Cow<'static, str>>,
    ) -> Error {
        self.error(ErrorKind::InvalidValue, what, found, needed)
    }

    /// The error for an enumerator that the IDL does not have, just read.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn invalid_enumerator(&self, name: &'static str, value: u32, count: u32) -> Error {
        let found = format!("the value {value}");
        let needed = format!("0 to {}, the enumerators in the IDL", count.saturating_sub(1));
        let what = format!("enum {name}");
        self.error_back(4, ErrorKind::InvalidValue, what, found, needed)
    }

    /// The error for a union whose discriminator, just read, selects no member and which has no
    /// default.
    #[cold]
    #[inline(never)]
    pub fn invalid_discriminator(&self, name: &'static str, value: impl std::fmt::Debug) -> Error {
        let found = format!("the discriminator {value:?}");
        self.invalid(format!("union {name}"), found, "a label of the IDL")
    }

    /// The error for a value longer than its IDL bound.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn bound_exceeded(&self, what: &'static str, length: usize, bound: usize) -> Error {
        let found = format!("{length} elements or characters");
        self.invalid(what, found, format!("at most {bound}, its bound in the IDL"))
    }

    /// The error for a feature that is not there yet.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn not_implemented(&self, what: &'static str) -> Error {
        let needed = "a feature that Corbie does not have yet";
        self.error(ErrorKind::NotImplemented, what, "a value of this type", needed)
    }

    #[cold]
    #[inline(never)]
    fn unexpected_end(&self, what: &'static str, octets: usize) -> Error {
        let found = octets_left(self.remaining());
        let needed = format!("{octets}, padding included");
        self.error(ErrorKind::UnexpectedEnd, what, found, needed)
    }
}

#[cold]
fn octets_left(octets: usize) -> Cow<'static, str> {
    match octets {
        0 => "the end of the octets".into(),
        1 => "1 octet left".into(),
        n => format!("{n} octets left").into(),
    }
}

impl std::fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder")
            .field("order", &self.order)
            .field("version", &self.version)
            .field("offset", &self.offset())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
