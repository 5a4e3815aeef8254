//! What debug builds refuse, and that a token is no lock.

use super::{Ranked, RankedRw, Signal, Token, assert_none_held, rank};
use crate::thread::{deliveries, enter_delivery, is_serving, serve_for_a_while};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The message of the panic of `act`, if it panics.
fn refused(act: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(act)).err()?;
    panic.downcast_ref::<String>().cloned()
}

#[test]
#[cfg(debug_assertions)]
fn ranks_rise() {
    let (low, high) = (Ranked::<rank::Sender, _>::new(1), RankedRw::<rank::Reactor, _>::new(2));
    let other_low = Ranked::<rank::Sender, _>::new(3);
    {
        let first = low.lock();
        assert_eq!(*first + *high.read(), 3);
        assert_eq!(*first + *high.write(), 3);
        let why = refused(|| drop(other_low.lock())).expect("equal ranks are refused");
        assert!(why.contains("rank 60 (sender)") && why.contains("the ranks 60"), "{why}");
    }
    let second = high.read();
    let why = refused(|| drop(low.lock())).expect("a lower rank is refused");
    assert!(why.contains("holds locks of the ranks 70"), "{why}");
    drop(second);
    assert_eq!(*low.lock(), 1, "what was refused is not held");
}

#[test]
#[cfg(debug_assertions)]
fn a_thread_that_holds_a_lock_neither_blocks_nor_makes_an_upcall() {
    let (lock, other) = (Ranked::<rank::Registry, _>::new(()), Ranked::<rank::Leaf, _>::new(()));
    assert_none_held("an upcall");
    let guard = lock.lock();
    let why = refused(|| assert_none_held("an upcall")).expect("it holds a lock");
    assert!(why.contains("an upcall by a thread that holds locks of the ranks 30"), "{why}");
    let signal = Signal::new();
    let sleeps = || drop(signal.wait_for(other.lock(), Duration::from_secs(60)));
    let why = refused(sleeps).expect("it would sleep with a lock");
    assert!(why.contains("sleeps and holds locks of the ranks 30"), "{why}");
    drop(guard);
    assert_none_held("an upcall");
}

#[test]
#[cfg(debug_assertions)]
fn upcalls_with_requests_and_with_replies_are_refused_under_a_lock() {
    let lock = Ranked::<rank::Poa, _>::new(());
    drop((serve_for_a_while(), enter_delivery()));
    let _guard = lock.lock();
    let why = refused(|| drop(serve_for_a_while())).expect("it holds a lock");
    assert!(why.contains("an upcall with a request by a thread that holds"), "{why}");
    let why = refused(|| drop(enter_delivery())).expect("it holds a lock");
    assert!(why.contains("an upcall with a reply by a thread that holds"), "{why}");
    assert!(!is_serving() && deliveries() == 0);
}

#[test]
fn a_panic_leaves_the_lock_to_others() {
    let lock = Ranked::<rank::Leaf, _>::new(1);
    assert!(
        refused(|| {
            let _guard = lock.lock();
            panic!("{}", "while the lock is held");
        })
        .is_some()
    );
    assert_eq!(*lock.lock(), 1);
    assert_none_held("the test");
}

#[test]
fn a_sleeper_is_woken_or_has_waited_until_its_deadline() {
    let (lock, signal) = (Ranked::<rank::Leaf, _>::new(false), Signal::new());
    let deadline = Instant::now() + Duration::from_millis(2);
    assert!(!*signal.wait_while_until(lock.lock(), Some(deadline), |set| !*set));
    assert!(Instant::now() >= deadline);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *lock.lock() = true;
            signal.wake_all();
        });
        assert!(*signal.wait_while(lock.lock(), |set| !*set));
    });
}

#[test]
fn one_thread_at_a_time_has_a_token() {
    let token = Token::new(0);
    let is_inside = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut taken = 0;
                while taken < 100 {
                    let Some(mut value) = token.try_take() else {
                        std::thread::yield_now();
                        continue;
                    };
                    assert!(!is_inside.swap(true, Ordering::SeqCst) && token.is_taken());
                    *value += 1;
                    taken += 1;
                    is_inside.store(false, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(!token.is_taken());
    let taken = token.try_take().expect("no thread has it");
    assert!(*taken == 400 && token.try_take().is_none());
    assert_none_held("a blocking system call");
}
