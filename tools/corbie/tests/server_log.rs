//! What servers log, as their operator sees it: by default, as JSON, and how much.

mod served;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use corbie::Orb;
use corbie_naming::Naming;
use corbie_testkit::certificates::{Authority, Folder};
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

/// Sends what is no GIOP, and waits until the server has closed the connection.
fn send_nonsense(listen: &str) {
    let mut stream = TcpStream::connect(listen).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
    let _ = stream.read_to_end(&mut Vec::new());
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
    assert_eq!(refused.len(), 1, "once a minute for a peer: {log:?}");
    // At the end the others are told, so each refusal is in the log once.
    let told = log.iter().filter(|line| line.contains("left_out=29 line=\"connection refused: "));
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
    let line = "connection closed: the peer sent bad octets";
    let of_place = format!("left_out=5 line=\"{line}");
    let of_peer = "left_out=11 of=\"127.0.0.1\" setting=\"log_lines_per_peer\"".to_owned();
    for (setting, written, left_out) in
        [(&[][..], 10, of_place), (&["-ORBLogLinesPerPeer", "4"][..], 4, of_peer)]
    {
        let listen = format!("127.0.0.1:{}", free_port());
        let serve = ["events", "serve", "--listen", &listen];
        let served = Served::start(&[&serve[..], setting].concat());
        (0..15).for_each(|_| send_nonsense(&listen));
        served.signal(Signal::TERM);
        let (_, log) = served.ends();
        let lines = log.iter().filter(|logged| logged.contains(&format!(": {line}")));
        assert_eq!(lines.count(), written, "{log:?}");
        let told = log.iter().filter(|logged| logged.contains(&left_out));
        assert_eq!(told.count(), 1, "{log:?}");
    }
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

/// An access file that lets peers of loopback call these operations.
fn allowing(operations: &str) -> String {
    format!("[[allow]]\npeers = \"loopback\"\noperations = [{operations}]\n")
}

#[test]
fn what_access_rules_refuse_is_an_audit_line_and_files_are_read_again_at_a_hangup() {
    let folder = Folder::default();
    let authority = Authority::new("operators");
    let own = authority.issue("server", &["127.0.0.1"]);
    let rules = folder.write("access.toml", allowing("\"resolve\""));
    let store = ScratchFolder::new("server-log-audit");
    let store = store.path().join("names.redb");
    let port = free_port();
    let endpoints = format!("iiop://127.0.0.1:{port},ssliop://127.0.0.1:0");
    let given = ["naming", "serve", "--store", store.to_str().expect("text")];
    let mut given: Vec<String> = given.map(str::to_owned).to_vec();
    given.extend(["-ORBListenEndpoints".to_owned(), endpoints, "-ORBRequestSpans".to_owned()]);
    given.extend(["-ORBAccessFile".to_owned(), rules]);
    given.extend(folder.arguments("server", &own, &authority));
    let filter = folder.write("filter", "info,corbie::request=info");
    given.extend(["--log".to_owned(), format!("file:{filter}")]);
    let arguments: Vec<&str> = given.iter().map(String::as_str).collect();
    let mut served = Served::start(&arguments);
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let root = format!("corbaloc::127.0.0.1:{port}/NameService");
    let naming = Naming::at(&orb, &root).expect("a context");
    let object = orb.string_to_object(&root).expect("a reference");
    for _ in 0..3 {
        assert!(naming.bind("a", &object).is_err());
    }
    let line = served.says(&["a call was refused"]);
    for part in [
        "WARN",
        "peer=127.0.0.1:",
        "operation=\"bind\"",
        "setting=\"access_file\"",
        "request{peer=",
    ] {
        assert!(line.contains(part), "no {part}: {line}");
    }
    folder.write("access.toml", allowing("\"resolve\", \"bind\""));
    served.signal(Signal::HUP);
    served.says(&["INFO", "SIGHUP: the log's filter was read"]);
    served.says(&["INFO", "SIGHUP: the access file was read"]);
    served.says(&["INFO", "SIGHUP: the files of certificates were read"]);
    naming.bind("a", &object).expect("it may now");
    // What cannot be used changes nothing, and is said.
    folder.write("access.toml", "[[allow]]\npeers = 7\n");
    folder.write("server.pem", "no certificate");
    served.signal(Signal::HUP);
    served.says(&["WARN", "SIGHUP: access stays as it was", "line 2"]);
    served.says(&["WARN", "SIGHUP: certificates stay as they were", "tls_certificate"]);
    naming.bind("b", &object).expect("it still may");
    orb.shutdown(true);
    served.signal(Signal::TERM);
    let (status, log) = served.ends();
    assert_eq!(status.code(), Some(0), "{log:?}");
    let audited = log.iter().filter(|line| line.contains(": a call was refused"));
    assert_eq!(audited.count(), 1, "{log:?}");
    let left_out = "left_out=2 line=\"a call was refused";
    assert!(log.iter().any(|line| line.contains(left_out)), "{log:?}");
}

#[test]
fn a_server_that_listens_beyond_its_machine_without_tls_says_so_at_the_start() {
    let warnings = |listen: &str| {
        let served = Served::start(&["events", "serve", "--listen", listen]);
        served.signal(Signal::TERM);
        let (_, log) = served.ends();
        log.iter().filter(|line| line.contains("listens beyond this machine without TLS")).count()
    };
    assert_eq!(warnings("0.0.0.0:0"), 1);
    assert_eq!(warnings("127.0.0.1:0"), 0);
    // With TLS it is told where, and whether any peer of another machine may call.
    let folder = Folder::default();
    let authority = Authority::new("operators");
    let own = authority.issue("server", &["127.0.0.1"]);
    let rules = folder.write("access.toml", allowing("\"list\""));
    let told = |more: &[&str]| {
        let tls = folder.arguments("server", &own, &authority);
        let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
        let serve = ["events", "serve", "--listen", "ssliop://0.0.0.0:0"];
        let served = Served::start(&[&serve[..], &tls, more].concat());
        served.signal(Signal::TERM);
        let (_, log) = served.ends();
        let is_it = |line: &&String| line.contains("listens beyond this machine with TLS");
        log.iter().find(is_it).unwrap_or_else(|| panic!("{log:?}")).clone()
    };
    let line = told(&[]);
    assert!(line.contains("WARN") && line.contains("-ORBAccessFile"), "{line}");
    assert!(line.contains("listening=\"0.0.0.0:"), "{line}");
    let line = told(&["-ORBAccessFile", &rules]);
    assert!(line.contains("INFO") && line.contains("the access file says"), "{line}");
}
