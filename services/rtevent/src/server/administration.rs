//! The servants of a channel and of its two administrations, from which proxies are got. They end
//! with the channel.

use super::Registry;
use super::{consumer, supplier};
use crate::channel::Channel;
use crate::rtec_event_channel_admin::event_channel::{
    AppendObserverError, CantAppendObserver, CantRemoveObserver, RemoveObserverError,
};
use crate::rtec_event_channel_admin::{
    ConsumerAdmin, ConsumerAdminServant, ConsumerAdminSkeleton, EventChannel, EventChannelServant,
    EventChannelSkeleton, Observer, ProxyPushConsumer, ProxyPushSupplier, SupplierAdmin,
    SupplierAdminServant, SupplierAdminSkeleton,
};
use corbie::{IdSecret, ObjectId, Poa, SystemException};
use std::sync::{Arc, Weak};

/// What the servants of one channel share.
pub(super) struct Place {
    registry: Weak<Registry>,
    pub(super) poa: Poa,
    pub(super) channel: Arc<Channel>,
    number: u64,
    /// What makes object ids, so that no peer finds the proxies of others by counting.
    secret: IdSecret,
}

impl Place {
    pub(super) fn new(registry: &Arc<Registry>, channel: &Arc<Channel>, number: u64) -> Arc<Self> {
        Arc::new(Self {
            registry: Arc::downgrade(registry),
            poa: registry.poa.clone(),
            channel: Arc::clone(channel),
            number,
            secret: registry.secret.clone(),
        })
    }

    /// The object id of something of the channel.
    pub(super) fn id(&self, what: impl std::fmt::Display) -> String {
        self.secret.id(&format!("{}/{what}", self.number))
    }

    /// The channel has ended.
    pub(super) fn end(&self) {
        for what in ["channel", "consumers", "suppliers"] {
            self.deactivate(&self.id(what));
        }
    }

    /// Deactivates an object, now or when its upcalls have ended.
    pub(super) fn deactivate(&self, id: &str) {
        if let Err(error) = self.poa.deactivate_object(&ObjectId::from(id)) {
            tracing::debug!(%error, "an object had ended already");
        }
    }
}

/// Makes the objects of a channel.
pub(super) fn serve(place: &Arc<Place>) -> Result<EventChannel, SystemException> {
    let poa = &place.poa;
    let consumers = ConsumerAdminSkeleton::new(Consumers(Arc::clone(place)));
    let consumers = poa.activate_with_id(place.id("consumers"), consumers)?;
    let suppliers = SupplierAdminSkeleton::new(Suppliers(Arc::clone(place)));
    let suppliers = poa.activate_with_id(place.id("suppliers"), suppliers)?;
    let servant = ChannelServant { place: Arc::clone(place), consumers, suppliers };
    Ok(poa.activate_with_id(place.id("channel"), EventChannelSkeleton::new(servant))?)
}

struct ChannelServant {
    place: Arc<Place>,
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
        let place = &self.place;
        if place.channel.destroy() {
            if let Some(registry) = place.registry.upgrade() {
                registry.forget(&place.channel);
            }
            place.end();
        }
        Ok(())
    }

    fn append_observer(&self, gw: Option<&Observer>) -> Result<u32, AppendObserverError> {
        let number = gw.and_then(|observer| self.place.channel.add_observer(observer));
        number.ok_or_else(|| CantAppendObserver {}.into())
    }

    fn remove_observer(&self, gw: u32) -> Result<(), RemoveObserverError> {
        if self.place.channel.remove_observer(gw) {
            Ok(())
        } else {
            Err(CantRemoveObserver {}.into())
        }
    }
}

struct Consumers(Arc<Place>);

impl ConsumerAdminServant for Consumers {
    fn obtain_push_supplier(&self) -> Result<Option<ProxyPushSupplier>, SystemException> {
        consumer::proxy(&self.0).map(Some)
    }
}

struct Suppliers(Arc<Place>);

impl SupplierAdminServant for Suppliers {
    fn obtain_push_consumer(&self) -> Result<Option<ProxyPushConsumer>, SystemException> {
        supplier::proxy(&self.0).map(Some)
    }
}
