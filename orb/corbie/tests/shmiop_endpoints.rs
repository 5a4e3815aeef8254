//! Shared memory as an operator meets it: what references say, which machine they are for, what
//! happens when it cannot be had, bad octets, and the end of a server. CORBA 3.3 P2 §9.6.1 (a
//! reference may have profiles of several protocols), paper POA §3.3.
//!
//! That calls of every kind work over it is tested by the suites in `shmiop.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{Ior, Orb, SystemExceptionKind};
use corbie_transport::{Endpoint, Link};
use corbie_types::ior::profile_tag;
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread};
use std::time::Duration;

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);
const BOTH: &str = "iiop://127.0.0.1:0,shmiop://";
const ALONE: &str = "shmiop://";

/// A server on these endpoints, its object, and where it shares memory.
fn server(endpoints: &str, more: &[&str]) -> (Orb, Echo, Endpoint) {
    let orb = Orb::init([&["-ORBListenEndpoints", endpoints][..], more].concat()).unwrap();
    lend_a_thread(&orb);
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let is_shared = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Shm(_));
    let shared = orb.listen_endpoints().into_iter().find(is_shared).unwrap();
    (orb, echo, shared)
}

fn client() -> Orb {
    Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap()
}

fn ior(echo: &Echo) -> Ior {
    echo.0.to_string().parse().unwrap()
}

/// The file of the socket that memory is agreed on over.
fn file_of(endpoint: &Endpoint) -> &std::path::Path {
    match endpoint {
        Endpoint::Shm(name) => name.path().unwrap(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_reference_names_shared_memory_before_tcp() {
    let (orb, echo, _endpoint) = server(BOTH, &[]);
    let tags: Vec<_> = ior(&echo).profiles.iter().map(|profile| profile.tag).collect();
    assert_eq!(tags, [profile_tag::CORBIE_SHMIOP, profile_tag::INTERNET_IOP]);
    orb.shutdown(true);
}

#[test]
fn calls_of_every_strategy_go_through_rings_of_any_size() {
    // Messages of 100,000 octets through rings of 4,096, and of a mebibyte.
    for ring in ["4096", "1048576"] {
        for strategy in STRATEGIES {
            let more = ["-ORBServerConcurrency", strategy, "-ORBShmRingOctets", ring];
            let (orb, echo, _endpoint) = server(ALONE, &more);
            let client = client();
            let echo = as_client(&client, &echo);
            for length in [0, 1, 4_000, 100_000] {
                let text = "x".repeat(length);
                assert_eq!(echo.length(&text).unwrap(), length as i64, "{strategy} {ring}");
            }
            client.shutdown(true);
            orb.shutdown(true);
        }
    }
}

#[test]
fn threads_that_call_at_once_each_get_their_own_reply() {
    for strategy in STRATEGIES {
        let (orb, echo, _endpoint) = server(ALONE, &["-ORBServerConcurrency", strategy]);
        let client = client();
        let echo = as_client(&client, &echo);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let echo = &echo;
                scope.spawn(move || {
                    for call in 0..200 {
                        let value = thread * 1_000 + call;
                        assert_eq!(echo.double(value).unwrap(), 2 * value, "{strategy}");
                    }
                });
            }
        });
        client.shutdown(true);
        orb.shutdown(true);
    }
}

#[test]
fn when_shared_memory_cannot_be_had_the_next_protocol_is_taken() {
    let (orb, echo, endpoint) = server(BOTH, &[]);
    std::fs::remove_file(file_of(&endpoint)).unwrap();
    let client = client();
    let far = as_client(&client, &echo);
    assert_eq!(far.double(4).unwrap(), 8);
    client.shutdown(true);
    orb.shutdown(true);
}

#[test]
fn a_reference_of_another_machine_is_passed_over() {
    for (endpoints, is_reached) in [(BOTH, true), (ALONE, false)] {
        let (orb, echo, endpoint) = server(endpoints, &[]);
        let mut elsewhere = ior(&echo);
        let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let machine = machine.trim().as_bytes();
        let data = &mut elsewhere.profiles[0].data;
        let at = data.windows(machine.len()).position(|part| part == machine).unwrap();
        data[at] ^= 1;
        // If it were tried, another server's socket would be found there.
        std::fs::remove_file(file_of(&endpoint)).unwrap();
        let other = std::os::unix::net::UnixListener::bind(file_of(&endpoint)).unwrap();
        other.set_nonblocking(true).unwrap();
        let client = client();
        let far = Echo(client.string_to_object(&elsewhere.to_string()).unwrap());
        assert_eq!(far.double(4).is_ok(), is_reached, "{endpoints}");
        assert!(other.accept().is_err(), "no client knocked");
        client.shutdown(true);
        orb.shutdown(true);
        // The ORB leaves the socket of another server alone.
        drop(other);
        std::fs::remove_file(file_of(&endpoint)).unwrap();
    }
}

/// What is no GIOP ends its own connection, with a word if there is one to say; others go on.
#[test]
fn bad_octets_end_one_connection_and_no_other() {
    for strategy in STRATEGIES {
        let (orb, echo, endpoint) = server(ALONE, &["-ORBServerConcurrency", strategy]);
        let client = client();
        let far = as_client(&client, &echo);
        assert_eq!(far.double(1).unwrap(), 2);
        let bad: [&[u8]; 4] =
            [b"GET / HTTP/1.1\r\n\r\n", b"GIOP\x09\x09\x00\x00\0\0\0\0", &[0; 500], b"GIOP"];
        for octets in bad {
            let link = Link::connect(&endpoint, Some(PATIENCE), None).unwrap();
            link.set_receive_timeout(Some(PATIENCE)).unwrap();
            link.send_one(octets).unwrap();
            if octets != b"GIOP" {
                // MessageError, or nothing; then the end.
                while link.receive(&mut [0; 64]).unwrap() > 0 {}
            }
            drop(link);
            assert_eq!(far.double(3).unwrap(), 6, "{strategy}");
        }
        client.shutdown(true);
        orb.shutdown(true);
    }
}

#[test]
fn the_end_of_a_server_ends_its_connections_and_its_socket() {
    for strategy in STRATEGIES {
        let (orb, echo, endpoint) = server(ALONE, &["-ORBServerConcurrency", strategy]);
        let client = client();
        let far = as_client(&client, &echo);
        assert_eq!(far.double(1).unwrap(), 2);
        let idle = Link::connect(&endpoint, Some(PATIENCE), None).unwrap();
        orb.shutdown(true);
        idle.set_receive_timeout(Some(PATIENCE)).unwrap();
        while idle.receive(&mut [0; 64]).unwrap() > 0 {}
        let exception = far.double(1).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::Transient, "{strategy}: {exception}");
        assert!(!file_of(&endpoint).exists(), "{strategy}");
        client.shutdown(true);
    }
}
