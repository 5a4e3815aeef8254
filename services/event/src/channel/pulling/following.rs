//! A pull consumer of a durable channel: its queue is the beginning of what is left for it in the
//! log.
//!
//! No consumer acknowledges the reply to a pull. So an event counts as got when its consumer pulls
//! again: what was given last may be given again after a crash of the server.

use super::super::cursor::{self, AHEAD_EVENTS, AHEAD_OCTETS, Coming, Cursor, Follows};
use super::super::{Selection, count};
use super::{Out, Pull, PullState, PullingConsumer};
use crate::budget::OnItsWay;
use crate::corbie_events::ConsumerCounters;
use crate::durable::{Journal, Progress};
use crate::event::Event;
use crate::log::{Part, Place};
use std::sync::Arc;

impl PullState {
    /// Whether more of the log is to be in memory.
    fn has_room(&self) -> bool {
        let (events, octets) = (self.events.len(), self.octets);
        let may_grow = self.share.has_room(Event::BESIDE);
        let has_none = events == 0 && self.share.away() == 0;
        has_none || (events < AHEAD_EVENTS && octets < AHEAD_OCTETS && may_grow)
    }

    /// The event at this place was taken out of the queue: its number.
    pub(super) fn take_number(&mut self, at: usize) -> Option<u64> {
        let number = self.cursor.as_mut()?.take_out(at)?;
        self.gives(number);
        Some(number)
    }

    fn gives(&mut self, number: u64) {
        self.given.push_back(number);
        self.youngest_given = self.youngest_given.max(Some(number));
    }

    /// An event was not given after all: whether it is in the queue now, and was not before. If
    /// younger ones were given meanwhile, to who pulls now, they come again behind it: the order of
    /// a supplier is kept by repeating, as after a crash.
    pub(super) fn put_back(
        &mut self,
        number: Option<u64>,
        event: Arc<Event>,
        back: Option<OnItsWay>,
    ) -> bool {
        let mut at = 0;
        if let (Some(number), Some(cursor)) = (number, &mut self.cursor) {
            self.given.retain(|given| *given != number);
            let Some(place) = cursor.put_back(number) else { return false };
            at = place;
            if self.youngest_given > Some(number) {
                // Of those the event itself is not among `events` yet.
                let kept = cursor.go_back(number, at) - 1;
                let behind: Vec<_> = self.events.drain(kept..).collect();
                behind.iter().for_each(|(event, _)| self.left(event));
                // What is older was given, and comes again if one of those is put back, too.
                self.youngest_given = number.checked_sub(1);
            }
        }
        self.put(at, event, None);
        drop(back);
        true
    }

    /// It has all events with lower numbers.
    fn position(&self, cursor: &Cursor) -> u64 {
        let given = self.given.iter().copied().min();
        given.map_or_else(|| cursor.position(), |given| given.min(cursor.position()))
    }
}

impl PullingConsumer {
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
        let mut given = Vec::new();
        let mut state = self.lock();
        for (number, event) in (first..).zip(events) {
            let has_room = state.has_room() && !state.is_ended;
            let Some(cursor) = &mut state.cursor else { return };
            if cursor.comes(number, place, has_room) {
                given.extend(self.put(&mut state, number, event));
            }
        }
        self.release(state);
        given.into_iter().for_each(|(pull, out)| {
            self.give(pull, out);
        });
        self.catch_up();
    }

    /// Puts an event into the queue, unless a pull waits for it.
    fn put(&self, state: &mut PullState, number: u64, event: &Arc<Event>) -> Option<(Pull, Out)> {
        let event = match state.cursor.as_mut()?.take(number, event) {
            Coming::Event(event) => event,
            Coming::Unreadable => {
                count(&self.counters.refused, 1);
                return None;
            }
            Coming::Nothing => return None,
        };
        match state.next_pull_for(&event) {
            Some(pull) => {
                let number = state.cursor.as_mut().and_then(Cursor::take_last);
                number.into_iter().for_each(|number| state.gives(number));
                Some((pull, state.straight(&event, number)))
            }
            None => {
                let end = state.events.len();
                state.put(end, event, None);
                None
            }
        }
    }

    /// Reads what it has not seen of the log, if there is any and room for it.
    pub(in crate::channel) fn catch_up(self: &Arc<Self>) {
        let mut state = self.lock();
        let is_low = state.events.len() <= AHEAD_EVENTS / 2 && state.octets <= AHEAD_OCTETS / 2;
        let has_room = is_low && !state.is_ended;
        let Some(cursor) = &mut state.cursor else { return };
        if cursor.begins_to_read(has_room) {
            let journal = Arc::clone(cursor.journal());
            drop(state);
            cursor::read_on(self, &journal);
        }
    }

    /// How far it is.
    pub(in crate::channel) fn progress(&self) -> Option<Progress> {
        let mut state = self.lock();
        self.counters.lost(state.cursor.as_mut()?);
        let cursor = state.cursor.as_ref()?;
        Some(cursor::progress(state.position(cursor), &self.counters))
    }

    /// Its counters, as clients see them.
    pub(in crate::channel) fn statistics(&self, id: u64) -> ConsumerCounters {
        let mut state = self.lock();
        state.cursor.iter_mut().for_each(|cursor| self.counters.lost(cursor));
        let (events, octets) = state.cursor.as_ref().map_or((0, 0), Cursor::behind);
        let queued = (state.events.len() as u64 + events, state.octets as u64 + octets);
        let trouble = state.cursor.as_ref().and_then(Cursor::trouble);
        self.counters.read(id, true, queued, trouble)
    }
}

impl Follows for PullingConsumer {
    fn wanted(&self) -> Option<(u64, Option<Place>)> {
        let mut state = self.lock();
        let has_room = state.has_room() && !state.is_ended;
        state.cursor.as_mut()?.wanted(has_room)
    }

    fn take_part(self: &Arc<Self>, part: &Part) {
        let mut state = self.lock();
        if state.is_ended {
            return;
        }
        if let Some(cursor) = &mut state.cursor {
            if !cursor.is_here() {
                return;
            }
            count(&self.counters.dropped, cursor.pass_over(part.first));
        }
        let mut given = Vec::new();
        for (number, event) in (part.first..).zip(&part.events) {
            if !state.has_room() {
                break;
            }
            given.extend(self.put(&mut state, number, event));
        }
        if let Some(cursor) = &mut state.cursor {
            cursor.stands_in(part);
        }
        self.release(state);
        given.into_iter().for_each(|(pull, out)| {
            self.give(pull, out);
        });
    }

    fn cannot_read(&self, why: String) {
        if let Some(cursor) = &mut self.lock().cursor {
            cursor.set_trouble(why);
        }
    }
}
