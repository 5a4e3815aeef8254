//! Answering later allocates nothing per call either: not in the upcall, not on the thread that
//! answers, and not when a response is shared (paper AMH §6, "creation policy").
//!
//! One test in a file of its own: it counts the allocations of the whole process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "a part of the echo servant is used")]

mod echo;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use corbie::codegen::SharedResponse;
use corbie::{Marshal, ResponseHandler, Servant, ServerRequest, SystemException, TypedServant};
use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, lend_a_thread, loopback_orb};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 2_000;

/// The thread that answers `double`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answers {
    InTheUpcall,
    OnAnotherThread,
    Shared,
}

struct Deferring {
    answers: Answers,
    later: SyncSender<(ResponseHandler, i64)>,
}

fn reply(response: ResponseHandler, value: i64) {
    let result = value * 2;
    response.reply(&|e| i64::encode(&result, e)).unwrap();
}

impl Servant for Deferring {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        let response = request.defer();
        match self.answers {
            Answers::InTheUpcall => reply(response, value),
            Answers::OnAnotherThread => self.later.send((response, value)).unwrap(),
            Answers::Shared => {
                let shared = SharedResponse::new("double", response);
                reply(shared.take("double")?, value);
            }
        }
        Ok(())
    }
}

impl TypedServant for Deferring {
    type Reference = Echo;
}

fn answer(deferred: Receiver<(ResponseHandler, i64)>) {
    for (response, value) in deferred {
        reply(response, value);
    }
}

fn check(answers: Answers, more: &[&str]) {
    let server = loopback_orb(more);
    // A bounded channel has its places from the beginning.
    let (later, deferred) = sync_channel(4);
    std::thread::spawn(move || answer(deferred));
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(Deferring { answers, later }).unwrap();
    lend_a_thread(&server);
    let client = loopback_orb(&[]);
    let echo: Echo = as_client(&client, &echo);
    let calls = || {
        for value in 0..CALLS {
            assert_eq!(echo.double(value).unwrap(), value * 2);
        }
    };
    let allocations = CountingAllocator::needed(CountingAllocator::of_all_threads, 0, calls);
    assert_eq!(allocations, 0, "in {CALLS} calls, {answers:?}, with {more:?}");
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn answering_later_allocates_nothing() {
    for answers in [Answers::InTheUpcall, Answers::OnAnotherThread, Answers::Shared] {
        check(answers, &[]);
        check(answers, &["-ORBServerConcurrency", "reactive"]);
    }
}
