//! The requests of one connection that wait for their reply: request id to what waits, in O(1),
//! with the time until which each waits.
//!
//! A request id is the number of a slot and the slot's generation, which grows each time the slot
//! is used again; so a reply that comes late, twice or without a request finds nothing (paper AMI
//! §3.1: reply dispatcher). Taking a request out is the one way to end it. Used by the shared
//! connections of `orb/core`, under one lock, and by the simulated network.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::roles::RequestIds;

/// Bits of a request id that number the slot; the others count its generation.
const SLOT_BITS: u32 = 18;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
const GENERATIONS: u32 = u32::MAX >> SLOT_BITS;

/// What waits for replies, by request id.
///
/// Times are numbers that only grow, of any unit and beginning.
#[derive(Debug)]
pub struct ReplyTable<T> {
    slots: Vec<Slot<T>>,
    /// Slots without a request; the next one used is in front. One whose reply may still come
    /// goes to the end, so that its generation is as old as possible when it does.
    free: VecDeque<u32>,
    ids: RequestIds,
    /// No request is over before; a bound, not exact.
    next_deadline: u64,
    /// Requests that were given up, and whose reply has not come.
    owed: u32,
    /// Requests that began so far.
    begun: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Slot<T> {
    /// The generation of the request in it, or of the next one.
    generation: u32,
    /// The generation of the request that was given up last, until its reply comes.
    owed: Option<u32>,
    waiting: Option<Waiting<T>>,
}

#[derive(Debug)]
struct Waiting<T> {
    what: T,
    /// Which request it is, in the order in which they began.
    number: u64,
    deadline: u64,
}

/// A request that was put into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its request id.
    pub id: u32,
    /// How many waited before.
    pub others: usize,
    /// Whether its time is over before that of all others.
    pub is_next_deadline: bool,
}

/// Why a request was not put into the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotBegun {
    /// The table is closed.
    Closed,
    /// Too many wait already.
    Full,
    /// There is no memory for it: for those who draw from a budget.
    NoMemory,
}

/// What a reply finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replied<T> {
    /// The request that waited for it, which has ended now.
    To(T),
    /// It is the reply to a request that was given up.
    Late,
    /// It answers nothing that was asked, or is the second reply to it.
    Unasked,
}

impl<T> Default for ReplyTable<T> {
    fn default() -> Self {
        Self::new(RequestIds::All)
    }
}

impl<T> ReplyTable<T> {
    /// The most requests that can wait at a time.
    pub const SLOTS_MAX: usize = 1 << SLOT_BITS;
    /// A deadline that never comes.
    pub const NEVER: u64 = u64::MAX;

    /// An empty table that gives such ids.
    #[must_use]
    pub fn new(ids: RequestIds) -> Self {
        ReplyTable {
            slots: Vec::new(),
            free: VecDeque::new(),
            ids,
            next_deadline: Self::NEVER,
            owed: 0,
            begun: 0,
            is_closed: false,
        }
    }

    /// How many requests wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no request waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no request is taken any more.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// How many replies are still to come to requests that were given up.
    #[inline]
    #[must_use]
    pub fn owed(&self) -> u32 {
        self.owed
    }

    /// No request is over before this time, [`NEVER`](Self::NEVER) if none is ever over.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        self.next_deadline
    }

    /// Whether a request may begin while at most `most` wait; how many wait.
    ///
    /// # Errors
    /// Why not.
    #[inline]
    pub fn admits(&self, most: usize) -> Result<usize, NotBegun> {
        match self.len() {
            _ if self.is_closed => Err(NotBegun::Closed),
            others if others >= most.min(Self::SLOTS_MAX) => Err(NotBegun::Full),
            others => Ok(others),
        }
    }

    /// A request begins to wait, until `deadline`. `most` may wait at a time.
    ///
    /// # Errors
    /// It comes back.
    #[inline]
    pub fn begin(&mut self, what: T, deadline: u64, most: usize) -> Result<Begun, (T, NotBegun)> {
        let others = match self.admits(most) {
            Ok(others) => others,
            Err(reason) => return Err((what, reason)),
        };
        let index = match self.free.pop_front() {
            Some(index) => index,
            None => self.add_slot(),
        };
        self.begun += 1;
        let slot = &mut self.slots[index as usize];
        slot.waiting = Some(Waiting { what, number: self.begun, deadline });
        let id = self.ids.id(slot.generation << SLOT_BITS | index);
        let is_next_deadline = deadline < self.next_deadline;
        if is_next_deadline {
            self.next_deadline = deadline;
        }
        Ok(Begun { id, others, is_next_deadline })
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot { generation: 0, owed: None, waiting: None });
        u32::try_from(self.slots.len() - 1).unwrap_or(SLOT_MASK)
    }

    /// The reply to `id` has come: takes out what waited for it.
    #[inline]
    pub fn replied(&mut self, id: u32) -> Replied<T> {
        match self.vacate(id) {
            Some((index, what)) => {
                self.free.push_front(index);
                Replied::To(what)
            }
            None => self.late(id),
        }
    }

    #[cold]
    fn late(&mut self, id: u32) -> Replied<T> {
        let Some((index, generation)) = self.place(id) else { return Replied::Unasked };
        match self.slots.get_mut(index as usize) {
            Some(slot) if slot.owed == Some(generation) => {
                slot.owed = None;
                self.owed -= 1;
                Replied::Late
            }
            _ => Replied::Unasked,
        }
    }

    /// Takes out a request that was not sent: no reply can come.
    pub fn withdraw(&mut self, id: u32) -> Option<T> {
        let (index, what) = self.vacate(id)?;
        self.free.push_front(index);
        Some(what)
    }

    /// Takes out a request that is given up; its reply may still come.
    #[inline]
    pub fn abandon(&mut self, id: u32) -> Option<T> {
        let (index, what) = self.vacate(id)?;
        let (_, generation) = self.place(id)?;
        self.free.push_back(index);
        if self.slots[index as usize].owed.replace(generation).is_none() {
            self.owed += 1;
        }
        Some(what)
    }

    /// Slot and generation of an id; `None`: an id of the other end.
    #[inline]
    fn place(&self, id: u32) -> Option<(u32, u32)> {
        let number = self.ids.number(id)?;
        Some((number & SLOT_MASK, number >> SLOT_BITS))
    }

    #[inline]
    fn vacate(&mut self, id: u32) -> Option<(u32, T)> {
        let (index, generation) = self.place(id)?;
        let generations = match self.ids {
            RequestIds::All => GENERATIONS,
            // The lowest bit says which end gave the id.
            RequestIds::Even | RequestIds::Odd => GENERATIONS >> 1,
        };
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation != generation {
            return None;
        }
        let waiting = slot.waiting.take()?;
        slot.generation = (generation + 1) & generations;
        Some((index, waiting.what))
    }

    /// All that wait, with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.waiting().map(|(id, waiting)| (id, &waiting.what))
    }

    fn waiting(&self) -> impl Iterator<Item = (u32, &Waiting<T>)> {
        self.slots.iter().zip(0..).filter_map(|(slot, index)| {
            let id = self.ids.id(slot.generation << SLOT_BITS | index);
            Some((id, slot.waiting.as_ref()?))
        })
    }

    /// Takes out the requests whose time is over at `now`, in the order in which they began. Their
    /// replies may still come.
    pub fn expire(&mut self, now: u64) -> Vec<(u32, T)> {
        if self.next_deadline > now {
            return Vec::new();
        }
        let mut next = Self::NEVER;
        let mut over = Vec::new();
        for (id, waiting) in self.waiting() {
            match waiting.deadline {
                deadline if deadline <= now => over.push((waiting.number, id)),
                deadline => next = next.min(deadline),
            }
        }
        self.next_deadline = next;
        over.sort_unstable();
        over.into_iter().filter_map(|(_, id)| Some((id, self.abandon(id)?))).collect()
    }

    /// Takes no request any more, unless one waits; whether it is closed now.
    pub fn close_if_empty(&mut self) -> bool {
        self.is_closed |= self.is_empty();
        self.is_closed
    }

    /// Takes no request any more, and no reply will come: takes out all that wait, in the order in
    /// which they began.
    pub fn close(&mut self) -> Vec<T> {
        self.is_closed = true;
        self.next_deadline = Self::NEVER;
        self.owed = 0;
        self.free.clear();
        let slots = std::mem::take(&mut self.slots);
        let mut waited: Vec<_> = slots.into_iter().filter_map(|slot| slot.waiting).collect();
        waited.sort_unstable_by_key(|waiting| waiting.number);
        waited.into_iter().map(|waiting| waiting.what).collect()
    }
}
