//! One message too large for the reader's buffer, received straight into memory of its own, which
//! is handed on with it. Called by the reader only.
//!
//! What a header claims is not believed at once, unless the memory is there anyway: the first
//! memory is small, and as soon as it is full a larger one takes its place.

use crate::memory::Memory;
use corbie_cdr::budget::{Draw, Exhausted, Reading};
use corbie_cdr::buffers;
use corbie_cdr::payload::PayloadAllocator;

/// Octets that a claim gets before anything of the message has come.
const FIRST_OCTETS: usize = 64 << 10;
/// The memory is at most so many times what has come. What is moved meanwhile is at most a
/// fifteenth of the message, and memory of this size from the system takes no place before it is
/// written to.
const STEP: usize = 16;

/// A message that is being received, or was.
#[derive(Debug)]
pub(super) struct Large {
    memory: Memory,
    /// Octets that have come; `filled <= total`, and `filled <= memory.octets().len()`.
    filled: usize,
    /// Octets of the whole message.
    total: usize,
    /// What it has drawn of the budget.
    draw: Option<Draw<Reading>>,
}

impl Large {
    /// A message of `total` octets, of which the first have come.
    pub(super) fn begin(
        first: &[u8],
        total: usize,
        allocator: Option<&dyn PayloadAllocator>,
        draw: Option<Draw<Reading>>,
    ) -> Self {
        let given = allocator.and_then(|allocator| given(allocator, total));
        Self::of(given.unwrap_or_else(|| pooled(total, first.len())), first, total, draw)
    }

    /// Goes on in `memory` after `first`, which fits into it.
    fn of(mut memory: Memory, first: &[u8], total: usize, draw: Option<Draw<Reading>>) -> Self {
        let filled = first.len();
        if let Some(slots) = memory.octets_mut().get_mut(..filled) {
            slots.copy_from_slice(first);
        }
        Large { memory, filled, total, draw }
    }

    /// Takes larger memory when all of it is full.
    fn grow(&mut self) {
        let have = self.memory.octets().len();
        if self.filled == have && have < self.total {
            let next = pooled(self.total, self.filled);
            let draw = self.draw.take();
            *self = Large::of(next, self.memory.octets(), self.total, draw);
        }
    }

    /// Draws the memory, and not only what has come: so much may have come before the thread that
    /// receives looks here again.
    pub(super) fn make_room(&mut self) -> Result<(), Exhausted> {
        self.grow();
        let octets = self.total.min(self.memory.octets().len());
        self.draw.as_mut().map_or(Ok(()), |draw| draw.resize_or_end(octets))
    }

    /// Where to receive next.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.grow();
        let end = self.total.min(self.memory.octets().len());
        self.memory.octets_mut().get_mut(self.filled..end).unwrap_or_default()
    }

    pub(super) fn received(&mut self, octets: usize) {
        let most = self.total.min(self.memory.octets().len());
        self.filled = self.filled.saturating_add(octets).min(most);
    }

    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    pub(super) fn wanted(&self) -> usize {
        self.total - self.filled
    }

    /// The octets that have come.
    pub(super) fn octets(&self) -> &[u8] {
        self.memory.octets().get(..self.filled).unwrap_or_default()
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn into_parts(self) -> (Memory, Option<Draw<Reading>>) {
        (self.memory, self.draw)
    }
}

/// Memory of the application, if what it gives is of use.
fn given(allocator: &dyn PayloadAllocator, total: usize) -> Option<Memory> {
    let mut memory = Memory::Given(allocator.allocate(total)?);
    (memory.octets_mut().len() >= total).then_some(memory)
}

/// A buffer for all of it when there is one, else for as much as may be believed.
fn pooled(total: usize, filled: usize) -> Memory {
    let believed = filled.saturating_mul(STEP).clamp(FIRST_OCTETS, total.max(FIRST_OCTETS));
    let kept = buffers::take_kept_filled(total);
    Memory::Pooled(kept.unwrap_or_else(|| buffers::take_filled(believed.min(total))))
}
