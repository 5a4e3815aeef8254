//! The sending half of a connection that threads share: one state machine for requests and
//! replies.
//!
//! A message that is to be sent now, while nothing else is, goes straight from its encoder: two
//! compare-and-swaps, no lock, no queue. While one thread sends, the others only append to the
//! queue, and that thread takes it along; so no lock is held in a system call. What the peer does
//! not take stays queued: the sender is *blocked* until there is room or the flusher ticks. What is
//! queued is bounded: beyond that a thread waits, or is refused, as its [`Patience`] says.
//! The table of its states is in `word`.

mod means;
mod notices;
mod pieces;
mod queue;
mod terms;
#[cfg(test)]
mod tests;
mod word;
pub mod writing;

use crate::Octets;
use corbie_cdr::Encoder;
use corbie_cdr::budget::{Account, Draw};
use corbie_threads::thread::Patience;
use means::{Means, QueueLock, Threads};
use notices::Due;
use queue::{Ends, SendQueue, Tick};
use std::sync::Arc;
use std::time::Instant;
use word::{SendWord, State};

pub use notices::Then;
pub use queue::{Position, Release, When};
pub use terms::{Limits, Look, Put, SendFault, Taking, Terms};

/// See the module.
#[derive(Debug)]
pub struct Sender<M: Means = Threads> {
    word: SendWord<M::Word>,
    /// Lock "sender": held to add to the queue or to take from it, not while sending.
    lock: M::Lock,
}

impl Sender {
    /// An idle sender.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Sender::with(limits)
    }
}

type Guard<'l, M> = <<M as Means>::Lock as QueueLock>::Guard<'l>;

impl<M: Means> Sender<M> {
    fn with(limits: Limits) -> Self {
        Sender { word: SendWord::new(), lock: M::Lock::new(SendQueue::new(limits)) }
    }

    /// Takes the finished message in `encoder` and sends it as `terms` say.
    ///
    /// # Errors
    /// [`SendFault`]: the message is not queued. After `Failed` and `Unknown` the sender is closed
    /// and the link shut down.
    #[inline]
    pub fn put(
        &self,
        link: &impl Octets,
        encoder: &mut Encoder<'_>,
        terms: &Terms,
    ) -> Result<Put, SendFault> {
        if matches!(terms.when, When::Now) && self.word.begin() {
            self.send_straight(link, encoder, terms)
        } else {
            self.queue(link, encoder, terms)
        }
    }

    /// This thread sends, and nothing is before the message: sends it from where it lies.
    #[inline]
    fn send_straight(
        &self,
        link: &impl Octets,
        encoder: &mut Encoder<'_>,
        terms: &Terms,
    ) -> Result<Put, SendFault> {
        let fragment_octets = terms.fragment_octets;
        let taken = if matches!(terms.patience, Patience::Block) {
            writing::send_message(link, encoder, fragment_octets).map(|()| None)
        } else if fragment_octets.is_some_and(|octets| encoder.len() > octets) {
            return self.send_queued(link, encoder, terms);
        } else {
            let taken = writing::try_send_message(link, encoder);
            taken.map(|octets| Some(octets).filter(|octets| *octets < encoder.len()))
        };
        match taken {
            Ok(None) => {
                if !self.word.end() {
                    self.take_along(link, terms.patience);
                }
                Ok(Put::Sent)
            }
            Ok(Some(octets)) => self.keep_rest(encoder, octets),
            Err(error) => {
                self.close(link);
                Err(SendFault::Failed(error))
            }
        }
    }

    /// This thread sends: what was queued meanwhile goes next.
    #[cold]
    fn take_along(&self, link: &impl Octets, patience: Patience) {
        let queue = self.lock.lock();
        if self.word.state() == State::Sending {
            // The message of this thread is sent. If others cannot be, the thread that reads
            // notices.
            let _ = self.drain(link, queue, patience);
        }
    }

    /// This thread sends, and must not wait: the peer took only so many octets of the message.
    #[cold]
    fn keep_rest(&self, encoder: &mut Encoder<'_>, octets: usize) -> Result<Put, SendFault> {
        let mut queue = self.lock.lock();
        if self.word.state() == State::Closed {
            return Err(SendFault::Closed);
        }
        let end = queue.put_rest(encoder, octets);
        queue.note_blocked(octets);
        self.word.set(State::Blocked);
        self.signal(&queue);
        Ok(Put::Waits(end))
    }

    /// This thread sends, and must not wait: queues the message in its fragments first.
    #[cold]
    fn send_queued(
        &self,
        link: &impl Octets,
        encoder: &mut Encoder<'_>,
        terms: &Terms,
    ) -> Result<Put, SendFault> {
        let mut queue = self.lock.lock();
        if self.word.state() == State::Closed {
            return Err(SendFault::Closed);
        }
        let end = queue.append(encoder, terms.fragment_octets);
        self.drain(link, queue, terms.patience).map(|sent| put_until(end, sent))
    }

    /// Puts the message behind what waits, and sends all if that is due.
    fn queue(
        &self,
        link: &impl Octets,
        encoder: &mut Encoder<'_>,
        terms: &Terms,
    ) -> Result<Put, SendFault> {
        let mut queue = self.room(encoder.len(), terms)?;
        let is_first = queue.octets() == 0;
        let end = queue.append(encoder, terms.fragment_octets);
        let is_new = queue.keep(terms.when, is_first);
        if self.word.appended() == State::Sending {
            return Ok(Put::Waits(end));
        }
        if !queue.is_enough(terms.when) {
            return Ok(Put::Kept { end, is_new });
        }
        self.resume(link, queue, terms.patience).map(|sent| put_until(end, sent))
    }

    /// The queue when it has room for `octets` more.
    fn room(&self, octets: usize, terms: &Terms) -> Result<Guard<'_, M>, SendFault> {
        let mut queue = self.lock.lock();
        loop {
            let state = self.word.state();
            if state == State::Closed || queue.ends == Ends::WhenSent {
                return Err(SendFault::Closed);
            }
            // One message alone is taken, however large it is.
            let waiting = queue.octets();
            if waiting == 0
                || queue.has_room(waiting.saturating_add(octets), octets, terms.patience)
            {
                return Ok(queue);
            }
            if terms.patience != Patience::Block {
                return Err(SendFault::Full(waiting));
            }
            // Without a thread that sends, none would make room: this thread becomes one.
            if state != State::Sending {
                return Ok(queue);
            }
            queue = self.wait(queue, terms.until).ok_or(SendFault::TimedOut)?;
        }
    }

    /// Waits for a change; `None` when the time is over.
    fn wait<'l>(&'l self, mut queue: Guard<'l, M>, until: Option<Instant>) -> Option<Guard<'l, M>> {
        if until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        queue.waiters += 1;
        let mut queue = self.lock.wait(queue, until);
        queue.waiters -= 1;
        Some(queue)
    }

    fn signal(&self, queue: &SendQueue) {
        if queue.waiters > 0 {
            self.lock.signal();
        }
    }

    /// Sends what is queued, unless another thread sends: where what was sent ends.
    fn resume<'l>(
        &'l self,
        link: &impl Octets,
        queue: Guard<'l, M>,
        patience: Patience,
    ) -> Result<Position, SendFault> {
        if self.word.resume() { self.drain(link, queue, patience) } else { Ok(queue.sent()) }
    }

    /// This thread sends, and has the lock: sends what is queued, and what is added meanwhile,
    /// until nothing is left, or the peer takes nothing and this thread does not wait for it.
    fn drain<'l>(
        &'l self,
        link: &impl Octets,
        mut queue: Guard<'l, M>,
        patience: Patience,
    ) -> Result<Position, SendFault> {
        let mut due = Due::default();
        let outcome = loop {
            let Some(mut pieces) = queue.take() else {
                queue.note_taken();
                match queue.ends {
                    Ends::NotYet => self.word.set(State::Idle),
                    Ends::WhenSent => due.extend(self.end(link, &mut queue)),
                }
                break Ok(());
            };
            self.word.set(State::Sending);
            drop(queue);
            let taken = pieces.send(link, patience == Patience::Block);
            queue = self.lock.lock();
            let is_left = pieces.octets() > 0;
            let octets = *taken.as_ref().unwrap_or(&0);
            queue.note_sent(octets, pieces);
            let sent = queue.sent();
            due.extend(queue.notices.take_sent(sent));
            if self.word.state() == State::Closed {
                // The thread that closed has told what is lost.
                queue.clear();
                break Ok(());
            }
            if let Err(error) = taken {
                due.extend(self.end(link, &mut queue));
                break Err(SendFault::Unknown(error));
            }
            if is_left && patience != Patience::Block {
                queue.note_blocked(octets);
                self.word.set(State::Blocked);
                self.signal(&queue);
                break Ok(());
            }
            self.signal(&queue);
        };
        let sent = queue.sent();
        drop(queue);
        due.tell();
        outcome.map(|()| sent)
    }

    /// With the lock held: nothing is sent any more, and what waits is lost.
    fn end(&self, link: &impl Octets, queue: &mut SendQueue) -> Due {
        self.word.set(State::Closed);
        link.shutdown();
        queue.clear();
        self.signal(queue);
        queue.notices.take_lost()
    }

    /// Shuts the link down: nothing is sent any more, what waits is lost, and threads that wait for
    /// room are told.
    pub fn close(&self, link: &impl Octets) {
        let mut queue = self.lock.lock();
        let due = self.end(link, &mut queue);
        drop(queue);
        due.tell();
    }

    /// Has what waits draw on `account`.
    pub fn set_account(&self, account: &Arc<Account>) {
        self.lock.lock().draw = Some(Draw::of(account));
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.word.state() == State::Closed
    }

    /// Whether nothing is queued or being sent, and anything may be.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.word.state() == State::Idle
    }

    /// Whether something is queued.
    #[inline]
    pub fn waits(&self) -> bool {
        match self.word.state() {
            State::Idle | State::Closed => false,
            State::Kept | State::Blocked => true,
            State::Sending => self.waiting() > 0,
        }
    }

    /// Octets that wait, with those that a thread is sending from the queue.
    #[inline]
    pub fn waiting(&self) -> usize {
        match self.word.state() {
            State::Idle | State::Closed => 0,
            _ => self.lock.lock().waiting(),
        }
    }

    /// Whether so much waits that nothing more shall be asked for.
    #[inline]
    pub fn is_over_half(&self) -> bool {
        match self.word.state() {
            State::Idle | State::Closed => false,
            _ => self.lock.lock().is_over_half(),
        }
    }

    /// How many octets were sent from the queue so far.
    pub fn moved(&self) -> u64 {
        self.lock.lock().moved()
    }

    /// Sends what waits and is not kept longer by a policy, as far as `patience` allows.
    ///
    /// # Errors
    /// [`SendFault::Unknown`]; the sender is closed then, and the link shut down.
    #[inline]
    pub fn flush(&self, link: &impl Octets, patience: Patience) -> Result<(), SendFault> {
        match self.word.state() {
            State::Kept | State::Blocked => self.flush_queue(link, patience, Release::Flush),
            _ => Ok(()),
        }
    }

    /// As [`Sender::flush`], of what a policy keeps, too.
    ///
    /// # Errors
    /// As [`Sender::flush`].
    #[inline]
    pub fn flush_all(&self, link: &impl Octets, patience: Patience) -> Result<(), SendFault> {
        match self.word.state() {
            State::Kept | State::Blocked => self.flush_queue(link, patience, Release::FlushAll),
            _ => Ok(()),
        }
    }

    #[cold]
    fn flush_queue(
        &self,
        link: &impl Octets,
        patience: Patience,
        release: Release,
    ) -> Result<(), SendFault> {
        let queue = self.lock.lock();
        if release == Release::FlushAll || queue.is_due(Instant::now) {
            self.resume(link, queue, patience)?;
        }
        Ok(())
    }

    /// A tick of the flusher, a millisecond after the last: sends what waited then already, without
    /// waiting.
    pub fn tick(&self, link: &impl Octets) -> Look {
        match self.word.state() {
            State::Closed => return Look::Nothing,
            State::Idle => {
                self.lock.lock().rest();
                return Look::Nothing;
            }
            State::Sending => return Look::New,
            State::Kept | State::Blocked => {}
        }
        let mut queue = self.lock.lock();
        if !queue.awaits_flush() {
            return Look::Nothing;
        }
        if !queue.is_due(Instant::now) {
            return Look::New;
        }
        match queue.tick() {
            Tick::First => Look::New,
            Tick::Rest => Look::Tried,
            Tick::Try => {
                // If that fails the thread that reads notices.
                let _ = self.resume(link, queue, Patience::Queue);
                if self.waits() { Look::Tried } else { Look::Nothing }
            }
        }
    }

    /// Puts a small whole message behind what waits, however much that is, and sends what can be
    /// sent without waiting.
    pub fn post(&self, link: &impl Octets, message: &[u8]) {
        let mut queue = self.lock.lock();
        if self.word.state() != State::Closed && queue.ends == Ends::NotYet {
            queue.append_octets(message);
            if self.word.appended() != State::Sending {
                // If that fails the thread that reads notices.
                let _ = self.resume(link, queue, Patience::Queue);
            }
        }
    }

    /// Puts the last word behind what waits. The sender drains, then closes and shuts the link
    /// down; at once if only this word is left and the peer does not take it.
    pub fn last(&self, link: &impl Octets, word: &[u8]) {
        let mut queue = self.lock.lock();
        if self.word.state() == State::Closed || queue.ends == Ends::WhenSent {
            return;
        }
        queue.ends = Ends::WhenSent;
        let is_alone = queue.octets() == 0;
        queue.append_octets(word);
        if self.word.appended() == State::Sending {
            return; // That thread takes it along.
        }
        let _ = self.resume(link, queue, Patience::Queue);
        if is_alone {
            self.close(link);
        }
    }

    /// Whether the last word was put here, and is still to be sent.
    pub fn has_last_word(&self) -> bool {
        self.lock.lock().ends == Ends::WhenSent && !self.is_closed()
    }

    /// `then` is told once whether what ends at `end` was handed to the transport, by the thread
    /// that sends it or that closes the sender; by this one if that is known now.
    pub fn when_sent(&self, end: Position, then: Then) {
        let mut queue = self.lock.lock();
        let is_sent = queue.sent() >= end;
        if is_sent || self.word.state() == State::Closed {
            drop(queue);
            return then(is_sent);
        }
        queue.notices.add(end, then);
    }

    /// Waits until what ends at `end` was handed to the transport. For a thread that may block: if
    /// no other sends, this one does.
    ///
    /// # Errors
    /// [`SendFault::Closed`] when the sender is closed before, `TimedOut` after `until`, and as
    /// [`Sender::flush`].
    pub fn wait_until_sent(
        &self,
        link: &impl Octets,
        end: Position,
        until: Option<Instant>,
    ) -> Result<(), SendFault> {
        self.wait_while(link, until, |queue| queue.sent() < end)
    }

    /// Waits until half of the queue is free: for a thread that may block.
    ///
    /// # Errors
    /// As [`Sender::wait_until_sent`].
    pub fn wait_until_half(&self, link: &impl Octets) -> Result<(), SendFault> {
        self.wait_while(link, None, SendQueue::is_over_half)
    }

    #[cold]
    fn wait_while(
        &self,
        link: &impl Octets,
        until: Option<Instant>,
        waits: impl Fn(&SendQueue) -> bool,
    ) -> Result<(), SendFault> {
        let mut queue = self.lock.lock();
        while waits(&queue) {
            match self.word.state() {
                State::Closed => return Err(SendFault::Closed),
                State::Sending => {
                    queue = self.wait(queue, until).ok_or(SendFault::TimedOut)?;
                }
                _ => {
                    self.resume(link, queue, Patience::Block)?;
                    queue = self.lock.lock();
                }
            }
        }
        Ok(())
    }

    /// Since when the peer has taken nothing of what is due: [`Taking::Freely`] when nothing waits
    /// for it.
    pub fn taking(&self) -> Taking {
        let queue = self.lock.lock();
        match self.word.state() {
            State::Idle | State::Closed => Taking::Freely,
            State::Kept | State::Sending => Taking::Soon,
            State::Blocked => queue.blocked_since().map_or(Taking::Soon, Taking::NothingSince),
        }
    }
}

/// What became of a message that ends at `end`, when all before `sent` was sent.
fn put_until(end: Position, sent: Position) -> Put {
    if end <= sent { Put::Sent } else { Put::Waits(end) }
}
