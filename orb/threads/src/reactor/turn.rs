//! One handling of one source.
//!
//! A turn holds the source, and the lead of the loop, until it ends or is released. A handler
//! releases its turn before an upcall: other threads, or the same one in a loop nested inside the
//! upcall, then handle what comes next from this source and from all others. What must not be
//! overtaken keeps the source, until the upcall ends or waits for a call of its own.

use super::entry::{Bits, Entry};
use super::{Next, Reactor};
use crate::thread::{Registration, put_aside};
use std::cell::RefCell;
use std::sync::Arc;

/// One handling of a source.
pub struct Turn<'t, C: 'static> {
    reactor: &'t Reactor<C>,
    entry: &'t Arc<Entry<C>>,
    number: u64,
    came: Bits,
}

impl<C: 'static> Turn<'_, C> {
    /// Others may handle this source from now on; to be called before an upcall, once everything
    /// that the upcall needs was taken out of the source. `more`: input is left, for which no event
    /// will come. After this the handler's [`Next::Wait`] and [`Next::Again`] mean nothing.
    pub fn release(&mut self, more: bool) {
        self.reactor.give_back(self.entry, self.number, more);
        self.reactor.give_lead_away();
    }

    /// Other threads may lead from now on, but none handles this source until the guard is dropped
    /// (or [`before_waiting`] is called by this thread): for an upcall that must not be overtaken,
    /// as that of a oneway. `more` as in [`Turn::release`].
    pub fn hold(&mut self, more: bool) -> HeldHere {
        let outer = HELD.replace(Some(self.detach(more)));
        self.reactor.give_lead_away();
        HeldHere { outer }
    }

    /// Takes the source along to another thread, which gives it back. The handler returns
    /// [`Next::Detached`] then.
    pub fn detach(&mut self, more: bool) -> HeldTurn {
        HeldTurn { entry: Arc::clone(self.entry) as _, number: self.number, more }
    }

    /// Puts the source aside until an upcall of this thread has ended.
    #[cold]
    pub fn postpone(&self) {
        put_aside(self.registration());
    }

    /// Whether the peer has closed or the link broke: a receive that does not fill the space has
    /// not taken all there is, as the end is still to come.
    pub fn has_end(&self) -> bool {
        self.came.has_end()
    }

    /// Where the source is registered.
    pub fn registration(&self) -> Registration {
        self.reactor.registration(self.entry.id)
    }
}

/// A source that the owner of this holds; given back when dropped.
pub struct HeldTurn {
    entry: Arc<dyn InHand>,
    number: u64,
    more: bool,
}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        Arc::clone(&self.entry).end(self.number, self.more);
    }
}

/// A source in hand, whatever the context of its loop.
trait InHand: Send + Sync {
    fn end(self: Arc<Self>, turn: u64, more: bool);
}

impl<C: 'static> InHand for Entry<C> {
    fn end(self: Arc<Self>, turn: u64, more: bool) {
        if let Some(reactor) = self.reactor.upgrade() {
            reactor.give_back(&self, turn, more);
        }
    }
}

thread_local! {
    /// The source that this thread holds during an upcall.
    static HELD: RefCell<Option<HeldTurn>> = const { RefCell::new(None) };
}

/// See [`Turn::hold`].
#[must_use]
pub struct HeldHere {
    outer: Option<HeldTurn>,
}

impl Drop for HeldHere {
    fn drop(&mut self) {
        drop(HELD.replace(self.outer.take()));
    }
}

/// This thread waits for a call of its own: it lets go of the source that it holds, as the call may
/// lead to another request from it. Order gives way to progress.
pub fn before_waiting() {
    drop(HELD.take());
}

impl<C: 'static> Reactor<C> {
    fn give_back(&self, entry: &Arc<Entry<C>>, turn: u64, more: bool) {
        if !entry.end_turn(turn) {
            return;
        }
        if more {
            self.mark(entry, Bits::INPUT);
        }
        if entry.give_back() {
            self.push_ready(Arc::clone(entry));
            self.wake_for_ready();
        }
    }
}

pub(super) fn handle<C: 'static>(reactor: &Reactor<C>, context: &C, entry: &Arc<Entry<C>>) {
    let (number, came) = entry.take();
    let mut turn = Turn { reactor, entry, number, came };
    if came.has_output() {
        entry.source.handle_output(context);
    }
    let next = if came.has_input() {
        Arc::clone(&entry.source).handle_input(context, &mut turn)
    } else {
        Next::Wait
    };
    match next {
        Next::Wait => reactor.give_back(entry, number, false),
        Next::Again => reactor.give_back(entry, number, true),
        Next::Detached => {}
        Next::Remove => reactor.remove(entry.id),
    }
}
