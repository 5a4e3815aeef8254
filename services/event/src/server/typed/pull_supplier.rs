//! For a consumer that calls `Pull<I>`: the proxy, and the object whose operations give events
//! (Event Service 1.2 §2.9.3).
//!
//! `op` waits for the next event that is a call of `op`, `try_op` says whether there is one. Other
//! events stay where they are. The proxy's own `pull` gives any of them as an untyped one.

use super::default_values;
use super::push_consumer::not_connected;
use crate::channel::{Pull, PullingConsumer, Selection};
use crate::cos_event_channel_admin::{
    ProxyPullSupplierServant, proxy_pull_supplier::ConnectPullConsumerError,
};
use crate::cos_event_comm::{
    PullConsumer, PullSupplierServant,
    pull_supplier::{PullError, TryPullError},
};
use crate::cos_typed_event_channel_admin::{
    TypedProxyPullSupplier, TypedProxyPullSupplierServant, TypedProxyPullSupplierSkeleton,
};
use crate::cos_typed_event_comm::TypedPullSupplierServant;
use crate::event::Event;
use crate::interfaces::{EventInterface, TRY};
use crate::server::administration::Place;
use crate::server::proxies::{self, ByHand, DISCONNECT_PULL_CONSUMER, Made, not_here};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::cdr::Error;
use corbie::{Any, Encoder, Interface as _, Object, Servant, ServerRequest, SystemException};
use std::sync::Arc;

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed pull supplier";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
) -> Result<TypedProxyPullSupplier, SystemException> {
    make(place, interface, None).map(|(_, object)| TypedProxyPullSupplier::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let selection = Selection::Typed(Arc::clone(interface));
    let side = Side::consumer(KIND, &DISCONNECT_PULL_CONSUMER, selection);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest = GivesResults { proxy: Arc::clone(&proxy), interface };
        let rest = TypedProxyPullSupplierSkeleton::new(rest);
        ByHand { proxy, by_hand: proxies::pull, rest }
    })
}

/// The object whose operations give the events of `proxy`.
pub(super) fn typed_object(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
) -> Result<Object, SystemException> {
    let (called, interface) = (Arc::clone(proxy), Arc::clone(interface));
    proxy.typed_object(|| Arc::new(Called { proxy: called, interface }))
}

struct GivesResults {
    proxy: Arc<Proxy>,
    interface: Arc<EventInterface>,
}

impl PullSupplierServant for GivesResults {
    fn pull(&self) -> Result<Any, PullError> {
        Err(not_here().into())
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        Err(not_here().into())
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        self.proxy.disconnect();
        Ok(())
    }
}

impl ProxyPullSupplierServant for GivesResults {
    fn connect_pull_consumer(
        &self,
        pull_consumer: Option<&PullConsumer>,
    ) -> Result<(), ConnectPullConsumerError> {
        let peer = pull_consumer.map(corbie::Interface::as_object);
        let channel = self.proxy.channel();
        Ok(self
            .proxy
            .connect(peer, |give_up| Ok(Flow::Pulling(PullingConsumer::new(channel, give_up))))?)
    }
}

impl TypedPullSupplierServant for GivesResults {
    fn get_typed_supplier(&self) -> Result<Option<Object>, SystemException> {
        typed_object(&self.proxy, &self.interface).map(Some)
    }
}

impl TypedProxyPullSupplierServant for GivesResults {}

/// The object whose operations give events.
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
        let called = request.operation();
        let (waits, signature) = match self.interface.signature(called) {
            Some(signature) => (true, Some(signature)),
            None => {
                let tried = called.strip_prefix(TRY);
                (false, tried.and_then(|name| self.interface.signature(name)))
            }
        };
        let Some(signature) = signature else { return Err(request.unknown_operation()) };
        let Some(Flow::Pulling(consumer)) = self.proxy.flow() else { return Err(not_connected()) };
        let wanted = Some(Arc::clone(signature));
        if waits {
            let response = request.defer();
            consumer.wait(Pull { response, wanted, write: Event::write });
            return Ok(());
        }
        let nothing = default_values::of(signature.types())?;
        let response = request.defer();
        let pull = Pull { response, wanted, write: write_found };
        if let Some(Pull { response, .. }) = consumer.answer_now(pull) {
            // Whoever asks hears that there is nothing, or is gone.
            let _ = response.reply(&|e| {
                e.write_boolean(false);
                default_values::write(&nothing, e)
            });
        }
        Ok(())
    }
}

/// The results of a `try_op` that found an event.
fn write_found(event: &Event, e: &mut Encoder<'_>) -> Result<(), Error> {
    e.write_boolean(true);
    event.write(e)
}
