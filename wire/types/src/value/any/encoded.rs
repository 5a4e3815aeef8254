//! The octets of an any's value, with what is needed to read them: byte order, alignment, GIOP
//! version, code sets. Small values are kept in place, so that anys of numbers and short strings
//! cost no allocation; larger ones are shared between clones.

use std::cell::Cell;
use std::sync::Arc;

use corbie_cdr::{
    ByteOrder, CodeSet, CodeSets, Context, Decoder, Encoder, Error, Limits, SharedValue, Version,
};

use crate::TypeCode;
use crate::type_code::HOLDS;
use crate::valuetype::drop_in_turn;

/// Values of up to this many octets are kept in place.
const INLINE_OCTETS: usize = 23;

/// A scratch buffer larger than this is given back.
const SCRATCH_OCTETS: usize = 64 << 10;

thread_local! {
    /// Where values are written before their length is known.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What is here was let in, or made, under the limits of the one who did it.
static LOCAL_LIMITS: Limits = Limits {
    message_octets: usize::MAX,
    nesting_depth: 256,
    sequence_elements: u32::MAX,
    empty_elements: u32::MAX,
    type_code_nodes: u32::MAX,
    dynamic_values: u32::MAX,
    value_cycles: true,
};

/// Nothing is lost, whatever a connection agrees upon later.
const LOCAL_CODE_SETS: CodeSets =
    CodeSets { char_data: CodeSet::LOCAL, wchar_data: CodeSet::UTF_16 };

/// Octets of a value and how they are to be read.
#[derive(Clone)]
pub(super) struct Encoded {
    /// Begins with `lead` octets of padding, so that the alignment origin is at index 0.
    octets: Octets,
    /// Alignment of the first octet, 0 to 7.
    lead: u8,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
}

#[derive(Clone)]
enum Octets {
    /// There is no value.
    Absent,
    /// The first so many of these.
    Inline(u8, [u8; INLINE_OCTETS]),
    Shared(Arc<[u8]>),
    /// Gathered from pieces.
    Gathered(Arc<Vec<u8>>),
    /// Which name by their numbers the values that are beside them.
    WithValues(Arc<WithValues>),
}

struct WithValues {
    octets: Vec<u8>,
    values: Vec<SharedValue>,
}

impl Drop for WithValues {
    fn drop(&mut self) {
        drop_in_turn(std::mem::take(&mut self.values));
    }
}

impl Octets {
    /// `lead` octets of padding and these.
    fn copied(lead: usize, octets: &[u8]) -> Self {
        let length = lead + octets.len();
        if length <= INLINE_OCTETS {
            let mut place = [0; INLINE_OCTETS];
            if let Some(place) = place.get_mut(lead..length) {
                place.copy_from_slice(octets);
            }
            return Self::Inline(length as u8, place);
        }
        if lead == 0 {
            return Self::Shared(octets.into());
        }
        let mut data = Vec::with_capacity(length);
        data.resize(lead, 0);
        data.extend_from_slice(octets);
        Self::Gathered(Arc::new(data))
    }

    fn all(&self) -> &[u8] {
        match self {
            Self::Absent => &[],
            Self::Inline(length, octets) => octets.get(..usize::from(*length)).unwrap_or_default(),
            Self::Shared(octets) => octets,
            Self::Gathered(octets) => octets,
            Self::WithValues(both) => &both.octets,
        }
    }

    fn values(&self) -> &[SharedValue] {
        match self {
            Self::WithValues(both) => &both.values,
            _ => &[],
        }
    }
}

impl Encoded {
    /// No value.
    pub(super) fn absent() -> Self {
        Self::own(Octets::Absent)
    }

    pub(super) fn is_absent(&self) -> bool {
        matches!(self.octets, Octets::Absent)
    }

    fn own(octets: Octets) -> Self {
        let (order, version) = (ByteOrder::NATIVE, Version::V1_2);
        Self { octets, lead: 0, order, version, code_sets: LOCAL_CODE_SETS }
    }

    /// What `write` writes.
    pub(super) fn written<'v>(
        write: impl FnOnce(&mut Encoder<'v>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        // While a thread ends its buffer may be gone: then a new one is made.
        let scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
        let mut e = Encoder::new(scratch, ByteOrder::NATIVE);
        e.set_version(Version::V1_2);
        e.set_code_sets(LOCAL_CODE_SETS);
        e.put_values_aside();
        let result = write(&mut e);
        let values = e.take_aside();
        let octets = match e.is_contiguous() {
            _ if !values.is_empty() => {
                Octets::WithValues(Arc::new(WithValues { octets: e.to_vec(), values }))
            }
            true => Octets::copied(0, e.own_octets()),
            false => Octets::Gathered(Arc::new(e.to_vec())),
        };
        let scratch = e.into_buffer();
        if scratch.capacity() <= SCRATCH_OCTETS {
            let _ = SCRATCH.try_with(|place| place.set(scratch));
        }
        result.map(|()| Self::own(octets))
    }

    /// The octets that `d` has read since the position `start`.
    pub(super) fn read_since(start: usize, d: &Decoder<'_>) -> Self {
        let lead = start % 8;
        let octets = Octets::copied(lead, d.octets_since(start));
        let (order, version, code_sets) = (d.order(), d.version(), d.code_sets());
        Self { octets, lead: lead as u8, order, version, code_sets }
    }

    pub(super) fn decoder<'a>(&'a self, context: Option<&'a dyn Context>) -> Decoder<'a> {
        let lead = usize::from(self.lead);
        let mut d = Decoder::with_position(self.octets.all(), lead, self.order);
        d.set_version(self.version);
        d.set_code_sets(self.code_sets);
        d.set_limits(&LOCAL_LIMITS);
        d.set_context(context);
        let values = self.octets.values();
        if !values.is_empty() {
            d.set_values_aside(values);
        }
        d
    }

    /// Length and elements of a `sequence<octet>`, when they are in this order.
    pub(super) fn sequence_of_octets(&self, order: ByteOrder) -> Option<&[u8]> {
        let start = usize::from(self.lead).next_multiple_of(4);
        let octets = self.octets.all().get(start..)?;
        (self.order == order && !octets.is_empty()).then_some(octets)
    }

    /// Writes the octets as they are when an encoder would write the same ones; whether it did.
    pub(super) fn write_as_is<'a>(&'a self, of: &TypeCode, e: &mut Encoder<'a>) -> bool {
        self.write_by(of, e, |e, octets| e.write_borrowed_octets(octets))
    }

    /// As [`Encoded::write_as_is`], without borrowing from it.
    pub(super) fn copy_as_is(&self, of: &TypeCode, e: &mut Encoder<'_>) -> bool {
        self.write_by(of, e, |e, octets| e.write_octets(octets))
    }

    fn write_by<'s, 'e>(
        &'s self,
        of: &TypeCode,
        e: &mut Encoder<'e>,
        write: impl FnOnce(&mut Encoder<'e>, &'s [u8]),
    ) -> bool {
        let (mine, other) = (self.code_sets, e.code_sets());
        let holds = of.holds();
        if self.order != e.order()
            || matches!(self.octets, Octets::WithValues(_))
            || (holds & HOLDS::CHAR != 0 && mine.char_data != other.char_data)
            || (holds & HOLDS::WIDE != 0
                && (mine.wchar_data != other.wchar_data
                    || self.version.of_values() != e.version().of_values()))
        {
            return false;
        }
        let alignment = of.alignment();
        let (first, largest) = (usize::from(alignment.first), usize::from(alignment.largest));
        let start = usize::from(self.lead).next_multiple_of(first);
        if start % largest != e.position().next_multiple_of(first) % largest {
            return false;
        }
        // Without octets there is no padding either.
        if let Some(octets @ [_, ..]) = self.octets.all().get(start..) {
            e.align(first);
            write(e, octets);
        }
        true
    }
}
