//! The state of a sender in one atomic word, and its transitions.
//!
//! ```text
//! Idle              put now; put later   Sending (`begin`: no lock); Kept
//! Kept              put now, full, due   Sending (`resume`)
//! Sending, Blocked  put                  appended; Sending gets the bit MORE
//! Sending           all taken; peer full Idle (`end`: no lock, fails with MORE); Blocked
//! Blocked           room, tick, put now  Sending (`resume`)
//! any               last word; broken    drains, then Closed; Closed
//! ```
//! A message is queued before MORE is set, and the thread that sends looks at the queue before it
//! tries to leave again: so no message is stranded. All but `begin` and `end` hold the lock.
//! Generic over the word: `loom` tries all interleavings of the whole sender in the tests.

use std::sync::atomic::{AtomicU8, Ordering};

/// What a sender does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// Nothing is queued.
    Idle,
    /// Messages are kept for a batch, by a policy, or until the next flush.
    Kept,
    /// One thread sends, without the lock.
    Sending,
    /// Messages are queued, and the peer took nothing when a thread tried last.
    Blocked,
    /// Nothing is sent any more.
    Closed,
}

/// With Sending: the queue has a message that the thread which sends has not seen.
const MORE: u8 = 1 << 3;

/// An atomic word: of the standard library, or of loom. Every access is sequentially consistent:
/// a thread that keeps a message back looks afterwards whether the thread that reads is awake.
pub trait Word {
    /// A word with this value.
    fn new(value: u8) -> Self;
    /// The value.
    fn load(&self) -> u8;
    /// Sets the value.
    fn store(&self, value: u8);
    /// Sets the value if it is `current`; whether it was.
    fn exchange(&self, current: u8, value: u8) -> bool;
}

impl Word for AtomicU8 {
    fn new(value: u8) -> Self {
        AtomicU8::new(value)
    }

    #[inline]
    fn load(&self) -> u8 {
        AtomicU8::load(self, Ordering::SeqCst)
    }

    #[inline]
    fn store(&self, value: u8) {
        AtomicU8::store(self, value, Ordering::SeqCst);
    }

    #[inline]
    fn exchange(&self, current: u8, value: u8) -> bool {
        self.compare_exchange(current, value, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct SendWord<W>(W);

impl<W: Word> SendWord<W> {
    pub(super) fn new() -> Self {
        SendWord(W::new(State::Idle as u8))
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        match self.0.load() & !MORE {
            0 => State::Idle,
            1 => State::Kept,
            2 => State::Sending,
            3 => State::Blocked,
            _ => State::Closed,
        }
    }

    /// Idle to Sending: whether this thread sends now.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        self.0.exchange(State::Idle as u8, State::Sending as u8)
    }

    /// Sending to Idle, for the thread that sends; not while there is more, nor when it was closed.
    #[inline]
    pub(super) fn end(&self) -> bool {
        self.0.exchange(State::Sending as u8, State::Idle as u8)
    }

    /// A message was queued, and the lock is held: the state now. Only Idle to Sending and back
    /// can come in between, as they take no lock.
    pub(super) fn appended(&self) -> State {
        loop {
            let state = self.state();
            let done = match state {
                State::Idle => self.0.exchange(State::Idle as u8, State::Kept as u8),
                State::Sending => {
                    let more = State::Sending as u8 | MORE;
                    self.0.load() == more || self.0.exchange(State::Sending as u8, more)
                }
                _ => return state,
            };
            if done {
                return if state == State::Idle { State::Kept } else { state };
            }
        }
    }

    /// Kept or Blocked to Sending, with the lock held: whether this thread sends now.
    pub(super) fn resume(&self) -> bool {
        let waits = matches!(self.state(), State::Kept | State::Blocked);
        if waits {
            self.set(State::Sending);
        }
        waits
    }

    /// With the lock held: the thread that sends has seen the whole queue and goes on, ends, or is
    /// blocked; or any thread closes.
    pub(super) fn set(&self, state: State) {
        self.0.store(state as u8);
    }
}
