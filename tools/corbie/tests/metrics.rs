//! Metrics of servers as processes: each is there, moves when what it counts happens, and has a row
//! in the book; the dashboard uses none that is not there.

mod process;
mod served;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use corbie::Orb;
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier};
use corbie_testkit::certificates::{Authority, Folder, Validity};
use corbie_testkit::servers::{ScratchFolder, free_port};
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
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let page = page(place);
        match value(&page, sample) {
            Some(value) if value >= least => return value,
            _ => assert!(std::time::Instant::now() < end, "{sample} is not {least}: {page}"),
        }
        std::thread::yield_now();
    }
}

/// A server of the channel `prices`, where it listens, and where its metrics are.
fn events(more: &[&str]) -> (Served, String, String) {
    let (listen, metrics) =
        (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let serve = ["events", "serve", "--listen", &listen, "--channel", "prices"];
    let served = Served::start(&[&serve[..], &["--metrics", &metrics], more].concat());
    (served, listen, metrics)
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
fn events_are_counted_by_channel_and_a_queue_that_is_half_full_is_told() {
    let (mut served, listen, metrics) = events(&[]);
    let events = |arguments: &[&str]| corbie(&[&["events"], arguments, &["-f", &listen]].concat());
    let made = events(&["create", "small", "--queue-events", "4"]);
    assert_eq!(made.status, 0, "{made:?}");
    // A consumer that is connected and pulls nothing.
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory = orb.string_to_object(&url).expect("a reference");
    let factory = EventChannelFactory::unchecked_narrow(factory);
    let channel = factory.find("small").expect("an answer").expect("not nil");
    let channel = corbie_event::cos_event_channel_admin::EventChannel::unchecked_narrow(
        corbie::Object::new(&orb, channel.as_object().ior().clone()),
    );
    let admin = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    for _ in 0..3 {
        let pushed = events(&["push", "small", "1"]);
        assert_eq!(pushed.status, 0, "{pushed:?}");
    }
    rises(&metrics, "corbie_event_received_total{channel=\"small\"}", 3.0);
    rises(&metrics, "corbie_event_longest_queue{channel=\"small\"}", 3.0);
    rises(&metrics, "corbie_event_consumers{channel=\"small\"}", 1.0);
    let line = served.says(&["WARN", "a queue is half full or more"]);
    assert!(
        line.contains("channel=\"small\"") && line.contains("setting=\"queue_events\""),
        "{line}"
    );
    rises(&metrics, "corbie_limit_reached_total{setting=\"queue_events\"}", 1.0);
    orb.shutdown(true);
    served.ends_in_peace();
}

#[test]
fn a_refused_connection_is_a_metric_that_names_the_setting() {
    let (served, listen, metrics) =
        events(&["-ORBServerConnectionsMax", "1", "-ORBWhenFull", "refuse"]);
    let held = TcpStream::connect(&listen).expect("it listens");
    let mut refused = TcpStream::connect(&listen).expect("it listens");
    refused.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let _ = refused.read(&mut [0; 16]);
    rises(&metrics, "corbie_limit_reached_total{setting=\"server_connections_max\"}", 1.0);
    rises(&metrics, "corbie_log_lines_total{level=\"warn\"}", 1.0);
    drop(held);
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

/// The line of the log that names this setting, and its metric.
fn names_setting(served: &mut Served, metrics: &str, setting: &str) -> String {
    let line = served.says(&[&format!("setting=\"{setting}\"")]);
    rises(metrics, &format!("corbie_limit_reached_total{{setting=\"{setting}\"}}"), 1.0);
    line
}

#[test]
fn each_limit_that_refuses_is_a_line_and_a_metric_with_the_setting_to_change() {
    let store = ScratchFolder::new("metrics-limits");
    let small = [
        ("--store", store.path().to_str().expect("text")),
        ("--durable-channel", "orders"),
        ("--queues-octets-max", "20000"),
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
    let line = names_setting(&mut served, &metrics, "pending_responses_max");
    assert!(line.contains("reading pauses"), "{line}");
    rises(&metrics, "corbie_requests_deferred", 1.0);
    // Another client of the same peer may not wait as well: one has half of the places.
    let other = self::factory(&listen, &[]);
    let others = puller(&channel(&other.0, &other.1, "orders"));
    assert!(others.pull().is_err());
    names_setting(&mut served, &metrics, "waiting_clients");
    rises(&metrics, "corbie_event_refused_pulls_total", 1.0);
    let admin = channel(&other.0, &other.1, "prices").for_consumers();
    let admin = admin.expect("an answer").expect("not nil");
    let behind = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    behind.connect_pull_consumer(None).expect("connected");
    assert!(admin.obtain_pull_supplier().is_err());
    names_setting(&mut served, &metrics, "proxies_of_server");
    rises(&metrics, "corbie_event_refused_proxies_total", 1.0);
    let push = |text: &str| corbie(&["events", "push", "prices", text, "-f", &listen]);
    assert_eq!(push(&format!("\"{}\"", "x".repeat(60_000))).status, 1);
    drop((behind, others));
    let raw = |octets: &[u8]| {
        let mut stream = TcpStream::connect(&listen).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let _ = stream.write_all(octets);
        let _ = stream.read_to_end(&mut Vec::new());
    };
    raw(b"GIOP\x01\x02\0\0\x7f\0\0\0");
    names_setting(&mut served, &metrics, "message_octets_max");
    raw(b"GIOP\x01\x02\0\0\0\0\x01\0half of it");
    names_setting(&mut served, &metrics, "message_timeout");
    for _ in 0..80 {
        drop(TcpStream::connect(&listen));
    }
    names_setting(&mut served, &metrics, "connection_rate_per_peer");
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

#[test]
fn a_consumer_of_a_durable_channel_that_falls_behind_is_told() {
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
    let line = names_setting(&mut served, &metrics, "retain_octets");
    assert!(line.contains("a consumer falls behind") && line.contains("\"orders\""), "{line}");
    rises(&metrics, "corbie_event_longest_queue{channel=\"orders\"}", 4.0);
    rises(&metrics, "corbie_event_log_octets{channel=\"orders\"}", 1.0);
    orb.shutdown(true);
    served.ends_in_peace();
}

/// A naming server, where it listens, and where its metrics are.
fn names(folder: &ScratchFolder, more: &[&str]) -> (Served, String) {
    let store = folder.path().join("names.redb");
    let metrics = format!("127.0.0.1:{}", free_port());
    let serve = ["naming", "serve", "--store", store.to_str().expect("text")];
    let served = Served::start(&[&serve[..], &["--metrics", &metrics], more].concat());
    (served, metrics)
}

#[test]
fn handshakes_are_counted_and_a_certificate_that_ends_soon_is_told() {
    let (folder, store) = (Folder::default(), ScratchFolder::new("metrics-tls"));
    let authority = Authority::new("operators");
    let own = authority.issue_for("server", &["127.0.0.1"], Validity::Days(5));
    let port = free_port();
    let endpoint = format!("ssliop://127.0.0.1:{port}");
    let mut given = folder.arguments("server", &own, &authority);
    given.extend(["-ORBListenEndpoints".to_owned(), endpoint]);
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let (mut served, metrics) = names(&store, &given);
    let line = names_setting(&mut served, &metrics, "tls_certificate");
    assert!(line.contains("WARN") && line.contains("expires in 4 days"), "{line}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as f64;
    let end = rises(&metrics, "corbie_tls_certificate_expiry_timestamp_seconds", now);
    assert!(end > now + 4.0 * 86_400.0 && end < now + 6.0 * 86_400.0, "{end} {now}");
    let client = authority.issue("client", &["127.0.0.1"]);
    let trusting = folder.arguments("client", &client, &authority);
    let url = format!("corbaloc:ssliop:127.0.0.1:{port}/NameService");
    let ping = |tls: &[String]| {
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        corbie(&[&["ping", "-c", "1", &url], &tls[..]].concat())
    };
    let answered = ping(&trusting);
    assert_eq!(answered.status, 0, "{answered:?}");
    rises(&metrics, "corbie_tls_handshakes_total{role=\"server\"}", 1.0);
    let stranger = folder.arguments("stranger", &client, &Authority::new("others"));
    assert_eq!(ping(&stranger).status, 1);
    rises(&metrics, "corbie_tls_handshake_failures_total{role=\"server\"}", 1.0);
    served.ends_in_peace();
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
