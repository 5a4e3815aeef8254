//! What an event loop sees: an event for whatever comes, once, and one when there is room again.
//! Transports that cannot be watched pass by saying so.

use super::{PATIENCE, TransportSubject, eventually};
use corbie_transport::{Event, Events, Link, Readiness};
use std::time::{Duration, Instant};

const NOW: Option<Duration> = Some(Duration::ZERO);

fn events(readiness: &Readiness, timeout: Option<Duration>) -> Vec<Event> {
    readiness.wait(&mut Events::default(), 64, timeout).expect("to wait").collect()
}

/// Waits for an event that `is_it`.
#[track_caller]
fn expect_event(readiness: &Readiness, is_it: impl Fn(&Event) -> bool) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the event never came");
        if events(readiness, Some(left)).iter().any(&is_it) {
            return;
        }
    }
}

/// All that is there, so that the next event is of what comes next.
fn drain(link: &Link) {
    while link.try_receive(&mut [0; 64]).expect("no error").is_some_and(|octets| octets > 0) {}
}

/// Each arrival is an event, whether what came before was taken or not; nothing is told twice; the
/// end is told, too.
///
/// # Panics
/// When an event is missing or comes twice.
pub fn what_comes_is_told_once(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    let Some(descriptor) = ours.descriptor() else { return };
    let readiness = Readiness::new().expect("descriptors");
    theirs.send_one(b"before it was watched").expect("to send");
    let other = Readiness::new().expect("descriptors");
    other.add(descriptor, 6).expect("to watch");
    expect_event(&other, |event| event.token == 6 && event.input);
    other.remove(descriptor);
    readiness.add(descriptor, 7).expect("to watch");
    expect_event(&readiness, |event| event.token == 7 && event.input && !event.end);
    for takes_it in [false, true, true] {
        eventually("all was told", || events(&readiness, NOW).is_empty());
        if !subject.tells_of_more() {
            drain(&ours);
        }
        theirs.send_one(b"x").expect("to send");
        expect_event(&readiness, |event| event.token == 7 && event.input);
        if takes_it {
            eventually("it came", || ours.is_stale());
            drain(&ours);
            assert!(!ours.is_stale());
        }
    }
    eventually("all was told", || events(&readiness, NOW).is_empty());
    let begun = Instant::now();
    assert_eq!(events(&readiness, Some(Duration::from_millis(20))), []);
    assert!(begun.elapsed() >= Duration::from_millis(20), "nothing comes of nothing");
    drop(theirs);
    expect_event(&readiness, |event| event.input);
    let mut space = [0; 4];
    eventually("the end came", || ours.try_receive(&mut space).expect("the end") == Some(0));
    readiness.remove(descriptor);
}

/// When a link was full, the peer's reading makes an event for the thread that has something to
/// send.
///
/// # Panics
/// When the event does not come.
pub fn a_full_link_tells_when_there_is_room(subject: &dyn TransportSubject) {
    let octets = vec![7; subject.too_much()];
    let (ours, theirs) = subject.pair();
    let Some(descriptor) = ours.descriptor() else { return };
    let readiness = Readiness::new().expect("descriptors");
    readiness.add(descriptor, 3).expect("to watch");
    let mut space = vec![0; 1 << 20];
    for _ in 0..3 {
        let mut sent = 0;
        while let some @ 1.. = ours.try_send(&octets).expect("no error") {
            sent += some;
        }
        eventually("all was told", || events(&readiness, NOW).is_empty());
        let mut received = 0;
        while received < sent {
            received += theirs.receive(&mut space).expect("octets");
        }
        expect_event(&readiness, |event| event.output);
        // A link may have kept a part of what it did not count as sent: the same is offered again.
        let sent = ours.try_send(&octets[..space.len()]).expect("room");
        assert!(sent > 0);
        let mut received = 0;
        while received < sent {
            received += theirs.receive(&mut space).expect("it");
        }
    }
    readiness.remove(descriptor);
}

/// A listening side in an event loop: an event when a peer connects, and none to take otherwise.
///
/// # Panics
/// When the event does not come.
pub fn acceptors_can_be_watched(subject: &dyn TransportSubject) {
    let acceptor = subject.listen();
    let Some(descriptor) = acceptor.descriptor() else { return };
    acceptor.set_nonblocking().expect("to be non-blocking");
    let readiness = Readiness::new().expect("descriptors");
    readiness.add(descriptor, 5).expect("to watch");
    assert!(acceptor.try_accept().expect("no error").is_none());
    let endpoint = acceptor.endpoint();
    for round in 0..3u8 {
        let ours = std::thread::spawn({
            let endpoint = endpoint.clone();
            move || {
                let ours = Link::connect(&endpoint, Some(PATIENCE), None).expect("to connect");
                ours.send_one(&[round]).expect("to send");
                ours
            }
        });
        expect_event(&readiness, |event| event.token == 5 && event.input);
        let mut accepted = None;
        eventually("the peer is there", || {
            accepted = acceptor.try_accept().expect("no error");
            accepted.is_some()
        });
        let theirs = accepted.expect("just seen");
        let mut space = [0; 2];
        assert_eq!(theirs.receive(&mut space).expect("the link blocks as others do"), 1);
        assert_eq!(space[0], round);
        drop(ours.join().expect("no panic"));
        assert!(acceptor.try_accept().expect("no error").is_none());
    }
    readiness.remove(descriptor);
}
