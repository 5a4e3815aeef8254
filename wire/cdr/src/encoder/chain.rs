//! Own octets in several blocks: a full block is set aside and another one linked behind it, so
//! what was written is never moved, and how large a message becomes need not be known (paper POA
//! §3.2, figure 16). The paths that only large messages take; the others are in `primitives`.

use super::{Elsewhere, Encoder};
use crate::buffers;
use crate::payload::SharedOctets;

/// Blocks become larger with the message, up to this.
const MOST_BLOCK_OCTETS: usize = 1 << 20;
/// A block is as large as all before it, so many times.
const STEP: usize = 4;
/// A block with at least so many octets is handed on rather than copied.
const WORTH_MOVING: usize = 16 << 10;

/// What happens when the own octets outgrow their buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// It is reallocated.
    Contiguous,
    /// A block of the thread's pool is linked.
    Pooled,
    /// A block of this size is linked.
    Fixed(usize),
}

/// A piece of an encoded message that is taken out of its encoder, see [`Encoder::take_pieces`].
#[derive(Debug)]
pub enum Piece<'e> {
    /// To be copied: little, or borrowed from a caller who does not wait.
    Octets(&'e [u8]),
    /// A block of the pool ([`buffers::give`] takes it back).
    Block(Vec<u8>),
    /// Held together with others.
    Shared(SharedOctets),
}

impl<'a> Encoder<'a> {
    /// Octets that go into the buffer as it is.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.buffer.capacity() - self.buffer.len()
    }

    /// Writes octets for which the buffer has no room.
    #[cold]
    #[inline(never)]
    pub(super) fn write_across(&mut self, octets: &[u8]) {
        if self.growth == Growth::Contiguous {
            return self.buffer.extend_from_slice(octets);
        }
        let mut rest = octets;
        loop {
            let (now, later) = rest.split_at(rest.len().min(self.room()));
            self.buffer.extend_from_slice(now);
            if later.is_empty() {
                return;
            }
            rest = later;
            self.link(rest.len().min(MOST_BLOCK_OCTETS));
        }
    }

    /// Writes octets that have to lie in one piece, and for which the buffer has no room.
    #[cold]
    #[inline(never)]
    pub(super) fn write_behind(&mut self, octets: &[u8]) {
        self.make_room(octets.len());
        self.buffer.extend_from_slice(octets);
    }

    /// Makes room for `octets` in one piece.
    pub(super) fn make_room(&mut self, octets: usize) {
        if self.growth == Growth::Contiguous {
            self.buffer.reserve(octets);
        } else if self.room() < octets {
            self.link(octets);
        }
    }

    /// How much room there has to be for a part of `octets`, which may be cut into pieces of `unit`
    /// octets each.
    pub(super) fn wanted_block(&self, octets: usize, unit: usize) -> usize {
        match self.growth {
            Growth::Contiguous => octets,
            _ if self.room() >= unit => unit,
            Growth::Fixed(_) => unit,
            Growth::Pooled => octets.min(MOST_BLOCK_OCTETS),
        }
    }

    /// Links a block with room for `octets` at least.
    fn link(&mut self, octets: usize) {
        let next = match self.growth {
            Growth::Fixed(usual) => Vec::with_capacity(octets.max(usual)),
            _ => {
                let usual = self.own_len().saturating_mul(STEP).min(MOST_BLOCK_OCTETS);
                buffers::take(octets.max(usual))
            }
        };
        let full = std::mem::replace(&mut self.buffer, next);
        if full.is_empty() {
            return buffers::give(full);
        }
        if self.blocks.capacity() == 0 {
            self.blocks = buffers::take_list();
        }
        self.linked += full.len();
        self.shift = self.shift.wrapping_add(full.len());
        self.blocks.push(full);
    }

    /// Gives blocks back until the last one begins at the own octet `end` at the latest.
    pub(super) fn unlink(&mut self, end: usize) {
        while end < self.linked
            && let Some(last) = self.blocks.pop()
        {
            self.linked -= last.len();
            self.shift = self.shift.wrapping_sub(last.len());
            buffers::give(std::mem::replace(&mut self.buffer, last));
        }
    }

    /// Overwrites own octets from number `at` on, in whatever blocks they are.
    #[cold]
    #[inline(never)]
    pub(super) fn patch_blocks(&mut self, at: usize, octets: &[u8]) {
        let mut from = at;
        let blocks = self.blocks.iter_mut().chain(std::iter::once(&mut self.buffer));
        let slots = blocks.flat_map(|block| {
            let start = from.min(block.len());
            from -= start;
            block.get_mut(start..).unwrap_or_default()
        });
        slots.zip(octets).for_each(|(slot, octet)| *slot = *octet);
    }

    /// Brings all own octets together in one buffer.
    #[cold]
    pub(super) fn join(&mut self) {
        let mut all = Vec::with_capacity(self.own_len());
        for block in self.blocks.drain(..) {
            all.extend_from_slice(&block);
            buffers::give(block);
        }
        all.extend_from_slice(&self.buffer);
        let last = std::mem::replace(&mut self.buffer, all);
        buffers::give(last);
        self.shift = self.shift.wrapping_sub(self.linked);
        self.linked = 0;
    }

    /// Takes the message apart, in the order of the wire: full blocks and shared octets are handed
    /// on as they are, so that a queue can hold them; the rest is for `each` to copy. Afterwards
    /// the encoder is empty.
    pub fn take_pieces(&mut self, mut each: impl FnMut(Piece<'_>)) {
        let mut blocks = std::mem::take(&mut self.blocks);
        let last = std::mem::take(&mut self.buffer);
        let (chunks, shared) = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.shared));
        let mut chunks = chunks.iter().peekable();
        let mut start = 0;
        for block in blocks.drain(..).chain(std::iter::once(last)) {
            let end = start + block.len();
            let mut given = start;
            while let Some(chunk) = chunks.next_if(|chunk| chunk.at < end) {
                if let Some(octets) = block.get(given - start..chunk.at - start) {
                    each(Piece::Octets(octets));
                }
                given = chunk.at;
                each(piece(chunk.octets, &shared));
            }
            if given == start && block.len() >= WORTH_MOVING && self.growth != Growth::Contiguous {
                each(Piece::Block(block));
            } else {
                each(Piece::Octets(block.get(given - start..).unwrap_or_default()));
                if self.growth == Growth::Pooled {
                    buffers::give(block);
                }
            }
            start = end;
        }
        chunks.for_each(|chunk| each(piece(chunk.octets, &shared)));
        buffers::give_list(blocks);
        (self.linked, self.borrowed, self.shift) = (0, 0, 0);
    }
}

fn piece<'e>(octets: Elsewhere<'e>, shared: &[SharedOctets]) -> Piece<'e> {
    match octets {
        Elsewhere::Borrowed(octets) => Piece::Octets(octets),
        Elsewhere::Shared(number) => {
            shared.get(number as usize).map_or(Piece::Octets(&[]), |s| Piece::Shared(s.clone()))
        }
    }
}
