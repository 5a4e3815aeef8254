//! A channel over a socket: suppliers push, consumers get what they have subscribed to.

mod fixture;

use corbie::{Object, SystemException, SystemExceptionKind};
use corbie_event::Limits;
use corbie_rtevent::corbie_rt_events::ChannelFactory;
use corbie_rtevent::corbie_rt_events::channel_factory::CreateChannelError;
use corbie_rtevent::filter::{Filter, Publication, any_event, event, from_source, masked};
use corbie_rtevent::rtec_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use corbie_rtevent::rtec_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_rtevent::rtec_event_channel_admin::{
    ConsumerQos, EventChannel, Observer, ObserverServant, ObserverSkeleton, SupplierQos,
};
use corbie_rtevent::rtec_event_comm::{PushConsumer, PushConsumerSkeleton, PushSupplierSkeleton};
use corbie_rtevent::{Configuration, kinds};
use corbie_testkit::{CapturedLog, neighbour_cannot_be_made_up, object_key_in};
use fixture::{
    CAR, Fixture, Listener, PATIENCE, POSITION, Said, TRUCK, VELOCITY, an_event, is_gone, next,
    payloads, until,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const CONFIGURATIONS: [&[&str]; 6] = [
    &["preset=latency"],
    &["preset=throughput"],
    &["preset=predictable"],
    &["preset=small"],
    &["collection=copy-on-read", "supplier-filter=per-type"],
    &["dispatching=pool", "threads=2", "collection=immediate", "supplier-filter=global"],
];

fn configurations() -> impl Iterator<Item = Configuration> {
    CONFIGURATIONS.iter().map(|settings| Configuration::of(*settings).expect("it can be"))
}

#[test]
fn consumers_get_what_they_have_subscribed_to() {
    for configuration in configurations() {
        for fixture in [Fixture::new(configuration.clone()), Fixture::local(configuration.clone())]
        {
            let (positions, _proxy) = fixture.consumer(&event(POSITION));
            let (trucks, _proxy) = fixture.consumer(&from_source(TRUCK));
            let (odd, _proxy) = fixture.consumer(&masked(1, 1));
            let (others, _proxy) = fixture.consumer(&(any_event() & !event(POSITION).from(CAR)));
            let supplier = fixture.supplier(&[(CAR, POSITION), (TRUCK, VELOCITY), (CAR, 19)]);
            supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
            let two = [an_event(TRUCK, VELOCITY, b"two"), an_event(CAR, 19, b"three")];
            supplier.push(&two).expect("pushed");
            assert_eq!(payloads(&positions, 1), [b"one"]);
            assert_eq!(payloads(&trucks, 1), [b"two"]);
            assert_eq!(payloads(&odd, 2), [&b"two"[..], b"three"]);
            assert_eq!(payloads(&others, 2), [&b"two"[..], b"three"]);
            assert_eq!(fixture.core().statistics().received, 3);
        }
    }
}

#[test]
fn a_consumer_gets_the_events_of_a_supplier_in_its_order() {
    for configuration in configurations() {
        let fixture = Fixture::new(configuration);
        let (said, _proxy) = fixture.consumer(&event(POSITION));
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        for number in 0..300_u32 {
            let event = an_event(CAR, POSITION, &number.to_le_bytes());
            supplier.push(&[event]).expect("pushed");
        }
        let expected: Vec<_> = (0..300_u32).map(|number| number.to_le_bytes().to_vec()).collect();
        assert_eq!(payloads(&said, 300), expected);
    }
}

/// A client that has a proxy knows how those of others are numbered, and no more.
#[test]
fn proxies_of_others_cannot_be_made_up() {
    let fixture = Fixture::new(Configuration::default());
    let objects: [[Object; 2]; 2] = [
        [fixture.push_consumer(), fixture.push_consumer()].map(|proxy| proxy.into_object()),
        [fixture.push_supplier(), fixture.push_supplier()].map(|proxy| proxy.into_object()),
    ];
    let address = fixture.server_orb.listen_addresses()[0];
    for pair in objects.map(|pair| pair.map(|proxy| object_key_in(&proxy.to_string()))) {
        neighbour_cannot_be_made_up(address, &pair, 32, |url| is_gone(&fixture.client_orb, url));
    }
}

#[test]
fn a_set_comes_when_all_of_it_has_come() {
    let fixture = Fixture::new(Configuration::default());
    let both = Filter::all_of([event(POSITION).from(CAR), event(VELOCITY).from(CAR)]);
    let (all, _proxy) = fixture.consumer(&both);
    let (in_order, _proxy) =
        fixture.consumer(&Filter::in_order([event(VELOCITY), event(POSITION)]));
    let supplier = fixture.supplier(&[(CAR, POSITION), (CAR, VELOCITY)]);
    for (kind, payload) in [(POSITION, b"a"), (POSITION, b"b"), (VELOCITY, b"c"), (POSITION, b"d")]
    {
        supplier.push(&[an_event(CAR, kind, payload)]).expect("pushed");
    }
    let set = |one: (i32, &[u8; 1]), two: (i32, &[u8; 1])| {
        vec![(CAR, one.0, one.1.to_vec()), (CAR, two.0, two.1.to_vec())]
    };
    assert_eq!(next(&all), set((POSITION, b"a"), (VELOCITY, b"c")));
    assert_eq!(next(&in_order), set((VELOCITY, b"c"), (POSITION, b"d")));
}

#[test]
fn payloads_of_any_size_and_values_arrive_as_they_are() {
    let fixture = Fixture::new(Configuration::default());
    let (consumer, said) = fixture.listener();
    let proxy = fixture.push_supplier();
    proxy.connect_push_consumer(Some(&consumer), &any_event().subscription()).expect("connected");
    let supplier = fixture.supplier(&[(CAR, POSITION)]);
    for size in [0, 1, 7, 8, 63, 64, 65, 4096, 1 << 20] {
        let payload: Vec<u8> = (0..=255).cycle().take(size).collect();
        let mut event = an_event(CAR, POSITION, &payload);
        event.data.any_value = corbie::Any::from_value::<f64>(&2.5).expect("an any");
        supplier.push(&[event]).expect("pushed");
        assert_eq!(payloads(&said, 1), [payload]);
    }
}

#[test]
fn a_suspended_consumer_gets_nothing_until_it_is_resumed() {
    for configuration in configurations() {
        let fixture = Fixture::new(configuration);
        let (said, proxy) = fixture.consumer(&event(POSITION));
        let (other, _proxy) = fixture.consumer(&event(POSITION));
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        let push = |payload: &[u8]| {
            supplier.push(&[an_event(CAR, POSITION, payload)]).expect("pushed");
            assert_eq!(payloads(&other, 1), [payload]);
        };
        push(b"one");
        assert_eq!(payloads(&said, 1), [b"one"]);
        proxy.suspend_connection().expect("suspended");
        assert!(fixture.core().statistics().consumers[0].is_suspended);
        push(b"two");
        proxy.resume_connection().expect("resumed");
        push(b"three");
        assert_eq!(payloads(&said, 1), [b"three"]);
    }
}

#[test]
fn a_proxy_is_connected_once_or_again_as_it_is_configured() {
    for (settings, is_allowed) in [("reconnect=refused", false), ("reconnect=allowed", true)] {
        let fixture = Fixture::new(Configuration::of([settings]).expect("it can be"));
        let (before, proxy) = fixture.consumer(&event(POSITION));
        let (consumer, after) = fixture.listener();
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        let again = proxy.connect_push_consumer(Some(&consumer), &event(VELOCITY).subscription());
        let published = Publication::of([Publication::new(CAR, VELOCITY)]);
        let supplied = supplier.connect_push_supplier(None, &published);
        if is_allowed {
            again.expect("connected");
            supplied.expect("connected");
            supplier.push(&[an_event(CAR, VELOCITY, b"one")]).expect("pushed");
            assert_eq!(payloads(&after, 1), [b"one"]);
            assert_eq!(fixture.core().statistics().consumers.len(), 1);
        } else {
            assert!(matches!(again, Err(ConnectPushConsumerError::AlreadyConnected(_))));
            assert!(matches!(supplied, Err(ConnectPushSupplierError::AlreadyConnected(_))));
            supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
            assert_eq!(payloads(&before, 1), [b"one"]);
        }
    }
}

#[test]
fn what_is_no_subscription_is_refused() {
    let fixture = Fixture::new(Configuration::default());
    let ((consumer, _said), proxy) = (fixture.listener(), fixture.push_supplier());
    let mut qos = any_event().subscription();
    qos.dependencies[0].event.header.r#type = kinds::NEGATION_DESIGNATOR;
    let refused = |outcome| match outcome {
        Err(ConnectPushConsumerError::System(exception)) => exception,
        other => panic!("{other:?}"),
    };
    let bad = refused(proxy.connect_push_consumer(Some(&consumer), &qos));
    assert_eq!(bad.kind, SystemExceptionKind::BadParam);
    let nil = refused(proxy.connect_push_consumer(None, &any_event().subscription()));
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
    proxy.connect_push_consumer(Some(&consumer), &any_event().subscription()).expect("it is fresh");
}

#[test]
fn clients_of_a_channel_that_ends_are_told() {
    for configuration in configurations() {
        let fixture = Fixture::new(configuration);
        let (said, proxy) = fixture.consumer(&event(POSITION));
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        fixture.channel.destroy().expect("destroyed");
        assert_eq!(said.recv_timeout(PATIENCE), Ok(Said::Disconnected));
        let gone = proxy.suspend_connection().expect_err("it is gone");
        assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
        until("the supplier is gone", || supplier.disconnect_push_consumer().is_err());
        assert!(fixture.server.channel("test").is_none());
        fixture.server.create("test", Configuration::default()).expect("the name is free");
    }
}

#[test]
fn one_that_disconnects_gets_nothing_more_and_is_told_nothing() {
    let fixture = Fixture::new(Configuration::default());
    let (said, proxy) = fixture.consumer(&event(POSITION));
    let (other, _proxy) = fixture.consumer(&event(POSITION));
    let supplier = fixture.supplier(&[(CAR, POSITION)]);
    proxy.disconnect_push_supplier().expect("disconnected");
    supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
    assert_eq!(payloads(&other, 1), [b"one"]);
    assert_eq!(fixture.core().statistics().consumers.len(), 1);
    supplier.disconnect_push_consumer().expect("disconnected");
    until("the supplier is gone", || fixture.core().statistics().suppliers == 0);
    assert!(said.try_recv().is_err());
}

#[test]
fn a_consumer_that_is_gone_is_disconnected() {
    let fixture = Fixture::new(Configuration::default());
    let (consumer, said) = fixture.listener();
    let proxy = fixture.push_supplier();
    proxy.connect_push_consumer(Some(&consumer), &any_event().subscription()).expect("connected");
    let supplier = fixture.supplier(&[(CAR, POSITION)]);
    let id = fixture.poa.reference_to_id(consumer.as_object()).expect("an id");
    fixture.poa.deactivate_object(&id).expect("deactivated");
    supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
    until("it is gone", || fixture.core().statistics().consumers.is_empty());
    assert!(said.try_recv().is_err());
}

#[test]
fn time_outs_come_as_they_were_asked_for() {
    for settings in [["dispatching=reactive"], ["dispatching=pool"], ["dispatching=per-consumer"]] {
        let fixture = Fixture::new(Configuration::of(settings).expect("it can be"));
        let (once, _proxy) = fixture.consumer(&Filter::once_after(Duration::from_millis(5)));
        let begun = Instant::now();
        let (every, proxy) = fixture.consumer(&Filter::every(Duration::from_millis(10)));
        let kinds_of = |events: Vec<(i32, i32, Vec<u8>)>| events[0].1;
        assert_eq!(kinds_of(next(&once)), kinds::EVENT_TIMEOUT);
        for _ in 0..5 {
            assert_eq!(kinds_of(next(&every)), kinds::EVENT_INTERVAL_TIMEOUT);
        }
        assert!(begun.elapsed() >= Duration::from_millis(50), "not before their time");
        proxy.disconnect_push_supplier().expect("disconnected");
        // With events a deadline is put off; without them it comes.
        let silence = Filter::after_silence(Duration::from_millis(300));
        let (said, _proxy) = fixture.consumer(&(event(POSITION) | silence));
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
        assert_eq!(kinds_of(next(&said)), POSITION);
        assert_eq!(kinds_of(next(&said)), kinds::EVENT_DEADLINE_TIMEOUT);
        assert!(once.try_recv().is_err(), "it comes once");
    }
}

#[test]
fn a_group_may_wait_for_a_time_out() {
    let fixture = Fixture::new(Configuration::default());
    let late = Filter::all_of([event(POSITION), Filter::once_after(Duration::from_millis(20))]);
    let (said, _proxy) = fixture.consumer(&late);
    let supplier = fixture.supplier(&[(CAR, POSITION)]);
    supplier.push(&[an_event(CAR, POSITION, b"one")]).expect("pushed");
    let mut kinds: Vec<_> = next(&said).into_iter().map(|(_, kind, _)| kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [kinds::EVENT_TIMEOUT, POSITION]);
}

#[test]
fn channels_are_found_by_their_names() {
    let fixture = Fixture::new(Configuration::default());
    let ior = fixture.server.factory().as_object().ior().clone();
    let factory = ChannelFactory::unchecked_narrow(Object::new(&fixture.client_orb, ior));
    let settings = ["preset=small".to_owned(), "window=2".to_owned()];
    let made = factory.create_channel("other", &settings).expect("made").expect("not nil");
    assert_eq!(factory.list().expect("names"), ["other", "test"]);
    let found = factory.find("other").expect("found").expect("not nil");
    assert_eq!(made, found);
    let statistics = factory.statistics("other").expect("statistics");
    assert!(statistics.settings.contains(&"window=2".to_owned()), "{:?}", statistics.settings);
    assert!(factory.create_channel("other", &[]).is_err());
    assert!(factory.create_channel("more", &["collection=immediate".to_owned()]).is_err());
    assert!(factory.find("more").is_err());
    let endpoint = found.as_object().ior().profiles.iter().find_map(|p| p.iiop().ok().flatten());
    let endpoint = endpoint.expect("a profile");
    let url = format!("corbaloc::{}:{}/other", endpoint.host, endpoint.port);
    let named = fixture.client_orb.string_to_object(&url).expect("a reference");
    assert!(EventChannel::narrow(&named).expect("an answer").is_some());
}

/// Has a channel push to another one, or to itself.
fn pushes(from: &Fixture, to: &Fixture) {
    let into = to.supplier(&[(0, 0)]);
    let into = PushConsumer::unchecked_narrow(into.as_object().clone());
    let out = from.push_supplier();
    out.connect_push_consumer(Some(&into), &any_event().subscription()).expect("connected");
}

#[test]
fn an_event_goes_round_in_a_ring_no_longer_than_its_header_says() {
    for configuration in configurations() {
        for fixture in [Fixture::new(configuration.clone()), Fixture::local(configuration.clone())]
        {
            pushes(&fixture, &fixture);
            let (said, _proxy) = fixture.consumer(&event(POSITION));
            let supplier = fixture.supplier(&[(CAR, POSITION)]);
            let push = |ttl: i32| {
                let mut event = an_event(CAR, POSITION, b"round");
                event.header.ttl = ttl;
                supplier.push(&[event]).expect("pushed");
            };
            // As it was pushed, and once for each hop.
            for (ttl, comes) in [(0, 1), (3, 4), (i32::MAX, 17), (-1, 1)] {
                let before = fixture.core().statistics().received;
                let dropped = dropped_in(&fixture);
                push(ttl);
                assert_eq!(payloads(&said, comes), vec![b"round".to_vec(); comes], "{ttl}");
                // What came after it would come before this.
                fixture.until_quiet();
                assert_eq!(fixture.core().statistics().received, before + comes as u64, "{ttl}");
                // The last time it went no further.
                assert_eq!(dropped_in(&fixture), dropped + 1, "{ttl}");
            }
        }
    }
}

/// What the consumers of the channel did not get.
fn dropped_in(fixture: &Fixture) -> u64 {
    fixture.core().statistics().consumers.iter().map(|consumer| consumer.dropped).sum()
}

#[test]
fn a_set_loses_those_of_its_events_that_may_go_no_further() {
    let (first, second) =
        (Fixture::new(Configuration::default()), Fixture::new(Configuration::default()));
    let into = second.supplier(&[(CAR, 0)]);
    let into = PushConsumer::unchecked_narrow(into.as_object().clone());
    let both = Filter::all_of([event(POSITION), event(VELOCITY)]);
    let out = first.push_supplier();
    out.connect_push_consumer(Some(&into), &both.subscription()).expect("connected");
    let (said, _proxy) = second.consumer(&any_event());
    let supplier = first.supplier(&[(CAR, POSITION), (CAR, VELOCITY)]);
    for (kind, ttl) in [(POSITION, 0), (VELOCITY, 1)] {
        let mut event = an_event(CAR, kind, b"x");
        event.header.ttl = ttl;
        supplier.push(&[event]).expect("pushed");
    }
    assert_eq!(next(&said), [(CAR, VELOCITY, b"x".to_vec())]);
    second.until_quiet();
    assert_eq!(second.core().statistics().received, 1);
}

#[test]
fn what_a_client_chooses_takes_nothing_from_others() {
    let fixture = Fixture::new(Configuration::default());
    fixture.server_orb.bind_object_key("NameService", fixture.channel.as_object());
    let ior = fixture.server.factory().as_object().ior().clone();
    let factory = ChannelFactory::unchecked_narrow(Object::new(&fixture.client_orb, ior));
    let refused = |name: &str, settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        match factory.create_channel(name, &settings) {
            Err(CreateChannelError::BadSettings(bad)) => bad.why,
            other => panic!("{other:?}"),
        }
    };
    let why = refused("NameService", &[]);
    assert!(why.contains("object key of something else"), "{why}");
    assert_eq!(factory.list().expect("names"), ["test"]);
    assert!(fixture.server_orb.unbind_object_key("NameService"), "it is still there");
    factory.create_channel("NameService", &[]).expect("nothing else has it now");
    let why = refused("more", &["when-full=block-supplier"]);
    assert!(why.contains("--set"), "{why}");
}

#[test]
fn what_groups_keep_is_bounded_and_leaves_room_for_others() {
    let limits = Limits { queues_octets: 1 << 20, ..Limits::default() };
    let fixture = Fixture::with_limits(Configuration::default(), limits);
    // Its last event never comes.
    let never = Filter::all_of((0..500).map(|number| event(100 + number)));
    let (greedy, proxy) = fixture.consumer(&never);
    let pair = Filter::all_of([event(POSITION), event(VELOCITY)]);
    let (honest, _proxy) = fixture.consumer(&pair);
    let supplier = fixture.supplier(&[(CAR, 0)]);
    for number in 0..60 {
        supplier.push(&[an_event(CAR, 100 + number, &[7; 65_536])]).expect("pushed");
        assert!(fixture.server.statistics().queued_octets <= 1 << 20);
    }
    for kind in [POSITION, VELOCITY] {
        supplier.push(&[an_event(CAR, kind, b"x")]).expect("pushed");
    }
    assert_eq!(next(&honest).len(), 2);
    let statistics = fixture.core().statistics();
    assert!(statistics.consumers[0].dropped > 0, "{statistics:?}");
    assert!(fixture.server.statistics().refused_events > 0);
    proxy.disconnect_push_supplier().expect("disconnected");
    until("nothing is kept", || fixture.server.statistics().queued_octets == 0);
    assert!(greedy.try_recv().is_err());
}

#[test]
fn threads_that_clients_choose_are_bounded() {
    let limits = Limits { threads: 4, ..Limits::default() };
    let configuration = Configuration::of(["dispatching=per-consumer"]).expect("it can be");
    let fixture = Fixture::with_limits(configuration, limits);
    let pool = || Configuration::of(["dispatching=pool", "threads=3"]).expect("it can be");
    let more = fixture.server.create("pool", pool()).expect("three threads");
    let kind_of = |outcome: Result<EventChannel, CreateChannelError>| match outcome {
        Err(CreateChannelError::System(exception)) => exception.kind,
        other => panic!("{other:?}"),
    };
    let refused = kind_of(fixture.server.create("another", pool()));
    assert_eq!(refused, SystemExceptionKind::ImpLimit);
    assert!(fixture.server.channel("another").is_none());
    let (_said, proxy) = fixture.consumer(&event(POSITION));
    let connect = || {
        let ((consumer, _), proxy) = (fixture.listener(), fixture.push_supplier());
        proxy.connect_push_consumer(Some(&consumer), &any_event().subscription())
    };
    let refused = connect().expect_err("there are four threads");
    assert!(
        matches!(refused, ConnectPushConsumerError::System(e) if e.kind == SystemExceptionKind::ImpLimit)
    );
    proxy.disconnect_push_supplier().expect("disconnected");
    until("its thread ends", || connect().is_ok());
    more.destroy().expect("destroyed");
    until("its threads end", || fixture.server.create("another", pool()).is_ok());
}

#[test]
fn time_outs_and_subscriptions_are_bounded() {
    let limits = Limits { time_outs: 100, ..Limits::default() };
    let configuration = Configuration::default();
    let fixture = Fixture::with_limits(configuration, limits);
    let connect = |filter: &Filter| {
        let ((consumer, _), proxy) = (fixture.listener(), fixture.push_supplier());
        match proxy.connect_push_consumer(Some(&consumer), &filter.subscription()) {
            Ok(()) => Ok(proxy),
            Err(ConnectPushConsumerError::System(exception)) => Err(exception.kind),
            Err(other) => panic!("{other:?}"),
        }
    };
    let often =
        |times: usize| Filter::any_of(vec![Filter::every(Duration::from_millis(40)); times]);
    assert_eq!(connect(&often(3)).expect_err("75 a second"), SystemExceptionKind::ImpLimit);
    let first = connect(&often(2)).expect("50 a second");
    assert_eq!(connect(&often(2)).expect_err("no more"), SystemExceptionKind::ImpLimit);
    connect(&Filter::every(Duration::from_millis(100))).expect("ten a second");
    first.disconnect_push_supplier().expect("disconnected");
    until("there is room again", || connect(&often(1)).is_ok());
    let many = |count: i32| Filter::any_of((0..count).map(|number| event(16 + number)));
    connect(&many(999)).expect("with its designator, a thousand entries");
    assert_eq!(connect(&many(1000)).expect_err("too many"), SystemExceptionKind::BadParam);
    let published =
        |count: i32| Publication::of((0..count).map(|number| Publication::new(CAR, 16 + number)));
    let proxy = fixture.push_consumer();
    match proxy.connect_push_supplier(None, &published(501)) {
        Err(ConnectPushSupplierError::System(e)) => {
            assert_eq!(e.kind, SystemExceptionKind::ImpLimit)
        }
        other => panic!("{other:?}"),
    }
    proxy.connect_push_supplier(None, &published(500)).expect("so many may be");
}

/// Says what it is told, when it may.
struct Watching {
    gate: Mutex<Receiver<()>>,
    told: Mutex<Sender<usize>>,
}

impl ObserverServant for Watching {
    fn update_consumer(&self, _: &ConsumerQos) -> Result<(), SystemException> {
        let _ = self.gate.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
        Ok(())
    }

    fn update_supplier(&self, sub: &SupplierQos) -> Result<(), SystemException> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = told.send(sub.publications.len());
        Ok(())
    }
}

#[test]
fn an_observer_is_told_once_at_a_time_and_one_that_is_gone_no_more() {
    let configuration = Configuration::of(["give-up-after=50", "push-timeout=120000"]);
    let fixture = Fixture::new(configuration.expect("it can be"));
    let ((open, gate), (say, told)) = (channel(), channel());
    let watching = Watching { gate: Mutex::new(gate), told: Mutex::new(say) };
    let observer = fixture.poa.activate(ObserverSkeleton::new(watching)).expect("active");
    fixture.channel.append_observer(Some(&observer)).expect("appended");
    let gone = fixture.client_orb.string_to_object("corbaloc::127.0.0.1:1/gone");
    let gone = Observer::unchecked_narrow(gone.expect("a reference"));
    fixture.channel.append_observer(Some(&gone)).expect("appended");
    assert_eq!(fixture.core().statistics().observers, 2);
    let mut suppliers = Vec::new();
    until("the one that is gone is forgotten", || {
        suppliers.push(fixture.supplier(&[(CAR, 16 + suppliers.len() as i32)]));
        fixture.core().statistics().observers == 1
    });
    drop(open);
    let mut news = Vec::new();
    until("it is told of all of them", || {
        news.extend(told.try_iter());
        news.last() == Some(&suppliers.len())
    });
    // What was changed while it was told something is told together.
    assert!(news.len() <= 4, "{} times for {} changes", news.len(), suppliers.len());
}

/// Takes its time for each call, so that changes come meanwhile; says how many publications it is
/// told.
struct Slow {
    told: Mutex<Sender<usize>>,
    never: Mutex<Receiver<()>>,
    time: Duration,
}

impl Slow {
    fn wait(&self) {
        let never = self.never.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = never.recv_timeout(self.time);
    }
}

impl ObserverServant for Slow {
    fn update_consumer(&self, _: &ConsumerQos) -> Result<(), SystemException> {
        self.wait();
        Ok(())
    }

    fn update_supplier(&self, sub: &SupplierQos) -> Result<(), SystemException> {
        self.wait();
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = told.send(sub.publications.len());
        Ok(())
    }
}

#[test]
fn observers_that_answer_do_not_have_each_other_told_again() {
    const CHANGES: usize = 10;
    let fixture = Fixture::new(Configuration::default());
    let (say, told) = channel();
    let (_never_said, mut gates): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
    while let Some(gate) = gates.pop() {
        let time = Duration::from_millis(20 + 13 * gates.len() as u64);
        let slow = Slow { told: Mutex::new(say.clone()), never: Mutex::new(gate), time };
        let observer = fixture.poa.activate(ObserverSkeleton::new(slow)).expect("active");
        fixture.channel.append_observer(Some(&observer)).expect("appended");
    }
    let published = 0..CHANGES as i32;
    let suppliers: Vec<_> = published.map(|n| fixture.supplier(&[(CAR, 16 + n)])).collect();
    // Each is told at the beginning, and once for each change at most; then they are quiet.
    let mut news = Vec::new();
    while news.iter().filter(|count| **count == CHANGES).count() < 2 {
        news.push(told.recv_timeout(PATIENCE).expect("they are told of all"));
    }
    while let Ok(count) = told.recv_timeout(Duration::from_millis(500)) {
        news.push(count);
        assert!(news.len() <= 2 * (CHANGES + 1), "{news:?}");
    }
    drop(suppliers);
}

#[test]
fn an_observer_that_is_not_reached_is_tried_again_though_nothing_changes() {
    let configuration = Configuration::of(["give-up-after=200"]);
    let fixture = Fixture::new(configuration.expect("it can be"));
    let gone = fixture.client_orb.string_to_object("corbaloc::127.0.0.1:1/gone");
    let gone = Observer::unchecked_narrow(gone.expect("a reference"));
    fixture.channel.append_observer(Some(&gone)).expect("appended");
    let given_up = Instant::now() + Duration::from_secs(20);
    until("it is given up", || {
        assert!(Instant::now() < given_up, "it was not tried again");
        fixture.core().statistics().observers == 0
    });
}

/// A reference that does not say what it is of.
fn disguised(fixture: &Fixture, of: &Object) -> PushConsumer {
    let mut ior = of.ior().clone();
    ior.type_id = PushConsumer::REPOSITORY_ID.to_owned();
    PushConsumer::unchecked_narrow(Object::new(&fixture.client_orb, ior))
}

#[test]
fn channels_of_two_servers_in_a_ring_come_to_rest_whatever_their_references_say() {
    let log = CapturedLog::install();
    let (one, two) =
        (Fixture::new(Configuration::default()), Fixture::new(Configuration::default()));
    let any = any_event().subscription();
    for (from, to) in [(&one, &two), (&two, &one)] {
        let into = disguised(from, to.supplier(&[(0, 0)]).as_object());
        from.push_supplier().connect_push_consumer(Some(&into), &any).expect("connected");
    }
    let connections = || {
        let (one, two) = (one.core().statistics(), two.core().statistics());
        one.suppliers + two.suppliers
    };
    let supplier = one.supplier(&[(CAR, POSITION)]);
    supplier.push(&[an_event(CAR, POSITION, b"round")]).expect("pushed");
    until("the ring is found", || connections() < 3);
    assert!(log.line_with(&["a ring of channels"], PATIENCE).is_some());
    one.until_quiet();
    two.until_quiet();
    // They go on.
    let (said, _proxy) = one.consumer(&event(VELOCITY));
    let supplier = one.supplier(&[(CAR, VELOCITY)]);
    supplier.push(&[an_event(CAR, VELOCITY, b"on")]).expect("pushed");
    assert_eq!(payloads(&said, 1), [b"on"]);
}

#[test]
fn dead_clients_and_proxies_that_no_client_connects_end() {
    let soon = Duration::from_millis(40);
    let limits = Limits { idle_limit: soon, unconnected_limit: 50 * soon, ..Limits::default() };
    let configuration = Configuration::of(["give-up-after=40"]).expect("it can be");
    let fixture = Fixture::with_limits(configuration, limits);
    let dying = fixture::orb();
    let poa = dying.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let ((say, _said), (tell, _told)) = (channel(), channel());
    let supplier = poa.activate(PushSupplierSkeleton::new(Listener { say: Mutex::new(say) }));
    let consumer = poa.activate(PushConsumerSkeleton::new(Listener { say: Mutex::new(tell) }));
    let published = Publication::of([Publication::new(CAR, POSITION)]);
    let supplies = fixture.push_consumer();
    supplies
        .connect_push_supplier(Some(&supplier.expect("active")), &published)
        .expect("connected");
    let (consumes, any) = (fixture.push_supplier(), any_event().subscription());
    consumes.connect_push_consumer(Some(&consumer.expect("active")), &any).expect("connected");
    // One that cannot be asked stays.
    let _nil = fixture.supplier(&[(CAR, POSITION)]);
    let (unconnected, never) = (fixture.push_consumer(), fixture.push_supplier());
    dying.shutdown(false);
    until("the dead go", || {
        let statistics = fixture.core().statistics();
        statistics.suppliers == 1 && statistics.consumers.is_empty()
    });
    for object in [unconnected.as_object(), never.as_object()] {
        until("it ends", || object.non_existent().expect("an answer"));
    }
    assert_eq!(fixture.core().statistics().suppliers, 1);
}
