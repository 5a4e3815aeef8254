//! The one clock of all lines of an ORB, in which asynchronous calls wait for a connection.
//!
//! A call stands in the line of its pool until a thread of the `connector` has a connection, or
//! this clock says that its time is over.

use crate::Orb;
use crate::reactor::Turn;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::Registration;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Ends calls in lines when their time is over: a source of the event loop to which nothing comes
/// but deadlines.
#[derive(Default)]
pub(crate) struct LineClock {
    next: Ranked<rank::Leaf, Option<Instant>>,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
}

impl LineClock {
    /// A call stands in a line until `deadline` at the latest.
    pub(crate) fn expect(self: &Arc<Self>, orb: &Orb, deadline: Instant) {
        self.note(Some(deadline));
        // Without an event loop, housekeeping ends it a little later.
        let Ok(reactor) = orb.reactor() else { return };
        self.registration.get_or_init(|| reactor.add_unwatched(Arc::<Self>::clone(self)));
        reactor.expect_deadline(deadline);
        if let Err(exception) = orb.ensure_event_loop(false) {
            tracing::warn!(%exception, "calls that wait for a connection end late");
        }
    }

    fn note(&self, deadline: Option<Instant>) {
        let mut next = self.next.lock();
        *next = next.into_iter().chain(deadline).min();
    }
}

impl Source<Orb> for LineClock {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn handle_input(self: Arc<Self>, _orb: &Orb, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }

    fn next_deadline(&self) -> Option<Instant> {
        *self.next.lock()
    }

    fn handle_timeout(self: Arc<Self>, orb: &Orb, now: Instant) {
        *self.next.lock() = None;
        self.note(orb.connections().expire_lines(now));
    }
}
