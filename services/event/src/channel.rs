//! The core of a channel: events come from suppliers ([`Channel::publish`]) and go to the queue of
//! each consumer, which delivers them at its own pace.
//!
//! Proxies (`server`) connect it to CORBA. Untyped and typed events are the same thing here.

mod pulled;
mod pulling;
mod push;
mod queue;
mod selection;
mod ticket;

pub(crate) use pulled::PulledSupplier;
pub(crate) use pulling::{Pull, PullingConsumer};
pub(crate) use push::PushConsumer;
pub(crate) use selection::Selection;
pub use ticket::Ticket;

use crate::corbie_events::{ChannelStatistics, ConsumerCounters};
use crate::event::Event;
use crate::qos::{ChannelQos, Limits};
use crate::workers::Workers;
use corbie::{CompletionStatus, SystemException, minor};
use selection::Form;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A proxy, as the channel sees it.
pub trait Proxy: Send + Sync {
    /// Ends it: whoever is connected is told, if it can be. Does not wait.
    fn end(&self);
    /// Ends it if nobody uses it any more. Does not wait.
    fn look_after(self: Arc<Self>) {}
    /// Whether a supplier is connected.
    fn is_supplied(&self) -> bool {
        false
    }
}

/// What gets the events of one consumer.
#[derive(Clone)]
pub(crate) enum Consumer {
    Push(Arc<PushConsumer>),
    Pulling(Arc<PullingConsumer>),
}

impl Consumer {
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

/// A channel.
pub struct Channel {
    name: String,
    qos: ChannelQos,
    limits: Limits,
    workers: Arc<Workers>,
    /// Lock "consumers": held to take the list, which is replaced as a whole.
    consumers: RwLock<Arc<[Listed]>>,
    /// Lock "proxies": held to add and to remove.
    proxies: Mutex<BTreeMap<u64, Arc<dyn Proxy>>>,
    next_proxy: AtomicU64,
    received: AtomicU64,
    is_destroyed: AtomicBool,
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
    fn read(
        &self,
        id: u64,
        is_pulling: bool,
        (queued, octets): (usize, usize),
    ) -> ConsumerCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConsumerCounters {
            id,
            is_pulling,
            queued: queued as u64,
            queued_octets: octets as u64,
            delivered: read(&self.delivered),
            dropped: read(&self.dropped),
            refused: read(&self.refused),
            failed: read(&self.failed),
        }
    }
}

impl Channel {
    pub(crate) fn new(
        name: &str,
        qos: ChannelQos,
        limits: &Limits,
        workers: &Arc<Workers>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            qos,
            limits: limits.clone(),
            workers: Arc::clone(workers),
            consumers: RwLock::new(Arc::new([])),
            proxies: Mutex::default(),
            next_proxy: AtomicU64::new(1),
            received: AtomicU64::new(0),
            is_destroyed: AtomicBool::new(false),
        })
    }

    /// Its name in the factory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it promises.
    #[must_use]
    pub fn qos(&self) -> &ChannelQos {
        &self.qos
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// Gives `event` to every consumer's queue. Does not wait: a consumer for whose sake the
    /// supplier is to wait keeps a clone of `ticket`; when the last one is gone, the supplier may
    /// go on.
    pub fn publish(&self, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        self.received.fetch_add(1, Ordering::Relaxed);
        let consumers = Arc::clone(&self.consumers.read().unwrap_or_else(PoisonError::into_inner));
        for Listed { selection, consumer, .. } in consumers.iter() {
            let event = match selection.form_of(event) {
                Form::Given(event) => event,
                Form::NotForIt => continue,
                Form::Unreadable => {
                    count(&consumer.counters().refused, 1);
                    continue;
                }
            };
            match consumer {
                Consumer::Push(consumer) => consumer.offer(event, ticket),
                Consumer::Pulling(consumer) => consumer.offer(event, ticket),
            }
        }
    }

    /// Whether it was destroyed.
    #[must_use]
    pub fn is_destroyed(&self) -> bool {
        self.is_destroyed.load(Ordering::SeqCst)
    }

    /// Registers a proxy that `make` makes of its number.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when there are too many, `OBJECT_NOT_EXIST` when the channel
    /// was destroyed, and those of `make`.
    pub(crate) fn add_proxy<P: Proxy + 'static, T>(
        &self,
        make: impl FnOnce(u64) -> Result<(Arc<P>, T), SystemException>,
    ) -> Result<T, SystemException> {
        let most = self.limits.proxies;
        if self.proxies().len() >= most {
            let text = format!("the channel has {most} proxies; no more may be");
            return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
                .with_detail(text));
        }
        let id = self.next_proxy.fetch_add(1, Ordering::Relaxed);
        let (proxy, made) = make(id)?;
        self.proxies().insert(id, Arc::<P>::clone(&proxy));
        if self.is_destroyed() {
            self.proxies().remove(&id);
            proxy.end();
            return Err(SystemException::object_not_exist(0, CompletionStatus::No)
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
        self.change_consumers(|consumers| consumers.push(Listed { id, selection, consumer }));
    }

    fn change_consumers(&self, change: impl FnOnce(&mut Vec<Listed>)) {
        let mut place = self.consumers.write().unwrap_or_else(PoisonError::into_inner);
        let mut consumers = place.to_vec();
        change(&mut consumers);
        let before = std::mem::replace(&mut *place, consumers.into());
        drop(place);
        drop(before);
    }

    /// Ends proxies that nobody uses any more. Does not wait.
    pub(crate) fn look_after(&self) {
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        for proxy in proxies {
            proxy.look_after();
        }
    }

    /// Ends the channel: everybody connected is told. Does not wait. Whether it was not destroyed
    /// before.
    pub fn destroy(&self) -> bool {
        if self.is_destroyed.swap(true, Ordering::SeqCst) {
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
        let consumers = Arc::clone(&self.consumers.read().unwrap_or_else(PoisonError::into_inner));
        let counters = |Listed { id, consumer, .. }: &Listed| match consumer {
            Consumer::Push(consumer) => consumer.counters.read(*id, false, consumer.queued()),
            Consumer::Pulling(consumer) => consumer.counters.read(*id, true, consumer.queued()),
        };
        let suppliers = self.proxies().values().filter(|proxy| proxy.is_supplied()).count();
        ChannelStatistics {
            received: self.received.load(Ordering::Relaxed),
            suppliers: u32::try_from(suppliers).unwrap_or(u32::MAX),
            consumers: consumers.iter().map(counters).collect(),
        }
    }

    fn proxies(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<dyn Proxy>>> {
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("name", &self.name).field("qos", &self.qos).finish()
    }
}

pub(crate) fn no_policy(error: corbie::policy::PolicyError) -> SystemException {
    SystemException::internal(0, CompletionStatus::No).with_detail(error.to_string())
}
