//! Steady state allocates nothing per call, on either side (invariant 4 of `ARCHITECTURE.md`).
//!
//! One test in a file of its own: it counts the allocations of the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, loopback_orb, serve};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 2_000;

fn allocations_of(calls: impl Fn()) -> u64 {
    // Buffers, threads and the connection are made by the first calls.
    calls();
    let before = CountingAllocator::of_all_threads();
    calls();
    CountingAllocator::of_all_threads().since(before).allocations
}

fn check(more: &[&str]) {
    let (server, echo, _noted) = serve(more);
    let client = loopback_orb(more);
    let echo: Echo = as_client(&client, &echo);
    let allocations = allocations_of(|| {
        for value in 0..CALLS {
            assert_eq!(echo.double(value).unwrap(), value * 2);
        }
    });
    assert_eq!(allocations, 0, "in {CALLS} calls with {more:?}, client and server together");
    let allocations = allocations_of(|| {
        for _ in 0..CALLS {
            assert_eq!(echo.length("no allocation for a string either").unwrap(), 33);
        }
    });
    assert_eq!(allocations, 0, "in {CALLS} calls with a string and {more:?}");
    let octets = vec![7; 1000];
    let allocations = allocations_of(|| {
        for _ in 0..CALLS {
            assert_eq!(echo.octets(&octets).unwrap().len(), 1000);
        }
    });
    // The servant's copy and the client's result: one each, as the mapping says.
    assert_eq!(allocations, 2 * CALLS as u64, "in {CALLS} calls with octets and {more:?}");
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn steady_state_allocates_nothing() {
    check(&[]);
    check(&["-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"]);
    // As many threads at the end as at the start, so that none makes its buffers while we count.
    let two = ["-ORBPoolThreadsMin", "2", "-ORBPoolThreadsMax", "2"];
    check(&[&["-ORBServerConcurrency", "thread-pool"][..], &two].concat());
    check(&["-ORBServerConcurrency", "reactive"]);
    check(&["-ORBServerConcurrency", "reactor-per-thread"]);
}
