//! Sees to it that nothing that was kept back waits long: one thread an ORB, which looks every
//! millisecond at the connections where something waits, and sleeps while nothing is kept back.
//!
//! It is the last resort: in the usual case the thread that reads a connection flushes it before it
//! waits. So a slow upcall never holds a request back.

use crate::Orb;
use crate::orb::OrbInner;
use corbie_cdr::buffers;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The longest time that something kept back waits, about (twice this at most).
const TICK: Duration = Duration::from_millis(1);
/// After so many ticks without anything kept back the thread sleeps.
const IDLE_TICKS: u32 = 64;

/// What can be flushed.
pub(crate) trait Flush: Send + Sync {
    /// Sends what waited at the last call already, without blocking; whether anything waits.
    fn flush_old(&self) -> bool;
}

/// The flusher of one ORB.
#[derive(Default)]
pub(crate) struct Flusher {
    /// Whether the thread looks every tick; the usual deferral reads only this.
    is_awake: AtomicBool,
    /// Lock "flusher".
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    has_thread: bool,
    is_closed: bool,
    sources: Vec<Weak<dyn Flush>>,
}

impl Flusher {
    /// `source` is looked at from now on.
    pub(crate) fn add(&self, source: Weak<dyn Flush>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sources.retain(|source| source.strong_count() > 0);
        state.sources.push(source);
    }

    /// Something was kept back.
    #[inline]
    pub(crate) fn expect(&self, orb: &Orb) {
        if !self.is_awake.load(Ordering::SeqCst) {
            self.wake(orb);
        }
    }

    #[cold]
    fn wake(&self, orb: &Orb) {
        if self.is_awake.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.has_thread && !state.is_closed {
            state.has_thread = true;
            let weak = orb.downgrade();
            let thread = std::thread::Builder::new().name("corbie-flusher".to_owned());
            let flusher = Arc::clone(orb.flusher());
            if let Err(error) = thread.spawn(move || flusher.run(&weak)) {
                tracing::warn!(%error, "no thread to flush with: batches wait until they are full");
                state.has_thread = false;
                // So that the next who expects something tries again.
                self.is_awake.store(false, Ordering::SeqCst);
            }
        }
        drop(state);
        self.woken.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        state.sources.clear();
        drop(state);
        self.woken.notify_all();
    }

    fn run(&self, orb: &Weak<OrbInner>) {
        let mut idle_ticks = 0;
        let mut sources = Vec::new();
        loop {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let (state, _) =
                self.woken.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            if state.is_closed || orb.strong_count() == 0 {
                return;
            }
            sources.extend(state.sources.iter().filter_map(Weak::upgrade));
            drop(state);
            let mut waits = false;
            for source in &sources {
                waits |= source.flush_old();
            }
            // What is sent was written by other threads, and they will need the memory again.
            buffers::leave_to_others();
            idle_ticks = if waits { 0 } else { idle_ticks + 1 };
            if idle_ticks >= IDLE_TICKS {
                idle_ticks = 0;
                self.sleep(orb, &mut sources);
            }
            sources.clear();
        }
    }

    /// Sleeps until something is kept back.
    fn sleep(&self, orb: &Weak<OrbInner>, sources: &mut Vec<Arc<dyn Flush>>) {
        self.is_awake.store(false, Ordering::SeqCst);
        // Whatever was kept back before this store is seen by the look after it, also where nobody
        // looked so far.
        sources.clear();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sources.extend(state.sources.iter().filter_map(Weak::upgrade));
        drop(state);
        if sources.iter().fold(false, |waits, source| waits | source.flush_old()) {
            self.is_awake.store(true, Ordering::SeqCst);
            return;
        }
        // Connections that were closed are not kept meanwhile.
        sources.clear();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Now and then it looks whether the ORB is still there.
        while !state.is_closed && !self.is_awake.load(Ordering::SeqCst) && orb.strong_count() > 0 {
            let waited = self.woken.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Waits;

    impl Flush for Waits {
        fn flush_old(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_was_added_while_it_went_to_sleep_keeps_it_awake() {
        let (flusher, source) = (Flusher::default(), Arc::new(Waits));
        flusher.is_awake.store(true, Ordering::SeqCst);
        let weak: Weak<Waits> = Arc::downgrade(&source);
        flusher.add(weak);
        // tidy: sleep: it does not: its last look was before there was a source
        flusher.sleep(&Weak::new(), &mut Vec::new());
        assert!(flusher.is_awake.load(Ordering::SeqCst));
    }
}
