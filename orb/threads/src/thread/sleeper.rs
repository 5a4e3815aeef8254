//! Where a thread sleeps while it follows another one that leads an event loop: a condition
//! variable of its own, so that each is woken by name.

use crate::lock::{Ranked, Signal, rank};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Where one thread sleeps while it follows. Not `std::thread::park`, whose token may be meant for
/// the application's own use.
#[derive(Debug, Default)]
pub struct Sleeper {
    is_woken: Ranked<rank::Leaf, bool>,
    woken: Signal,
    /// Whether the thread leads, so that it may sleep in the system instead.
    is_leading: AtomicBool,
}

thread_local! {
    static SLEEPER: Arc<Sleeper> = Arc::default();
}

impl Sleeper {
    /// That of this thread.
    pub fn current() -> Arc<Sleeper> {
        SLEEPER.with(Arc::clone)
    }

    /// Wakes the thread if it follows; whether it leads, and is to be woken by the loop.
    pub(crate) fn wake(&self) -> bool {
        *self.is_woken.lock() = true;
        self.woken.wake_one();
        self.is_leading.load(Ordering::SeqCst)
    }

    /// Whether this is the sleeper of the calling thread.
    pub(crate) fn is_mine(&self) -> bool {
        SLEEPER.with(|mine| std::ptr::eq(Arc::as_ptr(mine), self))
    }

    /// Sleeps until the thread is woken or `deadline` has passed.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) {
        let idle = |is_woken: &mut bool| !*is_woken;
        *self.woken.wait_while_until(self.is_woken.lock(), deadline, idle) = false;
    }
}

/// Whether this thread leads a loop.
pub(crate) fn leads() -> bool {
    SLEEPER.with(|sleeper| sleeper.is_leading.load(Ordering::SeqCst))
}

/// This thread leads a loop from now on, or does not any more.
pub(crate) fn set_leads(leads: bool) {
    SLEEPER.with(|sleeper| sleeper.is_leading.store(leads, Ordering::SeqCst));
}

/// Whether this thread was woken since it was asked last.
pub(crate) fn take_wake() -> bool {
    SLEEPER.with(|sleeper| std::mem::take(&mut *sleeper.is_woken.lock()))
}
