//! Clients that have a server keep as much as they can: it keeps no more than it is allowed to, and
//! other clients get their events.

mod fixture;

use corbie::{
    Any, CompletionStatus, Object, Orb, Servant, ServerRequest, SystemException, TypeCode, Value,
    minor,
};
use corbie_event::corbie_events::{self, event_channel_factory::CreateChannelError};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier, ProxyPushConsumer};
use corbie_event::cos_event_comm::{PushConsumer, push_consumer::PushError};
use corbie_event::{ChannelQos, Event, EventServer, Limits, Overflow};
use corbie_testkit::{AllocationCounts, CountingAllocator, RawRequest, object_key_in};
use fixture::{any, any_listener, until};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Held by each test, since all count the memory of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn held() -> AllocationCounts {
    CountingAllocator::of_all_threads()
}

struct Scene {
    server_orb: Orb,
    server: EventServer,
    clients: Orb,
}

impl Scene {
    fn new(limits: Limits) -> Self {
        let (server_orb, clients) = (fixture::orb(), fixture::orb());
        let server = EventServer::start(&server_orb, limits).expect("a server");
        let poa = clients.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        Self { server_orb, server, clients }
    }

    /// A channel, as clients see it.
    fn channel(&self, name: &str, qos: ChannelQos) -> EventChannel {
        let channel = self.server.create(name, qos).expect("a channel");
        let ior = channel.as_object().ior().clone();
        EventChannel::unchecked_narrow(Object::new(&self.clients, ior))
    }

    fn end(self) {
        self.clients.shutdown(true);
        drop(self.server);
        self.server_orb.shutdown(true);
    }
}

fn supplier(channel: &EventChannel) -> ProxyPushConsumer {
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let proxy = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    proxy.connect_push_supplier(None).expect("connected");
    proxy
}

/// A consumer that is connected, and whose events wait until it pulls.
fn puller(channel: &EventChannel) -> ProxyPullSupplier {
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    puller
}

fn text(octets: usize) -> Any {
    Any::from_value::<String>(&"0".repeat(octets)).expect("an any")
}

#[test]
fn limits_of_the_server_stand_above_those_of_clients() {
    let _alone = alone();
    let scene = Scene::new(Limits::default());
    let factory = scene.server.factory();
    let asked = |queue_events, queue_octets, retain_octets| corbie_events::ChannelQos {
        when_full: corbie_events::Overflow::BlockSupplier,
        queue_events,
        queue_octets,
        window: 0,
        push_timeout: 0,
        give_up_after: 0,
        is_durable: false,
        retain_seconds: 0,
        retain_octets,
    };
    for (asked, named) in [
        (asked(0, u64::MAX, 0), "queue_octets is 18446744073709551615"),
        (asked(u32::MAX, 0, 0), "queue_events is 4294967295"),
    ] {
        match factory.create_channel("greedy", &asked) {
            Err(CreateChannelError::BadQos(bad)) => assert!(bad.why.contains(named), "{}", bad.why),
            other => panic!("{other:?}"),
        }
    }
    let greatest = Limits::default().queue_octets as u64;
    factory.create_channel("modest", &asked(0, greatest, 0)).expect("a channel");
    assert_eq!(scene.server.channel("modest").expect("it").qos().queue_octets as u64, greatest);
    scene.end();
}

#[test]
fn a_server_that_allows_less_than_the_defaults_gives_less() {
    let _alone = alone();
    let limits = Limits { queue_octets: 1 << 20, queue_events: 100, ..Limits::default() };
    let scene = Scene::new(limits);
    let asked = corbie_events::ChannelQos {
        when_full: corbie_events::Overflow::DropOldest,
        queue_events: 0,
        queue_octets: 0,
        window: 0,
        push_timeout: 0,
        give_up_after: 0,
        is_durable: false,
        retain_seconds: 0,
        retain_octets: 0,
    };
    scene.server.factory().create_channel("modest", &asked).expect("a channel");
    let channel = scene.server.channel("modest").expect("it");
    assert_eq!((channel.qos().queue_octets, channel.qos().queue_events), (1 << 20, 100));
    scene.end();
}

const BUDGET: usize = 16 << 20;

#[test]
fn many_channels_together_stay_within_the_budget_and_leave_room_for_others() {
    let _alone = alone();
    fill_and_serve_another(Scene::new(Limits { queues_octets: BUDGET, ..Limits::default() }));
}

#[test]
fn many_channels_leave_room_for_others_where_the_memory_is_less_than_the_limit() {
    let _alone = alone();
    let scene = Scene::new(Limits::default());
    let memory_max = corbie::budget::statistics().limit;
    // Of which services may hold half.
    corbie::budget::set_limit(2 * BUDGET);
    fill_and_serve_another(scene);
    corbie::budget::set_limit(memory_max);
}

/// Many greedy channels take what they can of [`BUDGET`], and one that is made then is served.
fn fill_and_serve_another(scene: Scene) {
    const CHANNELS: usize = 20;
    let greedy: Vec<_> = (0..CHANNELS)
        .map(|number| {
            let qos = ChannelQos { when_full: Overflow::DropNewest, ..ChannelQos::default() };
            let channel = scene.channel(&format!("greedy {number}"), qos);
            (supplier(&channel), puller(&channel))
        })
        .collect();
    let (before, event) = (held(), text(64 << 10));
    // Four times the budget.
    for _ in 0..4 * BUDGET / CHANNELS / (64 << 10) {
        greedy.iter().for_each(|(supplier, _)| supplier.push(&event).expect("taken"));
    }
    // And what is left between large events.
    (0..1000).for_each(|number| greedy[0].0.push(&any(number)).expect("taken"));
    let statistics = scene.server.statistics();
    assert!(statistics.queued_octets <= BUDGET as u64, "{statistics:?}");
    assert!(statistics.queued_octets >= BUDGET as u64 / 2, "{statistics:?}");
    assert!(statistics.refused_events > 0, "{statistics:?}");
    let grown = held().since(before).held_octets();
    assert!(grown <= BUDGET as i64 + (4 << 20), "{grown} octets for a budget of {BUDGET}");

    // A channel that is made now is served, whether its consumer is pushed to or pulls.
    let honest = scene.channel("honest", ChannelQos::default());
    let (consumer, got) = any_listener(&scene.clients.root_poa().expect("a POA"));
    let consumers = honest.for_consumers().expect("an answer").expect("not nil");
    let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    let (supplier, puller) = (supplier(&honest), puller(&honest));
    (0..100).for_each(|number| supplier.push(&any(number)).expect("taken"));
    for number in 0..100 {
        assert_eq!(got.recv_timeout(fixture::PATIENCE), Ok(any(number)));
        assert_eq!(puller.pull().expect("an event"), any(number));
    }
    // What ends gives back what it held.
    for number in 0..CHANNELS {
        scene.server.find(&format!("greedy {number}")).expect("it").destroy().expect("destroyed");
    }
    until("all is given back", || scene.server.statistics().queued_octets == 0);
    scene.end();
}

/// A connection that takes little, with a pull at this proxy, which nothing reads the answer of.
fn pull_and_read_nothing(puller: &ProxyPullSupplier) -> TcpStream {
    let body = puller.as_object().ior().iiop_profiles().expect("profiles")[0].clone();
    let address: SocketAddr = format!("{}:{}", body.host, body.port).parse().expect("an address");
    let object_key = object_key_in(&puller.as_object().to_string());
    let (operation, request_id, arguments) = ("pull", 1, &[]);
    let pull = RawRequest { object_key: &object_key, operation, request_id, arguments };
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    socket.set_recv_buffer_size(4096).expect("set");
    socket.connect(&address.into()).expect("connected");
    let mut stream: TcpStream = socket.into();
    stream.write_all(&pull.octets()).expect("sent");
    stream
}

#[test]
fn what_was_given_to_clients_that_break_comes_back_within_the_budget() {
    const BUDGET: usize = 64 << 20;
    const PULLERS: usize = 24;
    let _alone = alone();
    let scene = Scene::new(Limits { queues_octets: BUDGET, ..Limits::default() });
    let (unread, honest) = ("unread", "honest");
    let channel = scene.channel(unread, ChannelQos::default());
    let pullers: Vec<_> = (0..PULLERS).map(|_| puller(&channel)).collect();
    let sockets: Vec<_> = pullers.iter().map(pull_and_read_nothing).collect();
    until("they wait", || scene.server.statistics().waiting_pulls == PULLERS as u64);
    let (greedy, event) = (supplier(&channel), text(4 << 20));
    // The first is for those that wait, the others fill the queues.
    (0..4).for_each(|_| greedy.push(&event).expect("taken"));

    let channel = scene.channel(honest, ChannelQos::default());
    let (consumer, got) = any_listener(&scene.clients.root_poa().expect("a POA"));
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    let (supplier, mut number) = (supplier(&channel), 0);
    let ours = scene.server.channel(unread).expect("it");
    drop(sockets);
    until("they came back", || {
        number += 1;
        supplier.push(&any(number)).expect("taken");
        assert_eq!(got.recv_timeout(Duration::from_secs(10)), Ok(any(number)), "it came");
        let statistics = scene.server.statistics();
        assert!(statistics.queued_octets <= BUDGET as u64, "{statistics:?}");
        ours.statistics().consumers.iter().filter(|one| one.failed > 0).count() > PULLERS / 3
    });
    scene.end();
}

#[test]
fn suppliers_that_wait_are_bounded_by_octets_and_lose_nothing_that_was_taken() {
    const QUEUE: usize = 1 << 20;
    let _alone = alone();
    let scene = Scene::new(Limits::default());
    let qos = ChannelQos {
        when_full: Overflow::BlockSupplier,
        queue_octets: QUEUE,
        ..ChannelQos::default()
    };
    let channel = scene.channel("test", qos);
    let (supplier, puller) = (supplier(&channel), puller(&channel));
    let event = text(64 << 10);
    let pushes: Vec<_> = (0..100).map(|_| Box::pin(supplier.push_async(&event))).collect();
    let statistics = || scene.server.channel("test").expect("it").statistics();
    until("all have come", || statistics().received == 100);
    let queued = statistics().consumers[0].queued_octets;
    assert!(queued <= 2 * QUEUE as u64, "{queued} octets wait");
    assert!(queued >= QUEUE as u64, "suppliers may wait: {queued}");
    let reader = std::thread::spawn(move || {
        let mut got = 0;
        while let Ok((_, true)) = puller.try_pull() {
            got += 1;
        }
        got
    });
    let got = reader.join().expect("no panic");
    let (mut taken, mut refused) = (0, 0);
    for push in pushes {
        match fixture::block_on(push) {
            Ok(()) => taken += 1,
            Err(PushError::System(why)) => {
                let expected = (minor::TRANSIENT_CHANNEL, CompletionStatus::Maybe);
                assert_eq!((why.minor, why.completed), expected, "{why}");
                refused += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!((taken, taken + refused), (got, 100));
    assert!(refused > 60, "{refused} refused");
    scene.end();
}

/// What a queued event counts as is no less than what it takes.
#[test]
fn what_small_events_take_is_counted() {
    const EVENTS: usize = 20_000;
    let _alone = alone();
    for when_full in [Overflow::DropOldest, Overflow::BlockSupplier] {
        let scene = Scene::new(Limits::default());
        // Half of them wait with their suppliers, if those wait.
        let qos = ChannelQos { when_full, queue_events: EVENTS / 2, ..ChannelQos::default() };
        let channel = scene.channel("test", qos);
        let (supplier, _puller) = (supplier(&channel), puller(&channel));
        let ours = scene.server.channel("test").expect("it");
        supplier.push(&any(0)).expect("taken");
        let key = supplier.as_object().clone();
        let mut peer = fixture::raw(&key);
        let before = held();
        let count = if when_full == Overflow::DropOldest { EVENTS / 2 } else { EVENTS };
        for number in 1..u32::try_from(count).expect("few") {
            peer.send(&fixture::raw_push(&key, &any(1), number)).expect("sent");
        }
        until("all have come", || ours.statistics().received == count as u64);
        let grown = usize::try_from(held().since(before).held_octets()).expect("it grew");
        let each = grown / count;
        assert!(each <= Event::BESIDE, "{each} octets for an event, {when_full:?}");
        assert!(each > Event::BESIDE / 8, "{each} octets for an event: too little is counted");
        println!("{each} octets an event, {when_full:?}");
        drop(peer);
        scene.end();
    }
}

/// Takes events without looking into them.
struct Blind;

impl Servant for Blind {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:omg.org/CosEventComm/PushConsumer:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        request.reply(&|_| Ok(()))
    }
}

/// From a machine of the other byte order: the channel reads it once, however many consumers.
#[test]
fn an_event_is_converted_once_and_not_for_each_consumer() {
    let _alone = alone();
    let scene = Scene::new(Limits::default());
    let texts = Value::List(vec![Value::String("text".to_owned()); 50_000]);
    let event = Any::from_dynamic(TypeCode::sequence(TypeCode::string(0), 0), &texts);
    let event = event.expect("an any");
    let poa = scene.clients.root_poa().expect("a POA");
    let took = |name: &str, count: u64| {
        let channel = scene.channel(name, ChannelQos::default());
        let consumers = channel.for_consumers().expect("an answer").expect("not nil");
        for _ in 0..count {
            let id = poa.activate_object(Arc::new(Blind)).expect("active");
            let consumer = PushConsumer::unchecked_narrow(poa.id_to_reference(&id).expect("it"));
            let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
            proxy.connect_push_consumer(Some(&consumer)).expect("connected");
        }
        let supplier = supplier(&channel);
        let message = fixture::raw_push(supplier.as_object(), &event, 1);
        let mut peer = fixture::raw(supplier.as_object());
        let began = Instant::now();
        peer.send(&message).expect("sent");
        let ours = scene.server.channel(name).expect("it");
        until("all have it", || {
            let delivered = ours.statistics().consumers.iter().map(|one| one.delivered).sum();
            std::thread::yield_now();
            count == delivered
        });
        began.elapsed()
    };
    let (one, many) = (took("one", 1), took("many", 40));
    assert!(many < 10 * one + Duration::from_millis(500), "{one:?} for one, {many:?} for forty");
    scene.end();
}
