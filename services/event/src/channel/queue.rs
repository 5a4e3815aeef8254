//! The events that wait for one push consumer, and those on their way to it: a window over a
//! queue. No input, output or lock is here.
//!
//! Events leave in the order they came. What was sent stays until it is answered, so that after a
//! failure all that may not have arrived is sent again, in order.

use super::Ticket;
use crate::event::Event;
use crate::qos::{ChannelQos, Overflow};
use std::collections::VecDeque;
use std::sync::Arc;

/// The queue of one consumer.
#[derive(Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// How many of the first entries were sent since the last failure.
    sent: usize,
    /// Sent, and neither answered nor failed.
    pending: usize,
    pending_octets: usize,
    octets: usize,
    next_number: u64,
}

struct Entry {
    number: u64,
    event: Arc<Event>,
    /// Kept while the supplier is to wait.
    ticket: Option<Arc<Ticket>>,
    is_done: bool,
}

/// What became of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Taken,
    /// It was taken, and so many were dropped for it.
    DroppedOldest(usize),
    DroppedNewest,
    /// The consumer is to be disconnected.
    Overflowed,
}

/// Octets on their way to one consumer, unless it is one event: what the buffers of a connection
/// take, so that a consumer that reads nothing keeps no thread waiting.
const WINDOW_OCTETS: usize = 128 << 10;

impl Queue {
    /// Puts an event in. What is dropped may be the last to hold a ticket; it goes to `released`.
    pub(super) fn offer(
        &mut self,
        event: &Arc<Event>,
        ticket: Option<&Arc<Ticket>>,
        qos: &ChannelQos,
        released: &mut Vec<Arc<Ticket>>,
    ) -> Offered {
        let mut dropped = 0;
        let mut blocked = None;
        while self.is_full(event.len(), qos) {
            match qos.when_full {
                Overflow::DropNewest => return Offered::DroppedNewest,
                Overflow::Disconnect => return Offered::Overflowed,
                Overflow::BlockSupplier => {
                    blocked = ticket.map(Arc::clone);
                    break;
                }
                Overflow::DropOldest => {
                    // What is on its way cannot be dropped any more.
                    let Some(oldest) = self.entries.remove(self.sent) else {
                        return Offered::DroppedNewest;
                    };
                    self.octets -= oldest.event.len();
                    released.extend(oldest.ticket);
                    dropped += 1;
                }
            }
        }
        self.octets += event.len();
        let (number, event) = (self.next_number, Arc::clone(event));
        self.next_number += 1;
        self.entries.push_back(Entry { number, event, ticket: blocked, is_done: false });
        if dropped == 0 { Offered::Taken } else { Offered::DroppedOldest(dropped) }
    }

    fn is_full(&self, octets: usize, qos: &ChannelQos) -> bool {
        // One event alone is taken, however large it is.
        !self.entries.is_empty()
            && (self.entries.len() >= qos.queue_events
                || self.octets.saturating_add(octets) > qos.queue_octets)
    }

    /// The next event to send, when the window has room; from now on it is pending.
    pub(super) fn next(&mut self, window: usize) -> Option<(u64, Arc<Event>)> {
        // What was done before a failure is not sent again.
        while self.entries.get(self.sent).is_some_and(|entry| entry.is_done) {
            self.sent += 1;
        }
        let entry = self.entries.get(self.sent)?;
        let octets = self.pending_octets.saturating_add(entry.event.len());
        if self.pending >= window || (self.pending > 0 && octets > WINDOW_OCTETS) {
            return None;
        }
        self.sent += 1;
        self.pending += 1;
        self.pending_octets = octets;
        Some((entry.number, Arc::clone(&entry.event)))
    }

    /// A pending event was taken, or refused for good: it goes. Suppliers for whose events there
    /// is room now are in `released`.
    pub(super) fn done(&mut self, number: u64, qos: &ChannelQos, released: &mut Vec<Arc<Ticket>>) {
        self.ends(number, true);
        while self.entries.front().is_some_and(|entry| entry.is_done) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.octets -= entry.event.len();
            self.sent = self.sent.saturating_sub(1);
            released.extend(entry.ticket);
            // One more is within the limit, and when all octets are, all are.
            let within = qos.queue_events.saturating_sub(1);
            if self.octets <= qos.queue_octets
                && let Some(entry) = self.entries.get_mut(within)
            {
                released.extend(entry.ticket.take());
            }
        }
        if self.entries.len() < qos.queue_events && self.octets <= qos.queue_octets {
            released.extend(self.entries.iter_mut().rev().map_while(|entry| entry.ticket.take()));
        }
    }

    /// A pending event did not arrive, as far as is known: it stays.
    pub(super) fn failed(&mut self, number: u64) {
        self.ends(number, false);
    }

    fn ends(&mut self, number: u64, is_done: bool) {
        let Some(first) = self.entries.front().map(|entry| entry.number) else { return };
        // Numbers ascend; few are missing between them.
        let guess = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let place = guess.min(self.entries.len().saturating_sub(1));
        let found = (0..=place)
            .rev()
            .find(|&at| self.entries.get(at).is_some_and(|entry| entry.number <= number));
        let Some(entry) = found.and_then(|at| self.entries.get_mut(at)) else { return };
        if entry.number == number {
            entry.is_done = is_done;
            self.pending = self.pending.saturating_sub(1);
            self.pending_octets = self.pending_octets.saturating_sub(entry.event.len());
        }
    }

    /// Begins again with the first event that is not done. Nothing is to be pending.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
    }

    /// Gives all up: how many events, with their tickets in `released`.
    pub(super) fn clear(&mut self, released: &mut Vec<Arc<Ticket>>) -> usize {
        let entries = std::mem::take(&mut self.entries);
        (self.sent, self.pending, self.pending_octets, self.octets) = (0, 0, 0, 0);
        let left = entries.iter().filter(|entry| !entry.is_done).count();
        released.extend(entries.into_iter().filter_map(|entry| entry.ticket));
        left
    }

    /// How many are pending.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// How many are not done.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn octets(&self) -> usize {
        self.octets
    }
}
