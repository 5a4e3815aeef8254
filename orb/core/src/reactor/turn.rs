//! One handling of one source.
//!
//! A turn holds the source, and the lead of the loop, until it ends or is released. A handler
//! releases its turn before an upcall: other threads, or the same one in a loop nested inside the
//! upcall, then handle what comes next from this source and from all others. What must not be
//! overtaken keeps the source, until the upcall ends or waits for a call of its own.

use super::source::{Bits, Source};
use super::{Next, Reactor, Token};
use crate::Orb;
use std::cell::RefCell;
use std::sync::Arc;

/// One handling of a source.
pub(crate) struct Turn<'t> {
    reactor: &'t Reactor,
    source: &'t Arc<Source>,
    number: u64,
    came: Bits,
}

impl Turn<'_> {
    /// Others may handle this source from now on; to be called before an upcall, once everything
    /// that the upcall needs was taken out of the source. `more`: input is left, for which no event
    /// will come. After this the handler's [`Next::Wait`] and [`Next::Again`] mean nothing.
    pub(crate) fn release(&mut self, more: bool) {
        self.reactor.give_back(self.source, self.number, more);
        self.reactor.give_lead_away();
    }

    /// Others may lead from now on, but nobody else handles this source until the guard is dropped
    /// (or [`let_go`] is called by this thread): for an upcall that must not be overtaken, as that
    /// of a oneway. `more` as in [`Turn::release`].
    pub(crate) fn keep(&mut self, more: bool) -> Keeping {
        let Some(kept) = self.detach(more) else { return Keeping { outer: None } };
        let outer = KEPT.replace(Some(kept));
        self.reactor.give_lead_away();
        Keeping { outer }
    }

    /// Takes the source along to another thread, which gives it back; `None` when the reactor was
    /// dropped. The handler returns then, what it returns means nothing.
    pub(crate) fn detach(&mut self, more: bool) -> Option<Detached> {
        let reactor = self.reactor.me.upgrade()?;
        Some(Detached { reactor, source: Arc::clone(self.source), number: self.number, more })
    }

    /// Whether the peer has closed or the link broke: a receive that does not fill the space has
    /// not taken all there is, as the end is still to come.
    pub(crate) fn has_end(&self) -> bool {
        self.came.has_end()
    }

    /// The name of the source.
    pub(crate) fn token(&self) -> Token {
        self.source.token
    }

    pub(crate) fn reactor(&self) -> &Reactor {
        self.reactor
    }
}

/// A source in hand of whoever holds this; given back when dropped.
pub(crate) struct Detached {
    reactor: Arc<Reactor>,
    source: Arc<Source>,
    number: u64,
    more: bool,
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.reactor.give_back(&self.source, self.number, self.more);
    }
}

thread_local! {
    /// The source that this thread keeps during an upcall.
    static KEPT: RefCell<Option<Detached>> = const { RefCell::new(None) };
}

/// See [`Turn::keep`].
pub(crate) struct Keeping {
    outer: Option<Detached>,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        drop(KEPT.replace(self.outer.take()));
    }
}

/// This thread waits for a call of its own: the source that it keeps is let go, as the call may
/// lead to another request from it. Order gives way to progress.
pub(crate) fn let_go() {
    drop(KEPT.take());
}

impl Reactor {
    fn give_back(&self, source: &Arc<Source>, turn: u64, more: bool) {
        if !source.end_turn(turn) {
            return;
        }
        if more {
            self.mark(source, Bits::INPUT);
        }
        if source.give_back() {
            self.push_ready(Arc::clone(source));
            self.wake_for_ready();
        }
    }
}

pub(super) fn handle(reactor: &Reactor, orb: &Orb, source: &Arc<Source>) {
    let (number, came) = source.take();
    let mut turn = Turn { reactor, source, number, came };
    if came.has_output() {
        source.handler.handle_output(orb);
    }
    let next = if came.has_input() {
        Arc::clone(&source.handler).handle_input(orb, &mut turn)
    } else {
        Next::Wait
    };
    match next {
        Next::Wait => reactor.give_back(source, number, false),
        Next::Again => reactor.give_back(source, number, true),
        Next::Elsewhere => {}
        Next::Remove => reactor.remove(source.token),
    }
}
