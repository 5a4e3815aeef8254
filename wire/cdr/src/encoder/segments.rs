//! Walks the pieces of an encoded message in the order of the wire; the transport hands them to
//! one gathered write, and the GIOP fragmenter cuts them.

use super::Chunk;

/// The pieces of an encoded message; see [`Encoder::segments`](super::Encoder::segments).
#[derive(Clone)]
pub struct Segments<'e> {
    own: &'e [u8],
    /// Own octets that were already given.
    given: usize,
    chunks: std::slice::Iter<'e, Chunk<'e>>,
    /// The chunk to give next, after own octets up to its place.
    next: Option<&'e Chunk<'e>>,
}

impl<'e> Segments<'e> {
    pub(super) fn new(own: &'e [u8], chunks: &'e [Chunk<'e>]) -> Self {
        let mut chunks = chunks.iter();
        let next = chunks.next();
        Self { own, given: 0, chunks, next }
    }
}

impl<'e> Iterator for Segments<'e> {
    type Item = &'e [u8];

    fn next(&mut self) -> Option<&'e [u8]> {
        let until = self.next.map_or(self.own.len(), |chunk| chunk.at);
        if self.given < until {
            let piece = self.own.get(self.given..until);
            self.given = until;
            return piece;
        }
        let chunk = self.next?;
        self.next = self.chunks.next();
        Some(chunk.octets)
    }
}

impl std::fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone().map(<[u8]>::len)).finish()
    }
}
