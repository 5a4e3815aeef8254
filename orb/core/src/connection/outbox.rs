//! What is to be sent over one connection: sent at once by its thread, or kept for a moment so that
//! several small messages go in one system call.
//!
//! Order is kept: nothing overtakes what waits here. While one thread sends, the others only add to
//! the queue, and the sender takes it along; so no lock is held in a system call. What waits is
//! bounded: beyond that, threads wait for room, except those that must not (inside an upcall).
//! Used by `connection/muxed` for requests and by servers for replies.

#[cfg(test)]
mod tests;

use crate::connection::backlog::Backlog;
use crate::connection::driver;
use corbie_cdr::Encoder;
use corbie_transport::Link;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A thread that must not wait may fill the queue to so many times its limit.
const OVERDRAFT: usize = 4;

/// Where counting begins: far from 0, as what is put in front is subtracted.
const FIRST_OCTET: u64 = 1 << 48;

/// How a thread passes the time when the peer does not take what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Waits, until this time at most (`None`: the link's send time-out decides).
    Until(Option<Instant>),
    /// Does not wait: what is left is sent by the next who flushes.
    None,
}

/// When a message is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// At once.
    Now,
    /// Soon: somebody will flush. At once all the same when so many octets wait.
    Batch(usize),
    /// When so many octets or messages wait (0: however many), when the time has come, or when
    /// all is flushed.
    Hold { octets: usize, messages: u32, until: Hold },
}

/// Until when what waits is kept back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Until somebody flushes.
    #[default]
    No,
    /// Until this time, whoever flushes before.
    Until(Instant),
    /// Until all is flushed.
    Forever,
}

impl Hold {
    fn is_over(self) -> bool {
        match self {
            Hold::No => true,
            Hold::Until(time) => Instant::now() >= time,
            Hold::Forever => false,
        }
    }
}

/// Why a message was not taken.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The peer has surely not got all of it: there was no room, or the connection is closed (now).
    Unsent(io::Error),
    /// The connection is broken, and nobody knows whether it went out before.
    Broken(io::Error),
}

impl Refused {
    pub(crate) fn into_error(self) -> io::Error {
        match self {
            Refused::Unsent(error) | Refused::Broken(error) => error,
        }
    }
}

/// The messages that wait to be sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Lock "outbox": held to add to the queue or to take from it, not while sending.
    queue: Mutex<Queue>,
    /// Threads wait here for room, or for their turn to send.
    changed: Condvar,
    /// Octets that wait now: for a look without the lock.
    waiting: AtomicUsize,
    /// Octets that may wait.
    octets_max: usize,
    /// Messages of so many octets are taken all the same, from a thread that must not wait.
    small_octets: usize,
}

#[derive(Debug, Default)]
struct Queue {
    backlog: Backlog,
    /// An empty one, for what is added while that is sent.
    spare: Backlog,
    /// Messages put here since it was empty.
    messages: u32,
    /// Until when they are kept back.
    hold: Hold,
    /// Where the octets end that were put into the queue so far, and those of them that were sent:
    /// what lies between them waits. What is put in front lowers the second.
    total: u64,
    total_sent: u64,
    /// Octets that were sent from here so far: only rises.
    moved: u64,
    /// A thread sends; it takes along what is added meanwhile.
    is_sending: bool,
    is_closed: bool,
    /// Threads that wait for a change.
    waiters: u32,
}

impl Queue {
    fn waiting(&self) -> usize {
        self.backlog.octets()
    }
}

impl Outbox {
    /// An empty one, in which `octets_max` may wait.
    pub(crate) fn new(octets_max: usize) -> Self {
        Outbox {
            queue: Mutex::new(Queue {
                total: FIRST_OCTET,
                total_sent: FIRST_OCTET,
                ..Queue::default()
            }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            octets_max,
            small_octets: 0,
        }
    }

    /// Takes messages of so many octets from threads that must not wait, whatever is there: for one
    /// where their number is bounded otherwise.
    #[must_use]
    pub(crate) fn always_taking(mut self, small_octets: usize) -> Self {
        self.small_octets = small_octets;
        self
    }

    /// Octets that wait to be sent.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Whether something waits that is to be sent without being asked for.
    pub(crate) fn waits_for_flush(&self) -> bool {
        self.waiting() > 0 && self.lock().hold != Hold::Forever
    }

    /// Takes the finished message in `encoder` and sends it as `urgency` says, in fragments when
    /// it has more than `fragment_octets`: where it ends, to be compared with [`Outbox::sent`], or
    /// 0 when it was sent. After an error of kind `Broken` nothing can be sent.
    ///
    /// # Errors
    /// [`Refused`].
    pub(crate) fn put(
        &self,
        link: &Link,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
        urgency: Urgency,
        patience: Patience,
    ) -> Result<u64, Refused> {
        let mut queue = self.room(encoder.len(), patience)?;
        if urgency == Urgency::Now && !queue.is_sending && queue.waiting() == 0 {
            match patience {
                Patience::Until(_) => {
                    return self
                        .send_alone(link, queue, encoder, fragment_octets, patience)
                        .map(|()| 0);
                }
                Patience::None if fragment_octets.is_none_or(|octets| encoder.len() <= octets) => {
                    return self.try_alone(link, queue, encoder);
                }
                Patience::None => {}
            }
        }
        let is_first = queue.waiting() == 0;
        let end = self.append(&mut queue, encoder, fragment_octets);
        match urgency {
            Urgency::Batch(octets) if queue.waiting() < octets => {
                queue.hold = Hold::No;
                Ok(end)
            }
            Urgency::Hold { octets, messages, until }
                if queue.waiting() < octets.min(self.octets_max)
                    && (messages == 0 || queue.messages < messages) =>
            {
                // Behind what goes out sooner it goes out sooner, too.
                if is_first {
                    queue.hold = until;
                }
                Ok(end)
            }
            _ => self.send_queue(link, queue, patience).map(|()| end),
        }
    }

    /// Nothing else waits, and nobody sends: sends the message from where it lies.
    fn send_alone<'q>(
        &'q self,
        link: &Link,
        mut queue: MutexGuard<'q, Queue>,
        encoder: &Encoder<'_>,
        fragment_octets: Option<usize>,
        patience: Patience,
    ) -> Result<(), Refused> {
        queue.is_sending = true;
        drop(queue);
        let sent = driver::send_message(link, encoder, fragment_octets);
        queue = self.lock();
        queue.is_sending = false;
        if let Err(refused) = self.check(link, &mut queue, sent) {
            return Err(Refused::Unsent(refused.into_error()));
        }
        // This message is sent. If another one cannot be, whoever reads notices.
        let _ = self.send_queue(link, queue, patience);
        Ok(())
    }

    /// As [`Outbox::send_alone`], without waiting: what the peer does not take is queued.
    fn try_alone<'q>(
        &'q self,
        link: &Link,
        mut queue: MutexGuard<'q, Queue>,
        encoder: &mut Encoder<'_>,
    ) -> Result<u64, Refused> {
        queue.is_sending = true;
        drop(queue);
        let sent = driver::try_send_message(link, encoder);
        queue = self.lock();
        queue.is_sending = false;
        let octets = *sent.as_ref().unwrap_or(&0);
        queue.moved += octets as u64;
        if let Err(refused) = self.check(link, &mut queue, sent.map(drop)) {
            return Err(Refused::Unsent(refused.into_error()));
        }
        if queue.is_closed || octets == encoder.len() {
            let _ = self.send_queue(link, queue, Patience::None);
            return Ok(0);
        }
        // In front of what was added meanwhile.
        let mut rest = std::mem::take(&mut queue.spare);
        rest.add_message(encoder, None, octets);
        Ok(self.put_rest_in_front(&mut queue, rest))
    }

    /// What is left of a message that went past the queue: where it ends.
    fn put_rest_in_front(&self, queue: &mut Queue, rest: Backlog) -> u64 {
        let end = queue.total_sent;
        queue.total_sent -= rest.octets() as u64;
        queue.messages += 1;
        self.put_in_front(queue, rest);
        end
    }

    /// What is left goes before what was added while it was sent. A message of which a part is out
    /// is not kept back.
    fn put_in_front(&self, queue: &mut Queue, mut rest: Backlog) {
        rest.append(&mut queue.backlog);
        queue.spare = std::mem::replace(&mut queue.backlog, rest);
        queue.hold = Hold::No;
        self.waiting.store(queue.waiting(), Ordering::SeqCst);
        if queue.waiters > 0 {
            // Nobody sends now: one of them may.
            self.changed.notify_all();
        }
    }

    /// Puts the octets of a small whole message in the queue, whatever is there, and sends what can
    /// be sent without waiting: for a word that nobody waits for.
    pub(crate) fn post(&self, link: &Link, message: &[u8]) {
        let Some(queue) = self.with_word(message) else { return };
        // Whoever reads the connection notices that it is broken.
        let _ = self.send_queue(link, queue, Patience::None);
    }

    /// As [`Outbox::post`], and sends nothing: a thread that sends without this queue is in
    /// between.
    pub(crate) fn add_word(&self, message: &[u8]) {
        drop(self.with_word(message));
    }

    /// The queue with `message` in it, unless it is closed.
    fn with_word(&self, message: &[u8]) -> Option<MutexGuard<'_, Queue>> {
        let mut queue = self.lock();
        if queue.is_closed {
            return None;
        }
        queue.total += message.len() as u64;
        queue.backlog.add(message);
        self.waiting.store(queue.waiting(), Ordering::SeqCst);
        Some(queue)
    }

    /// Puts the finished message in `encoder` behind what waits and sends nothing: a thread that
    /// sends without this queue is in between.
    ///
    /// # Errors
    /// As [`Outbox::put`].
    pub(crate) fn add(
        &self,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> Result<u64, Refused> {
        let mut queue = self.room(encoder.len(), Patience::None)?;
        Ok(self.append(&mut queue, encoder, fragment_octets))
    }

    /// Where it ends.
    fn append(
        &self,
        queue: &mut Queue,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> u64 {
        let before = queue.waiting();
        queue.backlog.add_message(encoder, fragment_octets, 0);
        queue.total += (queue.waiting() - before) as u64;
        queue.messages += 1;
        self.waiting.store(queue.waiting(), Ordering::SeqCst);
        queue.total
    }

    /// A thread that sends without this queue could send all but these last octets of a message:
    /// they go before what was added meanwhile. Where they end.
    pub(crate) fn put_rest(&self, octets: &[u8]) -> u64 {
        let mut queue = self.lock();
        let mut rest = std::mem::take(&mut queue.spare);
        rest.add(octets);
        self.put_rest_in_front(&mut queue, rest)
    }

    /// Where what was sent so far ends.
    pub(crate) fn sent(&self) -> u64 {
        self.lock().total_sent
    }

    /// How many octets were sent from here so far, whatever was put in front since.
    pub(crate) fn moved(&self) -> u64 {
        self.lock().moved
    }

    /// As [`Outbox::moved`], if something waits that is not kept back, and that no thread sends
    /// now.
    pub(crate) fn moved_of_what_is_due(&self) -> Option<u64> {
        let queue = self.lock();
        let is_due = queue.waiting() > 0 && !queue.is_sending && queue.hold.is_over();
        is_due.then_some(queue.moved)
    }

    /// Sends what waits and is not to be kept back longer, as far as `patience` allows.
    ///
    /// # Errors
    /// What the system says; nothing can be sent then.
    pub(crate) fn flush(&self, link: &Link, patience: Patience) -> io::Result<()> {
        if self.waiting() == 0 {
            return Ok(());
        }
        let queue = self.lock();
        if !queue.hold.is_over() {
            return Ok(());
        }
        self.send_queue(link, queue, patience).map_err(Refused::into_error)
    }

    /// Sends all that waits, as far as `patience` allows.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn flush_all(&self, link: &Link, patience: Patience) -> io::Result<()> {
        self.send_queue(link, self.lock(), patience).map_err(Refused::into_error)
    }

    /// Nothing was put here for a while: holds no memory any more, unless a thread is busy here.
    pub(crate) fn rest(&self) {
        if let Ok(mut queue) = self.queue.try_lock() {
            queue.backlog.rest();
            queue.spare.rest();
        }
    }

    /// Waits until all is sent that waits now.
    ///
    /// # Errors
    /// `NotConnected` when the connection is closed before, `TimedOut` after `deadline`.
    #[inline]
    pub(crate) fn wait_until_sent(&self, deadline: Option<Instant>) -> io::Result<()> {
        if self.waiting() == 0 { Ok(()) } else { self.wait_for_sender(deadline) }
    }

    #[cold]
    fn wait_for_sender(&self, deadline: Option<Instant>) -> io::Result<()> {
        let mut queue = self.lock();
        let total = queue.total;
        // Without a sender what is left waits for somebody to flush.
        while queue.is_sending && queue.total_sent < total {
            if queue.is_closed {
                return Err(closed());
            }
            queue = self.wait(queue, deadline).ok_or_else(too_slow)?;
        }
        Ok(())
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Nothing is sent any more. What waits is dropped; threads that wait for room are told.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.backlog.clear();
        self.waiting.store(0, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// The queue when it has room for `octets` more.
    fn room(&self, octets: usize, patience: Patience) -> Result<MutexGuard<'_, Queue>, Refused> {
        let mut queue = self.lock();
        loop {
            if queue.is_closed {
                return Err(Refused::Unsent(closed()));
            }
            let after = queue.waiting().saturating_add(octets);
            let most = match patience {
                Patience::Until(_) => self.octets_max,
                Patience::None => self.octets_max.saturating_mul(OVERDRAFT),
            };
            let is_small = octets <= self.small_octets && patience == Patience::None;
            // One message alone is taken, however large it is.
            if after <= most || queue.waiting() == 0 || is_small {
                return Ok(queue);
            }
            // Without a sender nobody would make room; this thread becomes one.
            if !queue.is_sending && patience != Patience::None {
                return Ok(queue);
            }
            let Patience::Until(deadline) = patience else {
                return Err(Refused::Unsent(full(queue.waiting())));
            };
            queue = self.wait(queue, deadline).ok_or_else(|| Refused::Unsent(too_slow()))?;
        }
    }

    /// Waits for a change; `None` when `deadline` has passed.
    fn wait<'q>(
        &'q self,
        mut queue: MutexGuard<'q, Queue>,
        deadline: Option<Instant>,
    ) -> Option<MutexGuard<'q, Queue>> {
        queue.waiters += 1;
        let mut queue = match deadline {
            None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    queue.waiters -= 1;
                    return None;
                }
                let waited = self.changed.wait_timeout(queue, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        queue.waiters -= 1;
        Some(queue)
    }

    /// Sends what is in the queue, and what is added meanwhile, unless another thread does.
    fn send_queue<'q>(
        &'q self,
        link: &Link,
        mut queue: MutexGuard<'q, Queue>,
        patience: Patience,
    ) -> Result<(), Refused> {
        while !queue.is_sending && !queue.is_closed && queue.waiting() > 0 {
            let spare = std::mem::take(&mut queue.spare);
            let mut backlog = std::mem::replace(&mut queue.backlog, spare);
            queue.is_sending = true;
            queue.messages = 0;
            queue.hold = Hold::No;
            drop(queue);
            let sent = backlog.send(link, patience != Patience::None);
            queue = self.lock();
            queue.is_sending = false;
            let octets = *sent.as_ref().unwrap_or(&0) as u64;
            queue.total_sent += octets;
            queue.moved += octets;
            self.check(link, &mut queue, sent.map(drop))?;
            if queue.is_closed {
                break;
            }
            if backlog.octets() > 0 {
                self.put_in_front(&mut queue, backlog);
                if patience == Patience::None {
                    return Ok(());
                }
                continue;
            }
            queue.spare = backlog;
            self.waiting.store(queue.waiting(), Ordering::SeqCst);
            if queue.waiters > 0 {
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// After a failure nothing can be sent: nobody knows how much of a message went out.
    fn check(&self, link: &Link, queue: &mut Queue, sent: io::Result<()>) -> Result<(), Refused> {
        sent.map_err(|error| {
            link.shutdown();
            queue.is_closed = true;
            queue.backlog.clear();
            self.waiting.store(0, Ordering::SeqCst);
            self.changed.notify_all();
            Refused::Broken(error)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection was closed")
}

#[cold]
fn full(octets: usize) -> io::Error {
    let text = format!("{octets} octets wait to be sent already, more than queued_octets_max");
    io::Error::new(io::ErrorKind::WouldBlock, text)
}

#[cold]
fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "there was no room to send in time")
}
