//! Who reads a shared connection, and how a reply gets from its octets to whom it is for.
//!
//! One thread at a time reads: the event loop's, or one that waits for a reply of its own and
//! delivers those of others meanwhile. An upcall is made after the message was taken out and the
//! right to read was given back, so a handler may call over the same connection.

use super::MuxedConnection;
use crate::Orb;
use crate::client::deliver;
use crate::client::{AwaitedCall, OwnedReply, ReplySlot};
use crate::reactor::Turn;
use corbie_connection::{ReceiveFailure, Received, SendFault, WhatComes, WhatIsHere, receive};
use corbie_giop::{Incoming, MessageReader, OwnedMessage, Replied, ReplyStatus};
use corbie_threads::lock::{Taken, Token};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::{Patience, deliveries, enter_delivery};
use corbie_transport::Waiter;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After so many messages in a row other connections get their turn.
const MESSAGES_PER_TURN: u32 = 256;

/// The reading side of a connection.
pub(crate) struct Reading {
    /// The right to read.
    token: Token<State>,
    /// [`AWAKE`] and [`MISSED`].
    notes: AtomicU8,
    /// Lock "followers": threads that wait for a reply while another one reads.
    followers: Mutex<Vec<Arc<ReplySlot>>>,
}

/// The thread that reads is awake: it flushes before it waits.
const AWAKE: u8 = 1;
/// The event loop found the right taken: it is to be called when the right is given back.
const MISSED: u8 = 1 << 1;

struct State {
    reader: MessageReader,
    waiter: Waiter,
}

/// A thread among the followers, until dropped.
pub(crate) struct Follower<'c> {
    connection: &'c MuxedConnection,
    waiting: &'c Arc<ReplySlot>,
}

/// How an attempt to take a message ended.
#[expect(clippy::large_enum_variant, reason = "lives on the stack; a box would cost each reply")]
enum Attempt {
    Message(Came, More),
    /// Nothing is there now.
    Nothing,
}

/// What came, with the right to read given back: to be delivered.
#[expect(clippy::large_enum_variant, reason = "lives on the stack; a box would cost each reply")]
enum Came {
    /// The reply to a request, which is not among the pending any more.
    Reply { request: AwaitedCall, message: OwnedMessage, status: ReplyStatus, body: usize },
    /// The server closes in order; what was pending. Closed while this thread alone reads: another
    /// one would take the end of the stream for a break.
    CloseConnection(Vec<AwaitedCall>),
    /// Nothing that anybody waits for.
    Unknown,
}

/// Whether more may be there to take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Surely,
    Hardly,
}

thread_local! {
    /// Replies that came when this thread was in too many upcalls with replies, in their order.
    static ASIDE: RefCell<VecDeque<(Orb, Taking)>> = const { RefCell::new(VecDeque::new()) };
}

/// A reply on its way to the sink of its request, which is not among the pending any more.
struct Taking {
    request: AwaitedCall,
    reply: OwnedReply,
    status: ReplyStatus,
    body: usize,
}

impl Taking {
    fn deliver(self, orb: &Orb) {
        let _delivery = enter_delivery();
        deliver::reply(orb, self.request, self.reply, self.status, self.body);
    }
}

/// How long to wait at most before looking at the clock again: about half of the time until
/// `until`, in steps, so that the system need not be told another time for every call.
fn wait_before(until: Instant) -> Duration {
    const EXACT: Duration = Duration::from_micros(500);
    let left = until.saturating_duration_since(Instant::now());
    let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
    if left < EXACT { left } else { Duration::from_millis(1 << (milliseconds.ilog2())) }
}

impl Reading {
    pub(super) fn new(reader: MessageReader, waiter: Waiter) -> Self {
        Reading {
            token: Token::new(State { reader, waiter }),
            notes: AtomicU8::new(0),
            followers: Mutex::default(),
        }
    }

    #[inline]
    pub(super) fn is_awake(&self) -> bool {
        self.notes.load(Ordering::SeqCst) & AWAKE != 0
    }

    fn set(&self, note: u8) {
        self.notes.fetch_or(note, Ordering::SeqCst);
    }

    /// Takes a note away; whether it was there.
    fn take(&self, note: u8) -> bool {
        self.notes.fetch_and(!note, Ordering::SeqCst) & note != 0
    }

    fn lock_followers(&self) -> MutexGuard<'_, Vec<Arc<ReplySlot>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MuxedConnection {
    /// Takes the next message that is here or can be received without waiting.
    fn try_next(&self, state: &mut State, has_end: bool) -> Result<Attempt, ReceiveFailure> {
        let reader = &mut state.reader;
        let received = receive(reader, &mut WhatIsHere::of(&self.link, has_end))?;
        let Received::Message { is_drained } = received else { return Ok(Attempt::Nothing) };
        let came = self.take_out(reader)?;
        let more = if reader.is_mid_message() || !is_drained { More::Surely } else { More::Hardly };
        Ok(Attempt::Message(came, more))
    }

    /// Takes the message that was read out of the reader, and the request that waited for it out of
    /// the pending. A thread that waits for it learns that before the right to read is given back:
    /// so who has the right, and finds its request pending here, does not wait in vain.
    fn take_out(&self, reader: &mut MessageReader) -> Result<Came, ReceiveFailure> {
        let message = reader.take_message().ok_or(ReceiveFailure::Closed)?;
        match reader.roles().incoming(&message.as_message()).map_err(ReceiveFailure::Giop)? {
            Incoming::Reply => {}
            Incoming::CloseConnection => return Ok(Came::CloseConnection(self.close())),
            other => {
                tracing::debug!(?other, endpoint = %self.endpoint, "not asked for");
                return Err(ReceiveFailure::Closed);
            }
        }
        let (id, status, body) = {
            let (header, decoder) = message.as_message().reply().map_err(ReceiveFailure::Giop)?;
            (header.request_id, header.status, decoder.position())
        };
        let is_final = matches!(status, ReplyStatus::NoException | ReplyStatus::UserException);
        let request = match self.pending.take(id, !is_final) {
            Replied::To(request) => request,
            unexpected => {
                let is_late = matches!(unexpected, Replied::Late);
                tracing::debug!(id, is_late, endpoint = %self.endpoint, "a reply is ignored");
                return Ok(Came::Unknown);
            }
        };
        self.oneways_confirmed.fetch_max(request.oneways_before, Ordering::SeqCst);
        if let Some(waiting) = request.sink.as_slot() {
            waiting.note_taken();
        }
        Ok(Came::Reply { request, message, status, body })
    }

    /// Waits until `until` at most for a message to be delivered, and delivers it; `false`: another
    /// thread reads. A thread that waits for a reply calls this again and again; `is_pending` tells
    /// whether its request still is.
    pub(crate) fn read_one(
        &self,
        orb: &Orb,
        until: Option<Instant>,
        is_pending: impl Fn() -> bool,
    ) -> bool {
        self.read_within(orb, until.map(wait_before), until, is_pending)
    }

    /// As [`MuxedConnection::read_one`], for a thread that has looked at the clock: waits `timeout`
    /// at most for the first octets.
    fn read_within(
        &self,
        orb: &Orb,
        timeout: Option<Duration>,
        until: Option<Instant>,
        is_pending: impl Fn() -> bool,
    ) -> bool {
        let Some(mut state) = self.reading.token.try_take() else { return false };
        if !is_pending() {
            self.give_back(state);
            return true;
        }
        self.reading.take(AWAKE);
        let taken = self.flush_for_reader(orb).and_then(|()| {
            let State { reader, waiter } = &mut *state;
            self.link.set_receive_timeout(timeout).map_err(ReceiveFailure::Io)?;
            receive(reader, &mut WhatComes::over(&self.link, waiter, || Ok(until)))?;
            let came = self.take_out(reader)?;
            if reader.is_mid_message() || self.link.has_input() {
                // More came with it, for which there may be no event: the octets are here already.
                self.reading.set(MISSED);
            }
            Ok(came)
        });
        self.give_back(state);
        match taken {
            Ok(came) => self.deliver(orb, came),
            // What is here of a message stays; others may have the time for the rest.
            Err(ReceiveFailure::NothingCame | ReceiveFailure::TooSlow) => {}
            Err(failure) => self.broke(&failure),
        }
        true
    }

    fn flush_for_reader(&self, orb: &Orb) -> Result<(), ReceiveFailure> {
        self.sender.flush_all(&self.link, Patience::Queue).map_err(|fault| match fault {
            SendFault::Failed(error) | SendFault::Unknown(error) => ReceiveFailure::Io(error),
            _ => ReceiveFailure::Closed,
        })?;
        if self.sender.waits() {
            // This thread cannot send while it receives, and the server may want the rest first.
            orb.flusher().expect();
        }
        Ok(())
    }

    /// Others may read from now on: a follower, or the event loop.
    fn give_back(&self, state: Taken<'_, State>) {
        drop(state);
        self.call_follower();
        if self.reading.take(MISSED) {
            self.read_again();
        }
    }

    fn call_follower(&self) {
        let next = self.reading.lock_followers().pop();
        if let Some(next) = next {
            next.wake();
        }
    }

    /// A thread that followed does not wait any more. It may have been called to read, which
    /// another one does then.
    pub(crate) fn call_another(&self) {
        if !self.reading.token.is_taken() {
            self.call_follower();
        }
    }

    /// This thread is to be woken when nobody reads any more; `None`: that is so already.
    pub(crate) fn follow<'c>(&'c self, waiting: &'c Arc<ReplySlot>) -> Option<Follower<'c>> {
        self.reading.lock_followers().push(Arc::clone(waiting));
        let follower = Follower { connection: self, waiting };
        self.reading.token.is_taken().then_some(follower)
    }

    /// Delivers what came.
    fn deliver(&self, orb: &Orb, came: Came) {
        match came {
            Came::Reply { request, message, status, body } => {
                let Some(itself) = self.itself.upgrade() else { return };
                let reply = OwnedReply::new(message, itself);
                let is_upcall = request.sink.as_slot().is_none();
                Self::deliver_reply(orb, Taking { request, reply, status, body }, is_upcall);
            }
            Came::CloseConnection(unserved) => self.closed_orderly(unserved),
            Came::Unknown => {}
        }
    }

    /// Upcalls that wait for replies of their own are nested in one another, which takes stack:
    /// beyond `nested_upcalls_max` the replies for others wait until one of them has ended.
    fn deliver_reply(orb: &Orb, reply: Taking, is_upcall: bool) {
        let most = orb.settings().nested_upcalls_max;
        if is_upcall && deliveries() >= most {
            return ASIDE.with_borrow_mut(|aside| aside.push_back((orb.clone(), reply)));
        }
        reply.deliver(orb);
        while deliveries() < most
            && let Some((orb, next)) = ASIDE.with_borrow_mut(VecDeque::pop_front)
        {
            next.deliver(&orb);
        }
    }

    /// Takes and delivers what is there, for a thread that looks for a reply. Nothing when another
    /// one reads.
    pub(crate) fn read_available(&self, orb: &Orb) {
        for _ in 0..MESSAGES_PER_TURN {
            if !self.is_open() {
                return;
            }
            let Some(mut state) = self.reading.token.try_take() else { return };
            let taken = self.try_next(&mut state, false);
            self.give_back(state);
            match taken {
                Ok(Attempt::Nothing) => return self.flush(),
                Ok(Attempt::Message(came, _)) => self.deliver(orb, came),
                Err(failure) => return self.broke(&failure),
            }
        }
    }

    /// Takes and delivers what is there, for the event loop.
    fn read_ready(&self, orb: &Orb, turn: &mut Turn<'_>) -> Next {
        for _ in 0..MESSAGES_PER_TURN {
            let Some(mut state) = self.reading.token.try_take() else {
                self.reading.set(MISSED);
                // Unless it was given back before that note.
                if self.reading.token.is_taken() {
                    return Next::Wait;
                }
                continue;
            };
            let taken = self.try_next(&mut state, turn.has_end());
            self.give_back(state);
            match taken {
                Ok(Attempt::Nothing) => return Next::Wait,
                Ok(Attempt::Message(came, more)) => {
                    turn.release(more == More::Surely);
                    self.deliver(orb, came);
                    if more == More::Hardly {
                        return Next::Wait;
                    }
                }
                Err(failure) => {
                    turn.release(false);
                    self.broke(&failure);
                    return Next::Remove;
                }
            }
            if !self.is_open() {
                return Next::Remove;
            }
        }
        Next::Again
    }
}

impl Source<Orb> for MuxedConnection {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.link.descriptor()
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, turn: &mut Turn<'_>) -> Next {
        self.reading.set(AWAKE);
        self.flush();
        let next = self.read_ready(orb, turn);
        // In this order: who keeps something back looks afterwards whether we are awake.
        self.reading.take(AWAKE);
        self.flush();
        next
    }

    fn handle_output(&self, _orb: &Orb) {
        if !self.reading.is_awake() {
            self.flush();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.pending.next_deadline()
    }

    fn handle_timeout(self: Arc<Self>, _orb: &Orb, now: Instant) {
        self.expire(now);
    }

    fn wait_here(&self, orb: &Orb, timeout: Duration, until: Instant) -> bool {
        let is_pending = || self.pending.len() > 0;
        // Whose time is over is told by the event loop, which looks at the clock.
        let is_due = self.pending.next_deadline().is_some_and(|deadline| deadline <= until);
        // Without a request nothing comes here that is worth waiting for.
        !is_due
            && self.is_open()
            && is_pending()
            && self.read_within(orb, Some(timeout), Some(until), is_pending)
    }
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        let mut followers = self.connection.reading.lock_followers();
        followers.retain(|follower| !Arc::ptr_eq(follower, self.waiting));
    }
}
