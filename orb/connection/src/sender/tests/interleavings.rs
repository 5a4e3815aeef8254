//! The sender that ships, on words and locks of loom: in every interleaving of its threads messages
//! do not interleave on the link, and none is stranded.

use super::super::means::{Means, QueueLock};
use super::super::queue::SendQueue;
use super::super::word::{State, Word};
use super::super::{Sender, Terms, When};
use super::{LIMITS, message};
use crate::Octets;
use corbie_threads::thread::Patience;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU8, Ordering};
use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::io;
use std::time::Instant;

struct Loom;

impl Means for Loom {
    type Word = AtomicU8;
    type Lock = LoomLock;
}

impl Word for AtomicU8 {
    fn new(value: u8) -> Self {
        AtomicU8::new(value)
    }

    fn load(&self) -> u8 {
        AtomicU8::load(self, Ordering::SeqCst)
    }

    fn store(&self, value: u8) {
        AtomicU8::store(self, value, Ordering::SeqCst);
    }

    fn exchange(&self, current: u8, value: u8) -> bool {
        self.compare_exchange(current, value, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

struct LoomLock {
    queue: Mutex<SendQueue>,
    changed: Condvar,
}

impl QueueLock for LoomLock {
    type Guard<'l> = MutexGuard<'l, SendQueue>;

    fn new(queue: SendQueue) -> Self {
        LoomLock { queue: Mutex::new(queue), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, SendQueue> {
        self.queue.lock().unwrap()
    }

    fn wait<'l>(
        &'l self,
        guard: MutexGuard<'l, SendQueue>,
        _until: Option<Instant>,
    ) -> MutexGuard<'l, SendQueue> {
        self.changed.wait(guard).unwrap()
    }

    fn signal(&self) {
        self.changed.notify_all();
    }
}

/// A link that loom watches: two sends of which neither is known to be after the other are an
/// error.
struct Wire {
    is_used: UnsafeCell<()>,
    /// What came, and how many octets each of the next sends takes at most. Of the standard
    /// library, as loom need not know of it.
    state: std::sync::Mutex<(Vec<u8>, Vec<usize>)>,
}

impl Wire {
    fn new(short: &[usize]) -> Self {
        Wire {
            is_used: UnsafeCell::new(()),
            state: std::sync::Mutex::new((vec![], short.to_vec())),
        }
    }

    fn took(&self) -> String {
        String::from_utf8(self.state.lock().unwrap().0.clone()).unwrap()
    }
}

impl Octets for Wire {
    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.is_used.with_mut(|_used| {});
        let (taken, short) = &mut *self.state.lock().unwrap();
        let room = short.pop().unwrap_or(usize::MAX);
        let octets = &octets[..octets.len().min(room)];
        taken.extend_from_slice(octets);
        Ok(octets.len())
    }

    fn try_receive(&self, _space: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn shutdown(&self) {
        self.state.lock().unwrap().0.extend_from_slice(b"|");
    }
}

/// What the threads share.
struct Site {
    sender: Sender<Loom>,
    wire: Wire,
}

impl Site {
    fn put(&self, octets: &str, when: When, patience: Patience) {
        let terms = Terms { fragment_octets: None, when, patience, until: None };
        self.sender.put(&self.wire, &mut message(octets.as_bytes()), &terms).unwrap();
    }
}

type Act = fn(&Site);

/// Runs `acts`, each in a thread, in every interleaving; then `check`.
fn in_every_order(short: &'static [usize], acts: &'static [Act], check: fn(&Site)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let site = Arc::new(Site { sender: Sender::with(LIMITS), wire: Wire::new(short) });
        let threads: Vec<_> = acts[1..]
            .iter()
            .map(|act| {
                let site = Arc::clone(&site);
                loom::thread::spawn(move || act(&site))
            })
            .collect();
        acts[0](&site);
        for thread in threads {
            thread.join().unwrap();
        }
        check(&site);
    });
}

fn is_idle_and_took(site: &Site, orders: &[&str]) {
    let took = site.wire.took();
    assert!(orders.contains(&took.as_str()), "{took}");
    assert_eq!(site.sender.word.state(), State::Idle);
    assert!(!site.sender.waits());
}

#[test]
fn none_is_stranded_when_the_peer_takes_all() {
    in_every_order(
        &[],
        &[
            |site| site.put("a1", When::Now, Patience::Queue),
            |site| site.put("b2", When::Now, Patience::Queue),
        ],
        |site| is_idle_and_took(site, &["a1b2", "b2a1"]),
    );
}

#[test]
fn what_is_kept_while_a_thread_sends_goes_along() {
    in_every_order(
        &[],
        &[
            |site| site.put("a1", When::Now, Patience::Block),
            |site| {
                site.put("b2", When::Later, Patience::Queue);
                site.sender.flush(&site.wire, Patience::Queue).unwrap();
            },
        ],
        |site| is_idle_and_took(site, &["a1b2", "b2a1"]),
    );
}

#[test]
fn a_blocked_sender_is_sent_on_by_room() {
    in_every_order(
        &[1],
        &[
            |site| site.put("a1", When::Now, Patience::Queue),
            |site| site.sender.flush(&site.wire, Patience::Queue).unwrap(),
        ],
        |site| {
            // The room came before the sender was blocked, or after.
            site.sender.flush(&site.wire, Patience::Queue).unwrap();
            is_idle_and_took(site, &["a1"]);
        },
    );
}

#[test]
fn the_rest_of_a_message_goes_before_what_others_queued() {
    in_every_order(
        &[0, 1],
        &[
            |site| site.put("a1", When::Now, Patience::Queue),
            |site| site.put("b2", When::Now, Patience::Queue),
        ],
        |site| {
            for _ in 0..2 {
                site.sender.flush(&site.wire, Patience::Queue).unwrap();
            }
            is_idle_and_took(site, &["a1b2", "b2a1"]);
        },
    );
}

#[test]
fn of_three_threads_none_is_stranded() {
    in_every_order(
        &[],
        &[
            |site| site.put("a", When::Now, Patience::Queue),
            |site| site.put("b", When::Now, Patience::Queue),
            |site| site.put("c", When::Now, Patience::Queue),
        ],
        |site| {
            is_idle_and_took(site, &["abc", "acb", "bac", "bca", "cab", "cba"]);
        },
    );
}

#[test]
fn the_last_word_is_behind_all_that_was_put_and_closes() {
    in_every_order(
        &[],
        &[
            |site| {
                let now = Terms {
                    fragment_octets: None,
                    when: When::Now,
                    patience: Patience::Queue,
                    until: None,
                };
                let _ = site.sender.put(&site.wire, &mut message(b"a"), &now);
            },
            |site| site.sender.last(&site.wire, b"bye"),
        ],
        |site| {
            let took = site.wire.took();
            let took = took.trim_end_matches('|');
            assert!(["abye", "bye"].contains(&took), "{took}");
            assert_eq!(site.sender.word.state(), State::Closed);
        },
    );
}

#[test]
fn a_thread_that_waits_learns_that_its_message_was_sent() {
    in_every_order(
        &[],
        &[
            |site| site.put("a", When::Now, Patience::Queue),
            |site| {
                let terms = Terms {
                    fragment_octets: None,
                    when: When::Now,
                    patience: Patience::Block,
                    until: None,
                };
                let put = site.sender.put(&site.wire, &mut message(b"b"), &terms).unwrap();
                if let super::super::Put::Waits(end) = put {
                    site.sender.wait_until_sent(&site.wire, end, None).unwrap();
                }
                assert!(site.wire.took().contains('b'));
            },
        ],
        |site| is_idle_and_took(site, &["ab", "ba"]),
    );
}
