//! For a consumer whose interface is called (Event Service 1.2 §2.9.3): a push supplier that
//! calls the operations of the consumer's typed object instead of `push`.

use super::reaching;
use crate::channel::{Channel, PushConsumer, Question, Selection, Target};
use crate::cos_event_channel_admin::{ProxyPushSupplier, ProxyPushSupplierSkeleton};
use crate::interfaces::EventInterface;
use crate::server::administration::ServantContext;
use crate::server::proxies::{ByHand, DISCONNECT_PUSH_CONSUMER, GiveUp, Made, Pushes};
use crate::server::proxy::{Flow, Proxy, Side};
use corbie::{Interface as _, Object, Operation, ServerRequest, SystemException};
use std::sync::Arc;

const CONNECT: &str = "connect_push_consumer";
const GET_TYPED_CONSUMER: Operation = Operation::twoway("get_typed_consumer");

/// The name of the kind, as it is kept.
pub(super) const KIND: &str = "typed push supplier";

/// The proxy.
pub(super) fn obtain(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
) -> Result<ProxyPushSupplier, SystemException> {
    make(place, interface, None).map(|(_, object)| ProxyPushSupplier::from_object(object))
}

/// The same; with the number that it had before the server was started, if it was there.
pub(super) fn make(
    place: &Arc<ServantContext>,
    interface: &Arc<EventInterface>,
    before: Option<u64>,
) -> Made {
    let selection = Selection::Typed(Arc::clone(interface));
    let side = Side::consumer(KIND, &DISCONNECT_PUSH_CONSUMER, selection);
    Proxy::activate_as(place, side, before, |proxy| {
        let interface = Arc::clone(interface);
        let rest = ProxyPushSupplierSkeleton::new(Pushes { proxy: Arc::clone(&proxy) });
        let by_hand = move |proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>| {
            (request.operation() == CONNECT).then(|| connect(proxy, &interface, request))
        };
        ByHand { proxy, by_hand, rest }
    })
}

/// Pushes to what `peer` gives as its typed object: `typed`, if that is known.
pub(super) fn push_to(
    channel: &Channel,
    interface: &EventInterface,
    peer: &Object,
    typed: Option<&Object>,
    give_up: GiveUp,
) -> Result<Flow, SystemException> {
    let calls = channel.qos().push_timeout;
    let target = match typed {
        Some(typed) if channel.journal().is_none() => Target::fixed(typed, calls)?,
        typed => Target::asked(channel, question(interface, peer), typed, calls)?,
    };
    Ok(Flow::Push(PushConsumer::new(channel.resources(), channel.qos(), target, give_up)))
}

fn question(interface: &EventInterface, peer: &Object) -> Question {
    let (peer, interface) = (peer.clone(), interface.id().to_owned());
    Question { peer, operation: GET_TYPED_CONSUMER, interface }
}

fn connect(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let called = Arc::clone(interface);
    let begin = move |channel: &Arc<Channel>, peer: &Object, typed: &Object, give_up| {
        push_to(channel, &called, peer, Some(typed), give_up)
    };
    reaching::connect(proxy, request, "push consumer", |peer| question(interface, peer), begin)
}
