//! Sees to it that nothing that was kept back waits long: one thread an ORB, which looks every
//! millisecond at the connections where something waits, and sleeps while nothing is kept back.
//!
//! It is the last resort: in the usual case the thread that reads a connection flushes it before it
//! waits. So a slow upcall never holds a request back.

use crate::lock::{Ranked, rank};
use crate::lookout::{Duty, Lookout};
use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What was kept back waits for about a tick (two at most).
const DUTY: Duty =
    Duty { thread: "corbie-flusher", tick: Duration::from_millis(1), idle_ticks: 64 };

/// What can be flushed.
pub trait Flush: Send + Sync {
    /// Sends what waited at the last call already, without blocking; whether anything waits.
    fn flush_old(&self) -> bool;

    /// The thread of an event loop is about to wait and was asked to flush this before: sends all
    /// that was kept back, without blocking.
    fn before_waiting(&self) {}
}

type Sources = Ranked<rank::Leaf, Vec<Weak<dyn Flush>>>;

/// The flusher of one ORB. Its thread, started at the first need, ends when this is dropped.
pub struct Flusher {
    sources: Arc<Sources>,
    lookout: Lookout,
}

thread_local! {
    /// Memory of the flusher's thread for the sources of one look.
    static SCRATCH: Cell<Vec<Arc<dyn Flush>>> = const { Cell::new(Vec::new()) };
}

impl Flusher {
    /// A flusher without sources. Its thread calls `after_look` after each look.
    pub fn new(after_look: fn()) -> Self {
        let sources: Arc<Sources> = Arc::default();
        let lookout = Lookout::new(DUTY, {
            let sources = Arc::clone(&sources);
            move || {
                let waits = flush(&sources);
                after_look();
                waits
            }
        });
        Flusher { sources, lookout }
    }

    /// `source` is looked at from now on.
    pub fn add(&self, source: Weak<dyn Flush>) {
        let mut sources = self.sources.lock();
        sources.retain(|source| source.strong_count() > 0);
        sources.push(source);
    }

    /// Something was kept back.
    #[inline]
    pub fn expect(&self) {
        self.lookout.expect();
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.lookout.close();
        self.sources.lock().clear();
    }
}

/// Looks at all sources, with the lock given back; whether anything waits. Closed connections are
/// not kept alive.
fn flush(sources: &Sources) -> bool {
    let mut scratch = SCRATCH.take();
    scratch.extend(sources.lock().iter().filter_map(Weak::upgrade));
    let mut waits = false;
    for source in scratch.drain(..) {
        waits |= source.flush_old();
    }
    SCRATCH.set(scratch);
    waits
}
