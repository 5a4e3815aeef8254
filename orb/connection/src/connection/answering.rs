//! The end that answers: requests in service, and replies, which leave at once in the usual case;
//! several in one system call when a client has sent many requests; and never waiting for the peer
//! where an event loop serves it, or where the thread that answers is not the connection's own.
//!
//! A reply is kept back only while more whole requests of its connection are in the reader: the
//! thread that reads them sends it, and the flusher does after a millisecond or two when an upcall
//! takes longer. What a peer does not take is queued, and its connection is not read until it was
//! taken: so what is held for a peer that never reads is bounded (by `queued_octets_max`, and the
//! replies to requests that were in servants then), and ends after `message_timeout`. An event
//! loop sends it on when the peer takes more; for a connection with threads of its own the flusher
//! does, or such a thread before it reads on.

use super::notes::Note;
use super::{Connection, User};
use crate::{Position, Put, SendFault, Terms, When};
use corbie_cdr::Encoder;
use corbie_threads::thread::{Patience, Registration};
use std::sync::Arc;

impl<U: User> Connection<U> {
    /// Threads of its own serve it from now on, which may wait for the peer.
    pub fn has_own_threads(&self) -> bool {
        self.notes.has(Note::OwnThreads)
    }

    /// Says so; to be called before it is served.
    pub fn note_own_threads(&self) {
        self.notes.set(Note::OwnThreads);
    }

    /// What a thread that serves it does about a peer that takes nothing: it waits if it is the
    /// connection's own, and not where an event loop tells when the peer takes more. There replies
    /// to requests that were read before reading paused are queued, however many wait: a peer that
    /// reads loses none, and one that does not is cut after `message_timeout`.
    #[inline]
    pub fn patience(&self) -> Patience {
        if self.has_own_threads() { Patience::Block } else { Patience::Take }
    }

    /// A request begins to be served; `None` when none may any more, so that the client sends it
    /// again elsewhere. Keep it until the reply was sent.
    #[inline]
    pub fn begin_request(&self) -> Option<InService<'_, U>> {
        self.life.begin().then(|| InService(self))
    }

    /// A request is not in service any more; the last one ends a connection that is to close.
    #[inline]
    pub fn end_request(&self) {
        if self.life.finish() {
            self.say_close_connection();
        }
    }

    /// Sends a finished reply, or keeps it back for a moment. `None`: it was handed to the
    /// transport; else where it ends among what waits (see [`Sender::when_sent`]).
    ///
    /// # Errors
    /// Nothing of it was sent after [`SendFault::Full`].
    ///
    /// [`Sender::when_sent`]: crate::Sender::when_sent
    #[inline]
    pub fn send_reply(
        self: &Arc<Self>,
        context: &U::Context,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        patience: Patience,
    ) -> Result<Option<Position>, SendFault> {
        let when = if self.is_batching() { When::Later } else { When::Now };
        let terms = Terms { fragment_octets, when, patience, until: None };
        let end = match self.sender.put(&self.link, encoder, &terms)? {
            Put::Sent => None,
            Put::Waits(end) | Put::Kept { end, .. } => Some(end),
        };
        if end.is_some() || (!matches!(patience, Patience::Block) && self.sender.waits()) {
            self.expect_flush(context);
        }
        self.read_on_if_taken();
        Ok(end)
    }

    /// Whether more whole requests are in the reader.
    #[inline]
    pub fn is_batching(&self) -> bool {
        self.notes.has(Note::Batching)
    }

    /// A message was taken out of the reader; `follows`: another whole one is in there, so the
    /// thread that takes that will flush.
    #[inline]
    pub(super) fn note_following(&self, follows: bool) {
        if self.is_batching() != follows {
            if follows {
                self.notes.set(Note::Batching)
            } else {
                self.notes.take(Note::Batching)
            };
        }
    }

    /// Sends what was kept back, unless more replies are to come.
    #[inline]
    pub fn flush_batch(&self) {
        if self.sender.waits() && !self.is_batching() {
            self.flush();
        }
    }

    /// While the ORB ends: sends what the peer takes now. If something waits still, how much was
    /// sent so far.
    pub fn send_more(&self) -> Option<u64> {
        self.flush_all();
        self.sender.waits().then(|| self.sender.moved())
    }

    /// Before the connection's own thread reads on: if much waits for the peer, waits until it was
    /// taken.
    #[inline]
    pub fn wait_until_taken(&self) {
        if self.sender.is_over_half() && self.has_own_threads() {
            let _ = self.sender.wait_until_half(&self.link);
        }
    }

    /// Requests are not read from now on, until [`Connection::read_on`]; `registration`: where it
    /// is read.
    pub fn pause(&self, registration: impl FnOnce() -> Registration) {
        self.registration.get_or_init(registration);
        self.notes.set(Note::Paused);
        self.activity.excuse_peer();
    }

    /// Whether requests are not read now.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.notes.has(Note::Paused)
    }

    /// Requests are read again if they were not; whether they were not.
    pub fn read_on(&self) -> bool {
        let was_paused = self.notes.take(Note::Paused);
        if was_paused {
            self.registration.get().into_iter().for_each(Registration::again);
        }
        was_paused
    }

    /// A thread that sent what waited, and thereby made room, has the connection read on: the
    /// system tells of room only when a send found none. If reading is to pause for another reason,
    /// it pauses again.
    #[inline]
    pub(super) fn read_on_if_taken(&self) {
        if self.is_paused() && !self.sender.is_over_half() {
            self.read_on();
        }
    }
}

/// A request being served, until dropped.
#[derive(Debug)]
pub struct InService<'c, U: User>(&'c Connection<U>);

impl<U: User> Drop for InService<'_, U> {
    #[inline]
    fn drop(&mut self) {
        self.0.end_request();
    }
}
