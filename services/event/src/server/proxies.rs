//! The servants of the four kinds of proxies (Event Service 1.2 §2.3, §2.4).
//!
//! What carries events is served by hand, so that their octets are passed on as they came; the
//! rest goes to generated skeletons.

use super::administration::ServantContext;
use super::proxy::{Flow, NotConnected, Proxy, Side, of_kept};
use crate::bundle::{BUNDLE_CONSUMER, Bundle, PUSH_BUNDLE};
use crate::channel::{
    Channel, PATIENCE, Pull, PulledSupplier, PullingConsumer, PushConsumer, Selection, Target,
};
use crate::cos_event_channel_admin::{
    AlreadyConnected, ProxyPullConsumer, ProxyPullConsumerServant, ProxyPullConsumerSkeleton,
    ProxyPullSupplier, ProxyPullSupplierServant, ProxyPullSupplierSkeleton, ProxyPushConsumer,
    ProxyPushConsumerServant, ProxyPushConsumerSkeleton, ProxyPushSupplier,
    ProxyPushSupplierServant, ProxyPushSupplierSkeleton, proxy_pull_consumer, proxy_pull_supplier,
    proxy_push_consumer, proxy_push_supplier,
};
use crate::cos_event_comm::{
    PullConsumer, PullConsumerServant, PullSupplier, PullSupplierServant,
    PushConsumer as PushConsumerReference, PushConsumerServant, PushSupplier, PushSupplierServant,
    pull_supplier::{PullError, TryPullError},
    push_consumer::PushError,
};
use crate::durable::{Progress, ProxyRow};
use crate::event::{Event, PUSH, Shape};
use crate::neighbours;
use crate::ticket::{Ticket, answer};
use corbie::cdr::Error;
use corbie::{
    Any, CompletionStatus, Encoder, Interface, Object, Operation, Servant, ServerRequest,
    SystemException, minor,
};
use std::sync::Arc;

pub(super) static DISCONNECT_PUSH_SUPPLIER: Operation =
    Operation::twoway("disconnect_push_supplier");
pub(super) static DISCONNECT_PUSH_CONSUMER: Operation =
    Operation::twoway("disconnect_push_consumer");
pub(super) static DISCONNECT_PULL_SUPPLIER: Operation =
    Operation::twoway("disconnect_pull_supplier");
pub(super) static DISCONNECT_PULL_CONSUMER: Operation =
    Operation::twoway("disconnect_pull_consumer");

/// The names of the kinds, as they are kept.
const PUSH_CONSUMER: &str = "push consumer";
const PUSH_SUPPLIER: &str = "push supplier";
const PULL_SUPPLIER: &str = "pull supplier";
const PULL_CONSUMER: &str = "pull consumer";

/// A proxy and its reference.
pub(super) type Made = Result<(Arc<Proxy>, Object), SystemException>;

/// For a supplier that pushes.
pub(super) fn push_consumer(
    place: &Arc<ServantContext>,
) -> Result<ProxyPushConsumer, SystemException> {
    make_push_consumer(place, None).map(|(_, object)| ProxyPushConsumer::from_object(object))
}

fn make_push_consumer(place: &Arc<ServantContext>, before: Option<u64>) -> Made {
    let side = Side::supplier(PUSH_CONSUMER, &DISCONNECT_PUSH_SUPPLIER);
    Proxy::activate_as(place, side, before, |proxy| {
        let servant = PushConsumerProxy { proxy: Arc::clone(&proxy), interface: () };
        let rest = BundleConsumerProxy(ProxyPushConsumerSkeleton::new(servant));
        ByHand { proxy, by_hand: push, rest }
    })
}

/// For a consumer that is pushed to.
pub(super) fn push_supplier(
    place: &Arc<ServantContext>,
) -> Result<ProxyPushSupplier, SystemException> {
    make_push_supplier(place, None).map(|(_, object)| ProxyPushSupplier::from_object(object))
}

fn make_push_supplier(place: &Arc<ServantContext>, before: Option<u64>) -> Made {
    let side = Side::consumer(PUSH_SUPPLIER, &DISCONNECT_PUSH_CONSUMER, Selection::Untyped);
    let serve = |proxy| ProxyPushSupplierSkeleton::new(Pushes { proxy });
    Proxy::activate_as(place, side, before, serve)
}

/// For a consumer that pulls.
pub(super) fn pull_supplier(
    place: &Arc<ServantContext>,
) -> Result<ProxyPullSupplier, SystemException> {
    make_pull_supplier(place, None).map(|(_, object)| ProxyPullSupplier::from_object(object))
}

fn make_pull_supplier(place: &Arc<ServantContext>, before: Option<u64>) -> Made {
    let side = Side::consumer(PULL_SUPPLIER, &DISCONNECT_PULL_CONSUMER, Selection::Untyped);
    Proxy::activate_as(place, side, before, |proxy| {
        let rest = ProxyPullSupplierSkeleton::new(PullSupplierProxy {
            proxy: Arc::clone(&proxy),
            interface: (),
        });
        ByHand { proxy, by_hand: pull, rest }
    })
}

/// For a supplier that is pulled.
pub(super) fn pull_consumer(
    place: &Arc<ServantContext>,
) -> Result<ProxyPullConsumer, SystemException> {
    make_pull_consumer(place, None).map(|(_, object)| ProxyPullConsumer::from_object(object))
}

fn make_pull_consumer(place: &Arc<ServantContext>, before: Option<u64>) -> Made {
    let side = Side::supplier(PULL_CONSUMER, &DISCONNECT_PULL_SUPPLIER);
    let serve = |proxy| ProxyPullConsumerSkeleton::new(Pulls { proxy });
    Proxy::activate_as(place, side, before, serve)
}

/// Makes a proxy of a durable channel as it was before the server was started.
///
/// # Errors
/// A sentence.
pub(super) fn restore(
    place: &Arc<ServantContext>,
    id: u64,
    row: &ProxyRow,
    progress: Progress,
) -> Result<(), String> {
    let channel = &place.channel;
    let said = |exception: SystemException| exception.to_string();
    let peer = peer_of(place, row)?;
    let known = || peer.as_ref().ok_or_else(|| "its other side is not known".to_owned());
    let again = |made: Made, begin: &dyn Fn(GiveUp) -> Result<Flow, SystemException>| {
        made.and_then(|(proxy, _)| proxy.connect_again(peer.as_ref(), progress, begin))
            .map_err(said)
    };
    match row.kind.as_str() {
        PUSH_CONSUMER => again(make_push_consumer(place, Some(id)), &|_| Ok(Flow::Pushed)),
        PUSH_SUPPLIER => {
            let peer = known()?;
            again(make_push_supplier(place, Some(id)), &|give_up| push_to(channel, peer, give_up))
        }
        PULL_SUPPLIER => {
            let begin = |give_up| Ok(Flow::Pulling(PullingConsumer::new(channel, give_up)));
            again(make_pull_supplier(place, Some(id)), &begin)
        }
        PULL_CONSUMER => {
            let peer = known()?;
            again(make_pull_consumer(place, Some(id)), &|give_up| pull_from(channel, peer, give_up))
        }
        other => Err(format!("this program knows no proxies of the kind {other:?}")),
    }
}

/// The other side of a proxy that is kept, if it gave a reference.
pub(super) fn peer_of(place: &ServantContext, row: &ProxyRow) -> Result<Option<Object>, String> {
    if row.peer.is_empty() {
        return Ok(None);
    }
    let peer = of_kept(place.registry.orb(), &row.peer);
    peer.map(Some).map_err(|exception| exception.to_string())
}

/// What ends a proxy.
pub(super) type GiveUp = Box<dyn Fn() + Send + Sync>;

fn push_to(channel: &Channel, peer: &Object, give_up: GiveUp) -> Result<Flow, SystemException> {
    let target = Target::fixed(peer, channel.qos().push_timeout)?;
    Ok(Flow::Push(PushConsumer::new(channel.resources(), channel.qos(), target, give_up)))
}

fn pull_from(
    channel: &Arc<Channel>,
    peer: &Object,
    give_up: GiveUp,
) -> Result<Flow, SystemException> {
    let target = Target::fixed(peer, PATIENCE)?;
    let supplier = PulledSupplier::new(channel, target, None, move |_| give_up());
    Ok(Flow::Pulled([supplier].into()))
}

/// A servant of which some operations are served by hand: `by_hand` serves a request, or says that
/// it is for the skeleton.
pub(super) struct ByHand<S, H> {
    pub(super) proxy: Arc<Proxy>,
    pub(super) by_hand: H,
    pub(super) rest: S,
}

impl<S, H> Servant for ByHand<S, H>
where
    S: Servant,
    H: Fn(&Arc<Proxy>, &mut ServerRequest<'_>) -> Option<Result<(), SystemException>>
        + Send
        + Sync
        + 'static,
{
    fn _interfaces(&self) -> &'static [&'static str] {
        self.rest._interfaces()
    }

    fn _is_a(&self, repository_id: &str) -> bool {
        repository_id == neighbours::LINKED || self.rest._is_a(repository_id)
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let by_hand = (self.by_hand)(&self.proxy, request);
        match by_hand.or_else(|| neighbours::serve(&*self.proxy, request)) {
            Some(outcome) => outcome,
            None => self.rest._dispatch(request),
        }
    }
}

/// A proxy push consumer that says that it takes bundles, too.
struct BundleConsumerProxy(ProxyPushConsumerSkeleton<PushConsumerProxy<()>>);

impl Servant for BundleConsumerProxy {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[ProxyPushConsumer::REPOSITORY_ID, PushConsumerReference::REPOSITORY_ID, BUNDLE_CONSUMER]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.0._dispatch(request)
    }
}

fn push(
    proxy: &Arc<Proxy>,
    request: &mut ServerRequest<'_>,
) -> Option<Result<(), SystemException>> {
    let name = request.operation();
    if name == PUSH_BUNDLE.name() {
        return Some(push_bundle(proxy, request));
    }
    if name != PUSH.name() {
        return None;
    }
    if !proxy.is_connected() {
        return Some(proxy.refuse(request));
    }
    let event = Event::read(PUSH, Shape::Any, &request.arguments());
    Some(take(proxy, event, request))
}

/// Takes an event that `request` has brought, and answers when its supplier may go on.
pub(super) fn take(
    proxy: &Arc<Proxy>,
    event: Event,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let ticket = Arc::new(Ticket::default());
    proxy.channel().publish(&Arc::new(event), &ticket);
    answer(ticket, request, 1, |_| Ok(()))
}

/// As [`take`], for many events.
fn push_bundle(proxy: &Arc<Proxy>, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
    if !proxy.is_connected() {
        return proxy.refuse(request);
    }
    let bundle = Arc::new(Bundle::read(&mut request.arguments())?);
    let ticket = Arc::new(Ticket::default());
    proxy.channel().publish_bundle(&bundle, &ticket);
    let count = bundle.count();
    answer(ticket, request, count, move |e| {
        e.write_length(count)?;
        e.write_ulong(0);
        Ok(())
    })
}

pub(super) fn pull(
    proxy: &Arc<Proxy>,
    request: &mut ServerRequest<'_>,
) -> Option<Result<(), SystemException>> {
    let waits = match request.operation() {
        "pull" => true,
        "try_pull" => false,
        _ => return None,
    };
    let Some(Flow::Pulling(consumer)) = proxy.flow() else {
        return Some(proxy.refuse(request));
    };
    let response = request.defer();
    if waits {
        consumer.wait(Pull::new(response, None, Event::write_untyped));
        return Some(Ok(()));
    }
    let pull = Pull::new(response, None, write_found);
    if let Some(Pull { response, .. }) = consumer.answer_now(pull) {
        // The caller hears that there is nothing, or is gone.
        let _ = response.reply(&|e| {
            // An any of type null, and that there was nothing.
            e.write_ulong(0);
            e.write_boolean(false);
            Ok(())
        });
    }
    Some(Ok(()))
}

/// The results of a `try_pull` that found an event.
fn write_found(event: &Event, e: &mut Encoder<'_>) -> Result<(), Error> {
    event.write_untyped(e)?;
    e.write_boolean(true);
    Ok(())
}

/// A nil reference where there has to be one.
pub(super) fn is_nil(what: &str) -> SystemException {
    SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
        .with_detail(format!("the {what} is nil: it cannot be called"))
}

/// What is served by hand never comes here.
pub(super) fn not_here() -> SystemException {
    SystemException::internal(minor::INTERNAL_STATE, CompletionStatus::No)
        .with_detail("events are not served by the skeleton")
}

macro_rules! refusals {
    ($($error:ty),*) => { $(
        impl From<NotConnected> for $error {
            fn from(refusal: NotConnected) -> Self {
                match refusal {
                    NotConnected::Already => AlreadyConnected {}.into(),
                    NotConnected::System(exception) => exception.into(),
                }
            }
        }
    )* };
}

refusals! {
    proxy_push_consumer::ConnectPushSupplierError,
    proxy_push_supplier::ConnectPushConsumerError,
    proxy_pull_supplier::ConnectPullConsumerError,
    proxy_pull_consumer::ConnectPullSupplierError
}

/// What is not served by hand of a proxy that is pushed to; a typed one has an `interface`.
pub(super) struct PushConsumerProxy<I> {
    pub(super) proxy: Arc<Proxy>,
    pub(super) interface: I,
}

impl<I: Send + Sync + 'static> PushConsumerServant for PushConsumerProxy<I> {
    fn push(&self, _data: &Any) -> Result<(), PushError> {
        Err(not_here().into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.proxy.disconnect()
    }
}

impl<I: Send + Sync + 'static> ProxyPushConsumerServant for PushConsumerProxy<I> {
    fn connect_push_supplier(
        &self,
        push_supplier: Option<&PushSupplier>,
    ) -> Result<(), proxy_push_consumer::ConnectPushSupplierError> {
        let peer = push_supplier.map(Interface::as_object);
        Ok(self.proxy.connect(peer, |_| Ok(Flow::Pushed))?)
    }
}

pub(super) struct Pushes {
    pub(super) proxy: Arc<Proxy>,
}

impl PushSupplierServant for Pushes {
    fn disconnect_push_supplier(&self) -> Result<(), SystemException> {
        self.proxy.disconnect()
    }
}

impl ProxyPushSupplierServant for Pushes {
    fn connect_push_consumer(
        &self,
        push_consumer: Option<&PushConsumerReference>,
    ) -> Result<(), proxy_push_supplier::ConnectPushConsumerError> {
        let peer: &Object = push_consumer.ok_or_else(|| is_nil("push consumer"))?.as_object();
        peer.check_egress()?;
        let (channel, peer) = (self.proxy.channel(), &self.proxy.lasting(peer));
        Ok(self.proxy.connect(Some(peer), |give_up| push_to(channel, peer, give_up))?)
    }
}

/// What is not served by hand of a proxy that is pulled; a typed one has an `interface`.
pub(super) struct PullSupplierProxy<I> {
    pub(super) proxy: Arc<Proxy>,
    pub(super) interface: I,
}

impl<I: Send + Sync + 'static> PullSupplierServant for PullSupplierProxy<I> {
    fn pull(&self) -> Result<Any, PullError> {
        Err(not_here().into())
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        Err(not_here().into())
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        self.proxy.disconnect()
    }
}

impl<I: Send + Sync + 'static> ProxyPullSupplierServant for PullSupplierProxy<I> {
    fn connect_pull_consumer(
        &self,
        pull_consumer: Option<&PullConsumer>,
    ) -> Result<(), proxy_pull_supplier::ConnectPullConsumerError> {
        let peer = pull_consumer.map(Interface::as_object);
        let channel = self.proxy.channel();
        Ok(self
            .proxy
            .connect(peer, |give_up| Ok(Flow::Pulling(PullingConsumer::new(channel, give_up))))?)
    }
}

pub(super) struct Pulls {
    pub(super) proxy: Arc<Proxy>,
}

impl PullConsumerServant for Pulls {
    fn disconnect_pull_consumer(&self) -> Result<(), SystemException> {
        self.proxy.disconnect()
    }
}

impl ProxyPullConsumerServant for Pulls {
    fn connect_pull_supplier(
        &self,
        pull_supplier: Option<&PullSupplier>,
    ) -> Result<(), proxy_pull_consumer::ConnectPullSupplierError> {
        let peer = pull_supplier.ok_or_else(|| is_nil("pull supplier"))?.as_object();
        peer.check_egress()?;
        let (channel, peer) = (self.proxy.channel(), &self.proxy.lasting(peer));
        Ok(self.proxy.connect(Some(peer), |give_up| pull_from(channel, peer, give_up))?)
    }
}
