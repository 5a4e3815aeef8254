//! How deep upcalls of one thread may be nested in one another.
//!
//! A thread that waits for a reply inside an upcall serves other requests meanwhile, whose upcalls
//! may wait in turn: each takes a piece of the stack. So beyond `nested_upcalls_max` only replies
//! are handled; connections with requests are put aside until an upcall has ended.

use crate::Orb;
use crate::reactor::{Reactor, Token, Turn};
use std::cell::{Cell, RefCell};
use std::sync::Weak;

thread_local! {
    /// Upcalls that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether this thread has put sources aside.
    static HAS_ASIDE: Cell<bool> = const { Cell::new(false) };
    /// Those sources.
    static ASIDE: RefCell<Vec<(Weak<Reactor>, Token)>> = const { RefCell::new(Vec::new()) };
}

/// This thread is in an upcall until the guard is dropped.
pub(crate) fn enter() -> Upcall {
    DEPTH.set(DEPTH.get() + 1);
    Upcall(())
}

pub(crate) struct Upcall(());

impl Drop for Upcall {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if HAS_ASIDE.get() {
            go_on();
        }
    }
}

/// Whether this thread must not begin another upcall.
#[inline]
pub(crate) fn is_too_deep(orb: &Orb) -> bool {
    DEPTH.get() >= orb.settings().nested_upcalls_max
}

/// Puts the source aside until an upcall of this thread has ended.
#[cold]
pub(crate) fn postpone(turn: &Turn<'_>) {
    tracing::debug!("a request waits, as upcalls are nested nested_upcalls_max deep");
    let aside = (turn.reactor().downgrade(), turn.token());
    ASIDE.with_borrow_mut(|sources| sources.push(aside));
    HAS_ASIDE.set(true);
}

/// An upcall has ended.
#[cold]
fn go_on() {
    HAS_ASIDE.set(false);
    let sources = ASIDE.with_borrow_mut(std::mem::take);
    for (reactor, token) in sources {
        if let Some(reactor) = reactor.upgrade() {
            reactor.again(token);
        }
    }
}
