//! A thread that looks at something every tick, and sleeps while there is nothing to look at.
//!
//! The threads that make something to look at read one word to see whether the lookout is awake;
//! only the first one after a quiet time wakes it.

mod awake;

use crate::lock::{Ranked, Signal, rank};
pub(crate) use awake::Awake;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One lookout. Its thread, started at the first need, ends when this is dropped.
pub struct Lookout(Arc<Shared>);

struct Shared {
    duty: Duty,
    /// Whether the thread looks every tick.
    awake: Awake<AtomicBool>,
    state: Ranked<rank::Leaf, Threading>,
    woken: Signal,
    look: Box<dyn Fn() -> bool + Send + Sync>,
}

/// How a lookout looks.
#[derive(Clone, Copy, Debug)]
pub struct Duty {
    /// The name of its thread.
    pub thread: &'static str,
    /// The time between two looks.
    pub tick: Duration,
    /// After so many looks in a row that found nothing it sleeps.
    pub idle_ticks: u32,
}

#[derive(Default)]
struct Threading {
    has_thread: bool,
    is_closed: bool,
}

impl Lookout {
    /// A lookout whose thread calls `look`, which says whether there is something to look at again.
    pub fn new(duty: Duty, look: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let (awake, state, woken) = (Awake::default(), Ranked::default(), Signal::new());
        Lookout(Arc::new(Shared { duty, awake, state, woken, look: Box::new(look) }))
    }

    /// There is something to look at.
    #[inline]
    pub fn expect(&self) {
        if !self.0.awake.holds() {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if !self.0.awake.begin() {
            return;
        }
        let mut state = self.0.state.lock();
        if !state.has_thread && !state.is_closed {
            let name = self.0.duty.thread;
            let shared = Arc::clone(&self.0);
            match std::thread::Builder::new().name(name.to_owned()).spawn(move || shared.run()) {
                Ok(_) => state.has_thread = true,
                Err(error) => {
                    tracing::warn!(%error, name, "no thread to be had: what it does waits");
                    // The next thread that expects something tries again.
                    self.0.awake.end_at_once();
                }
            }
        }
        drop(state);
        self.0.woken.wake_all();
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.0.state.lock().is_closed = true;
        self.0.woken.wake_all();
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn run(&self) {
        let mut idle_ticks = 0;
        loop {
            let state = self.woken.wait_for(self.state.lock(), self.duty.tick);
            if state.is_closed {
                return;
            }
            drop(state);
            idle_ticks = if (self.look)() { 0 } else { idle_ticks + 1 };
            if idle_ticks >= self.duty.idle_ticks {
                idle_ticks = 0;
                self.sleep();
            }
        }
    }

    /// Sleeps until something is expected, or the lookout is closed.
    fn sleep(&self) {
        // This look is at all that there is now, also what came since the last tick.
        if self.awake.end(|| (self.look)()) {
            let idle = |state: &mut Threading| !state.is_closed && !self.awake.holds();
            drop(self.woken.wait_while(self.state.lock(), idle));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const DUTY: Duty = Duty { thread: "lookout", tick: Duration::from_millis(1), idle_ticks: 3 };

    /// A lookout that finds something so many times.
    fn finds(times: u32) -> (Arc<AtomicU32>, Lookout) {
        let left = Arc::new(AtomicU32::new(times));
        let lookout = Lookout::new(DUTY, {
            let left = Arc::clone(&left);
            move || {
                let less = |left: u32| left.checked_sub(1);
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
            }
        });
        (left, lookout)
    }

    #[test]
    fn what_was_added_while_it_went_to_sleep_keeps_it_awake() {
        let (_left, lookout) = finds(1);
        assert!(lookout.0.awake.begin());
        // tidy: sleep: it does not: its last look was before there was something
        lookout.0.sleep();
        assert!(lookout.0.awake.holds());
    }

    #[test]
    fn it_looks_until_nothing_is_left_then_sleeps_and_ends_when_dropped() {
        let (left, lookout) = finds(0);
        for looks in [3, 2] {
            left.store(looks, Ordering::SeqCst);
            lookout.expect();
            while left.load(Ordering::SeqCst) > 0 || lookout.0.awake.holds() {
                std::thread::yield_now();
            }
        }
        let shared = Arc::downgrade(&lookout.0);
        drop(lookout);
        while shared.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
