//! How replies leave: at once in the usual case; several in one system call when a client has sent
//! many requests; and never waiting for the peer where an event loop serves it, or where the thread
//! that answers is not the connection's own (a deferred answer, a held request).
//!
//! A reply is kept back only while more whole requests of its connection are in the reader: the
//! thread that reads them sends it, and the ORB's flusher does after a millisecond or two when an
//! upcall takes longer. What a peer does not take is queued, and its connection is not read until
//! it was taken: so what is held for a peer that never reads is bounded (`queued_octets_max`), and
//! ends after `message_timeout`. An event loop sends it on when the peer takes more; for a
//! connection with threads of its own the flusher does, or such a thread before it reads on.

use crate::Orb;
use crate::server::ServerConnection;
use corbie_cdr::Encoder;
use corbie_connection::{Limits, Look, Position, Put, SendFault, Sender, Terms, When};
use corbie_giop::Control;
use corbie_threads::flusher::Flush;
use corbie_threads::thread::Patience;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// Answers of so many octets are queued whatever waits: as many as requests are due, at most
/// (`pending_responses_max`), since no more are read meanwhile.
const SMALL_OCTETS: usize = 1 << 10;

/// The sender of an accepted connection.
pub(crate) fn sender(orb: &Orb) -> Sender {
    let settings = orb.settings();
    Sender::new(Limits {
        queued_octets_max: settings.queued_octets_max,
        batch_octets: settings.batch_octets,
        small_octets: SMALL_OCTETS,
    })
}

impl ServerConnection {
    /// Sends a finished message, or keeps it back for a moment. `None`: it was handed to the
    /// transport; else where it ends among what waits (see [`Sender::when_sent`]).
    ///
    /// # Errors
    /// Nothing of it was sent after [`SendFault::Full`].
    #[inline]
    pub(crate) fn send(
        self: &Arc<Self>,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        patience: Patience,
    ) -> Result<Option<Position>, SendFault> {
        let is_batching = self.is_batching.load(Ordering::Relaxed);
        let when = if is_batching { When::Later } else { When::Now };
        let terms = Terms { fragment_octets, when, patience, until: None };
        let end = match self.sender.put(&self.link, encoder, &terms)? {
            Put::Sent => None,
            Put::Waits(end) | Put::Kept { end, .. } => Some(end),
        };
        if end.is_some() || (patience != Patience::Block && self.sender.waits()) {
            self.have_rest_sent(orb);
        }
        self.read_on_if_taken();
        Ok(end)
    }

    #[cold]
    fn have_rest_sent(self: &Arc<Self>, orb: &Orb) {
        if self.sender.is_first_look() {
            let weak: Weak<Self> = Arc::downgrade(self);
            orb.flusher().add(weak);
        }
        orb.flusher().expect();
    }

    /// While the ORB ends: sends what the peer takes now. If something waits still, how much was
    /// sent so far.
    pub(crate) fn send_more(&self) -> Option<u64> {
        let _ = self.sender.flush_all(&self.link, Patience::Queue);
        self.sender.waits().then(|| self.sender.moved())
    }

    /// A message was taken out of the reader; `follows`: another whole one is in there, so the
    /// thread that takes that will flush.
    #[inline]
    pub(crate) fn note_following(&self, follows: bool) {
        if self.is_batching.load(Ordering::Relaxed) != follows {
            self.is_batching.store(follows, Ordering::Release);
        }
    }

    /// Sends what was kept back, unless more replies are to come.
    #[inline]
    pub(crate) fn flush_batch(&self) {
        if self.sender.waits() && !self.is_batching.load(Ordering::Relaxed) {
            self.flush();
        }
    }

    /// Sends what waits. Where the connection has threads of its own, waits for the peer. If it
    /// fails the link is shut down, and the thread that reads notices.
    pub(crate) fn flush(&self) {
        let _ = self.sender.flush(&self.link, self.patience);
        self.read_on_if_taken();
    }

    /// Before the connection's own thread reads on: if much waits for the peer, waits until it was
    /// taken.
    #[inline]
    pub(crate) fn wait_until_taken(&self) {
        if self.patience == Patience::Block && self.sender.is_over_half() {
            let _ = self.sender.wait_until_half(&self.link);
        }
    }

    /// The ORB ends, and with it the threads that would have sent what waits for the peer.
    pub(crate) fn end_sending(&self) {
        if self.patience == Patience::Block && self.sender.has_last_word() {
            self.shut();
        }
    }

    /// The connection's own thread ends: what is still to be said is said before.
    pub(crate) fn finish(&self) {
        if self.sender.has_last_word() {
            self.flush();
            self.shut();
        }
    }

    /// A thread that sent what waited, and thereby made room, has the connection read on: the
    /// system tells of room only when a send found none. If reading is to pause for another reason,
    /// it pauses again.
    #[inline]
    fn read_on_if_taken(&self) {
        if self.is_paused.load(Ordering::SeqCst) {
            self.read_on();
        }
    }

    #[cold]
    fn read_on(&self) {
        if !self.sender.is_over_half()
            && self.is_paused.swap(false, Ordering::SeqCst)
            && let Some(registration) = self.registration.get()
        {
            registration.again();
        }
    }

    /// Sends a last word behind everything else and ends the link; if the peer does not take what
    /// is before it now, the link ends when it has, or after `message_timeout`.
    pub(crate) fn send_last(&self, farewell: Option<Control>) {
        match farewell {
            Some(octets) => self.sender.last(&self.link, &octets),
            None => self.shut(),
        }
    }

    /// Nothing is sent any more. With no lock held.
    pub(crate) fn shut(&self) {
        self.life.gone();
        self.sender.close(&self.link);
    }
}

impl Flush for ServerConnection {
    fn flush_old(&self) -> bool {
        let look = self.sender.tick(&self.link);
        self.read_on_if_taken();
        // Where the peer is what is waited for, an event loop goes on.
        look == Look::New || (look == Look::Tried && self.patience == Patience::Block)
    }
}
