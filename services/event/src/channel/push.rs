//! A consumer that is pushed to: its queue, and the pushes on their way to it.
//!
//! There is no thread for it. The thread that brings an event, or the reply to an earlier push,
//! sends what the window has room for, over the connection that all requests to that process share,
//! and never waits for that process to read: where much waits for it already, the push is put off
//! until there is room. A consumer that was not reached lately, or not at the last attempt, is
//! tried by a worker, with one push, so that a dead host delays no consumer.

mod following;

use super::asking::{NotTyped, Target};
use super::cursor::Cursor;
use super::queue::{Item, Offered, Parcel, Queue};
use super::{Counters, UnderWay, count};
use crate::bundle::{BUNDLE_CONSUMER, Bundle, Frames, PUSH_BUNDLE};
use crate::event::Event;
use crate::qos::ChannelQos;
use crate::resources::Resources;
use crate::ticket::Ticket;
use corbie::{CompletionStatus, Reply, ReplySink, SystemException, SystemExceptionKind, minor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Delays between attempts: this, doubled each time, up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_millis(20);
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// A consumer that took nothing for so long is tried by a worker again.
const LATELY: Duration = Duration::from_secs(5);
/// Delays before a push is tried again for which its connection had no room, doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(250);
/// Events of more octets are sent by a worker: others are not to wait while they are written.
const LARGE: usize = 64 << 10;

/// A consumer that is pushed to.
pub(crate) struct PushConsumer {
    target: Target,
    workers: Weak<crate::workers::Workers>,
    qos: ChannelQos,
    /// What is to be done when the consumer is to be disconnected.
    give_up: Box<dyn Fn() + Send + Sync>,
    /// Whether it is sent many events in one request.
    takes_bundles: AtomicBool,
    pub(crate) counters: Counters,
    /// Lock "push consumer": not held in calls.
    state: Mutex<PushState>,
}

#[derive(Default)]
struct PushState {
    queue: Queue,
    phase: Phase,
    /// A thread sends; it takes along what comes meanwhile.
    is_sending: bool,
    last_taken: Option<Instant>,
    /// Since when nothing was taken although it was tried.
    failing_since: Option<Instant>,
    /// Since when it does not exist, to all that is heard.
    gone_since: Option<Instant>,
    delay: Duration,
    /// When it is looked for room the next time.
    look_after: Duration,
    /// Of a consumer of a durable channel: the queue is the beginning of what is in the log.
    cursor: Option<Cursor>,
    /// Kept until nothing is on its way any more, when it was stopped.
    under_way: Option<UnderWay>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing waits for it, or it is not known whether it can be reached.
    #[default]
    Untried,
    /// A worker is about to try, or has, and the reply is to come.
    Trying,
    /// It took the last event.
    Ready,
    /// A push failed; the others on their way are waited for.
    Failing,
    /// Nothing is sent until the server is started again.
    Stopped,
    /// Disconnected.
    Ended,
}

impl PushConsumer {
    /// What pushes to `target`.
    pub(crate) fn new(
        resources: &Resources,
        qos: &ChannelQos,
        target: Target,
        give_up: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        let is_ours = target.object().is_some_and(|object| object.ior().type_id == BUNDLE_CONSUMER);
        Arc::new(Self {
            takes_bundles: AtomicBool::new(is_ours),
            target,
            workers: Arc::downgrade(&resources.workers),
            qos: qos.of_queues(),
            give_up: Box::new(give_up),
            counters: Counters::default(),
            state: Mutex::new(PushState {
                queue: Queue::new(&resources.queues),
                ..PushState::default()
            }),
        })
    }

    /// Whether it takes bundles, as far as is known.
    pub(super) fn takes_bundles(&self) -> bool {
        self.takes_bundles.load(Ordering::Relaxed)
    }

    /// The object that is called, if it is known.
    pub(crate) fn called(&self) -> Option<corbie::Object> {
        self.target.object().map(std::borrow::Cow::into_owned)
    }

    /// Takes an event.
    pub(crate) fn offer(self: &Arc<Self>, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        self.offer_item(Item::One(Arc::clone(event)), ticket);
    }

    /// Takes many events, one by one where they would be much of the queue.
    pub(super) fn offer_bundle(self: &Arc<Self>, bundle: &Arc<Bundle>, ticket: &Arc<Ticket>) {
        let ChannelQos { queue_events, queue_octets, .. } = self.qos;
        let is_much = bundle.count() > queue_events / 8 || bundle.octets() > queue_octets / 8;
        if self.takes_bundles() && !is_much {
            return self.offer_item(Item::Many(Arc::clone(bundle)), ticket);
        }
        bundle.events().iter().for_each(|event| self.offer(event, ticket));
    }

    fn offer_item(self: &Arc<Self>, item: Item, ticket: &Arc<Ticket>) {
        let (octets, events) = (item.octets(), item.count());
        let mut released = Vec::new();
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return;
        }
        let offered = state.queue.offer(item, Some(ticket), &self.qos, &mut released);
        match offered {
            Offered::Taken => {}
            Offered::DroppedOldest(dropped) => count(&self.counters.dropped, dropped),
            Offered::DroppedNewest => count(&self.counters.dropped, events),
            Offered::Refused => {
                count(&self.counters.dropped, events);
                ticket.fail(super::no_room());
            }
            Offered::Overflowed => {
                drop(state);
                tracing::info!("a push consumer is disconnected: its queue is full");
                return (self.give_up)();
            }
        }
        self.go_on(state, octets);
        drop(released);
    }

    /// Sends what is new in the queue, or has a worker do so; `octets` are the most of one event.
    fn go_on<'c>(self: &'c Arc<Self>, mut state: MutexGuard<'c, PushState>, octets: usize) {
        let is_idle = state.queue.pending() == 0 && !state.is_sending;
        if state.phase == Phase::Ready && is_idle && (is_long_ago(&state) || octets > LARGE) {
            state.phase = Phase::Untried;
        }
        if state.phase == Phase::Untried {
            self.try_soon(state, Duration::ZERO);
        } else {
            self.send_what_fits(state);
        }
    }

    /// Has a worker send one event.
    fn try_soon(self: &Arc<Self>, mut state: MutexGuard<'_, PushState>, delay: Duration) {
        state.phase = Phase::Trying;
        drop(state);
        let Some(workers) = self.workers.upgrade() else { return };
        let consumer = Arc::downgrade(self);
        workers.after(delay, move || {
            if let Some(consumer) = consumer.upgrade() {
                consumer.try_now();
            }
        });
    }

    fn try_now(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.phase != Phase::Trying || state.queue.pending() > 0 {
            return;
        }
        if self.target.object().is_none() {
            drop(state);
            return self.find_target();
        }
        match state.queue.next(1, self.takes_bundles(), &self.qos) {
            None => state.phase = Phase::Untried,
            Some(parcel) => {
                drop(state);
                self.send(parcel);
            }
        }
    }

    /// Asks for the object to push to, then tries again.
    fn find_target(self: &Arc<Self>) {
        let consumer = Arc::clone(self);
        self.target.find(move |found| match found {
            Ok(object) => {
                consumer.target.set(object);
                let state = consumer.lock();
                if state.phase == Phase::Trying {
                    consumer.try_soon(state, Duration::ZERO);
                }
            }
            // As if it did not exist: what is in its place now may be replaced in turn.
            Err(NotTyped::Other(why)) => {
                let gone =
                    SystemException::inv_objref(minor::INV_OBJREF_MALFORMED, CompletionStatus::No)
                        .with_detail(why);
                consumer.failed(&[], &gone);
            }
            Err(NotTyped::System(exception)) => consumer.failed(&[], &exception),
        });
    }

    /// Sends until the window is full, unless another thread does already.
    fn send_what_fits<'c>(self: &'c Arc<Self>, mut state: MutexGuard<'c, PushState>) {
        if state.is_sending {
            return;
        }
        state.is_sending = true;
        while state.phase == Phase::Ready
            && let Some(parcel) = state.queue.next(self.qos.window, self.takes_bundles(), &self.qos)
        {
            drop(state);
            let had_room = self.send(parcel);
            state = self.lock();
            // Of requests that are pending an answer goes on; it may have come just now.
            if !had_room && state.queue.pending() > 0 {
                break;
            }
        }
        state.is_sending = false;
        self.recover(state);
    }

    /// Whether its connection had room for it.
    fn send(self: &Arc<Self>, parcel: Parcel) -> bool {
        match parcel {
            Parcel::One(number, event) => self.send_event(number, &event),
            Parcel::Bundle(items) => self.send_bundle(items),
        }
    }

    fn send_event(self: &Arc<Self>, number: u64, event: &Arc<Event>) -> bool {
        let consumer = Arc::clone(self);
        let sink = ReplySink::function(move |outcome| consumer.answered(number, outcome));
        let sent = match self.target.object() {
            Some(object) => object.invoke_async(event.operation(), &|e| event.write(e), sink),
            None => Err(not_known()),
        };
        sent.map_err(|exception| self.not_sent(&[number], &exception)) != Err(false)
    }

    fn send_bundle(self: &Arc<Self>, items: Vec<(u64, Item)>) -> bool {
        let bundle = match &items[..] {
            [(_, Item::Many(bundle))] => Arc::clone(bundle),
            items => {
                let mut frames = Frames::default();
                for (_, item) in items {
                    match item {
                        Item::One(event) => frames.add_octets(event.octets()),
                        Item::Many(bundle) => frames.add_all(bundle),
                    }
                }
                Arc::new(frames.take())
            }
        };
        let parts: Arc<[(u64, usize)]> = items.iter().map(|(n, item)| (*n, item.count())).collect();
        let (consumer, sent) = (Arc::clone(self), Arc::clone(&parts));
        let sink = ReplySink::function(move |outcome| consumer.bundle_answered(&sent, outcome));
        let sent = match self.target.object() {
            Some(object) => object.invoke_async(&PUSH_BUNDLE, &|e| bundle.write(e), sink),
            None => Err(not_known()),
        };
        sent.map_err(|exception| self.not_sent(&numbers(&parts), &exception)) != Err(false)
    }

    /// A request was not sent, so it is not answered; whether its connection had room.
    fn not_sent(self: &Arc<Self>, numbers: &[u64], exception: &SystemException) -> bool {
        if exception.minor != minor::TRANSIENT_OVERLOAD {
            self.failed(numbers, exception);
            return true;
        }
        let mut state = self.lock();
        state.unsent(numbers);
        if !matches!(state.phase, Phase::Ready | Phase::Trying) {
            return false;
        }
        if self.is_over(&mut state, exception) {
            drop(state);
            tracing::info!(%exception, "a push consumer is disconnected: it takes nothing");
            (self.give_up)();
        } else if state.queue.pending() == 0 {
            // Else the next answer sends it.
            let delay = state.look_after.max(FIRST_LOOK);
            state.look_after = (2 * delay).min(LONGEST_LOOK);
            self.try_soon(state, delay);
        }
        false
    }

    fn answered(self: &Arc<Self>, number: u64, outcome: Result<Reply, SystemException>) {
        let counters = &self.counters;
        match outcome {
            Ok(mut reply) => match reply.user_exception() {
                None => {
                    count(&counters.delivered, 1);
                    self.taken(&[number], &[]);
                }
                Some(DISCONNECTED) => (self.give_up)(),
                Some(_) => self.refused(number),
            },
            Err(exception) if self.qos.durable.is_some() && is_durably_tried(&exception) => {
                self.failed(&[number], &exception);
            }
            Err(exception) if is_gone(&exception) => (self.give_up)(),
            Err(exception) if is_passing(&exception) => self.failed(&[number], &exception),
            Err(exception) => {
                tracing::info!(%exception, "a push consumer refused an event");
                self.refused(number);
            }
        }
    }

    fn refused(self: &Arc<Self>, number: u64) {
        count(&self.counters.refused, 1);
        self.taken(&[number], &[]);
    }

    /// `parts`: the numbers of what the bundle was made of, and how many events each is.
    fn bundle_answered(
        self: &Arc<Self>,
        parts: &[(u64, usize)],
        outcome: Result<Reply, SystemException>,
    ) {
        let exception = match outcome {
            Ok(mut reply) => {
                if reply.user_exception() == Some(DISCONNECTED) {
                    return (self.give_up)();
                }
                match reply.results_only(|d| Ok((d.read_ulong()?, d.read_ulong()?))) {
                    Ok((taken, refused)) => return self.bundle_taken(parts, taken, refused),
                    Err(exception) => exception,
                }
            }
            Err(exception) if self.qos.durable.is_none() && is_gone(&exception) => {
                return (self.give_up)();
            }
            Err(exception) => exception,
        };
        if is_of_bundles(&exception, self.qos.durable.is_some()) {
            tracing::info!(%exception, "a push consumer takes no bundles");
            self.takes_bundles.store(false, Ordering::Relaxed);
        }
        self.failed(&numbers(parts), &exception);
    }

    /// The consumer has taken so many of the events of a bundle, from the first.
    fn bundle_taken(self: &Arc<Self>, parts: &[(u64, usize)], taken: u32, refused: u32) {
        let (mut left, mut split) = (taken as usize, 0);
        for (_, events) in parts {
            if *events > left {
                break;
            }
            left -= events;
            split += 1;
        }
        let (done, again) = parts.split_at(split);
        let done_events: usize = done.iter().map(|(_, events)| events).sum();
        let refused = done_events.min(refused as usize);
        count(&self.counters.refused, refused);
        count(&self.counters.delivered, done_events - refused);
        self.taken(&numbers(done), &numbers(again));
    }

    /// A request was answered: the consumer is done with these, and is to get those again.
    fn taken(self: &Arc<Self>, done: &[u64], again: &[u64]) {
        let mut released = Vec::new();
        let mut state = self.lock();
        state.answered();
        for number in done {
            state.queue.done(*number, &self.qos, &mut released);
        }
        if !done.is_empty() {
            state.last_taken = Some(Instant::now());
            (state.failing_since, state.gone_since) = (None, None);
            (state.delay, state.look_after) = (Duration::ZERO, Duration::ZERO);
        }
        let reads_on = state.cursor.is_some() && state.reads_on();
        if again.is_empty() {
            if state.phase == Phase::Trying {
                state.phase = Phase::Ready;
            }
            self.send_what_fits(state);
        } else {
            count(&self.counters.failed, 1);
            again.iter().for_each(|number| state.queue.failed(*number));
            let why = SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::Maybe);
            self.fail(state, &why.with_detail("it took the first part of a bundle"));
        }
        if reads_on {
            self.read_on();
        }
        drop(released);
    }

    /// A request was not answered, or not accepted.
    fn failed(self: &Arc<Self>, numbers: &[u64], exception: &SystemException) {
        tracing::debug!(%exception, "a push failed; it will be tried again");
        count(&self.counters.failed, 1);
        let mut state = self.lock();
        state.answered();
        numbers.iter().for_each(|number| state.queue.failed(*number));
        self.fail(state, exception);
    }

    fn fail(self: &Arc<Self>, mut state: MutexGuard<'_, PushState>, exception: &SystemException) {
        if matches!(state.phase, Phase::Ended | Phase::Stopped) {
            return;
        }
        state.phase = Phase::Failing;
        self.target.forget();
        if self.is_over(&mut state, exception) {
            drop(state);
            tracing::info!(%exception, "a push consumer is disconnected: it was not reached");
            return (self.give_up)();
        }
        self.recover(state);
    }

    /// A push was not taken: whether that is a reason to disconnect the consumer.
    fn is_over(&self, state: &mut PushState, exception: &SystemException) -> bool {
        let since = *state.failing_since.get_or_insert_with(Instant::now);
        match self.qos.durable {
            None => since.elapsed() >= self.qos.give_up_after,
            Some(retention) => self.is_durably_over(state, exception, retention),
        }
    }

    /// After a failure, once nothing is on its way any more, begins again with what was not taken.
    fn recover(self: &Arc<Self>, mut state: MutexGuard<'_, PushState>) {
        if state.phase != Phase::Failing || state.queue.pending() > 0 || state.is_sending {
            return;
        }
        state.queue.rewind();
        if !self.takes_bundles() {
            state.queue.take_apart();
        }
        let delay = state.delay.max(FIRST_DELAY);
        state.delay = (2 * delay).min(LONGEST_DELAY);
        self.try_soon(state, delay);
    }

    /// The consumer is disconnected: nothing is sent any more.
    pub(crate) fn end(&self) {
        let mut released = Vec::new();
        let mut state = self.lock();
        (state.phase, state.under_way) = (Phase::Ended, None);
        let left = state.queue.clear(&mut released);
        drop(state);
        count(&self.counters.dropped, left);
        drop(released);
    }

    /// Whether events wait for it, and it has taken the last ones.
    pub(crate) fn is_delivering(&self) -> bool {
        let state = self.lock();
        let is_tried = !matches!(state.phase, Phase::Stopped | Phase::Ended);
        is_tried && state.failing_since.is_none() && state.queue.len() + state.queue.pending() > 0
    }

    /// Events that wait, and their octets; those in the log as they are there.
    pub(crate) fn queued(&self) -> (u64, u64) {
        let state = self.lock();
        let (events, octets) = state.cursor.as_ref().map_or((0, 0), Cursor::behind);
        (state.queue.len() as u64 + events, state.queue.octets() as u64 + octets)
    }

    fn lock(&self) -> MutexGuard<'_, PushState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) const DISCONNECTED: &str = "IDL:omg.org/CosEventComm/Disconnected:1.0";

fn numbers(parts: &[(u64, usize)]) -> Vec<u64> {
    parts.iter().map(|(number, _)| *number).collect()
}

/// The object to push to is asked for again.
fn not_known() -> SystemException {
    SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::No)
        .with_detail("its typed object is not known any more")
}

fn is_long_ago(state: &PushState) -> bool {
    state.last_taken.is_none_or(|then| then.elapsed() > LATELY)
}

/// Whether the object will never be there again.
pub(super) fn is_gone(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    matches!(exception.kind, K::ObjectNotExist | K::InvObjref)
}

/// Whether a consumer that keeps its place in a log is to be tried again: one whose server starts
/// may not be there yet, for a while, and what it has no room for, or what fails there, may be
/// mended. A durable channel that cannot write says `PERSIST_STORE`.
pub(crate) fn is_durably_tried(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    is_gone(exception)
        || is_passing(exception)
        || matches!(exception.kind, K::ObjAdapter | K::PersistStore | K::ImpLimit | K::Internal)
}

/// Whether the events of a bundle that was not taken may be taken one by one.
fn is_of_bundles(exception: &SystemException, is_durable: bool) -> bool {
    use SystemExceptionKind as K;
    let is_tried = is_passing(exception) || is_durable && is_durably_tried(exception);
    // It may be the bundle that is too much.
    !is_tried || matches!(exception.kind, K::ImpLimit | K::Internal)
}

/// Whether the same call may succeed later.
pub(crate) fn is_passing(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    matches!(
        exception.kind,
        K::CommFailure
            | K::Transient
            | K::Timeout
            | K::NoResponse
            | K::NoResources
            | K::NoMemory
            | K::Rebind
            | K::BadInvOrder
    )
}
