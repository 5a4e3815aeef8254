//! Steady state allocates nothing per call, on either side (invariant 4 of `ARCHITECTURE.md`).
//!
//! One test in a file of its own: it counts the allocations of the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::{Marshal, ResponseHandler, Servant, ServerRequest, SystemException, TypedServant};
use corbie_testkit::CountingAllocator;
use corbie_testkit::servers::ScratchFolder;
use echo::{Echo, as_client, lend_a_thread, loopback_orb, serve};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 2_000;

fn allocations_of(expected: i64, calls: impl Fn()) -> u64 {
    CountingAllocator::needed(CountingAllocator::of_all_threads, expected as u64, calls)
}

fn check(more: &[&str]) {
    let (server, echo, _noted) = serve(more);
    // A client of the usual kind: how servers serve is what differs.
    let waits = more.iter().copied().filter(|_| more.contains(&"-ORBWaitStrategy"));
    let client = loopback_orb(&waits.collect::<Vec<_>>());
    let echo: Echo = as_client(&client, &echo);
    let allocations = allocations_of(0, || {
        for value in 0..CALLS {
            assert_eq!(echo.double(value).unwrap(), value * 2);
        }
    });
    assert_eq!(allocations, 0, "in {CALLS} calls with {more:?}, client and server together");
    let allocations = allocations_of(0, || {
        for _ in 0..CALLS {
            assert_eq!(echo.length("no allocation for a string either").unwrap(), 33);
        }
    });
    assert_eq!(allocations, 0, "in {CALLS} calls with a string and {more:?}");
    let octets = vec![7; 1000];
    let allocations = allocations_of(2 * CALLS, || {
        for _ in 0..CALLS {
            assert_eq!(echo.octets(&octets).unwrap().len(), 1000);
        }
    });
    // The servant's copy and the client's result: one each, as the mapping says.
    assert_eq!(allocations, 2 * CALLS as u64, "in {CALLS} calls with octets and {more:?}");
    server.shutdown(true);
    client.shutdown(true);
}

/// Gives each answer to another thread, which sends it.
#[derive(Default)]
struct Deferring {
    due: Mutex<VecDeque<(ResponseHandler, i64)>>,
    is_due: Condvar,
}

impl Deferring {
    fn answer_one(&self) -> bool {
        let mut due = self.due.lock().unwrap();
        while due.is_empty() {
            due = self.is_due.wait(due).unwrap();
        }
        let Some((response, value)) = due.pop_front() else { return false };
        drop(due);
        let result = value * 2;
        response.reply(&|e| i64::encode(&result, e)).unwrap();
        value >= 0
    }
}

struct DeferringServant(Arc<Deferring>);

impl Servant for DeferringServant {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        self.0.due.lock().unwrap().push_back((request.defer(), value));
        self.0.is_due.notify_one();
        Ok(())
    }
}

impl TypedServant for DeferringServant {
    type Reference = Echo;
}

/// Asynchronous method handling: a response is a value, not an allocation (paper AMH §6).
fn check_deferred(concurrency: &str) {
    let server = loopback_orb(&["-ORBServerConcurrency", concurrency]);
    lend_a_thread(&server);
    let deferring = Arc::new(Deferring::default());
    let servant = DeferringServant(Arc::clone(&deferring));
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(servant).unwrap();
    let answering = std::thread::spawn(move || while deferring.answer_one() {});
    let client = loopback_orb(&[]);
    let echo: Echo = as_client(&client, &echo);
    let allocations = allocations_of(0, || {
        for value in 0..CALLS {
            assert_eq!(echo.double(value).unwrap(), value * 2);
        }
    });
    assert_eq!(allocations, 0, "in {CALLS} deferred calls, {concurrency}");
    assert_eq!(echo.double(-1).unwrap(), -2);
    answering.join().unwrap();
    server.shutdown(true);
    client.shutdown(true);
}

/// Rules that name all that can be named.
fn check_with_rules() {
    let folder = ScratchFolder::new("allocations");
    let path = folder.path().join("access.toml");
    let rules = "[[allow]]\npeers = \"loopback\"\nobjects = [\"x\", \"*\"]\n\
                 interfaces = \"IDL:Test/*\"\noperations = [\"double\", \"*e*\", \"octets\"]\n\
                 [[refuse]]\npeers = \"anyone\"\nobjects = \"NameService\"\n";
    std::fs::write(&path, rules).unwrap();
    check(&["-ORBAccessFile", path.to_str().unwrap()]);
}

#[test]
fn steady_state_allocates_nothing() {
    check(&[]);
    check(&["-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"]);
    // As many threads at the end as at the start, so that none makes its buffers while we count.
    let two = ["-ORBPoolThreadsMin", "2", "-ORBPoolThreadsMax", "2"];
    check(&[&["-ORBServerConcurrency", "thread-pool"][..], &two].concat());
    check(&["-ORBServerConcurrency", "reactive"]);
    check_with_rules();
    check(&["-ORBServerConcurrency", "reactor-per-thread"]);
    for concurrency in ["thread-per-connection", "reactive", "reactor-per-thread"] {
        check_deferred(concurrency);
    }
}
