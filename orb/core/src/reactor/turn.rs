//! One handling of one source.
//!
//! A turn holds the source, and the lead of the loop, until it ends or is released. A handler
//! releases its turn before an upcall: other threads, or the same one in a loop nested inside the
//! upcall, then handle what comes next from this source and from all others.

use super::source::{Bits, Source};
use super::{Next, Reactor, Token};
use crate::Orb;
use std::sync::Arc;

/// One handling of a source.
pub(crate) struct Turn<'t> {
    reactor: &'t Reactor,
    source: &'t Arc<Source>,
    came: Bits,
    is_released: bool,
}

impl Turn<'_> {
    /// Others may handle this source from now on; to be called before an upcall, once everything
    /// that the upcall needs was taken out of the source. `more`: input is left, for which no event
    /// will come. After this the handler's [`Next::Wait`] and [`Next::Again`] mean nothing.
    pub(crate) fn release(&mut self, more: bool) {
        self.give_back(more);
        self.reactor.give_lead_away();
    }

    /// As [`Turn::release`], but only what comes from other sources may be handled meanwhile: for
    /// requests that must not be overtaken, as oneways. The turn goes on.
    pub(crate) fn let_others_lead(&mut self) {
        self.reactor.give_lead_away();
    }

    fn give_back(&mut self, more: bool) {
        if self.is_released {
            return;
        }
        self.is_released = true;
        if more {
            self.reactor.mark(self.source, Bits::INPUT);
        }
        if self.source.give_back() {
            self.reactor.push_ready(Arc::clone(self.source));
            self.reactor.wake_for_ready();
        }
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

pub(super) fn handle(reactor: &Reactor, orb: &Orb, source: &Arc<Source>) {
    let came = source.take();
    let mut turn = Turn { reactor, source, came, is_released: false };
    if came.has_output() {
        source.handler.handle_output(orb);
    }
    let next = if came.has_input() {
        Arc::clone(&source.handler).handle_input(orb, &mut turn)
    } else {
        Next::Wait
    };
    match next {
        Next::Wait => turn.give_back(false),
        Next::Again => turn.give_back(true),
        Next::Remove => reactor.remove(source.token),
    }
}
