//! The server: channels and their proxies as CORBA objects.
//!
//! `corbie events serve` and tests start it; it is an ordinary application of the façade. Requests
//! of suppliers and consumers go to `proxies`, which give the octets of an event to the channel
//! and take them from it without looking into them.

mod administration;
mod factory;
mod proxies;
mod proxy;
mod registry;
#[cfg(test)]
mod tests;
mod typed;
mod watching;

use crate::channel::Channel;
use crate::corbie_events;
use crate::corbie_events::{EventChannelFactory, EventChannelFactorySkeleton};
use crate::cos_event_channel_admin::EventChannel;
use crate::cos_typed_event_channel_admin::TypedEventChannel;
use crate::durable::Store;
use crate::interfaces::{InterfaceTable, Interfaces};
use crate::qos::{ChannelQos, Limits};
use crate::resources::ServerStatistics;
use corbie::types::InterfaceDescription;
use corbie::{Orb, SystemException};
use factory::Factory;
use registry::ChannelRegistry;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The object key under which the factory of a server can be reached, as
/// `corbaloc::HOST:PORT/EventChannelFactory`.
pub const EVENT_CHANNEL_FACTORY: &str = "EventChannelFactory";

/// A server of event channels within an ORB. Its channels are served until it is dropped.
pub struct EventServer {
    registry: Arc<ChannelRegistry>,
    factory: EventChannelFactory,
}

impl EventServer {
    /// Serves a factory of channels in `orb`, also under the object key `EventChannelFactory`.
    ///
    /// # Errors
    /// What making a POA says: `INITIALIZE` when an endpoint cannot be listened on, `BAD_PARAM`
    /// when `orb` has an event server already.
    pub fn start(orb: &Orb, limits: Limits) -> Result<EventServer, SystemException> {
        Self::start_in(orb, limits, None)
    }

    /// The same, with durable channels, which are kept in `folder`. Those that are there are served
    /// again, with their proxies: references to them are good as long as the server is started at
    /// the same endpoint.
    ///
    /// # Errors
    /// Those of [`EventServer::start`]; `PERSIST_STORE` when another process uses the folder, when
    /// it cannot be read or written, or what is in it is damaged: the text says which file, where,
    /// and what can be done.
    pub fn start_with_store(
        orb: &Orb,
        limits: Limits,
        folder: impl AsRef<Path>,
    ) -> Result<EventServer, SystemException> {
        let store = Store::open(folder.as_ref()).map_err(|error| error.to_exception())?;
        Self::start_in(orb, limits, Some(store))
    }

    fn start_in(
        orb: &Orb,
        limits: Limits,
        store: Option<Store>,
    ) -> Result<EventServer, SystemException> {
        let registry = ChannelRegistry::new(orb, limits, store)?;
        let servant = EventChannelFactorySkeleton::new(Factory { registry: Arc::clone(&registry) });
        let factory = registry.lasting_poa().activate_with_id("factory", servant)?;
        // Before what is kept is served: who asks meanwhile waits, and does not hear that there is
        // no such object.
        orb.bind_object_key(EVENT_CHANNEL_FACTORY, factory.as_object());
        registry.restore().inspect_err(|_| registry.close())?;
        watching::begin(&registry);
        Ok(EventServer { registry, factory })
    }

    /// The reference of the factory.
    #[must_use]
    pub fn factory(&self) -> &EventChannelFactory {
        &self.factory
    }

    /// Makes a channel, or finds the one that is like it.
    ///
    /// # Errors
    /// As `create_channel` of the factory.
    pub fn create(
        &self,
        name: &str,
        qos: ChannelQos,
    ) -> Result<EventChannel, corbie_events::event_channel_factory::CreateChannelError> {
        self.registry.create(name, qos)
    }

    /// The reference of the untyped channel of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<EventChannel> {
        match self.registry.find(name)?.reference {
            registry::Reference::Untyped(channel) => Some(channel),
            registry::Reference::Typed(..) => None,
        }
    }

    /// Makes a channel for typed events, or finds the one that is like it. It knows `interfaces`,
    /// those of [`EventServer::interfaces`], and what [`EventServer::add_interfaces`] has added.
    ///
    /// # Errors
    /// As `create_typed_channel` of the factory.
    pub fn create_typed(
        &self,
        name: &str,
        qos: ChannelQos,
        interfaces: impl IntoIterator<Item = InterfaceDescription>,
    ) -> Result<TypedEventChannel, corbie_events::event_channel_factory::CreateTypedChannelError>
    {
        self.registry.create_typed(name, qos, interfaces.into_iter().collect())
    }

    /// The interfaces that all typed channels of this server know.
    #[must_use]
    pub fn interfaces(&self) -> &InterfaceTable {
        &self.registry.sources().table
    }

    /// Typed channels ask `source` for interfaces that are not in [`EventServer::interfaces`].
    pub fn add_interfaces(&self, source: Arc<dyn Interfaces>) {
        self.registry.sources().add(source);
    }

    /// What its channels hold together, and what was refused.
    #[must_use]
    pub fn statistics(&self) -> ServerStatistics {
        self.registry.resources().statistics()
    }

    /// Takes no more events and requests, and waits until consumers that are pushed to, and that
    /// take what they get, have what waits for them: for `grace` at most. To be called before the
    /// server is dropped and the ORB is shut down, so that what suppliers were told is taken comes
    /// through. Channels that are durable need no such time.
    pub fn drain(&self, grace: Duration) {
        self.registry.drain(grace);
    }

    /// All channels, by name: for counters.
    #[must_use]
    pub fn channels(&self) -> Vec<Arc<Channel>> {
        self.registry.all()
    }

    /// The channel of that name: for suppliers and consumers of this process, and for counters.
    #[must_use]
    pub fn channel(&self, name: &str) -> Option<Arc<Channel>> {
        self.registry.find(name).map(|found| found.channel)
    }
}

impl Drop for EventServer {
    fn drop(&mut self) {
        self.registry.close();
    }
}

impl std::fmt::Debug for EventServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventServer").field("channels", &self.registry.names()).finish()
    }
}
