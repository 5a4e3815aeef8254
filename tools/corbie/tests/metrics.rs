//! Metrics of servers as processes: each is there, moves when what it counts happens, and has a row
//! in the book; the dashboard uses none that is not there.

mod etcd;
mod process;
mod served;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use corbie::{Any, Orb, SystemException, SystemExceptionKind, minor};
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier};
use corbie_event::cos_event_comm::push_consumer::PushError;
use corbie_event::cos_event_comm::{PushConsumer, PushConsumerServant, PushConsumerSkeleton};
use corbie_naming::NameComponent;
use corbie_naming::cos_naming::NamingContext;
use corbie_rtevent::filter;
use corbie_rtevent::rtec_event_channel_admin::EventChannel as RtEventChannel;
use corbie_rtevent::rtec_event_comm;
use corbie_testkit::certificates::{Authority, Folder, Validity};
use corbie_testkit::servers::{ScratchFolder, free_port};
use corbie_testkit::{MessageKind, fragment_of_1_2, message_header};
use etcd::Etcd;
use process::corbie;
use served::{PATIENCE, Served, Signal};

/// What a server answers to this request.
fn asked(place: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(place).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The page of metrics.
fn page(place: &str) -> String {
    let answer = asked(place, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    body.to_owned()
}

/// The value of the sample with this name and these labels, as they are written.
fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map(|value| value.parse().expect("a number"))
}

/// Waits until the sample has at least this value.
fn rises(place: &str, sample: &str, least: f64) -> f64 {
    let end = Instant::now() + PATIENCE;
    loop {
        let page = page(place);
        match value(&page, sample) {
            Some(value) if value >= least => return value,
            _ => assert!(Instant::now() < end, "{sample} is not {least}: {page}"),
        }
        // tidy: sleep: leaves the processor to the server between two looks
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server with these arguments and metrics, where it listens, and where its metrics are.
fn started(arguments: &[&str]) -> (Served, String, String) {
    let mut served = Served::start(&[arguments, &["--metrics", "127.0.0.1:0"]].concat());
    let place = served.first.split("corbaloc:").nth(1).expect("where it is");
    let place = place.trim_start_matches("ssliop:").trim_start_matches(':');
    let listen = place.split(['/', ',']).next().expect("an address").to_owned();
    let metrics = metrics_of(&mut served);
    (served, listen, metrics)
}

/// Where the metrics of a server are, as it says in its log.
fn metrics_of(served: &mut Served) -> String {
    let line = served.says(&["INFO", "serving metrics"]);
    let place = line.split("http://").nth(1).and_then(|url| url.split("/metrics").next());
    place.expect("a URL").to_owned()
}

/// A server of the channel `prices`, where it listens, and where its metrics are.
fn events(more: &[&str]) -> (Served, String, String) {
    let serve = ["events", "serve", "--listen", "127.0.0.1:0", "--channel", "prices"];
    started(&[&serve[..], more].concat())
}

/// The names of all metrics: each has a line with its type.
fn metric_names(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let name = |line: &str| {
        let (name, kind) = line.split_once(' ').expect("a name and a type");
        if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
    };
    types.map(name).collect()
}

#[test]
fn requests_and_connections_are_counted() {
    let (served, listen, metrics) = events(&[]);
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory = orb.string_to_object(&url).expect("a reference");
    for _ in 0..5 {
        assert_eq!(factory.non_existent(), Ok(false));
    }
    let results = "corbie_requests_total{operation=\"_non_existent\",outcome=\"results\"}";
    rises(&metrics, results, 5.0);
    rises(&metrics, "corbie_connections", 1.0);
    rises(&metrics, "corbie_request_seconds_count{operation=\"_non_existent\"}", 5.0);
    // An operation has a name from when a servant has done it: the first forward came before.
    assert_eq!(corbie(&["ping", "-c", "1", &url]).status, 0);
    rises(&metrics, "corbie_requests_total{operation=\"_non_existent\",outcome=\"forward\"}", 1.0);
    let outcome = corbie(&["ping", "-c", "1", &format!("corbaloc::{listen}/Nothing")]);
    assert_eq!(outcome.status, 1);
    let failed = "corbie_requests_total{operation=\"_non_existent\",outcome=\"system_exception\"}";
    rises(&metrics, failed, 1.0);
    assert_eq!(rises(&metrics, "corbie_up", 1.0), 1.0);
    assert!(asked(&metrics, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(asked(&metrics, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    orb.shutdown(true);
    served.ends_in_peace();
}

#[test]
fn what_peers_make_a_server_hold_is_shown() {
    let (served, listen, metrics) = events(&[]);
    let held = |purpose| format!("corbie_memory_octets{{purpose=\"{purpose}\"}}");
    // A message that goes no further.
    let mut begun = TcpStream::connect(&listen).expect("it listens");
    let head = message_header(MessageKind::Request, false, 8 << 20);
    begun.write_all(&[&head[..], &vec![0; 1 << 20]].concat()).expect("taken");
    rises(&metrics, &held("reading"), 512.0 * 1024.0);
    rises(&metrics, "corbie_peers", 1.0);
    // A pull for which there is no event, until its proxy ends.
    let (orb, factory) = factory(&listen, &[]);
    let prices = channel(&orb, &factory, "prices");
    let waiting = puller(&prices);
    thread::scope(|scope| {
        let pulled = scope.spawn(|| waiting.pull());
        rises(&metrics, "corbie_event_waiting_pulls", 1.0);
        waiting.disconnect_pull_supplier().expect("disconnected");
        assert!(pulled.join().expect("no panic").is_err());
    });
    let raised = "corbie_requests_total{operation=\"pull\",outcome=\"user_exception\"}";
    rises(&metrics, raised, 1.0);
    // A consumer whose process reads nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("corbaloc::{}/Silent", silent.local_addr().expect("an address"));
    let consumer = orb.string_to_object(&url).expect("a reference");
    let admin = prices.for_consumers().expect("an answer").expect("not nil");
    let proxy = admin.obtain_push_supplier().expect("an answer").expect("not nil");
    let consumer = PushConsumer::unchecked_narrow(consumer);
    proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    let admin = prices.for_suppliers().expect("an answer").expect("not nil");
    let supplier = admin.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier.connect_push_supplier(None).expect("connected");
    // More than the system takes for a peer that reads nothing.
    let event = Any::from_value::<String>(&"x".repeat(12 << 20)).expect("an any");
    supplier.push(&event).expect("taken");
    rises(&metrics, &held("sending"), 1.0);
    orb.shutdown(false);
    drop(silent);
    served.ends_in_peace();
}

fn a_queue_that_is_half_full(provoked: &Provoked) {
    let (mut served, listen, metrics) = events(&[]);
    let events = |arguments: &[&str]| corbie(&[&["events"], arguments, &["-f", &listen]].concat());
    let made = events(&["create", "small", "--queue-events", "4"]);
    assert_eq!(made.status, 0, "{made:?}");
    // A consumer that is connected and pulls nothing.
    let (orb, factory) = factory(&listen, &[]);
    let _reads_nothing = puller(&channel(&orb, &factory, "small"));
    for _ in 0..3 {
        let pushed = events(&["push", "small", "1"]);
        assert_eq!(pushed.status, 0, "{pushed:?}");
    }
    rises(&metrics, "corbie_event_received_total{channel=\"small\"}", 3.0);
    rises(&metrics, "corbie_event_longest_queue{channel=\"small\"}", 3.0);
    rises(&metrics, "corbie_event_consumers{channel=\"small\"}", 1.0);
    let line = provoked.names_setting(&mut served, &metrics, "queue_events");
    let is_told = line.contains("WARN") && line.contains("channel=\"small\"");
    assert!(is_told && line.contains("a queue is half full or more"), "{line}");
    orb.shutdown(true);
    served.ends_in_peace();
}

fn connections_that_are_refused_or_closed(provoked: &Provoked) {
    for (flag, setting) in [
        ("-ORBServerConnectionsMax", "server_connections_max"),
        ("-ORBConnectionsPerPeerMax", "connections_per_peer_max"),
    ] {
        let (mut served, listen, metrics) = events(&[flag, "1", "-ORBWhenFull", "refuse"]);
        let held = TcpStream::connect(&listen).expect("it listens");
        let mut refused = TcpStream::connect(&listen).expect("it listens");
        refused.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let _ = refused.read(&mut [0; 16]);
        let line = provoked.names_setting(&mut served, &metrics, setting);
        assert!(line.contains("WARN") && line.contains("connection refused"), "{line}");
        rises(&metrics, "corbie_log_lines_total{level=\"warn\"}", 1.0);
        rises(&metrics, "corbie_connections_refused_total", 1.0);
        drop(held);
        served.ends_in_peace();
    }
    let (mut served, listen, metrics) = events(&["-ORBServerConnectionsMax", "1"]);
    let mut idle = TcpStream::connect(&listen).expect("it listens");
    rises(&metrics, "corbie_connections", 1.0);
    let other = TcpStream::connect(&listen).expect("it listens");
    let line = provoked.names_setting(&mut served, &metrics, "server_connections_max");
    assert!(line.contains("closed to make room"), "{line}");
    rises(&metrics, "corbie_connections_evicted_total", 1.0);
    idle.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let _ = idle.read_to_end(&mut Vec::new());
    drop(other);
    served.ends_in_peace();
}

/// A client of the factory at `listen`, with these settings.
fn factory(listen: &str, settings: &[&str]) -> (Orb, EventChannelFactory) {
    let orb = Orb::init([&["-ORBId", "client"], settings].concat()).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let object = orb.string_to_object(&url).expect("a reference");
    (orb, EventChannelFactory::unchecked_narrow(object))
}

/// The channel of that name, as `orb` calls it.
fn channel(orb: &Orb, factory: &EventChannelFactory, name: &str) -> EventChannel {
    let channel = factory.find(name).expect("an answer").expect("not nil");
    EventChannel::unchecked_narrow(corbie::Object::new(orb, channel.as_object().ior().clone()))
}

/// A connected consumer that pulls.
fn puller(channel: &EventChannel) -> ProxyPullSupplier {
    let admin = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    puller
}

/// The settings that were seen in a line of a log and as a metric.
#[derive(Default)]
struct Provoked(Mutex<BTreeSet<String>>);

impl Provoked {
    /// The line of the log that names this setting, and its metric.
    fn names_setting(&self, served: &mut Served, metrics: &str, setting: &str) -> String {
        let line = served.has_said(&[&format!("setting=\"{setting}\"")]);
        rises(metrics, &format!("corbie_limit_reached_total{{setting=\"{setting}\"}}"), 1.0);
        self.0.lock().expect("no panic").insert(setting.to_owned());
        line
    }
}

/// Said and counted when a minute is over, or at the end: `server_log.rs` has the line.
const AT_THE_END: &str = "log_lines_per_peer";

#[test]
fn each_setting_of_the_book_is_a_line_and_a_metric_of_a_server_where_it_stands_in_the_way() {
    let provoked = Provoked::default();
    let cases: [fn(&Provoked); 12] = [
        limits_of_an_event_server,
        connections_that_are_refused_or_closed,
        a_queue_that_is_half_full,
        a_consumer_that_falls_behind,
        handshakes_and_a_certificate_that_ends_soon,
        a_request_that_waits_behind_others,
        requests_that_are_held,
        messages_that_are_too_much,
        a_peer_that_is_too_fast_or_may_not,
        queues_that_are_too_much_together,
        iterators_that_are_too_many,
        limits_of_real_time_channels,
    ];
    thread::scope(|scope| {
        let running = cases.map(|case| {
            scope.spawn({
                let provoked = &provoked;
                move || case(provoked)
            })
        });
        running.into_iter().for_each(|case| case.join().expect("the case says why"));
    });
    let book = include_str!("../../../docs/src/metrics.md");
    let table = book.split("| `setting` | what happened |").nth(1).expect("the table");
    let rows = table.split("\n\n").next().expect("rows").lines().filter(|row| !row.is_empty());
    let first = rows.skip(1).map(|row| row.split('|').nth(1).expect("a cell"));
    let listed = first.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    let mut seen = provoked.0.into_inner().expect("no panic");
    seen.insert(AT_THE_END.to_owned());
    assert_eq!(seen, listed.collect(), "docs/src/metrics.md");
}

/// Connects, sends `octets`, and waits until the server has closed the connection.
fn send(listen: &str, octets: &[u8]) {
    let mut stream = TcpStream::connect(listen).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let _ = stream.write_all(octets);
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Twice: where another thread may serve, and where none may.
fn a_request_that_waits_behind_others(provoked: &Provoked) {
    for (threads, level) in [("64", "INFO"), ("1", "WARN")] {
        let etcd = Etcd::start();
        let serve = ["naming", "serve", "--listen", "127.0.0.1:0", "--store", &etcd.store];
        let threads_of = ["-ORBPoolThreadsMin", "1", "-ORBPoolThreadsMax", threads];
        let (mut served, listen, metrics) = started(&[&serve[..], &threads_of].concat());
        // One connection for all calls, so that the second waits behind the first.
        let client = ["-ORBId", "client", "-ORBTransportMultiplexing", "muxed"];
        let orb = Orb::init(client).expect("an ORB");
        let root = orb.string_to_object(&format!("corbaloc::{listen}/NameService"));
        let root = NamingContext::unchecked_narrow(root.expect("a reference"));
        let resolve = || {
            let root = root.clone();
            let name = NameComponent { id: "a".to_owned(), kind: String::new() };
            thread::spawn(move || root.resolve(&[name]))
        };
        etcd.hold();
        let first = resolve();
        let held = etcd.held();
        let second = resolve();
        let line = provoked.names_setting(&mut served, &metrics, "pool_threads_max");
        assert!(line.contains(level) && line.contains("requests wait behind"), "{line}");
        assert!(line.contains("peer=127.0.0.1:"), "{line}");
        rises(&metrics, "corbie_requests_behind_total", 1.0);
        rises(&metrics, "corbie_requests_in_service", 1.0);
        if threads == "1" {
            // It is found again and again, and said once.
            rises(&metrics, "corbie_requests_behind_total", 5.0);
            assert!(!etcd.has_more(), "no other thread serves");
        } else {
            drop(etcd.held());
        }
        drop((held, etcd));
        assert!(first.join().expect("no panic").is_err());
        assert!(second.join().expect("no panic").is_err());
        served.signal(Signal::TERM);
        let (status, log) = served.ends();
        assert_eq!(status.code(), Some(0), "{log:?}");
        let said = log.iter().filter(|line| line.contains("requests wait behind"));
        assert_eq!(said.count(), 1, "{log:?}");
        orb.shutdown(true);
    }
}

/// A server that waits for a naming service, as it starts, holds what clients ask of it.
fn requests_that_are_held(provoked: &Provoked) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let naming = silent.local_addr().expect("bound");
    let repository = format!("corbaname::{naming}#repository");
    let mut serve = ["events", "serve", "--listen", "127.0.0.1:0"].to_vec();
    serve.extend(["--metrics", "127.0.0.1:0", "--interface-repository", &repository]);
    serve.extend(["--timeout", "1000", "-ORBHeldRequestsMax", "1", "-ORBHeldOctetsMax", "4096"]);
    let mut served = Served::beginning(&serve);
    let metrics = metrics_of(&mut served);
    let line = served.has_said(&["INFO", "listening", "endpoint=tcp "]);
    let listen = line.split("endpoint=tcp ").nth(1).and_then(|rest| rest.split(' ').next());
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let url = format!("corbaloc::{}/NotYet", listen.expect("an endpoint"));
    let factory = orb.string_to_object(&url).expect("a reference");
    let factory = EventChannelFactory::unchecked_narrow(factory);
    let waits = factory.clone();
    let waiting = thread::spawn(move || waits.as_object().non_existent());
    rises(&metrics, "corbie_requests_held", 1.0);
    rises(&metrics, "corbie_limit_used{setting=\"held_requests_max\"}", 1.0);
    assert_eq!(value(&page(&metrics), "corbie_up"), Some(0.0));
    assert!(factory.find(&"x".repeat(8192)).is_err(), "it is too large");
    provoked.names_setting(&mut served, &metrics, "held_octets_max");
    let refused = factory.as_object().non_existent().expect_err("one is held");
    assert_eq!(refused.kind, SystemExceptionKind::Transient);
    provoked.names_setting(&mut served, &metrics, "held_requests_max");
    drop(served);
    assert!(waiting.join().expect("no panic").is_err());
    orb.shutdown(true);
}

fn messages_that_are_too_much(provoked: &Provoked) {
    let small = [
        ("-ORBFragmentsMax", "2"),
        ("-ORBReassemblyMessagesMax", "2"),
        ("-ORBReassemblyOctetsMax", "64KiB"),
        ("-ORBMessageOctetsMax", "64KiB"),
    ];
    let small: Vec<&str> = small.into_iter().flat_map(|(name, value)| [name, value]).collect();
    let (mut served, listen, metrics) = events(&small);
    let begun = |id| fragment_of_1_2(MessageKind::Request, id, &[0; 16]);
    let more = || fragment_of_1_2(MessageKind::Fragment, 1, &[0; 16]);
    send(&listen, &[begun(1), more(), more(), more()].concat());
    provoked.names_setting(&mut served, &metrics, "fragments_max");
    send(&listen, &[begun(1), begun(2), begun(3)].concat());
    provoked.names_setting(&mut served, &metrics, "reassembly_messages_max");
    let half = |id| fragment_of_1_2(MessageKind::Request, id, &[0; 40 << 10]);
    send(&listen, &[half(1), half(2)].concat());
    provoked.names_setting(&mut served, &metrics, "reassembly_octets_max");
    served.ends_in_peace();
    let (mut served, listen, metrics) = events(&["-ORBMemoryMax", "2MiB"]);
    let large = message_header(MessageKind::Request, false, 8 << 20);
    send(&listen, &[&large[..], &vec![0; 4 << 20]].concat());
    let line = provoked.names_setting(&mut served, &metrics, "memory_max");
    assert!(line.contains("peer=127.0.0.1:"), "{line}");
    rises(&metrics, "corbie_memory_refused_total", 1.0);
    served.ends_in_peace();
}

fn a_peer_that_is_too_fast_or_may_not(provoked: &Provoked) {
    let folder = Folder::default();
    let rules = "[[allow]]\npeers = \"loopback\"\noperations = [\"find\"]\n";
    let rules = folder.write("access.toml", rules);
    let (mut served, listen, metrics) =
        events(&["-ORBAccessFile", &rules, "-ORBRequestRatePerPeer", "10"]);
    let (orb, factory) = factory(&listen, &[]);
    assert!(factory.list().is_err());
    let line = provoked.names_setting(&mut served, &metrics, "access_file");
    assert!(line.contains("operation=\"list\"") && line.contains("peer=127.0.0.1:"), "{line}");
    // As many messages as a peer may send in a minute, at once.
    let one = message_header(MessageKind::CancelRequest, false, 4);
    let one = [&one[..], &1_u32.to_be_bytes()].concat();
    let mut stream = TcpStream::connect(&listen).expect("it listens");
    stream.write_all(&one.repeat(600)).expect("written");
    let line = provoked.names_setting(&mut served, &metrics, "request_rate_per_peer");
    assert!(line.contains("reading pauses") && line.contains("peer=127.0.0.1:"), "{line}");
    rises(&metrics, "corbie_reading_paused_total", 1.0);
    drop(stream);
    served.ends_in_peace();
    orb.shutdown(false);
}

/// Takes no event.
struct Refuses;

impl PushConsumerServant for Refuses {
    fn push(&self, _: &Any) -> Result<(), PushError> {
        Err(minor::TRANSIENT_NOT_NOW.no("not now").into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

fn queues_that_are_too_much_together(provoked: &Provoked) {
    let (mut served, listen, metrics) = events(&["--queues-octets-max", "20000"]);
    let (orb, factory) = factory(&listen, &["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let prices = channel(&orb, &factory, "prices");
    let poa = orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let refuses = poa.activate(PushConsumerSkeleton::new(Refuses)).expect("active");
    let admin = prices.for_consumers().expect("an answer").expect("not nil");
    let proxy = admin.obtain_push_supplier().expect("an answer").expect("not nil");
    proxy.connect_push_consumer(Some(&refuses)).expect("connected");
    let _reads_nothing = puller(&prices);
    let admin = prices.for_suppliers().expect("an answer").expect("not nil");
    let supplier = admin.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier.connect_push_supplier(None).expect("connected");
    let event = Any::from_value::<String>(&"x".repeat(4096)).expect("an any");
    for _ in 0..10 {
        supplier.push(&event).expect("the oldest make room");
    }
    provoked.names_setting(&mut served, &metrics, "queues_octets");
    rises(&metrics, "corbie_event_refused_total", 1.0);
    rises(&metrics, "corbie_event_received_total{channel=\"prices\"}", 10.0);
    rises(&metrics, "corbie_event_dropped_total{channel=\"prices\"}", 1.0);
    rises(&metrics, "corbie_event_failed_pushes_total{channel=\"prices\"}", 1.0);
    rises(&metrics, "corbie_event_queued{channel=\"prices\"}", 1.0);
    rises(&metrics, "corbie_event_queued_octets", 4096.0);
    rises(&metrics, "corbie_event_suppliers{channel=\"prices\"}", 1.0);
    rises(&metrics, "corbie_event_proxies", 3.0);
    rises(&metrics, "corbie_memory_octets{purpose=\"services\"}", 1.0);
    served.ends_in_peace();
    orb.shutdown(false);
}

fn iterators_that_are_too_many(provoked: &Provoked) {
    let folder = ScratchFolder::new("metrics-iterators");
    let store = folder.path().join("names.redb");
    let serve = ["naming", "serve", "--listen", "127.0.0.1:0", "--iterators-max", "1"];
    let store = ["--store", store.to_str().expect("text")];
    let (mut served, listen, metrics) = started(&[&serve[..], &store].concat());
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let root = orb.string_to_object(&format!("corbaloc::{listen}/NameService"));
    let object = root.expect("a reference");
    let root = NamingContext::unchecked_narrow(object.clone());
    let name = NameComponent { id: "a".to_owned(), kind: String::new() };
    root.bind(&[name], Some(&object)).expect("bound");
    for _ in 0..2 {
        let (_, iterator) = root.list(0).expect("an answer");
        assert!(iterator.is_some());
    }
    let line = provoked.names_setting(&mut served, &metrics, "iterators_max");
    assert!(line.contains("127.0.0.1"), "{line}");
    served.ends_in_peace();
    orb.shutdown(false);
}

/// Takes all events.
struct Takes;

impl rtec_event_comm::PushConsumerServant for Takes {
    fn push(&self, _: &[rtec_event_comm::Event]) -> Result<(), SystemException> {
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

fn limits_of_real_time_channels(provoked: &Provoked) {
    let serve = ["rtevents", "serve", "--listen", "127.0.0.1:0", "--channel", "vehicles"];
    let few = ["--threads-max", "1", "--time-outs-max", "1"];
    let (mut served, listen, metrics) = started(&[&serve[..], &few].concat());
    let rtevents =
        |arguments: &[&str]| corbie(&[&["rtevents"], arguments, &["-f", &listen]].concat());
    let made = rtevents(&["create", "busy", "--set", "dispatching=pool", "--set", "threads=2"]);
    assert_ne!(made.status, 0, "{made:?}");
    provoked.names_setting(&mut served, &metrics, "threads");
    let client = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let orb = Orb::init(client).expect("an ORB");
    let poa = orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let vehicles = orb.string_to_object(&format!("corbaloc::{listen}/vehicles"));
    let vehicles = RtEventChannel::unchecked_narrow(vehicles.expect("a reference"));
    let consumer = poa.activate(rtec_event_comm::PushConsumerSkeleton::new(Takes));
    let consumer = consumer.expect("active");
    let admin = vehicles.for_consumers().expect("an answer").expect("not nil");
    let proxy = admin.obtain_push_supplier().expect("an answer").expect("not nil");
    let often = filter::Filter::every(Duration::from_millis(100)).subscription();
    assert!(proxy.connect_push_consumer(Some(&consumer), &often).is_err());
    provoked.names_setting(&mut served, &metrics, "time_outs");
    let all = filter::any_event().subscription();
    proxy.connect_push_consumer(Some(&consumer), &all).expect("connected");
    let pushed = rtevents(&["push", "vehicles", "--type", "16", "one", "two"]);
    assert_eq!(pushed.status, 0, "{pushed:?}");
    rises(&metrics, "corbie_event_received_total{channel=\"vehicles\"}", 2.0);
    rises(&metrics, "corbie_event_delivered_total{channel=\"vehicles\"}", 2.0);
    rises(&metrics, "corbie_event_consumers{channel=\"vehicles\"}", 1.0);
    rises(&metrics, "corbie_event_proxies", 1.0);
    for gauge in ["corbie_event_queued", "corbie_event_longest_queue", "corbie_event_log_octets"] {
        assert!(value(&page(&metrics), &format!("{gauge}{{channel=\"vehicles\"}}")).is_some());
    }
    served.ends_in_peace();
    orb.shutdown(false);
}

fn limits_of_an_event_server(provoked: &Provoked) {
    let store = ScratchFolder::new("metrics-limits");
    let small = [
        ("--store", store.path().to_str().expect("text")),
        ("--durable-channel", "orders"),
        ("--waiting-clients-max", "2"),
        ("--proxies-of-server-max", "3"),
        ("-ORBMessageOctetsMax", "64KiB"),
        ("-ORBMessageTimeout", "200ms"),
        ("-ORBPendingResponsesMax", "1"),
        ("-ORBConnectionRatePerPeer", "40"),
    ];
    let small: Vec<&str> = small.into_iter().flat_map(|(name, value)| [name, value]).collect();
    let (mut served, listen, metrics) = events(&small);
    // One connection for all calls, so that two of them wait on it.
    let (orb, factory) = factory(&listen, &["-ORBTransportMultiplexing", "muxed"]);
    let orders = channel(&orb, &factory, "orders");
    let waiting = puller(&orders);
    let pulls: Vec<_> = (0..2)
        .map(|_| {
            let waiting = waiting.clone();
            std::thread::spawn(move || waiting.pull())
        })
        .collect();
    let line = provoked.names_setting(&mut served, &metrics, "pending_responses_max");
    assert!(line.contains("reading pauses"), "{line}");
    rises(&metrics, "corbie_requests_deferred", 1.0);
    // Another client of the same peer may not wait as well: one has half of the places.
    let other = self::factory(&listen, &[]);
    let others = puller(&channel(&other.0, &other.1, "orders"));
    assert!(others.pull().is_err());
    provoked.names_setting(&mut served, &metrics, "waiting_clients");
    rises(&metrics, "corbie_event_refused_pulls_total", 1.0);
    let admin = channel(&other.0, &other.1, "prices").for_consumers();
    let admin = admin.expect("an answer").expect("not nil");
    let behind = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    behind.connect_pull_consumer(None).expect("connected");
    assert!(admin.obtain_pull_supplier().is_err());
    provoked.names_setting(&mut served, &metrics, "proxies_of_server");
    rises(&metrics, "corbie_event_refused_proxies_total", 1.0);
    drop((behind, others));
    send(&listen, b"GIOP\x01\x02\0\0\x7f\0\0\0");
    provoked.names_setting(&mut served, &metrics, "message_octets_max");
    send(&listen, b"GIOP\x01\x02\0\0\0\0\x01\0half of it");
    provoked.names_setting(&mut served, &metrics, "message_timeout");
    let end = Instant::now() + PATIENCE;
    while value(&page(&metrics), "corbie_connections_hasty_total") < Some(1.0) {
        assert!(Instant::now() < end, "no connection is refused");
        (0..80).for_each(|_| drop(TcpStream::connect(&listen)));
    }
    provoked.names_setting(&mut served, &metrics, "connection_rate_per_peer");
    rises(&metrics, "corbie_connections_hasty_total", 1.0);
    served.signal(Signal::TERM);
    pulls.into_iter().for_each(|pull| assert!(pull.join().expect("no panic").is_err()));
    let (status, log) = served.ends();
    assert_eq!(status.code(), Some(0), "{log:?}");
    // Each is said once a minute.
    for setting in ["connection_rate_per_peer", "waiting_clients"] {
        let setting = format!("setting=\"{setting}\"");
        assert_eq!(log.iter().filter(|line| line.contains(&setting)).count(), 1, "{log:?}");
    }
    orb.shutdown(false);
    other.0.shutdown(false);
}

fn a_consumer_that_falls_behind(provoked: &Provoked) {
    let store = ScratchFolder::new("metrics-behind");
    let folder = store.path().to_str().expect("text");
    let (mut served, listen, metrics) = events(&["--store", folder]);
    let durable = ["events", "create", "orders", "--durable", "--queue-events", "2", "-f", &listen];
    let made = corbie(&durable);
    assert_eq!(made.status, 0, "{made:?}");
    let (orb, factory) = factory(&listen, &[]);
    let orders = channel(&orb, &factory, "orders");
    let _behind = puller(&orders);
    let pushed = corbie(&["events", "push", "orders", "1", "2", "3", "4", "-f", &listen]);
    assert_eq!(pushed.status, 0, "{pushed:?}");
    let line = provoked.names_setting(&mut served, &metrics, "retain_octets");
    assert!(line.contains("a consumer falls behind") && line.contains("\"orders\""), "{line}");
    rises(&metrics, "corbie_event_longest_queue{channel=\"orders\"}", 4.0);
    rises(&metrics, "corbie_event_log_octets{channel=\"orders\"}", 1.0);
    orb.shutdown(true);
    served.ends_in_peace();
}

/// Both roles: clients connect to the server, and the server to consumers that it pushes to.
fn handshakes_and_a_certificate_that_ends_soon(provoked: &Provoked) {
    let folder = Folder::default();
    let (authority, others) = (Authority::new("operators"), Authority::new("others"));
    let own = authority.issue_for("server", &["127.0.0.1"], Validity::Days(5));
    let port = free_port();
    let endpoints = format!("iiop://127.0.0.1:0,ssliop://127.0.0.1:{port}");
    let mut given = folder.arguments("server", &own, &authority);
    given.extend(["-ORBListenEndpoints".to_owned(), endpoints]);
    given.extend(["-ORBTlsClients".to_owned(), "none".to_owned()]);
    let mut given: Vec<&str> = given.iter().map(String::as_str).collect();
    given.extend(["events", "serve", "--channel", "prices"]);
    given.rotate_right(4);
    let (mut served, listen, metrics) = started(&given);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as f64;
    let end = rises(&metrics, "corbie_tls_certificate_expiry_timestamp_seconds", now);
    assert!(end > now + 4.0 * 86_400.0 && end < now + 6.0 * 86_400.0, "{end} {now}");
    let client = authority.issue("client", &["127.0.0.1"]);
    let trusting = folder.arguments("client", &client, &authority);
    let unknown = others.issue("unknown", &["127.0.0.1"]);
    let stranger = folder.arguments("stranger", &unknown, &others);
    let impostor = folder.arguments("impostor", &unknown, &authority);
    let run = |command: &[&str], tls: &[String]| {
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        corbie(&[command, &tls].concat())
    };
    let url = format!("corbaloc:ssliop:127.0.0.1:{port}/EventChannelFactory");
    let answered = run(&["ping", "-c", "1", &url], &trusting);
    assert_eq!(answered.status, 0, "{answered:?}");
    rises(&metrics, "corbie_tls_handshakes_total{role=\"server\"}", 1.0);
    assert_eq!(run(&["ping", "-c", "1", &url], &stranger).status, 1);
    rises(&metrics, "corbie_tls_handshake_failures_total{role=\"server\"}", 1.0);
    let tail = |tls: &[String]| {
        let tail = ["events", "tail", "prices", "--pushed", "--listen", "ssliop://127.0.0.1:0"];
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        Served::beginning(&[&tail[..], &["-f", &listen], &tls].concat())
    };
    let consumers = "corbie_event_consumers{channel=\"prices\"}";
    let push = || assert_eq!(corbie(&["events", "push", "prices", "1", "-f", &listen]).status, 0);
    let _trusted = tail(&trusting);
    rises(&metrics, consumers, 1.0);
    push();
    rises(&metrics, "corbie_tls_handshakes_total{role=\"client\"}", 1.0);
    rises(&metrics, "corbie_event_delivered_total{channel=\"prices\"}", 1.0);
    let _impostor = tail(&impostor);
    rises(&metrics, consumers, 2.0);
    push();
    rises(&metrics, "corbie_tls_handshake_failures_total{role=\"client\"}", 1.0);
    let line = provoked.names_setting(&mut served, &metrics, "tls_certificate");
    assert!(line.contains("WARN") && line.contains("expires in 4 days"), "{line}");
}

#[test]
fn the_book_and_the_dashboard_name_the_metrics_that_there_are() {
    let (served, listen, metrics) =
        events(&["-ORBServerConnectionsMax", "1", "-ORBWhenFull", "refuse"]);
    // What is counted by label has no value before it happens.
    corbie(&["ping", "-c", "1", &format!("corbaloc::{listen}/EventChannelFactory")]);
    let held = [(); 2].map(|()| TcpStream::connect(&listen).expect("it listens"));
    rises(&metrics, "corbie_limit_reached_total{setting=\"server_connections_max\"}", 1.0);
    let there = metric_names(&page(&metrics));
    drop(held);
    served.ends_in_peace();
    let book = include_str!("../../../docs/src/metrics.md");
    let rows = book.lines().filter_map(|line| line.strip_prefix("| `corbie_")?.split('`').next());
    let rows: BTreeSet<String> = rows.map(|name| format!("corbie_{name}")).collect();
    assert_eq!(rows, there, "docs/src/metrics.md");
    let dashboard = include_str!("../grafana/corbie.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut used = 0;
    for target in targets {
        let text = target["expr"].as_str().expect("an expression");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        for name in words.filter(|word| word.starts_with("corbie_")) {
            let name = name.trim_end_matches("_bucket");
            assert!(there.contains(name), "{name} is no metric: {text}");
            used += 1;
        }
    }
    assert!(used >= 15, "{used}");
}
