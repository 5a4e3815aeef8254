//! For a supplier that calls an interface: the proxy, and the object whose operations are its
//! events (Event Service 1.2 §2.9.4).
//!
//! The proxy also takes untyped events; those that list the properties of a typed one become it.

use super::typed_object::{self, not_connected};
use crate::cos_typed_event_channel_admin::{
    TypedProxyPushConsumer, TypedProxyPushConsumerServant, TypedProxyPushConsumerSkeleton,
};
use crate::cos_typed_event_comm::TypedPushConsumerServant;
use crate::event::{Event, PUSH, Shape, properties};
use crate::interfaces::EventInterface;
use crate::server::administration::ServantContext;
use crate::server::proxies::{self, ByHand, DISCONNECT_PUSH_SUPPLIER, Made, PushConsumerProxy};
use crate::server::proxy::{Proxy, Side};
use corbie::{Interface as _, Object, ServerRequest, SystemException};
use std::sync::Arc;

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed push consumer";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
) -> Result<TypedProxyPushConsumer, SystemException> {
    make(place, interface, None).map(|(_, object)| TypedProxyPushConsumer::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let side = Side::supplier(KIND, &DISCONNECT_PUSH_SUPPLIER).calling(interface);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest =
            PushConsumerProxy { proxy: Arc::clone(&proxy), interface: Arc::clone(&interface) };
        let rest = TypedProxyPushConsumerSkeleton::new(rest);
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            push(proxy, &interface, request)
        };
        ByHand { proxy, by_hand, rest }
    })
}

/// The object whose operations are the events of `proxy`.
pub(super) fn object_of(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
) -> Result<Object, SystemException> {
    typed_object::of(proxy, interface, serve)
}

/// An untyped event.
fn push(
    proxy: &Arc<Proxy>,
    interface: &EventInterface,
    request: &mut ServerRequest<'_>,
) -> Option<Result<(), SystemException>> {
    if request.operation() != PUSH.name() {
        return None;
    }
    if !proxy.is_connected() {
        return Some(proxy.refuse(request));
    }
    Some(read_any(interface, request).and_then(|event| proxies::take(proxy, event, request)))
}

fn read_any(
    interface: &EventInterface,
    request: &ServerRequest<'_>,
) -> Result<Event, SystemException> {
    let event = Event::read(PUSH, Shape::Any, &request.arguments());
    let any = event.any()?;
    let Some((signature, values)) = properties::read(&any, interface) else { return Ok(event) };
    let operation = signature.operation().clone();
    Event::written(operation, Shape::Typed(signature), |e| {
        values.iter().try_for_each(|value| value.encode_value(e))
    })
}

impl TypedPushConsumerServant for PushConsumerProxy<Arc<EventInterface>> {
    fn get_typed_consumer(&self) -> Result<Option<Object>, SystemException> {
        object_of(&self.proxy, &self.interface).map(Some)
    }
}

impl TypedProxyPushConsumerServant for PushConsumerProxy<Arc<EventInterface>> {}

/// A call of the typed object.
fn serve(
    proxy: &Arc<Proxy>,
    interface: &EventInterface,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let Some(signature) = interface.signature(request.operation()) else {
        return Err(request.unknown_operation());
    };
    if !proxy.is_connected() {
        proxy.check_lasting()?;
        return Err(not_connected());
    }
    let event = Event::read_typed(signature, &request.arguments());
    proxies::take(proxy, event, request)
}
