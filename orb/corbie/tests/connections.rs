//! Limits and time-outs of connections, with real sockets and short times: silent peers, a full
//! server, orderly shutdown, calls that take too long.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::SystemExceptionKind;
use corbie_testkit::RawPeer;
use echo::{STRATEGIES, as_client, loopback_orb, serve};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

/// At once, since these tests wait more than they work.
fn with_each_strategy(test: impl Fn(&str) + Sync) {
    std::thread::scope(|threads| {
        for strategy in STRATEGIES {
            let test = &test;
            threads.spawn(move || test(strategy));
        }
    });
}

fn connect(address: SocketAddr) -> RawPeer {
    RawPeer::connect(address).unwrap()
}

#[test]
fn a_silent_peer_is_closed_and_others_are_served() {
    with_each_strategy(|concurrency| {
        let (server, echo, _noted) = serve(&[
            "-ORBServerConcurrency",
            concurrency,
            "-ORBFirstOctetTimeout",
            "200ms",
            "-ORBServerIdleTimeout",
            "30s",
        ]);
        let mut silent = connect(server.listen_addresses()[0]);
        assert_eq!(echo.double(1).unwrap(), 2);
        assert!(silent.answered(PATIENCE).is_closed(), "{concurrency}: closed, not left open");
        assert_eq!(echo.double(2).unwrap(), 4, "{concurrency}");
        server.shutdown(true);
    });
}

#[test]
fn a_full_server_makes_room_or_refuses() {
    let (server, echo, _noted) =
        serve(&["-ORBServerConnectionsMax", "2", "-ORBWhenFull", "refuse"]);
    let address = server.listen_addresses()[0];
    let _first = TcpStream::connect(address).unwrap();
    let _second = TcpStream::connect(address).unwrap();
    // Which of the three connections comes too late is up to the listener's thread; one does.
    let mut third = connect(address);
    assert!(third.answered(PATIENCE).is_closed(), "closed at once");
    server.shutdown(true);
    drop(echo);

    let (server, echo, _noted) = serve(&["-ORBServerConnectionsMax", "2"]);
    let address = server.listen_addresses()[0];
    let idle: Vec<_> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(echo.double(3).unwrap(), 6, "an idle connection makes room");
    drop(idle);
    server.shutdown(true);
}

#[test]
fn shutdown_lets_requests_finish() {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| echo.wait(Duration::from_millis(300)));
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(echo::WAITING), "the servant has it");
        server.shutdown(true);
        assert_eq!(call.join().unwrap().unwrap(), 300, "the reply came before the close");
    });
}

#[test]
fn the_server_takes_leave_in_the_version_of_its_client() {
    for concurrency in STRATEGIES {
        let (server, _echo, _noted) = serve(&["-ORBServerConcurrency", concurrency]);
        let mut client = connect(server.listen_addresses()[0]);
        // A LocateRequest of GIOP 1.0, big-endian: request id 7, an object key of one octet.
        let request = b"GIOP\x01\x00\x00\x03\x00\x00\x00\x09\0\0\0\x07\0\0\0\x01k";
        client.send(request).unwrap();
        let reply = client.receive_message(PATIENCE).unwrap();
        assert_eq!((&reply[4..6], reply[7]), (&[1, 0][..], 4), "{concurrency}: LocateReply");
        server.shutdown(true);
        let farewell = client.receive_message(PATIENCE).unwrap();
        assert_eq!((&farewell[4..6], farewell[7]), (&[1, 0][..], 5), "{concurrency}: Close");
    }
}

#[test]
fn a_call_that_takes_too_long_is_a_timeout() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&["-ORBRequestTimeout", "2s"]);
    let echo = as_client(&client, &echo);
    let begun = Instant::now();
    let exception = echo.wait(2 * PATIENCE).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
    assert!(begun.elapsed() < PATIENCE);
    assert!(exception.to_string().contains("wait"), "{exception}");
    assert_eq!(echo.double(3).unwrap(), 6, "the next call has a connection of its own");
    server.shutdown(false);
}

#[test]
fn a_full_server_may_let_peers_wait() {
    let (server, echo, _noted) = serve(&["-ORBServerConnectionsMax", "1", "-ORBWhenFull", "wait"]);
    let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
    let echo = echo::Echo(client.string_to_object(&echo.0.to_string()).unwrap());
    let mut first = connect(server.listen_addresses()[0]);
    let key = corbie_testkit::object_key_in(&echo.0.to_string());
    let request = corbie_testkit::RawRequest {
        object_key: &key,
        operation: "double",
        request_id: 1,
        arguments: &21i64.to_be_bytes(),
    };
    first.send(&request.octets()).unwrap();
    first.receive_message(PATIENCE).unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| echo.double(3));
        // The one that is in is served on; the call waits in the system's queue.
        first.send(&request.octets()).unwrap();
        first.receive_message(PATIENCE).unwrap();
        assert!(!call.is_finished());
        drop(first);
        assert_eq!(call.join().unwrap().unwrap(), 6, "served as soon as there is a place");
    });
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_server_listens_on_several_endpoints_and_publishes_each() {
    let (server, echo, _noted) = serve(&["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let addresses = server.listen_addresses();
    assert_eq!(addresses.len(), 2);
    let profile = echo.0.ior().iiop_profiles().unwrap().remove(0);
    let published: Vec<_> = profile.addresses().iter().map(|a| a.port).collect();
    assert_eq!(published, addresses.iter().map(SocketAddr::port).collect::<Vec<_>>());
    server.bind_object_key("Echo", &echo.0);
    for address in addresses {
        let client = loopback_orb(&[]);
        let object = client.string_to_object(&format!("corbaloc::{address}/Echo")).unwrap();
        assert_eq!(echo::Echo(object).double(4).unwrap(), 8, "{address}");
        client.shutdown(true);
    }
    server.shutdown(true);
}

#[test]
fn a_message_under_way_is_no_silence() {
    with_each_strategy(|concurrency| {
        let (server, echo, _noted) = serve(&[
            "-ORBServerConcurrency",
            concurrency,
            "-ORBFirstOctetTimeout",
            "500ms",
            "-ORBServerIdleTimeout",
            "500ms",
        ]);
        let mut silent = connect(server.listen_addresses()[0]);
        let mut slow = connect(server.listen_addresses()[0]);
        let key = corbie_testkit::object_key_in(&echo.0.to_string());
        let request = corbie_testkit::RawRequest {
            object_key: &key,
            operation: "double",
            request_id: 1,
            arguments: &21i64.to_be_bytes(),
        };
        let octets = request.octets();
        slow.send(&octets[..20]).unwrap();
        assert!(silent.answered(PATIENCE).is_closed(), "{concurrency}");
        slow.send(&octets[20..]).unwrap();
        assert!(slow.receive_message(PATIENCE).is_ok(), "{concurrency}: it was not cut off");
        assert!(slow.answered(PATIENCE).is_closed(), "{concurrency}: it is silent now");
        server.shutdown(true);
    });
}

#[test]
fn a_peer_that_always_has_half_a_message_under_way_is_not_slow() {
    with_each_strategy(|concurrency| {
        let (server, echo, _noted) =
            serve(&["-ORBServerConcurrency", concurrency, "-ORBMessageTimeout", "2s"]);
        let mut peer = connect(server.listen_addresses()[0]);
        let key = corbie_testkit::object_key_in(&echo.0.to_string());
        let request = corbie_testkit::RawRequest {
            object_key: &key,
            operation: "double",
            request_id: 1,
            arguments: &21i64.to_be_bytes(),
        };
        let (begin, end) = (request.octets()[..30].to_vec(), request.octets()[30..].to_vec());
        let rest_and_next = [end, begin.clone()].concat();
        peer.send(&begin).unwrap();
        let begun = Instant::now();
        // Longer than the time-out and the two looks of housekeeping.
        while begun.elapsed() < Duration::from_secs(5) {
            peer.send(&rest_and_next).unwrap();
            let reply = peer.receive_message(PATIENCE);
            assert!(reply.is_ok(), "{concurrency}: closed after {:?}", begun.elapsed());
        }
        server.shutdown(true);
    });
}
