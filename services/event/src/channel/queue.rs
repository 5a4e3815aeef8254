//! What waits for one push consumer, and what is on its way to it: a window over a queue. No input,
//! output or lock is here.
//!
//! Events leave in the order they came. What was sent stays until it is answered, so that after a
//! failure all that may not have arrived is sent again, in order.

use crate::budget::{Budget, Share};
use crate::bundle::{self, Bundle};
use crate::event::Event;
use crate::qos::{ChannelQos, Overflow};
use crate::ticket::Ticket;
use std::collections::VecDeque;
use std::sync::Arc;

/// An event, or many that came together and need not be told apart.
#[derive(Clone, Debug)]
pub(super) enum Item {
    One(Arc<Event>),
    Many(Arc<Bundle>),
}

impl Item {
    /// How many events it is.
    pub(super) fn count(&self) -> usize {
        match self {
            Item::One(_) => 1,
            Item::Many(bundle) => bundle.count(),
        }
    }

    pub(super) fn octets(&self) -> usize {
        match self {
            Item::One(event) => event.len(),
            Item::Many(bundle) => bundle.octets(),
        }
    }

    /// What it counts as where memory is bounded.
    fn weight(&self) -> usize {
        match self {
            Item::One(event) => event.weight(),
            Item::Many(bundle) => bundle.weight(),
        }
    }

    /// Whether it can stand in a bundle with others as it is.
    fn can_be_joined(&self) -> bool {
        match self {
            Item::One(event) => bundle::is_frame(event),
            Item::Many(bundle) => bundle.is_ours(),
        }
    }
}

/// What goes in one request, each with its number.
#[derive(Debug)]
pub(super) enum Parcel {
    One(u64, Arc<Event>),
    Bundle(Vec<(u64, Item)>),
}

/// The queue of one consumer.
#[derive(Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// How many of the first entries were sent since the last failure.
    sent: usize,
    /// Requests that were sent and neither answered nor failed, and their octets.
    pending: usize,
    pending_octets: usize,
    /// Of all entries.
    size: Size,
    /// What they take of the memory for all queues of the server.
    share: Share,
    /// How many of the first entries are within the limits, and what they are together. Of those
    /// behind, the suppliers wait.
    within: usize,
    size_within: Size,
    next_number: u64,
}

struct Entry {
    number: u64,
    item: Item,
    /// Kept while the supplier is to wait.
    ticket: Option<Arc<Ticket>>,
    is_done: bool,
}

/// Events, their octets, and what they count as.
#[derive(Clone, Copy, Default)]
struct Size {
    events: usize,
    octets: usize,
    weight: usize,
}

impl Size {
    fn add(&mut self, item: &Item) {
        self.events += item.count();
        self.octets += item.octets();
        self.weight += item.weight();
    }

    fn subtract(&mut self, item: &Item) {
        self.events -= item.count();
        self.octets -= item.octets();
        self.weight -= item.weight();
    }

    /// Whether `item` is within the limits behind these.
    fn has_room(self, item: &Item, qos: &ChannelQos) -> bool {
        // One alone is taken, however large it is.
        self.events == 0
            || (self.events.saturating_add(item.count()) <= qos.queue_events
                && self.weight.saturating_add(item.weight()) <= qos.queue_octets)
    }
}

/// What became of an event, or of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Taken,
    /// It was taken, and so many events were dropped for it.
    DroppedOldest(usize),
    DroppedNewest,
    /// It was not taken, and its supplier is to be told so.
    Refused,
    /// The consumer is to be disconnected.
    Overflowed,
}

/// Octets on their way to one consumer, unless it is one request: what the buffers of a connection
/// take, so that a consumer that reads nothing keeps no thread waiting.
const WINDOW_OCTETS: usize = 128 << 10;

impl Queue {
    /// What it holds counts for `budget`.
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { share: Share::new(budget), ..Self::default() }
    }

    /// Puts something in. What is dropped may be the last to hold a ticket; it goes to `released`.
    pub(super) fn offer(
        &mut self,
        item: Item,
        ticket: Option<&Arc<Ticket>>,
        qos: &ChannelQos,
        released: &mut Vec<Arc<Ticket>>,
    ) -> Offered {
        let mut dropped = 0;
        let mut blocked = None;
        if !self.share.has_room(item.weight()) {
            self.share.refuse(item.weight());
        }
        loop {
            let may_grow = self.share.has_room(item.weight());
            if may_grow && self.size.has_room(&item, qos) {
                break;
            }
            match qos.when_full {
                Overflow::DropNewest => return Offered::DroppedNewest,
                Overflow::Disconnect => return Offered::Overflowed,
                Overflow::BlockSupplier if may_grow && self.has_room_behind(&item, qos) => {
                    blocked = ticket.map(Arc::clone);
                    break;
                }
                Overflow::BlockSupplier => return Offered::Refused,
                Overflow::DropOldest => {
                    // What is on its way cannot be dropped any more.
                    let Some(oldest) = self.entries.remove(self.sent) else {
                        return Offered::DroppedNewest;
                    };
                    self.left(self.sent, &oldest.item);
                    released.extend(oldest.ticket);
                    // Before a failure it may have arrived.
                    dropped += if oldest.is_done { 0 } else { oldest.item.count() };
                }
            }
        }
        if blocked.is_none() {
            self.within = self.entries.len() + 1;
            self.size_within.add(&item);
        }
        self.put(item, blocked, false);
        if dropped == 0 { Offered::Taken } else { Offered::DroppedOldest(dropped) }
    }

    /// Whether one more supplier may wait: as much may be behind the limits as within.
    fn has_room_behind(&self, item: &Item, qos: &ChannelQos) -> bool {
        let behind = self.size.weight - self.size_within.weight;
        behind == 0 || behind.saturating_add(item.weight()) <= qos.queue_octets
    }

    fn put(&mut self, item: Item, ticket: Option<Arc<Ticket>>, is_done: bool) {
        self.size.add(&item);
        self.share.take(item.weight());
        let number = self.next_number;
        self.next_number += 1;
        self.entries.push_back(Entry { number, item, ticket, is_done });
    }

    /// The entry that was at this place is not there any more.
    fn left(&mut self, place: usize, item: &Item) {
        self.size.subtract(item);
        self.share.give_back(item.weight());
        if place < self.within {
            self.within -= 1;
            self.size_within.subtract(item);
        }
    }

    /// What is to be sent next, when the window has room; from now on it is pending. In bundles, if
    /// the consumer takes them.
    pub(super) fn next(
        &mut self,
        window: usize,
        bundles: bool,
        qos: &ChannelQos,
    ) -> Option<Parcel> {
        if self.pending >= window {
            return None;
        }
        let (number, first) = self.waiting()?;
        let mut octets = first.octets();
        if self.pending > 0 && self.pending_octets.saturating_add(octets) > WINDOW_OCTETS {
            return None;
        }
        self.sent += 1;
        let mut items = Vec::new();
        // Were all of a queue on its way, the next to be dropped would be the newest.
        let most = match qos.when_full {
            Overflow::DropOldest => qos.queue_events / 2 / qos.window.max(1),
            _ => usize::MAX,
        };
        let mut events = first.count();
        if bundles && first.can_be_joined() {
            while let Some((number, item)) = self.waiting()
                && item.can_be_joined()
                && octets + item.octets() <= bundle::FULL_OCTETS
                && items.len() < bundle::FULL_EVENTS
                && events + item.count() <= most
            {
                octets += item.octets();
                events += item.count();
                self.sent += 1;
                items.push((number, item));
            }
        }
        self.pending += 1;
        self.pending_octets = self.pending_octets.saturating_add(octets);
        match first {
            Item::One(event) if items.is_empty() => Some(Parcel::One(number, event)),
            first => {
                items.insert(0, (number, first));
                Some(Parcel::Bundle(items))
            }
        }
    }

    /// The first that was not sent.
    fn waiting(&mut self) -> Option<(u64, Item)> {
        // What was done before a failure is not sent again.
        while self.entries.get(self.sent).is_some_and(|entry| entry.is_done) {
            self.sent += 1;
        }
        self.entries.get(self.sent).map(|entry| (entry.number, entry.item.clone()))
    }

    /// A request is pending no more; what became of its parts is told next.
    pub(super) fn answered(&mut self) {
        self.pending = self.pending.saturating_sub(1);
    }

    /// A part of a request was taken, or refused for good: it goes. Suppliers for whose events
    /// there is room now are in `released`.
    pub(super) fn done(&mut self, number: u64, qos: &ChannelQos, released: &mut Vec<Arc<Ticket>>) {
        self.ends(number, true);
        while self.entries.front().is_some_and(|entry| entry.is_done) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.left(0, &entry.item);
            self.sent = self.sent.saturating_sub(1);
            released.extend(entry.ticket);
        }
        while let Some(next) = self.entries.get_mut(self.within)
            && self.size_within.has_room(&next.item, qos)
        {
            self.within += 1;
            self.size_within.add(&next.item);
            released.extend(next.ticket.take());
        }
    }

    /// A part of a request did not arrive, as far as is known: it stays.
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
            self.pending_octets = self.pending_octets.saturating_sub(entry.item.octets());
        }
    }

    /// A request was not sent after all, as its connection had no room: its parts are the next
    /// again.
    pub(super) fn unsent(&mut self, numbers: &[u64]) {
        self.answered();
        numbers.iter().for_each(|number| self.failed(*number));
        let Some(first) = numbers.first() else { return };
        let is_part = |entry: &Entry| entry.number >= *first;
        while self.sent > 0 && self.entries.get(self.sent - 1).is_some_and(is_part) {
            self.sent -= 1;
        }
    }

    /// Begins again with the first event that is not done. Nothing is to be pending.
    pub(super) fn rewind(&mut self) {
        self.sent = 0;
    }

    /// The consumer takes no bundles after all. Nothing is to be pending. What is done stays in its
    /// place: consumers that follow a log count on it.
    pub(super) fn take_apart(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        self.share.give_back(self.size.weight);
        (self.within, self.size_within, self.size) = Default::default();
        for Entry { item, ticket, is_done, .. } in entries {
            match item {
                Item::Many(bundle) if !is_done => {
                    for event in bundle.events() {
                        self.append(Item::One(Arc::clone(event)), ticket.clone(), false);
                    }
                }
                item => self.append(item, ticket, is_done),
            }
        }
    }

    /// Puts something in, whatever the limits are.
    pub(super) fn append(&mut self, item: Item, ticket: Option<Arc<Ticket>>, is_done: bool) {
        if ticket.is_none() {
            self.within += 1;
            self.size_within.add(&item);
        }
        self.put(item, ticket, is_done);
    }

    /// Gives all up: how many events, with their tickets in `released`.
    pub(super) fn clear(&mut self, released: &mut Vec<Arc<Ticket>>) -> usize {
        let queue = std::mem::take(self);
        self.next_number = queue.next_number;
        self.share = queue.share;
        self.share.give_back(queue.size.weight);
        let left = queue.entries.iter().filter(|entry| !entry.is_done);
        let left = left.map(|entry| entry.item.count()).sum();
        released.extend(queue.entries.into_iter().filter_map(|entry| entry.ticket));
        left
    }

    /// How many requests are pending.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// Whether it may hold more of the memory for all queues.
    pub(super) fn may_grow(&self) -> bool {
        self.share.has_room(Event::BESIDE)
    }

    /// How many events are not done.
    pub(super) fn len(&self) -> usize {
        self.size.events
    }

    pub(super) fn octets(&self) -> usize {
        self.size.octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie::Any;

    fn event(value: i32) -> Arc<Event> {
        let any = Any::from_value::<i32>(&value).expect("an any");
        Arc::new(Event::of_any(&any).expect("an event"))
    }

    /// Three events, all sent; the second was taken, the others are to be sent again.
    fn with_a_gap(qos: &ChannelQos) -> Queue {
        let (mut queue, mut released) = (Queue::default(), vec![]);
        for value in 0..3 {
            let offered = queue.offer(Item::One(event(value)), None, qos, &mut released);
            assert_eq!(offered, Offered::Taken);
            assert!(queue.next(3, false, qos).is_some());
        }
        for number in [0, 2] {
            queue.answered();
            queue.failed(number);
        }
        queue.answered();
        queue.done(1, qos, &mut released);
        queue.rewind();
        queue
    }

    #[test]
    fn what_was_not_sent_for_want_of_room_is_next_again() {
        let (qos, mut queue) = (ChannelQos::default(), Queue::default());
        for value in 0..4 {
            queue.offer(Item::One(event(value)), None, &qos, &mut vec![]);
        }
        assert_eq!(next_number(&mut queue, &qos), Some(0));
        assert_eq!(next_number(&mut queue, &qos), Some(1));
        // The first is answered while the second finds no room.
        queue.answered();
        queue.done(0, &qos, &mut vec![]);
        queue.unsent(&[1]);
        assert_eq!((queue.pending(), queue.len(), queue.pending_octets), (0, 3, 0));
        for number in 1..4 {
            assert_eq!(next_number(&mut queue, &qos), Some(number));
        }
        assert_eq!(queue.pending(), 3);
    }

    fn next_number(queue: &mut Queue, qos: &ChannelQos) -> Option<u64> {
        match queue.next(3, false, qos)? {
            Parcel::One(number, _) => Some(number),
            Parcel::Bundle(_) => None,
        }
    }

    #[test]
    fn what_was_taken_keeps_its_place_when_bundles_are_taken_apart() {
        let qos = ChannelQos::default();
        let mut queue = with_a_gap(&qos);
        assert_eq!(queue.len(), 3);
        queue.take_apart();
        assert_eq!(queue.len(), 3, "a reader of a log takes the difference for the first ones");
        let first = next_number(&mut queue, &qos).expect("the first");
        assert_eq!(next_number(&mut queue, &qos), Some(first + 2), "the second was taken");
        queue.answered();
        queue.done(first, &qos, &mut vec![]);
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn what_was_taken_before_a_failure_is_not_dropped() {
        let qos = ChannelQos { queue_events: 3, ..ChannelQos::default() };
        let mut queue = with_a_gap(&qos);
        for (value, became) in [(3, Offered::DroppedOldest(1)), (4, Offered::Taken)] {
            let offered = queue.offer(Item::One(event(value)), None, &qos, &mut vec![]);
            assert_eq!(offered, became, "{value}");
        }
        assert_eq!(next_number(&mut queue, &qos), Some(2));
    }

    #[test]
    fn a_bundle_on_its_way_is_not_all_of_a_queue() {
        let qos = ChannelQos { queue_events: 8, ..ChannelQos::default() };
        let (mut queue, mut released) = (Queue::default(), vec![]);
        let mut offer = |queue: &mut Queue, value| {
            queue.offer(Item::One(event(value)), None, &qos, &mut released)
        };
        (0..8).for_each(|value| assert_eq!(offer(&mut queue, value), Offered::Taken));
        let Some(Parcel::Bundle(sent)) = queue.next(1, true, &qos) else { panic!("a bundle") };
        assert_eq!(sent.len(), 4);
        assert_eq!(offer(&mut queue, 8), Offered::DroppedOldest(1));
        let mut left = vec![];
        queue.answered();
        sent.iter().for_each(|(number, _)| queue.done(*number, &qos, &mut vec![]));
        while let Some(Parcel::Bundle(items)) = queue.next(1, true, &qos) {
            queue.answered();
            left.extend(items.iter().map(|(number, _)| *number));
        }
        assert_eq!(left, [5, 6, 7, 8], "the oldest that was not sent went");
    }
}
