//! The token and the threads that rest, in all interleavings: no message stays unread while a
//! thread rests, one thread reads at a time, and nothing overtakes a oneway.

use super::{ConnectionThreads, Finding, Means, Roster, TryTake};
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Of loom. No more threads can be had than there are, and none ends of its own accord.
#[derive(Default)]
struct Loom {
    state: Mutex<Roster>,
    called: Condvar,
    messages: AtomicU32,
    is_behind: AtomicBool,
}

impl Means for Loom {
    type Guard<'m> = MutexGuard<'m, Roster>;

    fn lock(&self) -> Self::Guard<'_> {
        self.state.lock().unwrap()
    }

    fn rest<'m>(&'m self, mut guard: Self::Guard<'m>) -> Self::Guard<'m> {
        while guard.is_idle() {
            guard = self.called.wait(guard).unwrap();
        }
        guard
    }

    fn wake_one(&self) {
        self.called.notify_one();
    }

    fn wake_all(&self) {
        self.called.notify_all();
    }

    fn messages(&self) -> u32 {
        self.messages.load(Ordering::Acquire)
    }

    fn set_messages(&self, messages: u32) {
        self.messages.store(messages, Ordering::Release);
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Relaxed);
    }

    fn take_place(&self) -> bool {
        false
    }

    fn add_places(&self, _more: u32) {}

    fn is_listed(&self) -> bool {
        true
    }

    fn list(&self) -> bool {
        false
    }

    fn unlist(&self) {}

    fn expect_upcalls(&self) {}
}

/// A token with the messages that were not taken yet. (Loom has a thread that tries a lock wait.)
struct Token {
    is_taken: AtomicBool,
    unread: std::sync::Mutex<Vec<Message>>,
}

struct Taken<'t>(&'t Token);

impl TryTake for Token {
    type Taken<'t> = Taken<'t>;

    fn try_take(&self) -> Option<Taken<'_>> {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self.is_taken.compare_exchange(false, true, acquire, relaxed);
        taken.ok().map(|_| Taken(self))
    }
}

impl Taken<'_> {
    fn next(&self) -> Option<Message> {
        self.0.unread.try_lock().expect("one thread reads at a time").pop()
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// What a client has sent.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Call,
    Oneway,
    /// A call whose servant waits until so many messages were taken.
    Nested(u32),
}

/// A connection whose client has sent all of its messages, and closes then.
struct Site {
    threads: ConnectionThreads<Loom>,
    token: Token,
    is_in_oneway: AtomicBool,
    taken: Mutex<u32>,
    has_taken: Condvar,
}

impl Site {
    /// The first message is the last of `messages`. So many threads serve it.
    fn new(messages: &[Message], threads: u32) -> Arc<Site> {
        let site = Site {
            threads: ConnectionThreads::of(Loom::default()),
            token: Token {
                is_taken: AtomicBool::new(false),
                unread: std::sync::Mutex::new(messages.to_vec()),
            },
            is_in_oneway: AtomicBool::new(false),
            taken: Mutex::new(0),
            has_taken: Condvar::new(),
        };
        (0..threads).for_each(|_| site.threads.expect_first());
        Arc::new(site)
    }

    fn serve(&self) {
        self.threads.arrive();
        while self.serve_one() {}
        if self.threads.leave() {
            let unread = self.token.unread.lock().unwrap().len();
            assert_eq!(unread, 0, "the last thread leaves a message");
        }
    }

    fn serve_one(&self) -> bool {
        let Some(turn) = self.threads.take_turn(&self.token) else { return false };
        assert!(!self.is_in_oneway.load(Ordering::Relaxed), "a oneway is overtaken");
        let Some(message) = turn.next() else {
            self.threads.dismiss();
            return false;
        };
        self.threads.note_message();
        *self.taken.lock().unwrap() += 1;
        self.has_taken.notify_all();
        if message == Message::Oneway {
            let kept = self.threads.keep_turn();
            self.is_in_oneway.store(true, Ordering::Relaxed);
            drop(turn);
            self.is_in_oneway.store(false, Ordering::Relaxed);
            self.threads.end_keeping(kept);
            return true;
        }
        drop(turn);
        assert!(!self.threads.begin_upcall(|| {}), "a thread more is to be had");
        if let Message::Nested(count) = message {
            assert!(!self.threads.begin_waiting(&self.token, 2), "a thread more is to be had");
            let mut taken = self.taken.lock().unwrap();
            while *taken < count {
                taken = self.has_taken.wait(taken).unwrap();
            }
            drop(taken);
            self.threads.end_waiting();
        }
        true
    }

    /// One look of the watch.
    fn look(&self) {
        if self.threads.look(&self.token, || true) == Finding::Behind {
            assert!(!self.threads.call(), "a thread more is to be had");
        }
    }
}

/// Two threads serve `messages`, and the watch looks so many times. Loom finds a thread that rests
/// for ever.
fn check(messages: &'static [Message], looks: u32) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let site = Site::new(messages, 2);
        let other = loom::thread::spawn({
            let site = Arc::clone(&site);
            move || site.serve()
        });
        let watch = (looks > 0).then(|| {
            let site = Arc::clone(&site);
            loom::thread::spawn(move || (0..looks).for_each(|_| site.look()))
        });
        site.serve();
        other.join().unwrap();
        watch.into_iter().for_each(|watch| watch.join().unwrap());
        assert_eq!(*site.taken.lock().unwrap() as usize, messages.len());
    });
}

#[test]
fn all_messages_are_taken_while_the_watch_looks() {
    check(&[Message::Call, Message::Call], 1);
}

#[test]
fn nothing_overtakes_a_oneway_while_the_watch_looks() {
    check(&[Message::Call, Message::Oneway], 1);
    check(&[Message::Oneway, Message::Oneway], 0);
}

#[test]
fn a_thread_that_waits_for_a_call_has_another_one_read() {
    check(&[Message::Call, Message::Nested(2)], 0);
}

#[test]
fn a_thread_that_is_not_called_ends_and_stand_ins_are_counted() {
    use crate::connection_threads::StandIns;
    use crate::lock::PlainToken;
    use crate::lookout::{Duty, Lookout};
    use std::time::{Duration, Instant};

    let duty = Duty { thread: "watch", tick: Duration::from_secs(60), idle_ticks: 1 };
    let stand_ins = std::sync::Arc::new(StandIns::new(2, Lookout::new(duty, || false)));
    let new = || ConnectionThreads::new(std::sync::Arc::clone(&stand_ins));
    let (threads, others) = (new(), new());
    for connection in [&threads, &others] {
        connection.expect_first();
        connection.arrive();
    }
    let token = PlainToken::new(());
    let turn = threads.take_turn(&token).expect("no other thread reads");
    assert!(threads.call(), "one stand-in may be started");
    assert!(!threads.call(), "it is on its way");
    assert!(!others.call(), "there is one already");
    threads.arrive();
    let begun = Instant::now();
    assert!(threads.take_turn(&token).is_none(), "the thread is not needed");
    assert!(begun.elapsed() >= super::PATIENCE);
    assert!(!threads.leave(), "the first thread stays");
    assert!(others.call(), "the place is free again");
    drop(turn);
}
