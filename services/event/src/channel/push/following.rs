//! A push consumer of a durable channel: its queue is the beginning of what is left for it in the
//! log. It is not given up as others are: it keeps its place until it disconnects.

use super::super::cursor::{self, AHEAD_EVENTS, AHEAD_OCTETS, Coming, Cursor, Follows};
use super::super::queue::Item;
use super::super::{Selection, UnderWay, count};
use super::{Phase, PushConsumer, PushState, is_gone};
use crate::corbie_events::ConsumerCounters;
use crate::durable::{Journal, Progress};
use crate::event::Event;
use crate::log::{Part, Place, Retention};
use corbie::SystemException;
use std::sync::Arc;
use std::time::Instant;

impl PushState {
    /// Whether more of the log is to be in memory.
    fn has_room(&self) -> bool {
        let (events, octets) = (self.queue.len(), self.queue.octets());
        events == 0 || (events < AHEAD_EVENTS && octets < AHEAD_OCTETS && self.queue.may_grow())
    }

    /// A request is on its way no more.
    pub(super) fn answered(&mut self) {
        self.queue.answered();
        self.note_idle();
    }

    /// A request was not sent after all.
    pub(super) fn unsent(&mut self, numbers: &[u64]) {
        self.queue.unsent(numbers);
        self.note_idle();
    }

    fn note_idle(&mut self) {
        if self.queue.pending() == 0 {
            // A waiting thread reads how far it is when the lock is free.
            self.under_way = None;
        }
    }

    /// Some events are done: whether the caller is to begin to read on.
    pub(super) fn reads_on(&mut self) -> bool {
        let is_low =
            self.queue.len() <= AHEAD_EVENTS / 2 && self.queue.octets() <= AHEAD_OCTETS / 2;
        let queued = self.queue.len();
        self.cursor.as_mut().is_some_and(|cursor| {
            cursor.keep(queued);
            cursor.begins_to_read(is_low)
        })
    }
}

impl PushConsumer {
    /// Has it follow a log, as far as it was there already.
    pub(crate) fn begin(&self, journal: &Arc<Journal>, selection: &Selection, at: &Progress) {
        self.counters.begin(at);
        self.lock().cursor = Some(Cursor::new(journal, selection, at.position));
    }

    /// Events are in the log, from the number `first` on.
    pub(in crate::channel) fn follow(
        self: &Arc<Self>,
        first: u64,
        place: Place,
        events: &[Arc<Event>],
    ) {
        let mut state = self.lock();
        let mut largest = 0;
        for (number, event) in (first..).zip(events) {
            let has_room = state.has_room() && state.phase != Phase::Ended;
            let Some(cursor) = &mut state.cursor else { return };
            if cursor.comes(number, place, has_room) {
                largest = self.put(&mut state, number, event).max(largest);
            }
        }
        self.go_on(state, largest);
        self.catch_up();
    }

    /// Puts an event into the queue: its octets.
    fn put(&self, state: &mut PushState, number: u64, event: &Arc<Event>) -> usize {
        let PushState { queue, cursor: Some(cursor), .. } = state else { return 0 };
        match cursor.take(number, event) {
            Coming::Event(event) => {
                let octets = event.len();
                queue.append(Item::One(event), None, false);
                octets
            }
            Coming::Unreadable => {
                count(&self.counters.refused, 1);
                0
            }
            Coming::Nothing => 0,
        }
    }

    /// Reads what it has not seen of the log, if there is any and room for it.
    pub(in crate::channel) fn catch_up(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return;
        }
        let has_room = state.has_room();
        let begins = state.cursor.as_mut().is_some_and(|cursor| cursor.begins_to_read(has_room));
        drop(state);
        if begins {
            self.read_on();
        }
    }

    /// Reads on: the cursor has begun to.
    pub(super) fn read_on(self: &Arc<Self>) {
        let journal = self.lock().cursor.as_ref().map(|cursor| Arc::clone(cursor.journal()));
        if let Some(journal) = journal {
            cursor::read_on(self, &journal);
        }
    }

    /// How far it is.
    pub(in crate::channel) fn progress(&self) -> Option<Progress> {
        let mut state = self.lock();
        let cursor = state.cursor.as_mut()?;
        self.counters.lost(cursor);
        Some(cursor::progress(cursor.position(), &self.counters))
    }

    /// Sends nothing more, until the server is started again. `under_way` is kept until what is on
    /// its way was answered.
    pub(crate) fn stop(&self, under_way: Option<&UnderWay>) {
        let mut state = self.lock();
        if state.phase != Phase::Ended {
            state.phase = Phase::Stopped;
            state.under_way = under_way.filter(|_| state.queue.pending() > 0).cloned();
        }
    }

    /// Its counters, as clients see them.
    pub(crate) fn statistics(&self, id: u64) -> ConsumerCounters {
        let queued = self.queued();
        let mut state = self.lock();
        state.cursor.iter_mut().for_each(|cursor| self.counters.lost(cursor));
        let trouble = state.cursor.as_ref().and_then(Cursor::trouble);
        self.counters.read(id, false, queued, trouble)
    }

    /// Whether a push that failed is a reason to disconnect a consumer that keeps its place: it
    /// does not exist, for as long as others are given to come back, or whatever waited for it in
    /// the beginning is not kept any more.
    pub(super) fn is_durably_over(
        &self,
        state: &mut PushState,
        exception: &SystemException,
        retention: Retention,
    ) -> bool {
        let now = Instant::now();
        state.gone_since = match is_gone(exception) {
            true => state.gone_since.or(Some(now)),
            false => None,
        };
        let is_gone = state.gone_since.is_some_and(|since| now - since >= self.qos.give_up_after);
        is_gone || state.failing_since.is_some_and(|since| now - since >= retention.age)
    }
}

impl Follows for PushConsumer {
    fn wanted(&self) -> Option<(u64, Option<Place>)> {
        let mut state = self.lock();
        let has_room = state.has_room() && state.phase != Phase::Ended;
        state.cursor.as_mut()?.wanted(has_room)
    }

    fn take_part(self: &Arc<Self>, part: &Part) {
        let mut state = self.lock();
        let mut largest = 0;
        if let Some(cursor) = &mut state.cursor {
            count(&self.counters.dropped, cursor.pass_over(part.first));
        }
        for (number, event) in (part.first..).zip(&part.events) {
            if !state.has_room() {
                break;
            }
            largest = self.put(&mut state, number, event).max(largest);
        }
        if let Some(cursor) = &mut state.cursor {
            cursor.stands_in(part);
        }
        if state.phase != Phase::Ended {
            self.go_on(state, largest);
        }
    }

    fn cannot_read(&self, why: String) {
        if let Some(cursor) = &mut self.lock().cursor {
            cursor.set_trouble(why);
        }
    }
}
