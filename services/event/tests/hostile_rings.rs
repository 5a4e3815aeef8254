//! Channels that are connected to themselves, or in rings: their events stop going round, the log
//! says so, and the channels go on.

mod fixture;

use corbie::{Object, Orb};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_event_comm::{PullSupplier, PushConsumer};
use corbie_event::{ChannelQos, EventServer, Limits, Retention};
use corbie_testkit::CapturedLog;
use corbie_testkit::servers::{ScratchFolder, free_port};
use fixture::{PATIENCE, any, any_listener, until};
use std::path::Path;
use std::time::{Duration, Instant};

/// Events of a ring come at least so often while it is one.
const STILL: Duration = Duration::from_millis(500);

struct Server {
    orb: Orb,
    events: EventServer,
}

impl Server {
    fn start(port: u16, folder: &Path) -> Self {
        let orb = Orb::init(["-ORBListenEndpoints", &format!("iiop://127.0.0.1:{port}")]);
        let orb = orb.expect("an ORB");
        let events = EventServer::start_with_store(&orb, Limits::default(), folder);
        Self { orb, events: events.expect("a server") }
    }

    fn channel(&self, name: &str, qos: ChannelQos, client: &Orb) -> EventChannel {
        let channel = self.events.create(name, qos).expect("a channel");
        let ior = channel.as_object().ior().clone();
        EventChannel::unchecked_narrow(Object::new(client, ior))
    }

    fn received(&self, name: &str) -> u64 {
        self.events.channel(name).expect("it").statistics().received
    }

    fn end(self) {
        drop(self.events);
        self.orb.shutdown(true);
    }
}

fn durable() -> ChannelQos {
    ChannelQos { durable: Some(Retention::default()), ..ChannelQos::default() }
}

/// Has `from` push to `to`.
fn pushes(from: &EventChannel, to: &EventChannel) {
    let suppliers = to.for_suppliers().expect("an answer").expect("not nil");
    let into = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    into.connect_push_supplier(None).expect("connected");
    let consumers = from.for_consumers().expect("an answer").expect("not nil");
    let out = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    let into = PushConsumer::unchecked_narrow(into.as_object().clone());
    out.connect_push_consumer(Some(&into)).expect("connected");
}

/// Has `to` pull from `from`.
fn is_pulled(from: &EventChannel, to: &EventChannel) {
    let consumers = from.for_consumers().expect("an answer").expect("not nil");
    let out = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    out.connect_pull_consumer(None).expect("connected");
    let suppliers = to.for_suppliers().expect("an answer").expect("not nil");
    let into = suppliers.obtain_pull_consumer().expect("an answer").expect("not nil");
    let out = PullSupplier::unchecked_narrow(out.as_object().clone());
    into.connect_pull_supplier(Some(&out)).expect("connected");
}

fn push(channel: &EventChannel, value: i32) {
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let supplier = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier.connect_push_supplier(None).expect("connected");
    supplier.push(&any(value)).expect("taken");
    supplier.disconnect_push_consumer().expect("disconnected");
}

/// Waits until nothing comes to a channel any more.
fn until_still(what: &str, received: impl Fn() -> u64) {
    let (mut last, mut since, end) = (received(), Instant::now(), Instant::now() + PATIENCE);
    while since.elapsed() < STILL {
        assert!(Instant::now() < end, "{what}: events go round for ever");
        // tidy: sleep: nothing tells that no event comes
        std::thread::sleep(Duration::from_millis(5));
        let now = received();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}

type Connect = fn(&EventChannel, &EventChannel);

#[test]
fn a_channel_that_is_connected_to_itself_comes_to_rest() {
    let log = CapturedLog::install();
    let folder = ScratchFolder::new("rings");
    let server = Server::start(0, folder.path());
    let client = fixture::orb();
    client.root_poa().expect("a POA").the_poa_manager().activate().expect("active");
    let kinds = [("pushed", pushes as Connect), ("pulled", is_pulled)];
    for (qos, how) in [(ChannelQos::default(), "in memory"), (durable(), "durable")] {
        for (kind, connect) in kinds {
            let name = format!("{kind} {how}");
            let channel = server.channel(&name, qos.clone(), &client);
            connect(&channel, &channel);
            push(&channel, 1);
            until("it goes round", || server.received(&name) > 2);
            until_still(&name, || server.received(&name));
            let said = [&*name, "a ring of channels"];
            assert!(log.line_with(&said, PATIENCE).is_some(), "{:?}", log.lines_with("ring"));
            // It goes on.
            let (consumer, got) = any_listener(&client.root_poa().expect("a POA"));
            let consumers = channel.for_consumers().expect("an answer").expect("not nil");
            let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
            proxy.connect_push_consumer(Some(&consumer)).expect("connected");
            push(&channel, 7);
            assert_eq!(got.recv_timeout(PATIENCE), Ok(any(7)));
            channel.destroy().expect("destroyed");
        }
    }
    client.shutdown(true);
    server.end();
}

#[test]
fn a_ring_over_two_servers_comes_to_rest_also_when_they_are_started_again() {
    let folders = [ScratchFolder::new("rings"), ScratchFolder::new("rings")];
    let ports = [free_port(), free_port()];
    let start = |at: usize| Server::start(ports[at], folders[at].path());
    let client = fixture::orb();
    let (first, second) = (start(0), start(1));
    let one = first.channel("one", durable(), &client);
    let two = second.channel("two", durable(), &client);
    let three = first.channel("three", durable(), &client);
    // Pushes and pulls in turns.
    pushes(&one, &two);
    is_pulled(&two, &three);
    pushes(&three, &one);
    push(&one, 1);
    until("it goes round", || first.received("one") > 1);
    // Before it is found, or after: nothing of it is left in the end.
    first.end();
    second.end();
    let (first, second) = (start(0), start(1));
    push(&one, 2);
    until_still("after a restart", || first.received("one") + second.received("two"));
    let at_rest = first.received("one");
    // Where the ring is open, what comes in goes on, and does not come back.
    push(&one, 3);
    until("it is taken", || first.received("one") > at_rest);
    until_still("in the end", || first.received("one") + second.received("two"));
    client.shutdown(true);
    first.end();
    second.end();
}

#[test]
fn channels_in_a_row_are_left_alone() {
    let folder = ScratchFolder::new("rings");
    let server = Server::start(0, folder.path());
    let client = fixture::orb();
    client.root_poa().expect("a POA").the_poa_manager().activate().expect("active");
    let names = ["a", "b", "c"];
    let [a, b, c] = names.map(|name| server.channel(name, ChannelQos::default(), &client));
    pushes(&a, &b);
    pushes(&a, &c);
    is_pulled(&b, &c);
    let (consumer, got) = any_listener(&client.root_poa().expect("a POA"));
    let consumers = c.for_consumers().expect("an answer").expect("not nil");
    let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    let end = Instant::now() + Duration::from_secs(4);
    let mut number = 0;
    while Instant::now() < end {
        push(&a, number);
        // By both ways.
        for _ in 0..2 {
            assert_eq!(got.recv_timeout(PATIENCE), Ok(any(number)));
        }
        number += 1;
        // tidy: sleep: channels look for rings once a second
        std::thread::sleep(Duration::from_millis(50));
    }
    client.shutdown(true);
    server.end();
}
