//! Consumers of durable channels that are away: they keep their place, whatever `give_up_after`
//! says, and what ends them is what the book says. The server is in this process; it is killed in
//! the tests of `corbie events`.

mod fixture;
#[path = "fixture/place.rs"]
mod place;

use corbie::access::EgressRules;
use corbie::{
    Any, IdAssignment, Lifespan, Object, ObjectId, Orb, Poa, PoaPolicy, SystemExceptionKind, minor,
};
use corbie_event::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier, ProxyPushConsumer};
use corbie_event::cos_event_comm::PushConsumer;
use corbie_event::{Channel, ChannelQos, EventServer, Limits, Retention};
use corbie_testkit::servers::free_port;
use corbie_testkit::{RawPeer, RawRequest, neighbour_cannot_be_made_up, object_key_in};
use fixture::{Said, any, events, until};
use place::{Place, Served, orb_at};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

fn qos() -> ChannelQos {
    ChannelQos {
        window: 8,
        push_timeout: Duration::from_secs(60),
        give_up_after: Duration::from_millis(100),
        durable: Some(Retention::default()),
        ..ChannelQos::default()
    }
}

impl Served {
    fn channel(&self) -> (EventChannel, Arc<Channel>) {
        let reference = self.server.create("test", qos()).expect("a channel");
        (reference, self.server.channel("test").expect("it is there"))
    }
}

fn supplier(channel: &EventChannel) -> ProxyPushConsumer {
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let proxy = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    proxy.connect_push_supplier(None).expect("connected");
    proxy
}

fn connect(channel: &EventChannel, consumer: &PushConsumer) {
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    proxy.connect_push_consumer(Some(consumer)).expect("connected");
}

/// A consumer with a reference that is good in its next life.
struct Lasting {
    orb: Orb,
    poa: Poa,
}

impl Lasting {
    /// Its ORB is there; no request is served yet.
    fn starts(listen: &str) -> Self {
        let orb = orb_at(listen);
        let policies: [PoaPolicy; 2] = [
            PoaPolicy::Lifespan(Lifespan::Persistent),
            PoaPolicy::IdAssignment(IdAssignment::UserId),
        ];
        let root = orb.root_poa().expect("a POA");
        let poa = root.create_poa("consumers", None, &policies).expect("a POA");
        root.the_poa_manager().activate().expect("active");
        Self { orb, poa }
    }

    fn serves(&self) -> (PushConsumer, Receiver<Said>) {
        let (servant, said) = fixture::listener_servant();
        let id = ObjectId::from("consumer");
        self.poa.activate_object_with_id(&id, servant).expect("active");
        let object = self.poa.id_to_reference(&id).expect("a reference");
        self.poa.the_poa_manager().activate().expect("active");
        (PushConsumer::unchecked_narrow(object), said)
    }
}

#[test]
fn a_consumer_that_dies_keeps_its_place() {
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    // From outside: a reference keeps the ORB that it is of, and the consumer's ends.
    let clients = fixture::orb();
    let channel = Object::new(&clients, channel.as_object().ior().clone());
    let channel = EventChannel::unchecked_narrow(channel);
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    let first = Lasting::starts(&listen);
    let (consumer, said) = first.serves();
    connect(&channel, &consumer);
    let proxy = supplier(&channel);
    (0..10).for_each(|number| proxy.push(&any(number)).expect("pushed"));
    assert_eq!(events(&said, 10), Vec::from_iter(0..10));
    until("they are answered", || core.statistics().consumers[0].delivered == 10);
    first.orb.shutdown(true);
    (10..300).for_each(|number| proxy.push(&any(number)).expect("pushed"));
    // Longer than others are given: each attempt waits longer than the one before.
    until("it was tried often", || core.statistics().consumers[0].failed > 4);
    assert_eq!(core.statistics().consumers[0].queued, 290);
    let second = Lasting::starts(&listen);
    let (_, said) = second.serves();
    assert_eq!(events(&said, 290), Vec::from_iter(10..300));
    until("all is answered", || core.statistics().consumers[0].queued == 0);
    assert_eq!(core.statistics().consumers[0].dropped, 0);
    second.orb.shutdown(true);
    clients.shutdown(true);
    served.end();
}

#[test]
fn a_consumer_that_does_not_exist_for_a_while_is_tried_again() {
    let place = Place::new();
    let served = place.serve();
    let patient = ChannelQos { give_up_after: Duration::from_secs(3600), ..qos() };
    let channel = served.server.create("patient", patient).expect("a channel");
    let core = served.server.channel("patient").expect("it is there");
    let orb = Lasting::starts("iiop://127.0.0.1:0");
    let (consumer, said) = orb.serves();
    connect(&channel, &consumer);
    let id = ObjectId::from("consumer");
    orb.poa.deactivate_object(&id).expect("it was active");
    supplier(&channel).push(&any(1)).expect("pushed");
    until("it was tried", || core.statistics().consumers[0].failed > 2);
    let (servant, said_again) = fixture::listener_servant();
    orb.poa.activate_object_with_id(&id, servant).expect("active");
    assert_eq!(events(&said_again, 1), [1]);
    assert!(said.try_recv().is_err());
    orb.orb.shutdown(true);
    served.end();
}

#[test]
fn a_consumer_that_does_not_exist_for_long_is_disconnected_for_good() {
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    let orb = fixture::orb();
    let root = orb.root_poa().expect("a POA");
    root.the_poa_manager().activate().expect("active");
    let (servant, _said) = fixture::listener_servant();
    let id = root.activate_object(servant).expect("active");
    let consumer = PushConsumer::unchecked_narrow(root.id_to_reference(&id).expect("one"));
    connect(&channel, &consumer);
    root.deactivate_object(&id).expect("it was active");
    supplier(&channel).push(&any(1)).expect("pushed");
    until("it is disconnected", || core.statistics().consumers.is_empty());
    served.end();
    let served = place.serve();
    let (_, core) = served.channel();
    let statistics = core.statistics();
    assert_eq!((statistics.consumers.len(), statistics.suppliers), (0, 1));
    served.end();
    orb.shutdown(true);
}

#[test]
fn an_end_in_peace_keeps_everything_and_repeats_nothing() {
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    let clients = fixture::orb();
    let poa = clients.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let (servant, said) = fixture::listener_servant();
    let id = poa.activate_object(servant).expect("active");
    let consumer = PushConsumer::unchecked_narrow(poa.id_to_reference(&id).expect("one"));
    connect(&channel, &consumer);
    let (puller, proxy) = (puller(&channel), supplier(&channel));
    (0..50).for_each(|number| proxy.push(&any(number)).expect("pushed"));
    assert_eq!(events(&said, 50), Vec::from_iter(0..50));
    (0..20).for_each(|number| assert_eq!(puller.pull().expect("pulled"), any(number)));
    until("all is answered", || core.statistics().consumers[0].queued == 0);
    // Outside references: those of this process go with the first server.
    let ior = |object: &Object| Object::new(&clients, object.ior().clone());
    let puller = ior(puller.as_object());
    let proxy = ior(proxy.as_object());
    served.end();
    let served = place.serve();
    let proxy = ProxyPushConsumer::unchecked_narrow(proxy);
    proxy.push(&any(50)).expect("pushed");
    assert_eq!(events(&said, 1), [50], "nothing is repeated");
    let puller = corbie_event::cos_event_channel_admin::ProxyPullSupplier::unchecked_narrow(puller);
    // The reply to the last pull was not acknowledged by another one.
    (19..51).for_each(|number| assert_eq!(puller.pull().expect("pulled"), any(number)));
    let (_, core) = served.channel();
    assert_eq!(core.statistics().received, 51);
    served.end();
    assert_eq!(said.try_recv().ok(), None, "no client was told of an end");
    clients.shutdown(true);
}

/// The secret is kept beside the proxies.
#[test]
fn references_to_proxies_last_and_those_of_others_cannot_be_made_up_in_any_life() {
    let place = Place::new();
    let served = place.serve();
    let (channel, _) = served.channel();
    let pullers = [puller(&channel), puller(&channel)];
    let keys = pullers.map(|puller| object_key_in(&puller.as_object().to_string()));
    drop(channel);
    let clients = fixture::orb();
    let address = place.listen.trim_start_matches("iiop://").to_owned();
    let mut served = served;
    for _life in 1..3 {
        neighbour_cannot_be_made_up(&address, &keys, 32, |url| fixture::is_gone(&clients, url));
        served.end();
        served = place.serve();
    }
    served.end();
    clients.shutdown(true);
}

/// A consumer that pulls and does not read the reply.
fn pulled_and_not_read(place: &Place, proxy: &ProxyPullSupplier) -> RawPeer {
    let object_key = object_key_in(&proxy.as_object().to_string());
    let request =
        RawRequest { object_key: &object_key, operation: "pull", request_id: 1, arguments: &[] };
    let mut peer = RawPeer::connect(place.listen.trim_start_matches("iiop://")).expect("it");
    peer.send(&request.octets()).expect("sent");
    peer
}

fn puller(channel: &EventChannel) -> ProxyPullSupplier {
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    puller
}

/// An event of more than the buffers of a connection take, so that the reply is under way for long.
fn large(of: &str) -> Any {
    Any::from_value::<String>(&of.repeat(24 << 20)).expect("an any")
}

/// The first letter of a text, or a number.
fn told(event: &Any) -> String {
    let text = event.extract::<String>().map(|text| text[..text.len().min(4)].trim().to_owned());
    text.unwrap_or_else(|_| event.extract::<i32>().expect("a number").to_string())
}

/// Two that pull, do not read their replies, and die: the younger event is put back first.
#[test]
fn what_dead_consumers_did_not_get_does_not_come_out_of_order() {
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    let proxy = supplier(&channel);
    // The other one keeps everything in the log.
    let (puller, _other) = (puller(&channel), puller(&channel));
    for event in [large("a"), any(1), large("c"), any(3), any(4)] {
        proxy.push(&event).expect("pushed");
    }
    let consumer = || core.statistics().consumers[0].clone();
    let first = pulled_and_not_read(&place, &puller);
    until("the first event is under way", || consumer().queued == 4);
    let mut got = vec![told(&puller.pull().expect("pulled"))];
    let second = pulled_and_not_read(&place, &puller);
    until("the third event is under way", || consumer().queued == 2);
    got.push(told(&puller.pull().expect("pulled")));
    drop(second);
    until("the second is known not to have got it", || consumer().failed == 1);
    drop(first);
    until("nor the first", || consumer().failed == 2);
    while got.last().is_none_or(|last| last != "4") {
        got.push(told(&puller.pull().expect("pulled")));
    }
    // As after a crash: what came too early comes again.
    assert_eq!(got, ["1", "3", "aaaa", "1", "cccc", "3", "4"]);
    assert_eq!(consumer().dropped, 0);
    served.end();
}

/// When a consumer has not got an event, and the log has dropped what is queued behind it.
#[test]
fn what_is_queued_is_not_lost_by_going_back() {
    let place = Place::new();
    let served = place.serve();
    let retention = Retention { octets: 512 << 10, ..Retention::default() };
    let qos = ChannelQos { durable: Some(retention), ..ChannelQos::default() };
    let channel = served.server.create("short", qos).expect("a channel");
    let core = served.server.channel("short").expect("it");
    let (puller, proxy) = (puller(&channel), supplier(&channel));
    proxy.push(&large("a")).expect("pushed");
    let consumer = || core.statistics().consumers[0].clone();
    let dies = pulled_and_not_read(&place, &puller);
    until("the first event is under way", || consumer().queued == 0);
    let numbered = |number: usize| format!("{number:4}{}", "x".repeat(1_000));
    for number in 1..=900 {
        proxy.push(&Any::from_value::<String>(&numbered(number)).expect("one")).expect("pushed");
    }
    let mut got = vec![told(&puller.pull().expect("pulled"))];
    until("the log is short", || core.statistics().kept_octets <= 600 << 10);
    drop(dies);
    until("it is known not to have got it", || consumer().failed == 1);
    while got.last().is_none_or(|last| last != "900") {
        got.push(told(&puller.pull().expect("pulled")));
    }
    let missing = (1..=900).filter(|number| !got.contains(&number.to_string())).count();
    assert_eq!(missing as u64, consumer().dropped, "what is lost is counted");
    served.end();
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let place = Place::new();
    let served = place.serve();
    let orb = fixture::orb();
    let other = EventServer::start_with_store(&orb, Limits::default(), place.folder.path());
    let refused = other.expect_err("it is in use");
    assert_eq!(refused.kind, SystemExceptionKind::PersistStore);
    assert!(refused.to_string().contains("in use by another process"), "{refused}");
    served.end();
    let other = EventServer::start_with_store(&orb, Limits::default(), place.folder.path());
    drop(other.expect("it is free again"));
    orb.shutdown(true);
}

/// Batches in the log of the first channel: each begins with the mark of its segment.
fn batches(place: &Place) -> usize {
    let folder = std::fs::read_dir(place.folder.path().join("channel-1")).expect("a folder");
    let files = folder.map(|entry| std::fs::read(entry.expect("an entry").path()));
    let in_file = |octets: Vec<u8>| {
        let mark = octets[24..32].to_vec();
        octets[40..].chunks(8).filter(|part| **part == *mark).count()
    };
    files.map(|octets| in_file(octets.expect("a file"))).sum()
}

#[test]
fn suppliers_share_flushes() {
    const SUPPLIERS: i32 = 32;
    const PUSHES: i32 = 40;
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    // From outside, each over a connection of its own.
    let clients = fixture::orb();
    let channel = Object::new(&clients, channel.as_object().ior().clone());
    let channel = EventChannel::unchecked_narrow(channel);
    let alone = supplier(&channel);
    (0..PUSHES).for_each(|number| alone.push(&any(number)).expect("pushed"));
    assert_eq!(batches(&place), PUSHES as usize, "no other push to share with");
    let proxies: Vec<_> = (0..SUPPLIERS).map(|_| supplier(&channel)).collect();
    std::thread::scope(|scope| {
        for proxy in &proxies {
            scope.spawn(|| (0..PUSHES).for_each(|n| proxy.push(&any(n)).expect("pushed")));
        }
    });
    let pushes = (SUPPLIERS * PUSHES) as usize;
    let shared = batches(&place) - PUSHES as usize;
    assert!(shared < pushes / 2, "{shared} flushes for {pushes} pushes");
    assert_eq!(core.statistics().received, u64::from((PUSHES + SUPPLIERS * PUSHES) as u32));
    clients.shutdown(true);
    served.end();
}

#[test]
fn a_channel_that_cannot_be_served_is_not_kept() {
    let place = Place::new();
    let served = place.serve();
    let poa = served.orb.root_poa().expect("a POA").find_poa("DurableEventChannels", false);
    poa.expect("it is there").destroy(true, true).expect("destroyed");
    served.server.create("test", qos()).expect_err("no object can be activated");
    assert!(served.server.channel("test").is_none());
    served.end();
    let served = place.serve();
    assert!(served.server.channel("test").is_none(), "nothing is left of it");
    served.channel();
    served.end();
    let served = place.serve();
    assert!(served.server.channel("test").is_some(), "it is as any other");
    served.end();
}

#[test]
fn careful_servers_remember_which_peer_handed_a_consumer_over() {
    let careful = |orb: &Orb| orb.set_egress(EgressRules::careful());
    let place = Place::new();
    let served = place.serve_with(careful);
    let (channel, _) = served.channel();
    let apart = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBCollocation", "none"];
    let clients = Orb::init(apart).expect("an ORB");
    let channel = clients.string_to_object(&channel.as_object().to_string()).expect("a reference");
    let channel = EventChannel::unchecked_narrow(channel);
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    let consumers = Lasting::starts(&listen);
    let (consumer, said) = consumers.serves();
    connect(&channel, &consumer);

    // Another one where only this machine's sockets lead.
    let at_socket = Lasting::starts("uiop://");
    let (unreachable, _) = at_socket.serves();
    let proxies = channel.for_consumers().expect("an answer").expect("not nil");
    let proxy = proxies.obtain_push_supplier().expect("an answer").expect("not nil");
    let refused = proxy.connect_push_consumer(Some(&unreachable)).expect_err("refused");
    let ConnectPushConsumerError::System(refused) = refused else { panic!("{refused}") };
    assert_eq!(refused.minor, minor::NO_PERMISSION_EGRESS, "{refused}");

    supplier(&channel).push(&any(1)).expect("pushed");
    assert_eq!(events(&said, 1), [1]);
    served.end();
    let served = place.serve_with(careful);
    let again = served.server.channel("test").expect("it is there");
    let reference = served.server.find("test").expect("it is there").as_object().to_string();
    let reference = clients.string_to_object(&reference).expect("a reference");
    supplier(&EventChannel::unchecked_narrow(reference)).push(&any(2)).expect("pushed");
    assert_eq!(events(&said, 1), [2], "{:?}", again.statistics().consumers);
    for orb in [&consumers.orb, &at_socket.orb, &clients] {
        orb.shutdown(true);
    }
    served.end();
}
