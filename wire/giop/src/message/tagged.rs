//! Lists of octets with a tag: service contexts and profiles, which look the same on the wire.
//!
//! Read lazily from a received header, or written from a slice. Callers: the header codecs of
//! `message`, `orb/core`. CORBA 3.3 P2 §9.7 (IOP::ServiceContextList), §9.6.2 (IOP::TaggedProfile).

use corbie_cdr::{ByteOrder, Decoder, Encoder};

use crate::error::GiopError;

/// A tag and its octets: one service context, or one profile of a reference.
///
/// ```text
/// tag: ulong │ length: ulong │ data: length octets, mostly an encapsulation │ 0 to 3 octets
/// padding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// What the data means.
    pub tag: u32,
    /// Mostly an encapsulation: its first octet is the byte order of the rest.
    pub data: &'a [u8],
}

/// A list of [`Tagged`] octets: still in a received message, or a slice to be sent.
#[derive(Clone, Copy)]
pub struct TaggedList<'a>(List<'a>);

#[derive(Clone, Copy)]
enum List<'a> {
    /// `count` items, checked to lie within `octets`, which begin at a multiple of four.
    Received {
        octets: &'a [u8],
        count: u32,
        order: ByteOrder,
    },
    Given(&'a [Tagged<'a>]),
}

impl<'a> TaggedList<'a> {
    /// No items.
    pub const EMPTY: Self = Self(List::Given(&[]));

    /// The smallest encoding of one item: its tag and an empty sequence.
    const MIN_OCTETS: usize = 8;

    /// The items to send.
    #[must_use]
    pub const fn new(items: &'a [Tagged<'a>]) -> Self {
        Self(List::Given(items))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            List::Received { count, .. } => count as usize,
            List::Given(items) => items.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in order.
    #[must_use]
    pub fn iter(&self) -> TaggedIter<'a> {
        TaggedIter { list: self.0, position: 0, left: self.len() }
    }

    /// The data of the first item with this tag.
    #[must_use]
    pub fn find(&self, tag: u32) -> Option<&'a [u8]> {
        self.iter().find(|item| item.tag == tag).map(|item| item.data)
    }

    /// Reads a list, checking the length of each item; the data is looked at when asked for.
    ///
    /// # Errors
    /// `Malformed`: a count or a length goes beyond the message. `what` names the list.
    #[inline(always)]
    pub fn decode(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, GiopError> {
        let count = d.read_length(Self::MIN_OCTETS).map_err(|e| GiopError::malformed(what, &e))?;
        if count == 0 {
            return Ok(Self::EMPTY);
        }
        Self::decode_items(d, what, count)
    }

    #[inline(never)]
    fn decode_items(
        d: &mut Decoder<'a>,
        what: &'static str,
        count: usize,
    ) -> Result<Self, GiopError> {
        let mut ahead = d.clone();
        let begin = ahead.position();
        for _ in 0..count {
            ahead.read_ulong().map_err(|e| GiopError::malformed(what, &e))?;
            ahead.read_octet_sequence().map_err(|e| GiopError::malformed(what, &e))?;
        }
        let octets =
            d.read_octets(ahead.position() - begin).map_err(|e| GiopError::malformed(what, &e))?;
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Self(List::Received { octets, count, order: d.order() }))
    }

    /// Writes the list.
    ///
    /// # Errors
    /// The encoder's: the message becomes longer than a GIOP message can be.
    #[inline]
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        e.write_length(self.len())?;
        for Tagged { tag, data } in self.iter() {
            e.write_ulong(tag);
            e.write_octet_sequence_copied(data)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for TaggedList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for TaggedList<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for TaggedList<'_> {}

impl Default for TaggedList<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a> IntoIterator for TaggedList<'a> {
    type Item = Tagged<'a>;
    type IntoIter = TaggedIter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The items of a [`TaggedList`] in order.
#[derive(Clone)]
pub struct TaggedIter<'a> {
    list: List<'a>,
    /// Received: the octet at which the next item begins. Given: its index.
    position: usize,
    left: usize,
}

impl<'a> Iterator for TaggedIter<'a> {
    type Item = Tagged<'a>;

    fn next(&mut self) -> Option<Tagged<'a>> {
        self.left = self.left.checked_sub(1)?;
        match self.list {
            List::Given(items) => {
                let item = items.get(self.position).copied();
                self.position += 1;
                item
            }
            List::Received { octets, order, .. } => {
                let mut d = Decoder::with_position(octets, self.position, order);
                let tag = d.read_ulong().ok()?;
                let data = d.read_octet_sequence().ok()?;
                self.position = d.position();
                Some(Tagged { tag, data })
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TaggedIter<'_> {}
