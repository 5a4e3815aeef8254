//! What stands between requests and the servants of one POA: open when nothing is in the way.
//!
//! Made by the object adapter for each POA. A call only asks whether the word is 0; the object
//! adapter deals with all other values ([`crate::closed`]).

use crate::record::{self, Upcall};
use crate::{barrier, closed};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// What is told when an upcall of something that is being closed has ended: a POA.
pub trait Owner: Send + Sync {
    /// A thread has left the object at this index, which is being closed (or the gate is).
    fn left(&self, index: u32);
}

/// The gate of one POA.
pub struct Gate {
    bits: AtomicU32,
    number: u32,
    owner: OnceLock<Weak<dyn Owner>>,
    /// Lock "gate".
    slow: Mutex<Slow>,
    /// Signalled when a thread has left while the gate was not open.
    left: Condvar,
}

/// What only the slow ways need.
#[derive(Default)]
struct Slow {
    /// Upcalls that have no place in a record, by their word.
    unplaced: HashMap<u64, u32>,
    /// Threads that wait for upcalls to end.
    waiting: u32,
}

/// The next number; numbers are not used again, so that a record never means another POA.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

impl Gate {
    /// An open gate with a number that no other of this process has; `None` when all 2^32 numbers
    /// were used.
    #[must_use]
    pub fn new() -> Option<Self> {
        barrier::prepare();
        let next = |number: u32| number.checked_add(1);
        let number = NEXT_NUMBER.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        Some(Gate {
            bits: AtomicU32::new(0),
            number,
            owner: OnceLock::new(),
            slow: Mutex::default(),
            left: Condvar::new(),
        })
    }

    /// Has `owner` be told that upcalls have ended. The first call counts.
    pub fn set_owner(&self, owner: Weak<dyn Owner>) {
        let _ = self.owner.set(owner);
    }

    /// Differs from that of every other gate of this process.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The reasons why it is not open; see [`closed`].
    #[inline]
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits.load(Ordering::Acquire)
    }

    /// Sets `bits` and clears them when the result says so; what they were before. When this
    /// returns, every thread that enters later sees them, and those that entered before are found
    /// by [`Gate::count_inside`].
    pub fn change(&self, set: u32, clear: u32) -> u32 {
        let update = |bits: u32| Some((bits & !clear) | set);
        let before = self.bits.fetch_update(Ordering::SeqCst, Ordering::SeqCst, update);
        if set != 0 {
            barrier::heavy();
        }
        before.unwrap_or_else(|unchanged| unchanged)
    }

    /// How many upcalls of this POA are under way in all threads; meaningful after
    /// [`Gate::change`].
    #[must_use]
    pub fn count_inside(&self) -> usize {
        let unplaced: u32 = self.slow().unplaced.values().sum();
        record::count(|upcall| upcall.gate == self.number) + unplaced as usize
    }

    /// How many upcalls of the object at `index` are under way; meaningful after the object was
    /// closed ([`crate::Activation::close`]).
    #[must_use]
    pub fn count_inside_object(&self, index: u32) -> usize {
        let meant = Upcall { gate: self.number, index };
        let unplaced = self.slow().unplaced.get(&meant.to_word()).copied().unwrap_or(0);
        record::count(|upcall| upcall == meant) + unplaced as usize
    }

    /// Waits until no upcall of this POA is under way. From inside one it would wait for itself:
    /// the caller asks [`crate::is_inside_any`] before.
    pub fn wait_until_idle(&self) {
        self.wait_until_idle_unless(&|| false);
    }

    /// As [`Gate::wait_until_idle`], but ends also when `given_up` holds. The thread that
    /// makes it hold calls [`Gate::wake`] afterwards.
    pub fn wait_until_idle_unless(&self, given_up: &dyn Fn() -> bool) {
        let mut slow = self.slow();
        slow.waiting += 1;
        self.change(closed::AWAITED, 0);
        let is_busy = |slow: &Slow| {
            !slow.unplaced.is_empty() || record::count(|upcall| upcall.gate == self.number) > 0
        };
        while !given_up() && is_busy(&slow) {
            slow = self.left.wait(slow).unwrap_or_else(PoisonError::into_inner);
        }
        slow.waiting -= 1;
        if slow.waiting == 0 {
            self.change(0, closed::AWAITED);
        }
    }

    /// Has the threads in [`Gate::wait_until_idle_unless`] look whether they are to give up.
    pub fn wake(&self) {
        drop(self.slow());
        self.left.notify_all();
    }

    /// An upcall has no place in the record of its thread.
    #[cold]
    pub(crate) fn add_unplaced(&self, word: u64) {
        *self.slow().unplaced.entry(word).or_insert(0) += 1;
    }

    #[cold]
    pub(crate) fn remove_unplaced(&self, word: u64) {
        let mut slow = self.slow();
        if let Some(count) = slow.unplaced.get_mut(&word) {
            *count -= 1;
            if *count == 0 {
                slow.unplaced.remove(&word);
            }
        }
    }

    /// An upcall has ended, and the gate or its object is not open.
    #[cold]
    pub(crate) fn note_left(&self, word: u64) {
        // Without it, of two threads that leave at once each might still see the other inside.
        fence(Ordering::SeqCst);
        // Under the lock, so that a thread which is about to wait does not miss it.
        let slow = self.slow();
        self.left.notify_all();
        drop(slow);
        if let Some(owner) = self.owner.get().and_then(Weak::upgrade) {
            owner.left(word as u32);
        }
    }

    fn slow(&self) -> MutexGuard<'_, Slow> {
        self.slow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("number", &self.number)
            .field("bits", &self.bits())
            .finish_non_exhaustive()
    }
}
