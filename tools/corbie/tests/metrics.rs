//! Metrics of servers as processes: each is there, moves when what it counts happens, and has a row
//! in the book; the dashboard uses none that is not there.

mod process;
mod served;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use corbie::Orb;
use corbie_testkit::servers::free_port;
use process::corbie;
use served::{PATIENCE, Served};

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
fn names(page: &str) -> BTreeSet<String> {
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
    let factory = corbie_event::corbie_events::EventChannelFactory::unchecked_narrow(factory);
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

#[test]
fn the_book_and_the_dashboard_name_the_metrics_that_there_are() {
    let (served, listen, metrics) =
        events(&["-ORBServerConnectionsMax", "1", "-ORBWhenFull", "refuse"]);
    // What is counted by label has no value before it happens.
    corbie(&["ping", "-c", "1", &format!("corbaloc::{listen}/EventChannelFactory")]);
    let held = [(); 2].map(|()| TcpStream::connect(&listen).expect("it listens"));
    rises(&metrics, "corbie_limit_reached_total{setting=\"server_connections_max\"}", 1.0);
    let there = names(&page(&metrics));
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
