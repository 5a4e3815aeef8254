//! What a sender is made of: a word and a lock of the standard library, or of loom in the tests.
//! Both run the same code.

use super::queue::SendQueue;
use super::word::Word;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::ops::DerefMut;
use std::sync::atomic::AtomicU8;
use std::time::Instant;

/// See the module.
pub trait Means {
    /// The state.
    type Word: Word;
    /// The queue, under its lock.
    type Lock: QueueLock;
}

/// The lock of the queue, rank 60, with a signal for threads that wait for a change.
pub trait QueueLock {
    /// The queue, locked.
    type Guard<'l>: DerefMut<Target = SendQueue>
    where
        Self: 'l;

    /// The lock of `queue`.
    fn new(queue: SendQueue) -> Self;
    /// Waits for the lock.
    fn lock(&self) -> Self::Guard<'_>;
    /// Gives the lock back until another thread signals a change, `until` at most.
    fn wait<'l>(&'l self, guard: Self::Guard<'l>, until: Option<Instant>) -> Self::Guard<'l>;
    /// Wakes the threads that wait.
    fn signal(&self);
}

/// Of the standard library.
#[derive(Debug)]
pub struct Threads;

impl Means for Threads {
    type Word = AtomicU8;
    type Lock = RankedLock;
}

/// See [`Threads`].
#[derive(Debug)]
pub struct RankedLock {
    queue: Ranked<rank::Sender, SendQueue>,
    changed: Signal,
}

impl QueueLock for RankedLock {
    type Guard<'l> = Guard<'l, rank::Sender, SendQueue>;

    fn new(queue: SendQueue) -> Self {
        RankedLock { queue: Ranked::new(queue), changed: Signal::new() }
    }

    fn lock(&self) -> Self::Guard<'_> {
        self.queue.lock()
    }

    fn wait<'l>(&'l self, guard: Self::Guard<'l>, until: Option<Instant>) -> Self::Guard<'l> {
        match until {
            None => self.changed.wait(guard),
            Some(until) => {
                self.changed.wait_for(guard, until.saturating_duration_since(Instant::now()))
            }
        }
    }

    fn signal(&self) {
        self.changed.wake_all();
    }
}
