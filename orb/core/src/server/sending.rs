//! How replies leave: at once in the usual case; several in one system call when a client has sent
//! many requests; and never waiting for the peer where an event loop serves it.
//!
//! A reply is kept back only while more whole requests of its connection are in the reader: whoever
//! reads them sends it, and the ORB's flusher does after a millisecond or two when an upcall takes
//! longer. What a peer does not take is queued, and its connection is not read until it was taken:
//! so what is held for a peer that never reads is bounded (`queued_octets_max`), and ends after
//! `message_timeout`.

use crate::Orb;
use crate::connection::driver;
use crate::connection::flusher::Flush;
use crate::connection::outbox::{Outbox, Patience, Refused, Urgency};
use crate::server::ServerConnection;
use crate::server::connection::COMPLETE;
use corbie_cdr::Encoder;
use corbie_giop::Control;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

/// How long a last word waits for a thread that is sending a reply.
const LAST_WORD_PATIENCE: Duration = Duration::from_millis(5);

/// The sending half of an accepted connection.
#[derive(Debug)]
pub(crate) struct Sending {
    /// Lock "sending": held for the sending of one message, so that each goes out whole.
    turn: Mutex<()>,
    /// What is kept back, or was not taken by the peer.
    outbox: Outbox,
    batch_octets: usize,
    queued_octets_max: usize,
    /// Whether an event loop tells when the peer takes more, so that nobody has to wait for it.
    never_waits: AtomicBool,
    /// More whole requests are in the reader, and whoever serves them flushes.
    is_batching: AtomicBool,
    has_flusher: AtomicBool,
    /// The look of the flusher before the last: what waits since then is old.
    was_waiting: AtomicBool,
    /// The tick since which the peer takes nothing of what waits, or [`COMPLETE`].
    pub(crate) stuck_since: AtomicU64,
    /// The link is to be shut down when all was sent.
    is_last: AtomicBool,
}

impl Sending {
    pub(crate) fn new(orb: &Orb) -> Self {
        let settings = orb.settings();
        Sending {
            turn: Mutex::new(()),
            outbox: Outbox::new(settings.queued_octets_max),
            batch_octets: settings.batch_octets,
            queued_octets_max: settings.queued_octets_max,
            never_waits: AtomicBool::new(false),
            is_batching: AtomicBool::new(false),
            has_flusher: AtomicBool::new(false),
            was_waiting: AtomicBool::new(false),
            stuck_since: AtomicU64::new(COMPLETE),
            is_last: AtomicBool::new(false),
        }
    }

    /// From now on nobody waits for the peer: an event loop calls
    /// [`ServerConnection::send_on`] when it takes more.
    pub(crate) fn never_wait(&self) {
        self.never_waits.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless a thread has it that waits for the peer to take a reply.
    fn lock_soon(&self) -> Option<MutexGuard<'_, ()>> {
        let end = Instant::now() + LAST_WORD_PATIENCE;
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::yield_now(),
                Err(TryLockError::WouldBlock) => return None,
            }
        }
    }

    /// Whether so much waits that no more requests shall be read.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.outbox.waiting() > self.queued_octets_max / 2
            && self.never_waits.load(Ordering::Acquire)
    }

    /// Whether anything waits.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.outbox.waiting() > 0
    }

    fn patience(&self) -> Patience {
        // The link's send time-out bounds the wait.
        if self.never_waits.load(Ordering::Acquire) {
            Patience::None
        } else {
            Patience::Until(None)
        }
    }
}

impl ServerConnection {
    /// Sends a finished message, or keeps it back for a moment.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` when the peer takes nothing and too much waits already.
    #[inline]
    pub(crate) fn send(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<()> {
        let sending = &self.sending;
        let _turn = sending.lock();
        let is_batching = sending.is_batching.load(Ordering::Relaxed);
        if is_batching | sending.waits() {
            return self.queue(orb, encoder, fragment_octets, is_batching);
        }
        if sending.never_waits.load(Ordering::Relaxed) {
            return self.send_what_is_taken(orb, encoder, fragment_octets);
        }
        driver::send_message(&self.link, encoder, fragment_octets)
    }

    /// Sends without waiting; what is left is queued. The lock "sending" is held.
    fn send_what_is_taken(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<()> {
        let is_whole = fragment_octets.is_none_or(|octets| encoder.len() <= octets);
        if !encoder.is_contiguous() || !is_whole {
            return self.queue(orb, encoder, fragment_octets, false);
        }
        let octets = encoder.own_octets();
        let sent = self.link.try_send(octets)?;
        if sent < octets.len() {
            self.sending.outbox.post(&self.link, &octets[sent..]);
            self.note_stuck(orb);
        }
        Ok(())
    }

    #[cold]
    fn queue(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        is_batching: bool,
    ) -> io::Result<()> {
        let sending = &self.sending;
        let urgency = if is_batching { Urgency::Batch(sending.batch_octets) } else { Urgency::Now };
        let put =
            sending.outbox.put(&self.link, encoder, fragment_octets, urgency, sending.patience());
        put.map_err(Refused::into_error)?;
        if is_batching {
            orb.flusher().expect(orb);
        }
        self.note_stuck(orb);
        self.read_on_if_taken();
        Ok(())
    }

    fn note_stuck(&self, orb: &Orb) {
        let stuck_since = &self.sending.stuck_since;
        if !self.sending.waits() {
            stuck_since.store(COMPLETE, Ordering::Relaxed);
        } else if stuck_since.load(Ordering::Relaxed) == COMPLETE {
            stuck_since.store(orb.tick(), Ordering::Relaxed);
        }
    }

    /// A message was taken out of the reader; `follows`: another whole one is in there, so that
    /// whoever takes that will flush.
    #[inline]
    pub(crate) fn note_following(self: &Arc<Self>, orb: &Orb, follows: bool) {
        let is_batching = &self.sending.is_batching;
        if is_batching.load(Ordering::Relaxed) != follows {
            is_batching.store(follows, Ordering::Release);
            if follows && !self.sending.has_flusher.swap(true, Ordering::AcqRel) {
                let weak: Weak<Self> = Arc::downgrade(self);
                orb.flusher().add(weak);
            }
        }
    }

    /// Sends what was kept back, unless more replies are to come.
    #[inline]
    pub(crate) fn flush_batch(&self) {
        if self.sending.waits() && !self.sending.is_batching.load(Ordering::Relaxed) {
            self.flush();
        }
    }

    /// Sends what waits, as far as nobody has to wait for the peer.
    #[cold]
    pub(crate) fn flush(&self) {
        let _turn = self.sending.lock();
        self.flush_with(self.sending.patience());
    }

    fn flush_with(&self, patience: Patience) {
        if self.sending.outbox.flush(&self.link, patience).is_err() {
            self.link.shutdown(); // Whoever reads notices.
        }
        if !self.sending.waits() {
            self.sending.stuck_since.store(COMPLETE, Ordering::Relaxed);
        }
        self.read_on_if_taken();
    }

    /// Whoever sent what waited, and thereby made room, has the connection read on: the system
    /// tells of room only when a send found none. If reading is to pause for another reason, it
    /// pauses again.
    fn read_on_if_taken(&self) {
        if self.is_paused.load(Ordering::SeqCst)
            && !self.sending.is_full()
            && self.is_paused.swap(false, Ordering::SeqCst)
            && let Some(home) = self.home.get()
        {
            home.resume();
        }
    }

    /// The peer takes octets again: sends what waits for it.
    #[inline]
    pub(crate) fn send_on(&self, orb: &Orb) {
        if self.sending.waits() {
            self.send_rest(orb);
        }
    }

    #[cold]
    fn send_rest(&self, orb: &Orb) {
        self.sending.stuck_since.store(COMPLETE, Ordering::Relaxed);
        self.flush();
        self.note_stuck(orb);
        if !self.sending.waits() && self.sending.is_last.load(Ordering::Acquire) {
            self.link.shutdown();
        }
    }

    /// Sends a last word behind everything else and ends the link; if the peer does not take it
    /// all now, the link ends when it has, or after `message_timeout`.
    pub(crate) fn send_last(&self, farewell: Option<Control>) {
        let sending = &self.sending;
        let Some(octets) = farewell else { return self.link.shutdown() };
        if let Some(_turn) = sending.lock_soon() {
            if !sending.waits() {
                self.link.send_now(&octets);
            } else {
                sending.is_last.store(true, Ordering::Release);
                sending.outbox.post(&self.link, &octets);
                if sending.waits() && sending.never_waits.load(Ordering::Acquire) {
                    return; // See `send_rest`.
                }
            }
        }
        self.link.shutdown();
    }
}

impl Flush for ServerConnection {
    fn flush_old(&self) -> bool {
        let waits = self.sending.waits();
        let waited = self.sending.was_waiting.swap(waits, Ordering::Relaxed);
        if waited && waits {
            // A peer that does not take its replies is not waited for here.
            if let Ok(_turn) = self.sending.turn.try_lock() {
                self.flush_with(Patience::None);
            }
        }
        if !waited && !waits {
            self.sending.outbox.rest();
        }
        // Where the peer is what is waited for, an event loop goes on.
        waits && !(waited && self.sending.never_waits.load(Ordering::Acquire))
    }
}
