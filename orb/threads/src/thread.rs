//! The record of this thread: the event loop that it runs, how deep its upcalls are nested, and
//! therefore what it may do when there is no room.
//!
//! The record is not generic: it knows the loop as a `dyn Loop`. One function, [`patience`], says
//! whether the thread may wait.

mod nesting;
mod patience;
mod sleeper;

pub use nesting::{Delivery, Serving, Upcall};
pub use nesting::{begin_serving, delivers, enter_delivery, enter_upcall, is_serving};
pub use nesting::{deliveries, put_aside, serve_for_a_while, upcalls};
pub use patience::{Patience, Wish, patience};
pub use sleeper::Sleeper;
pub(crate) use sleeper::{leads, set_leads, take_wake};

use crate::flusher::Flush;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Names a source of an event loop; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(pub(crate) u64);

/// Where something is a source.
#[derive(Clone)]
pub struct Registration {
    reactor: Weak<dyn Loop>,
    source: SourceId,
}

/// An event loop, whatever its context.
pub trait Loop: Send + Sync {
    /// As `Reactor::run_until`, with the context of the loop itself; `false` at once when that is
    /// gone.
    fn run_here(&self, done: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool;

    /// As `Reactor::unblock`.
    fn unblock(&self, sleeper: &Sleeper);

    /// As `Reactor::again`.
    fn again(&self, source: SourceId);

    /// As `Reactor::remove`.
    fn remove(&self, source: SourceId);

    /// As `Reactor::is_run_by_few`.
    fn is_run_by_few(&self) -> bool;

    /// As `Reactor::flush_before_waiting`.
    fn flush_before_waiting(&self, source: Arc<dyn Flush>);
}

impl Registration {
    pub(crate) fn new(reactor: Weak<dyn Loop>, source: SourceId) -> Self {
        Registration { reactor, source }
    }

    /// Has the source called although no event came.
    pub fn again(&self) {
        if let Some(reactor) = self.reactor.upgrade() {
            reactor.again(self.source);
        }
    }

    /// The loop forgets the source.
    pub fn remove(&self) {
        if let Some(reactor) = self.reactor.upgrade() {
            reactor.remove(self.source);
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(&self.source).finish()
    }
}

thread_local! {
    /// The loop that this thread runs, if any; the innermost.
    static RUNNING: RefCell<Option<Weak<dyn Loop>>> = const { RefCell::new(None) };
}

/// This thread runs `inner` from now on; what it ran before.
pub(crate) fn replace_loop(inner: Option<Weak<dyn Loop>>) -> Option<Weak<dyn Loop>> {
    RUNNING.replace(inner)
}

/// Whether the innermost loop that this thread runs is the one at this address.
pub(crate) fn is_current_loop(address: *const ()) -> bool {
    let is_it = |inner: &Weak<dyn Loop>| std::ptr::addr_eq(inner.as_ptr(), address);
    RUNNING.with_borrow(|running| running.as_ref().is_some_and(is_it))
}

/// The loop that this thread is inside of: a call made by this thread is made by a handler, and
/// while it waits nothing else of the loop is done unless it runs it.
pub fn current_loop() -> Option<Arc<dyn Loop>> {
    RUNNING.with_borrow(|running| running.as_ref()?.upgrade())
}

/// Whether this thread runs a loop: it is inside a handler.
#[inline]
pub fn runs_loop() -> bool {
    RUNNING.with_borrow(|running| running.as_ref().is_some_and(|inner| inner.strong_count() > 0))
}

/// The loop that this thread has to run while it waits, since no other thread does: it serves
/// requests in it, or delivers replies to an application that lends no other thread.
pub fn loop_to_run() -> Option<Arc<dyn Loop>> {
    current_loop().filter(|inner| inner.is_run_by_few())
}
