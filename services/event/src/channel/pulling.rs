//! A consumer that pulls: its queue, and the pulls that wait for events.
//!
//! A pull that finds nothing waits as a response that is not answered yet; no thread waits with
//! it. A pull of a typed consumer takes events of one operation; others stay where they are. No
//! event waits that a pull which waits would take, unless its client is behind: a giver never
//! waits for a client to read, so a client that has much to take already gets its event when there
//! is room again. Called by the proxy (`server`) and by publishers.

mod following;

use super::cursor::Cursor;
use super::push::DISCONNECTED;
use super::{Channel, Counters, count};
use crate::budget::{OnItsWay, Share};
use crate::event::Event;
use crate::interfaces::Signature;
use crate::qos::{ChannelQos, Overflow};
use crate::ticket::Ticket;
use crate::waiters::{Seat, Waiters};
use crate::workers::Workers;
use corbie::{CompletionStatus, Encoder, ResponseHandler, SystemException, minor};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Delays before a client that is behind is looked at again, doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// Writes a reply.
pub(crate) type WriteReply = fn(&Event, &mut Encoder<'_>) -> Result<(), corbie::cdr::Error>;

/// A pull that is to be answered with an event.
pub(crate) struct Pull {
    pub(crate) response: ResponseHandler,
    /// It takes events of this kind alone.
    pub(crate) wanted: Option<Arc<Signature>>,
    pub(crate) write: WriteReply,
    /// While it waits.
    place: Option<Seat>,
}

impl Pull {
    /// That of `response`: it takes `wanted` events alone, and `write` writes its reply.
    pub(crate) fn new(
        response: ResponseHandler,
        wanted: Option<Arc<Signature>>,
        write: WriteReply,
    ) -> Self {
        Self { response, wanted, write, place: None }
    }

    fn takes(&self, event: &Event) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.operation() == event.operation())
    }

    /// Whether its client has much to take already.
    fn is_behind(&self) -> bool {
        self.response.is_client_behind()
    }

    /// Answers that no client is connected any more, or will be again.
    fn refuse(self, is_suspended: bool) {
        // Perhaps no pull waits any more.
        let _ = match self.wanted {
            _ if is_suspended => self.response.raise(&super::server_ends()),
            None => self.response.reply_exception(DISCONNECTED, &|_| Ok(())),
            // Operations of interfaces for events raise nothing of their own.
            Some(_) => self.response.raise(
                &SystemException::object_not_exist(
                    minor::OBJECT_NOT_EXIST_DISCONNECTED,
                    CompletionStatus::No,
                )
                .with_detail("the consumer was disconnected while its pull waited"),
            ),
        };
    }
}

/// A consumer that pulls.
pub(crate) struct PullingConsumer {
    workers: Weak<Workers>,
    qos: ChannelQos,
    waiting_max: usize,
    waiters: Arc<Waiters>,
    /// What is to be done when the consumer is to be disconnected.
    give_up: Box<dyn Fn() + Send + Sync>,
    pub(crate) counters: Counters,
    /// Lock "pulling consumer": not held while sending.
    state: Mutex<PullState>,
}

#[derive(Default)]
struct PullState {
    events: VecDeque<(Arc<Event>, Option<Arc<Ticket>>)>,
    octets: usize,
    /// What they take of the memory for all queues of the server.
    share: Share,
    waiting: VecDeque<Pull>,
    /// Pulls whose clients are gone, until the lock is free: with them their connection may go, and
    /// tell of other events that they were lost.
    gone: Vec<Pull>,
    /// A pull waits whose client is behind, and an event that it takes: events wait now.
    is_put_off: bool,
    /// A worker is about to look whether there is room, and after how long it is to the next time.
    is_looked_after: bool,
    look_after: Duration,
    is_ended: bool,
    /// It is there again when the server is started again.
    is_suspended: bool,
    /// Of a consumer of a durable channel: the queue is the beginning of what is in the log.
    cursor: Option<Cursor>,
    /// Events of the log that were given since the last pull came.
    given: VecDeque<u64>,
    /// The youngest event of the log that was given, since it went back in it.
    youngest_given: Option<u64>,
}

/// An event that was taken out of the queue.
struct Out {
    event: Arc<Event>,
    /// Its number in the log of a durable channel.
    number: Option<u64>,
    /// It counts among what waits until the transport has it.
    on_its_way: OnItsWay,
    /// Tickets of events for which there is room now.
    released: Vec<Arc<Ticket>>,
}

impl PullingConsumer {
    pub(crate) fn new(channel: &Channel, give_up: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            workers: Arc::downgrade(channel.workers()),
            qos: channel.qos().of_queues(),
            waiting_max: channel.limits().waiting_pulls,
            waiters: Arc::clone(&channel.resources().waiters),
            give_up: Box::new(give_up),
            counters: Counters::default(),
            state: Mutex::new(PullState {
                share: Share::new(&channel.resources().queues),
                ..PullState::default()
            }),
        })
    }

    /// Takes an event.
    pub(super) fn offer(self: &Arc<Self>, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        let mut released = Vec::new();
        let mut state = self.lock();
        if state.is_ended {
            return;
        }
        let has_room = state.share.has_room(event.weight());
        if has_room && let Some(pull) = state.next_pull_for(event) {
            let out = state.straight(event, None);
            self.release(state);
            self.give(pull, out);
            return;
        }
        let mut kept = None;
        if !has_room {
            state.share.refuse(event.weight());
        }
        while self.is_full(&state, event) {
            match self.qos.when_full {
                Overflow::DropNewest => {
                    count(&self.counters.dropped, 1);
                    return self.release(state);
                }
                Overflow::Disconnect => {
                    self.release(state);
                    tracing::info!("a pull consumer is disconnected: its queue is full");
                    return (self.give_up)();
                }
                Overflow::BlockSupplier if self.has_room_behind(&state, event) => {
                    kept = Some(Arc::clone(ticket));
                    break;
                }
                Overflow::BlockSupplier => {
                    self.release(state);
                    count(&self.counters.dropped, 1);
                    return ticket.fail(super::no_room());
                }
                Overflow::DropOldest => {
                    let Some((oldest, ticket)) = state.events.pop_front() else {
                        count(&self.counters.dropped, 1);
                        return self.release(state);
                    };
                    state.left(&oldest);
                    released.extend(ticket);
                    count(&self.counters.dropped, 1);
                }
            }
        }
        let end = state.events.len();
        state.put(end, Arc::clone(event), kept);
        self.release(state);
        drop(released);
    }

    fn is_full(&self, state: &PullState, event: &Event) -> bool {
        let is_beyond = !state.events.is_empty()
            && (state.events.len() >= self.qos.queue_events
                || state.weight().saturating_add(event.weight()) > self.qos.queue_octets);
        is_beyond || !state.share.has_room(event.weight())
    }

    /// Whether one more supplier may wait: as much as the limits allow may wait beyond them.
    fn has_room_behind(&self, state: &PullState, event: &Event) -> bool {
        let most = self.qos.queue_octets.saturating_mul(2);
        let is_first = state.events.back().is_none_or(|(_, ticket)| ticket.is_none());
        state.share.has_room(event.weight())
            && (is_first || state.weight().saturating_add(event.weight()) <= most)
    }

    /// Answers `pull` with the next event that it takes, if there is one; else it comes back.
    pub(crate) fn answer_now(self: &Arc<Self>, pull: Pull) -> Option<Pull> {
        let mut state = self.lock();
        if state.is_ended {
            let is_suspended = state.is_suspended;
            drop(state);
            pull.refuse(is_suspended);
            return None;
        }
        state.given.clear();
        // To one that is behind there is nothing to be had now.
        let out = if pull.is_behind() { None } else { self.take_out(&mut state, &pull) };
        let Some(out) = out else { return Some(pull) };
        drop(state);
        self.give(pull, out);
        self.catch_up();
        None
    }

    /// Answers `pull` with the next event that it takes, as soon as there is one.
    pub(crate) fn wait(self: &Arc<Self>, mut pull: Pull) {
        let mut state = self.lock();
        if state.is_ended {
            let is_suspended = state.is_suspended;
            drop(state);
            return pull.refuse(is_suspended);
        }
        // A consumer that pulls again has got what was given before.
        state.given.clear();
        if pull.is_behind() {
            state.is_put_off |= state.events.iter().any(|(event, _)| pull.takes(event));
        } else if let Some(out) = self.take_out(&mut state, &pull) {
            drop(state);
            self.give(pull, out);
            return self.catch_up();
        }
        state.set_gone_apart();
        if state.waiting.len() >= self.waiting_max {
            self.release(state);
            let text = format!("{} pulls wait already; no more may be", self.waiting_max);
            let exception =
                SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No);
            let _ = pull.response.raise(&exception.with_detail(text));
            return;
        }
        pull.place = self.waiters.place(pull.response.peer());
        if pull.place.is_none() {
            self.release(state);
            let exception =
                SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::No);
            let text = "too many clients of this address wait for events: try again later";
            let _ = pull.response.raise(&exception.with_detail(text));
            return;
        }
        state.waiting.push_back(pull);
        self.release(state);
        self.catch_up();
    }

    /// Pulls of clients that are gone leave their places to others.
    pub(crate) fn forget_gone(self: &Arc<Self>) {
        let mut state = self.lock();
        state.set_gone_apart();
        self.release(state);
    }

    /// Whether there was room for it; else pull and event wait again.
    fn give(self: &Arc<Self>, pull: Pull, out: Out) -> bool {
        let Out { event, number, on_its_way, released } = out;
        drop(released);
        let Pull { response, wanted, write, place } = pull;
        let (consumer, given) = (Arc::clone(self), Arc::clone(&event));
        let then = move |outcome| consumer.given(given, number, on_its_way, outcome);
        match response.reply_if_room(&|e| write(&event, e), then) {
            Ok(()) => true,
            Err(response) => {
                self.put_off(Pull { response, wanted, write, place }, event, number);
                false
            }
        }
    }

    /// An event was handed to the transport, or never will be.
    fn given(
        self: &Arc<Self>,
        event: Arc<Event>,
        number: Option<u64>,
        on_its_way: OnItsWay,
        outcome: Result<(), SystemException>,
    ) {
        match outcome {
            Ok(()) => count(&self.counters.delivered, 1),
            Err(exception) if super::push::is_passing(&exception) => {
                count(&self.counters.failed, 1);
                return self.take_back(event, number, on_its_way);
            }
            Err(exception) => {
                tracing::info!(%exception, "an event could not be given to a pull consumer");
                count(&self.counters.refused, 1);
            }
        }
        drop(on_its_way);
        if number.is_some() {
            self.catch_up();
        }
    }

    /// There is no room for the event where the client of this pull has something to take already:
    /// pull and event wait again, the pull behind others whose clients may have room.
    fn put_off(self: &Arc<Self>, pull: Pull, event: Arc<Event>, number: Option<u64>) {
        let mut state = self.lock();
        if state.is_ended {
            let is_suspended = state.is_suspended;
            drop(state);
            return pull.refuse(is_suspended);
        }
        state.put_back(number, event, None);
        state.waiting.push_back(pull);
        state.is_put_off = true;
        self.release(state);
    }

    /// Lets go of the lock, and has a worker look after a while where a client is behind.
    fn release(self: &Arc<Self>, mut state: MutexGuard<'_, PullState>) {
        let gone = std::mem::take(&mut state.gone);
        if !state.is_put_off || state.is_looked_after || state.is_ended {
            drop(state);
            return drop(gone);
        }
        state.is_looked_after = true;
        let delay = state.look_after.max(FIRST_LOOK);
        state.look_after = (2 * delay).min(LONGEST_LOOK);
        drop(state);
        drop(gone);
        let Some(workers) = self.workers.upgrade() else { return };
        let consumer = Arc::downgrade(self);
        workers.after(delay, move || {
            if let Some(consumer) = consumer.upgrade() {
                consumer.give_what_waits();
            }
        });
    }

    /// Gives events that wait to pulls that wait, as far as their clients are not behind.
    fn give_what_waits(self: &Arc<Self>) {
        let mut state = self.lock();
        state.is_looked_after = false;
        state.set_gone_apart();
        while !state.is_ended {
            let PullState { waiting, events, .. } = &*state;
            let has_event = |pull: &Pull| events.iter().any(|(event, _)| pull.takes(event));
            let due = |pull: &Pull| !pull.is_behind() && has_event(pull);
            let Some(at) = waiting.iter().position(due) else {
                state.is_put_off = waiting.iter().any(has_event);
                break;
            };
            let Some(pull) = state.waiting.remove(at) else { break };
            let Some(out) = self.take_out(&mut state, &pull) else { break };
            drop(state);
            let had_room = self.give(pull, out);
            state = self.lock();
            if !had_room {
                break; // The next look may find room.
            }
            state.look_after = Duration::ZERO;
        }
        self.release(state);
        self.catch_up();
    }

    /// No pull got the event: the next one does.
    fn take_back(self: &Arc<Self>, event: Arc<Event>, number: Option<u64>, back: OnItsWay) {
        let mut state = self.lock();
        if state.is_ended || !state.put_back(number, Arc::clone(&event), Some(back)) {
            return;
        }
        let pull = state.next_pull_for(&event);
        let given = pull.and_then(|pull| Some((self.take_out(&mut state, &pull)?, pull)));
        self.release(state);
        given.into_iter().for_each(|(out, pull)| {
            self.give(pull, out);
        });
        self.catch_up();
    }

    /// Takes the first event out that `pull` takes, with the tickets of those for which there is
    /// room now.
    fn take_out(&self, state: &mut PullState, pull: &Pull) -> Option<Out> {
        let at = state.events.iter().position(|(event, _)| pull.takes(event))?;
        let (event, ticket) = state.events.remove(at)?;
        let on_its_way = state.sent(&event);
        let number = state.take_number(at);
        let mut released = Vec::from_iter(ticket);
        if state.weight() <= self.qos.queue_octets {
            let within = state.events.iter_mut().take(self.qos.queue_events);
            released.extend(within.rev().map_while(|(_, ticket)| ticket.take()));
        }
        Some(Out { event, number, on_its_way, released })
    }

    /// The consumer is disconnected: pulls that wait are told so.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        (state.is_ended, state.is_suspended) = (true, false);
        let events = std::mem::take(&mut state.events);
        let waiting = std::mem::take(&mut state.waiting);
        events.iter().for_each(|(event, _)| state.left(event));
        drop(state);
        count(&self.counters.dropped, events.len());
        drop(events);
        waiting.into_iter().for_each(|pull| pull.refuse(false));
    }

    /// Whether a client waits for events, and is still there.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.lock().waiting.iter().any(|pull| !pull.response.is_client_gone())
    }

    /// Stops it until the server is started again: pulls that wait may be tried again then.
    pub(crate) fn suspend(&self) {
        let mut state = self.lock();
        if !state.is_ended {
            (state.is_ended, state.is_suspended) = (true, true);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(|pull| pull.refuse(true));
    }

    fn lock(&self) -> MutexGuard<'_, PullState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PullState {
    /// Puts an event in at this place of the queue.
    fn put(&mut self, at: usize, event: Arc<Event>, ticket: Option<Arc<Ticket>>) {
        self.octets += event.len();
        self.share.take(event.weight());
        self.events.insert(at, (event, ticket));
    }

    /// An event goes past the queue to a pull that waits.
    fn straight(&mut self, event: &Arc<Event>, number: Option<u64>) -> Out {
        self.share.take(event.weight());
        let on_its_way = self.share.send(event.weight());
        Out { event: Arc::clone(event), number, on_its_way, released: Vec::new() }
    }

    /// An event was taken out of the queue, for a pull.
    fn sent(&mut self, event: &Event) -> OnItsWay {
        self.octets -= event.len();
        self.share.send(event.weight())
    }

    /// An event is in the queue no more.
    fn left(&mut self, event: &Event) {
        self.octets -= event.len();
        self.share.give_back(event.weight());
    }

    /// What the events count as.
    fn weight(&self) -> usize {
        self.share.held()
    }

    /// The pull that waits longest of those that take `event`.
    fn next_pull_for(&mut self, event: &Event) -> Option<Pull> {
        if self.waiting.is_empty() || self.is_put_off {
            return None;
        }
        self.set_gone_apart();
        let takes = |pull: &Pull| pull.takes(event);
        let at = self.waiting.iter().position(|pull| takes(pull) && !pull.is_behind());
        self.is_put_off = at.is_none() && self.waiting.iter().any(takes);
        self.waiting.remove(at?)
    }

    /// Pulls of clients that are gone wait no more; see [`PullState::gone`].
    fn set_gone_apart(&mut self) {
        let is_gone = |pull: &Pull| pull.response.is_client_gone();
        while let Some(at) = self.waiting.iter().position(is_gone) {
            self.gone.extend(self.waiting.remove(at));
        }
    }
}
