//! Limits and time-outs of connections, with real sockets and short times: silent peers, a full
//! server, orderly shutdown, calls that take too long.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::SystemExceptionKind;
use corbie_testkit::RawPeer;
use echo::{as_client, loopback_orb, serve};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(20);

fn connect(address: SocketAddr) -> RawPeer {
    RawPeer::connect(address).unwrap()
}

#[test]
fn a_silent_peer_is_closed_and_others_are_served() {
    for concurrency in ["thread-per-connection", "thread-pool"] {
        let (server, echo, _noted) = serve(&[
            "-ORBServerConcurrency",
            concurrency,
            "-ORBFirstOctetTimeout",
            "200ms",
            "-ORBServerIdleTimeout",
            "1s",
        ]);
        let mut silent = connect(server.listen_addresses()[0]);
        assert_eq!(echo.double(1).unwrap(), 2);
        assert!(silent.answered(PATIENCE).is_closed(), "{concurrency}: closed, not left open");
        assert_eq!(echo.double(2).unwrap(), 4, "{concurrency}");
        server.shutdown(true);
    }
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
fn a_call_that_takes_too_long_is_a_timeout() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&["-ORBRequestTimeout", "150ms"]);
    let echo = as_client(&client, &echo);
    let begun = Instant::now();
    let exception = echo.wait(Duration::from_secs(5)).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert!(exception.to_string().contains("wait"), "{exception}");
    assert_eq!(echo.double(3).unwrap(), 6, "the next call has a connection of its own");
    server.shutdown(false);
}
