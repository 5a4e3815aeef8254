//! For a consumer that calls `Pull<I>`: the proxy, and the object whose operations give events
//! (Event Service 1.2 §2.9.3).
//!
//! `op` waits for the next event that is a call of `op`, `try_op` says whether there is one. Other
//! events stay where they are. The proxy's own `pull` gives any of them as an untyped one.

use super::default_values;
use super::typed_object::{self, not_connected};
use crate::channel::{Pull, Selection};
use crate::cos_typed_event_channel_admin::{
    TypedProxyPullSupplier, TypedProxyPullSupplierServant, TypedProxyPullSupplierSkeleton,
};
use crate::cos_typed_event_comm::TypedPullSupplierServant;
use crate::event::Event;
use crate::interfaces::{EventInterface, TRY};
use crate::server::administration::ServantContext;
use crate::server::proxies::{self, ByHand, DISCONNECT_PULL_CONSUMER, Made, PullSupplierProxy};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::cdr::Error;
use corbie::{Encoder, Interface as _, Object, ServerRequest, SystemException};
use std::sync::Arc;

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed pull supplier";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
) -> Result<TypedProxyPullSupplier, SystemException> {
    make(place, interface, None).map(|(_, object)| TypedProxyPullSupplier::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let selection = Selection::Typed(Arc::clone(interface));
    let side = Side::consumer(KIND, &DISCONNECT_PULL_CONSUMER, selection);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest = PullSupplierProxy { proxy: Arc::clone(&proxy), interface };
        let rest = TypedProxyPullSupplierSkeleton::new(rest);
        ByHand { proxy, by_hand: proxies::pull, rest }
    })
}

/// The object whose operations give the events of `proxy`.
pub(super) fn object_of(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
) -> Result<Object, SystemException> {
    typed_object::of(proxy, interface, serve)
}

impl TypedPullSupplierServant for PullSupplierProxy<Arc<EventInterface>> {
    fn get_typed_supplier(&self) -> Result<Option<Object>, SystemException> {
        object_of(&self.proxy, &self.interface).map(Some)
    }
}

impl TypedProxyPullSupplierServant for PullSupplierProxy<Arc<EventInterface>> {}

/// A call of the typed object.
fn serve(
    proxy: &Arc<Proxy>,
    interface: &EventInterface,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let called = request.operation();
    let (waits, signature) = match interface.signature(called) {
        Some(signature) => (true, Some(signature)),
        None => {
            let tried = called.strip_prefix(TRY);
            (false, tried.and_then(|name| interface.signature(name)))
        }
    };
    let Some(signature) = signature else { return Err(request.unknown_operation()) };
    let Some(Flow::Pulling(consumer)) = proxy.flow() else {
        proxy.check_lasting()?;
        return Err(not_connected());
    };
    let wanted = Some(Arc::clone(signature));
    if waits {
        let response = request.defer();
        consumer.wait(Pull::new(response, wanted, Event::write));
        return Ok(());
    }
    let nothing = default_values::of(signature.types())?;
    let response = request.defer();
    let pull = Pull::new(response, wanted, write_found);
    if let Some(Pull { response, .. }) = consumer.answer_now(pull) {
        // The caller hears that there is nothing, or is gone.
        let _ = response.reply(&|e| {
            e.write_boolean(false);
            default_values::write(&nothing, e)
        });
    }
    Ok(())
}

/// The results of a `try_op` that found an event.
fn write_found(event: &Event, e: &mut Encoder<'_>) -> Result<(), Error> {
    e.write_boolean(true);
    event.write(e)
}
