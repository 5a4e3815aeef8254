//! Waits end when they should, and not before: when octets come, when there is room, when their
//! time is over.

use super::{PATIENCE, SOON, TransportSubject, pattern};
use corbie_transport::{WaitStrategy, Waiter};
use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

/// A peer that reads nothing is waited for as long as was said, not twice as long.
///
/// # Panics
/// When sending ends too early, or takes more than 5 % longer each time.
pub fn sending_ends_when_it_was_said(subject: &dyn TransportSubject) {
    const SAID: Duration = Duration::from_millis(500);
    let octets = vec![7; subject.too_much()];
    let taken = || {
        let (ours, _theirs) = subject.pair();
        ours.set_send_timeout(Some(SAID)).expect("a time-out");
        let begun = Instant::now();
        let error = ours.send_one(&octets).expect_err("the peer reads nothing");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        begun.elapsed()
    };
    // A busy machine may wake the thread late: it has twenty attempts to be in time once.
    let mut times = vec![];
    while times.len() < 20 && times.last().is_none_or(|time| *time >= SAID.mul_f64(1.05)) {
        times.push(taken());
    }
    assert!(times.iter().all(|time| *time >= SAID), "{times:?}");
    assert!(times.iter().any(|time| *time < SAID.mul_f64(1.05)), "{times:?}");
}

/// A peer that reads nothing ends a send in time, and a last word is not waited for.
///
/// # Panics
/// When sending does not end, or ends otherwise.
pub fn sending_ends_in_time(subject: &dyn TransportSubject) {
    let octets = vec![7; subject.too_much()];
    let (ours, _theirs) = subject.pair();
    ours.set_send_timeout(Some(SOON)).expect("a time-out");
    let begun = Instant::now();
    let error = ours.send_one(&octets).expect_err("the peer does not read");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() >= SOON, "{:?}", begun.elapsed());
    assert!(begun.elapsed() < PATIENCE);
    let begun = Instant::now();
    ours.send_now(b"no peer reads this");
    assert!(begun.elapsed() < PATIENCE, "a last word is not waited for");
}

/// A peer that takes an octet at a time does not get more time for each.
///
/// # Panics
/// When the sender is held.
pub fn a_slow_reader_does_not_hold_a_sender(subject: &dyn TransportSubject) {
    let octets = vec![7; subject.too_much()];
    let (ours, theirs) = subject.pair();
    ours.set_send_timeout(Some(Duration::from_millis(200))).expect("a time-out");
    thread::scope(|scope| {
        scope.spawn(|| while theirs.receive(&mut [0]).is_ok_and(|octets| octets > 0) {});
        let begun = Instant::now();
        let error = ours.send_one(&octets).expect_err("it takes too long");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        theirs.shutdown();
    });
}

/// Back pressure: sending without waiting takes what there is room for and no more; when the peer
/// has read, sending goes on.
///
/// # Panics
/// When octets are lost, or room is not found.
pub fn sending_goes_on_when_there_is_room(subject: &dyn TransportSubject) {
    let octets = pattern(subject.too_much());
    let (ours, theirs) = subject.pair();
    let mut sent = 0;
    while sent < octets.len() {
        match ours.try_send(&octets[sent..]).expect("no error") {
            0 => break,
            some => sent += some,
        }
    }
    assert!(sent > 0 && sent < octets.len(), "{sent} octets without anybody reading");
    let mut received = vec![0; sent];
    assert_eq!(theirs.receive_all(&mut received).expect("octets"), sent);
    assert!(received == octets[..sent]);
    let more = &octets[sent..sent + 10];
    ours.send_one(more).expect("there is room again");
    assert_eq!(theirs.receive_all(&mut received[..10]).expect("octets"), 10);
    assert_eq!(received[..10], *more);
}

/// A receive ends in time with nothing, and leaves the link as it was.
///
/// # Panics
/// When it does not end, or what comes later is lost.
pub fn receiving_ends_in_time_and_goes_on(subject: &dyn TransportSubject) {
    let (ours, theirs) = subject.pair();
    let mut space = [0; 8];
    ours.set_receive_timeout(Some(SOON)).expect("a time-out");
    for _ in 0..2 {
        let begun = Instant::now();
        let error = ours.receive(&mut space).expect_err("nothing was sent");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() >= SOON - Duration::from_millis(5), "{:?}", begun.elapsed());
    }
    theirs.send_one(b"abc").expect("to send");
    assert_eq!(ours.receive_all(&mut space).expect("a part"), 3, "when the time is over");
    ours.set_receive_timeout(None).expect("no time-out");
    theirs.send_one(b"defgh").expect("to send");
    theirs.send_one(b"ijk").expect("to send");
    assert_eq!(ours.receive_all(&mut space).expect("all of it"), 8, "in one call");
    assert_eq!(&space, b"defghijk");
    drop(theirs);
    assert_eq!(ours.receive_all(&mut space).expect("the end"), 0);
}

/// Blocking, spinning and finding out which pays.
///
/// # Panics
/// When a round is lost, or a wait does not end.
pub fn every_way_of_waiting_gets_what_comes(subject: &dyn TransportSubject) {
    let budget = Duration::from_micros(50);
    for strategy in
        [WaitStrategy::Block, WaitStrategy::Spin(budget), WaitStrategy::Adaptive(budget)]
    {
        let (ours, theirs) = subject.pair();
        let echo = thread::spawn(move || {
            let mut waiter = Waiter::new(strategy);
            let mut space = [0; 8];
            while let Ok(octets @ 1..) = waiter.receive(&theirs, &mut space) {
                theirs.send_one(&space[..octets]).expect("to send");
            }
        });
        let mut waiter = Waiter::new(strategy);
        let mut space = [0; 8];
        for round in 0..500u32 {
            ours.send_one(&round.to_be_bytes()).expect("to send");
            let mut received = 0;
            while received < 4 {
                received += waiter.receive(&ours, &mut space[received..]).expect("the echo");
            }
            assert_eq!(space[..4], round.to_be_bytes(), "{strategy:?}");
        }
        ours.set_receive_timeout(Some(SOON)).expect("a time-out");
        let error = waiter.receive(&ours, &mut space).expect_err("nothing comes");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{strategy:?}");
        ours.shutdown();
        echo.join().expect("no panic");
    }
}
