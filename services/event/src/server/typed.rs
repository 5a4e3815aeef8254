//! The servants of a typed channel and of its two administrations (Event Service 1.2 §2.9).
//!
//! A typed channel is a channel as any other (`channel`): what is different is which objects bring
//! events to it and take them from it. Untyped proxies are those of `proxies`.

mod default_values;
mod kept;
mod pull_consumer;
mod pull_supplier;
mod push_consumer;
mod push_supplier;
mod reaching;
mod typed_object;

pub(super) use kept::{TYPED, handed_over, known, restore};

use super::administration::{Consumers, ServantContext, Suppliers};
use super::registry::ChannelRegistry;
use crate::channel::Channel;
use crate::cos_event_channel_admin::{ProxyPullConsumer, ProxyPushSupplier};
use crate::cos_typed_event_channel_admin::typed_consumer_admin::{
    ObtainTypedPullSupplierError, ObtainTypedPushSupplierError,
};
use crate::cos_typed_event_channel_admin::typed_supplier_admin::{
    ObtainTypedPullConsumerError, ObtainTypedPushConsumerError,
};
use crate::cos_typed_event_channel_admin::{
    InterfaceNotSupported, NoSuchImplementation, TypedConsumerAdmin, TypedConsumerAdminServant,
    TypedConsumerAdminSkeleton, TypedEventChannel, TypedEventChannelServant,
    TypedEventChannelSkeleton, TypedProxyPullSupplier, TypedProxyPushConsumer, TypedSupplierAdmin,
    TypedSupplierAdminServant, TypedSupplierAdminSkeleton,
};
use crate::interfaces::{Known, Refusal};
use corbie::SystemException;
use std::sync::Arc;

/// Makes the objects of a typed channel.
pub(super) fn serve(
    registry: &Arc<ChannelRegistry>,
    channel: &Arc<Channel>,
    number: u64,
    known: &Arc<Known>,
) -> Result<TypedEventChannel, SystemException> {
    let place = ServantContext::new(registry, channel, number);
    let poa = place.poa();
    let (known, consumers) = (Arc::clone(known), Arc::clone(&place));
    let consumers = Consumers { place: consumers, known: Arc::clone(&known) };
    let consumers = TypedConsumerAdminSkeleton::new(consumers);
    let consumers = poa.activate_with_id(place.id("consumers"), consumers)?;
    let suppliers = Suppliers { place: Arc::clone(&place), known };
    let suppliers = TypedSupplierAdminSkeleton::new(suppliers);
    let suppliers = poa.activate_with_id(place.id("suppliers"), suppliers)?;
    let servant = TypedChannelServant { place: Arc::clone(&place), consumers, suppliers };
    Ok(poa.activate_with_id(place.id("channel"), TypedEventChannelSkeleton::new(servant))?)
}

struct TypedChannelServant {
    place: Arc<ServantContext>,
    consumers: TypedConsumerAdmin,
    suppliers: TypedSupplierAdmin,
}

impl TypedEventChannelServant for TypedChannelServant {
    fn for_consumers(&self) -> Result<Option<TypedConsumerAdmin>, SystemException> {
        Ok(Some(self.consumers.clone()))
    }

    fn for_suppliers(&self) -> Result<Option<TypedSupplierAdmin>, SystemException> {
        Ok(Some(self.suppliers.clone()))
    }

    fn destroy(&self) -> Result<(), SystemException> {
        self.place.destroy()
    }
}

impl TypedConsumerAdminServant for Consumers<Arc<Known>> {
    fn obtain_typed_pull_supplier(
        &self,
        supported_interface: &str,
    ) -> Result<Option<TypedProxyPullSupplier>, ObtainTypedPullSupplierError> {
        let interface = self.known.pulled(supported_interface).map_err(why_not)?;
        Ok(Some(pull_supplier::obtain(&self.place, &interface)?))
    }

    fn obtain_typed_push_supplier(
        &self,
        uses_interface: &str,
    ) -> Result<Option<ProxyPushSupplier>, ObtainTypedPushSupplierError> {
        let interface = self.known.pushed(uses_interface).map_err(why_not)?;
        Ok(Some(push_supplier::obtain(&self.place, &interface)?))
    }
}

impl TypedSupplierAdminServant for Suppliers<Arc<Known>> {
    fn obtain_typed_push_consumer(
        &self,
        supported_interface: &str,
    ) -> Result<Option<TypedProxyPushConsumer>, ObtainTypedPushConsumerError> {
        let interface = self.known.pushed(supported_interface).map_err(why_not)?;
        Ok(Some(push_consumer::obtain(&self.place, &interface)?))
    }

    fn obtain_typed_pull_consumer(
        &self,
        uses_interface: &str,
    ) -> Result<Option<ProxyPullConsumer>, ObtainTypedPullConsumerError> {
        let interface = self.known.pulled(uses_interface).map_err(why_not)?;
        Ok(Some(pull_consumer::obtain(&self.place, &interface)?))
    }
}

/// Why an administration gives no proxy.
struct NoProxy(Option<SystemException>);

/// The exceptions of the specification have no room for a sentence; operators find it here.
fn why_not(refusal: Refusal) -> NoProxy {
    tracing::info!(%refusal, "a typed proxy was refused");
    match refusal {
        Refusal::System(exception) => NoProxy(Some(exception)),
        Refusal::Unknown(_) | Refusal::Rules(_) => NoProxy(None),
    }
}

macro_rules! no_proxy {
    ($($error:ty => $refusal:ident),*) => { $(
        impl From<NoProxy> for $error {
            fn from(no: NoProxy) -> Self {
                match no.0 {
                    Some(exception) => exception.into(),
                    None => $refusal {}.into(),
                }
            }
        }
    )* };
}

no_proxy! {
    ObtainTypedPushConsumerError => InterfaceNotSupported,
    ObtainTypedPullSupplierError => InterfaceNotSupported,
    ObtainTypedPushSupplierError => NoSuchImplementation,
    ObtainTypedPullConsumerError => NoSuchImplementation
}
