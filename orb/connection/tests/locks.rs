//! What blocks on a link is refused, in debug builds, to a thread that holds a lock: a wait for a
//! message, and sending to a peer that may take nothing.

#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_connection::{Octets, WhatComes, receive};
use corbie_giop::{MessageReader, ReaderLimits, Roles};
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{Acceptor, Link, WaitStrategy, Waiter};
use std::io::IoSlice;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of the panic of `act`, if it panics.
fn refused(act: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(act)).err()?;
    panic.downcast_ref::<String>().cloned()
}

#[test]
fn a_thread_that_holds_a_lock_neither_waits_for_a_message_nor_for_a_peer() {
    let acceptor = Acceptor::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let ours = Link::connect(&acceptor.endpoint(), None, None).unwrap();
    let theirs = acceptor.accept().unwrap();
    // Something is there, so that without the check the wait would end.
    Octets::send_one(&theirs, b"GIOP").unwrap();
    let wait = || {
        let mut reader = MessageReader::new(ReaderLimits::default(), Roles::SERVER);
        let mut waiter = Waiter::new(WaitStrategy::Block);
        let mut from =
            WhatComes::over(&ours, &mut waiter, || Err(std::io::ErrorKind::Other.into()));
        assert!(receive(&mut reader, &mut from).is_err(), "the message goes on");
    };
    let lock = Ranked::<rank::Registry, _>::new(());
    {
        let _held = lock.lock();
        let why = refused(wait).expect("it holds a lock");
        assert!(why.contains("a wait for a message by a thread that holds locks"), "{why}");
        for send in [&(|| Octets::send_one(&ours, b"x").unwrap()) as &dyn Fn(), &|| {
            Octets::send(&ours, &mut [IoSlice::new(b"x")]).unwrap()
        }] {
            let why = refused(send).expect("it holds a lock");
            assert!(why.contains("sending to a peer that may take nothing by a thread"), "{why}");
        }
    }
    assert_eq!(refused(wait), None, "without a lock it may");
}
