//! For a supplier that calls an interface: the proxy, and the object whose operations are its
//! events (Event Service 1.2 §2.9.4).
//!
//! The proxy also takes untyped events; those that list the properties of a typed one become it.

use crate::cos_event_channel_admin::{ProxyPushConsumerServant, proxy_push_consumer};
use crate::cos_event_comm::{PushConsumerServant, PushSupplier, push_consumer::PushError};
use crate::cos_typed_event_channel_admin::{
    TypedProxyPushConsumer, TypedProxyPushConsumerServant, TypedProxyPushConsumerSkeleton,
};
use crate::cos_typed_event_comm::TypedPushConsumerServant;
use crate::event::{Event, PUSH, Shape, properties};
use crate::interfaces::EventInterface;
use crate::server::administration::Place;
use crate::server::proxies::{self, ByHand, DISCONNECT_PUSH_SUPPLIER, Made, not_here};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::{
    Any, CompletionStatus, Interface as _, Object, Servant, ServerRequest, SystemException,
};
use std::sync::Arc;

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed push consumer";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
) -> Result<TypedProxyPushConsumer, SystemException> {
    make(place, interface, None).map(|(_, object)| TypedProxyPushConsumer::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let side = Side::supplier(KIND, &DISCONNECT_PUSH_SUPPLIER).calling(interface);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest = TakesCalls { proxy: Arc::clone(&proxy), interface: Arc::clone(&interface) };
        let rest = TypedProxyPushConsumerSkeleton::new(rest);
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            push(proxy, &interface, request)
        };
        ByHand { proxy, by_hand, rest }
    })
}

/// The object whose operations are the events of `proxy`.
pub(super) fn typed_object(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
) -> Result<Object, SystemException> {
    let (called, interface) = (Arc::clone(proxy), Arc::clone(interface));
    proxy.typed_object(|| Arc::new(Called { proxy: called, interface }))
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
        return Some(proxies::refuse(request));
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

struct TakesCalls {
    proxy: Arc<Proxy>,
    interface: Arc<EventInterface>,
}

impl PushConsumerServant for TakesCalls {
    fn push(&self, _data: &Any) -> Result<(), PushError> {
        Err(not_here().into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.proxy.disconnect();
        Ok(())
    }
}

impl ProxyPushConsumerServant for TakesCalls {
    fn connect_push_supplier(
        &self,
        push_supplier: Option<&PushSupplier>,
    ) -> Result<(), proxy_push_consumer::ConnectPushSupplierError> {
        let peer = push_supplier.map(corbie::Interface::as_object);
        Ok(self.proxy.connect(peer, |_| Ok(Flow::Pushed))?)
    }
}

impl TypedPushConsumerServant for TakesCalls {
    fn get_typed_consumer(&self) -> Result<Option<Object>, SystemException> {
        typed_object(&self.proxy, &self.interface).map(Some)
    }
}

impl TypedProxyPushConsumerServant for TakesCalls {}

/// The object whose operations are the events.
struct Called {
    proxy: Arc<Proxy>,
    interface: Arc<EventInterface>,
}

impl Servant for Called {
    /// Not known at build time.
    fn _interfaces(&self) -> &'static [&'static str] {
        &[]
    }

    fn _repository_id(&self) -> &str {
        self.interface.id()
    }

    fn _is_a(&self, repository_id: &str) -> bool {
        self.interface.is_a(repository_id)
    }

    fn _interface(&self) -> Option<&Object> {
        self.interface.definition()
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let Some(signature) = self.interface.signature(request.operation()) else {
            return Err(request.unknown_operation());
        };
        if !self.proxy.is_connected() {
            return Err(not_connected());
        }
        let event = Event::read_typed(signature, &request.arguments());
        proxies::take(&self.proxy, event, request)
    }
}

/// Operations of I raise nothing; so it is a system exception.
pub(super) fn not_connected() -> SystemException {
    SystemException::bad_inv_order(0, CompletionStatus::No)
        .with_detail("the proxy is not connected: connect it before events are given or asked for")
}
