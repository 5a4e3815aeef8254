//! The event loop with real links: nothing that comes is lost, whichever thread runs the loop and
//! whatever handlers do meanwhile.

use super::{Next, Pollers, Reactor, Source, Turn};
use crate::flusher::Flush;
use crate::thread::Sleeper;
use corbie_transport::{Acceptor, Link};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const NOW: Option<Duration> = Some(Duration::ZERO);

/// Counts the octets that it receives; each octet runs `upcall`, with the turn released.
struct Counter<F> {
    link: Link,
    octets: AtomicU32,
    upcall: F,
    deadline: Mutex<Option<Instant>>,
    flushed: AtomicBool,
}

impl<F: Fn(&Orb, u8) + Send + Sync> Source<Orb> for Counter<F> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.link.descriptor()
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, turn: &mut Turn<'_, Orb>) -> Next {
        let mut octet = [0; 1];
        match self.link.try_receive(&mut octet) {
            Ok(Some(1)) => {
                turn.release(true);
                self.octets.fetch_add(1, Ordering::SeqCst);
                (self.upcall)(orb, octet[0]);
                Next::Again
            }
            Ok(None) => Next::Wait,
            Ok(Some(_)) | Err(_) => Next::Remove,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        *self.deadline.lock().unwrap()
    }

    fn handle_timeout(self: Arc<Self>, _orb: &Orb, now: Instant) {
        let mut deadline = self.deadline.lock().unwrap();
        assert!(deadline.is_some_and(|deadline| deadline <= now), "not before its time");
        *deadline = None;
    }
}

impl<F: Send + Sync> Flush for Counter<F> {
    fn flush_old(&self) -> bool {
        false
    }

    fn before_waiting(&self) {
        self.flushed.store(true, Ordering::SeqCst);
    }
}

impl<F> Counter<F> {
    fn count(&self) -> u32 {
        self.octets.load(Ordering::SeqCst)
    }
}

fn pair<F: Fn(&Orb, u8)>(upcall: F) -> (Arc<Counter<F>>, Link) {
    let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let endpoint = acceptor.endpoint();
    let link = Link::connect(&endpoint, None, None).unwrap();
    let (octets, flushed) = (AtomicU32::new(0), AtomicBool::new(false));
    let counter = Counter { link, octets, upcall, deadline: Mutex::default(), flushed };
    (Arc::new(counter), acceptor.accept().unwrap())
}

/// Stands for the ORB.
struct Orb;

fn reactor(pollers: Pollers) -> io::Result<Arc<Reactor<Orb>>> {
    Reactor::new(pollers, || Some(Orb))
}

fn soon() -> Option<Instant> {
    Instant::now().checked_add(PATIENCE)
}

#[test]
fn all_that_came_is_handled_one_at_a_time() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let (counter, peer) = pair(|_, _| {});
    reactor.add(counter.clone()).unwrap();
    assert!(!reactor.run_once(&orb, NOW) || counter.count() == 0);
    peer.send_one(b"abc").unwrap();
    assert!(reactor.run_until(&orb, &|| counter.count() == 3, soon()));
    assert!(!reactor.has_work() || reactor.run_once(&orb, NOW), "at most the look that finds none");
    assert_eq!(counter.count(), 3);
}

#[test]
fn a_source_that_always_has_more_does_not_keep_another_waiting() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let (patient, patient_peer) = pair(|_, _| {});
    reactor.add(patient.clone()).unwrap();
    let told = AtomicBool::new(false);
    let (endless, endless_peer) = pair(move |_, _| {
        // Comes when the loop has work already, and would never wait.
        if !told.swap(true, Ordering::SeqCst) {
            patient_peer.send_one(b"x").unwrap();
        }
    });
    reactor.add(endless.clone()).unwrap();
    endless_peer.send_one(&[7; 4000]).unwrap();
    assert!(reactor.run_until(&orb, &|| patient.count() == 1, soon()));
    assert!(endless.count() < 4000, "it had more: {}", endless.count());
}

#[test]
fn a_flood_does_not_hold_who_waits_beyond_the_deadline() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    // Each octet handled brings another one, until the test has seen enough.
    let back: Arc<Mutex<Option<Link>>> = Arc::default();
    let to_itself = Arc::clone(&back);
    let begun = Instant::now();
    let (endless, peer) = pair(move |_, octet| {
        if begun.elapsed() < PATIENCE {
            to_itself.lock().unwrap().as_ref().unwrap().send_one(&[octet]).unwrap();
        }
    });
    *back.lock().unwrap() = Some(peer);
    reactor.add(endless.clone()).unwrap();
    back.lock().unwrap().as_ref().unwrap().send_one(b"xy").unwrap();
    let deadline = Instant::now() + Duration::from_millis(30);
    assert!(!reactor.run_until(&orb, &|| false, Some(deadline)));
    assert!(begun.elapsed() < PATIENCE, "it went on for {:?}", begun.elapsed());
    assert!(endless.count() > 2, "something always came");
}

#[test]
fn a_loop_nested_in_an_upcall_handles_what_follows_on_the_same_link() {
    let reactor = reactor(Pollers::OneAtATime).unwrap();
    let inner = Arc::clone(&reactor);
    let reached = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&reached);
    let (counter, peer) = pair(move |orb, octet| {
        if octet == b'1' {
            assert!(inner.run_until(orb, &|| seen.load(Ordering::SeqCst) == 2, soon()));
        } else {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    reactor.add(counter.clone()).unwrap();
    peer.send_one(b"123").unwrap();
    assert!(reactor.run_until(&Orb, &|| counter.count() == 3, soon()));
    assert_eq!(reached.load(Ordering::SeqCst), 2);
}

#[test]
fn followers_lead_when_the_leader_is_in_an_upcall_or_has_left() {
    for pollers in [Pollers::OneAtATime, Pollers::Many] {
        let reactor = reactor(pollers).unwrap();
        let handled = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&handled);
        // The first upcall returns when the others are over: they need other threads.
        let (counter, peer) = pair(move |_, octet| {
            seen.lock().unwrap().push(octet);
            let begun = Instant::now();
            while octet == b'1' && seen.lock().unwrap().len() < 3 {
                assert!(begun.elapsed() < PATIENCE, "no thread takes the lead");
                std::thread::yield_now();
            }
        });
        reactor.add(counter.clone()).unwrap();
        let orb = Orb;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !reactor.is_closed() {
                        reactor.run_until(&orb, &|| reactor.is_closed(), None);
                    }
                });
            }
            peer.send_one(b"123").unwrap();
            let begun = Instant::now();
            while handled.lock().unwrap().len() < 3 && begun.elapsed() < PATIENCE {
                std::thread::yield_now();
            }
            reactor.close();
        });
        assert_eq!(handled.lock().unwrap().len(), 3, "{pollers:?}");
    }
}

#[test]
fn a_thread_that_waits_is_unblocked_by_name() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let flags = [const { AtomicBool::new(false) }; 3];
    let sleepers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for flag in &flags {
            let (reactor, orb, sleepers) = (&reactor, &orb, &sleepers);
            scope.spawn(move || {
                sleepers.lock().unwrap().push((Sleeper::current(), flag));
                assert!(reactor.run_until(orb, &|| flag.load(Ordering::SeqCst), soon()));
            });
        }
        let mut woken = 0;
        while woken < flags.len() {
            for (sleeper, flag) in sleepers.lock().unwrap().drain(..) {
                flag.store(true, Ordering::SeqCst);
                reactor.unblock(&sleeper);
                woken += 1;
            }
            std::thread::yield_now();
        }
    });
}

#[test]
fn waits_end_at_the_least_deadline() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let (counter, _peer) = pair(|_, _| {});
    let (late, _other_peer) = pair(|_, _| {});
    *counter.deadline.lock().unwrap() = Some(Instant::now() + Duration::from_millis(20));
    *late.deadline.lock().unwrap() = Some(Instant::now() + PATIENCE * 10);
    reactor.add(counter.clone()).unwrap();
    reactor.add(late.clone()).unwrap();
    assert!(reactor.run_until(&orb, &|| counter.next_deadline().is_none(), soon()));
    assert!(late.next_deadline().is_some());
    let passed = Instant::now() + Duration::from_millis(5);
    assert!(!reactor.run_until(&orb, &|| false, Some(passed)), "its own deadline counts, too");
    assert!(Instant::now() >= passed);
}

#[test]
fn what_was_kept_back_is_flushed_before_the_wait() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let (counter, peer) = pair(|_, _| {});
    reactor.add(counter.clone()).unwrap();
    assert!(!reactor.is_awake());
    reactor.flush_before_waiting(counter.clone());
    peer.send_one(b"x").unwrap();
    assert!(reactor.run_until(&orb, &|| counter.count() == 1, soon()));
    assert!(counter.flushed.load(Ordering::SeqCst));
}

#[test]
fn a_source_is_forgotten_when_it_is_removed_or_has_ended() {
    let (orb, reactor) = (Orb, reactor(Pollers::OneAtATime).unwrap());
    let (removed, peer) = pair(|_, _| {});
    let removal = reactor.add(removed.clone()).unwrap();
    removal.remove();
    peer.send_one(b"x").unwrap();
    removal.again();
    let (ended, other_peer) = pair(|_, _| {});
    reactor.add(ended.clone()).unwrap();
    other_peer.send_one(b"y").unwrap();
    drop(other_peer);
    assert!(reactor.run_until(&orb, &|| Arc::strong_count(&ended) == 1, soon()));
    assert_eq!((removed.count(), ended.count()), (0, 1));
    assert_eq!(Arc::strong_count(&removed), 1);
}
