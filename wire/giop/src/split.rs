//! Cuts an encoded message into fragments without copying it.
//!
//! For peers that take messages of limited size only. The result are headers and ranges of the
//! message; the driver gathers them. Caller: `orb/core/connection`. CORBA 3.3 P2 §9.4.9.

use std::ops::Range;

use corbie_cdr::{Encoder, Version};

use crate::message::{FragmentHeader, MessageHeader, MessageKind};

/// One fragment: its header, and the octets of the whole message that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The message header, and in 1.2 the request id of a Fragment: `head_len` octets are used.
    head: [u8; 16],
    head_len: usize,
    /// Octets of the unfragmented message.
    range: Range<usize>,
}

impl Fragment {
    /// The octets to send first: 12 or 16.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head_len]
    }

    /// The octets of the unfragmented message that follow the head.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The same octets as pieces of the message's segments (`Encoder::segments`), nothing copied.
    pub fn pieces<'s>(
        &self,
        segments: impl Iterator<Item = &'s [u8]>,
    ) -> impl Iterator<Item = &'s [u8]> {
        let wanted = self.range.clone();
        let mut position = 0;
        segments.filter_map(move |segment| {
            let begin = wanted.start.clamp(position, position + segment.len()) - position;
            let end = wanted.end.clamp(position, position + segment.len()) - position;
            position += segment.len();
            (begin < end).then(|| &segment[begin..end])
        })
    }
}

/// The fragments of one message in order.
#[derive(Clone, Debug)]
pub struct Fragments {
    header: MessageHeader,
    /// The request id as it stands in a 1.2 message.
    request_id: [u8; 4],
    /// The octets of the whole message; `next <= len`.
    len: usize,
    next: usize,
    /// The most octets that a fragment has, its head included; a multiple of 8.
    max_octets: usize,
}

impl Fragments {
    /// The smallest size of a fragment: a head and at least as much data.
    pub const MIN_OCTETS: usize = 32;

    /// Cuts a finished message into fragments of at most `max_octets`, rounded down to a multiple
    /// of 8 and up to [`Self::MIN_OCTETS`]. `None`: it is small enough, or its version and type
    /// have no fragments (1.0, other protocols), and has to be sent whole.
    #[must_use]
    pub fn of(message: &Encoder<'_>, max_octets: usize) -> Option<Self> {
        let len = message.len();
        let max_octets = (max_octets & !7).max(Self::MIN_OCTETS);
        if len <= max_octets || !message.version().is_giop() {
            return None;
        }
        let own = message.own_octets();
        let header = MessageHeader::decode(own.first_chunk()?).ok()?;
        if !header.kind.may_be_fragmented(header.version) {
            return None;
        }
        // In 1.2 all types that may be fragmented begin with the request id.
        let request_id = own.get(12..)?.first_chunk().copied().unwrap_or_default();
        Some(Self { header, request_id, len, next: 0, max_octets })
    }
}

impl Iterator for Fragments {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        if self.next >= self.len {
            return None;
        }
        let version = self.header.version;
        let first = self.next == 0;
        let (kind, head_len, begin) = if first {
            (self.header.kind, MessageHeader::OCTETS, MessageHeader::OCTETS)
        } else {
            (MessageKind::Fragment, FragmentHeader::octets(version), self.next)
        };
        // CORBA 3.3 P2 §9.4.9: all fragments but the last are multiples of 8 in 1.2, so that what
        // is 8-aligned in the message stays so. In 1.1 the data has to be, the head has 12 octets.
        let room = if first { self.max_octets } else { (self.max_octets - head_len) & !7 };
        let end = (self.next + room).min(self.len);
        self.next = end;
        let size = head_len - MessageHeader::OCTETS + (end - begin);
        let header = MessageHeader {
            more_fragments: end < self.len,
            kind,
            size: u32::try_from(size).unwrap_or(u32::MAX),
            ..self.header
        };
        let mut head = [0; 16];
        head[..12].copy_from_slice(&header.encode());
        if version >= Version::V1_2 && !first {
            head[12..].copy_from_slice(&self.request_id);
        }
        Some(Fragment { head, head_len, range: begin..end })
    }
}
