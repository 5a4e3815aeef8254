//! Sees to it that nothing that was kept back waits long: one thread an ORB, which looks every
//! millisecond at the connections where something waits, and sleeps while nothing is kept back.
//!
//! It is the last resort: in the usual case the thread that reads a connection flushes it before it
//! waits. So a slow upcall never holds a request back.

mod awake;

use crate::lock::{Guard, Ranked, Signal, rank};
use awake::Awake;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The longest time that something kept back waits, about (twice this at most).
const TICK: Duration = Duration::from_millis(1);
/// After so many ticks without anything kept back the thread sleeps.
const IDLE_TICKS: u32 = 64;

/// What can be flushed.
pub trait Flush: Send + Sync {
    /// Sends what waited at the last call already, without blocking; whether anything waits.
    fn flush_old(&self) -> bool;

    /// The thread of an event loop is about to wait and was asked to flush this before: sends all
    /// that was kept back, without blocking.
    fn before_waiting(&self) {}
}

/// The flusher of one ORB. Its thread, started at the first need, ends when this is dropped.
pub struct Flusher(Arc<Shared>);

struct Shared {
    /// Whether the thread looks every tick; the usual deferral reads only this.
    awake: Awake<AtomicBool>,
    state: Ranked<rank::Leaf, State>,
    woken: Signal,
    after_look: fn(),
}

#[derive(Default)]
struct State {
    has_thread: bool,
    is_closed: bool,
    sources: Vec<Weak<dyn Flush>>,
}

impl Flusher {
    /// A flusher without sources. Its thread calls `after_look` after each look.
    pub fn new(after_look: fn()) -> Self {
        let (awake, state, woken) = (Awake::default(), Ranked::default(), Signal::new());
        Flusher(Arc::new(Shared { awake, state, woken, after_look }))
    }

    /// `source` is looked at from now on.
    pub fn add(&self, source: Weak<dyn Flush>) {
        let mut state = self.0.state.lock();
        state.sources.retain(|source| source.strong_count() > 0);
        state.sources.push(source);
    }

    /// Something was kept back.
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
            let thread = std::thread::Builder::new().name("corbie-flusher".to_owned());
            let shared = Arc::clone(&self.0);
            match thread.spawn(move || shared.run()) {
                Ok(_) => state.has_thread = true,
                Err(error) => {
                    tracing::warn!(%error, "no thread to flush with: batches wait until full");
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
        let mut state = self.0.state.lock();
        state.is_closed = true;
        state.sources.clear();
        drop(state);
        self.0.woken.wake_all();
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn run(&self) {
        let mut idle_ticks = 0;
        let mut sources = Vec::new();
        loop {
            let state = self.woken.wait_for(self.state.lock(), TICK);
            if state.is_closed {
                return;
            }
            let waits = flush(state, &mut sources);
            (self.after_look)();
            idle_ticks = if waits { 0 } else { idle_ticks + 1 };
            if idle_ticks >= IDLE_TICKS {
                idle_ticks = 0;
                self.sleep(&mut sources);
            }
        }
    }

    /// Sleeps until something is kept back, or the flusher is closed.
    fn sleep(&self, sources: &mut Vec<Arc<dyn Flush>>) {
        // The look is at all sources that there are now, also those that came since the last tick.
        if self.awake.end(|| flush(self.state.lock(), sources)) {
            let idle = |state: &mut State| !state.is_closed && !self.awake.holds();
            drop(self.woken.wait_while(self.state.lock(), idle));
        }
    }
}

/// Looks at all sources, with the lock given back; whether anything waits. `scratch` is empty
/// before and afterwards: closed connections are not kept alive.
fn flush(state: Guard<'_, rank::Leaf, State>, scratch: &mut Vec<Arc<dyn Flush>>) -> bool {
    scratch.extend(state.sources.iter().filter_map(Weak::upgrade));
    drop(state);
    let mut waits = false;
    for source in scratch.drain(..) {
        waits |= source.flush_old();
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// Keeps something back until it was looked at so often.
    struct Keeps(std::sync::atomic::AtomicU32);

    impl Flush for Keeps {
        fn flush_old(&self) -> bool {
            let less = |left: u32| left.checked_sub(1);
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
        }
    }

    fn keeps(looks: u32) -> (Arc<Keeps>, Weak<Keeps>) {
        let source = Arc::new(Keeps(looks.into()));
        (Arc::clone(&source), Arc::downgrade(&source))
    }

    #[test]
    fn what_was_added_while_it_went_to_sleep_keeps_it_awake() {
        let flusher = Flusher::new(|| {});
        let (_source, weak) = keeps(1);
        flusher.add(weak);
        assert!(flusher.0.awake.begin());
        // tidy: sleep: it does not: its last look was before there was a source
        flusher.0.sleep(&mut Vec::new());
        assert!(flusher.0.awake.holds());
    }

    #[test]
    fn it_looks_until_nothing_waits_then_sleeps_and_ends_when_dropped() {
        let flusher = Flusher::new(|| {});
        let (source, weak) = keeps(3);
        flusher.add(weak);
        for looks in [3, 2] {
            source.0.store(looks, Ordering::SeqCst);
            flusher.expect();
            while source.0.load(Ordering::SeqCst) > 0 || flusher.0.awake.holds() {
                std::thread::yield_now();
            }
        }
        let shared = Arc::downgrade(&flusher.0);
        drop(flusher);
        while shared.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
