//! Policies cost no allocation per call in steady state, at whatever level they are set, and neither
//! do oneways (invariant 4 of `ARCHITECTURE.md`).
//!
//! One test in a file of its own, as each that installs an allocator.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::Interface;
use corbie::policy::{Policy, PriorityRange, SetOverrideType, SyncScope};
use corbie_testkit::{AllocationCounts, CountingAllocator};
use echo::{Echo, as_client, loopback_orb, serve};
use std::cell::Cell;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 500;

/// That `call`, with each of many values, has this thread allocate nothing. What the test itself
/// does between the calls, `then`, is not counted: a channel allocates when its receiver first has
/// to wait.
#[track_caller]
fn allocate_nothing(what: &str, call: impl Fn(i64), then: impl Fn(i64)) {
    let counted = Cell::new(AllocationCounts::default());
    let calls = || {
        for value in 0..CALLS {
            let before = CountingAllocator::of_this_thread();
            call(value);
            counted.set(counted.get() + CountingAllocator::of_this_thread().since(before));
            then(value);
        }
    };
    let allocations = CountingAllocator::needed(|| counted.get(), 0, calls);
    assert_eq!(allocations, 0, "{what}, by the thread that calls, in {CALLS} calls");
}

fn double(echo: &Echo) -> impl Fn(i64) {
    move |value| assert_eq!(echo.double(value).unwrap(), value * 2)
}

#[test]
fn policies_cost_no_allocations() {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo: Echo = as_client(&client, &echo);
    let with =
        |policies: &[Policy]| echo.set_policy_overrides(policies, SetOverrideType::Add).unwrap();
    let time = Policy::RelativeRoundtripTimeout(Duration::from_secs(60));
    let priority = Policy::RequestPriority(PriorityRange { min: 1, max: 2 });

    let of_reference = with(&[time, priority]);
    allocate_nothing("policies of the reference", double(&of_reference), |_| ());
    {
        let _scope = client.policy_current().scope(&[time]).unwrap();
        allocate_nothing("policies of the thread", double(&echo), |_| ());
    }
    for scope in [SyncScope::None, SyncScope::WithTransport, SyncScope::WithTarget] {
        let oneway = with(&[Policy::SyncScope(scope)]);
        let note = |value| oneway.note(value).unwrap();
        let wait = |value| assert_eq!(noted.recv().unwrap(), value);
        allocate_nothing(&format!("oneways, {scope:?}"), note, wait);
        // Those that follow one another closely are sent together.
        let wait_for_all = |value| {
            if value == CALLS - 1 {
                assert!(noted.iter().take(CALLS as usize).eq(0..CALLS));
            }
        };
        allocate_nothing(&format!("oneways in a row, {scope:?}"), note, wait_for_all);
    }
    client.policy_manager().set_policy_overrides(&[time], SetOverrideType::Set).unwrap();
    allocate_nothing("policies of the ORB, set after the first call", double(&echo), |_| ());
    server.shutdown(true);
    client.shutdown(true);
}
