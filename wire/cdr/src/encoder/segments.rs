//! Walks the pieces of an encoded message in the order of the wire; the transport hands them to
//! one gathered write, and the GIOP fragmenter cuts them.

use super::{Chunk, Elsewhere, Encoder};
use crate::payload::SharedOctets;

/// The pieces of an encoded message; see [`Encoder::segments`](super::Encoder::segments).
#[derive(Clone)]
pub struct Segments<'e> {
    /// What is left of the present block, and the blocks after it.
    block: &'e [u8],
    blocks: std::slice::Iter<'e, Vec<u8>>,
    last: Option<&'e [u8]>,
    /// Own octets that were already given.
    given: usize,
    chunks: std::slice::Iter<'e, Chunk<'e>>,
    /// The chunk to give next, after own octets up to its place.
    next: Option<&'e Chunk<'e>>,
    shared: &'e [SharedOctets],
}

impl<'e> Segments<'e> {
    pub(super) fn new(encoder: &'e Encoder<'_>) -> Self {
        let mut chunks = encoder.chunks.iter();
        let next = chunks.next();
        Self {
            block: &[],
            blocks: encoder.blocks.iter(),
            last: Some(&encoder.buffer),
            given: 0,
            chunks,
            next,
            shared: &encoder.shared,
        }
    }
}

impl<'e> Iterator for Segments<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        while self.block.is_empty() && self.next.is_none_or(|chunk| chunk.at > self.given) {
            self.block = self.blocks.next().map(Vec::as_slice).or_else(|| self.last.take())?;
        }
        let until = self.next.map_or(usize::MAX, |chunk| chunk.at - self.given);
        if until > 0 {
            let (piece, rest) = self.block.split_at(self.block.len().min(until));
            self.block = rest;
            self.given += piece.len();
            return Some(piece);
        }
        let chunk = self.next?;
        self.next = self.chunks.next();
        match chunk.octets {
            Elsewhere::Borrowed(octets) => Some(octets),
            Elsewhere::Shared(number) => self.shared.get(number as usize).map(|shared| &**shared),
        }
    }
}

impl std::fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone().map(<[u8]>::len)).finish()
    }
}
