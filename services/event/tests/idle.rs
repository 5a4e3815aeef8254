//! Peers that die without a word, and proxies that no client connects: they end, and a peer that
//! lives does not. Nothing here waits for a time; where something is to stay, it stays until a
//! living peer was asked several times whether it exists.

mod fixture;

use corbie::interceptor::{AnsweredRequest, RequestState, ServerInterceptor};
use corbie::{Object, Orb, Poa, ServerRequest, SystemException, SystemExceptionKind};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPushConsumer};
use corbie_event::cos_event_comm::{
    PullConsumerServant, PullConsumerSkeleton, PushSupplierServant, PushSupplierSkeleton,
};
use corbie_event::{ChannelQos, Event, EventServer, Limits, Overflow, Retention};
use corbie_testkit::servers::ScratchFolder;
use fixture::{Fixture, any, any_listener, any_source, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So long that nothing comes of it in a test.
const NEVER: Duration = Duration::from_secs(24 * 3600);
const SOON: Duration = Duration::from_millis(40);

fn limits(idle: Duration, nil: Option<Duration>, unconnected: Duration) -> Limits {
    Limits {
        idle_limit: idle,
        idle_nil_limit: nil,
        unconnected_limit: unconnected,
        ..Limits::default()
    }
}

fn qos() -> ChannelQos {
    ChannelQos { give_up_after: SOON, ..ChannelQos::default() }
}

/// Counts how often a caller asked whether an object exists.
struct Asked(Arc<AtomicUsize>);

impl ServerInterceptor for Asked {
    fn receive_request(
        &self,
        request: &ServerRequest<'_>,
    ) -> Result<RequestState, SystemException> {
        if request.operation() == "_non_existent" {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Ok(RequestState::default())
    }

    fn request_done(&self, _: &AnsweredRequest<'_>, _: RequestState) {}
}

struct Quiet;

impl PushSupplierServant for Quiet {
    fn disconnect_push_supplier(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

impl PullConsumerServant for Quiet {
    fn disconnect_pull_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// A process of its own, as far as the channel can tell.
struct Other {
    orb: Orb,
    poa: Poa,
    channel: EventChannel,
    asked: Arc<AtomicUsize>,
}

impl Other {
    fn at(fixture: &Fixture) -> Self {
        let (orb, asked) = (fixture::orb(), Arc::new(AtomicUsize::new(0)));
        orb.set_server_interceptors(vec![Arc::new(Asked(Arc::clone(&asked)))]).expect("set");
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let ior = fixture.channel.as_object().ior().clone();
        let channel = EventChannel::unchecked_narrow(Object::new(&orb, ior));
        Self { orb, poa, channel, asked }
    }

    fn push_consumer(&self) -> ProxyPushConsumer {
        let suppliers = self.channel.for_suppliers().expect("an answer").expect("not nil");
        suppliers.obtain_push_consumer().expect("an answer").expect("not nil")
    }

    /// A push supplier that can be asked.
    fn supply(&self) -> ProxyPushConsumer {
        let reference = self.poa.activate(PushSupplierSkeleton::new(Quiet)).expect("active");
        let proxy = self.push_consumer();
        proxy.connect_push_supplier(Some(&reference)).expect("connected");
        proxy
    }

    fn was_asked(&self, times: usize) {
        let before = self.asked.load(Ordering::SeqCst);
        until("it is asked whether it exists", || {
            self.asked.load(Ordering::SeqCst) >= before + times
        });
    }

    /// As if it were killed: no peer is told, and its objects are gone.
    fn die(self) {
        self.orb.shutdown(false);
    }
}

#[test]
fn a_supplier_that_died_goes_and_one_that_lives_stays() {
    let fixture = Fixture::with_limits(qos(), limits(SOON, None, NEVER));
    let (living, dying) = (Other::at(&fixture), Other::at(&fixture));
    let (proxy, _dead) = (living.supply(), dying.supply());
    let without_reference = fixture.supplier();
    assert_eq!(fixture.core().statistics().suppliers, 3);
    dying.was_asked(1);
    assert_eq!(fixture.core().statistics().suppliers, 3, "it was there");
    dying.die();
    until("the dead one goes", || fixture.core().statistics().suppliers == 2);
    living.was_asked(3);
    proxy.push(&any(1)).expect("it is connected");
    without_reference.push(&any(2)).expect("it cannot be asked, so it stays");
    living.was_asked(3);
    assert_eq!(fixture.core().statistics().suppliers, 2);
    living.orb.shutdown(true);
}

#[test]
fn a_supplier_whose_object_is_no_more_goes() {
    let fixture = Fixture::with_limits(qos(), limits(SOON, None, NEVER));
    let other = Other::at(&fixture);
    let reference = other.poa.activate(PushSupplierSkeleton::new(Quiet)).expect("active");
    let proxy = other.push_consumer();
    proxy.connect_push_supplier(Some(&reference)).expect("connected");
    other.was_asked(1);
    let id = other.poa.reference_to_id(reference.as_object()).expect("it is ours");
    other.poa.deactivate_object(&id).expect("deactivated");
    until("it goes", || fixture.core().statistics().suppliers == 0);
    let gone = proxy.push(&any(1)).expect_err("disconnected");
    assert!(gone.to_string().contains("OBJECT_NOT_EXIST"), "{gone}");
    other.orb.shutdown(true);
}

#[test]
fn the_dead_of_all_kinds_go() {
    let fixture = Fixture::with_limits(qos(), limits(SOON, None, NEVER));
    let dying = Other::at(&fixture);
    let _supplier = dying.supply();
    let (source, _give) = any_source(&dying.poa);
    let suppliers = dying.channel.for_suppliers().expect("an answer").expect("not nil");
    let pulls = suppliers.obtain_pull_consumer().expect("an answer").expect("not nil");
    pulls.connect_pull_supplier(Some(&source)).expect("connected");
    let consumers = dying.channel.for_consumers().expect("an answer").expect("not nil");
    let pushes = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    let (listener, _got) = any_listener(&dying.poa);
    pushes.connect_push_consumer(Some(&listener)).expect("connected");
    let puller = dying.poa.activate(PullConsumerSkeleton::new(Quiet)).expect("active");
    let pulled = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    pulled.connect_pull_consumer(Some(&puller)).expect("connected");
    let statistics = fixture.core().statistics();
    assert_eq!((statistics.suppliers, statistics.consumers.len()), (2, 2));
    dying.die();
    // No event comes that would show that the consumer is gone.
    until("all go", || {
        let statistics = fixture.core().statistics();
        statistics.suppliers == 0 && statistics.consumers.is_empty()
    });
}

#[test]
fn a_pull_consumer_that_died_lets_a_blocked_supplier_go_on() {
    let qos = ChannelQos { when_full: Overflow::BlockSupplier, queue_events: 1, ..qos() };
    let fixture = Fixture::with_limits(qos, limits(SOON, None, NEVER));
    let dying = Other::at(&fixture);
    let consumers = dying.channel.for_consumers().expect("an answer").expect("not nil");
    let puller = dying.poa.activate(PullConsumerSkeleton::new(Quiet)).expect("active");
    let pulled = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    pulled.connect_pull_consumer(Some(&puller)).expect("connected");
    let supplier = fixture.supplier();
    supplier.push(&any(1)).expect("there is room");
    let waits = supplier.push_async(&any(2));
    dying.die();
    fixture::block_on(waits).expect("no consumer is waited for any more");
    assert!(fixture.core().statistics().consumers.is_empty());
}

/// Whether a pull that waits outlives quiet peers without a reference; it may have come too late
/// on a busy machine.
fn outlives_the_quiet(fixture: &Fixture) -> bool {
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let waits = pulled.pull_async();
    for _ in 0..3 {
        let _quiet = fixture.supplier();
        until("a quiet supplier goes", || fixture.core().statistics().suppliers == 0);
    }
    if fixture.core().statistics().consumers.is_empty() {
        return false;
    }
    let event = Event::of_any(&any(7)).expect("an event");
    fixture.core().publish(&Arc::new(event), &Arc::default());
    assert_eq!(fixture::block_on(waits).expect("it waited all the time"), any(7));
    true
}

#[test]
fn who_gave_no_reference_goes_if_that_is_wanted_unless_it_waits_for_events() {
    let fixture = Fixture::with_limits(qos(), limits(NEVER, Some(SOON), NEVER));
    until("a pull that waits keeps its proxy", || outlives_the_quiet(&fixture));
    until("who does not pull goes", || fixture.core().statistics().consumers.is_empty());
}

#[test]
fn a_durable_consumer_may_be_away() {
    let folder = ScratchFolder::new("idle");
    let (server_orb, client_orb) = (fixture::orb(), fixture::orb());
    let limits = limits(SOON, Some(SOON), NEVER);
    let server = EventServer::start_with_store(&server_orb, limits, folder.path());
    let server = server.expect("a server");
    let qos = ChannelQos { durable: Some(Retention::default()), ..qos() };
    let channel = server.create("test", qos).expect("a channel");
    let poa = client_orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let fixture = Fixture { server_orb, server, client_orb, poa, channel };
    let (living, dying) = (Other::at(&fixture), Other::at(&fixture));
    let (_supplier, _dead) = (living.supply(), dying.supply());
    let consumers = dying.channel.for_consumers().expect("an answer").expect("not nil");
    let pushes = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    let (listener, _got) = any_listener(&dying.poa);
    pushes.connect_push_consumer(Some(&listener)).expect("connected");
    let pulled = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    pulled.connect_pull_consumer(None).expect("connected");
    dying.die();
    until("the dead supplier goes", || fixture.core().statistics().suppliers == 1);
    living.was_asked(3);
    assert_eq!(fixture.core().statistics().consumers.len(), 2, "they may come again");
    living.orb.shutdown(true);
}

#[test]
fn a_proxy_that_nobody_connects_ends() {
    let fixture = Fixture::with_limits(qos(), limits(NEVER, None, SOON));
    // On a busy machine it may take several attempts to be in time.
    let connected = std::cell::OnceCell::new();
    until("a proxy is connected in time", || {
        let proxy = fixture.push_consumer();
        proxy.connect_push_supplier(None).is_ok_and(|()| connected.set(proxy).is_ok())
    });
    let connected = connected.get().expect("just set");
    let (push_consumer, pull_consumer) = (fixture.push_consumer(), fixture.pull_consumer());
    let (push_supplier, pull_supplier) = (fixture.push_supplier(), fixture.pull_supplier());
    let objects = [
        push_consumer.as_object(),
        pull_consumer.as_object(),
        push_supplier.as_object(),
        pull_supplier.as_object(),
    ];
    for object in objects {
        until("it ends", || object.non_existent().expect("an answer"));
    }
    let refused = push_consumer.connect_push_supplier(None).expect_err("it is gone");
    let text = refused.to_string();
    assert!(text.contains(SystemExceptionKind::ObjectNotExist.name()), "{text}");
    connected.push(&any(1)).expect("it was connected in time");
}
