//! What servers log, as their operator sees it: by default, as JSON, and how much.

mod served;

use std::io::Read as _;
use std::net::TcpStream;

use corbie_testkit::servers::{ScratchFolder, free_port};
use serde_json::Value as Json;
use served::{PATIENCE, Served, Signal, command};

/// Connects, and waits until the server has closed the connection.
fn be_refused(listen: &str) {
    let mut stream = TcpStream::connect(listen).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    // Closed, or reset.
    let _ = stream.read(&mut [0; 64]);
}

/// A server with one place for a connection, which is taken.
fn full(more: &[&str]) -> (Served, String, TcpStream) {
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["events", "serve", "--listen", &listen, "-ORBServerConnectionsMax", "1"];
    let serve = [&serve[..], &["-ORBWhenFull", "refuse"], more].concat();
    let served = Served::start(&serve);
    let stream = TcpStream::connect(&listen).expect("it listens");
    (served, listen, stream)
}

#[test]
fn a_refusal_is_a_line_with_peer_and_reason_and_few_are_written() {
    let (served, listen, held) = full(&[]);
    (0..30).for_each(|_| be_refused(&listen));
    drop(held);
    served.signal(Signal::TERM);
    let (status, log) = served.ends();
    assert_eq!(status.code(), Some(0), "{log:?}");
    let refused: Vec<_> = log.iter().filter(|line| line.contains(": connection refused")).collect();
    assert_eq!(refused.len(), 10, "{log:?}");
    // At the end the others are told, so each refusal is in the log once.
    let told = log.iter().filter(|line| line.contains("left_out=20 line=\"connection refused: "));
    assert_eq!(told.count(), 1, "{log:?}");
    for line in refused {
        assert!(line.contains(" WARN corbie_core::server::listener: "), "{line}");
        assert!(
            line.contains("peer=127.0.0.1:") && line.contains("server_connections_max"),
            "{line}"
        );
    }
}

#[test]
fn a_peer_causes_few_lines_and_the_others_are_counted() {
    let (served, listen, held) = full(&["-ORBLogLinesPerPeer", "4"]);
    (0..15).for_each(|_| be_refused(&listen));
    drop(held);
    served.signal(Signal::TERM);
    let (_, log) = served.ends();
    assert_eq!(log.iter().filter(|line| line.contains("connection refused")).count(), 4, "{log:?}");
    let told = log.iter().filter(|line| {
        line.contains("left_out=11 of=\"127.0.0.1\" setting=\"log_lines_per_peer\"")
    });
    assert_eq!(told.count(), 1, "{log:?}");
}

#[test]
fn a_line_of_json_has_the_values_by_name() {
    let (mut served, listen, held) = full(&["--log-format", "json", "--log", "warn"]);
    be_refused(&listen);
    let line = served.says(&["connection refused"]);
    let line: Json = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["target"], "corbie_core::server::listener");
    assert!(line["peer"].as_str().is_some_and(|peer| peer.starts_with("127.0.0.1:")), "{line}");
    assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
    drop(held);
}

#[test]
fn the_environment_says_what_is_logged_unless_the_argument_does() {
    let folder = ScratchFolder::new("server-log");
    let store = folder.path().join("names.redb");
    let store = store.to_str().expect("text");
    let serve = ["naming", "serve", "--listen", "127.0.0.1:0", "--store", store];
    let logged = |more: &[&str]| {
        let mut serve = command(&[&serve[..], more].concat());
        let served = Served::of(serve.env("CORBIE_LOG", "off"));
        served.signal(Signal::TERM);
        served.ends().1
    };
    assert_eq!(logged(&[]), [""; 0]);
    let lines = logged(&["--log", "corbie_core::orb=info"]);
    assert!(lines.len() == 1 && lines[0].contains("ending in peace"), "{lines:?}");
    let mut wrong = command(&[&serve[..], &["--log", "loud"]].concat());
    let wrong = wrong.output().expect("it ran");
    assert_eq!(wrong.status.code(), Some(64));
    let said = String::from_utf8(wrong.stderr).expect("UTF-8");
    assert!(said.contains("`loud` is no level: off, error, warn, info, debug, trace"), "{said}");
}
