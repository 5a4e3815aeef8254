//! Beginnings and ends: connecting, refusing, closing either side or half of it, and a thread that
//! waits is woken by the end of what it waits for.

use super::{PATIENCE, TransportSubject, eventually, pattern, receive_to_the_end};
use corbie_transport::{Link, WaitStrategy, Waiter};
use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

/// Connecting where no acceptor listens fails with a reason, and not beyond its time.
///
/// # Panics
/// When it succeeds, or takes for ever.
pub fn a_dead_endpoint_refuses_in_time(subject: &dyn TransportSubject) {
    let dead = subject.dead_endpoint();
    let begun = Instant::now();
    let error = Link::connect(&dead, Some(PATIENCE), None).expect_err("no acceptor listens");
    let refusals = [ErrorKind::ConnectionRefused, ErrorKind::NotFound];
    assert!(refusals.contains(&error.kind()), "{error:?}");
    let over = Instant::now();
    let error = Link::connect(&dead, None, Some(over)).expect_err("the time is over");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error:?}");
    let soon = Instant::now() + Duration::from_millis(200);
    Link::connect(&dead, None, Some(soon)).expect_err("no acceptor listens");
    assert!(begun.elapsed() < PATIENCE);
}

/// Each end knows the other by a name that is not empty.
///
/// # Panics
/// When it does not.
pub fn the_peer_has_a_name(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    assert!(!ours.peer().to_string().is_empty());
    assert!(!theirs.peer().to_string().is_empty());
}

/// What was sent before a close is received before the end is.
///
/// # Panics
/// When octets are lost.
pub fn octets_come_before_the_end(subject: &dyn TransportSubject) {
    let octets = pattern(50_000);
    for is_dropped in [true, false] {
        let (ours, theirs) = subject.pair();
        let sender = thread::spawn({
            let octets = octets.clone();
            move || {
                theirs.send_one(&octets).expect("to send");
                if is_dropped {
                    return None;
                }
                theirs.shutdown();
                Some(theirs)
            }
        });
        assert!(receive_to_the_end(&ours) == octets);
        assert_eq!(ours.receive(&mut [0; 4]).expect("the end"), 0, "and stays so");
        drop(sender.join().expect("no panic"));
    }
}

/// A peer that has ended its sending direction can still be sent to.
///
/// # Panics
/// When octets are lost.
pub fn half_closed_links_still_send(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    if !subject.end_sending(&theirs) {
        return;
    }
    assert_eq!(ours.receive(&mut [0; 4]).expect("the end"), 0);
    ours.send_one(b"still here").expect("to send");
    let mut space = [0; 10];
    assert_eq!(theirs.receive_all(&mut space).expect("octets"), 10);
    assert_eq!(&space, b"still here");
}

/// Sending to who has gone is an error soon, and never a signal.
///
/// # Panics
/// When it is no error.
pub fn sending_to_a_closed_peer_is_an_error(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    drop(theirs);
    ours.set_send_timeout(Some(PATIENCE)).expect("a time-out");
    eventually("sending fails", || match ours.send_one(&[7; 1_000]) {
        Ok(()) => false,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::TimedOut);
            true
        }
    });
    ours.try_send(b"x").expect_err("it stays an error");
}

/// A look says whether anything came, and takes nothing.
///
/// # Panics
/// When it does otherwise.
pub fn an_idle_link_is_stale_when_anything_came(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    assert!(!ours.is_stale());
    ours.send_one(b"x").expect("to send");
    eventually("what was sent shows", || theirs.is_stale());
    assert_eq!(theirs.receive(&mut [0; 4]).expect("it"), 1, "a look takes nothing");
    assert!(!theirs.is_stale());
    drop(ours);
    eventually("the end shows", || theirs.is_stale());
}

/// A thread that receives, asleep or spinning, is woken when its own side ends the link.
///
/// # Panics
/// When it is not.
pub fn shutdown_wakes_a_thread_that_receives(subject: &dyn TransportSubject) {
    for strategy in [WaitStrategy::Block, WaitStrategy::Spin(PATIENCE)] {
        let (ours, _theirs) = subject.pair();
        thread::scope(|scope| {
            let receiver = scope.spawn(|| Waiter::new(strategy).receive(&ours, &mut [0; 8]));
            // Asleep, most likely.
            eventually("it waits", || !receiver.is_finished());
            thread::yield_now();
            ours.shutdown();
            let received = receiver.join().expect("no panic").expect("no error");
            assert_eq!(received, 0, "{strategy:?}");
        });
    }
}

/// A thread that accepts is woken when listening ends; then no peer can connect, and the place can
/// be taken again.
///
/// # Panics
/// When it is not so.
pub fn closing_an_acceptor_wakes_a_thread_that_accepts(subject: &dyn TransportSubject) {
    let acceptor = subject.listen();
    let endpoint = acceptor.endpoint();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| acceptor.accept().map(|link| link.peer()));
        acceptor.close();
        assert!(waiting.join().expect("no panic").is_err());
    });
    let failed = Link::connect(&endpoint, Some(Duration::from_secs(1)), None);
    assert!(failed.is_err(), "no acceptor listens any more");
}
