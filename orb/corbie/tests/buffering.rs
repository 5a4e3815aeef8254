//! Oneways without a waiting caller are kept back as the `BufferingConstraint` says, and sent together:
//! what a server sees of it, and when.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
mod script;

use corbie::policy::{BufferingConstraint, Policy, SetOverrideType, SyncScope};
use corbie::{Interface, Orb};
use echo::{Echo, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, id_of, message, reply, scripted};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Long enough for anything that is sent without being asked for: the flusher looks each
/// millisecond.
const A_WHILE: Duration = Duration::from_millis(150);

fn keeping(echo: &Echo, constraint: BufferingConstraint) -> Echo {
    let policies = [Policy::SyncScope(SyncScope::None), Policy::BufferingConstraint(constraint)];
    echo.set_policy_overrides(&policies, SetOverrideType::Add).unwrap()
}

/// A server, its client, and what oneways told its servant.
fn pair() -> (Orb, Orb, Echo, mpsc::Receiver<i64>) {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    (server, client, echo, noted)
}

#[track_caller]
fn nothing_came(noted: &mpsc::Receiver<i64>) {
    assert_eq!(noted.recv_timeout(A_WHILE), Err(RecvTimeoutError::Timeout));
}

#[track_caller]
fn came(noted: &mpsc::Receiver<i64>, values: impl IntoIterator<Item = i64>) {
    for value in values {
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(value));
    }
}

#[test]
fn oneways_wait_until_there_are_enough() {
    let (server, client, echo, noted) = pair();
    let echo = keeping(&echo, BufferingConstraint { count: Some(3), ..Default::default() });
    for round in 0..3 {
        for value in 0..2 {
            echo.note(round * 3 + value).unwrap();
        }
        nothing_came(&noted);
        echo.note(round * 3 + 2).unwrap();
        came(&noted, round * 3..round * 3 + 3);
    }
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn oneways_wait_until_they_are_large_enough() {
    let (server, client, echo, noted) = pair();
    // Less than four requests, each of which has more than 64 octets.
    let echo = keeping(&echo, BufferingConstraint { octets: Some(256), ..Default::default() });
    echo.note(0).unwrap();
    echo.note(1).unwrap();
    nothing_came(&noted);
    echo.note(2).unwrap();
    echo.note(3).unwrap();
    came(&noted, 0..3);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn oneways_wait_for_their_time() {
    let (server, client, echo, noted) = pair();
    let time = Some(2 * A_WHILE);
    let echo = keeping(&echo, BufferingConstraint { time, ..Default::default() });
    let begun = Instant::now();
    echo.note(1).unwrap();
    echo.note(2).unwrap();
    came(&noted, 1..3);
    assert!(begun.elapsed() >= 2 * A_WHILE, "{:?}", begun.elapsed());
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn oneways_wait_for_a_flush_and_for_calls_behind_them() {
    let (server, client, echo, noted) = pair();
    let kept = keeping(&echo, BufferingConstraint::default());
    kept.note(1).unwrap();
    kept.note(2).unwrap();
    nothing_came(&noted);
    client.flush();
    came(&noted, 1..3);
    kept.note(3).unwrap();
    nothing_came(&noted);
    // A call waits for its reply; what was sent before it goes before it.
    assert_eq!(echo.double(4).unwrap(), 8);
    assert_eq!(noted.try_recv(), Ok(3));
    kept.note(4).unwrap();
    nothing_came(&noted);
    // So does a oneway that is to be with the transport.
    echo.note(5).unwrap();
    came(&noted, 4..6);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_lone_oneway_is_not_kept_back() {
    let (server, client, echo, noted) = pair();
    let unkept = [Policy::SyncScope(SyncScope::None)];
    let echo = echo.set_policy_overrides(&unkept, SetOverrideType::Add).unwrap();
    // One of several, as the machine may be busy.
    let taken = (0..5).map(|value| {
        let begun = Instant::now();
        echo.note(value).unwrap();
        came(&noted, [value]);
        begun.elapsed()
    });
    let shortest = taken.min().unwrap();
    assert!(shortest < A_WHILE, "{shortest:?}");
    client.shutdown(true);
    server.shutdown(true);
}

/// How many messages come with the next octets that can be received at once.
fn messages_at_once(stream: &mut TcpStream) -> usize {
    let mut octets = vec![0; 1 << 16];
    let received = stream.read(&mut octets).unwrap();
    octets[..received].windows(4).filter(|window| window == b"GIOP").count()
}

#[test]
fn what_was_kept_back_goes_out_in_one_piece() {
    const COUNT: u32 = 50;
    let (looks, has_looked) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut stream = accept(listener);
        let together = messages_at_once(&mut stream);
        stream.set_read_timeout(Some(A_WHILE)).unwrap();
        let mut octet = [0];
        let more = stream.read(&mut octet).map_err(|error| error.kind());
        let timed_out = [Err(ErrorKind::WouldBlock), Err(ErrorKind::TimedOut)];
        assert!(timed_out.contains(&more), "{more:?}");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        looks.send(()).unwrap();
        // The next call, whose request takes the one kept back before it along.
        assert_eq!(message(&mut stream).unwrap()[16], 0);
        let request = message(&mut stream).unwrap();
        stream.write_all(&reply(id_of(&request), 0, &42i64.to_be_bytes())).unwrap();
        together
    });
    let (client, echo) = script::client(&url, &["-ORBGIOPVersion", "1.2"]);
    let kept = keeping(&echo, BufferingConstraint { count: Some(COUNT), ..Default::default() });
    for value in 0..i64::from(COUNT) + 1 {
        kept.note(value).unwrap();
    }
    has_looked.recv().unwrap();
    assert_eq!(echo.double(1).unwrap(), 42);
    assert_eq!(server.join().unwrap(), COUNT as usize, "in one segment");
    client.shutdown(true);
}
