//! Asynchronous calls that wait for a connection: a bounded line, in the order of the calls, and
//! the one clock of all lines of an ORB.
//!
//! A thread that makes an asynchronous call never connects: its call stands in the line of the pool
//! until a thread of the `connector` has a connection, or the time of the call is over.

use crate::Orb;
use crate::client::AwaitedCall;
use crate::reactor::Turn;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::Registration;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The calls that wait for one connection.
#[derive(Default)]
pub(crate) struct Line {
    calls: VecDeque<AwaitedCall>,
    /// Octets of all arguments.
    octets: usize,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call comes last, if there is room for it among `calls_max` with `octets_max` of
    /// arguments. One call alone has room, however large it is.
    ///
    /// # Errors
    /// The call comes back.
    #[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
    pub(crate) fn push(
        &mut self,
        call: AwaitedCall,
        calls_max: usize,
        octets_max: usize,
    ) -> Result<(), AwaitedCall> {
        let octets = self.octets.saturating_add(call.octets());
        if !self.is_empty() && (self.calls.len() >= calls_max || octets > octets_max) {
            return Err(call);
        }
        self.octets = octets;
        self.calls.push_back(call);
        Ok(())
    }

    /// The call that came first.
    pub(crate) fn pop(&mut self) -> Option<AwaitedCall> {
        let call = self.calls.pop_front()?;
        self.octets -= call.octets();
        Some(call)
    }

    /// All of them, in their order.
    pub(crate) fn take(&mut self) -> VecDeque<AwaitedCall> {
        self.octets = 0;
        std::mem::take(&mut self.calls)
    }

    /// Those whose time is over at `now`.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<AwaitedCall> {
        let is_over = |call: &mut AwaitedCall| call.deadline().is_some_and(|end| end <= now);
        let mut expired = Vec::new();
        let mut index = 0;
        while index < self.calls.len() {
            if is_over(&mut self.calls[index]) {
                expired.extend(self.calls.remove(index));
            } else {
                index += 1;
            }
        }
        self.octets -= expired.iter().map(|call| call.octets()).sum::<usize>();
        expired
    }

    /// When the time of the first of them is over.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.calls.iter().filter_map(|call| call.deadline()).min()
    }
}

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
