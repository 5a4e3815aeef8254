//! One accepted connection: messages are read from it and replies are written to it, by whichever
//! thread has the turn.
//!
//! A message is taken out of the reader before it is dispatched, so that another thread may read
//! on meanwhile; in steady state this swaps two buffers and allocates nothing.

use crate::Orb;
use crate::server::activity::Activity;
use crate::server::sending;
use corbie_cdr::{ByteOrder, CodeSet, CodeSets};
use corbie_connection::{ReceiveFailure, Received, Sender, WhatComes, WhatIsHere, receive};
use corbie_giop::{
    Control, GiopError, Life, MessageReader, OwnedMessage, Protocol, Roles, Stage, close_connection,
};
use corbie_settings::ServerConcurrency;
use corbie_threads::connection_threads::ConnectionThreads;
use corbie_threads::lock::PlainToken;
use corbie_threads::thread::{Patience, Registration};
use corbie_transport::{Link, PeerAddress, Waiter};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub(crate) struct ServerConnection {
    pub(crate) id: u64,
    pub(crate) link: Link,
    /// Of the thread that waits for and takes one message.
    pub(crate) reading: PlainToken<Reading>,
    pub(crate) sender: Sender,
    /// What the threads that serve it do about a peer that takes nothing: they wait where they are
    /// its own, and not where an event loop tells when the peer takes more.
    pub(crate) patience: Patience,
    /// Whether more whole requests are in the reader: the thread that serves the last flushes.
    pub(super) is_batching: AtomicBool,
    /// The code sets that the client announced: char in the upper, wchar in the lower half.
    code_sets: AtomicU64,
    /// How far it is, and how many requests are in service.
    pub(crate) life: Life,
    /// The threads that serve it, where it has its own.
    pub(crate) threads: Option<Box<ConnectionThreads>>,
    /// What the client was last heard to say. What we say on our own account is said in its
    /// version.
    pub(crate) activity: Activity,
    /// Requests whose answer was deferred and is due; see `due_responses`.
    pub(crate) deferred: AtomicU32,
    /// Reading pauses until [`Registration::again`].
    pub(crate) is_paused: AtomicBool,
    /// The event loop that serves it, if one does.
    pub(crate) registration: OnceLock<Registration>,
}

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
        let has_own_threads = has_own_threads(orb, &link);
        let patience = if has_own_threads { Patience::Block } else { Patience::Queue };
        Ok(ServerConnection {
            id,
            link,
            reading: PlainToken::new(Reading {
                reader: orb.reader(Roles::SERVER, protocol),
                waiter: Waiter::new(orb.server_wait()),
            }),
            sender: sending::sender(orb),
            patience,
            is_batching: AtomicBool::new(false),
            code_sets: AtomicU64::new(pack(CodeSets::DEFAULT)),
            life: Life::new(),
            threads: has_own_threads.then(|| Box::new(ConnectionThreads::new(orb.stand_ins()))),
            activity: Activity::new(orb.tick(), protocol.version()),
            deferred: AtomicU32::new(0),
            is_paused: AtomicBool::new(false),
            registration: OnceLock::new(),
        })
    }

    pub(crate) fn peer(&self) -> PeerAddress {
        self.link.peer()
    }

    /// Waits for the next message and takes it out.
    ///
    /// # Errors
    /// Why none came.
    #[inline]
    pub(crate) fn receive(
        self: &Arc<Self>,
        orb: &Orb,
        reading: &mut Reading,
    ) -> Result<OwnedMessage, ReceiveFailure> {
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
        let awaited = reading.reader.oldest_incomplete();
        self.activity.note_message(orb.tick(), message.header().version, awaited);
        self.note_following(reading.reader.holds_message());
        Ok(message)
    }

    #[inline]
    fn receive_next(&self, orb: &Orb, reading: &mut Reading) -> Result<(), ReceiveFailure> {
        let begun = || {
            self.activity.note_part(orb.tick());
            let timeout = orb.settings().message_timeout;
            // The system call is spared when the time-out is what it was.
            self.link.set_receive_timeout(timeout)?;
            Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
        };
        let mut from = WhatComes::over(&self.link, &mut reading.waiter, begun);
        receive(&mut reading.reader, &mut from).map(drop)
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
        // Of several threads that serve it, only the one that has the turn comes here.
        let Some(mut reading) = self.reading.try_take() else { return Ok(Taken::NotYet) };
        let reader = &mut reading.reader;
        let received = receive(reader, &mut WhatIsHere::of(&self.link, has_end))?;
        let Received::Message { is_drained } = received else {
            if reader.is_mid_message() {
                self.activity.note_part(orb.tick());
            } else {
                reader.release(); // An idle connection holds no buffer.
                self.activity.excuse_peer();
            }
            return Ok(Taken::NotYet);
        };
        let message = reader.take_message().ok_or(ReceiveFailure::Closed)?;
        let follows = reader.is_mid_message();
        let tick = orb.tick();
        // Other messages give one that is in fragments no more time.
        let awaited = follows.then(|| reader.oldest_incomplete().unwrap_or(tick));
        self.activity.note_message(tick, message.header().version, awaited);
        self.note_following(follows && reader.holds_message());
        Ok(Taken::Message(message, follows || !is_drained))
    }

    /// A request begins to be served; `None` when none may any more, so that the client sends it
    /// again elsewhere. Keep it until the reply was sent.
    #[inline]
    pub(crate) fn begin_request(&self) -> Option<InService<'_>> {
        self.life.begin().then(|| InService(self))
    }

    /// A request is not in service any more; the last one ends a connection that is to close.
    #[inline]
    pub(crate) fn end_request(&self) {
        if self.life.finish() {
            self.say_close_connection();
        }
    }

    /// Whether a request is in a servant or its reply is due or being sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.life.in_service() > 0
    }

    /// Closes in the orderly way unless a request is being served; whether it is closing now.
    pub(crate) fn close_if_idle(&self) -> bool {
        // A reply may still have to be taken by the peer.
        if !self.sender.waits() && self.life.close_if_idle() {
            self.say_close_connection();
        }
        self.is_closing()
    }

    /// Closes in the orderly way as soon as the requests that are being served have their replies.
    pub(crate) fn close_when_served(&self) {
        if self.life.close() {
            self.say_close_connection();
        }
    }

    /// Tells the peer what was wrong, as far as it can be told, and closes.
    pub(crate) fn refuse(&self, error: &GiopError) {
        tracing::warn!(peer = %self.peer(), %error, "connection closed: the peer sent bad octets");
        self.close(Roles::SERVER.last_words(error, self.activity.version()));
    }

    /// The client may send unanswered requests again elsewhere (CORBA 3.3 P2 §9.4.7).
    fn say_close_connection(&self) {
        self.say_last(Some(close_connection(self.activity.version(), ByteOrder::NATIVE)));
    }

    /// Closes after sending `last_words`. Only the first call does anything.
    pub(crate) fn close(&self, last_words: Option<Control>) {
        if self.life.end() {
            self.say_last(last_words);
        }
    }

    fn say_last(&self, last_words: Option<Control>) {
        self.send_last(last_words);
        if let Some(threads) = &self.threads {
            threads.dismiss();
        }
    }

    /// Closes without a word, also when last words wait to be taken.
    pub(crate) fn cut(&self) {
        self.close(None);
        self.shut();
    }

    /// Whether nothing but last words is sent, and nothing is served any more.
    pub(crate) fn is_closing(&self) -> bool {
        self.life.stage() >= Stage::Ending
    }

    pub(crate) fn code_sets(&self) -> CodeSets {
        let packed = self.code_sets.load(Ordering::Relaxed);
        CodeSets { char_data: CodeSet((packed >> 32) as u32), wchar_data: CodeSet(packed as u32) }
    }

    pub(crate) fn set_code_sets(&self, code_sets: CodeSets) {
        self.code_sets.store(pack(code_sets), Ordering::Relaxed);
    }
}

/// Whether threads of its own serve a connection, or an event loop. What no event loop can watch
/// needs a thread, however others are served.
fn has_own_threads(orb: &Orb, link: &Link) -> bool {
    match orb.settings().server_concurrency {
        ServerConcurrency::ThreadPerConnection => true,
        ServerConcurrency::Reactive => false,
        _ => !link.can_be_watched(),
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
