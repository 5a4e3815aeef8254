//! A connection that many calls share: requests of all threads go out, replies come back in any
//! order and are found by request id (paper AMI §3.1: muxed multiplexing, reply dispatcher).
//!
//! Requests go through the [`Sender`]: a lone one at once, those that follow closely in batches.
//! Replies are read by the ORB's event loop, or by a thread that waits for one (`reading`); what
//! becomes of the requests when time or connection ends is in `ending`.

mod ending;
mod reading;
#[cfg(test)]
mod tests;

use crate::Orb;
use crate::client::{AwaitedCall, ReplySlot, copy_from};
use crate::clock::Clock;
use crate::connection::ConnectionFault;
use crate::connection::fault::Awaited;
use crate::connection::pending::Pending;
use crate::policy::BufferingConstraint;
use crate::reactor::Reactor;
use corbie_cdr::{CodeSets, Encoder, Version};
use corbie_connection::{
    Limits, Look, Put, ReceiveFailure, Release, SendFault, Sender, Terms, When,
};
use corbie_giop::{Begun, Life, NotBegun, Protocol, Roles};
use corbie_threads::flusher::Flush;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::thread::{
    Loop, Patience, Registration, Wish, current_loop, patience, runs_loop,
};
use corbie_transport::{Endpoint, Link, Waiter};
use corbie_types::{SystemException, minor};
use reading::Reading;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// With so many requests unanswered and the last one sent this recently (nanoseconds), more are
/// surely about to follow: they are sent together.
const BURST_PENDING: usize = 16;
const BURST_GAP: u64 = 20_000;
/// With more deferred requests than this unanswered, or larger ones, the event loop reads the
/// replies.
const UNREAD_REQUESTS: usize = 16;
const UNREAD_OCTETS: usize = 16 << 10;
/// A bit that no id of a pending request has.
const ONEWAY_ID: u32 = 1 << 17;

pub(crate) struct MuxedConnection {
    pub(crate) endpoint: Endpoint,
    pub(crate) code_sets: CodeSets,
    link: Link,
    sender: Sender,
    pending: Pending,
    reading: Reading,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
    /// Held while the connection becomes a source: the event loop of the thread that had it for
    /// itself last, if it waited in one.
    own_loop: Ranked<rank::Registry, Option<(Weak<Reactor>, Registration)>>,
    /// Whether the server has been told the code sets.
    pub(crate) code_sets_announced: AtomicBool,
    /// The minor version of the last request, or GIOPlite's, for `CancelRequest`.
    giop_minor: AtomicU8,
    /// When the last request was put: see [`Pending::nanoseconds`].
    last_request: AtomicU64,
    /// Requests sent of which no reply says that their upcall is over.
    oneways_sent: AtomicU64,
    /// How many of them were before a request that was answered.
    oneways_confirmed: AtomicU64,
    /// How long the server may take nothing of what waits.
    message_timeout: Option<Duration>,
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
    pub(crate) when: When,
}

/// When a request of a call that begins `now` is sent by policy. A thread waits for its reply:
/// without a time it is not kept longer than others.
pub(crate) fn held_call(constraint: BufferingConstraint, now: Instant) -> When {
    held(constraint, now, Release::Flush)
}

/// When a oneway is sent by policy: without a time it is kept until all is flushed.
pub(crate) fn held_oneway(constraint: BufferingConstraint, now: Instant) -> When {
    held(constraint, now, Release::FlushAll)
}

fn held(constraint: BufferingConstraint, now: Instant, without_time: Release) -> When {
    let until = constraint.time.and_then(|time| now.checked_add(time));
    When::Held {
        octets: constraint.octets.map_or(usize::MAX, |octets| octets as usize),
        messages: constraint.count.unwrap_or(0),
        until: until.map_or(without_time, Release::Time),
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
            sender: Sender::new(Limits {
                queued_octets_max: settings.queued_octets_max,
                batch_octets: settings.batch_octets,
                small_octets: 0,
            }),
            pending: Pending::new(settings.pending_requests_max as usize),
            reading: Reading::new(reader, Waiter::new(orb.client_wait())),
            registration: OnceLock::new(),
            own_loop: Ranked::default(),
            code_sets_announced: AtomicBool::new(false),
            giop_minor: AtomicU8::new(protocol.version().minor),
            last_request: AtomicU64::new(0),
            oneways_sent: AtomicU64::new(0),
            oneways_confirmed: AtomicU64::new(0),
            message_timeout: settings.message_timeout,
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
            || self.sender.waits()
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
        let is_idle = self.is_open() && self.pending.len() == 0 && !self.sender.waits();
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
        let _registering = self.own_loop.lock();
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

    /// Has the event loop `own` of the thread that has this connection for itself read it.
    ///
    /// # Errors
    /// What the system says when the loop takes no connection more.
    pub(crate) fn read_in(&self, own: &Arc<Reactor>) -> io::Result<()> {
        let mut home = self.own_loop.lock();
        if home.as_ref().is_some_and(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(own))) {
            return Ok(());
        }
        // Another thread has had it.
        if let Some((_, registration)) = home.take() {
            registration.remove();
        }
        let Some(itself) = self.itself.upgrade() else { return Ok(()) };
        let registration = own.add(itself)?;
        registration.again();
        *home = Some((Arc::downgrade(own), registration));
        Ok(())
    }

    /// There is input for which no event comes: the loops that read the connection look again.
    fn read_again(&self) {
        if let Some(registration) = self.registration.get() {
            registration.again();
        }
        let own = self.own_loop.lock().as_ref().map(|(_, registration)| registration.clone());
        if let Some(registration) = own {
            registration.again();
        }
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
        mut request: AwaitedCall,
        encoder: &mut Encoder<'_>,
        dispatch: &Dispatch,
        clock: &Clock,
    ) -> Result<(), (AwaitedCall, ConnectionFault)> {
        let patience = patience(request.wish, orb.is_driven_by_application());
        let must_not_wait = patience == Patience::Queue;
        request.oneways_before = self.oneways_sent.load(Ordering::SeqCst);
        self.giop_minor.store(dispatch.version.minor, Ordering::Relaxed);
        let mut is_watched = false;
        let is_deferred = request.sink.as_slot().is_some_and(|w| w.is_deferred());
        let begun = loop {
            let (waiting, deadline) = (request.sink.as_slot().cloned(), request.deadline());
            let tell = |id| {
                let note = |w: Arc<ReplySlot>| w.note_sent(&self.itself, id, deadline);
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
        self.put(orb, encoder, dispatch, &begun, patience, clock)
    }

    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    fn put(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        dispatch: &Dispatch,
        begun: &Begun,
        patience: Patience,
        clock: &Clock,
    ) -> Result<(), (AwaitedCall, ConnectionFault)> {
        let when = self.when(begun.others, clock.start, dispatch.when);
        self.bound_sending(orb, patience, clock);
        let terms = Terms {
            fragment_octets: dispatch.fragment_octets,
            when,
            patience,
            until: clock.deadline(),
        };
        match self.sender.put(&self.link, encoder, &terms) {
            Ok(Put::Kept { is_new, .. }) => {
                let is_held = matches!(when, When::Held { .. });
                self.after_keeping(orb, is_new, is_held || begun.others >= BURST_PENDING);
            }
            Ok(Put::Sent | Put::Waits(_)) => {}
            Err(fault) => return self.refused(begun.id, fault),
        }
        self.after_put(orb, patience, clock);
        Ok(())
    }

    /// A thread that waits for the server to take a request waits as long as the call may take.
    #[inline]
    fn bound_sending(&self, orb: &Orb, patience: Patience, clock: &Clock) {
        if patience == Patience::Block {
            let timeout = clock.next_wait().or(orb.settings().message_timeout);
            // When it cannot be set, the one before holds.
            let _ = self.link.set_send_timeout(timeout);
        }
    }

    #[inline]
    fn after_put(&self, orb: &Orb, patience: Patience, clock: &Clock) {
        if patience == Patience::Block || !self.sender.waits() {
            return;
        }
        // What the server has not taken is sent by the flusher, unless another thread does.
        orb.flusher().expect();
        if patience == Patience::RunLoop
            && self.sender.waiting() > self.sender.limits().batch_octets * 2
        {
            self.run_until_sent(orb, clock);
        }
    }

    /// When a request goes out. One that follows others closely may wait if a thread will flush
    /// soon: the thread that reads, when it is awake, this one, when it runs an event loop and may
    /// have more to do before it waits, or the flusher.
    #[inline]
    fn when(&self, others: usize, now: Instant, wanted: When) -> When {
        let follows = self.follows_closely(now);
        let is_awake = || self.reading.is_awake() || runs_loop();
        match wanted {
            When::Held { .. } => wanted,
            _ if others > 0 && (is_awake() || (follows && others >= BURST_PENDING)) => When::Later,
            _ => When::Now,
        }
    }

    #[inline]
    fn follows_closely(&self, now: Instant) -> bool {
        let now = self.pending.nanoseconds(now);
        let last = self.last_request.swap(now, Ordering::Relaxed);
        now.saturating_sub(last) < BURST_GAP
    }

    /// A request was kept back: sees to it that a thread sends it. `is_new`: none was asked yet.
    /// `may_wait`: it may be sent by the flusher only.
    #[inline]
    fn after_keeping(&self, orb: &Orb, is_new: bool, may_wait: bool) {
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
        if let Some(reactor) = flushing_loop.filter(|_| is_new)
            && let Some(itself) = self.itself.upgrade()
        {
            reactor.flush_before_waiting(itself);
        }
    }

    /// Sends what waits, as far as that needs no waiting. If it fails the link is shut down, and
    /// the thread that reads tells those that wait.
    pub(crate) fn flush(&self) {
        let _ = self.sender.flush(&self.link, Patience::Queue);
    }

    #[cold]
    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    fn refused(&self, id: u32, fault: SendFault) -> Result<(), (AwaitedCall, ConnectionFault)> {
        let is_unsent = !matches!(fault, SendFault::Unknown(_));
        let unsent = if is_unsent { self.pending.withdraw(id) } else { None };
        let why = self.not_sent(fault);
        // Without the request, the thread that closed the connection has told its outcome.
        unsent.map_or(Ok(()), |request| Err((request, why)))
    }

    /// Why a request was not sent. If the link broke, so did the connection.
    #[cold]
    fn not_sent(&self, fault: SendFault) -> ConnectionFault {
        let (why, failure) = match fault {
            SendFault::Closed => (ConnectionFault::closed(), ReceiveFailure::Closed),
            SendFault::Full(_) => return ConnectionFault::Full,
            SendFault::TimedOut => return ConnectionFault::TimedOut(Awaited::Sending),
            SendFault::Failed(error) => {
                let same = std::io::Error::new(error.kind(), error.to_string());
                (ConnectionFault::sending(error), ReceiveFailure::Io(same))
            }
            SendFault::Unknown(error) => {
                let same = std::io::Error::new(error.kind(), error.to_string());
                (ConnectionFault::LostInQueue(error), ReceiveFailure::Io(same))
            }
        };
        self.broke(&failure);
        why
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
    fn run_until_sent(&self, orb: &Orb, clock: &Clock) {
        if self.ensure_read(orb).is_ok() {
            let has_room =
                || self.sender.waiting() <= self.sender.limits().batch_octets || !self.is_open();
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
        let when = match dispatch.when {
            When::Now if may_wait && follows => When::Later,
            when => when,
        };
        let patience = patience(Wish::Wait, orb.is_driven_by_application());
        self.bound_sending(orb, patience, clock);
        let until = clock.deadline();
        let fragment_octets = dispatch.fragment_octets;
        let terms = Terms { fragment_octets, when, patience, until };
        let put = self.sender.put(&self.link, encoder, &terms);
        let put = put.map_err(|fault| self.not_sent(fault))?;
        self.note_oneway();
        match put {
            Put::Kept { is_new, .. } => self.after_keeping(orb, is_new, true),
            Put::Waits(end) if !may_wait && patience == Patience::Block => {
                let sent = self.sender.wait_until_sent(&self.link, end, until);
                sent.map_err(|fault| self.not_sent(fault))?;
            }
            Put::Sent | Put::Waits(_) => {}
        }
        self.after_put(orb, patience, clock);
        Ok(())
    }

    /// Sends all that waits, as far as that needs no waiting, also what a policy keeps back.
    pub(crate) fn flush_all(&self) {
        let _ = self.sender.flush_all(&self.link, Patience::Queue);
    }

    fn run_until(&self, orb: &Orb, done: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        orb.reactor().is_ok_and(|reactor| reactor.run_until(orb, done, deadline))
    }
}

impl Flush for MuxedConnection {
    fn flush_old(&self) -> bool {
        self.sender.tick(&self.link) != Look::Nothing
    }

    fn before_waiting(&self) {
        self.flush();
    }
}
