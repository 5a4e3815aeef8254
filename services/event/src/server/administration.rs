//! The servants of a channel and of its two administrations, from which proxies are got
//! (Event Service 1.2 §2.4).

use super::proxies;
use super::registry::ChannelRegistry;
use crate::channel::Channel;
use crate::cos_event_channel_admin::{
    ConsumerAdmin, ConsumerAdminServant, ConsumerAdminSkeleton, EventChannel, EventChannelServant,
    EventChannelSkeleton, ProxyPullConsumer, ProxyPullSupplier, ProxyPushConsumer,
    ProxyPushSupplier, SupplierAdmin, SupplierAdminServant, SupplierAdminSkeleton,
};
use corbie::{IdSecret, ObjectId, Poa, SystemException};
use std::sync::Arc;

/// What the servants of one channel share.
pub(super) struct ServantContext {
    pub(super) registry: Arc<ChannelRegistry>,
    pub(super) channel: Arc<Channel>,
    /// What object ids begin with.
    prefix: String,
    /// What makes them, so that no peer finds the proxies of others by counting.
    secret: IdSecret,
}

impl ServantContext {
    pub(super) fn new(
        registry: &Arc<ChannelRegistry>,
        channel: &Arc<Channel>,
        number: u64,
    ) -> Arc<Self> {
        // References to a durable channel are to find that of the same store.
        let (prefix, secret) = match registry.kept() {
            Some(kept) if channel.journal().is_some() => {
                (format!("{:016x}-{number}", kept.store.uid()), kept.store.secret())
            }
            _ => (number.to_string(), registry.secret()),
        };
        let secret = secret.clone();
        let (registry, channel) = (Arc::clone(registry), Arc::clone(channel));
        Arc::new(ServantContext { registry, channel, prefix, secret })
    }

    /// Ends the channel and the objects of its own: returns when it will not be there again.
    ///
    /// # Errors
    /// `PERSIST_STORE` when it is kept in a store that failed, `TRANSIENT` when the server ends: it
    /// goes on as it was.
    pub(super) fn destroy(&self) -> Result<(), SystemException> {
        if self.registry.destroy(&self.channel)? {
            for what in ["channel", "consumers", "suppliers"] {
                self.deactivate(&self.id(what));
            }
        }
        Ok(())
    }

    /// The object id of something of the channel.
    pub(super) fn id(&self, what: impl std::fmt::Display) -> String {
        self.secret.id(&format!("{}/{what}", self.prefix))
    }

    /// The POA of the objects of the channel.
    pub(super) fn poa(&self) -> &Poa {
        match self.registry.kept() {
            Some(kept) if self.channel.journal().is_some() => &kept.poa,
            _ => self.registry.poa(),
        }
    }

    /// Deactivates an object, now or when its upcalls have ended.
    pub(super) fn deactivate(&self, id: &str) {
        if let Err(error) = self.poa().deactivate_object(&ObjectId::from(id)) {
            tracing::debug!(%error, "an object had ended already");
        }
    }
}

/// Makes the objects of a channel.
pub(super) fn serve(
    registry: &Arc<ChannelRegistry>,
    channel: &Arc<Channel>,
    number: u64,
) -> Result<EventChannel, SystemException> {
    let place = ServantContext::new(registry, channel, number);
    let poa = place.poa();
    let consumers = ConsumerAdminSkeleton::new(Consumers { place: Arc::clone(&place), known: () });
    let consumers = poa.activate_with_id(place.id("consumers"), consumers)?;
    let suppliers = SupplierAdminSkeleton::new(Suppliers { place: Arc::clone(&place), known: () });
    let suppliers = poa.activate_with_id(place.id("suppliers"), suppliers)?;
    let servant = ChannelServant { place: Arc::clone(&place), consumers, suppliers };
    Ok(poa.activate_with_id(place.id("channel"), EventChannelSkeleton::new(servant))?)
}

struct ChannelServant {
    place: Arc<ServantContext>,
    consumers: ConsumerAdmin,
    suppliers: SupplierAdmin,
}

impl EventChannelServant for ChannelServant {
    fn for_consumers(&self) -> Result<Option<ConsumerAdmin>, SystemException> {
        Ok(Some(self.consumers.clone()))
    }

    fn for_suppliers(&self) -> Result<Option<SupplierAdmin>, SystemException> {
        Ok(Some(self.suppliers.clone()))
    }

    fn destroy(&self) -> Result<(), SystemException> {
        self.place.destroy()
    }
}

/// The administration of consumers; a typed one also has `known`, the interfaces of its channel.
pub(super) struct Consumers<K> {
    pub(super) place: Arc<ServantContext>,
    pub(super) known: K,
}

impl<K: Send + Sync + 'static> ConsumerAdminServant for Consumers<K> {
    fn obtain_push_supplier(&self) -> Result<Option<ProxyPushSupplier>, SystemException> {
        proxies::push_supplier(&self.place).map(Some)
    }

    fn obtain_pull_supplier(&self) -> Result<Option<ProxyPullSupplier>, SystemException> {
        proxies::pull_supplier(&self.place).map(Some)
    }
}

/// The administration of suppliers; a typed one also has `known`, the interfaces of its channel.
pub(super) struct Suppliers<K> {
    pub(super) place: Arc<ServantContext>,
    pub(super) known: K,
}

impl<K: Send + Sync + 'static> SupplierAdminServant for Suppliers<K> {
    fn obtain_push_consumer(&self) -> Result<Option<ProxyPushConsumer>, SystemException> {
        proxies::push_consumer(&self.place).map(Some)
    }

    fn obtain_pull_consumer(&self) -> Result<Option<ProxyPullConsumer>, SystemException> {
        proxies::pull_consumer(&self.place).map(Some)
    }
}
