//! A connected consumer: what it has subscribed to, and how events get to it.
//!
//! Asked by `channel` for every event that may be for it. What it accepts goes on by the thread
//! that asks or by a lane, and there straight into a consumer of this process, or into the queue
//! that all kinds of channels have ([`Outlet`]).

use crate::configuration::Configuration;
use crate::corbie_rt_events::ConsumerCounters;
use crate::dispatching::{Lane, Posted};
use crate::event::Parcel;
use crate::filter::{Filter, Moment, Publication};
use crate::groups::{KeptGroups, Shown};
use crate::nesting::Nested;
use crate::routes::Interested;
use crate::rtec_event_comm::{PushConsumer, PushConsumerServant};
use corbie::{CompletionStatus, Operation, SystemException, SystemExceptionKind, minor};
use corbie_event::engine::{Allotment, Engine, Keeping, Kept, Outlet};
use corbie_event::{Overflow, Ticket};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// As a call with an answer, so that the channel knows what has arrived: paper RTEC §2 (oneways
/// lack flow control). A servant serves it as the oneway operation that it is.
static PUSH: Operation = Operation::twoway("push");

/// A connected consumer.
pub(crate) struct Consumer {
    number: u64,
    peer: PushConsumer,
    subscription: Filter,
    /// None where nothing is waited for.
    groups: Option<KeptGroups>,
    /// What the groups and the mailbox have, of the memory of all queues.
    keeping: Keeping,
    /// What it has of what the server and the channel have so many of.
    _parts: [Allotment; 2],
    outlet: Outlet,
    way: Way,
    /// When it was given something the last time, where a time-out asks for that. Lock "given".
    given: Option<Mutex<Instant>>,
    most: usize,
    when_full: Overflow,
    is_gateway: bool,
    /// Whether it is a proxy of a channel, as far as its reference says so.
    is_channel: bool,
    /// Lock "phase".
    phase: Mutex<Connected>,
    counters: Counters,
    give_up: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connected {
    Yes,
    Suspended,
    Ended,
}

/// What went straight to a consumer of this process, or was dropped before its queue.
#[derive(Default)]
struct Counters {
    delivered: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
}

/// By which thread a consumer is given events.
pub(crate) enum Way {
    /// The one that brings them.
    Straight,
    /// One that consumers share.
    Shared(Arc<Lane>),
    /// One of its own.
    Own(Arc<Lane>),
}

impl Drop for Way {
    fn drop(&mut self) {
        if let Way::Own(lane) = self {
            lane.close();
        }
    }
}

impl Way {
    fn lane(&self) -> Option<&Arc<Lane>> {
        match self {
            Way::Straight => None,
            Way::Shared(lane) | Way::Own(lane) => Some(lane),
        }
    }
}

/// How a consumer connects.
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) peer: PushConsumer,
    pub(crate) subscription: Filter,
    pub(crate) is_gateway: bool,
    pub(crate) is_channel: bool,
    pub(crate) is_suspended: bool,
    pub(crate) way: Way,
    /// Ends the connection from this side. Called while the collection is gone through: it only
    /// has that done.
    pub(crate) give_up: Arc<dyn Fn() + Send + Sync>,
}

impl Consumer {
    /// # Errors
    /// `INTERNAL` when the reference does not take a time-out.
    pub(crate) fn new(
        connection: Connection,
        parts: [Allotment; 2],
        engine: &Engine,
        configuration: &Configuration,
    ) -> Result<Arc<Self>, SystemException> {
        let Connection { number, peer, subscription, is_gateway, is_channel, .. } = connection;
        let Connection { is_suspended, way, give_up, .. } = connection;
        let queue = &configuration.queue;
        let giving_up = Arc::clone(&give_up);
        let outlet = Outlet::new(engine, queue, peer.as_object(), move || giving_up())?;
        let has_groups = subscription.has_groups();
        let has_deadlines =
            subscription.timeouts().iter().any(|timeout| timeout.moment == Moment::Deadline);
        Ok(Arc::new(Self {
            number,
            peer,
            groups: has_groups.then(|| KeptGroups::of(&subscription)),
            keeping: Keeping::new(engine, queue.queue_octets),
            _parts: parts,
            subscription,
            outlet,
            way,
            given: has_deadlines.then(|| Mutex::new(Instant::now())),
            most: queue.queue_events,
            when_full: queue.when_full,
            is_gateway,
            is_channel,
            phase: Mutex::new(if is_suspended { Connected::Suspended } else { Connected::Yes }),
            counters: Counters::default(),
            give_up,
        }))
    }

    pub(crate) fn peer(&self) -> &PushConsumer {
        &self.peer
    }

    pub(crate) fn is_gateway(&self) -> bool {
        self.is_gateway
    }

    pub(crate) fn subscription(&self) -> &Filter {
        &self.subscription
    }

    /// Shows it an event; `timeout` is the number of the time-out from which it comes. Whether it
    /// was given something.
    pub(crate) fn offer(
        self: &Arc<Self>,
        parcel: &Arc<Parcel>,
        timeout: Option<u32>,
        ticket: &Arc<Ticket>,
    ) -> bool {
        let Some(groups) = &self.groups else {
            let accepts = self.subscription.accepts(parcel.header(), timeout);
            if accepts {
                self.hand_over(parcel, ticket);
            }
            return accepts;
        };
        let passed = match groups.show(&self.subscription, parcel, timeout, &self.keeping) {
            Shown::Nothing => return false,
            Shown::NoRoom(dropped) => {
                self.keeping.refuse(parcel.weight());
                self.counters.dropped.fetch_add(dropped as u64, Ordering::Relaxed);
                return false;
            }
            Shown::Passed(parcels) => match &parcels[..] {
                [one] => Ok(Arc::clone(one)),
                parcels => Parcel::joined(parcels),
            },
        };
        match passed {
            Ok(passed) => self.hand_over(&passed, ticket),
            Err(exception) => {
                tracing::info!(%exception, "an event of a set cannot be read");
                count(&self.counters.refused);
            }
        }
        true
    }

    /// Gives it what it has accepted, by the thread that is chosen for that.
    fn hand_over(self: &Arc<Self>, parcel: &Arc<Parcel>, ticket: &Arc<Ticket>) {
        if *self.phase() != Connected::Yes {
            return;
        }
        if let Some(given) = &self.given {
            *given.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
        let Some(lane) = self.way.lane() else { return self.deliver(parcel, ticket) };
        // Only where a supplier is to wait for consumers does it wait for the thread.
        let kept = match self.when_full {
            Overflow::BlockSupplier => Arc::clone(ticket),
            _ => Arc::default(),
        };
        let Some(room) = self.room_in_mailbox(lane, parcel.weight()) else {
            return self.has_no_room(ticket);
        };
        let (own, parcel) = (Arc::clone(self), Arc::clone(parcel));
        let job = Box::new(move || {
            own.deliver(&parcel, &kept);
            drop(room);
        });
        match lane.post(self.number, job, self.most, self.when_full) {
            Posted::Taken => {}
            Posted::DroppedOldest | Posted::Dropped => count(&self.counters.dropped),
            Posted::Refused | Posted::Overflowed => self.has_no_room(ticket),
        }
    }

    /// Room for so many octets in the mailbox, for which the oldest events may have to go.
    fn room_in_mailbox(&self, lane: &Lane, octets: usize) -> Option<Kept> {
        if let Some(room) = self.keeping.keep(octets) {
            return Some(room);
        }
        self.keeping.refuse(octets);
        loop {
            if self.when_full != Overflow::DropOldest || !lane.drop_oldest(self.number) {
                return None;
            }
            count(&self.counters.dropped);
            if let Some(room) = self.keeping.keep(octets) {
                return Some(room);
            }
        }
    }

    /// Its mailbox is full.
    fn has_no_room(&self, ticket: &Ticket) {
        if self.when_full == Overflow::Disconnect {
            return self.overflowed();
        }
        count(&self.counters.dropped);
        if self.when_full == Overflow::BlockSupplier {
            ticket.fail(no_room());
        }
    }

    fn overflowed(&self) {
        let before = std::mem::replace(&mut *self.phase(), Connected::Ended);
        if before != Connected::Ended {
            tracing::info!("a consumer is disconnected: its mailbox is full");
            (self.give_up)();
        }
    }

    fn deliver(&self, parcel: &Parcel, ticket: &Arc<Ticket>) {
        if *self.phase() != Connected::Yes {
            return;
        }
        let outcome =
            if self.is_channel { self.relay(parcel, ticket) } else { self.call(parcel, ticket) };
        let Err(exception) = outcome else { return };
        count(&self.counters.refused);
        if matches!(exception.kind, SystemExceptionKind::ObjectNotExist) {
            (self.give_up)();
        } else {
            tracing::info!(%exception, "a consumer refused an event");
        }
    }

    /// To a channel an event goes by its queue, and has one hop less behind it: where channels are
    /// in a ring, it goes round no longer than its header says.
    fn relay(&self, parcel: &Parcel, ticket: &Arc<Ticket>) -> Result<(), SystemException> {
        match parcel.relayed()? {
            Some(octets) => self.outlet.offer(octets, ticket),
            None => count(&self.counters.dropped),
        }
        Ok(())
    }

    fn call(&self, parcel: &Parcel, ticket: &Arc<Ticket>) -> Result<(), SystemException> {
        let straight = |servant: &dyn PushConsumerServant| {
            servant.push(parcel.values()?)?;
            count(&self.counters.delivered);
            Ok(())
        };
        let by_message = || {
            self.outlet.offer(parcel.octets()?, ticket);
            Ok(())
        };
        // Too deep in upcalls, it goes by the queue, and this thread goes back.
        match Nested::begin() {
            Some(_nested) => self.peer.as_object().call(&PUSH, straight, by_message),
            None => by_message(),
        }
    }

    /// Nothing is given to it until it is resumed.
    pub(crate) fn suspend(&self) {
        self.change(Connected::Yes, Connected::Suspended);
    }

    /// It is given events again.
    pub(crate) fn resume(&self) {
        self.change(Connected::Suspended, Connected::Yes);
    }

    fn change(&self, from: Connected, to: Connected) {
        let mut phase = self.phase();
        if *phase == from {
            *phase = to;
        }
    }

    /// It is disconnected: nothing is given to it any more.
    pub(crate) fn end(&self) {
        *self.phase() = Connected::Ended;
        self.outlet.end();
        match &self.way {
            Way::Straight => {}
            Way::Shared(lane) => lane.forget(self.number),
            Way::Own(lane) => lane.close(),
        }
    }

    /// When it was given something the last time; none where no time-out asks for that.
    pub(crate) fn last_given(&self) -> Option<Instant> {
        self.given.as_ref().map(|given| *given.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_ended(&self) -> bool {
        *self.phase() == Connected::Ended
    }

    pub(crate) fn is_suspended(&self) -> bool {
        *self.phase() == Connected::Suspended
    }

    /// Whether a consumer that takes what it gets has not got everything yet.
    pub(crate) fn is_delivering(&self) -> bool {
        let waiting = self.way.lane().map_or(0, |lane| lane.waiting(self.number));
        !self.is_suspended() && (waiting > 0 || self.outlet.is_delivering())
    }

    pub(crate) fn counters(&self) -> ConsumerCounters {
        let queue = self.outlet.statistics(self.number);
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let waiting = self.way.lane().map_or(0, |lane| lane.waiting(self.number)) as u64;
        ConsumerCounters {
            id: self.number,
            is_suspended: self.is_suspended(),
            is_gateway: self.is_gateway,
            queued: queue.queued + waiting,
            queued_octets: queue.queued_octets + self.keeping.octets() as u64,
            delivered: queue.delivered + read(&self.counters.delivered),
            dropped: queue.dropped + read(&self.counters.dropped),
            refused: queue.refused + read(&self.counters.refused),
            failed: queue.failed,
        }
    }

    fn phase(&self) -> MutexGuard<'_, Connected> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn no_room() -> SystemException {
    SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::Maybe).with_detail(
        "the mailbox of a consumer is full: push the event again later; others may have it",
    )
}

impl Interested for Arc<Consumer> {
    fn number(&self) -> u64 {
        self.number
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(self, other)
    }

    fn may_accept(&self, publication: Publication) -> bool {
        self.subscription.may_accept(publication)
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("subscription", &self.subscription).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_ends_whose_consumer_was_not_made() {
        let lane = Lane::start(1, None).expect("a thread");
        let running = Arc::downgrade(&lane);
        drop(Way::Own(lane));
        while running.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}
