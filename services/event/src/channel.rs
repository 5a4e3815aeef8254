//! The core of a channel: events come from suppliers ([`Channel::publish`]) and go to the queue of
//! each consumer, which delivers them at its own pace.
//!
//! Proxies (`server`) connect it to CORBA. Untyped and typed events are the same thing here.

mod asking;
mod cursor;
mod pulled;
mod pulling;
mod push;
mod queue;
mod selection;

pub(crate) use asking::{NotTyped, Question, Target, ask};
pub(crate) use pulled::{Loss, PATIENCE, PulledSupplier};
pub(crate) use pulling::{Pull, PullingConsumer};
pub(crate) use push::{DISCONNECTED, PushConsumer, is_durably_tried, is_passing};
pub(crate) use selection::Selection;

use crate::bundle::Bundle;
use crate::corbie_events::{ChannelStatistics, ConsumerCounters};
use crate::durable::{DurableChannel, Journal, Progress};
use crate::event::Event;
use crate::log::{Log, LogError, Place};
use crate::qos::{ChannelQos, Limits};
use crate::resources::Resources;
use crate::ticket::Ticket;
use crate::workers::Workers;
use corbie::{CompletionStatus, SystemException, minor};
use selection::Form;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A proxy, as the channel sees it.
pub trait ChannelProxy: Send + Sync {
    /// Ends it: the connected client is told, if it can be. Does not wait.
    fn end(&self);
    /// Stops it without a word, until the server is started again.
    fn suspend(&self);
    /// Has it move nothing more until then. `under_way` is kept until what it sent is answered.
    fn stop(&self, under_way: &UnderWay);
    /// Ends it if it is not used any more. Does not wait.
    fn look_after(self: Arc<Self>) {}
    /// Finds out whether the events of the channel, which come from those with these numbers, come
    /// back to it by this proxy. Does not wait.
    fn look_for_ring(self: Arc<Self>, _sources: &[u64]) {}
    /// The numbers of the channels from which events come by this proxy.
    fn sources(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Whether a supplier is connected.
    fn is_supplied(&self) -> bool {
        false
    }
}

/// The channels from which events of channel `own` come: itself, and those that its suppliers say.
#[must_use]
pub fn sources_of(own: u64, before: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut sources: Vec<_> = before.flatten().chain([own]).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// Kept by each proxy that has sent something that is not answered yet.
pub type UnderWay = std::sync::mpsc::Sender<std::convert::Infallible>;

/// What gets the events of one consumer.
#[derive(Clone)]
pub(crate) enum Consumer {
    Push(Arc<PushConsumer>),
    Pulling(Arc<PullingConsumer>),
}

impl Consumer {
    /// Has it follow the log of a durable channel, as far as it was there already.
    pub(crate) fn begin(&self, journal: &Arc<Journal>, selection: &Selection, at: &Progress) {
        match self {
            Consumer::Push(consumer) => consumer.begin(journal, selection, at),
            Consumer::Pulling(consumer) => consumer.begin(journal, selection, at),
        }
    }

    /// Has it give nothing more to anybody until the server is started again.
    pub(crate) fn stop(&self, under_way: Option<&UnderWay>) {
        match self {
            Consumer::Push(consumer) => consumer.stop(under_way),
            Consumer::Pulling(consumer) => consumer.suspend(),
        }
    }

    fn counters(&self) -> &Counters {
        match self {
            Consumer::Push(consumer) => &consumer.counters,
            Consumer::Pulling(consumer) => &consumer.counters,
        }
    }
}

/// A consumer, and what it is to get.
#[derive(Clone)]
struct Listed {
    id: u64,
    selection: Selection,
    consumer: Consumer,
}

impl Listed {
    fn offer(&self, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        let event = match self.selection.form_of(event) {
            Form::Given(event) => event,
            Form::NotForIt => return,
            Form::Unreadable => return count(&self.consumer.counters().refused, 1),
        };
        match &self.consumer {
            Consumer::Push(consumer) => consumer.offer(event, ticket),
            Consumer::Pulling(consumer) => consumer.offer(event, ticket),
        }
    }
}

/// A channel.
pub struct Channel {
    name: String,
    /// Random, and another one after each start of the server.
    number: u64,
    qos: ChannelQos,
    resources: Arc<Resources>,
    /// Lock "consumers": held to take the list, which is replaced as a whole.
    consumers: RwLock<Arc<[Listed]>>,
    /// Lock "proxies": held to add and to remove.
    proxies: Mutex<BTreeMap<u64, Arc<dyn ChannelProxy>>>,
    next_proxy: AtomicU64,
    received: AtomicU64,
    is_destroyed: AtomicBool,
    /// It is there again when the server is started again.
    is_suspended: AtomicBool,
    /// Of a durable channel.
    journal: Option<Arc<Journal>>,
}

/// The counters of one consumer.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) delivered: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// One more of these.
pub(crate) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

impl Counters {
    /// Begins with what a consumer had before the server was started.
    fn begin(&self, before: &Progress) {
        self.delivered.store(before.delivered, Ordering::Relaxed);
        self.dropped.store(before.dropped, Ordering::Relaxed);
        self.refused.store(before.refused, Ordering::Relaxed);
    }

    /// Counts what the log does not have any more and the consumer has not seen.
    fn lost(&self, cursor: &mut cursor::Cursor) {
        count(&self.dropped, cursor.lose());
    }

    fn read(
        &self,
        id: u64,
        is_pulling: bool,
        (queued, octets): (u64, u64),
        trouble: Option<&String>,
    ) -> ConsumerCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConsumerCounters {
            id,
            is_pulling,
            queued,
            queued_octets: octets,
            delivered: read(&self.delivered),
            dropped: read(&self.dropped),
            refused: read(&self.refused),
            failed: read(&self.failed),
            trouble: trouble.cloned().unwrap_or_default(),
        }
    }
}

impl Channel {
    pub(crate) fn new(name: &str, qos: ChannelQos, resources: &Arc<Resources>) -> Arc<Self> {
        Self::kept(name, qos, resources, None)
    }

    /// A channel that is kept in a store: its journal, and the number of the next proxy.
    pub(crate) fn kept(
        name: &str,
        qos: ChannelQos,
        resources: &Arc<Resources>,
        kept: Option<(Arc<Journal>, u64)>,
    ) -> Arc<Self> {
        let (journal, next_proxy) = kept.map_or((None, 1), |(journal, next)| (Some(journal), next));
        Arc::new(Self {
            name: name.to_owned(),
            number: RandomState::new().build_hasher().finish(),
            qos,
            resources: Arc::clone(resources),
            consumers: RwLock::new(Arc::new([])),
            proxies: Mutex::default(),
            next_proxy: AtomicU64::new(next_proxy),
            received: AtomicU64::new(0),
            is_destroyed: AtomicBool::new(false),
            is_suspended: AtomicBool::new(false),
            journal,
        })
    }

    /// Its name in the factory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells it from all other channels.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The numbers of the channels from which its events come: its own, and those before it.
    pub(crate) fn sources(&self) -> Vec<u64> {
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        sources_of(self.number, proxies.iter().map(|proxy| proxy.sources()))
    }

    /// Pulls of clients that are gone wait no more.
    pub(crate) fn forget_gone_pulls(&self) {
        for listed in self.listed().iter() {
            if let Consumer::Pulling(consumer) = &listed.consumer {
                consumer.forget_gone();
            }
        }
    }

    /// Finds out whether its events come back to it. Does not wait.
    pub(crate) fn look_for_rings(&self) {
        let sources = self.sources();
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        proxies.into_iter().for_each(|proxy| proxy.look_for_ring(&sources));
    }

    /// What it promises.
    #[must_use]
    pub fn qos(&self) -> &ChannelQos {
        &self.qos
    }

    /// What a durable channel has of its store.
    pub(crate) fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.resources.limits
    }

    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.resources.workers
    }

    /// Gives `event` to every consumer's queue. Does not wait: a consumer for whose sake the
    /// supplier is to wait keeps a clone of `ticket`; when the last one is gone, the supplier may
    /// go on. A durable channel keeps one until the event is on the disk, and gives it to the
    /// consumers then.
    pub fn publish(&self, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        if let Some(journal) = &self.journal {
            return journal.take(event, ticket);
        }
        self.received.fetch_add(1, Ordering::Relaxed);
        for listed in self.listed().iter() {
            listed.offer(event, ticket);
        }
    }

    /// Gives all events of `bundle` to every consumer's queue, as [`Channel::publish`] does: as
    /// they are to those that take bundles, and one by one to the others.
    pub fn publish_bundle(&self, bundle: &Arc<Bundle>, ticket: &Arc<Ticket>) {
        if let Some(journal) = &self.journal {
            return bundle.events().iter().for_each(|event| journal.take(event, ticket));
        }
        self.received.fetch_add(bundle.count() as u64, Ordering::Relaxed);
        for listed in self.listed().iter() {
            match &listed.consumer {
                Consumer::Push(consumer) if matches!(listed.selection, Selection::Untyped) => {
                    consumer.offer_bundle(bundle, ticket);
                }
                _ => bundle.events().iter().for_each(|event| listed.offer(event, ticket)),
            }
        }
    }

    fn listed(&self) -> Arc<[Listed]> {
        Arc::clone(&self.consumers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it was destroyed.
    #[must_use]
    pub fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::SeqCst)
    }

    /// Whether it was stopped, and is there again when the server is started again.
    pub(crate) fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::SeqCst)
    }

    /// Registers a proxy that `make` makes of its number.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when there are too many, `OBJECT_NOT_EXIST` when the channel
    /// was destroyed, and those of `make`.
    pub(crate) fn add_proxy<P: ChannelProxy + 'static, T>(
        &self,
        make: impl FnOnce(u64) -> Result<(Arc<P>, T), SystemException>,
    ) -> Result<T, SystemException> {
        let most = self.limits().proxies;
        if self.proxies().len() >= most {
            let text = format!("the channel has {most} proxies; no more may be");
            return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
                .with_detail(text));
        }
        let id = self.next_proxy.fetch_add(1, Ordering::Relaxed);
        self.add_proxy_at(id, make)
    }

    /// The same, for a proxy that was there before the server was started.
    ///
    /// # Errors
    /// As [`Channel::add_proxy`].
    pub(crate) fn add_proxy_at<P: ChannelProxy + 'static, T>(
        &self,
        id: u64,
        make: impl FnOnce(u64) -> Result<(Arc<P>, T), SystemException>,
    ) -> Result<T, SystemException> {
        let (proxy, made) = make(id)?;
        self.proxies().insert(id, Arc::<P>::clone(&proxy));
        if self.is_suspended() {
            self.proxies().remove(&id);
            proxy.suspend();
            return Err(server_ends());
        }
        if self.is_destroyed() {
            self.proxies().remove(&id);
            proxy.end();
            return Err(SystemException::object_not_exist(
                minor::OBJECT_NOT_EXIST_DISCONNECTED,
                CompletionStatus::No,
            )
            .with_detail("the channel was destroyed"));
        }
        Ok(made)
    }

    /// A proxy has ended.
    pub(crate) fn remove_proxy(&self, id: u64) {
        let removed = self.proxies().remove(&id);
        drop(removed);
        self.change_consumers(|consumers| consumers.retain(|listed| listed.id != id));
    }

    /// From now on those events that `selection` selects go to `consumer`, too.
    pub(crate) fn add_consumer(&self, id: u64, selection: &Selection, consumer: Consumer) {
        let selection = selection.clone();
        let listed = Listed { id, selection, consumer: consumer.clone() };
        self.change_consumers(|consumers| consumers.push(listed));
        if self.is_suspended() {
            return consumer.stop(None);
        }
        // What it has not seen of a log.
        match consumer {
            Consumer::Push(consumer) => consumer.catch_up(),
            Consumer::Pulling(consumer) => consumer.catch_up(),
        }
    }

    fn change_consumers(&self, change: impl FnOnce(&mut Vec<Listed>)) {
        let mut place = self.consumers.write().unwrap_or_else(PoisonError::into_inner);
        let mut consumers = place.to_vec();
        change(&mut consumers);
        let before = std::mem::replace(&mut *place, consumers.into());
        drop(place);
        drop(before);
    }

    /// Ends proxies that are not used any more. Does not wait.
    pub(crate) fn look_after(&self) {
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        for proxy in proxies {
            proxy.look_after();
        }
    }

    /// Has a durable channel give nothing to consumers and ask no suppliers any more, until the
    /// server is started again. `under_way` is kept until what was sent is answered.
    pub(crate) fn stop(&self, under_way: &UnderWay) {
        self.is_suspended.store(true, Ordering::SeqCst);
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        proxies.iter().for_each(|proxy| proxy.stop(under_way));
    }

    /// Has suppliers that are pulled asked no more.
    pub(crate) fn stop_suppliers(&self) {
        let (under_way, _) = std::sync::mpsc::channel();
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        let supplied = proxies.iter().filter(|proxy| proxy.is_supplied());
        supplied.for_each(|proxy| proxy.stop(&under_way));
    }

    /// Whether events wait for a consumer that takes them when they are pushed to it.
    pub(crate) fn is_delivering(&self) -> bool {
        self.listed().iter().any(|listed| match &listed.consumer {
            Consumer::Push(consumer) => consumer.is_delivering(),
            Consumer::Pulling(_) => false,
        })
    }

    /// Stops a durable channel, which goes on when the server is started again: no client is told.
    pub(crate) fn suspend(&self) {
        self.is_suspended.store(true, Ordering::SeqCst);
        if self.is_destroyed() {
            return;
        }
        let proxies = std::mem::take(&mut *self.proxies());
        for proxy in proxies.into_values() {
            proxy.suspend();
        }
        self.change_consumers(Vec::clear);
    }

    /// Ends the channel: everybody connected is told. Does not wait. Whether it was there until
    /// now.
    pub fn destroy(&self) -> bool {
        if self.is_suspended() || self.is_destroyed.swap(true, Ordering::SeqCst) {
            return false;
        }
        let proxies = std::mem::take(&mut *self.proxies());
        for proxy in proxies.into_values() {
            proxy.end();
        }
        self.change_consumers(Vec::clear);
        true
    }

    /// Counters of the channel and its consumers.
    #[must_use]
    pub fn statistics(&self) -> ChannelStatistics {
        let consumers = self.listed();
        let counters = |Listed { id, consumer, .. }: &Listed| match consumer {
            Consumer::Push(consumer) => consumer.statistics(*id),
            Consumer::Pulling(consumer) => consumer.statistics(*id),
        };
        let log = self.journal.as_ref().map(|journal| journal.log());
        let suppliers = self.proxies().values().filter(|proxy| proxy.is_supplied()).count();
        ChannelStatistics {
            received: match &self.journal {
                None => self.received.load(Ordering::Relaxed),
                Some(journal) => journal.log().end(),
            },
            is_durable: self.journal.is_some(),
            kept_events: log.map_or(0, |log| log.end() - log.first().min(log.end())),
            kept_octets: log.map_or(0, Log::octets),
            suppliers: u32::try_from(suppliers).unwrap_or(u32::MAX),
            consumers: consumers.iter().map(counters).collect(),
        }
    }

    fn proxies(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<dyn ChannelProxy>>> {
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DurableChannel for Channel {
    fn deliver(&self, first: u64, place: Place, events: &[Arc<Event>]) {
        let consumers = self.listed();
        for Listed { consumer, .. } in consumers.iter() {
            match consumer {
                Consumer::Push(consumer) => consumer.follow(first, place, events),
                Consumer::Pulling(consumer) => consumer.follow(first, place, events),
            }
        }
    }

    fn progress(&self) -> Vec<(u64, Progress)> {
        let consumers = self.listed();
        let progress = |Listed { id, consumer, .. }: &Listed| {
            let progress = match consumer {
                Consumer::Push(consumer) => consumer.progress(),
                Consumer::Pulling(consumer) => consumer.progress(),
            };
            progress.map(|progress| (*id, progress))
        };
        consumers.iter().filter_map(progress).collect()
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("name", &self.name).field("qos", &self.qos).finish()
    }
}

/// Why an event is not taken although its supplier waits: too much waits already. Other consumers
/// may have it.
pub(crate) fn no_room() -> SystemException {
    SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::Maybe).with_detail(
        "the queue of a consumer is full, and so many pushes wait for room that no more may: push \
         it again later",
    )
}

/// What is there again when the server is started again.
pub(crate) fn server_ends() -> SystemException {
    LogError::Closed.to_exception()
}
