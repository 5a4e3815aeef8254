//! For a consumer whose interface is called (Event Service 1.2 §2.9.3): a push supplier that
//! calls the operations of the consumer's typed object instead of `push`.

use super::reaching::{self, NotReached, Reaching};
use crate::channel::{PushConsumer, Selection};
use crate::cos_event_channel_admin::{ProxyPushSupplier, ProxyPushSupplierSkeleton};
use crate::interfaces::EventInterface;
use crate::server::administration::Place;
use crate::server::proxies::{ByHand, DISCONNECT_PUSH_CONSUMER, Pushes, is_nil};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::{Interface as _, Operation, ServerRequest, SystemException};
use std::sync::Arc;

const CONNECT: &str = "connect_push_consumer";
const GET_TYPED_CONSUMER: Operation = Operation::twoway("get_typed_consumer");

/// The proxy.
pub(super) fn obtain(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
) -> Result<ProxyPushSupplier, SystemException> {
    let selection = Selection::Typed(Arc::clone(interface));
    let side = Side::consumer("typed push supplier", &DISCONNECT_PUSH_CONSUMER, selection);
    let object = Proxy::activate(place, side, |proxy| {
        let interface = Arc::clone(interface);
        let rest = ProxyPushSupplierSkeleton::new(Pushes { proxy: Arc::clone(&proxy) });
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            (request.operation() == CONNECT).then(|| connect(proxy, &interface, request))
        };
        ByHand { proxy, by_hand, rest }
    })?;
    Ok(ProxyPushSupplier::from_object(object))
}

fn connect(
    proxy: &Arc<Proxy>,
    interface: &EventInterface,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let peer = reaching::peer_of(request)?.ok_or_else(|| is_nil("push consumer"))?;
    let response = request.defer();
    if let Err(refusal) = proxy.check_fresh() {
        reaching::answer(response, Err(NotReached::Not(refusal)));
        return Ok(());
    }
    let (proxy, consumer) = (Arc::clone(proxy), peer.clone());
    let channel = Arc::clone(proxy.channel());
    let question = (peer, GET_TYPED_CONSUMER);
    Reaching::begin(&channel, question, interface.id(), response, move |typed| {
        let channel = proxy.channel();
        proxy.connect(Some(&consumer), |give_up| {
            PushConsumer::new(channel, typed, give_up).map(Flow::Push)
        })
    });
    Ok(())
}
