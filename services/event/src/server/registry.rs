//! All channels of a server: their POA, their names, and the threads that make
//! connections for them.

mod ending;

use super::administration::ServantContext;
use super::{administration, proxies, typed};
use crate::channel::{Channel, server_ends};
use crate::corbie_events::event_channel_factory::{CreateChannelError, CreateTypedChannelError};
use crate::corbie_events::{AlreadyExists, BadInterface, BadQos};
use crate::cos_event_channel_admin::EventChannel;
use crate::cos_typed_event_channel_admin::TypedEventChannel;
use crate::durable::{ChannelRow, InterfaceRow, Journal, Store};
use crate::interfaces::{EventInterface, Known, Sources};
use crate::qos::{ChannelQos, Limits};
use crate::resources::Resources;
use crate::workers::Workers;
use corbie::types::InterfaceDescription;
use corbie::{
    CompletionStatus, IdAssignment, IdSecret, Lifespan, Orb, Poa, PoaPolicy, RequestOrder,
    SystemException, minor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Suppliers send many events without waiting for the first to be taken.
const POLICIES: [PoaPolicy; 2] =
    [PoaPolicy::IdAssignment(IdAssignment::UserId), PoaPolicy::RequestOrder(RequestOrder::AsSent)];
const DURABLE: [PoaPolicy; 3] = [
    PoaPolicy::Lifespan(Lifespan::Persistent),
    PoaPolicy::IdAssignment(IdAssignment::UserId),
    PoaPolicy::RequestOrder(RequestOrder::AsSent),
];

/// Proxies are numbered on in every life of a server, so that no number is given twice: those that
/// were never connected are not kept.
const PROXIES_OF_A_LIFE: u64 = 1_000_000_000;

/// A channel by its name.
#[derive(Clone)]
pub(super) struct ServedChannel {
    pub(super) channel: Arc<Channel>,
    pub(super) reference: Reference,
}

/// The reference of a channel.
#[derive(Clone)]
pub(super) enum Reference {
    Untyped(EventChannel),
    /// With the interfaces that were handed over.
    Typed(TypedEventChannel, Arc<Known>),
}

/// Where durable channels are are kept.
pub(super) struct Durables {
    pub(super) store: Store,
    /// Its references are good in the next life of the server.
    pub(super) poa: Poa,
}

/// What all channels of a server share.
pub(super) struct ChannelRegistry {
    orb: Orb,
    poa: Poa,
    /// What makes the ids of objects that end with the server.
    secret: IdSecret,
    resources: Arc<Resources>,
    /// Lock "channels".
    channels: Mutex<BTreeMap<String, ServedChannel>>,
    /// What all typed channels know.
    sources: Arc<Sources>,
    next_channel: AtomicU64,
    kept: Option<Durables>,
    /// Lock "making": one channel is made at a time. Held while a store makes its place.
    making: Mutex<()>,
}

impl ChannelRegistry {
    pub(super) fn new(
        orb: &Orb,
        limits: Limits,
        store: Option<Store>,
    ) -> Result<Arc<Self>, SystemException> {
        let poa = orb.root_poa()?.create_poa("EventChannels", None, &POLICIES)?;
        let mut limits = limits;
        let connections = orb.settings().server_connections_max as usize;
        limits.waiting_clients = limits.waiting_clients.min(connections);
        let resources = Resources::new(limits);
        let (channels, next_channel) = (Mutex::default(), AtomicU64::new(1));
        let (orb, secret) = (orb.clone(), IdSecret::random()?);
        let sources = Arc::default();
        let kept = match store {
            None => None,
            Some(store) => {
                let poa = orb.root_poa()?.create_poa("DurableEventChannels", None, &DURABLE)?;
                Some(Durables { store, poa })
            }
        };
        let making = Mutex::default();
        let registry =
            Self { orb, poa, secret, resources, channels, sources, next_channel, kept, making };
        Ok(Arc::new(registry))
    }

    /// Makes the channels of the store as they were, and begins to serve them.
    ///
    /// # Errors
    /// `PERSIST_STORE` with what is wrong with the store; those of activating objects.
    pub(super) fn restore(self: &Arc<Self>) -> Result<(), SystemException> {
        if let Some(kept) = &self.kept {
            for (number, row) in kept.store.channels().map_err(|error| error.to_exception())? {
                self.restore_channel(&kept.store, number, &row)?;
            }
            kept.poa.the_poa_manager().activate().map_err(SystemException::from)?;
        }
        // Not before the factory is there: a client that calls it meanwhile waits.
        self.poa.the_poa_manager().activate().map_err(SystemException::from)
    }

    fn restore_channel(
        self: &Arc<Self>,
        store: &Store,
        number: u64,
        row: &ChannelRow,
    ) -> Result<(), SystemException> {
        let opened = store.open_channel(number, row);
        let (journal, proxies) = opened.map_err(|error| error.to_exception())?;
        let channel =
            self.kept_channel(store, &row.name, row.qos.clone().within(self.limits()), &journal);
        let known = match row.kind.as_str() {
            typed::TYPED => Some(self.known_of(store, &journal)?),
            _ => None,
        };
        let reference = match &known {
            None => Reference::Untyped(administration::serve(self, &channel, number)?),
            Some(known) => {
                let served = typed::serve(self, &channel, number, known)?;
                Reference::Typed(served, Arc::clone(known))
            }
        };
        let place = ServantContext::new(self, &channel, number);
        for (id, proxy, progress) in proxies {
            let begin = progress.unwrap_or_default();
            let restored = match &known {
                None => proxies::restore(&place, id, &proxy, begin),
                Some(known) => typed::restore(&place, known, id, &proxy, begin),
            };
            if let Err(why) = restored {
                tracing::error!(channel = row.name, id, why, "a proxy cannot be served again");
                progress.into_iter().for_each(|progress| journal.hold(progress.position));
            }
        }
        store.look_after(&journal);
        let found = ServedChannel { channel, reference };
        self.channels().insert(row.name.clone(), found);
        Ok(())
    }

    /// What a typed channel of the store knows.
    fn known_of(
        &self,
        store: &Store,
        journal: &Arc<Journal>,
    ) -> Result<Arc<Known>, SystemException> {
        let rows = store.interfaces(journal.number()).map_err(|error| error.to_exception())?;
        typed::known(&self.orb, &self.sources, journal, &rows).map(Arc::new)
    }

    fn kept_channel(
        &self,
        store: &Store,
        name: &str,
        qos: ChannelQos,
        journal: &Arc<Journal>,
    ) -> Arc<Channel> {
        let first_proxy = store.lives().saturating_mul(PROXIES_OF_A_LIFE) + 1;
        let kept = Some((Arc::clone(journal), first_proxy));
        let channel = Channel::kept(name, qos, &self.resources, kept);
        store.serve(journal, &channel);
        channel
    }

    pub(super) fn orb(&self) -> &Orb {
        &self.orb
    }

    pub(super) fn kept(&self) -> Option<&Durables> {
        self.kept.as_ref()
    }

    /// The POA of what is there in every life of the server, if anything is.
    pub(super) fn lasting_poa(&self) -> &Poa {
        self.kept.as_ref().map_or(&self.poa, |kept| &kept.poa)
    }

    pub(super) fn secret(&self) -> &IdSecret {
        &self.secret
    }

    pub(super) fn poa(&self) -> &Poa {
        &self.poa
    }

    pub(super) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.resources.limits
    }

    /// All channels.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.channels().values().map(|found| Arc::clone(&found.channel)).collect()
    }

    pub(super) fn workers(&self) -> &Arc<Workers> {
        &self.resources.workers
    }

    pub(super) fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    pub(super) fn create(
        self: &Arc<Self>,
        name: &str,
        qos: ChannelQos,
    ) -> Result<EventChannel, CreateChannelError> {
        qos.check_at(self.limits())?;
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.find(name);
        if let Some(found) = found {
            return match &found.reference {
                Reference::Untyped(reference) if *found.channel.qos() == qos => {
                    Ok(reference.clone())
                }
                _ => Err(AlreadyExists {}.into()),
            };
        }
        let (channel, number) = match qos.durable {
            None => self.new_channel(name, qos)?,
            Some(_) => {
                let (channel, journal) = self.new_durable(name, qos, "", Vec::new())?;
                (channel, journal.number())
            }
        };
        let served = administration::serve(self, &channel, number);
        let reference = self.or_take_back(&channel, number, served)?;
        let found = ServedChannel { channel, reference: Reference::Untyped(reference.clone()) };
        self.channels().insert(name.to_owned(), found);
        Ok(reference)
    }

    /// Makes a typed channel that knows `interfaces`, or finds the one that is like it, which
    /// knows them from now on.
    pub(super) fn create_typed(
        self: &Arc<Self>,
        name: &str,
        qos: ChannelQos,
        interfaces: Vec<InterfaceDescription>,
    ) -> Result<TypedEventChannel, CreateTypedChannelError> {
        qos.check_at(self.limits())?;
        check_interfaces(&interfaces, self.limits())?;
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.find(name);
        if let Some(found) = found {
            return match &found.reference {
                Reference::Typed(reference, known) if *found.channel.qos() == qos => {
                    check_room_for(&interfaces, known, self.limits())?;
                    if let Some(journal) = found.channel.journal() {
                        let rows = typed::handed_over(&interfaces)?;
                        journal.knows(rows).map_err(|error| error.to_exception())?;
                    }
                    interfaces.into_iter().for_each(|interface| known.table.add(interface));
                    Ok(reference.clone())
                }
                _ => Err(AlreadyExists {}.into()),
            };
        }
        let (channel, number, known) = match qos.durable {
            None => {
                let (channel, number) = self.new_channel(name, qos)?;
                let table = interfaces.into_iter().collect();
                (channel, number, Known::new(table, &self.sources))
            }
            Some(_) => {
                let rows = typed::handed_over(&interfaces)?;
                let (channel, journal) = self.new_durable(name, qos, typed::TYPED, rows.clone())?;
                let known = typed::known(&self.orb, &self.sources, &journal, &rows)?;
                (channel, journal.number(), known)
            }
        };
        let known = Arc::new(known);
        let served = typed::serve(self, &channel, number, &known);
        let reference = self.or_take_back(&channel, number, served)?;
        let found =
            ServedChannel { channel, reference: Reference::Typed(reference.clone(), known) };
        self.channels().insert(name.to_owned(), found);
        Ok(reference)
    }

    /// What `served` a new channel; if nothing does, neither is anything left of it in the store.
    fn or_take_back<T>(
        self: &Arc<Self>,
        channel: &Arc<Channel>,
        number: u64,
        served: Result<T, SystemException>,
    ) -> Result<T, SystemException> {
        served.inspect_err(|_| {
            if let Err(exception) = ServantContext::new(self, channel, number).destroy() {
                let name = channel.name();
                tracing::error!(%exception, name, "an unused channel will be there again");
            }
        })
    }

    /// A channel and its number, if one more may be.
    fn new_channel(
        &self,
        name: &str,
        qos: ChannelQos,
    ) -> Result<(Arc<Channel>, u64), SystemException> {
        self.check_room(name)?;
        let number = self.next_channel.fetch_add(1, Ordering::Relaxed);
        Ok((Channel::new(name, qos, &self.resources), number))
    }

    /// The same, of a durable one of this kind, which knows `interfaces`.
    fn new_durable(
        &self,
        name: &str,
        qos: ChannelQos,
        kind: &str,
        interfaces: Vec<InterfaceRow>,
    ) -> Result<(Arc<Channel>, Arc<Journal>), NoDurable> {
        let Some(kept) = &self.kept else {
            let why = "this server has no store: it cannot make durable channels (start it with \
                       --store)";
            return Err(BadQos { why: why.to_owned() }.into());
        };
        self.check_room(name)?;
        let most = self.limits().durable_channels;
        if self.all().iter().filter(|channel| channel.journal().is_some()).count() >= most {
            let text = format!("a server has at most {most} durable channels");
            return Err(too_many(text).into());
        }
        let row = ChannelRow { name: name.to_owned(), kind: kind.to_owned(), qos };
        let journal = kept.store.make(&row, interfaces).map_err(|error| error.to_exception())?;
        let channel = self.kept_channel(&kept.store, name, row.qos, &journal);
        kept.store.look_after(&journal);
        Ok((channel, journal))
    }

    fn check_room(&self, name: &str) -> Result<(), SystemException> {
        if self.channels().len() >= self.limits().channels || name.len() > self.limits().name_octets
        {
            let text = format!(
                "a server has at most {} channels, with names of at most {} octets",
                self.limits().channels,
                self.limits().name_octets
            );
            return Err(too_many(text));
        }
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> Option<ServedChannel> {
        self.channels().get(name).cloned()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.channels().keys().cloned().collect()
    }

    /// Destroys a channel, and has nothing of it kept: whether it was there until now.
    ///
    /// # Errors
    /// As [`ServantContext::destroy`].
    pub(super) fn destroy(&self, channel: &Arc<Channel>) -> Result<bool, SystemException> {
        if channel.is_suspended() {
            return Err(server_ends());
        }
        if channel.is_destroyed() {
            return Ok(false);
        }
        // Its name is free only when it is not on the disk any more.
        if let (Some(kept), Some(journal)) = (&self.kept, channel.journal()) {
            kept.store.destroy(journal).map_err(|error| error.to_exception())?;
        }
        let was_there = channel.destroy();
        let mut channels = self.channels();
        let found = channels.get(channel.name());
        let is_named = found.is_some_and(|found| Arc::ptr_eq(&found.channel, channel));
        let forgotten = if is_named { channels.remove(channel.name()) } else { None };
        drop(channels);
        drop(forgotten);
        Ok(was_there)
    }

    fn channels(&self) -> MutexGuard<'_, BTreeMap<String, ServedChannel>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no durable channel.
enum NoDurable {
    BadQos(BadQos),
    System(SystemException),
}

impl From<BadQos> for NoDurable {
    fn from(bad: BadQos) -> Self {
        NoDurable::BadQos(bad)
    }
}

impl From<SystemException> for NoDurable {
    fn from(exception: SystemException) -> Self {
        NoDurable::System(exception)
    }
}

macro_rules! no_durable {
    ($($error:ty),*) => { $(
        impl From<NoDurable> for $error {
            fn from(no: NoDurable) -> Self {
                match no {
                    NoDurable::BadQos(bad) => bad.into(),
                    NoDurable::System(exception) => exception.into(),
                }
            }
        }
    )* };
}

no_durable!(CreateChannelError, CreateTypedChannelError);

fn too_many(text: String) -> SystemException {
    SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No).with_detail(text)
}

fn too_many_interfaces(limits: &Limits) -> SystemException {
    too_many(format!("a channel is given at most {} interfaces", limits.interfaces))
}

/// With those that a channel has already they are not too many.
fn check_room_for(
    interfaces: &[InterfaceDescription],
    known: &Known,
    limits: &Limits,
) -> Result<(), SystemException> {
    let mut ids: BTreeSet<String> = known.table.all().iter().map(|one| one.id.clone()).collect();
    ids.extend(interfaces.iter().map(|one| one.id.clone()));
    if ids.len() > limits.interfaces { Err(too_many_interfaces(limits)) } else { Ok(()) }
}

/// Each of them follows the rules of `<I>` or of `Pull<I>`, and they are not too many.
fn check_interfaces(
    interfaces: &[InterfaceDescription],
    limits: &Limits,
) -> Result<(), CreateTypedChannelError> {
    if interfaces.len() > limits.interfaces {
        return Err(too_many_interfaces(limits).into());
    }
    for interface in interfaces {
        let pushed = EventInterface::pushed(interface);
        if let (Err(pushed), Err(pulled)) = (pushed, EventInterface::pulled(interface)) {
            let why = format!("{}; and as Pull<I>: {}", pushed.why, pulled.why);
            return Err(BadInterface { id: interface.id.clone(), why }.into());
        }
    }
    Ok(())
}
