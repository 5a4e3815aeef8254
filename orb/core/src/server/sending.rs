//! How replies leave: at once in the usual case; several in one system call when a client has sent
//! many requests; and never waiting for the peer where an event loop serves it, or where the thread
//! that answers is not the connection's own (a deferred answer, a held request).
//!
//! A reply is kept back only while more whole requests of its connection are in the reader: whoever
//! reads them sends it, and the ORB's flusher does after a millisecond or two when an upcall takes
//! longer. What a peer does not take is queued, and its connection is not read until it was taken:
//! so what is held for a peer that never reads is bounded (`queued_octets_max`), and ends after
//! `message_timeout`. An event loop sends it on when the peer takes more; for a connection with a
//! thread of its own the flusher does, or that thread before it reads the next request.

mod fates;

pub(crate) use fates::Then;

use crate::Orb;
use crate::connection::driver;
use crate::connection::outbox::{Outbox, Patience, Refused, Urgency};
use crate::server::ServerConnection;
use crate::server::connection::COMPLETE;
use corbie_cdr::Encoder;
use corbie_giop::Control;
use corbie_threads::flusher::Flush;
use fates::Fates;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

/// How long a last word waits for a thread that is sending a reply.
const LAST_WORD_PATIENCE: Duration = Duration::from_millis(5);

/// Answers of so many octets are queued whatever waits: as many as requests are due, at most
/// (`pending_responses_max`), since no more are read meanwhile.
const SMALL_OCTETS: usize = 1 << 10;

/// A peer that takes nothing is tried by the flusher at every so manieth look at last.
const RARE_LOOKS: u32 = 16;

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
    /// Looks of the flusher since the peer last took something.
    vain_looks: AtomicU32,
    /// The tick since which the peer takes nothing of what waits, or [`COMPLETE`].
    pub(crate) stuck_since: AtomicU64,
    /// What had been sent from the outbox at the last tick.
    moved_before: AtomicU64,
    /// The link is to be shut down when all was sent.
    is_last: AtomicBool,
    /// Who is told when what waits was sent.
    fates: Fates,
}

impl Sending {
    pub(crate) fn new(orb: &Orb) -> Self {
        let settings = orb.settings();
        Sending {
            turn: Mutex::new(()),
            outbox: Outbox::new(settings.queued_octets_max).always_taking(SMALL_OCTETS),
            batch_octets: settings.batch_octets,
            queued_octets_max: settings.queued_octets_max,
            never_waits: AtomicBool::new(false),
            is_batching: AtomicBool::new(false),
            has_flusher: AtomicBool::new(false),
            was_waiting: AtomicBool::new(false),
            vain_looks: AtomicU32::new(0),
            stuck_since: AtomicU64::new(COMPLETE),
            moved_before: AtomicU64::new(0),
            is_last: AtomicBool::new(false),
            fates: Fates::default(),
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
            match self.try_lock() {
                Some(turn) => return Some(turn),
                None if Instant::now() < end => std::thread::yield_now(),
                None => return None,
            }
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether so much waits that no more requests shall be read.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.outbox.waiting() > self.queued_octets_max / 2
    }

    fn never_waits(&self) -> bool {
        self.never_waits.load(Ordering::Acquire)
    }

    /// Whether anything waits.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.outbox.waiting() > 0
    }

    fn patience(&self) -> Patience {
        // The link's send time-out bounds the wait.
        if self.never_waits() { Patience::None } else { Patience::Until(None) }
    }
}

impl ServerConnection {
    /// Sends a finished message, or keeps it back for a moment. For the connection's own thread:
    /// where no event loop serves it, this waits for the peer.
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
        let turn = sending.lock();
        let is_batching = sending.is_batching.load(Ordering::Relaxed);
        if is_batching | sending.waits() {
            self.queue(orb, encoder, fragment_octets, is_batching, sending.patience())?;
            drop(turn);
            self.tell_fates();
            return Ok(());
        }
        if sending.never_waits.load(Ordering::Relaxed) {
            let sent = self.send_what_is_taken(orb, encoder, fragment_octets).map(drop);
            drop(turn);
            self.tell_fates();
            return sent;
        }
        if let Err(error) = driver::send_message(&self.link, encoder, fragment_octets) {
            // Nothing may follow a part of a message: whoever has the turn next finds it so.
            self.link.shutdown();
            return Err(error);
        }
        drop(turn);
        if sending.waits() {
            self.flush_added();
        }
        Ok(())
    }

    /// Sends a finished message without waiting, for the peer or for another thread that sends:
    /// for a thread that is not the connection's own. What is not taken now is sent soon by
    /// others: where it ends among what waits (see [`ServerConnection::when_sent`]), or 0.
    ///
    /// # Errors
    /// As [`ServerConnection::send`]; after `WouldBlock` nothing of it was sent.
    pub(crate) fn send_without_waiting(
        self: &Arc<Self>,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<u64> {
        let sending = &self.sending;
        let end = if let Some(_turn) = sending.try_lock() {
            let is_batching = sending.is_batching.load(Ordering::Relaxed);
            if is_batching | sending.waits() {
                self.queue(orb, encoder, fragment_octets, is_batching, Patience::None)
            } else {
                self.send_what_is_taken(orb, encoder, fragment_octets)
            }
        } else {
            sending.outbox.add(encoder, fragment_octets).map_err(Refused::into_error)
        };
        if sending.waits() {
            self.flush_added();
            self.have_rest_sent(orb);
        }
        self.tell_fates();
        end
    }

    /// Sends what was added while another thread had the turn, unless one has it: whoever adds and
    /// whoever gives the turn back both look, and the flusher if they miss each other.
    #[cold]
    fn flush_added(&self) {
        if !self.sending.is_batching.load(Ordering::Relaxed) {
            self.flush_if_free();
        }
    }

    /// Sends what the peer takes now, unless another thread has the turn.
    fn flush_if_free(&self) {
        if let Some(turn) = self.sending.try_lock() {
            self.flush_with(Patience::None);
            drop(turn);
            self.tell_fates();
        }
    }

    /// While the ORB ends: sends what the peer takes now, of what is kept back, too. If something
    /// waits still, how much was sent so far.
    pub(crate) fn send_more(&self) -> Option<u64> {
        if self.sending.waits() {
            self.flush_if_free();
        }
        self.sending.waits().then(|| self.sending.outbox.moved())
    }

    /// `then` is told when an answer that ends here was handed to the transport, or is lost.
    pub(crate) fn when_sent(&self, end: u64, then: Then) {
        self.sending.fates.add(end, then);
        self.tell_fates();
    }

    /// To be called after what waits may have been sent, with no lock held.
    #[inline]
    fn tell_fates(&self) {
        if self.sending.fates.are_there() {
            self.sending.fates.tell(|| self.sending.outbox.sent());
        }
    }

    /// Nothing is sent any more. With no lock held.
    pub(crate) fn shut(&self) {
        self.life.gone();
        self.link.shutdown();
        self.sending.fates.end();
        self.tell_fates();
    }

    #[cold]
    fn have_rest_sent(self: &Arc<Self>, orb: &Orb) {
        self.note_stuck(orb);
        self.ensure_flusher(orb);
        orb.flusher().expect();
    }

    fn ensure_flusher(self: &Arc<Self>, orb: &Orb) {
        if !self.sending.has_flusher.swap(true, Ordering::AcqRel) {
            let weak: Weak<Self> = Arc::downgrade(self);
            orb.flusher().add(weak);
        }
    }

    /// Sends without waiting; what is left is queued. The lock "sending" is held.
    fn send_what_is_taken(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<u64> {
        let is_whole = fragment_octets.is_none_or(|octets| encoder.len() <= octets);
        if !encoder.is_contiguous() || !is_whole {
            return self.queue(orb, encoder, fragment_octets, false, Patience::None);
        }
        let octets = encoder.own_octets();
        let sent = self.link.try_send(octets)?;
        if sent < octets.len() {
            let end = self.sending.outbox.put_rest(&octets[sent..]);
            self.note_stuck(orb);
            return Ok(end);
        }
        Ok(0)
    }

    #[cold]
    fn queue(
        &self,
        orb: &Orb,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        is_batching: bool,
        patience: Patience,
    ) -> io::Result<u64> {
        let sending = &self.sending;
        let urgency = if is_batching { Urgency::Batch(sending.batch_octets) } else { Urgency::Now };
        let put = sending.outbox.put(&self.link, encoder, fragment_octets, urgency, patience);
        let end = put.map_err(Refused::into_error)?;
        if is_batching {
            orb.flusher().expect();
        }
        self.note_stuck(orb);
        self.read_on_if_taken();
        Ok(end)
    }

    fn note_stuck(&self, orb: &Orb) {
        let stuck_since = &self.sending.stuck_since;
        if !self.sending.waits() {
            stuck_since.store(COMPLETE, Ordering::Relaxed);
        } else if stuck_since.load(Ordering::Relaxed) == COMPLETE {
            stuck_since.store(orb.tick(), Ordering::Relaxed);
        }
    }

    /// Once a tick: notes since when the peer takes nothing of what waits. While a thread waits for
    /// that, the link's send time-out bounds it.
    pub(crate) fn note_progress(&self, tick: u64) {
        let sending = &self.sending;
        let turn = if sending.waits() { sending.try_lock() } else { None };
        let Some(_turn) = turn else {
            return sending.stuck_since.store(COMPLETE, Ordering::Relaxed);
        };
        let moved = sending.outbox.moved();
        let before = sending.moved_before.swap(moved, Ordering::Relaxed);
        if moved != before || sending.stuck_since.load(Ordering::Relaxed) == COMPLETE {
            sending.stuck_since.store(tick, Ordering::Relaxed);
        }
    }

    /// A message was taken out of the reader; `follows`: another whole one is in there, so that
    /// whoever takes that will flush.
    #[inline]
    pub(crate) fn note_following(self: &Arc<Self>, orb: &Orb, follows: bool) {
        let is_batching = &self.sending.is_batching;
        if is_batching.load(Ordering::Relaxed) != follows {
            is_batching.store(follows, Ordering::Release);
            if follows {
                self.ensure_flusher(orb);
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
        let turn = self.sending.lock();
        self.flush_with(self.sending.patience());
        drop(turn);
        self.tell_fates();
    }

    fn flush_with(&self, patience: Patience) {
        if self.sending.outbox.flush(&self.link, patience).is_err() {
            self.link.shutdown(); // Whoever reads notices.
            self.sending.fates.end();
        }
        if !self.sending.waits() {
            self.sending.stuck_since.store(COMPLETE, Ordering::Relaxed);
            if self.sending.is_last.load(Ordering::Acquire) {
                self.link.shutdown();
            }
        }
        self.read_on_if_taken();
    }

    /// Before the connection's own thread reads on: if much waits for the peer, waits until it was
    /// taken.
    #[inline]
    pub(crate) fn wait_until_taken(&self) {
        if self.sending.is_full() && !self.sending.never_waits() {
            self.flush();
        }
    }

    /// Whether it ends when its last words were taken.
    pub(crate) fn has_last_words(&self) -> bool {
        self.sending.is_last.load(Ordering::Acquire)
    }

    /// The ORB ends, and with it those who would have sent what waits for the peer to take it.
    pub(crate) fn end_sending(&self) {
        if self.sending.is_last.load(Ordering::Acquire) && !self.sending.never_waits() {
            self.shut();
        }
    }

    /// The connection's own thread ends: what is still to be said is said before.
    pub(crate) fn finish(&self) {
        if self.sending.is_last.load(Ordering::Acquire) {
            self.flush();
            self.shut();
        }
    }

    /// Whoever sent what waited, and thereby made room, has the connection read on: the system
    /// tells of room only when a send found none. If reading is to pause for another reason, it
    /// pauses again.
    fn read_on_if_taken(&self) {
        if self.is_paused.load(Ordering::SeqCst)
            && !self.sending.is_full()
            && self.is_paused.swap(false, Ordering::SeqCst)
            && let Some(registration) = self.registration.get()
        {
            registration.again();
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
    }

    /// Sends a last word behind everything else and ends the link; if the peer does not take it
    /// all now, the link ends when it has, or after `message_timeout`.
    pub(crate) fn send_last(&self, farewell: Option<Control>) {
        let sending = &self.sending;
        let Some(octets) = farewell else { return self.shut() };
        let Some(turn) = sending.lock_soon() else {
            return self.leave_last(&octets);
        };
        if !sending.waits() {
            self.link.send_now(&octets);
        } else {
            sending.is_last.store(true, Ordering::Release);
            sending.outbox.post(&self.link, &octets);
            if sending.waits() {
                return; // See `flush_with`.
            }
        }
        drop(turn);
        self.shut();
    }

    /// Leaves a last word to a thread that waits for the peer: it takes it along. In this order, as
    /// who finds that it is the last to be sent ends the link.
    #[cold]
    fn leave_last(&self, octets: &[u8]) {
        self.sending.outbox.add_word(octets);
        self.sending.is_last.store(true, Ordering::Release);
        // That thread may just have had its last look.
        if let Some(turn) = self.sending.lock_soon() {
            self.flush_with(Patience::None);
            drop(turn);
            self.tell_fates();
        }
    }
}

impl ServerConnection {
    /// For the flusher: sends what the peer takes. One that takes nothing is tried less and less
    /// often, and not waited for.
    #[cold]
    fn flush_now_and_then(&self) {
        let looks = self.sending.vain_looks.fetch_add(1, Ordering::Relaxed) + 1;
        if !looks.is_power_of_two() && !looks.is_multiple_of(RARE_LOOKS) {
            return;
        }
        if let Some(turn) = self.sending.try_lock() {
            let before = self.sending.outbox.sent();
            self.flush_with(Patience::None);
            if self.sending.outbox.sent() != before || !self.sending.waits() {
                self.sending.vain_looks.store(0, Ordering::Relaxed);
            }
            drop(turn);
            self.tell_fates();
        }
    }
}

impl Flush for ServerConnection {
    fn flush_old(&self) -> bool {
        let waits = self.sending.waits();
        let waited = self.sending.was_waiting.swap(waits, Ordering::Relaxed);
        if waited && waits {
            self.flush_now_and_then();
        } else if !waits {
            self.sending.vain_looks.store(0, Ordering::Relaxed);
        }
        if !waited && !waits {
            self.sending.outbox.rest();
        }
        // Where the peer is what is waited for, an event loop goes on.
        waits && !(waited && self.sending.never_waits())
    }
}
