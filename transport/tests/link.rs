//! What every transport has to do, shown on TCP: octets arrive whole and in order, waits end when
//! they should, and a thread that waits is woken by the end of what it waits for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_transport::{Acceptor, Endpoint, Link, WaitStrategy, Waiter};
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(50);
/// More than the socket buffers of both ends hold.
const MUCH: usize = 48 << 20;

fn acceptor_on(address: &str) -> Acceptor {
    Acceptor::bind(address.parse().unwrap()).unwrap()
}

fn connect(host: &str, acceptor: &Acceptor) -> Link {
    let endpoint = Endpoint::tcp(host, acceptor.socket_address().unwrap().port());
    Link::connect(&endpoint, Some(PATIENCE), None).unwrap()
}

/// The two ends of a connection.
fn pair() -> (Link, Link) {
    let acceptor = acceptor_on("127.0.0.1:0");
    let ours = connect("127.0.0.1", &acceptor);
    (ours, acceptor.accept().unwrap())
}

fn receive_all_of(link: &Link) -> Vec<u8> {
    let mut received = Vec::new();
    let mut space = vec![0; 1 << 20];
    loop {
        match link.receive(&mut space).unwrap() {
            0 => return received,
            octets => received.extend_from_slice(&space[..octets]),
        }
    }
}

/// Looks until `holds`, for what another thread or the system brings about.
#[track_caller]
fn eventually(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it never held");
        thread::yield_now();
    }
}

#[test]
fn octets_arrive_in_both_directions() {
    let (ours, theirs) = pair();
    let mut space = [0; 16];
    assert_eq!(ours.try_receive(&mut space).unwrap(), None, "nothing was sent yet");
    ours.send_one(b"request").unwrap();
    assert_eq!(theirs.receive(&mut space).unwrap(), 7);
    assert_eq!(&space[..7], b"request");
    let pieces: [&[u8]; 5] = [b"", b"re", b"", b"ply", b""];
    theirs.send(&mut pieces.map(IoSlice::new)).unwrap();
    assert_eq!(ours.receive_all(&mut space[..5]).unwrap(), 5);
    assert_eq!(&space[..5], b"reply");
    theirs.send(&mut []).unwrap();
    drop(theirs);
    assert_eq!(ours.receive(&mut space).unwrap(), 0, "the peer has closed");
}

#[test]
fn more_than_the_buffers_hold_arrives_whole_and_in_order() {
    let octets: Vec<u8> = (0..MUCH).map(|i| (i / 7) as u8).collect();
    let pieces: Vec<&[u8]> = octets.chunks(MUCH / 30).collect();
    for gathered in [false, true] {
        let (ours, theirs) = pair();
        let received = thread::spawn(move || receive_all_of(&theirs));
        if gathered {
            let mut slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            ours.send(&mut slices).unwrap();
        } else {
            ours.send_one(&octets).unwrap();
        }
        drop(ours);
        assert!(received.join().unwrap() == octets, "gathered: {gathered}");
    }
}

#[test]
fn sending_to_a_peer_that_does_not_read_ends_in_time() {
    let octets = vec![7; MUCH];
    let (ours, _theirs) = pair();
    ours.set_send_timeout(Some(SOON)).unwrap();
    let begun = Instant::now();
    assert_eq!(ours.send_one(&octets).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() >= SOON);
    assert!(begun.elapsed() < PATIENCE);
    let begun = Instant::now();
    ours.send_now(b"nobody listens");
    assert!(begun.elapsed() < PATIENCE, "a last word is not waited for");
}

#[test]
fn a_peer_that_reads_octet_by_octet_does_not_hold_a_sender() {
    let octets = vec![7; MUCH];
    let (ours, theirs) = pair();
    ours.set_send_timeout(Some(Duration::from_millis(200))).unwrap();
    let reader = thread::spawn(move || while theirs.receive(&mut [0]).is_ok_and(|n| n > 0) {});
    let begun = Instant::now();
    assert_eq!(ours.send_one(&octets).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(octets);
    ours.shutdown();
    drop(ours);
    // What the buffers hold is read to its end, or until the connection is reset.
    reader.join().unwrap();
}

#[test]
fn receiving_ends_in_time_and_goes_on_afterwards() {
    let (ours, theirs) = pair();
    let mut space = [0; 8];
    ours.set_receive_timeout(Some(SOON)).unwrap();
    for _ in 0..2 {
        let begun = Instant::now();
        assert_eq!(ours.receive(&mut space).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() >= SOON - Duration::from_millis(5));
    }
    theirs.send_one(b"abc").unwrap();
    assert_eq!(ours.receive_all(&mut space).unwrap(), 3, "a part, when the time is over");
    ours.set_receive_timeout(None).unwrap();
    theirs.send_one(b"defgh").unwrap();
    theirs.send_one(b"ijk").unwrap();
    assert_eq!(ours.receive_all(&mut space).unwrap(), 8, "all of it, in one call");
    drop(theirs);
    assert_eq!(ours.receive_all(&mut space).unwrap(), 0);
}

#[test]
fn an_idle_link_is_stale_when_anything_came() {
    let (ours, theirs) = pair();
    assert!(!ours.is_stale());
    ours.send_one(b"x").unwrap();
    eventually(|| theirs.is_stale());
    assert_eq!(theirs.receive(&mut [0; 4]).unwrap(), 1, "a look takes nothing");
    assert!(!theirs.is_stale());
    drop(ours);
    eventually(|| theirs.is_stale());
}

#[test]
fn shutdown_wakes_a_thread_that_receives() {
    for strategy in [WaitStrategy::Block, WaitStrategy::Spin(PATIENCE)] {
        let (ours, _theirs) = pair();
        thread::scope(|scope| {
            let receiver = scope.spawn(|| Waiter::new(strategy).receive(&ours, &mut [0; 8]));
            ours.shutdown();
            assert_eq!(receiver.join().unwrap().unwrap(), 0, "{strategy:?}");
        });
    }
}

#[test]
fn closing_an_acceptor_wakes_a_thread_that_accepts() {
    let acceptor = acceptor_on("127.0.0.1:0");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| acceptor.accept().map(|link| link.peer()));
        acceptor.close();
        assert!(waiting.join().unwrap().is_err());
    });
    let endpoint = Endpoint::tcp("127.0.0.1", acceptor.socket_address().unwrap().port());
    assert!(Link::connect(&endpoint, Some(PATIENCE), None).is_err(), "nobody listens any more");
    // The port can be taken again at once.
    let again = Acceptor::bind(acceptor.socket_address().unwrap()).unwrap();
    assert_eq!(again.socket_address(), acceptor.socket_address());
}

#[test]
fn connecting_fails_with_a_reason_and_in_time() {
    let acceptor = acceptor_on("127.0.0.1:0");
    let port = acceptor.socket_address().unwrap().port();
    drop(acceptor);
    let dead = Endpoint::tcp("127.0.0.1", port);
    let error = Link::connect(&dead, Some(PATIENCE), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let error = Link::connect(&dead, None, Some(Instant::now())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "the deadline is over before it begins");
    assert!(Link::connect(&Endpoint::tcp("no.such.host.invalid", 1), None, None).is_err());
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

#[test]
fn every_way_of_waiting_gets_what_comes_and_ends_in_time() {
    let budget = Duration::from_micros(50);
    for strategy in
        [WaitStrategy::Block, WaitStrategy::Spin(budget), WaitStrategy::Adaptive(budget)]
    {
        let (ours, theirs) = pair();
        let echo = thread::spawn(move || {
            let mut waiter = Waiter::new(strategy);
            let mut space = [0; 8];
            while let Ok(octets @ 1..) = waiter.receive(&theirs, &mut space) {
                theirs.send_one(&space[..octets]).unwrap();
            }
        });
        let mut waiter = Waiter::new(strategy);
        let mut space = [0; 8];
        for round in 0..500u32 {
            ours.send_one(&round.to_be_bytes()).unwrap();
            assert_eq!(waiter.receive(&ours, &mut space).unwrap(), 4);
            assert_eq!(space[..4], round.to_be_bytes(), "{strategy:?}");
        }
        ours.set_receive_timeout(Some(SOON)).unwrap();
        let error = waiter.receive(&ours, &mut space).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{strategy:?}");
        ours.shutdown();
        echo.join().unwrap();
    }
}
