//! Writes IDL values as CDR (CORBA 3.3 P2 §9.3). Called by generated code through
//! [`Marshal`](crate::Marshal), and by `corbie_giop` for message headers.
//!
//! Octets go into one growing buffer, or into a chain of blocks that never move; large octet
//! sequences stay where they are and are chained in by reference, so that the transport can send
//! all pieces in one gathered write.

mod chain;
mod primitives;
mod segments;
mod text;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use arrayvec::ArrayVec;

use crate::payload::SharedOctets;
use crate::{ByteOrder, CodeSets, Direction, Error, ErrorKind, Version, buffers};

use chain::Growth;
pub use chain::Piece;
pub use segments::Segments;
use values::WrittenValues;

/// Octets that follow the own octet number `at` but lie elsewhere.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    at: usize,
    octets: Elsewhere<'a>,
}

/// Where the octets of a chunk lie.
#[derive(Clone, Copy)]
enum Elsewhere<'a> {
    Borrowed(&'a [u8]),
    /// Number so many of those that the encoder shares.
    Shared(u32),
}

/// The place of an `unsigned long` to be filled in later; see [`Encoder::reserve_ulong`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a reserved length that is never patched stays zero"]
pub struct Placeholder {
    at: usize,
}

/// Writes values in CDR, into own octets plus borrowed chunks. The own octets are in one buffer
/// that grows ([`Encoder::new`]), or in blocks linked to one another ([`Encoder::pooled`]).
///
/// ```
/// use corbie_cdr::{ByteOrder, Encoder};
/// let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
/// e.write_octet(1);
/// e.write_ulong(2); // aligned on 4: three octets of padding
/// e.write_string("hi")?;
/// assert_eq!(e.to_vec(), [1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, b'h', b'i', 0]);
/// # Ok::<(), corbie_cdr::Error>(())
/// ```
pub struct Encoder<'a> {
    /// The own octets that come last.
    buffer: Vec<u8>,
    /// Octets in chunks and in full blocks minus the alignment origin, modulo 2^n:
    /// `position = buffer.len() + shift`.
    shift: usize,
    /// Octets in chunks.
    borrowed: usize,
    /// Octets in full blocks.
    linked: usize,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
    /// Whether text was written in these code sets.
    has_text: bool,
    growth: Growth,
    /// The full blocks, in order.
    blocks: Vec<Vec<u8>>,
    chunks: ArrayVec<Chunk<'a>, { MAX_CHUNKS }>,
    /// Octets of chunks that this encoder holds together with others.
    shared: Vec<SharedOctets>,
    /// Whether values are put aside instead of written.
    puts_aside: bool,
    /// Set by the first value. An `Arc`, as dropping none of it is one test.
    values: Option<Arc<WrittenValues>>,
}

/// Chunks that one message may borrow; what comes after is copied.
const MAX_CHUNKS: usize = 16;

impl<'a> Encoder<'a> {
    /// Octet sequences of at least this many octets are borrowed instead of copied: below it a
    /// copy costs less than one more piece in a gathered write.
    pub const BORROW_THRESHOLD: usize = 4096;

    /// Starts at position 0. `buffer` is cleared, its capacity is kept; it grows as a vector does,
    /// so that all own octets are in one piece.
    #[inline]
    #[must_use]
    pub fn new(mut buffer: Vec<u8>, order: ByteOrder) -> Self {
        buffer.clear();
        Self::with_growth(buffer, order, Growth::Contiguous)
    }

    /// Starts at position 0, in blocks of this thread's pool ([`buffers`]): when one is
    /// full another is linked, and nothing written is moved. Dropped, it gives them back.
    #[inline]
    #[must_use]
    pub fn pooled(order: ByteOrder) -> Self {
        Self::with_growth(buffers::take(buffers::MIN_OCTETS), order, Growth::Pooled)
    }

    /// As [`Encoder::pooled`], in blocks of `octets` each that come from the heap: for a process
    /// with little memory, and for tests of what is cut where.
    #[must_use]
    pub fn in_blocks_of(octets: usize, order: ByteOrder) -> Self {
        let octets = octets.max(1);
        Self::with_growth(Vec::with_capacity(octets), order, Growth::Fixed(octets))
    }

    #[inline]
    fn with_growth(buffer: Vec<u8>, order: ByteOrder, growth: Growth) -> Self {
        Self {
            buffer,
            shift: 0,
            borrowed: 0,
            linked: 0,
            order,
            version: Version::V1_2,
            code_sets: CodeSets::DEFAULT,
            has_text: false,
            growth,
            blocks: Vec::new(),
            chunks: ArrayVec::new_const(),
            shared: Vec::new(),
            puts_aside: false,
            values: None,
        }
    }

    /// An empty encoder in this machine's order.
    #[must_use]
    pub fn native() -> Self {
        Self::new(Vec::new(), ByteOrder::NATIVE)
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

    /// Whether text was written, which in other code sets may look different: characters and
    /// strings, not what [`Encoder::write_str`] writes.
    #[inline]
    #[must_use]
    pub fn has_text(&self) -> bool {
        self.has_text
    }

    /// The byte order written.
    #[inline]
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Octets since the alignment origin: the start, or the start of the encapsulation.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.buffer.len().wrapping_add(self.shift)
    }

    /// Octets written since the start, borrowed ones included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len() + self.linked + self.borrowed
    }

    /// Own octets: all but those of chunks.
    #[inline]
    fn own_len(&self) -> usize {
        self.buffer.len() + self.linked
    }

    /// Whether nothing was written yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes zeros until the position is a multiple of `n`, which is 1, 2, 4 or 8.
    #[inline]
    pub fn align(&mut self, n: usize) {
        debug_assert!(matches!(n, 1 | 2 | 4 | 8), "alignments of CDR are 1, 2, 4 and 8");
        let padding = self.position().wrapping_neg() & (n - 1);
        if padding != 0 {
            self.pad(padding);
        }
    }

    #[inline]
    fn pad(&mut self, padding: usize) {
        const MOST: [u8; 8] = [0; 8];
        if self.room() >= MOST.len() {
            // A store of fixed size and a cut are cheaper than a copy of variable size.
            let end = self.buffer.len() + padding;
            self.buffer.extend_from_slice(&MOST);
            self.buffer.truncate(end);
        } else {
            self.write_across(MOST.get(..padding).unwrap_or_default());
        }
    }

    /// Writes an aligned zero, to be filled in by [`Encoder::patch_ulong`].
    #[inline]
    pub fn reserve_ulong(&mut self) -> Placeholder {
        self.write_ulong(0);
        Placeholder { at: self.own_len() - 4 }
    }

    /// Fills in what [`Encoder::reserve_ulong`] reserved in this encoder.
    #[inline]
    pub fn patch_ulong(&mut self, place: Placeholder, value: u32) {
        let octets = match self.order {
            ByteOrder::BigEndian => value.to_be_bytes(),
            ByteOrder::LittleEndian => value.to_le_bytes(),
        };
        if self.blocks.is_empty()
            && let Some(slot) = self.buffer.get_mut(place.at..place.at + 4)
        {
            slot.copy_from_slice(&octets);
        } else {
            self.patch_blocks(place.at, &octets);
        }
    }

    /// The place `at` octets from the start, before any borrowed chunk; for headers whose
    /// layout is fixed (the size of a GIOP message is at 8).
    #[inline]
    pub fn placeholder_at(&self, at: usize) -> Placeholder {
        Placeholder { at }
    }

    /// Overwrites the octet `at` octets from the start, before any borrowed chunk; nothing when
    /// that was not written yet.
    #[inline]
    pub fn patch_octet(&mut self, at: usize, value: u8) {
        match self.buffer.get_mut(at) {
            Some(slot) if self.blocks.is_empty() => *slot = value,
            _ => self.patch_blocks(at, &[value]),
        }
    }

    /// Takes back own octets, so that [`Encoder::len`] is `len` again; nothing happens when a
    /// borrowed chunk was written after that point, or nothing was.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.cut(len);
        if self.values.is_some() {
            self.forget_values(self.position());
        }
    }

    fn cut(&mut self, len: usize) {
        if let Some(excess) = self.len().checked_sub(len) {
            let end = self.own_len().saturating_sub(excess);
            if self.chunks.last().is_none_or(|chunk| chunk.at <= end) {
                self.unlink(end);
                self.buffer.truncate(end - self.linked);
            }
        }
    }

    /// Writes an encapsulation: its length, its byte-order octet and what `body` writes, aligned
    /// relative to its own start (CORBA 3.3 P2 §9.3.3).
    ///
    /// # Errors
    /// What `body` returns; `BadParameter` when it is 4 GiB or longer.
    pub fn encapsulation(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let length = self.reserve_ulong();
        let begin = self.len();
        let outer = self.position();
        self.shift = self.shift.wrapping_sub(outer);
        self.write_octet(self.order.flag());
        let result = body(self);
        self.shift = self.shift.wrapping_add(outer);
        let octets = self.len() - begin;
        result?;
        let octets = self.checked_length(octets)?;
        self.patch_ulong(length, octets);
        Ok(())
    }

    /// The pieces in the order of the wire, empty ones left out.
    #[must_use]
    pub fn segments(&self) -> Segments<'_> {
        Segments::new(self)
    }

    /// The own octets only, in one piece, so that the buffer can be used again; borrowed chunks
    /// are dropped.
    #[inline]
    #[must_use]
    pub fn into_buffer(mut self) -> Vec<u8> {
        if !self.blocks.is_empty() {
            self.join();
        }
        std::mem::take(&mut self.buffer)
    }

    /// Whether every octet is an own one, and all lie in one piece.
    #[inline]
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.chunks.is_empty() && self.blocks.is_empty()
    }

    /// The first own octets, as far as they lie in one piece without a chunk between: all of them
    /// when [`Encoder::is_contiguous`].
    #[inline]
    #[must_use]
    pub fn own_octets(&self) -> &[u8] {
        self.blocks.first().unwrap_or(&self.buffer)
    }

    /// Whether the own octets lie in more than one block.
    #[inline]
    #[must_use]
    pub fn is_in_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Whether octets are borrowed or shared, and not copied.
    #[inline]
    #[must_use]
    pub fn has_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// All octets in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        for segment in self.segments() {
            all.extend_from_slice(segment);
        }
        all
    }

    /// An error at the present position, for the writers of composed values.
    #[cold]
    #[inline(never)]
    pub fn error(
        &self,
        kind: ErrorKind,
        what: impl Into<Cow<'static, str>>,
        found: impl Into<Cow<'static, str>>,
        needed: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::new(kind, Direction::Writing, self.len(), what, found, needed)
    }

    /// The error for a value longer than its IDL bound.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn bound_exceeded(&self, what: &'static str, length: usize, bound: usize) -> Error {
        self.error(
            ErrorKind::BadParameter,
            what,
            format!("{length} elements or characters"),
            format!("at most {bound}, its bound in the IDL"),
        )
    }

    /// The error for a feature that is not there yet.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn not_implemented(&self, what: &'static str) -> Error {
        let needed = "a feature that Corbie does not have yet";
        self.error(ErrorKind::NotImplemented, what, "a value of this type", needed)
    }
}

impl Drop for Encoder<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.growth == Growth::Pooled {
            buffers::give(std::mem::take(&mut self.buffer));
            if !self.blocks.is_empty() {
                buffers::give_list(std::mem::take(&mut self.blocks));
            }
        }
    }
}

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("order", &self.order)
            .field("version", &self.version)
            .field("octets", &self.len())
            .finish_non_exhaustive()
    }
}
