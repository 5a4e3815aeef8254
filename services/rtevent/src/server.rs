//! The server: real-time channels and their proxies as CORBA objects.
//!
//! `corbie rtevents serve` and tests start it; it is an ordinary application of the façade.

mod administration;
mod consumer;
mod factory;
mod supplier;
mod watching;

use crate::channel::Channel;
use crate::configuration::Configuration;
use crate::corbie_rt_events::channel_factory::CreateChannelError;
use crate::corbie_rt_events::{AlreadyExists, BadSettings, ChannelFactory, ChannelFactorySkeleton};
use crate::rtec_event_channel_admin::EventChannel;
use administration::Place;
use corbie::{
    CompletionStatus, IdAssignment, IdSecret, Orb, Poa, PoaPolicy, RequestOrder, SystemException,
    minor,
};
use corbie_event::Limits;
use corbie_event::engine::Engine;
use factory::Factory;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The object key under which the factory of a server can be reached, as
/// `corbaloc::HOST:PORT/RtEventChannelFactory`. A channel is reached by its name.
pub const RT_EVENT_CHANNEL_FACTORY: &str = "RtEventChannelFactory";

/// How often it is looked whether queues are empty, when a server ends.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

const POLICIES: [PoaPolicy; 2] =
    [PoaPolicy::IdAssignment(IdAssignment::UserId), PoaPolicy::RequestOrder(RequestOrder::AsSent)];

/// A server of real-time channels within an ORB. Its channels are served until it is dropped.
pub struct RtEventServer {
    registry: Arc<Registry>,
    factory: ChannelFactory,
}

/// All channels of a server.
struct Registry {
    orb: Orb,
    poa: Poa,
    /// What makes the ids of its objects.
    secret: IdSecret,
    engine: Engine,
    /// Lock "channels".
    channels: Mutex<BTreeMap<String, Served>>,
    next: AtomicU64,
}

#[derive(Clone)]
struct Served {
    channel: Arc<Channel>,
    reference: EventChannel,
}

impl RtEventServer {
    /// Serves a factory of channels in `orb`, also under the object key `RtEventChannelFactory`.
    /// Of `limits`, those of durable and typed channels and of pulls are not used.
    ///
    /// # Errors
    /// What making a POA says: `INITIALIZE` when an endpoint cannot be listened on, `BAD_PARAM`
    /// when `orb` has such a server already.
    pub fn start(orb: &Orb, limits: Limits) -> Result<Self, SystemException> {
        let poa = orb.root_poa()?.create_poa("RtEventChannels", None, &POLICIES)?;
        let registry = Arc::new(Registry {
            orb: orb.clone(),
            poa,
            secret: IdSecret::random()?,
            engine: Engine::new(limits),
            channels: Mutex::default(),
            next: AtomicU64::new(1),
        });
        let servant = Factory { registry: Arc::downgrade(&registry) };
        let servant = ChannelFactorySkeleton::new(servant);
        let factory = registry.poa.activate_with_id("factory", servant)?;
        orb.bind_object_key(RT_EVENT_CHANNEL_FACTORY, factory.as_object());
        registry.poa.the_poa_manager().activate().map_err(SystemException::from)?;
        watching::begin(&registry);
        Ok(Self { registry, factory })
    }

    /// The reference of the factory.
    #[must_use]
    pub fn factory(&self) -> &ChannelFactory {
        &self.factory
    }

    /// Makes a channel, which is also reached as `corbaloc::HOST:PORT/NAME`.
    ///
    /// # Errors
    /// As `create_channel` of the factory.
    pub fn create(
        &self,
        name: &str,
        configuration: Configuration,
    ) -> Result<EventChannel, CreateChannelError> {
        self.registry.create(name, configuration)
    }

    /// The channel of that name.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<Arc<Channel>> {
        self.registry.find(name).map(|served| served.channel)
    }

    /// All channels, by name.
    #[must_use]
    pub fn channels(&self) -> Vec<Arc<Channel>> {
        self.registry.channels().values().map(|served| Arc::clone(&served.channel)).collect()
    }

    /// Takes no more requests, and waits until consumers that take what they get have what waits
    /// for them: for `grace` at most. To be called before the server is dropped and the ORB is shut
    /// down, so that what suppliers were told is taken comes through.
    pub fn drain(&self, grace: Duration) {
        let end = Instant::now() + grace;
        // Callers are to try again elsewhere, or later. It fails when the ORB was shut down.
        let _ = self.registry.poa.the_poa_manager().discard_requests(true);
        let mut open = self.channels();
        loop {
            open.retain(|channel| channel.is_delivering());
            if open.is_empty() {
                return;
            }
            if Instant::now() >= end {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        for channel in open {
            let name = channel.name();
            tracing::warn!(channel = name, "events are lost: consumers did not take them in time");
        }
    }

    /// What the channels hold together.
    #[must_use]
    pub fn statistics(&self) -> corbie_event::ServerStatistics {
        self.registry.engine.statistics()
    }
}

impl Drop for RtEventServer {
    fn drop(&mut self) {
        self.registry.close();
    }
}

impl Registry {
    fn create(
        self: &Arc<Self>,
        name: &str,
        configuration: Configuration,
    ) -> Result<EventChannel, CreateChannelError> {
        let checked = configuration.check().map_err(|bad| bad.0).and_then(|()| {
            configuration.queue.check_at(self.engine.limits()).map_err(|bad| bad.why)
        });
        checked.map_err(|why| BadSettings { why })?;
        let mut channels = self.channels();
        if channels.contains_key(name) {
            return Err(AlreadyExists {}.into());
        }
        self.check_room(name, channels.len())?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let channel = Channel::new(name, configuration, &self.engine)?;
        let place = Place::new(self, &channel, number);
        let reference = administration::serve(&place).inspect_err(|_| {
            channel.destroy();
        })?;
        if !self.orb.bind_new_object_key(name, reference.as_object()) {
            channel.destroy();
            place.end();
            let why = format!(
                "a channel cannot have the name {name:?}: it is the object key of something else \
                 that this process serves"
            );
            return Err(BadSettings { why }.into());
        }
        let served = Served { channel, reference: reference.clone() };
        channels.insert(name.to_owned(), served);
        Ok(reference)
    }

    fn check_room(&self, name: &str, channels: usize) -> Result<(), CreateChannelError> {
        let limits = self.engine.limits();
        if name.is_empty() || name == RT_EVENT_CHANNEL_FACTORY {
            let why = format!("a channel cannot have the name {name:?}");
            return Err(BadSettings { why }.into());
        }
        if channels < limits.channels && name.len() <= limits.name_octets {
            return Ok(());
        }
        let text = format!(
            "a server has at most {} channels, with names of at most {} octets",
            limits.channels, limits.name_octets
        );
        Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
            .with_detail(text)
            .into())
    }

    fn find(&self, name: &str) -> Option<Served> {
        self.channels().get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.channels().keys().cloned().collect()
    }

    /// The channel was destroyed.
    fn forget(&self, channel: &Arc<Channel>) {
        let mut channels = self.channels();
        let is_it = |served: &Served| Arc::ptr_eq(&served.channel, channel);
        if channels.get(channel.name()).is_some_and(is_it) {
            self.orb.unbind_object_key(channel.name());
            let forgotten = channels.remove(channel.name());
            drop(channels);
            drop(forgotten);
        }
    }

    fn close(&self) {
        self.orb.unbind_object_key(RT_EVENT_CHANNEL_FACTORY);
        let channels = std::mem::take(&mut *self.channels());
        for (name, served) in channels {
            self.orb.unbind_object_key(&name);
            served.channel.destroy();
        }
        self.engine.close();
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
    }

    fn channels(&self) -> MutexGuard<'_, BTreeMap<String, Served>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A servant that outlives its server.
fn live(registry: &Weak<Registry>) -> Result<Arc<Registry>, SystemException> {
    registry.upgrade().ok_or_else(|| {
        SystemException::object_not_exist(
            minor::OBJECT_NOT_EXIST_DISCONNECTED,
            CompletionStatus::No,
        )
        .with_detail("the server has ended")
    })
}

impl fmt::Debug for RtEventServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtEventServer").field("channels", &self.registry.names()).finish()
    }
}
