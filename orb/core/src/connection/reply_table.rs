//! The requests of one connection that wait for their reply: request id to what waits, in O(1).
//!
//! Pure: no input or output, no clock, no lock. A request id is the number of a slot and the slot's
//! generation, which grows each time the slot is used again; so a reply that comes late, twice or
//! without a request finds nothing (paper AMI §3.1: reply dispatcher). `connection/muxed` has one.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

/// Bits of a request id that number the slot; the others count its generation.
const SLOT_BITS: u32 = 18;
/// The most requests that one connection can have pending.
pub(crate) const SLOTS_MAX: usize = 1 << SLOT_BITS;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// What waits for replies, by request id.
#[derive(Debug)]
pub(crate) struct ReplyTable<T> {
    slots: Vec<Slot<T>>,
    /// Slots without a request; the next one used is in front. One whose reply may still come
    /// goes to the end, so that its generation is as old as possible when it does.
    free: VecDeque<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    /// The generation bits of the request in it, or of the next one.
    generation: u32,
    waiting: Option<T>,
}

impl<T> Default for ReplyTable<T> {
    fn default() -> Self {
        ReplyTable { slots: Vec::new(), free: VecDeque::new() }
    }
}

impl<T> ReplyTable<T> {
    /// How many requests wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A request begins to wait; its id. `waiting` comes back when there is no slot left.
    #[inline]
    pub(crate) fn insert(&mut self, waiting: T) -> Result<u32, T> {
        let index = match self.free.pop_front() {
            Some(index) => index,
            None if self.slots.len() < SLOTS_MAX => self.add_slot(),
            None => return Err(waiting),
        };
        let slot = &mut self.slots[index as usize];
        slot.waiting = Some(waiting);
        Ok(slot.generation << SLOT_BITS | index)
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot { generation: 0, waiting: None });
        u32::try_from(self.slots.len() - 1).unwrap_or(SLOT_MASK)
    }

    /// The reply to `id` has come: takes out what waited. `None`: nobody waits for it (any more).
    #[inline]
    pub(crate) fn take(&mut self, id: u32) -> Option<T> {
        let (index, waiting) = self.vacate(id)?;
        self.free.push_front(index);
        Some(waiting)
    }

    /// Nobody waits for `id` any more, but its reply may still come.
    #[inline]
    pub(crate) fn abandon(&mut self, id: u32) -> Option<T> {
        let (index, waiting) = self.vacate(id)?;
        self.free.push_back(index);
        Some(waiting)
    }

    #[inline]
    fn vacate(&mut self, id: u32) -> Option<(u32, T)> {
        let index = id & SLOT_MASK;
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation != id >> SLOT_BITS {
            return None;
        }
        let waiting = slot.waiting.take()?;
        slot.generation = (slot.generation + 1) & (u32::MAX >> SLOT_BITS);
        Some((index, waiting))
    }

    /// All that wait, with their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().zip(0..).filter_map(|(slot, index)| {
            Some((slot.generation << SLOT_BITS | index, slot.waiting.as_ref()?))
        })
    }

    /// Takes everything out: no reply will come.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        let ids: Vec<u32> = self.iter().map(|(id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}
