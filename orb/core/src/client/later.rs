//! Asynchronous calls whose requests must not leave yet (`RequestStartTime`): they stand in one
//! bounded line of their ORB, and the event loop sends each when its time has come. The thread
//! that makes such a call never waits. CORBA Messaging §22.2.4.

use crate::Orb;
use crate::client::AwaitedCall;
use crate::client::deliver;
use crate::handles::Part;
use crate::reactor::Turn;
use corbie_connection::{Call as _, ConnectionFault};
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::Registration;
use corbie_types::{SystemException, minor};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The line may be so many times as long as what one connection takes from threads that may wait.
const OVERDRAFT: usize = 4;

/// What an ORB keeps of such calls.
#[derive(Default)]
pub(crate) struct LaterCalls(Arc<Line>);

#[derive(Default)]
struct Line {
    waiting: Ranked<rank::Leaf, Waiting>,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
}

#[derive(Default)]
struct Waiting {
    /// By the time of each, and where times are equal in the order of the calls.
    calls: BTreeMap<(Instant, u64), AwaitedCall>,
    /// How many calls came so far.
    count: u64,
    /// Octets of all arguments.
    octets: usize,
    is_closed: bool,
}

impl Part for LaterCalls {
    fn shut_down(&self) {
        let mut waiting = self.0.waiting.lock();
        waiting.is_closed = true;
        let calls = std::mem::take(&mut waiting.calls);
        drop(waiting);
        calls.into_values().for_each(|call| deliver::failed(call, ConnectionFault::ShutDown));
    }
}

impl Orb {
    pub(crate) fn later_calls(&self) -> &LaterCalls {
        self.extensions().later_calls.get()
    }
}

impl LaterCalls {
    /// Has `call`, which keeps its arguments, sent at `time`.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when too many calls wait, `BAD_INV_ORDER` (`COMPLETED_NO`)
    /// after shutdown, `NO_RESOURCES` (`COMPLETED_NO`) without an event loop.
    pub(crate) fn add(
        &self,
        orb: &Orb,
        call: AwaitedCall,
        time: Instant,
    ) -> Result<(), SystemException> {
        let line = &self.0;
        let reactor = orb.reactor()?;
        orb.ensure_event_loop(false)?;
        line.registration.get_or_init(|| reactor.add_unwatched(Arc::<Line>::clone(line)));
        let added = line.waiting.lock().add(orb, call, time);
        // A refused call is the application's to drop, with no lock held.
        added.map_err(|(_call, exception)| exception)?;
        reactor.expect_deadline(time);
        Ok(())
    }
}

impl Waiting {
    /// Puts the call in.
    ///
    /// # Errors
    /// The call comes back: the line is closed, or full.
    #[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
    fn add(
        &mut self,
        orb: &Orb,
        call: AwaitedCall,
        time: Instant,
    ) -> Result<(), (AwaitedCall, SystemException)> {
        if self.is_closed {
            return Err((call, orb.already_shut_down("a call was made")));
        }
        let settings = orb.settings();
        let calls_max = (settings.pending_requests_max as usize).saturating_mul(OVERDRAFT);
        let octets_max = settings.queued_octets_max.saturating_mul(OVERDRAFT);
        let octets = self.octets.saturating_add(call.octets());
        let is_full = self.calls.len() >= calls_max || octets > octets_max;
        if is_full && !self.calls.is_empty() {
            let exception = minor::TRANSIENT_OVERLOAD.no(format!(
                "{} calls wait for their start times already, with {} octets (at most four times \
                 pending_requests_max and queued_octets_max): call again later",
                self.calls.len(),
                self.octets
            ));
            return Err((call, exception));
        }
        (self.octets, self.count) = (octets, self.count + 1);
        self.calls.insert((time, self.count), call);
        Ok(())
    }

    /// The calls whose time has come at `now`.
    fn take_due(&mut self, now: Instant) -> Vec<AwaitedCall> {
        let later = self.calls.split_off(&(now, u64::MAX));
        let due: Vec<_> = std::mem::replace(&mut self.calls, later).into_values().collect();
        self.octets -= due.iter().map(|call| call.octets()).sum::<usize>();
        due
    }
}

impl Source<Orb> for Line {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn handle_input(self: Arc<Self>, _orb: &Orb, _turn: &mut Turn<'_>) -> Next {
        Next::Wait
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.waiting.lock().calls.keys().next().map(|(time, _)| *time)
    }

    fn handle_timeout(self: Arc<Self>, _orb: &Orb, now: Instant) {
        let due = self.waiting.lock().take_due(now);
        due.into_iter().for_each(deliver::send_now);
    }
}
