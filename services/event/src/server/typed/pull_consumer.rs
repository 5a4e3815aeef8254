//! For a supplier that has `Pull<I>` (Event Service 1.2 §2.9.4): a pull consumer that calls the
//! operations of the supplier's typed object instead of `pull`.
//!
//! Each operation is called on its own, over a connection of its own, since each waits.

use super::reaching;
use crate::channel::{Channel, Loss, PATIENCE, PulledSupplier, Question, Target};
use crate::cos_event_channel_admin::{ProxyPullConsumer, ProxyPullConsumerSkeleton};
use crate::interfaces::EventInterface;
use crate::server::administration::ServantContext;
use crate::server::proxies::{ByHand, DISCONNECT_PULL_SUPPLIER, GiveUp, Made, Pulls};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::{Interface as _, Object, Operation, ServerRequest, SystemException};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CONNECT: &str = "connect_pull_supplier";
const GET_TYPED_SUPPLIER: Operation = Operation::twoway("get_typed_supplier");

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed pull consumer";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
) -> Result<ProxyPullConsumer, SystemException> {
    make(place, interface, None).map(|(_, object)| ProxyPullConsumer::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let side = Side::supplier(KIND, &DISCONNECT_PULL_SUPPLIER).calling(interface);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest = ProxyPullConsumerSkeleton::new(Pulls { proxy: Arc::clone(&proxy) });
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            (request.operation() == CONNECT).then(|| connect(proxy, &interface, request))
        };
        ByHand { proxy, by_hand, rest }
    })
}

/// Pulls from what `peer` gives as its typed object: `typed`, if that is known.
pub(super) fn pull_from(
    channel: &Arc<Channel>,
    interface: &EventInterface,
    peer: &Object,
    typed: Option<&Object>,
    give_up: GiveUp,
) -> Result<Flow, SystemException> {
    let give_up = Arc::new(give_up);
    let left = Arc::new(AtomicUsize::new(interface.signatures().count()));
    let pulled = interface.signatures().map(|signature| {
        let target = match typed {
            Some(typed) if channel.journal().is_none() => Target::fixed(typed, PATIENCE)?,
            typed => Target::asked(channel, question(interface, peer), typed, PATIENCE)?,
        };
        let (give_up, left) = (Arc::clone(&give_up), Arc::clone(&left));
        Ok(PulledSupplier::new(channel, target, Some(Arc::clone(signature)), move |loss| {
            // One that lacks an operation may have the others.
            let is_last = || left.fetch_sub(1, Ordering::Relaxed) == 1;
            if loss == Loss::Supplier || is_last() {
                give_up();
            }
        }))
    });
    pulled.collect::<Result<Arc<[_]>, _>>().map(Flow::Pulled)
}

fn question(interface: &EventInterface, peer: &Object) -> Question {
    let (peer, interface) = (peer.clone(), interface.id().to_owned());
    Question { peer, operation: GET_TYPED_SUPPLIER, interface }
}

fn connect(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let called = Arc::clone(interface);
    let begin = move |channel: &Arc<Channel>, peer: &Object, typed: &Object, give_up| {
        pull_from(channel, &called, peer, Some(typed), give_up)
    };
    reaching::connect(proxy, request, "pull supplier", |peer| question(interface, peer), begin)
}
