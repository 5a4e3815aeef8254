//! What channels of every kind are made of: threads, memory and limits that the channels of a
//! server share, a queue with pushes for each consumer, and answers that wait for consumers.
//!
//! The untyped and typed channels of this crate use the parts; the real-time channels of
//! `services/rtevent` use them by these names.

use crate::budget::{OnItsWay, Share};
use crate::channel::{PushConsumer, Target};
use crate::corbie_events::ConsumerCounters;
use crate::event::Event;
use crate::qos::{ChannelQos, Limits};
use crate::resources::{ProxyRoom, Resources, ServerStatistics};
pub use crate::tally::{Allotment, Tally};
use crate::ticket::Ticket;
use corbie::{Object, Operation, ReplySink, ServerRequest, SystemException};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the channels of a server share. Clones are the same one.
#[derive(Clone)]
pub struct Engine {
    resources: Arc<Resources>,
}

/// Kept by each proxy while it is there: it counts among those of the server.
pub struct Room {
    _room: ProxyRoom,
}

/// A consumer that is pushed to: what waits for it, and what is on its way. A thread that gives it
/// an event never waits for it; one that is dead or slow holds up no other one.
pub struct Outlet {
    consumer: Arc<PushConsumer>,
}

impl Engine {
    /// What a server with these limits shares.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { resources: Resources::new(limits) }
    }

    /// What clients can make the server spend.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.resources.limits
    }

    /// What the channels hold together.
    #[must_use]
    pub fn statistics(&self) -> ServerStatistics {
        self.resources.statistics()
    }

    /// Room for one more proxy.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when the server has too many.
    pub fn room_for_proxy(&self) -> Result<Room, SystemException> {
        self.resources.room_for_proxy().map(|room| Room { _room: room })
    }

    /// Threads of its real-time channels.
    #[must_use]
    pub fn threads(&self) -> &Tally {
        &self.resources.threads
    }

    /// Time-outs of its real-time channels in a second.
    #[must_use]
    pub fn time_outs(&self) -> &Tally {
        &self.resources.time_outs
    }

    /// Runs `job` after `delay`, on a thread where it may wait for a connection. Jobs that are left
    /// when the engine is closed are dropped.
    pub fn after(&self, delay: Duration, job: impl FnOnce() + Send + 'static) {
        self.resources.workers.after(delay, job);
    }

    /// Tells a peer of the end of its connection. Does not wait.
    pub fn say_farewell(&self, peer: &Object, farewell: &'static Operation) {
        let peer = peer.clone();
        // It may have to be connected to first.
        self.resources.workers.soon(move || say(&peer, farewell));
    }

    /// Runs no job any more, but for those that run already.
    pub fn close(&self) {
        self.resources.workers.close();
    }
}

/// What is kept of events beside a queue, of the memory that all queues of a server share
/// ([`Limits::queues_octets`]).
#[derive(Debug)]
pub struct Keeping {
    share: Share,
    most: usize,
}

/// Octets of a [`Keeping`], until it is dropped.
#[derive(Debug)]
pub struct Kept(#[allow(dead_code, reason = "it is given back when it is dropped")] OnItsWay);

impl Keeping {
    /// At most so many octets.
    #[must_use]
    pub fn new(engine: &Engine, most: usize) -> Self {
        Self { share: Share::new(&engine.resources.queues), most }
    }

    /// Octets that are kept.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.share.away()
    }

    /// So many octets more, if there is room. What counts as many is said by [`Event::weight`].
    #[must_use]
    pub fn keep(&self, octets: usize) -> Option<Kept> {
        let grown = self.share.away().saturating_add(octets);
        let has_room = grown <= self.most && self.share.has_room(octets);
        has_room.then(|| Kept(self.share.take_away(octets)))
    }

    /// Counts and logs that there was no room for an event of so many octets: once for each,
    /// however often it was tried.
    pub fn refuse(&self, octets: usize) {
        self.share.refuse(octets);
    }
}

impl Outlet {
    /// A queue for `consumer`, whose operation `push` is called by the octets of an event.
    /// `give_up` is called when it does not exist, was not reached for too long, or is too slow for
    /// what `qos` allows.
    ///
    /// # Errors
    /// `INTERNAL` when the reference does not take a time-out.
    pub fn new(
        engine: &Engine,
        qos: &ChannelQos,
        consumer: &Object,
        give_up: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, SystemException> {
        let target = Target::fixed(consumer, qos.push_timeout)?;
        let consumer = PushConsumer::new(&engine.resources, qos, target, give_up);
        Ok(Self { consumer })
    }

    /// Puts an event into the queue. A consumer for whose sake the supplier is to wait keeps a
    /// clone of `ticket` until there is room.
    pub fn offer(&self, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        self.consumer.offer(event, ticket);
    }

    /// Counters; `id` is the number of the consumer within its channel.
    #[must_use]
    pub fn statistics(&self, id: u64) -> ConsumerCounters {
        self.consumer.statistics(id)
    }

    /// Whether events wait for it, and it has taken the last ones.
    #[must_use]
    pub fn is_delivering(&self) -> bool {
        self.consumer.is_delivering()
    }

    /// Sends nothing any more; what waits is dropped.
    pub fn end(&self) {
        self.consumer.end();
    }
}

/// Answers `request`, which has no results, when no consumer keeps `ticket` any more.
///
/// # Errors
/// Why the event was not taken, and those of sending the answer.
pub fn answer(
    ticket: Arc<Ticket>,
    request: &mut ServerRequest<'_>,
    events: usize,
) -> Result<(), SystemException> {
    crate::ticket::answer(ticket, request, events, |_| Ok(()))
}

pub(crate) fn say(peer: &Object, farewell: &'static Operation) {
    let sink = ReplySink::function(|outcome| {
        if let Err(exception) = outcome {
            tracing::debug!(%exception, "a client could not be told of the end of a connection");
        }
    });
    if let Err(exception) = peer.invoke_async(farewell, &|_| Ok(()), sink) {
        tracing::debug!(%exception, "the end of a connection could not be told");
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("statistics", &self.statistics()).finish()
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("queued", &self.consumer.queued()).finish()
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}
