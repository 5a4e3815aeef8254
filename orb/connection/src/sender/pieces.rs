//! Octets that wait to be sent, in order: small messages are copied behind one another into blocks
//! of the thread's pool, so that they go in one system call; large ones are taken as they lie, in
//! their encoder's blocks or in memory that is shared (paper POA §3.2). Used by `queue`.

use super::writing;
use crate::Octets;
use corbie_cdr::payload::SharedOctets;
use corbie_cdr::{Encoder, Piece, buffers};
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// A message of fewer octets is copied.
const LARGE_OCTETS: usize = 32 << 10;
/// The blocks that small messages are copied to.
const BLOCK_OCTETS: usize = 16 << 10;
/// Pieces that one system call takes.
const PIECES: usize = 40;
/// A thread that waits for the peer sends so many octets at a time: the peer has the link's send
/// time-out for each time, and one that is slow but reads is not taken for one that hangs.
const WAITING_OCTETS: usize = 256 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// No piece is empty, nor wholly sent.
    pieces: VecDeque<Waiting>,
    /// Octets of the first piece that were sent.
    sent: usize,
    /// Octets that wait.
    octets: usize,
    /// The block that was used last: who adds and who sends are different threads, and the pool of
    /// one would run dry.
    spare: Vec<u8>,
}

#[derive(Debug)]
enum Waiting {
    Block(Vec<u8>),
    Shared(SharedOctets),
}

impl Waiting {
    fn octets(&self) -> &[u8] {
        match self {
            Waiting::Block(block) => block,
            Waiting::Shared(octets) => octets,
        }
    }

    fn give_back(self) {
        if let Waiting::Block(block) = self {
            buffers::give(block);
        }
    }
}

impl Pieces {
    /// Octets that wait.
    #[inline]
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Puts a copy of `octets` behind what waits.
    pub(super) fn add(&mut self, octets: &[u8]) {
        let mut rest = octets;
        while !rest.is_empty() {
            let block = match self.pieces.back_mut() {
                Some(Waiting::Block(block)) if block.len() < block.capacity() => block,
                _ => {
                    let mut block = std::mem::take(&mut self.spare);
                    if block.capacity() == 0 {
                        block = buffers::take(rest.len().clamp(1, BLOCK_OCTETS));
                    }
                    self.pieces.push_back(Waiting::Block(block));
                    continue;
                }
            };
            let room = block.capacity() - block.len();
            let (now, later) = rest.split_at(rest.len().min(room));
            block.extend_from_slice(now);
            self.octets += now.len();
            rest = later;
        }
    }

    /// Puts the finished message in `encoder` behind what waits, but for its first `sent` octets:
    /// a large one as it lies, apart from what is only borrowed. Cuts it into fragments when it has
    /// more than `fragment_octets`.
    pub(super) fn add_message(
        &mut self,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        sent: usize,
    ) {
        let is_cut = fragment_octets.is_some_and(|octets| encoder.len() > octets);
        if is_cut || encoder.len() < LARGE_OCTETS {
            let mut skip = sent;
            return writing::for_each_segment(encoder, fragment_octets, |segment| {
                self.add(segment.get(skip..).unwrap_or_default());
                skip = skip.saturating_sub(segment.len());
            });
        }
        let mut skip = sent;
        encoder.take_pieces(|piece| {
            let octets = match &piece {
                Piece::Octets(octets) => octets.len(),
                Piece::Block(block) => block.len(),
                Piece::Shared(shared) => shared.len(),
            };
            let left = octets.saturating_sub(skip);
            match piece {
                Piece::Octets(octets) => self.add(octets.get(skip..).unwrap_or_default()),
                Piece::Shared(shared) if left > 0 => {
                    self.push(Waiting::Shared(shared.slice(skip..octets)));
                }
                // Only the first of all may be sent in part, and that is noted.
                Piece::Block(block) if left > 0 && (skip == 0 || self.pieces.is_empty()) => {
                    self.sent += skip;
                    self.octets += left;
                    self.pieces.push_back(Waiting::Block(block));
                }
                Piece::Block(block) => {
                    self.add(block.get(skip..).unwrap_or_default());
                    buffers::give(block);
                }
                Piece::Shared(_) => {}
            }
            skip = skip.saturating_sub(octets);
        });
    }

    fn push(&mut self, piece: Waiting) {
        self.octets += piece.octets().len();
        self.pieces.push_back(piece);
    }

    /// Puts `later` behind what waits here; it is empty then.
    pub(super) fn append(&mut self, later: &mut Pieces) {
        if self.octets == 0 {
            return std::mem::swap(self, later);
        }
        if later.sent > 0
            && let Some(first) = later.pieces.pop_front()
        {
            self.add(first.octets().get(later.sent..).unwrap_or_default());
            first.give_back();
        }
        self.octets += later.pieces.iter().map(|piece| piece.octets().len()).sum::<usize>();
        self.pieces.append(&mut later.pieces);
        (later.sent, later.octets) = (0, 0);
    }

    /// Sends of what waits what can be sent without waiting or, if it may wait, so much at most
    /// that a slow peer takes it within the link's send time-out; how many octets that were.
    ///
    /// # Errors
    /// What the system says; how much was sent is not known then.
    pub(super) fn send(&mut self, link: &impl Octets, may_wait: bool) -> io::Result<usize> {
        let mut total = 0;
        let most = if may_wait { WAITING_OCTETS } else { usize::MAX };
        while self.octets > 0 {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let (count, offered) = self.offer(&mut slices, most);
            let sent = match &mut slices[..count] {
                [one] if may_wait => link.send_one(one).map(|()| offered),
                [one] => link.try_send(one),
                many if may_wait => link.send(&mut *many).map(|()| offered),
                many => link.try_send_gathered(many),
            }?;
            total += sent;
            self.advance(sent);
            if may_wait || sent < offered || offered == 0 {
                break;
            }
        }
        Ok(total)
    }

    /// What is sent next, `most` octets of it: in how many slices, and how many octets.
    fn offer<'s>(&'s self, slices: &mut [IoSlice<'s>; PIECES], most: usize) -> (usize, usize) {
        let mut skip = self.sent;
        let (mut count, mut offered) = (0, 0);
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            let octets = piece.octets().get(skip..).unwrap_or_default();
            let octets = &octets[..octets.len().min(most - offered)];
            *slice = IoSlice::new(octets);
            offered += octets.len();
            count += 1;
            skip = 0;
            if offered == most {
                break;
            }
        }
        (count, offered)
    }

    /// So many octets were sent.
    fn advance(&mut self, sent: usize) {
        self.octets -= sent.min(self.octets);
        self.sent += sent;
        while let Some(first) = self.pieces.front()
            && let length = first.octets().len()
            && self.sent >= length
        {
            self.sent -= length;
            match self.pieces.pop_front() {
                Some(Waiting::Block(mut block)) if block.capacity() <= BLOCK_OCTETS => {
                    block.clear();
                    buffers::give(std::mem::replace(&mut self.spare, block));
                }
                first => first.into_iter().for_each(Waiting::give_back),
            }
        }
    }

    /// Nothing was added for a while: holds no memory any more.
    pub(super) fn rest(&mut self) {
        if self.spare.capacity() > 0 {
            buffers::give(std::mem::take(&mut self.spare));
        }
    }

    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        self.pieces.drain(..).for_each(Waiting::give_back);
        (self.sent, self.octets) = (0, 0);
    }

    /// Octets of memory that it holds.
    #[cfg(test)]
    pub(super) fn memory_octets(&self) -> usize {
        let of = |piece: &Waiting| match piece {
            Waiting::Block(block) => block.capacity(),
            Waiting::Shared(octets) => octets.len(),
        };
        self.pieces.iter().map(of).sum::<usize>() + self.spare.capacity()
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.clear();
        self.rest();
    }
}
