//! A connection that many calls share: requests of all threads go out, replies come back in any
//! order and are found by request id (paper AMI §3.1: muxed multiplexing, reply dispatcher).
//!
//! Requests go through the [`Outbox`]: a lone one at once, those that follow closely in batches.
//! Replies are read by the ORB's event loop, or by a thread that waits for one (`reading`); what
//! becomes of the requests when time or connection ends is in `ending`.

mod ending;
mod reading;
#[cfg(test)]
mod tests;

use crate::Orb;
use crate::client::{PendingRequest, Waiting};
use crate::clock::Clock;
use crate::connection::ConnectionFault;
use crate::connection::outbox::{Hold, Outbox, Patience, Refused, Urgency};
use crate::connection::pending::Pending;
use crate::policy::BufferingConstraint;
use corbie_cdr::{CodeSets, Encoder, Version};
use corbie_connection::ReceiveFailure;
use corbie_giop::{Begun, Life, NotBegun, Protocol, Roles};
use corbie_threads::flusher::Flush;
use corbie_threads::thread::{Loop, Registration, current_loop, delivers, runs_loop};
use corbie_transport::{Endpoint, Link, Waiter};
use corbie_types::{SystemException, minor};
use reading::Reading;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// With so many requests unanswered and the last one sent this recently (nanoseconds), more are
/// surely about to follow: they are sent together.
const BURST_PENDING: usize = 16;
const BURST_GAP: u64 = 20_000;
/// With more deferred requests than this unanswered, or larger ones, the event loop reads the
/// replies.
const UNREAD_REQUESTS: usize = 16;
const UNREAD_OCTETS: usize = 16 << 10;
/// Nothing waits for the server to take it.
const NOT_STUCK: u64 = u64::MAX;
/// A bit that no id of a pending request has.
const ONEWAY_ID: u32 = 1 << 17;

pub(crate) struct MuxedConnection {
    pub(crate) endpoint: Endpoint,
    pub(crate) code_sets: CodeSets,
    link: Link,
    outbox: Outbox,
    pending: Pending,
    reading: Reading,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
    /// Lock "registering".
    registering: Mutex<()>,
    /// Whether the server has been told the code sets.
    pub(crate) code_sets_announced: AtomicBool,
    /// The minor version of the last request, or GIOPlite's, for `CancelRequest`.
    giop_minor: AtomicU8,
    /// When the last request was put into the outbox: see [`Pending::nanoseconds`].
    last_request: AtomicU64,
    /// Requests sent of which no reply says that their upcall is over.
    oneways_sent: AtomicU64,
    /// How many of them were before a request that was answered.
    oneways_confirmed: AtomicU64,
    batch_octets: usize,
    /// Whether the event loop will call `before_waiting`.
    asked_to_flush: AtomicBool,
    /// The look of the flusher before the last: what waits since then is old.
    was_waiting: AtomicBool,
    /// How long the server may take nothing of what waits.
    message_timeout: Option<Duration>,
    /// When it was last seen to take something, as [`Pending::nanoseconds`], or [`NOT_STUCK`], and
    /// what it had taken then.
    stuck_since: AtomicU64,
    moved_before: AtomicU64,
    /// Whether a call is about to use it alone; see [`MuxedConnection::reserve`].
    is_reserved: AtomicBool,
    life: Life,
    itself: Weak<MuxedConnection>,
}

/// How a request is to be sent.
pub(crate) struct Dispatch {
    pub(crate) version: Version,
    pub(crate) fragment_octets: Option<usize>,
    /// Where the arguments begin, to be kept in case the request has to be sent again.
    pub(crate) body_place: Option<usize>,
    /// Where the request id stands.
    pub(crate) id_place: usize,
    /// By policy: keeps the request until so many octets or messages wait.
    pub(crate) buffering: Option<Buffering>,
}

/// By policy, how much is kept back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffering {
    octets: usize,
    messages: u32,
    until: Hold,
}

impl Buffering {
    /// For a request of a call that begins `now`. Somebody waits for its reply: without a time it
    /// is not kept back longer than others.
    pub(crate) fn of_call(constraint: BufferingConstraint, now: Instant) -> Self {
        let until = constraint.time.and_then(|time| now.checked_add(time));
        Buffering {
            octets: constraint.octets.map_or(usize::MAX, |octets| octets as usize),
            messages: constraint.count.unwrap_or(0),
            until: until.map_or(Hold::No, Hold::Until),
        }
    }

    /// For a oneway sent `now`: without a time it is kept back until somebody flushes all.
    pub(crate) fn of_oneway(constraint: BufferingConstraint, now: Instant) -> Self {
        let buffering = Self::of_call(constraint, now);
        match buffering.until {
            Hold::No => Buffering { until: Hold::Forever, ..buffering },
            _ => buffering,
        }
    }
}

impl MuxedConnection {
    pub(crate) fn new(
        orb: &Orb,
        endpoint: Endpoint,
        code_sets: CodeSets,
        protocol: Protocol,
        link: Link,
    ) -> Arc<Self> {
        let settings = orb.settings();
        let reader = orb.reader(Roles::CLIENT, protocol);
        Arc::new_cyclic(|itself| MuxedConnection {
            endpoint,
            code_sets,
            link,
            outbox: Outbox::new(settings.queued_octets_max),
            pending: Pending::new(settings.pending_requests_max as usize),
            reading: Reading::new(reader, Waiter::new(orb.client_wait())),
            registration: OnceLock::new(),
            registering: Mutex::new(()),
            code_sets_announced: AtomicBool::new(false),
            giop_minor: AtomicU8::new(protocol.version().minor),
            last_request: AtomicU64::new(0),
            oneways_sent: AtomicU64::new(0),
            oneways_confirmed: AtomicU64::new(0),
            batch_octets: settings.batch_octets,
            asked_to_flush: AtomicBool::new(false),
            was_waiting: AtomicBool::new(false),
            message_timeout: settings.message_timeout,
            stuck_since: AtomicU64::new(NOT_STUCK),
            moved_before: AtomicU64::new(0),
            is_reserved: AtomicBool::new(false),
            life: Life::new(),
            itself: itself.clone(),
        })
    }

    /// Whether requests can be sent.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.life.is_open()
    }

    /// Takes it for one request, unless another uses it; whether that succeeded. To be called by
    /// one thread at a time.
    pub(crate) fn reserve(&self) -> bool {
        let is_free = self.is_open() && self.pending.len() == 0;
        is_free && !self.is_reserved.swap(true, Ordering::SeqCst)
    }

    /// The request is among the pending, or was not sent.
    pub(crate) fn release(&self) {
        self.is_reserved.store(false, Ordering::SeqCst);
    }

    /// Whether requests are on their way that nothing sent elsewhere may overtake.
    pub(crate) fn is_in_use(&self) -> bool {
        self.pending.len() > 0
            || self.outbox.waiting() > 0
            || self.oneways_confirmed.load(Ordering::SeqCst)
                != self.oneways_sent.load(Ordering::SeqCst)
    }

    /// A request was put here of which no reply will say that its upcall is over. To be called
    /// after that: who sends a request and counts fewer is behind them.
    pub(crate) fn note_oneway(&self) {
        self.oneways_sent.fetch_add(1, Ordering::SeqCst);
    }

    /// When the last request was sent, if nothing is under way.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.is_open() && self.pending.len() == 0 && self.outbox.waiting() == 0;
        is_idle.then(|| self.pending.time(self.last_request.load(Ordering::Relaxed)))
    }

    /// Has the ORB's event loop read the connection from now on.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`): there is no event loop, or no thread for it.
    #[inline]
    pub(crate) fn ensure_read(&self, orb: &Orb) -> Result<(), SystemException> {
        if self.registration.get().is_some() { Ok(()) } else { self.register(orb) }
    }

    #[cold]
    fn register(&self, orb: &Orb) -> Result<(), SystemException> {
        let _registering = self.registering.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(itself) = self.itself.upgrade().filter(|_| self.registration.get().is_none())
        else {
            return Ok(());
        };
        let registration = orb.reactor()?.add(itself).map_err(|error| {
            SystemException::no_resources(
                minor::NO_RESOURCES_EVENT_LOOP,
                corbie_types::CompletionStatus::No,
            )
            .with_detail(format!("the event loop takes no connection more: {error}"))
        })?;
        let registration = self.registration.get_or_init(|| registration);
        // What a thread has received already, behind its own reply, makes no event.
        registration.again();
        orb.ensure_event_loop(false)
    }

    /// Sends the request in `encoder`, in which the id is still to be filled in. Waits for room
    /// where this thread may; `clock` bounds that.
    ///
    /// `Ok`: the outcome goes to the sink of `request`, also when sending failed.
    ///
    /// # Errors
    /// The request comes back: it was surely not served.
    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    pub(crate) fn send(
        &self,
        orb: &Orb,
        mut request: PendingRequest,
        encoder: &mut Encoder<'_>,
        dispatch: &Dispatch,
        clock: &Clock,
    ) -> Result<(), (PendingRequest, ConnectionFault)> {
        let must_not_wait = !request.call.may_wait || runs_loop() || delivers();
        request.oneways_before = self.oneways_sent.load(Ordering::SeqCst);
        self.giop_minor.store(dispatch.version.minor, Ordering::Relaxed);
        let mut is_watched = false;
        let is_deferred = request.call.sink.as_waiting().is_some_and(|w| w.is_deferred());
        let begun = loop {
            let (waiting, deadline) = (request.call.sink.as_waiting().cloned(), request.deadline);
            let tell = |id| {
                let note = |w: Arc<Waiting>| w.note_sent(&self.itself, id, deadline);
                is_watched = waiting.is_some_and(note);
            };
            let keep = |kept: &mut Vec<u8>| {
                if let Some(place) = dispatch.body_place {
                    copy_from(encoder, place, kept);
                }
                dispatch.body_place.is_some()
            };
            match self.pending.begin(request, keep, must_not_wait, tell) {
                Ok(begun) => break begun,
                Err((back, NotBegun::Closed)) => return Err((back, ConnectionFault::closed())),
                Err((back, NotBegun::Full)) => {
                    if must_not_wait || !self.wait_for_room(orb, clock) {
                        return Err((back, ConnectionFault::Full));
                    }
                    request = back;
                }
            }
        };
        // A server that nobody reads from stops to read, too.
        let is_much = begun.others >= UNREAD_REQUESTS || encoder.len() > UNREAD_OCTETS;
        let needs_reader = is_watched || (is_deferred && begun.others > 0 && is_much);
        if needs_reader && let Err(exception) = self.ensure_read(orb) {
            tracing::warn!(%exception, "nobody reads the reply to a call");
        }
        encoder.patch_ulong(encoder.placeholder_at(dispatch.id_place), begun.id);
        if begun.is_next_deadline
            && self.registration.get().is_some()
            && let (Some(deadline), Ok(reactor)) = (self.pending.next_deadline(), orb.reactor())
        {
            reactor.expect_deadline(deadline);
        }
        self.put(orb, encoder, dispatch, &begun, must_not_wait, clock)
    }

    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    fn put(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        dispatch: &Dispatch,
        begun: &Begun,
        must_not_wait: bool,
        clock: &Clock,
    ) -> Result<(), (PendingRequest, ConnectionFault)> {
        let urgency = self.urgency(begun.others, clock.start, dispatch.buffering);
        let patience = self.patience(orb, must_not_wait, clock);
        let fragments = dispatch.fragment_octets;
        let put = self.outbox.put(&self.link, encoder, fragments, urgency, patience);
        if let Err(refused) = put {
            return self.refused(begun.id, refused);
        }
        if urgency != Urgency::Now {
            self.after_deferral(orb, dispatch.buffering.is_some() || self.is_burst(begun.others));
        }
        self.after_put(orb, patience, must_not_wait, clock);
        Ok(())
    }

    /// How this thread passes the time when the server takes nothing.
    #[inline]
    fn patience(&self, orb: &Orb, must_not_wait: bool, clock: &Clock) -> Patience {
        if must_not_wait || orb.is_driven_by_application() {
            return Patience::None;
        }
        let timeout = clock.next_wait().or(orb.settings().message_timeout);
        // When it cannot be set, the one before holds.
        let _ = self.link.set_send_timeout(timeout);
        Patience::Until(clock.deadline())
    }

    #[inline]
    fn after_put(&self, orb: &Orb, patience: Patience, must_not_wait: bool, clock: &Clock) {
        if patience != Patience::None || self.outbox.waiting() == 0 {
            return;
        }
        // What the server has not taken is sent by the flusher, if by nobody else.
        orb.flusher().expect();
        let is_stuck = || self.outbox.waiting() > self.batch_octets.saturating_mul(2);
        if !must_not_wait && is_stuck() {
            self.wait_until_sent(orb, clock);
        }
    }

    /// Whether a request goes out at once. One that follows others closely need not, if somebody
    /// will flush soon: the thread that reads, when it is awake, this one, when it runs an event
    /// loop and may have more to do before it waits, or the flusher.
    #[inline]
    fn urgency(&self, others: usize, now: Instant, buffering: Option<Buffering>) -> Urgency {
        let follows = self.follows_closely(now);
        if let Some(Buffering { octets, messages, until }) = buffering {
            return Urgency::Hold { octets, messages, until };
        }
        let is_awake = || self.reading.is_awake() || runs_loop();
        if others > 0 && (is_awake() || (follows && self.is_burst(others))) {
            return Urgency::Batch(self.batch_octets);
        }
        Urgency::Now
    }

    #[inline]
    fn follows_closely(&self, now: Instant) -> bool {
        let now = self.pending.nanoseconds(now);
        let last = self.last_request.swap(now, Ordering::Relaxed);
        now.saturating_sub(last) < BURST_GAP
    }

    fn is_burst(&self, others: usize) -> bool {
        others >= BURST_PENDING
    }

    /// Something was kept back: sees to it that somebody sends it.
    #[inline]
    fn after_deferral(&self, orb: &Orb, may_wait: bool) {
        let of_orb = || {
            let reactor = orb.reactor().ok().filter(|_| orb.is_driven_by_application())?;
            Some(Arc::clone(reactor) as Arc<dyn Loop>)
        };
        let flushing_loop = current_loop().or_else(of_orb);
        // The thread that reads looks for it after it said that it sleeps: one of us sees it.
        if !may_wait && flushing_loop.is_none() && !self.reading.is_awake() {
            self.flush();
            return;
        }
        orb.flusher().expect();
        if let Some(reactor) = flushing_loop
            && !self.asked_to_flush.swap(true, Ordering::SeqCst)
            && let Some(itself) = self.itself.upgrade()
        {
            reactor.flush_before_waiting(itself);
        }
    }

    /// Sends what waits, as far as that needs no waiting.
    pub(crate) fn flush(&self) {
        if self.outbox.flush(&self.link, Patience::None).is_err() {
            // Whoever reads notices, and tells those who wait.
            self.link.shutdown();
        }
    }

    #[cold]
    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    fn refused(&self, id: u32, refused: Refused) -> Result<(), (PendingRequest, ConnectionFault)> {
        let (unsent, error) = match refused {
            Refused::Unsent(error) => (self.pending.withdraw(id), error),
            Refused::Broken(error) => (None, error),
        };
        if self.outbox.is_closed() {
            let error = std::io::Error::new(error.kind(), error.to_string());
            self.broke(&ReceiveFailure::Io(error));
        }
        // Where it was told its outcome already, by whoever closed the connection, all is done.
        let Some(request) = unsent else { return Ok(()) };
        Err((request, ConnectionFault::unsent(error)))
    }

    /// Waits until there are fewer requests pending; whether there are.
    #[cold]
    fn wait_for_room(&self, orb: &Orb, clock: &Clock) -> bool {
        self.flush_all();
        // Nobody may be reading yet: all that is pending is waited for, and nobody waits.
        if self.ensure_read(orb).is_err() {
            return false;
        }
        if orb.is_driven_by_application() {
            return self.run_until(orb, &|| self.pending.has_room(), clock.deadline());
        }
        self.pending.wait_for_room(clock.deadline())
    }

    /// In a program whose own threads run the event loop, the one that sends must not block while
    /// the server may be blocked in sending to it: it runs the loop instead.
    #[cold]
    fn wait_until_sent(&self, orb: &Orb, clock: &Clock) {
        if self.ensure_read(orb).is_ok() {
            let has_room = || self.outbox.waiting() <= self.batch_octets || !self.is_open();
            self.run_until(orb, &has_room, clock.deadline());
        }
    }

    /// Sends the oneway in `encoder`, in which the id is still to be filled in. `may_wait`: it may
    /// be kept back for a moment, to be sent with others that follow closely; else it was handed to
    /// the transport when this returns, where this thread may wait for that.
    ///
    /// # Errors
    /// Why it was not sent.
    pub(crate) fn send_oneway(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        dispatch: &Dispatch,
        may_wait: bool,
        clock: &Clock,
    ) -> Result<(), ConnectionFault> {
        if !self.is_open() {
            return Err(ConnectionFault::closed());
        }
        self.giop_minor.store(dispatch.version.minor, Ordering::Relaxed);
        // No reply comes to it, so no other request has to be told from it.
        encoder.patch_ulong(encoder.placeholder_at(dispatch.id_place), ONEWAY_ID);
        let follows = self.follows_closely(clock.start);
        let urgency = match dispatch.buffering {
            Some(Buffering { octets, messages, until }) => {
                Urgency::Hold { octets, messages, until }
            }
            None if may_wait && follows => Urgency::Batch(self.batch_octets),
            None => Urgency::Now,
        };
        let must_not_wait = runs_loop() || delivers();
        let patience = self.patience(orb, must_not_wait, clock);
        let fragments = dispatch.fragment_octets;
        let put = self.outbox.put(&self.link, encoder, fragments, urgency, patience);
        put.map_err(|refused| self.oneway_refused(refused))?;
        self.note_oneway();
        if urgency != Urgency::Now {
            self.after_deferral(orb, true);
        }
        self.after_put(orb, patience, must_not_wait, clock);
        if let (false, Patience::Until(deadline)) = (may_wait, patience) {
            self.outbox.wait_until_sent(deadline).map_err(ConnectionFault::LostInQueue)?;
        }
        Ok(())
    }

    #[cold]
    fn oneway_refused(&self, refused: Refused) -> ConnectionFault {
        if self.outbox.is_closed() {
            self.broke(&ReceiveFailure::Closed);
        }
        match refused {
            Refused::Unsent(error) => ConnectionFault::unsent(error),
            Refused::Broken(error) => ConnectionFault::LostInQueue(error),
        }
    }

    /// Sends all that waits, as far as that needs no waiting, also what a policy keeps back.
    pub(crate) fn flush_all(&self) {
        if self.outbox.flush_all(&self.link, Patience::None).is_err() {
            self.link.shutdown();
        }
    }

    fn run_until(&self, orb: &Orb, done: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        orb.reactor().is_ok_and(|reactor| reactor.run_until(orb, done, deadline))
    }
}

/// Copies what `encoder` wrote from `place` on: nothing without arguments, as the padding before
/// them was taken back.
fn copy_from(encoder: &Encoder<'_>, place: usize, to: &mut Vec<u8>) {
    let mut skip = place;
    for segment in encoder.segments() {
        to.extend_from_slice(segment.get(skip..).unwrap_or_default());
        skip = skip.saturating_sub(segment.len());
    }
}

impl Flush for MuxedConnection {
    fn flush_old(&self) -> bool {
        let waits = self.outbox.waits_for_flush();
        let waited = self.was_waiting.swap(waits, Ordering::Relaxed);
        match (waited, waits) {
            (true, true) => self.flush(),
            (false, false) => self.outbox.rest(),
            _ => {}
        }
        waits
    }

    fn before_waiting(&self) {
        self.asked_to_flush.store(false, Ordering::SeqCst);
        self.flush();
    }
}
