//! A channel: events come from suppliers ([`Channel::push`]), are shown to the consumers that may
//! want them, and go to those that accept them.
//!
//! Proxies (`server`) connect it to CORBA.

use crate::configuration::{Configuration, Dispatching, Observers};
use crate::consumer::{Connection, Consumer, Way};
use crate::corbie_rt_events::ChannelStatistics;
use crate::dispatching::Lane;
use crate::event::Parcel;
use crate::filter::{BadSubscription, Filter, Publication};
use crate::observers::{News, ObserverList, Telling};
use crate::routes::{Route, Routes};
use crate::rtec_event_channel_admin::{Dependency, Observer};
use crate::timers::{self, too_many};
use corbie::policy::{Policy, SetOverrideType};
use corbie::{CompletionStatus, SystemException, minor};
use corbie_event::Ticket;
use corbie_event::channel::sources_of;
use corbie_event::engine::{Allotment, Engine, Tally};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A proxy, as the channel sees it.
pub(crate) trait ChannelProxy: Send + Sync {
    /// Ends it: the connected client is told. Does not wait.
    fn end(&self);
    /// Ends it if it is not used any more. Does not wait.
    fn look_after(self: Arc<Self>);
    /// Finds out whether the events of the channel, which come from those with these numbers, come
    /// back to it. Does not wait.
    fn look_for_ring(self: Arc<Self>, sources: &[u64]);
    /// The numbers of the channels from which events come by this proxy.
    fn sources(&self) -> Vec<u64>;
}

/// The consumers of one supplier.
pub(crate) type SupplierRoute = Route<Arc<Consumer>>;

/// A real-time channel.
pub struct Channel {
    name: String,
    /// Tells it from all other channels.
    number: u64,
    configuration: Configuration,
    engine: Engine,
    routes: Routes<Arc<Consumer>>,
    lane: Option<Arc<Lane>>,
    /// Entries of subscriptions.
    entries: Tally,
    /// Publications of suppliers.
    publications: Tally,
    observers: Arc<ObserverList>,
    /// Lock "proxies": held to add and to remove.
    proxies: Mutex<BTreeMap<u64, Arc<dyn ChannelProxy>>>,
    /// Lock "gateways": suppliers that forward from another channel.
    gateways: Mutex<BTreeSet<u64>>,
    next: AtomicU64,
    received: AtomicU64,
    is_destroyed: AtomicBool,
}

impl Channel {
    /// # Errors
    /// `NO_RESOURCES` when its threads cannot be started, `IMP_LIMIT` when the server has too many.
    pub(crate) fn new(
        name: &str,
        configuration: Configuration,
        engine: &Engine,
    ) -> Result<Arc<Self>, SystemException> {
        let lane = match configuration.dispatching {
            Dispatching::Pool { threads } => Some(start_lane(engine, threads)?),
            Dispatching::Reactive | Dispatching::PerConsumer => None,
        };
        Ok(Arc::new(Self {
            name: name.to_owned(),
            number: RandomState::new().build_hasher().finish(),
            routes: Routes::new(configuration.supplier_filter, configuration.collection),
            entries: Tally::new(configuration.bounds.in_all),
            publications: Tally::new(configuration.bounds.in_all),
            configuration,
            engine: engine.clone(),
            lane,
            observers: Arc::default(),
            proxies: Mutex::default(),
            gateways: Mutex::default(),
            next: AtomicU64::new(1),
            received: AtomicU64::new(0),
            is_destroyed: AtomicBool::new(false),
        }))
    }

    /// Its name at the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it works.
    #[must_use]
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The numbers of the channels from which its events come: its own, and those before it.
    pub(crate) fn sources(&self) -> Vec<u64> {
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        sources_of(self.number, proxies.iter().map(|proxy| proxy.sources()))
    }

    /// Ends proxies that are not used any more. Does not wait.
    pub(crate) fn look_after(&self) {
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        proxies.into_iter().for_each(|proxy| proxy.look_after());
    }

    /// Finds out whether its events come back to it. Does not wait.
    pub(crate) fn look_for_rings(&self) {
        let sources = self.sources();
        let proxies: Vec<_> = self.proxies().values().cloned().collect();
        proxies.into_iter().for_each(|proxy| proxy.look_for_ring(&sources));
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Shows an event that came by `route` to the consumers that may want it. A consumer for whose
    /// sake the supplier is to wait keeps a clone of `ticket`.
    pub(crate) fn push(&self, route: &SupplierRoute, parcel: &Arc<Parcel>, ticket: &Arc<Ticket>) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.routes.visit(route, parcel.header().r#type, |consumer| {
            consumer.offer(parcel, None, ticket);
        });
    }

    /// A proxy that `make` makes of its number.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when there are too many, `OBJECT_NOT_EXIST` when the channel
    /// was destroyed, and those of `make`.
    pub(crate) fn add_proxy<P: ChannelProxy + 'static, T>(
        &self,
        make: impl FnOnce(u64) -> Result<(Arc<P>, T), SystemException>,
    ) -> Result<T, SystemException> {
        let most = self.engine.limits().proxies;
        if self.proxies().len() >= most {
            let text = format!("the channel has {most} proxies; no more may be");
            return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
                .with_detail(text));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (proxy, made) = make(number)?;
        self.proxies().insert(number, Arc::<P>::clone(&proxy));
        if self.is_destroyed.load(Ordering::SeqCst) {
            self.remove_proxy(number);
            proxy.end();
            return Err(destroyed());
        }
        Ok(made)
    }

    /// A proxy has ended.
    pub(crate) fn remove_proxy(&self, number: u64) {
        let removed = self.proxies().remove(&number);
        drop(removed);
    }

    /// Room for the publications of a supplier.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`).
    pub(crate) fn room_for_publications(&self, count: usize) -> Result<Allotment, SystemException> {
        let most = self.configuration.bounds.publications;
        if count > most {
            return Err(too_many(format!("a supplier has at most {most} publications")));
        }
        let most = self.publications.most();
        let text = || too_many(format!("the suppliers of a channel have at most {most} in all"));
        self.publications.take_share(count, FEW).ok_or_else(text)
    }

    /// A supplier of these connects.
    pub(crate) fn add_supplier(
        self: &Arc<Self>,
        number: u64,
        publications: Vec<Publication>,
        is_gateway: bool,
    ) -> SupplierRoute {
        if is_gateway {
            self.gateways().insert(number);
        }
        let route = self.routes.add_supplier(number, publications);
        self.has_changed();
        route
    }

    /// A supplier has gone.
    pub(crate) fn remove_supplier(self: &Arc<Self>, number: u64) {
        self.routes.remove_supplier(number);
        self.gateways().remove(&number);
        self.has_changed();
    }

    /// Connects a consumer: from now on it gets what it has subscribed to.
    ///
    /// # Errors
    /// `NO_RESOURCES` when its thread cannot be started; `IMP_LIMIT` when there are too many
    /// threads, time-outs or entries of subscriptions already.
    pub(crate) fn add_consumer(
        self: &Arc<Self>,
        entries: usize,
        connection: impl FnOnce(Way) -> Connection,
    ) -> Result<Arc<Consumer>, SystemException> {
        let way = match (&self.lane, self.configuration.dispatching) {
            (Some(lane), _) => Way::Shared(Arc::clone(lane)),
            (None, Dispatching::PerConsumer) => Way::Own(start_lane(&self.engine, 1)?),
            (None, _) => Way::Straight,
        };
        let connection = connection(way);
        let most = self.entries.most();
        let text = || too_many(format!("the consumers of a channel have at most {most} entries"));
        let parts = [
            self.entries.take_share(entries, FEW).ok_or_else(text)?,
            timers::room(&self.engine, &connection.subscription)?,
        ];
        let consumer = Consumer::new(connection, parts, &self.engine, &self.configuration)?;
        self.routes.add_consumer(&consumer);
        timers::start(&self.engine, &consumer);
        self.has_changed();
        Ok(consumer)
    }

    /// A consumer has gone.
    pub(crate) fn remove_consumer(self: &Arc<Self>, number: u64) {
        self.routes.remove_consumer(number);
        self.has_changed();
    }

    /// The tree of a subscription.
    ///
    /// # Errors
    /// [`BadSubscription`].
    pub(crate) fn read(&self, entries: &[Dependency]) -> Result<Filter, BadSubscription> {
        Filter::of(entries, self.configuration.filtering, self.configuration.bounds)
    }

    /// From now on `observer` is told; its number, if one more may be.
    pub(crate) fn add_observer(self: &Arc<Self>, observer: &Observer) -> Option<u32> {
        if self.configuration.observers == Observers::Refused {
            return None;
        }
        // One that does not answer is not waited for.
        let timeout = Policy::RelativeReplyTimeout(self.configuration.queue.push_timeout);
        let observer = observer.as_object().set_policy_overrides(&[timeout], SetOverrideType::Add);
        let number = self.observers.add(Observer::unchecked_narrow(observer.ok()?))?;
        self.tell_observers();
        Some(number)
    }

    /// Whether it was there.
    pub(crate) fn remove_observer(&self, number: u32) -> bool {
        self.observers.remove(number)
    }

    /// Has observers told of a change, if there are any.
    fn has_changed(self: &Arc<Self>) {
        self.observers.has_changed();
        self.tell_observers();
    }

    /// Has those observers told that are behind.
    fn tell_observers(self: &Arc<Self>) {
        if !self.observers.plans() {
            return;
        }
        let weak = Arc::downgrade(self);
        self.engine.after(Duration::ZERO, move || {
            let Some(channel) = weak.upgrade() else { return };
            let observers = channel.observers.begin();
            if !observers.is_empty() {
                let news = channel.news();
                channel.observers.tell(observers, &news, &channel.telling());
            }
        });
    }

    fn telling(self: &Arc<Self>) -> Arc<Telling> {
        let (weak, engine) = (Arc::downgrade(self), self.engine.clone());
        Arc::new(Telling {
            give_up_after: self.configuration.queue.give_up_after,
            again: Box::new(move |after| {
                let weak = Weak::clone(&weak);
                let tell = move || {
                    if let Some(channel) = weak.upgrade() {
                        channel.tell_observers();
                    }
                };
                engine.after(after, tell);
            }),
        })
    }

    fn news(&self) -> News {
        let consumers = self.routes.consumers();
        let gateways = self.gateways().clone();
        let publications = self.routes.publications();
        let subscriptions = consumers.iter().filter(|consumer| !consumer.is_gateway());
        let published = publications
            .iter()
            .filter(|(number, _)| !gateways.contains(number))
            .flat_map(|(_, publications)| publications.iter().copied());
        News::of(subscriptions.map(|consumer| consumer.subscription()), published)
    }

    /// Ends the channel: those connected are told. Does not wait. Whether it was there until now.
    pub fn destroy(&self) -> bool {
        if self.is_destroyed.swap(true, Ordering::SeqCst) {
            return false;
        }
        let proxies = std::mem::take(&mut *self.proxies());
        for proxy in proxies.into_values() {
            proxy.end();
        }
        self.routes.clear();
        self.observers.clear();
        if let Some(lane) = &self.lane {
            lane.close();
        }
        true
    }

    /// Whether a consumer that takes what it gets has not got everything yet.
    pub(crate) fn is_delivering(&self) -> bool {
        self.routes.consumers().iter().any(|consumer| consumer.is_delivering())
    }

    /// Counters of the channel and its consumers, and its settings.
    #[must_use]
    pub fn statistics(&self) -> ChannelStatistics {
        let size = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        ChannelStatistics {
            received: self.received.load(Ordering::Relaxed),
            suppliers: size(self.routes.publications().len()),
            observers: size(self.observers.len()),
            settings: self.configuration.settings(),
            consumers: self.routes.consumers().iter().map(|c| c.counters()).collect(),
        }
    }

    fn proxies(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<dyn ChannelProxy>>> {
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gateways(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.gateways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Entries of a subscription, or publications, that a client has even where others have very many.
const FEW: usize = 20;

fn start_lane(engine: &Engine, threads: usize) -> Result<Arc<Lane>, SystemException> {
    let most = engine.threads().most();
    let part = engine.threads().take(threads).ok_or_else(|| {
        let setting = "threads";
        tracing::warn!(threads, most, setting, "threads of a real-time channel were refused");
        too_many(format!(
            "the real-time channels of this server have at most {most} threads: take \
             dispatching=reactive, or a pool with less"
        ))
    })?;
    Lane::start(threads, Some(part)).map_err(|error| {
        SystemException::no_resources(minor::NO_RESOURCES_THREAD, CompletionStatus::No)
            .with_detail(format!("a thread that delivers events cannot start: {error}"))
    })
}

fn destroyed() -> SystemException {
    SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_DISCONNECTED, CompletionStatus::No)
        .with_detail("the channel was destroyed")
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("name", &self.name)
            .field("configuration", &self.configuration)
            .finish()
    }
}
