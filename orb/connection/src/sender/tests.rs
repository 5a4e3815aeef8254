//! Tests of the sender: every row of its table, over a link that takes what a test allows; order,
//! batches and bounds over a real one.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod interleavings;
mod over_a_socket;
mod properties;

use super::word::State;
use super::{Limits, Look, Put, Release, SendFault, Sender, Taking, Terms, When};
use crate::Octets;
use corbie_cdr::{ByteOrder, Encoder};
use corbie_threads::thread::Patience;
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LIMITS: Limits = Limits { queued_octets_max: 64, batch_octets: 32, small_octets: 2 };

/// A link that takes what it has room for.
#[derive(Default)]
struct Wire {
    taken: RefCell<Vec<u8>>,
    room: Cell<usize>,
    is_reset: Cell<bool>,
    is_shut: Cell<bool>,
    sends: Cell<usize>,
}

impl Wire {
    fn with_room(room: usize) -> Self {
        let wire = Wire::default();
        wire.room.set(room);
        wire
    }

    fn took(&self) -> String {
        String::from_utf8(self.taken.borrow().clone()).unwrap()
    }
}

impl Octets for Wire {
    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.sends.set(self.sends.get() + 1);
        if self.is_reset.get() || self.is_shut.get() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let taken = octets.len().min(self.room.get());
        self.room.set(self.room.get() - taken);
        self.taken.borrow_mut().extend_from_slice(&octets[..taken]);
        Ok(taken)
    }

    fn try_receive(&self, _space: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn shutdown(&self) {
        self.is_shut.set(true);
    }
}

const ROOM: usize = 1 << 20;
const BY_POLICY: When = When::Held { octets: 1000, messages: 3, until: Release::FlushAll };

fn message(octets: &[u8]) -> Encoder<'_> {
    let mut message = Encoder::pooled(ByteOrder::NATIVE);
    message.write_octets(octets);
    message
}

fn terms(when: When, patience: Patience) -> Terms {
    Terms { fragment_octets: None, when, patience, until: None }
}

fn put(sender: &Sender, wire: &Wire, octets: &str, when: When) -> Result<Put, SendFault> {
    sender.put(wire, &mut message(octets.as_bytes()), &terms(when, Patience::Queue))
}

fn state(sender: &Sender) -> State {
    sender.word.state()
}

/// A sender that is blocked with the end of `blocked`.
fn blocked(wire: &Wire) -> Sender {
    let sender = Sender::new(LIMITS);
    wire.room.set(3);
    assert!(matches!(put(&sender, wire, "blocked ", When::Now).unwrap(), Put::Waits(_)));
    assert_eq!(state(&sender), State::Blocked);
    sender
}

#[test]
fn idle_sends_at_once_and_is_idle_again() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    assert_eq!(put(&sender, &wire, "now", When::Now).unwrap(), Put::Sent);
    assert_eq!((state(&sender), wire.took().as_str(), wire.sends.get()), (State::Idle, "now", 1));
    assert!(!sender.waits());
}

#[test]
fn idle_keeps_what_is_for_later_and_a_flush_sends_it() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    let first = put(&sender, &wire, "a", When::Later).unwrap();
    let second = put(&sender, &wire, "b", When::Later).unwrap();
    assert!(matches!(first, Put::Kept { is_new: true, .. }), "{first:?}");
    assert!(matches!(second, Put::Kept { is_new: false, .. }), "{second:?}");
    assert_eq!((state(&sender), wire.took().as_str()), (State::Kept, ""));
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str(), wire.sends.get()), (State::Idle, "ab", 1));
}

#[test]
fn a_full_batch_goes_at_once() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    put(&sender, &wire, &"a".repeat(31), When::Later).unwrap();
    assert_eq!(put(&sender, &wire, "b", When::Later).unwrap(), Put::Sent);
    assert_eq!((state(&sender), wire.sends.get()), (State::Idle, 1));
}

#[test]
fn what_is_sent_now_takes_what_is_kept_along_in_order() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    put(&sender, &wire, "kept ", BY_POLICY).unwrap();
    assert_eq!(put(&sender, &wire, "now", When::Now).unwrap(), Put::Sent);
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "kept now"));
}

#[test]
fn what_a_policy_holds_goes_by_count_and_by_a_flush_of_all_only() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    for octets in ["a", "b"] {
        put(&sender, &wire, octets, BY_POLICY).unwrap();
    }
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!(sender.tick(&wire), Look::Nothing, "the flusher need not come for it");
    assert_eq!((state(&sender), wire.took().as_str()), (State::Kept, ""));
    put(&sender, &wire, "c", BY_POLICY).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "abc"));
    put(&sender, &wire, "d", BY_POLICY).unwrap();
    sender.flush_all(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "abcd"));
}

#[test]
fn what_a_policy_holds_for_a_time_is_sent_when_it_has_come() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    let until = |time| When::Held { octets: 1000, messages: 0, until: Release::Time(time) };
    put(&sender, &wire, "a", until(Instant::now() + Duration::from_secs(3600))).unwrap();
    assert_eq!((sender.tick(&wire), sender.tick(&wire)), (Look::New, Look::New));
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!(wire.took(), "");
    // Behind what goes out sooner it goes out sooner.
    put(&sender, &wire, "b", When::Later).unwrap();
    sender.flush(&wire, Patience::Queue).unwrap();
    put(&sender, &wire, "c", until(Instant::now())).unwrap();
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "abc"));
}

#[test]
fn the_flusher_sends_what_has_waited_for_a_tick() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    put(&sender, &wire, "a", When::Later).unwrap();
    assert_eq!((sender.tick(&wire), wire.took().as_str()), (Look::New, ""));
    assert_eq!((sender.tick(&wire), wire.took().as_str()), (Look::Nothing, "a"));
}

#[test]
fn a_peer_that_takes_nothing_is_tried_less_and_less_often() {
    let wire = Wire::default();
    let sender = blocked(&wire);
    let before = wire.sends.get();
    let tries: Vec<u32> = (0..64)
        .filter(|_| {
            let sends = wire.sends.get();
            assert_ne!(sender.tick(&wire), Look::Nothing);
            wire.sends.get() > sends
        })
        .collect();
    assert_eq!(tries, [1, 2, 4, 8, 16, 32, 48]);
    assert_eq!(wire.sends.get(), before + 7);
    // One that takes a little is tried at the next tick.
    wire.room.set(1);
    while wire.room.get() > 0 {
        sender.tick(&wire);
    }
    let sends = wire.sends.get();
    sender.tick(&wire);
    assert_eq!(wire.sends.get(), sends + 1);
}

#[test]
fn a_full_peer_blocks_and_room_sends_the_rest_first() {
    let wire = Wire::default();
    let sender = blocked(&wire);
    assert!(matches!(put(&sender, &wire, "next ", When::Now).unwrap(), Put::Waits(_)));
    assert!(matches!(put(&sender, &wire, "last", When::Later).unwrap(), Put::Kept { .. }));
    assert_eq!((state(&sender), wire.took().as_str()), (State::Blocked, "blo"));
    wire.room.set(4);
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Blocked, "blocked"));
    wire.room.set(ROOM);
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "blocked next last"));
}

#[test]
fn patience_decides_without_room() {
    let (wire, large) = (Wire::default(), "x".repeat(60));
    let sender = blocked(&wire);
    let try_put = |octets: &str, patience| {
        let put = sender.put(&wire, &mut message(octets.as_bytes()), &terms(When::Later, patience));
        put.map(drop).map_err(|fault| matches!(fault, SendFault::Full(_)))
    };
    // The bound itself, then fourfold, then only what is small.
    assert_eq!(try_put(&large, Patience::Refuse), Err(true));
    assert_eq!(try_put(&large[..59], Patience::Refuse), Ok(()));
    assert_eq!(try_put(&large, Patience::Queue), Ok(()));
    assert_eq!(try_put(&large, Patience::RunLoop), Ok(()));
    assert_eq!(try_put(&large, Patience::Queue), Ok(()));
    assert_eq!(try_put(&large, Patience::Queue), Err(true));
    assert_eq!(try_put("ab", Patience::Queue), Ok(()));
    assert_eq!(try_put(&large, Patience::Take), Ok(()));
    // A thread that may block sends itself; this link cannot wait.
    wire.room.set(ROOM);
    assert_eq!(try_put(&large, Patience::Block), Ok(()));
    assert_eq!((state(&sender), wire.taken.borrow().len()), (State::Idle, 8 + 59 + 5 * 60 + 2));
}

#[test]
fn a_message_alone_is_taken_however_large() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::default());
    assert!(put(&sender, &wire, &"x".repeat(1000), When::Now).is_ok());
    assert_eq!(sender.waiting(), 1000);
    assert!(sender.is_over_half());
}

#[test]
fn a_link_that_breaks_closes_and_tells_what_is_lost() {
    let wire = Wire::default();
    let sender = blocked(&wire);
    let Put::Waits(end) = put(&sender, &wire, "next", When::Now).unwrap() else { panic!() };
    let told = Arc::new(Mutex::new(Vec::new()));
    let then = Arc::clone(&told);
    sender.when_sent(end, Box::new(move |sent| then.lock().unwrap().push(sent)));
    wire.is_reset.set(true);
    let fault = put(&sender, &wire, "more", When::Now).unwrap_err();
    assert!(matches!(fault, SendFault::Unknown(_)), "{fault:?}");
    assert_eq!((state(&sender), wire.is_shut.get()), (State::Closed, true));
    assert_eq!(*told.lock().unwrap(), [false]);
    assert!(matches!(put(&sender, &wire, "late", When::Now), Err(SendFault::Closed)));
    assert!(matches!(put(&sender, &wire, "late", When::Later), Err(SendFault::Closed)));
    assert!(!sender.waits() && sender.is_closed());
}

#[test]
fn a_message_that_breaks_the_link_was_surely_not_sent() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::default());
    wire.is_reset.set(true);
    assert!(matches!(put(&sender, &wire, "now", When::Now), Err(SendFault::Failed(_))));
    assert_eq!(state(&sender), State::Closed);
}

#[test]
fn the_last_word_drains_then_closes() {
    let wire = Wire::default();
    let sender = blocked(&wire);
    sender.last(&wire, b"bye");
    sender.last(&wire, b"bye");
    assert_eq!((state(&sender), sender.has_last_word()), (State::Blocked, true));
    assert!(matches!(put(&sender, &wire, "late", When::Now), Err(SendFault::Closed)));
    sender.post(&wire, b"late");
    wire.room.set(ROOM);
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!((state(&sender), wire.took().as_str()), (State::Closed, "blocked bye"));
    assert!(wire.is_shut.get() && !sender.has_last_word());
}

#[test]
fn a_last_word_that_is_alone_does_not_wait() {
    for (room, took) in [(ROOM, "bye"), (1, "b")] {
        let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(room));
        sender.last(&wire, b"bye");
        assert_eq!((state(&sender), wire.took().as_str()), (State::Closed, took));
        assert!(wire.is_shut.get());
    }
}

#[test]
fn a_posted_word_goes_behind_what_is_kept_and_sends_it() {
    let (sender, wire) = (Sender::new(LIMITS), Wire::with_room(ROOM));
    put(&sender, &wire, "kept ", BY_POLICY).unwrap();
    sender.post(&wire, b"cancel");
    assert_eq!((state(&sender), wire.took().as_str()), (State::Idle, "kept cancel"));
}

#[test]
fn each_notice_is_told_once_and_what_is_lost_from_the_last_to_the_first() {
    let wire = Wire::default();
    let sender = blocked(&wire);
    let told = Arc::new(Mutex::new(Vec::new()));
    for name in ["1", "2", "3", "4"] {
        let Put::Waits(end) = put(&sender, &wire, name, When::Now).unwrap() else { panic!() };
        let told = Arc::clone(&told);
        sender.when_sent(end, Box::new(move |sent| told.lock().unwrap().push((name, sent))));
    }
    wire.room.set(7);
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!(*told.lock().unwrap(), [("1", true), ("2", true)]);
    sender.close(&wire);
    assert_eq!(told.lock().unwrap()[2..], [("4", false), ("3", false)]);
}

#[test]
fn what_a_peer_does_is_told_with_the_time_since_it_took_nothing() {
    let (wire, idle) = (Wire::default(), Sender::new(LIMITS));
    assert_eq!(idle.taking(), Taking::Freely);
    let before = Instant::now();
    let sender = blocked(&wire);
    let nothing_since = |before: Instant| match sender.taking() {
        Taking::NothingSince(since) if before <= since && since <= Instant::now() => since,
        other => panic!("{other:?} is not after {before:?}"),
    };
    let first = nothing_since(before);
    sender.flush(&wire, Patience::Queue).unwrap();
    put(&sender, &wire, "more", When::Now).unwrap();
    assert_eq!(nothing_since(before), first, "nothing was taken");
    wire.room.set(1);
    let again = Instant::now();
    sender.flush(&wire, Patience::Queue).unwrap();
    nothing_since(again);
    wire.room.set(ROOM);
    sender.flush(&wire, Patience::Queue).unwrap();
    assert_eq!(sender.taking(), Taking::Freely);
    put(&sender, &wire, "held", BY_POLICY).unwrap();
    assert_eq!(sender.taking(), Taking::Soon, "it was not offered");
    // The time of what waits now is its own.
    let last = Instant::now();
    wire.room.set(0);
    put(&sender, &wire, "now", When::Now).unwrap();
    nothing_since(last);
}
