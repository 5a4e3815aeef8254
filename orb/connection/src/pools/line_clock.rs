//! The one clock of all lines of an ORB, in which asynchronous calls wait for a connection.
//!
//! A call stands in the line of its pool until a thread of the `connector` has a connection, or
//! this clock says that its time is over.

use super::Opens;
use crate::connection::Context as _;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source, Turn};
use corbie_threads::thread::Registration;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Ends calls in lines when their time is over: a source of the event loop to which nothing comes
/// but deadlines.
pub(super) struct LineClock<U> {
    next: Ranked<rank::Leaf, Option<Instant>>,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
    user: PhantomData<fn() -> U>,
}

impl<U> Default for LineClock<U> {
    fn default() -> Self {
        let (next, registration) = (Ranked::default(), OnceLock::new());
        LineClock { next, registration, user: PhantomData }
    }
}

impl<U: Opens> LineClock<U> {
    /// A call stands in a line until `deadline` at the latest.
    pub(super) fn expect(self: &Arc<Self>, context: &U::Context, deadline: Instant) {
        self.note(Some(deadline));
        // Without an event loop, housekeeping ends it a little later.
        let Ok(reactor) = context.reactor() else { return };
        self.registration.get_or_init(|| reactor.add_unwatched(Arc::<Self>::clone(self)));
        reactor.expect_deadline(deadline);
        if let Err(exception) = context.ensure_event_loop() {
            tracing::warn!(%exception, "calls that wait for a connection end late");
        }
    }

    fn note(&self, deadline: Option<Instant>) {
        let mut next = self.next.lock();
        *next = next.into_iter().chain(deadline).min();
    }
}

impl<U: Opens> Source<U::Context> for LineClock<U> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn handle_input(
        self: Arc<Self>,
        _context: &U::Context,
        _turn: &mut Turn<'_, U::Context>,
    ) -> Next {
        Next::Wait
    }

    fn next_deadline(&self) -> Option<Instant> {
        *self.next.lock()
    }

    fn handle_timeout(self: Arc<Self>, context: &U::Context, now: Instant) {
        *self.next.lock() = None;
        self.note(U::pools(context).expire_lines(now));
    }
}
