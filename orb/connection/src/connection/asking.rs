//! The end that asks: requests of all threads go out, a lone one at once, those that follow closely
//! in batches.

use super::notes::Note;
use super::{Call as _, Connection, Context, User};
use crate::{Awaited, Clock, ConnectionFault, Put, ReceiveFailure, SendFault, Terms, When};
use corbie_cdr::{Encoder, Version};
use corbie_giop::{Begun, NotBegun, RequestIdPlace};
use corbie_threads::flusher::Flush;
use corbie_threads::thread::{Loop, Patience, Wish, current_loop, patience, runs_loop};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// With so many requests unanswered and the last one sent just now, more are surely about to
/// follow: they are sent together.
const BURST_PENDING: usize = 16;
/// With more deferred requests than this unanswered, or larger ones, the event loop reads the
/// replies.
const UNREAD_REQUESTS: usize = 16;
const UNREAD_OCTETS: usize = 16 << 10;
/// A bit that no id of a pending request has.
const ONEWAY_ID: u32 = 1 << 17;

/// How a request that was written is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct WrittenRequest {
    /// The version that it was written in.
    pub version: Version,
    /// A request of more octets is cut into fragments.
    pub fragment_octets: Option<usize>,
    /// Where the arguments begin, to be kept in case the request has to be sent again.
    pub body_place: Option<usize>,
    /// Where the request id stands.
    pub id_place: RequestIdPlace,
    /// When it is to be sent.
    pub when: When,
    /// Whether its thread may wait for room.
    pub wish: Wish,
    /// Whether its thread may do much else before it waits for the reply. A oneway: whether it may
    /// be kept back for a moment.
    pub is_deferred: bool,
}

impl<U: User> Connection<U> {
    /// How many requests wait for replies.
    pub fn pending(&self) -> usize {
        self.replies.len()
    }

    /// Takes it for one request, unless another uses it; whether that succeeded. To be called by
    /// one thread at a time.
    pub fn reserve(&self) -> bool {
        let is_free = self.is_open() && self.pending() == 0;
        is_free && self.notes.set(Note::Reserved)
    }

    /// The request is among the pending, or was not sent.
    pub fn release(&self) {
        if self.notes.has(Note::Reserved) {
            self.notes.take(Note::Reserved);
        }
    }

    /// Whether requests are on their way that nothing sent elsewhere may overtake.
    pub fn is_in_use(&self) -> bool {
        self.replies.are_in_use() || self.sender.waits()
    }

    /// A request was put here of which no reply will say that its upcall is over. To be called
    /// after that: a request that is put before this call may be ahead of it.
    pub fn note_oneway(&self) {
        self.replies.note_oneway();
    }

    /// When the last request was sent, if nothing is under way.
    pub fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.is_open() && !self.sender.waits();
        is_idle.then(|| self.replies.idle_since()).flatten()
    }

    /// Sends the request in `encoder`, in which the id is still to be filled in. Waits for room
    /// where this thread may; `clock` bounds that.
    ///
    /// `Ok`: the outcome goes to the user, also when sending failed.
    ///
    /// # Errors
    /// The request comes back: it was surely not served.
    pub fn send(
        self: &Arc<Self>,
        context: &U::Context,
        mut call: U::Call,
        encoder: &mut Encoder<'_>,
        request: &WrittenRequest,
        clock: &Clock,
    ) -> Result<(), (U::Call, ConnectionFault)> {
        let patience = self.asking_patience(context, request.wish);
        let must_not_wait = patience == Patience::Queue;
        self.activity.note_version(request.version);
        let mut is_watched = false;
        let (begun, follows) = loop {
            let (slot, deadline) = (call.slot().cloned(), call.deadline());
            let tell = |id| {
                is_watched = slot.is_some_and(|slot| U::note_sent(&slot, self, id, deadline));
            };
            let keep = |kept: &mut Vec<u8>| {
                if let Some(place) = request.body_place {
                    copy_from(encoder, place, kept);
                }
                request.body_place.is_some()
            };
            match self.replies.begin(call, clock.start, keep, must_not_wait, tell) {
                Ok(begun) => break begun,
                Err((back, NotBegun::Closed)) => return Err((back, ConnectionFault::closed())),
                Err((back, NotBegun::NoMemory)) => return Err((back, ConnectionFault::Full)),
                Err((back, NotBegun::Full)) => {
                    if must_not_wait || !self.wait_for_room(context, clock) {
                        return Err((back, ConnectionFault::Full));
                    }
                    call = back;
                }
            }
        };
        // A server from which no thread reads stops to read, too.
        let is_much = begun.others >= UNREAD_REQUESTS || encoder.len() > UNREAD_OCTETS;
        let needs_reader = is_watched || (request.is_deferred && begun.others > 0 && is_much);
        if needs_reader && let Err(exception) = self.ensure_read(context) {
            tracing::warn!(%exception, "no thread reads the reply to a call");
        }
        request.id_place.set(encoder, begun.id);
        if begun.is_next_deadline
            && self.registration.get().is_some()
            && let (Some(deadline), Ok(reactor)) = (self.replies.next_deadline(), context.reactor())
        {
            reactor.expect_deadline(deadline);
        }
        let when = self.when(begun.others, follows, request.when);
        // Of a connection that answers, too: its reply is read, whatever is due.
        if self.roles.answers {
            self.read_on();
        }
        self.put(context, encoder, request, &begun, (when, patience), clock)
    }

    fn put(
        self: &Arc<Self>,
        context: &U::Context,
        encoder: &mut Encoder<'_>,
        request: &WrittenRequest,
        begun: &Begun,
        (when, patience): (When, Patience),
        clock: &Clock,
    ) -> Result<(), (U::Call, ConnectionFault)> {
        self.bound_sending(context, patience, clock);
        let (fragment_octets, until) = (request.fragment_octets, clock.deadline());
        let terms = Terms { fragment_octets, when, patience, until };
        match self.sender.put(&self.link, encoder, &terms) {
            Ok(Put::Kept { is_new, .. }) => {
                let is_held = matches!(when, When::Held { .. });
                self.after_keeping(context, is_new, is_held || begun.others >= BURST_PENDING);
            }
            Ok(Put::Sent | Put::Waits(_)) => {}
            Err(fault) => return self.refused(begun.id, fault),
        }
        self.after_put(context, patience, clock);
        Ok(())
    }

    /// What a thread that asks does about a peer that takes nothing. Where the peer asks as well it
    /// never waits: the peer may be waiting for an answer, and the thread that gives it for this.
    #[inline]
    fn asking_patience(&self, context: &U::Context, wish: Wish) -> Patience {
        match self.roles.answers {
            true => Patience::Queue,
            false => patience(wish, context.is_driven_by_application()),
        }
    }

    /// A thread that waits for the server to take a request waits as long as the call may take.
    #[inline]
    fn bound_sending(&self, context: &U::Context, patience: Patience, clock: &Clock) {
        if patience == Patience::Block {
            let timeout = clock.next_wait().or(context.settings().message_timeout);
            // When it cannot be set, the one before holds.
            let _ = self.link.set_send_timeout(timeout);
        }
    }

    #[inline]
    fn after_put(self: &Arc<Self>, context: &U::Context, patience: Patience, clock: &Clock) {
        if patience == Patience::Block || !self.sender.waits() {
            return;
        }
        // What the server has not taken is sent by the flusher, unless another thread does.
        self.expect_flush(context);
        if patience == Patience::RunLoop
            && self.sender.waiting() > context.settings().batch_octets * 2
        {
            self.run_until_sent(context, clock);
        }
    }

    /// When a request goes out. One that follows others closely may wait if a thread will flush
    /// soon: the thread that reads, when it is awake, this one, when it runs an event loop and may
    /// have more to do before it waits, or the flusher.
    #[inline]
    fn when(&self, others: usize, follows: bool, wanted: When) -> When {
        let is_awake = || self.notes.has(Note::Awake) || runs_loop();
        match wanted {
            When::Held { .. } => wanted,
            _ if others > 0 && (is_awake() || (follows && others >= BURST_PENDING)) => When::Later,
            _ => When::Now,
        }
    }

    /// A request was kept back: sees to it that a thread sends it. `is_new`: none was asked yet.
    /// `may_wait`: it may be sent by the flusher only.
    #[inline]
    fn after_keeping(self: &Arc<Self>, context: &U::Context, is_new: bool, may_wait: bool) {
        let of_context = || {
            let reactor = context.reactor().ok().filter(|_| context.is_driven_by_application())?;
            Some(Arc::clone(reactor) as Arc<dyn Loop>)
        };
        let flushing_loop = current_loop().or_else(of_context);
        // The thread that reads looks for it after it said that it sleeps: one of us sees it.
        if !may_wait && flushing_loop.is_none() && !self.notes.has(Note::Awake) {
            self.flush();
            return;
        }
        self.expect_flush(context);
        if let Some(reactor) = flushing_loop.filter(|_| is_new) {
            let itself: Arc<Self> = Arc::clone(self);
            reactor.flush_before_waiting(itself as Arc<dyn Flush>);
        }
    }

    #[cold]
    fn refused(&self, id: u32, fault: SendFault) -> Result<(), (U::Call, ConnectionFault)> {
        let is_unsent = !matches!(fault, SendFault::Unknown(_));
        let unsent = if is_unsent { self.replies.withdraw(id) } else { None };
        let why = self.not_sent(fault);
        // Without the request, the thread that closed the connection has told its outcome.
        unsent.map_or(Ok(()), |call| Err((call, why)))
    }

    /// Why a request was not sent. If the link broke, so did the connection.
    #[cold]
    fn not_sent(&self, fault: SendFault) -> ConnectionFault {
        let same =
            |error: &io::Error| ReceiveFailure::Io(io::Error::new(error.kind(), error.to_string()));
        let (why, failure) = match fault {
            SendFault::Closed => (ConnectionFault::closed(), ReceiveFailure::Closed),
            SendFault::Full(_) => return ConnectionFault::Full,
            SendFault::TimedOut => return ConnectionFault::TimedOut(Awaited::Sending),
            SendFault::Failed(error) => {
                let failure = same(&error);
                (ConnectionFault::sending(error), failure)
            }
            SendFault::Unknown(error) => {
                let failure = same(&error);
                (ConnectionFault::LostInQueue(error), failure)
            }
        };
        self.broke(&failure);
        why
    }

    /// Waits until there are fewer requests pending; whether there are.
    #[cold]
    fn wait_for_room(self: &Arc<Self>, context: &U::Context, clock: &Clock) -> bool {
        self.flush_all();
        // If all calls are deferred, no thread reads.
        if self.ensure_read(context).is_err() {
            return false;
        }
        if context.is_driven_by_application() {
            return self.run_until(context, &|| self.replies.have_room(), clock.deadline());
        }
        self.replies.wait_for_room(clock.deadline())
    }

    /// In a program whose own threads run the event loop, the one that sends must not block while
    /// the server may be blocked in sending to it: it runs the loop instead.
    #[cold]
    fn run_until_sent(self: &Arc<Self>, context: &U::Context, clock: &Clock) {
        if self.ensure_read(context).is_ok() {
            let has_room =
                || self.sender.waiting() <= context.settings().batch_octets || !self.is_open();
            self.run_until(context, &has_room, clock.deadline());
        }
    }

    fn run_until(
        &self,
        context: &U::Context,
        done: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> bool {
        context.reactor().is_ok_and(|reactor| reactor.run_until(context, done, deadline))
    }

    /// Sends the oneway in `encoder`, in which the id is still to be filled in. Unless it may be
    /// kept back for a moment, to be sent with others that follow closely, it was handed to the
    /// transport when this returns, where this thread may wait for that.
    ///
    /// # Errors
    /// Why it was not sent.
    pub fn send_oneway(
        self: &Arc<Self>,
        context: &U::Context,
        encoder: &mut Encoder<'_>,
        request: &WrittenRequest,
        clock: &Clock,
    ) -> Result<(), ConnectionFault> {
        if !self.is_open() {
            return Err(ConnectionFault::closed());
        }
        self.activity.note_version(request.version);
        // No reply comes to it, so no other request has to be told from it.
        let id = self.roles.ids.id(ONEWAY_ID);
        request.id_place.set(encoder, id);
        let follows = self.replies.note_request(clock.start);
        let when = match request.when {
            When::Now if request.is_deferred && follows => When::Later,
            when => when,
        };
        let patience = self.asking_patience(context, request.wish);
        self.bound_sending(context, patience, clock);
        let until = clock.deadline();
        let fragment_octets = request.fragment_octets;
        let terms = Terms { fragment_octets, when, patience, until };
        let put = self.sender.put(&self.link, encoder, &terms);
        let put = put.map_err(|fault| self.not_sent(fault))?;
        self.note_oneway();
        match put {
            Put::Kept { is_new, .. } => self.after_keeping(context, is_new, true),
            Put::Waits(end) if !request.is_deferred && patience == Patience::Block => {
                let sent = self.sender.wait_until_sent(&self.link, end, until);
                sent.map_err(|fault| self.not_sent(fault))?;
            }
            Put::Sent | Put::Waits(_) => {}
        }
        self.after_put(context, patience, clock);
        Ok(())
    }
}

/// Copies what `encoder` wrote from `place` on: nothing without arguments, as the padding before
/// them was taken back.
pub fn copy_from(encoder: &Encoder<'_>, place: usize, to: &mut Vec<u8>) {
    let mut skip = place;
    for segment in encoder.segments() {
        to.extend_from_slice(segment.get(skip..).unwrap_or_default());
        skip = skip.saturating_sub(segment.len());
    }
}
