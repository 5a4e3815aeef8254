//! Who has kept something back to be sent before the loop waits.
//!
//! Messages that follow one another closely leave in one write: a connection keeps them back and
//! is called here when the thread that would add more has nothing more to do.

use super::{EventHandler, lock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Lock "flushing": held to add and to take, not while sending.
#[derive(Default)]
pub(super) struct Flushing {
    is_any: AtomicBool,
    lists: Mutex<Lists>,
}

#[derive(Default)]
struct Lists {
    kept_back: Vec<Arc<dyn EventHandler>>,
    /// Empty, to be swapped in: nothing is allocated in steady state.
    spare: Vec<Arc<dyn EventHandler>>,
}

impl Flushing {
    pub(super) fn add(&self, handler: Arc<dyn EventHandler>) {
        lock(&self.lists).kept_back.push(handler);
        self.is_any.store(true, Ordering::SeqCst);
    }

    pub(super) fn flush(&self) {
        if !self.is_any.load(Ordering::SeqCst) {
            return;
        }
        let mut taken = {
            let mut lists = lock(&self.lists);
            self.is_any.store(false, Ordering::SeqCst);
            let spare = std::mem::take(&mut lists.spare);
            std::mem::replace(&mut lists.kept_back, spare)
        };
        for handler in taken.drain(..) {
            handler.before_waiting();
        }
        lock(&self.lists).spare = taken;
    }
}
