//! Octets arrive whole and in order, however they are cut: gathered, tiny, more than all buffers
//! hold, in both directions at once.

use super::{TransportSubject, pattern, receive_to_the_end};
use crate::Seed;
use corbie_transport::Link;
use std::io::{ErrorKind, IoSlice};
use std::thread;
use std::time::Duration;

/// Both ends send and receive; empty pieces are nothing; the end comes after what was sent.
///
/// # Panics
/// When the transport does otherwise, as all checks.
pub fn octets_arrive_in_both_directions(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    let mut space = [0; 16];
    assert_eq!(ours.try_receive(&mut space).expect("no error"), None, "nothing was sent yet");
    ours.send_one(b"request").expect("to send");
    assert_eq!(theirs.receive_all(&mut space[..7]).expect("octets"), 7);
    assert_eq!(&space[..7], b"request");
    let pieces: [&[u8]; 5] = [b"", b"re", b"", b"ply", b""];
    theirs.send(&mut pieces.map(IoSlice::new)).expect("to send gathered");
    assert_eq!(ours.receive_all(&mut space[..5]).expect("octets"), 5);
    assert_eq!(&space[..5], b"reply");
    theirs.send(&mut []).expect("nothing to be sent");
    drop(theirs);
    assert_eq!(ours.receive(&mut space).expect("the end"), 0, "the peer has closed");
}

/// Much more than lies between the ends, as one piece and as many.
///
/// # Panics
/// When octets are lost, doubled or swapped.
pub fn more_than_the_buffers_hold_arrives_whole(subject: &dyn TransportSubject) {
    let octets = pattern(subject.too_much());
    // A prime number of octets a piece, so that pieces end everywhere.
    for piece in [None, Some(1_622_353), Some(8_191)] {
        let (ours, theirs) = subject.pair();
        let received = thread::spawn(move || receive_to_the_end(&theirs));
        match piece {
            None => ours.send_one(&octets).expect("to send"),
            Some(piece) => {
                for some in octets.chunks(piece * 30) {
                    let mut slices: Vec<_> = some.chunks(piece).map(IoSlice::new).collect();
                    ours.send(&mut slices).expect("to send gathered");
                }
            }
        }
        drop(ours);
        assert!(received.join().expect("no panic") == octets, "pieces of {piece:?}");
    }
}

/// Neither direction holds up the other.
///
/// # Panics
/// When octets are lost, or nothing goes on.
pub fn both_directions_at_once(subject: &dyn TransportSubject) {
    let octets = pattern(subject.too_much() / 4);
    let (ours, theirs) = subject.pair();
    let take = |link: &Link| {
        let mut received = vec![0; octets.len()];
        assert_eq!(link.receive_all(&mut received).expect("octets"), octets.len());
        assert!(received == octets);
    };
    thread::scope(|scope| {
        for link in [&ours, &theirs] {
            scope.spawn(|| take(link));
            scope.spawn(|| link.send_one(&octets).expect("to send"));
        }
    });
}

/// Thousands of pieces of any size, sent and received in every way that there is.
///
/// # Panics
/// When octets are lost, doubled or swapped.
pub fn thousands_of_random_chunks(subject: &dyn TransportSubject) {
    let octets = pattern(6 << 20);
    for seed in 1..=3 {
        let (ours, theirs) = subject.pair();
        thread::scope(|scope| {
            scope.spawn(|| send_at_random(&ours, &octets, Seed::new(seed)));
            receive_at_random(&theirs, &octets, Seed::new(seed + 1_000));
        });
    }
}

/// Mostly tiny pieces, some of many thousand octets.
fn random_size(seed: &mut Seed) -> usize {
    let most = [1, 8, 100, 3_000, 70_000][seed.below(5)];
    1 + seed.below(most)
}

fn send_at_random(link: &Link, octets: &[u8], mut seed: Seed) {
    let mut rest = octets;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(random_size(&mut seed).min(rest.len()));
        match seed.below(3) {
            0 => link.send_one(piece).expect("to send"),
            1 => {
                let cut = seed.below(piece.len());
                let mut slices = [IoSlice::new(&piece[..cut]), IoSlice::new(&piece[cut..])];
                link.send(&mut slices).expect("to send gathered");
            }
            _ => {
                let sent = link.try_send(piece).expect("to send some");
                link.send_one(&piece[sent..]).expect("to send the rest");
            }
        }
        rest = behind;
    }
    link.shutdown();
}

fn receive_at_random(link: &Link, octets: &[u8], mut seed: Seed) {
    let mut space = vec![0; 70_000];
    let mut received = 0;
    link.set_receive_timeout(Some(Duration::from_millis(1))).expect("a time-out");
    loop {
        let size = random_size(&mut seed);
        let space = &mut space[..size];
        let outcome = match seed.below(3) {
            0 => link.receive(space),
            1 => link.receive_all(space),
            _ => match link.try_receive(space) {
                Ok(None) => continue,
                outcome => outcome.map(|octets| octets.unwrap_or(0)),
            },
        };
        match outcome {
            Ok(0) => break,
            Ok(some) => {
                assert!(space[..some] == octets[received..received + some], "at {received}");
                received += some;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut, "at {received}"),
        }
    }
    assert_eq!(received, octets.len(), "all came before the end");
}
