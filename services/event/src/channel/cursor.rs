//! Where a consumer of a durable channel is in the log: its queue holds the next few events, the
//! rest is read when there is room.
//!
//! A consumer that keeps up takes events as they are written ([`Cursor::comes`]); one that is
//! behind has a thread of the store read on ([`read_on`]). Memory is bounded however long the
//! backlog.

use super::{Form, Selection};
use crate::durable::{Journal, Progress};
use crate::event::Event;
use crate::log::{Part, Place};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Events and octets that are in memory for one consumer, unless it is one event.
pub(super) const AHEAD_EVENTS: usize = 1024;
pub(super) const AHEAD_OCTETS: usize = 1 << 20;
/// After how long reading is tried again that failed.
const AGAIN: Duration = Duration::from_secs(5);

/// Where a consumer is. Part of its state, guarded by its lock.
pub(super) struct Cursor {
    journal: Arc<Journal>,
    selection: Selection,
    /// The first event that is not in the queue yet.
    next: u64,
    /// Where that is, if it is known.
    place: Option<Place>,
    /// The numbers of the events in the queue, in order.
    numbers: VecDeque<u64>,
    /// The store reads, or is about to.
    is_reading: bool,
    /// It went back since that began: what is being read is not what it wants.
    is_elsewhere: bool,
    /// Why the log cannot be read.
    trouble: Option<String>,
}

/// An event on its way into a queue.
pub(super) enum Coming {
    /// It is to be put in.
    Event(Arc<Event>),
    /// It cannot be put in the form that the consumer takes.
    Unreadable,
    /// It is nothing for it, or has been there already.
    Nothing,
}

impl Cursor {
    pub(super) fn new(journal: &Arc<Journal>, selection: &Selection, position: u64) -> Self {
        Self {
            journal: Arc::clone(journal),
            selection: selection.clone(),
            next: position.min(journal.log().end()),
            place: None,
            numbers: VecDeque::new(),
            is_reading: false,
            is_elsewhere: false,
            trouble: None,
        }
    }

    pub(super) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// An event was written: whether the consumer takes it now. If not, it is read later.
    pub(super) fn comes(&mut self, number: u64, place: Place, has_room: bool) -> bool {
        let is_next = number == self.next && !self.is_reading;
        if is_next && !has_room {
            self.place = Some(place);
        }
        is_next && has_room
    }

    /// The event `number` goes into the queue, or is passed over: what becomes of it.
    pub(super) fn take(&mut self, number: u64, event: &Arc<Event>) -> Coming {
        if number != self.next {
            return Coming::Nothing;
        }
        (self.next, self.place) = (number + 1, None);
        match self.selection.form_of(event) {
            Form::Given(event) => {
                self.numbers.push_back(number);
                Coming::Event(Arc::clone(event))
            }
            Form::NotForIt => Coming::Nothing,
            Form::Unreadable => Coming::Unreadable,
        }
    }

    /// Passes over what the log does not have any more: how many events.
    pub(super) fn pass_over(&mut self, first: u64) -> usize {
        let dropped = first.saturating_sub(self.next);
        if dropped > 0 {
            (self.next, self.place) = (first, None);
        }
        usize::try_from(dropped).unwrap_or(usize::MAX)
    }

    /// Passes over what was dropped from the log: how many events.
    pub(super) fn lose(&mut self) -> usize {
        self.pass_over(self.journal.log().first())
    }

    /// The queue has so many events now; those before them are done.
    pub(super) fn keep(&mut self, queued: usize) {
        let done = self.numbers.len().saturating_sub(queued);
        self.numbers.drain(..done);
    }

    /// The event at this place of the queue was taken out of it: its number.
    pub(super) fn take_out(&mut self, at: usize) -> Option<u64> {
        self.numbers.remove(at)
    }

    /// The event that came last does not go into the queue: its number.
    pub(super) fn take_last(&mut self) -> Option<u64> {
        self.numbers.pop_back()
    }

    /// The event was taken out and is to go into the queue again: its place there. `None` when it
    /// is in it already, or comes again.
    pub(super) fn put_back(&mut self, number: u64) -> Option<usize> {
        let at = self.numbers.partition_point(|queued| *queued < number);
        let comes = number >= self.next || self.numbers.get(at) == Some(&number);
        if comes {
            return None;
        }
        self.numbers.insert(at, number);
        Some(at)
    }

    /// Everything behind the event `number`, which is at this place of the queue, comes again; but
    /// for what the log has not got any more, which stays: how many there are in the queue now.
    pub(super) fn go_back(&mut self, number: u64, at: usize) -> usize {
        let first = self.journal.log().first();
        let kept = self.numbers.partition_point(|queued| *queued < first).max(at + 1);
        self.numbers.truncate(kept);
        (self.next, self.place) = ((number + 1).max(first), None);
        self.is_elsewhere = true;
        kept
    }

    /// Whether a part that was read is what it wanted.
    pub(super) fn is_here(&self) -> bool {
        !self.is_elsewhere
    }

    /// All events with lower numbers are out of the queue.
    pub(super) fn position(&self) -> u64 {
        self.numbers.front().copied().unwrap_or(self.next)
    }

    /// Events that are to be read, and their octets in the log.
    pub(super) fn behind(&self) -> (u64, u64) {
        let log = self.journal.log();
        let events = log.end().saturating_sub(self.next.max(log.first()));
        let octets = match self.place {
            _ if events == 0 => 0,
            Some(place) => log.octets_behind(place),
            None => log.octets_from(self.next),
        };
        (events, octets)
    }

    /// Whether a thread should begin to read; then the caller does.
    pub(super) fn begins_to_read(&mut self, has_room: bool) -> bool {
        let begins = has_room && !self.is_reading && self.next < self.journal.log().end();
        self.is_reading |= begins;
        begins
    }

    /// From where to read on; none, when there is no room or nothing to read, and reading ends.
    pub(super) fn wanted(&mut self, has_room: bool) -> Option<(u64, Option<Place>)> {
        self.is_reading = has_room && self.next < self.journal.log().end();
        self.is_elsewhere = false;
        self.is_reading.then_some((self.next, self.place))
    }

    /// So far a part of the log was taken: where to read on.
    pub(super) fn stands_in(&mut self, part: &Part) {
        self.trouble = None;
        let end = part.first + part.events.len() as u64;
        self.place = if self.next < end { part.here } else { part.next };
    }

    pub(super) fn trouble(&self) -> Option<&String> {
        self.trouble.as_ref()
    }

    /// Reading failed.
    pub(super) fn set_trouble(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            tracing::error!(why, "a log cannot be read, and a consumer waits for it");
            self.trouble = Some(why);
        }
    }
}

/// A consumer with a cursor.
pub(super) trait Follows: Send + Sync + 'static {
    /// As [`Cursor::wanted`].
    fn wanted(&self) -> Option<(u64, Option<Place>)>;
    /// Takes of a part of the log what there is room for.
    fn take_part(self: &Arc<Self>, part: &Part);
    /// Reading failed, and will be tried again.
    fn cannot_read(&self, why: String);
}

/// Has a thread of the store read for `consumer`, whose cursor began to.
pub(super) fn read_on<C: Follows>(consumer: &Arc<C>, journal: &Arc<Journal>) {
    read_after(Arc::downgrade(consumer), journal, Duration::ZERO);
}

fn read_after<C: Follows>(consumer: Weak<C>, journal: &Arc<Journal>, delay: Duration) {
    let log = Arc::downgrade(journal);
    journal.readers().after(delay, move || {
        let (Some(consumer), Some(journal)) = (consumer.upgrade(), log.upgrade()) else { return };
        while let Some((from, place)) = consumer.wanted() {
            let why = match journal.log().read(from, place) {
                Ok(Some(part)) => {
                    consumer.take_part(&part);
                    continue;
                }
                Ok(None) => format!("the log has no event {from}, which it should have"),
                Err(error) => error.to_string(),
            };
            consumer.cannot_read(why);
            return read_after(Arc::downgrade(&consumer), &journal, AGAIN);
        }
    });
}

/// How far a consumer is that has got `delivered` and so on.
pub(super) fn progress(position: u64, counters: &super::Counters) -> Progress {
    let read =
        |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    Progress {
        position,
        delivered: read(&counters.delivered),
        dropped: read(&counters.dropped),
        refused: read(&counters.refused),
    }
}
