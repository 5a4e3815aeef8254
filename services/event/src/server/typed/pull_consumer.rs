//! For a supplier that has `Pull<I>` (Event Service 1.2 §2.9.4): a pull consumer that calls the
//! operations of the supplier's typed object instead of `pull`.
//!
//! Each operation is called on its own, over a connection of its own, since each waits.

use super::reaching::{self, NotReached, Reaching};
use crate::channel::PulledSupplier;
use crate::cos_event_channel_admin::{ProxyPullConsumer, ProxyPullConsumerSkeleton};
use crate::interfaces::EventInterface;
use crate::server::administration::Place;
use crate::server::proxies::{ByHand, DISCONNECT_PULL_SUPPLIER, Pulls, is_nil};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::{Interface as _, Operation, ServerRequest, SystemException};
use std::sync::Arc;

const CONNECT: &str = "connect_pull_supplier";
const GET_TYPED_SUPPLIER: Operation = Operation::twoway("get_typed_supplier");

/// The proxy.
pub(super) fn obtain(
    place: &Arc<Place>,
    interface: &Arc<EventInterface>,
) -> Result<ProxyPullConsumer, SystemException> {
    let side = Side::supplier("typed pull consumer", &DISCONNECT_PULL_SUPPLIER);
    let object = Proxy::activate(place, side, |proxy| {
        let interface = Arc::clone(interface);
        let rest = ProxyPullConsumerSkeleton::new(Pulls { proxy: Arc::clone(&proxy) });
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            (request.operation() == CONNECT).then(|| connect(proxy, &interface, request))
        };
        ByHand { proxy, by_hand, rest }
    })?;
    Ok(ProxyPullConsumer::from_object(object))
}

fn connect(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let peer = reaching::peer_of(request)?.ok_or_else(|| is_nil("pull supplier"))?;
    let response = request.defer();
    if let Err(refusal) = proxy.check_fresh() {
        reaching::answer(response, Err(NotReached::Not(refusal)));
        return Ok(());
    }
    let (proxy, supplier) = (Arc::clone(proxy), peer.clone());
    let channel = Arc::clone(proxy.channel());
    let wanted = Arc::clone(interface);
    let question = (peer, GET_TYPED_SUPPLIER);
    Reaching::begin(&channel, question, interface.id(), response, move |typed| {
        let channel = proxy.channel();
        proxy.connect(Some(&supplier), |give_up| {
            let give_up = Arc::new(give_up);
            let pulled = wanted.signatures().map(|signature| {
                let give_up = Arc::clone(&give_up);
                let signature = Some(Arc::clone(signature));
                PulledSupplier::new(channel, typed, signature, move || give_up())
            });
            pulled.collect::<Result<Arc<[_]>, _>>().map(Flow::Pulled)
        })
    });
    Ok(())
}
