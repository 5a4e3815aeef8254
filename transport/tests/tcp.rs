//! What is particular to TCP: names that resolve, ports, IPv6. What every transport has to do is in
//! `suite.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_transport::{Acceptor, Endpoint, Link};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

fn connect(host: &str, acceptor: &Acceptor) -> Link {
    let endpoint = Endpoint::tcp(host, acceptor.socket_address().unwrap().port());
    Link::connect(&endpoint, Some(PATIENCE), None).unwrap()
}

#[test]
fn a_port_can_be_taken_again_at_once() {
    let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (ours, theirs) = (connect("127.0.0.1", &acceptor), acceptor.accept().unwrap());
    acceptor.close();
    drop((theirs, ours));
    let again = Acceptor::bind(acceptor.socket_address().unwrap()).unwrap();
    assert_eq!(again.socket_address(), acceptor.socket_address());
}

#[test]
fn peers_are_known_by_their_addresses() {
    let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let (ours, theirs) = (connect("127.0.0.1", &acceptor), acceptor.accept().unwrap());
    assert_eq!(ours.peer().socket_address(), acceptor.socket_address());
    assert!(theirs.peer().ip().unwrap().is_loopback());
    assert_eq!(theirs.peer().process(), None, "TCP does not tell");
}

#[test]
fn a_name_without_an_address_is_an_error() {
    assert!(Link::connect(&Endpoint::tcp("no.such.host.invalid", 1), None, None).is_err());
    let refused = Link::connect(&Endpoint::tcp("127.0.0.1", 1), Some(PATIENCE), None);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_wildcard_of_ipv6_serves_ipv4_as_well() {
    let Ok(acceptor) = Acceptor::bind("[::]:0".parse::<SocketAddr>().unwrap()) else {
        return; // A machine without IPv6.
    };
    for host in ["127.0.0.1", "::1"] {
        let ours = connect(host, &acceptor);
        let theirs = acceptor.accept().unwrap();
        ours.send_one(host.as_bytes()).unwrap();
        let mut space = [0; 16];
        let octets = theirs.receive(&mut space).unwrap();
        assert_eq!(&space[..octets], host.as_bytes());
    }
}

/// Set for the process that waits, which is this test again.
const WAITS: &str = "CORBIE_TEST_WAITS";

#[test]
fn a_time_out_is_over_in_time_though_signals_keep_coming() {
    if std::env::var_os(WAITS).is_some() {
        let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let (ours, _theirs) = (connect("127.0.0.1", &acceptor), acceptor.accept().unwrap());
        ours.set_receive_timeout(Some(Duration::from_secs(1))).unwrap();
        let nothing = ours.receive(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::TimedOut, "{nothing}");
        return;
    }
    let mut waits = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_time_out_is_over_in_time_though_signals_keep_coming"])
        .env(WAITS, "")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // A process that is stopped and goes on has its waits interrupted. After a minute it is killed.
    let script = "for round in $(seq 3000); do kill -STOP $0 && kill -CONT $0 || exit 0; \
                  sleep 0.02; done; kill -KILL $0";
    let mut signals = Command::new("sh")
        .args(["-c", script, &waits.id().to_string()])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ended = waits.wait().unwrap();
    signals.wait().unwrap();
    assert!(ended.success(), "it waits for ever: {ended}");
}
