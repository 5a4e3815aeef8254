//! Consumers that do not read what they are sent: others get their events all the same, while those
//! are still there. No time-out of the server is short enough to help.

mod fixture;

use corbie::{Any, Object, Orb, SystemException};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier, ProxyPushConsumer};
use corbie_event::cos_event_comm::{
    PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::{ChannelQos, EventServer, Limits, Retention};
use corbie_testkit::servers::ScratchFolder;
use corbie_testkit::{RawPeer, RawRequest, object_key_in};
use fixture::{any, any_listener, until};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long anything may take that does not wait for those who hang: much longer than it takes, and
/// much shorter than what the server would wait.
const SOON: Duration = Duration::from_secs(30);
/// What the server waits for peers.
const NEVER: &str = "10min";
const LONG: Duration = Duration::from_secs(600);

/// A server that would wait very long, and the ORB of those who behave.
struct Scene {
    server_orb: Orb,
    server: EventServer,
    clients: Orb,
    _folder: ScratchFolder,
}

impl Scene {
    fn new() -> Self {
        Self::with("thread-per-connection")
    }

    fn with(concurrency: &str) -> Self {
        let settings = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBMessageTimeout", NEVER];
        let settings = settings.into_iter().chain(["-ORBServerConcurrency", concurrency]);
        let (server_orb, clients) = (Orb::init(settings).expect("an ORB"), fixture::orb());
        let folder = ScratchFolder::new("hanging");
        let server = EventServer::start_with_store(&server_orb, Limits::default(), folder.path());
        let poa = clients.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        Self { server: server.expect("a server"), server_orb, clients, _folder: folder }
    }

    /// A channel, as clients see it.
    fn channel(&self, name: &str, qos: ChannelQos) -> EventChannel {
        let qos = ChannelQos { push_timeout: LONG, give_up_after: LONG, ..qos };
        let channel = self.server.create(name, qos).expect("a channel");
        let ior = channel.as_object().ior().clone();
        EventChannel::unchecked_narrow(Object::new(&self.clients, ior))
    }

    /// A consumer that reads, and takes what it is pushed.
    fn good(&self, channel: &EventChannel) -> std::sync::mpsc::Receiver<Any> {
        let (consumer, got) = any_listener(&self.clients.root_poa().expect("a POA"));
        let consumers = channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
        proxy.connect_push_consumer(Some(&consumer)).expect("connected");
        got
    }

    fn queued(&self, channel: &str) -> u64 {
        let channel = self.server.channel(channel).expect("it");
        channel.statistics().consumers.iter().map(|consumer| consumer.queued).sum()
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

fn pullers(channel: &EventChannel, count: usize) -> Vec<ProxyPullSupplier> {
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = |_| {
        let puller = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
        puller.connect_pull_consumer(None).expect("connected");
        puller
    };
    (0..count).map(puller).collect()
}

fn text(octets: usize) -> Any {
    Any::from_value::<String>(&"0".repeat(octets)).expect("an any")
}

/// A peer that pulls so often at each of these proxies, and reads nothing.
fn pulls_and_does_not_read(pullers: &[ProxyPullSupplier], times: usize) -> RawPeer {
    let mut peer = fixture::raw(pullers[0].as_object());
    for (number, puller) in (0..).zip(pullers) {
        let object_key = object_key_in(&puller.as_object().to_string());
        for time in 0..times {
            let request_id = number * 1000 + u32::try_from(time).expect("few");
            let arguments = &[];
            let pull =
                RawRequest { object_key: &object_key, operation: "pull", request_id, arguments };
            peer.send(&pull.octets()).expect("sent");
        }
    }
    peer
}

/// Does this on another thread, and waits for it.
#[track_caller]
fn soon(what: &str, action: impl FnOnce() + Send + 'static) {
    let (say, done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        action();
        let _ = say.send(());
    });
    assert_eq!(done.recv_timeout(SOON), Ok(()), "{what} was held back");
    thread.join().expect("no panic");
}

#[test]
fn a_puller_that_does_not_read_holds_back_no_supplier() {
    let scene = Scene::new();
    let channel = scene.channel("test", ChannelQos::default());
    let (good, supplier) = (scene.good(&channel), supplier(&channel));
    let hanging = pulls_and_does_not_read(&pullers(&channel, 16), 64);
    let event = text(60_000);
    for number in 0..64 {
        let (supplier, event) = (supplier.clone(), event.clone());
        soon(&format!("push {number}"), move || supplier.push(&event).expect("taken"));
        good.recv_timeout(SOON).expect("the event");
    }
    assert!(scene.queued("test") > 0, "the peer has room for all: it does not hang");
    assert!(!hanging.has_closed());
    drop(hanging);
    scene.end();
}

#[test]
fn a_puller_that_does_not_read_holds_back_no_durable_channel() {
    let scene = Scene::new();
    let qos = ChannelQos { durable: Some(Retention::default()), ..ChannelQos::default() };
    let (one, other) = (scene.channel("one", qos.clone()), scene.channel("other", qos));
    let hanging = pulls_and_does_not_read(&pullers(&one, 16), 64);
    let (good, event) = (scene.good(&other), text(60_000));
    let (to_one, to_other) = (supplier(&one), supplier(&other));
    for number in 0..32 {
        let (to_one, to_other, event) = (to_one.clone(), to_other.clone(), event.clone());
        soon(&format!("push {number}"), move || {
            to_one.push(&event).expect("taken");
            to_other.push(&any(1)).expect("taken");
        });
        good.recv_timeout(SOON).expect("the event");
    }
    until("it hangs", || scene.queued("one") > 0);
    assert!(!hanging.has_closed());
    drop(hanging);
    scene.end();
}

#[test]
fn pullers_that_do_not_read_large_events_hold_back_no_other_channel() {
    let scene = Scene::new();
    let channel = scene.channel("test", ChannelQos::default());
    let (pullers, to_pullers) = (pullers(&channel, 8), supplier(&channel));
    let hanging: Vec<_> =
        pullers.iter().map(|one| pulls_and_does_not_read(std::slice::from_ref(one), 1)).collect();
    let all_wait = || scene.server.channel("test").expect("it").statistics();
    soon("the large event", move || to_pullers.push(&text(16 << 20)).expect("taken"));
    until("all pulls are answered", || {
        all_wait().consumers.iter().all(|consumer| consumer.queued == 0)
    });
    assert!(all_wait().consumers.iter().all(|consumer| consumer.delivered == 0), "none hangs");
    let other = scene.channel("other", ChannelQos::default());
    let (good, to_other) = (scene.good(&other), supplier(&other));
    soon("a push to another channel", move || to_other.push(&any(1)).expect("taken"));
    good.recv_timeout(SOON).expect("the event");
    assert!(hanging.iter().all(|peer| !peer.has_closed()));
    // What was not taken is not lost: the next pull gets it.
    drop(hanging);
    until("the failures are seen", || all_wait().consumers.iter().all(|one| one.failed == 1));
    let event = pullers[0].pull().expect("the event");
    assert_eq!(event.extract::<String>().expect("a text").len(), 16 << 20);
    scene.end();
}

/// An event for which there is no room although little waits: workers are not kept busy with it.
#[test]
fn pullers_that_have_room_for_no_large_event_hold_back_no_other_channel() {
    let scene = Scene::new();
    let channel = scene.channel("test", ChannelQos::default());
    let (pullers, supplier) = (pullers(&channel, 8), supplier(&channel));
    let pull = |one| pulls_and_does_not_read(std::slice::from_ref(one), 64);
    let hanging: Vec<_> = pullers.iter().map(pull).collect();
    let statistics = || scene.server.channel("test").expect("it").statistics().consumers;
    let delivered = || statistics().iter().map(|one| one.delivered).collect::<Vec<_>>();
    // Until none takes any more, so that a part of an event or two waits for each.
    let (mut before, event) = (delivered(), text(500_000));
    loop {
        let (supplier, event) = (supplier.clone(), event.clone());
        soon("an event", move || supplier.push(&event).expect("taken"));
        // tidy: sleep: the flusher sends what the peer's system takes, in its own time
        std::thread::sleep(Duration::from_millis(20));
        let now = delivered();
        if now == before {
            break;
        }
        before = now;
    }
    // With what waits it is more than may.
    soon("the large event", move || supplier.push(&text(17 << 20)).expect("taken"));
    let other = scene.channel("other", ChannelQos::default());
    let (good, to_other) = (scene.good(&other), self::supplier(&other));
    soon("a push to another channel", move || to_other.push(&any(1)).expect("taken"));
    good.recv_timeout(SOON).expect("the event");
    assert!(statistics().iter().any(|one| one.queued == 1), "there was room for all");
    drop(hanging);
    scene.end();
}

/// What waits for it is lost with its connection, and so are its pulls that wait.
#[test]
fn a_puller_that_is_refused_while_events_wait_for_it_holds_back_no_supplier() {
    for concurrency in ["thread-pool", "thread-per-connection"] {
        let scene = Scene::with(concurrency);
        let channel = scene.channel("test", ChannelQos::default());
        let (good, supplier) = (scene.good(&channel), supplier(&channel));
        let mut hanging = pulls_and_does_not_read(&pullers(&channel, 1), 64);
        let delivered = || {
            let consumers = scene.server.channel("test").expect("it").statistics().consumers;
            consumers.iter().map(|one| one.delivered).min()
        };
        let push = |event: &Any| {
            let (supplier, event) = (supplier.clone(), event.clone());
            soon("a push", move || supplier.push(&event).expect("taken"));
            good.recv_timeout(SOON).expect("the event");
            // tidy: sleep: the server notices bad octets in its own time
            std::thread::sleep(Duration::from_millis(10));
        };
        let (large, mut before) = (text(500_000), None);
        while before != delivered() {
            before = delivered();
            push(&large);
        }
        hanging.send(b"these are no octets of GIOP").expect("sent");
        (0..20).for_each(|number| push(&any(number)));
        drop(hanging);
        scene.end();
    }
}

/// Hangs in `push` once told to.
struct Hangs {
    hangs: Arc<(Mutex<bool>, Condvar)>,
    got: Arc<AtomicUsize>,
}

impl PushConsumerServant for Hangs {
    fn push(&self, _: &Any) -> Result<(), PushError> {
        self.got.fetch_add(1, Ordering::SeqCst);
        let hangs = self.hangs.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.hangs.1.wait_while(hangs, |hangs| *hangs));
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn a_process_of_many_consumers_that_hangs_holds_back_no_supplier() {
    const CONSUMERS: usize = 400;
    let scene = Scene::new();
    let channel = scene.channel("test", ChannelQos::default());
    let (good, supplier) = (scene.good(&channel), supplier(&channel));
    let orb = fixture::orb();
    let poa = orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let (hangs, got) = (Arc::new((Mutex::new(false), Condvar::new())), Arc::default());
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    for _ in 0..CONSUMERS {
        let servant = Hangs { hangs: Arc::clone(&hangs), got: Arc::clone(&got) };
        let consumer = poa.activate(PushConsumerSkeleton::new(servant)).expect("active");
        let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
        proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    }
    let statistics = || scene.server.channel("test").expect("it").statistics();
    supplier.push(&any(1)).expect("taken");
    good.recv_timeout(SOON).expect("the event");
    until("all are reached", || statistics().consumers.iter().all(|one| one.delivered == 1));
    *hangs.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let event = text(60_000);
    for number in 0..20 {
        let (supplier, event) = (supplier.clone(), event.clone());
        soon(&format!("push {number}"), move || supplier.push(&event).expect("taken"));
        good.recv_timeout(SOON).expect("the event");
    }
    assert!(scene.queued("test") > 19 * (CONSUMERS as u64), "they do not hang");
    // When it goes on, all get all: what was put off is sent when there is room.
    *hangs.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    hangs.1.notify_all();
    until("all have all", || got.load(Ordering::SeqCst) == 21 * CONSUMERS);
    until("all is answered", || scene.queued("test") == 0);
    let failed: u64 = statistics().consumers.iter().map(|one| one.failed).sum();
    assert_eq!(failed, 0, "a push that is put off has not failed");
    orb.shutdown(true);
    scene.end();
}
