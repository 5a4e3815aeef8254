//! Properties: whatever is put, flushed, taken and broken in whatever order, each message that was
//! accepted arrives once, whole and in order, or is told to be lost.

use super::super::queue::OVERDRAFT;
use super::super::word::State;
use super::super::{Put, Release, SendFault, Sender, Terms, When};
use super::{LIMITS, Wire, message};
use corbie_threads::thread::Patience;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// What a thread, the peer or the flusher does.
#[derive(Clone, Debug)]
enum Act {
    Put { octets: usize, when: When, patience: Patience },
    Room(usize),
    Flush,
    FlushAll,
    Tick,
    Post,
    Last,
    Reset,
    Close,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let when = prop_oneof![
        3 => Just(When::Now),
        2 => Just(When::Later),
        1 => (1..100_usize, 0..4_u32, prop_oneof![Just(Release::Flush), Just(Release::FlushAll)])
            .prop_map(|(octets, messages, until)| When::Held { octets, messages, until }),
    ];
    let patience =
        prop_oneof![Just(Patience::Queue), Just(Patience::RunLoop), Just(Patience::Refuse)];
    let put = (1..100_usize, when, patience).prop_map(|(octets, when, patience)| Act::Put {
        octets,
        when,
        patience,
    });
    let act = prop_oneof![
        40 => put,
        20 => (0..200_usize).prop_map(Act::Room),
        8 => Just(Act::Flush),
        4 => Just(Act::FlushAll),
        20 => Just(Act::Tick),
        4 => Just(Act::Post),
        1 => Just(Act::Last),
        1 => Just(Act::Reset),
        1 => Just(Act::Close),
    ];
    prop::collection::vec(act, 1..120)
}

/// A sender, its peer, and what is known of both.
struct Scene {
    sender: Sender,
    wire: Wire,
    /// What was accepted, in order.
    expected: Vec<u8>,
    /// What became of each message that was to be told.
    told: Arc<Mutex<Vec<(usize, bool)>>>,
    notices: usize,
    next: u8,
}

impl Scene {
    fn does(&mut self, act: &Act) {
        match act {
            Act::Put { octets, when, patience } => self.put(*octets, *when, *patience),
            Act::Room(octets) => self.wire.room.set(*octets),
            Act::Flush => drop(self.sender.flush(&self.wire, Patience::Queue)),
            Act::FlushAll => drop(self.sender.flush_all(&self.wire, Patience::Queue)),
            Act::Tick => drop(self.sender.tick(&self.wire)),
            Act::Post => {
                if !self.sender.is_closed() && !self.sender.has_last_word() {
                    self.expected.extend_from_slice(b"post");
                }
                self.sender.post(&self.wire, b"post");
            }
            Act::Last => {
                if !self.sender.is_closed() && !self.sender.has_last_word() {
                    self.expected.extend_from_slice(b"last");
                }
                self.sender.last(&self.wire, b"last");
            }
            Act::Reset => self.wire.is_reset.set(true),
            Act::Close => self.sender.close(&self.wire),
        }
    }

    fn put(&mut self, octets: usize, when: When, patience: Patience) {
        self.next = self.next.wrapping_add(1);
        let content = vec![self.next; octets];
        let terms = Terms { fragment_octets: None, when, patience, until: None };
        let before = self.sender.waiting();
        match self.sender.put(&self.wire, &mut message(&content), &terms) {
            Ok(put) => {
                self.expected.extend_from_slice(&content);
                match put {
                    Put::Sent => assert!(!self.sender.waits(), "all before it was sent"),
                    Put::Waits(end) | Put::Kept { end, .. } => {
                        let (told, end_octet) = (Arc::clone(&self.told), self.expected.len());
                        let then = move |sent| told.lock().unwrap().push((end_octet, sent));
                        self.notices += 1;
                        self.sender.when_sent(end, Box::new(then));
                    }
                }
            }
            Err(SendFault::Full(waiting)) => {
                let most = match patience {
                    Patience::Refuse => LIMITS.queued_octets_max,
                    _ => LIMITS.queued_octets_max * OVERDRAFT,
                };
                assert!(before > 0 && waiting + octets > most, "{waiting} wait, {octets} more");
            }
            Err(SendFault::Closed) => {
                assert!(self.sender.is_closed() || self.sender.has_last_word());
            }
            Err(_) => assert!(self.wire.is_reset.get() && self.sender.is_closed()),
        }
    }

    /// What holds after every act.
    fn check(&self) {
        let took = self.wire.taken.borrow();
        assert!(self.expected.starts_with(&took), "other octets came than were put");
        let most = LIMITS.queued_octets_max * OVERDRAFT + 200;
        assert!(self.sender.waiting() <= most, "{} octets wait", self.sender.waiting());
        match self.sender.word.state() {
            State::Idle => assert_eq!(*took, self.expected),
            State::Kept | State::Blocked => {
                assert_eq!(self.sender.waiting(), self.expected.len() - took.len());
            }
            State::Sending => panic!("no thread sends"),
            State::Closed => {
                assert!(self.wire.is_shut.get());
                assert_eq!(self.told.lock().unwrap().len(), self.notices, "each is told");
            }
        }
        for (end, sent) in &*self.told.lock().unwrap() {
            assert_eq!(*end <= took.len(), *sent, "what ends at {end} of {}", took.len());
        }
    }
}

proptest! {
    #[test]
    fn each_message_arrives_once_whole_and_in_order_or_is_lost(acts in acts()) {
        let mut scene = Scene {
            sender: Sender::new(LIMITS),
            wire: Wire::default(),
            expected: Vec::new(),
            told: Arc::default(),
            notices: 0,
            next: 0,
        };
        for act in &acts {
            scene.does(act);
            scene.check();
        }
        scene.wire.room.set(1 << 20);
        let _ = scene.sender.flush_all(&scene.wire, Patience::Queue);
        scene.check();
        prop_assert!(!scene.sender.waits(), "stranded");
        prop_assert_eq!(scene.told.lock().unwrap().len(), scene.notices);
    }
}
