//! One accepted connection: messages are read from it and replies are written to it, by whichever
//! thread has the turn.
//!
//! A message is taken out of the reader before it is dispatched, so that another thread may read
//! on meanwhile; in steady state this swaps two buffers and allocates nothing.

use crate::Orb;
use crate::connection::driver::{self, ReceiveFailure};
use crate::server::crew::Crew;
use crate::server::event_driven::Home;
use crate::server::sending::Sending;
use corbie_cdr::{ByteOrder, CodeSet, CodeSets};
use corbie_giop::{
    Answer, Control, GiopError, MessageReader, OwnedMessage, Protocol, Role, Version,
    close_connection, message_error,
};
use corbie_transport::{Link, PeerAddress, Waiter};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct ServerConnection {
    pub(crate) id: u64,
    pub(crate) link: Link,
    /// How long a message may take from its first octet to its last, either way.
    message_timeout: Option<Duration>,
    /// Lock "reading": held while a thread waits for and takes one message.
    reading: Mutex<Reading>,
    pub(crate) sending: Sending,
    /// The code sets that the client announced: char in the upper, wchar in the lower half.
    code_sets: AtomicU64,
    /// Requests in servants or waiting for their reply to be sent, and [`NO_MORE`]. One word, so
    /// that `CloseConnection`, which says that nothing unanswered was served, is never a lie.
    service: AtomicU32,
    /// The threads that serve it, where it has its own.
    pub(crate) crew: Crew,
    /// The ORB's clock tick of the last message; see `housekeeping`.
    pub(crate) last_message: AtomicU64,
    /// The tick since which a message is incomplete, or [`COMPLETE`].
    pub(crate) incomplete_since: AtomicU64,
    /// The minor version of the client's last message, or GIOPlite's: what we say on our own
    /// account is said in it. Before the first, our highest.
    giop_minor: AtomicU8,
    /// Whether any message has come: until then the time to the first octet counts.
    pub(crate) has_begun: AtomicBool,
    closing: AtomicBool,
    /// Requests whose answer was deferred and is due; see `pending`.
    pub(crate) deferred: AtomicU32,
    /// Reading pauses until [`Home::resume`].
    pub(crate) is_paused: AtomicBool,
    /// No message is read any more; what is in service is still answered.
    has_stopped_reading: AtomicBool,
    /// The event loop that serves it, if one does.
    pub(crate) home: OnceLock<Home>,
}

/// In `service`: no more requests are served; the connection closes with the last reply.
const NO_MORE: u32 = 1 << 31;

/// No message is under way.
pub(crate) const COMPLETE: u64 = u64::MAX;

pub(crate) struct Reading {
    pub(crate) reader: MessageReader,
    waiter: Waiter,
}

/// How an attempt to take a message without waiting ended.
pub(crate) enum Taken {
    /// A message, and whether there may be octets that follow it.
    Message(OwnedMessage, bool),
    /// Not all of it is here.
    NotYet,
}

impl ServerConnection {
    pub(crate) fn new(orb: &Orb, id: u64, link: Link, protocol: Protocol) -> io::Result<Self> {
        let settings = orb.settings();
        // No receive time-out is set: the timer costs every call 0.2 µs. Silent connections are
        // closed by housekeeping, which wakes the thread that waits here.
        link.set_send_timeout(settings.message_timeout)?;
        Ok(ServerConnection {
            id,
            link,
            message_timeout: settings.message_timeout,
            reading: Mutex::new(Reading {
                reader: orb.reader(Role::Server, protocol),
                waiter: Waiter::new(orb.server_wait()),
            }),
            sending: Sending::new(orb),
            code_sets: AtomicU64::new(pack(CodeSets::DEFAULT)),
            service: AtomicU32::new(0),
            crew: Crew::default(),
            last_message: AtomicU64::new(orb.tick()),
            incomplete_since: AtomicU64::new(COMPLETE),
            giop_minor: AtomicU8::new(protocol.version().minor),
            has_begun: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            deferred: AtomicU32::new(0),
            is_paused: AtomicBool::new(false),
            has_stopped_reading: AtomicBool::new(false),
            home: OnceLock::new(),
        })
    }

    /// Whether an event loop can wait for it.
    pub(crate) fn can_be_watched(&self) -> bool {
        self.link.can_be_watched()
    }

    pub(crate) fn peer(&self) -> PeerAddress {
        self.link.peer()
    }

    /// Waits for the next message and takes it out.
    ///
    /// # Errors
    /// Why none came.
    #[inline]
    pub(crate) fn receive(self: &Arc<Self>, orb: &Orb) -> Result<OwnedMessage, ReceiveFailure> {
        let mut guard = self.lock_reading();
        let reading = &mut *guard;
        if self.is_closing() {
            return Err(ReceiveFailure::Closed);
        }
        // A message in pieces leaves its time-out on the link; between messages it says nothing.
        loop {
            match self.receive_next(orb, reading) {
                Err(ReceiveFailure::NothingCame) if !self.is_closing() => {}
                outcome => break outcome?,
            }
        }
        let message = reading.reader.take_message().ok_or(ReceiveFailure::Closed)?;
        self.note_message(orb, message.header().version, false);
        self.note_following(orb, reading.reader.holds_message());
        Ok(message)
    }

    #[inline]
    fn receive_next(&self, orb: &Orb, reading: &mut Reading) -> Result<(), ReceiveFailure> {
        driver::receive_message(&mut reading.reader, &self.link, &mut reading.waiter, || {
            self.note_incomplete(orb, true);
            // The system call is spared when the time-out is what it was.
            self.link.set_receive_timeout(self.message_timeout)?;
            Ok(self.message_timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
        })
    }

    /// Takes the next message out if all of it is here. To be called again when there may be more:
    /// else the link has nothing that was not told by an event. `has_end`: the peer has closed, so
    /// that the end is still to be received when everything else was.
    ///
    /// # Errors
    /// Why none will come.
    pub(crate) fn try_receive(
        self: &Arc<Self>,
        orb: &Orb,
        has_end: bool,
    ) -> Result<Taken, ReceiveFailure> {
        let mut guard = self.lock_reading();
        let reader = &mut guard.reader;
        let mut is_drained = false;
        while reader.next().map_err(ReceiveFailure::Giop)?.is_none() {
            let space = reader.space();
            let room = space.len();
            let received = if is_drained {
                None
            } else {
                self.link.try_receive(space).map_err(ReceiveFailure::Io)?
            };
            match received {
                None => {
                    let is_incomplete = reader.is_mid_message();
                    if !is_incomplete {
                        reader.release(); // An idle connection holds no buffer.
                    }
                    self.note_incomplete(orb, is_incomplete);
                    return Ok(Taken::NotYet);
                }
                Some(0) => {
                    reader.check_end_of_stream().map_err(ReceiveFailure::Giop)?;
                    return Err(ReceiveFailure::Closed);
                }
                Some(octets) => {
                    // What comes after a receive that leaves room is another event.
                    is_drained = octets < room && !has_end;
                    reader.received(octets);
                }
            }
        }
        let message = reader.take_message().ok_or(ReceiveFailure::Closed)?;
        let follows = reader.is_mid_message();
        self.note_message(orb, message.header().version, follows);
        self.note_following(orb, follows && reader.holds_message());
        Ok(Taken::Message(message, follows || !is_drained))
    }

    #[inline]
    fn note_message(&self, orb: &Orb, version: Version, more: bool) {
        let tick = orb.tick();
        // What follows is another message, with a time of its own.
        self.incomplete_since.store(if more { tick } else { COMPLETE }, Ordering::Relaxed);
        self.last_message.store(tick, Ordering::Relaxed);
        self.giop_minor.store(version.minor, Ordering::Relaxed);
        self.has_begun.store(true, Ordering::Relaxed);
    }

    fn version(&self) -> Version {
        Version { minor: self.giop_minor.load(Ordering::Relaxed), ..Version::V1_2 }
    }

    #[inline]
    fn note_incomplete(&self, orb: &Orb, is_incomplete: bool) {
        if !is_incomplete {
            self.incomplete_since.store(COMPLETE, Ordering::Relaxed);
        } else if self.incomplete_since.load(Ordering::Relaxed) == COMPLETE {
            self.incomplete_since.store(orb.tick(), Ordering::Relaxed);
        }
    }

    /// A request begins to be served; `None` when none may any more, so that the client sends it
    /// again elsewhere. Keep it until the reply was sent.
    #[inline]
    pub(crate) fn begin_request(&self) -> Option<InService<'_>> {
        let before = self.service.fetch_add(1, Ordering::AcqRel);
        let in_service = InService(self);
        (before & NO_MORE == 0).then_some(in_service)
    }

    /// A request in service stays so until [`ServerConnection::end_request`] beyond its upcall.
    #[inline]
    pub(crate) fn keep_in_service(&self) {
        self.service.fetch_add(1, Ordering::AcqRel);
    }

    /// A request is not in service any more; the last one closes a connection that is to close.
    #[inline]
    pub(crate) fn end_request(&self) {
        if self.service.fetch_sub(1, Ordering::AcqRel) == NO_MORE | 1 {
            self.close_orderly();
        }
    }

    /// Whether a request is in a servant or its reply is due or being sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.service.load(Ordering::Acquire) & !NO_MORE != 0
    }

    /// Closes in the orderly way unless a request is being served; whether it is closing now.
    pub(crate) fn close_if_idle(&self) -> bool {
        if self.sending.waits() {
            return self.is_closing(); // A reply is still to be taken by the peer.
        }
        let idle =
            self.service.compare_exchange(0, NO_MORE, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if idle {
            self.close_orderly();
        }
        idle || self.is_closing()
    }

    /// Closes in the orderly way as soon as the requests that are being served have their replies.
    pub(crate) fn close_when_served(&self) {
        if self.service.fetch_or(NO_MORE, Ordering::AcqRel) & !NO_MORE == 0 {
            self.close_orderly();
        }
    }

    /// Tells the peer what was wrong, as far as it can be told, and closes.
    pub(crate) fn refuse(&self, error: &GiopError) {
        tracing::warn!(peer = %self.peer(), %error, "connection closed: the peer sent bad octets");
        let version = error.answer_version(self.version());
        let farewell = match error.answer() {
            Answer::MessageError => Some(message_error(version, ByteOrder::NATIVE)),
            Answer::CloseConnection => Some(close_connection(version, ByteOrder::NATIVE)),
            Answer::Nothing => None,
        };
        self.close(farewell);
    }

    /// Closes in the orderly way: the client may send unanswered requests again elsewhere
    /// (CORBA 3.3 P2 §9.4.7).
    fn close_orderly(&self) {
        self.close(Some(close_connection(self.version(), ByteOrder::NATIVE)));
    }

    /// Closes after sending `farewell`. Only the first call does anything.
    pub(crate) fn close(&self, farewell: Option<Control>) {
        if self.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.send_last(farewell);
        self.crew.dismiss();
    }

    /// Nothing is read for now: that a message is incomplete is not the peer's fault.
    pub(crate) fn excuse_peer(&self) {
        self.incomplete_since.store(COMPLETE, Ordering::Relaxed);
    }

    /// Closes without a word, also when last words wait to be taken.
    pub(crate) fn cut(&self) {
        self.close(None);
        self.shut();
    }

    pub(crate) fn stop_reading(&self) {
        self.has_stopped_reading.store(true, Ordering::Release);
    }

    pub(crate) fn has_stopped_reading(&self) -> bool {
        self.has_stopped_reading.load(Ordering::Acquire)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(crate) fn code_sets(&self) -> CodeSets {
        let packed = self.code_sets.load(Ordering::Relaxed);
        CodeSets { char_data: CodeSet((packed >> 32) as u32), wchar_data: CodeSet(packed as u32) }
    }

    pub(crate) fn set_code_sets(&self, code_sets: CodeSets) {
        self.code_sets.store(pack(code_sets), Ordering::Relaxed);
    }

    fn lock_reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request being served, until dropped.
pub(crate) struct InService<'c>(&'c ServerConnection);

impl Drop for InService<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.end_request();
    }
}

fn pack(code_sets: CodeSets) -> u64 {
    u64::from(code_sets.char_data.0) << 32 | u64::from(code_sets.wchar_data.0)
}
