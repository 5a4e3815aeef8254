//! Which thread reads a connection, and what it does with what comes.
//!
//! One thread at a time reads: that of an event loop, one of the connection's own, or one that
//! waits for a reply and delivers those of others meanwhile. An upcall is made after the message
//! was taken out and the right to read was given back, so it may call over the same connection.

use super::notes::Note;
use super::{Call, Connection, Context, Slot as _, User};
use crate::{ReceiveFailure, Received, SendFault, WhatComes, WhatIsHere, receive};
use corbie_giop::{Incoming, LocateStatus, MessageReader, OwnedMessage, Replied, ReplyStatus};
use corbie_threads::reactor::{Next, Source, Turn};
use corbie_threads::thread::Patience;
use corbie_transport::Waiter;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// After so many messages in a row other connections get their turn.
const MESSAGES_PER_TURN: u32 = 256;

/// What the thread has that reads.
pub struct Reading {
    reader: MessageReader,
    waiter: Waiter,
}

/// A thread among the followers, until dropped.
pub struct Follower<'c, U: User> {
    connection: &'c Connection<U>,
    slot: &'c Arc<<U::Call as Call>::Slot>,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// The whole message.
    pub message: OwnedMessage,
    /// What it says.
    pub status: AnswerStatus,
    /// Where the body begins within the message.
    pub body: usize,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStatus {
    /// It is a Reply.
    Reply(ReplyStatus),
    /// It is a LocateReply.
    Locate(LocateStatus),
}

/// A message that was taken out of the reader.
#[derive(Debug)]
pub struct Arrived {
    /// The whole message.
    pub message: OwnedMessage,
    /// What it is.
    pub incoming: Incoming,
}

/// What came, to be handled with the right to read given back.
enum Came<C> {
    /// A Request, LocateRequest or CancelRequest.
    Request(Arrived),
    /// The answer to a request, which is not among the pending any more.
    Answer(C, Answer),
    /// The peer closes in order; what was pending. Closed while this thread alone reads: another
    /// one would take the end of the stream for a break.
    CloseConnection(Vec<C>),
    /// Nothing that any thread waits for.
    Unknown,
}

/// What came, and whether there may be more.
type CameSoon<U> = (Came<<U as User>::Call>, bool);

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
        Reading { reader, waiter }
    }
}

impl<U: User> Connection<U> {
    /// Takes the next message that is here or can be received without waiting, and whether there
    /// may be more.
    fn try_next(
        &self,
        context: &U::Context,
        Reading { reader, .. }: &mut Reading,
        has_end: bool,
    ) -> Result<Option<CameSoon<U>>, ReceiveFailure> {
        let received = receive(reader, &mut WhatIsHere::of(&self.link, has_end))?;
        let Received::Message { is_drained } = received else {
            if reader.is_mid_message() {
                self.activity.note_part(context.tick());
            } else {
                reader.release(); // An idle connection holds no buffer.
                self.activity.excuse_peer();
            }
            return Ok(None);
        };
        let came = self.match_up(self.take_out(context, reader, true)?)?;
        Ok(Some((came, reader.is_mid_message() || !is_drained)))
    }

    /// Takes the message that was read out of the reader.
    #[inline]
    fn take_out(
        &self,
        context: &U::Context,
        reader: &mut MessageReader,
        in_loop: bool,
    ) -> Result<Arrived, ReceiveFailure> {
        let message = reader.current().ok_or(ReceiveFailure::Closed)?;
        let (incoming, version) = (self.roles.incoming(&message)?, message.header.version);
        if self.roles.answers {
            let follows = reader.is_mid_message();
            let tick = context.tick();
            // Other messages give one that is in fragments no more time.
            let awaited = match reader.oldest_incomplete() {
                None if follows && in_loop => Some(tick),
                oldest => oldest,
            };
            self.activity.note_message(tick, version, awaited);
            self.note_following(follows && reader.holds_message());
        }
        let message = reader.take_message().ok_or(ReceiveFailure::Closed)?;
        Ok(Arrived { message, incoming })
    }

    /// Takes the request that waited for the message out of the pending. A thread that waits for it
    /// learns that before the right to read is given back: so a thread that has the right, and
    /// finds its request pending here, does not wait in vain.
    fn match_up(&self, arrived: Arrived) -> Result<Came<U::Call>, ReceiveFailure> {
        match arrived.incoming {
            Incoming::Request | Incoming::LocateRequest | Incoming::CancelRequest => {
                Ok(Came::Request(arrived))
            }
            Incoming::Reply | Incoming::LocateReply => self.answered(arrived),
            Incoming::CloseConnection => Ok(Came::CloseConnection(self.closed_by_peer())),
        }
    }

    fn answered(
        &self,
        Arrived { message, incoming }: Arrived,
    ) -> Result<Came<U::Call>, ReceiveFailure> {
        let (id, status, body) = if incoming == Incoming::Reply {
            let (header, decoder) = message.as_message().reply()?;
            (header.request_id, AnswerStatus::Reply(header.status), decoder.position())
        } else {
            let (header, decoder) = message.as_message().locate_reply()?;
            (header.request_id, AnswerStatus::Locate(header.status), decoder.position())
        };
        let call = match self.replies.take(id, !status.is_final()) {
            Replied::To(call) => call,
            unexpected => {
                U::ignored(self, id, matches!(unexpected, Replied::Late));
                return Ok(Came::Unknown);
            }
        };
        if let Some(slot) = call.slot() {
            slot.note_taken();
        }
        Ok(Came::Answer(call, Answer { message, status, body }))
    }

    /// For a thread of the connection's own that has the right to read: waits for the next message
    /// and takes it out. What is no request is for [`Connection::handle_other`].
    ///
    /// # Errors
    /// Why none came.
    #[inline]
    pub fn receive(
        &self,
        context: &U::Context,
        Reading { reader, waiter }: &mut Reading,
    ) -> Result<Arrived, ReceiveFailure> {
        let begun = || {
            self.activity.note_part(context.tick());
            let timeout = context.settings().message_timeout;
            // The system call is spared when the time-out is what it was.
            self.link.set_receive_timeout(timeout)?;
            Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
        };
        // A message in pieces leaves its time-out on the link; between messages it says nothing.
        loop {
            if self.is_ending() {
                return Err(ReceiveFailure::Closed);
            }
            match receive(reader, &mut WhatComes::over(&self.link, waiter, begun)) {
                Err(ReceiveFailure::NothingCame) => {}
                Err(failure) => return Err(failure),
                Ok(_) => return self.take_out(context, reader, false),
            }
        }
    }

    /// Handles a message that is no request, for a thread of the connection's own.
    #[cold]
    pub fn handle_other(
        self: &Arc<Self>,
        context: &U::Context,
        reading: MutexGuard<'_, Reading>,
        arrived: Arrived,
    ) {
        let came = self.match_up(arrived);
        self.give_back(reading);
        match came {
            Ok(came) => drop(self.handle(context, came, None)),
            Err(failure) => self.broke(&failure),
        }
    }

    /// Whether nothing that comes is of any use.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.is_ending() || (!self.roles.asks && self.life.has_declined())
    }

    /// Waits until `until` at most for a message, and handles it; `false`: another thread reads. A
    /// thread that waits for a reply calls this again and again; `is_pending` tells whether its
    /// request still is.
    pub fn read_one(
        self: &Arc<Self>,
        context: &U::Context,
        until: Option<Instant>,
        is_pending: impl Fn() -> bool,
    ) -> bool {
        self.read_within(context, until.map(wait_before), until, is_pending)
    }

    /// As [`Connection::read_one`], for a thread that has looked at the clock: waits `timeout` at
    /// most for the first octets.
    fn read_within(
        self: &Arc<Self>,
        context: &U::Context,
        timeout: Option<Duration>,
        until: Option<Instant>,
        is_pending: impl Fn() -> bool,
    ) -> bool {
        let Some(mut reading) = self.try_read() else { return false };
        if !is_pending() {
            self.give_back(reading);
            return true;
        }
        if self.notes.has(Note::Awake) {
            self.notes.take(Note::Awake);
        }
        let taken = self.flush_for_reader(context).and_then(|()| {
            let Reading { reader, waiter } = &mut *reading;
            self.link.set_receive_timeout(timeout).map_err(ReceiveFailure::Io)?;
            receive(reader, &mut WhatComes::over(&self.link, waiter, || Ok(until)))?;
            let came = self.match_up(self.take_out(context, reader, false)?)?;
            if reader.is_mid_message() || self.link.has_input() {
                // More came with it, for which there may be no event: the octets are here already.
                self.notes.set(Note::Missed);
            }
            Ok(came)
        });
        self.give_back(reading);
        match taken {
            Ok(came) => drop(self.handle(context, came, None)),
            // What is here of a message stays; others may have the time for the rest.
            Err(ReceiveFailure::NothingCame | ReceiveFailure::TooSlow) => {}
            Err(failure) => self.broke(&failure),
        }
        true
    }

    fn flush_for_reader(self: &Arc<Self>, context: &U::Context) -> Result<(), ReceiveFailure> {
        self.sender.flush_all(&self.link, Patience::Queue).map_err(|fault| match fault {
            SendFault::Failed(error) | SendFault::Unknown(error) => ReceiveFailure::Io(error),
            _ => ReceiveFailure::Closed,
        })?;
        if self.sender.waits() {
            // This thread cannot send while it receives, and the server may want the rest first.
            self.expect_flush(context);
        }
        Ok(())
    }

    /// The right to read, unless a thread has it.
    #[inline]
    fn try_read(&self) -> Option<MutexGuard<'_, Reading>> {
        let reading = self.reading.try_take()?;
        if self.roles.asks {
            self.notes.set(Note::Read);
        }
        Some(reading)
    }

    /// Others may read from now on: a follower, or the event loop.
    #[inline]
    fn give_back(&self, reading: MutexGuard<'_, Reading>) {
        if !self.roles.asks {
            return drop(reading);
        }
        // In this order: a thread that leaves word, and finds the note afterwards, is seen below.
        self.notes.take(Note::Read);
        drop(reading);
        self.call_follower();
        if self.notes.has(Note::Missed) && self.notes.take(Note::Missed) {
            self.read_again();
        }
    }

    fn call_follower(&self) {
        let next = self.followers.lock().pop();
        if let Some(next) = next {
            next.wake();
        }
    }

    /// A thread that followed does not wait any more. It may have been called to read, which
    /// another one does then.
    pub fn call_another(&self) {
        if !self.notes.has(Note::Read) {
            self.call_follower();
        }
    }

    /// This thread is to be woken when no thread reads any more; `None`: that is so already.
    pub fn follow<'c>(&'c self, slot: &'c Arc<<U::Call as Call>::Slot>) -> Option<Follower<'c, U>> {
        self.followers.lock().push(Arc::clone(slot));
        let follower = Follower { connection: self, slot };
        self.notes.has(Note::Read).then_some(follower)
    }

    /// Handles what came, with the right to read given back. `turn`: that of the event loop that
    /// read it, and whether there is more. What the loop is to do next, if a request came.
    #[inline]
    fn handle(
        self: &Arc<Self>,
        context: &U::Context,
        came: Came<U::Call>,
        turn: Option<(&mut Turn<'_, U::Context>, bool)>,
    ) -> Option<Next> {
        if let Came::Request(Arrived { message, incoming }) = came {
            return Some(U::request(self, context, message, incoming, turn));
        }
        if let Some((turn, more)) = turn {
            turn.release(more);
        }
        match came {
            Came::Answer(call, answer) => U::reply(self, context, call, answer),
            Came::CloseConnection(unserved) => {
                self.fail_all(unserved, &|| crate::ConnectionFault::ClosedInOrder);
            }
            Came::Request(_) | Came::Unknown => {}
        }
        None
    }

    /// Takes and handles what is here, for a thread that looks for a reply. Nothing when another
    /// one reads. `has_end`: the peer is known to have closed.
    pub fn read_available(self: &Arc<Self>, context: &U::Context, has_end: bool) {
        for _ in 0..MESSAGES_PER_TURN {
            if self.has_stopped() {
                return;
            }
            let Some(mut reading) = self.try_read() else { return };
            let taken = self.try_next(context, &mut reading, has_end);
            self.give_back(reading);
            match taken {
                Ok(None) => return self.flush(),
                Ok(Some((came, _))) => drop(self.handle(context, came, None)),
                Err(failure) => return self.broke(&failure),
            }
        }
    }

    /// Takes and handles what is here, for an event loop.
    fn read_ready(self: &Arc<Self>, context: &U::Context, turn: &mut Turn<'_, U::Context>) -> Next {
        for _ in 0..MESSAGES_PER_TURN {
            if self.is_ending() {
                return self.leave_when_said(context, turn.has_end());
            }
            if self.has_stopped() || (self.roles.answers && !U::may_read(self, context, turn)) {
                return Next::Wait;
            }
            let Some(mut reading) = self.try_read() else {
                self.notes.set(Note::Missed);
                // Unless it was given back before that note.
                match self.notes.has(Note::Read) {
                    true => return Next::Wait,
                    false if self.roles.asks => continue,
                    false => return Next::Again,
                }
            };
            let taken = self.try_next(context, &mut reading, turn.has_end());
            self.give_back(reading);
            match taken {
                Ok(None) => return Next::Wait,
                Ok(Some((came, more))) => {
                    if let Some(next) = self.handle(context, came, Some((turn, more))) {
                        return next;
                    }
                    if !more || self.roles.answers {
                        return Next::Wait;
                    }
                }
                Err(failure) => {
                    turn.release(false);
                    self.broke(&failure);
                    return self.leave_when_said(context, turn.has_end());
                }
            }
        }
        Next::Again
    }
}

impl AnswerStatus {
    /// Whether the request is not sent again after it.
    fn is_final(self) -> bool {
        match self {
            AnswerStatus::Reply(status) => {
                matches!(status, ReplyStatus::NoException | ReplyStatus::UserException)
            }
            AnswerStatus::Locate(status) => status == LocateStatus::ObjectHere,
        }
    }
}

impl<U: User> Source<U::Context> for Connection<U> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.link.descriptor()
    }

    fn handle_input(
        self: Arc<Self>,
        context: &U::Context,
        turn: &mut Turn<'_, U::Context>,
    ) -> Next {
        if !self.roles.asks {
            return self.read_ready(context, turn);
        }
        self.notes.set(Note::Awake);
        self.flush();
        let next = self.read_ready(context, turn);
        // In this order: a thread that keeps something back looks afterwards whether this one is
        // awake.
        self.notes.take(Note::Awake);
        self.flush();
        next
    }

    fn handle_output(&self, context: &U::Context) {
        if !self.notes.has(Note::Awake) {
            self.flush();
        }
        if self.roles.answers {
            U::has_room(self, context);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.replies.next_deadline()
    }

    fn handle_timeout(self: Arc<Self>, _context: &U::Context, now: Instant) {
        self.expire(now);
    }

    fn wait_here(self: Arc<Self>, context: &U::Context, timeout: Duration, until: Instant) -> bool {
        // A request whose time is over is ended by the event loop, which looks at the clock.
        // Without a request nothing comes here that is worth waiting for.
        !self.roles.answers
            && self.replies.all_wait_until(until)
            && self.is_open()
            && self.read_within(context, Some(timeout), Some(until), || self.replies.len() > 0)
    }
}

impl<U: User> Drop for Follower<'_, U> {
    fn drop(&mut self) {
        let mut followers = self.connection.followers.lock();
        followers.retain(|follower| !Arc::ptr_eq(follower, self.slot));
    }
}
