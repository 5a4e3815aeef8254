//! Connections that have kept something back to be sent before the loop waits.
//!
//! Messages that follow one another closely leave in one write: a connection keeps them back and
//! is called here when the thread that would add more has nothing more to do.

use crate::flusher::Flush;
use crate::lock::{Ranked, rank};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(super) struct Flushing {
    is_any: AtomicBool,
    /// Held to add and to take, not while sending.
    lists: Ranked<rank::Reactor, Lists>,
}

#[derive(Default)]
struct Lists {
    kept_back: Vec<Arc<dyn Flush>>,
    /// Empty, to be swapped in: nothing is allocated in steady state.
    spare: Vec<Arc<dyn Flush>>,
}

impl Flushing {
    pub(super) fn add(&self, source: Arc<dyn Flush>) {
        self.lists.lock().kept_back.push(source);
        self.is_any.store(true, Ordering::SeqCst);
    }

    pub(super) fn flush(&self) {
        if !self.is_any.load(Ordering::SeqCst) {
            return;
        }
        let mut taken = {
            let mut lists = self.lists.lock();
            self.is_any.store(false, Ordering::SeqCst);
            let spare = std::mem::take(&mut lists.spare);
            std::mem::replace(&mut lists.kept_back, spare)
        };
        for source in taken.drain(..) {
            source.before_waiting();
        }
        self.lists.lock().spare = taken;
    }
}
