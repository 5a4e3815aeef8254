//! What this thread is inside of: serving, upcalls with requests, upcalls with replies.
//!
//! A thread that waits for a reply inside an upcall serves other requests meanwhile, whose upcalls
//! may wait in turn: each takes a piece of the stack. So beyond a limit only replies are handled;
//! sources with requests are put aside until an upcall has ended.

use super::Registration;
use crate::lock::assert_none_held;
use std::cell::{Cell, RefCell};

thread_local! {
    /// Whether this thread serves requests now, or was started to.
    static SERVES: Cell<bool> = const { Cell::new(false) };
    /// Upcalls with requests that this thread is in.
    static UPCALLS: Cell<u32> = const { Cell::new(0) };
    /// Upcalls with replies that this thread is in.
    static DELIVERIES: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread has put sources aside.
    static HAS_ASIDE: Cell<bool> = const { Cell::new(false) };
    /// Those sources.
    static ASIDE: RefCell<Vec<Registration>> = const { RefCell::new(Vec::new()) };
}

/// This thread serves requests from now on.
pub fn begin_serving() {
    SERVES.set(true);
}

/// This thread serves a request until the guard is dropped, and then what it served before.
///
/// # Panics
/// In debug builds, when the thread holds a lock: upcalls follow.
#[cfg_attr(debug_assertions, track_caller)]
pub fn serve_for_a_while() -> Serving {
    assert_none_held("an upcall with a request");
    Serving { before: SERVES.replace(true) }
}

/// Whether a call by this thread is made from inside a servant. Such a call must not wait for a
/// connection in use: the call that uses it may be waiting for this one.
#[inline]
pub fn is_serving() -> bool {
    SERVES.get()
}

/// See [`serve_for_a_while`].
#[derive(Debug)]
#[must_use]
pub struct Serving {
    before: bool,
}

impl Drop for Serving {
    #[inline]
    fn drop(&mut self) {
        SERVES.set(self.before);
    }
}

/// This thread is in an upcall with a request until the guard is dropped.
#[inline]
pub fn enter_upcall() -> Upcall {
    UPCALLS.set(UPCALLS.get() + 1);
    Upcall(())
}

/// See [`enter_upcall`].
#[derive(Debug)]
#[must_use]
pub struct Upcall(());

impl Drop for Upcall {
    #[inline]
    fn drop(&mut self) {
        UPCALLS.set(UPCALLS.get() - 1);
        if HAS_ASIDE.get() {
            go_on();
        }
    }
}

/// In how many upcalls with requests this thread is.
#[inline]
pub fn upcalls() -> u32 {
    UPCALLS.get()
}

/// Puts `source` aside: it is called again when an upcall of this thread has ended.
#[cold]
pub fn put_aside(source: Registration) {
    ASIDE.with_borrow_mut(|sources| sources.push(source));
    HAS_ASIDE.set(true);
}

/// An upcall has ended.
#[cold]
fn go_on() {
    HAS_ASIDE.set(false);
    for source in ASIDE.take() {
        source.again();
    }
}

/// This thread is in an upcall with a reply until the guard is dropped.
///
/// # Panics
/// In debug builds, when the thread holds a lock.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn enter_delivery() -> Delivery {
    assert_none_held("an upcall with a reply");
    DELIVERIES.set(DELIVERIES.get() + 1);
    Delivery(())
}

/// See [`enter_delivery`].
#[derive(Debug)]
#[must_use]
pub struct Delivery(());

impl Drop for Delivery {
    #[inline]
    fn drop(&mut self) {
        DELIVERIES.set(DELIVERIES.get() - 1);
    }
}

/// In how many upcalls with replies this thread is.
#[inline]
pub fn deliveries() -> u32 {
    DELIVERIES.get()
}

/// Whether this thread is in an upcall with a reply.
#[inline]
pub fn delivers() -> bool {
    DELIVERIES.get() > 0
}
