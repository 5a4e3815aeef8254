//! Condition variables for ranked locks: a thread gives its lock back and sleeps until another one
//! wakes it.

use super::{Guard, Rank};
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

/// Threads sleep here until another one wakes them. A thread that sleeps holds no other lock, which
/// debug builds check.
#[derive(Debug, Default)]
pub struct Signal(Condvar);

impl Signal {
    /// No thread sleeps.
    pub const fn new() -> Self {
        Signal(Condvar::new())
    }

    /// Wakes one thread.
    pub fn wake_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads.
    pub fn wake_all(&self) {
        self.0.notify_all();
    }

    /// Gives the lock back, sleeps until woken, and takes the lock again. May return without cause.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait<'l, R: Rank, T>(&self, guard: Guard<'l, R, T>) -> Guard<'l, R, T> {
        let Guard { inner, held } = guard;
        held.assert_alone();
        Guard { inner: self.0.wait(inner).unwrap_or_else(PoisonError::into_inner), held }
    }

    /// As [`Signal::wait`], for `patience` at most.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_for<'l, R: Rank, T>(
        &self,
        guard: Guard<'l, R, T>,
        patience: Duration,
    ) -> Guard<'l, R, T> {
        let Guard { inner, held } = guard;
        held.assert_alone();
        let waited = self.0.wait_timeout(inner, patience);
        Guard { inner: waited.unwrap_or_else(PoisonError::into_inner).0, held }
    }

    /// Sleeps as long as `condition` holds.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_while<'l, R: Rank, T>(
        &self,
        mut guard: Guard<'l, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Guard<'l, R, T> {
        while condition(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Sleeps as long as `condition` holds, until `deadline` at most (`None`: for ever); the
    /// condition may hold still afterwards.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn wait_while_until<'l, R: Rank, T>(
        &self,
        mut guard: Guard<'l, R, T>,
        deadline: Option<Instant>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Guard<'l, R, T> {
        while condition(&mut guard) {
            let Some(deadline) = deadline else {
                guard = self.wait(guard);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            guard = self.wait_for(guard, left);
        }
        guard
    }
}
