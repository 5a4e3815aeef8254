//! What threads leave word of with a connection: one bit each, in one word, so that a thread that
//! leaves word and one that looks for it afterwards agree on the order.

use std::sync::atomic::{AtomicU16, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Notes(AtomicU16);

/// What is noted.
#[derive(Clone, Copy, Debug)]
#[repr(u16)]
pub(super) enum Note {
    /// The thread that reads is awake: it flushes before it waits.
    Awake = 1,
    /// An event loop found the right to read taken: it is to be called when that is given back.
    Missed = 1 << 1,
    /// The peer has been told the code sets.
    Announced = 1 << 2,
    /// A call is about to use the connection alone.
    Reserved = 1 << 3,
    /// The flusher looks at it.
    Watched = 1 << 4,
    /// Threads of its own read it and may wait for the peer; otherwise event loops do.
    OwnThreads = 1 << 5,
    /// More whole requests are in the reader: the thread that serves the last flushes.
    Batching = 1 << 6,
    /// Requests are not read until the peer has taken answers.
    Paused = 1 << 7,
    /// At an end that asks: a thread has the right to read.
    Read = 1 << 8,
    /// The user was told that the peer has to take something in time.
    Timed = 1 << 9,
    /// Where the end listens that opened it, the other end has been told.
    Offered = 1 << 10,
}

impl Notes {
    #[inline]
    pub(super) fn has(&self, note: Note) -> bool {
        self.0.load(Ordering::SeqCst) & note as u16 != 0
    }

    /// Notes it; whether it was not noted before.
    #[inline]
    pub(super) fn set(&self, note: Note) -> bool {
        self.0.fetch_or(note as u16, Ordering::SeqCst) & note as u16 == 0
    }

    /// Takes a note away; whether it was there.
    #[inline]
    pub(super) fn take(&self, note: Note) -> bool {
        self.0.fetch_and(!(note as u16), Ordering::SeqCst) & note as u16 != 0
    }
}
