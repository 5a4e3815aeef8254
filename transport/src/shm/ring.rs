//! A ring of octets between one producer and one consumer that need not trust each other, and how
//! each learns that the other sleeps.
//!
//! Positions are counted up without end, modulo 2^32; the shared words `tail` and `head` tell the
//! other side how far one is. Each side goes by its own copy of its own position, and checks what
//! the other says on every use: a position that cannot be ends the connection ([`Broken`]).
//!
//! A thread that is awake is not signalled. One that is about to sleep says so in a word, then
//! looks once more; one that has changed something looks at that word afterwards, and takes it back
//! when it signals: of the two looks at least one sees the other's store, so no wake is lost.
//! `tests` shows it with loom, which is why this is generic over the words. Used by `link`.

use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(test)]
mod tests;

/// A shared word: of the mapping, or of loom.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    fn swap(&self, value: u32, order: Ordering) -> u32;
    /// A sequentially consistent fence.
    fn fence();
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }

    #[inline]
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        AtomicU32::swap(self, value, order)
    }

    #[inline]
    fn fence() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The octets of a ring. A position means the octet at it modulo the capacity; no method is ever
/// called with more octets than the capacity.
pub(super) trait Octets {
    /// A power of two, at most 2^31.
    fn capacity(&self) -> u32;
    fn write(&self, at: u32, from: &[u8]);
    fn read(&self, at: u32, into: &mut [u8]);
}

/// A word with two cache lines to itself, as processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Line<W>(W);

/// The shared words of one ring. Each is written in steady state by one side only, and by the other
/// when it takes a wish back.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Control<W> {
    /// Where the producer is.
    tail: Line<W>,
    /// Where the consumer is.
    head: Line<W>,
    /// Whether the consumer wants to be signalled when there is something: 0 or 1.
    sleeping: Line<W>,
    /// Whether the producer wants to be signalled when there is room: a [`Wish`], or 0.
    wants_room: Line<W>,
}

impl<W> Control<W> {
    /// The word that a thread waits at for room.
    pub(super) fn room_word(&self) -> &W {
        &self.wants_room.0
    }
}

/// How a producer that waits for room wants to learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Wish {
    /// By the doorbell: an event loop waits for it.
    Doorbell = 1,
    /// By a wake at [`Control::room_word`], where a thread sleeps.
    Wake = 2,
}

/// The other side's position cannot be: it breaks the rules, and the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

impl From<Broken> for std::io::Error {
    #[cold]
    fn from(_: Broken) -> Self {
        let text = "the peer wrote positions into the shared memory that cannot be";
        std::io::Error::new(std::io::ErrorKind::InvalidData, text)
    }
}

/// The writing side: what only this process knows of it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Producer {
    /// How far octets are written; the shared tail follows with [`Producer::publish`].
    tail: AtomicU32,
    /// The consumer's position when it was last looked at.
    head_seen: AtomicU32,
}

impl Producer {
    /// Writes what there is room for of `octets`, where the peer does not see it yet; how many that
    /// were.
    #[inline]
    pub(super) fn write<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
        octets: &[u8],
    ) -> Result<usize, Broken> {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut used = tail.wrapping_sub(self.head_seen.load(Ordering::Relaxed));
        if (area.capacity().saturating_sub(used) as usize) < octets.len() {
            used = self.look_at_head(control, area)?;
        }
        let room = area.capacity().saturating_sub(used) as usize;
        let octets = &octets[..octets.len().min(room)];
        area.write(tail, octets);
        self.tail.store(tail.wrapping_add(octets.len() as u32), Ordering::Relaxed);
        Ok(octets.len())
    }

    /// How many octets the consumer has still to take; at most the capacity.
    fn look_at_head<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
    ) -> Result<u32, Broken> {
        // Acquire: the consumer has read what we overwrite from now on.
        let head = control.head.0.load(Ordering::Acquire);
        let used = self.tail.load(Ordering::Relaxed).wrapping_sub(head);
        if used > area.capacity() {
            return Err(Broken);
        }
        self.head_seen.store(head, Ordering::Relaxed);
        Ok(used)
    }

    /// Shows the consumer all that was written; whether it sleeps and is to be signalled.
    #[inline]
    #[must_use]
    pub(super) fn publish<W: Word>(&self, control: &Control<W>) -> bool {
        // Release: the octets are there for who sees the position.
        control.tail.0.store(self.tail.load(Ordering::Relaxed), Ordering::Release);
        W::fence();
        control.sleeping.0.load(Ordering::Relaxed) != 0
            && control.sleeping.0.swap(0, Ordering::AcqRel) != 0
    }

    /// Whether there is room now.
    pub(super) fn has_room<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
    ) -> Result<bool, Broken> {
        Ok(self.look_at_head(control, area)? < area.capacity())
    }

    /// Whether there is room. If not, the consumer will signal as `wish` says when there is enough.
    pub(super) fn has_room_or_wish<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
        wish: Wish,
    ) -> Result<bool, Broken> {
        control.wants_room.0.store(wish as u32, Ordering::Relaxed);
        W::fence();
        if self.look_at_head(control, area)? == area.capacity() {
            return Ok(false);
        }
        control.wants_room.0.store(0, Ordering::Relaxed);
        Ok(true)
    }
}

/// The reading side: what only this process knows of it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Consumer {
    head: AtomicU32,
}

impl Consumer {
    /// How many octets are there to take; at most the capacity.
    #[inline]
    pub(super) fn available<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
    ) -> Result<u32, Broken> {
        // Acquire: the octets before this position are there.
        let tail = control.tail.0.load(Ordering::Acquire);
        let filled = tail.wrapping_sub(self.head.load(Ordering::Relaxed));
        if filled <= area.capacity() { Ok(filled) } else { Err(Broken) }
    }

    /// Takes the next octets, of which `into.len()` are available.
    #[inline]
    pub(super) fn take<W: Word>(&self, control: &Control<W>, area: &impl Octets, into: &mut [u8]) {
        let head = self.head.load(Ordering::Relaxed);
        area.read(head, into);
        let head = head.wrapping_add(into.len() as u32);
        self.head.store(head, Ordering::Relaxed);
        // Release: what was read may be overwritten by who sees the position.
        control.head.0.store(head, Ordering::Release);
    }

    /// After taking: whether the producer waits for room, has got enough, and how it is told.
    #[inline]
    #[must_use]
    pub(super) fn room_wish<W: Word>(
        &self,
        control: &Control<W>,
        area: &impl Octets,
    ) -> Option<Wish> {
        W::fence();
        match control.wants_room.0.load(Ordering::Relaxed) {
            0 => None,
            _ => self.grant(control, area),
        }
    }

    #[cold]
    fn grant<W: Word>(&self, control: &Control<W>, area: &impl Octets) -> Option<Wish> {
        // A wake for every few octets would cost more than it moves.
        let filled = self.available(control, area).unwrap_or(0);
        if filled > area.capacity() / 2 {
            return None;
        }
        match control.wants_room.0.swap(0, Ordering::Relaxed) {
            0 => None,
            wish if wish == Wish::Wake as u32 => Some(Wish::Wake),
            // Whatever it is, a doorbell does no harm.
            _ => Some(Wish::Doorbell),
        }
    }

    /// Whether [`Consumer::arm`] holds: the producer has not signalled since.
    #[inline]
    pub(super) fn is_armed<W: Word>(&self, control: &Control<W>) -> bool {
        control.sleeping.0.load(Ordering::Relaxed) == 1
    }

    /// Asks to be signalled when octets come, unless it is asked already; whether it was not. The
    /// caller looks afterwards whether some are there.
    #[inline]
    pub(super) fn arm<W: Word>(&self, control: &Control<W>) -> bool {
        if self.is_armed(control) {
            return false;
        }
        // A swap, and not a store, as the producer swaps, too: each comes after what it found.
        control.sleeping.0.swap(1, Ordering::AcqRel);
        W::fence();
        true
    }

    /// Takes [`Consumer::arm`] back. A signal may be under way nevertheless.
    #[inline]
    pub(super) fn disarm<W: Word>(&self, control: &Control<W>) {
        control.sleeping.0.store(0, Ordering::Relaxed);
    }
}
