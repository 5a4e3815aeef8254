//! Policies cost no allocation per call in steady state, at whatever level they are set, and neither
//! do oneways (invariant 4 of `ARCHITECTURE.md`).
//!
//! One test in a file of its own: it counts the allocations of the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::Interface;
use corbie::policy::{Policy, PriorityRange, SetOverrideType, SyncScope};
use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, loopback_orb, serve};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 500;

#[track_caller]
fn allocate_nothing(what: &str, calls: impl Fn()) {
    // Buffers, threads and the connection are made by the first calls.
    calls();
    calls();
    let before = CountingAllocator::of_this_thread();
    calls();
    let allocations = CountingAllocator::of_this_thread().since(before).allocations;
    assert_eq!(allocations, 0, "{what}, by the thread that calls");
}

fn double_all(echo: &Echo) {
    for value in 0..CALLS {
        assert_eq!(echo.double(value).unwrap(), value * 2);
    }
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
    allocate_nothing("policies of the reference", || double_all(&of_reference));
    {
        let _scope = client.policy_current().scope(&[time]).unwrap();
        allocate_nothing("policies of the thread", || double_all(&echo));
    }
    for scope in [SyncScope::None, SyncScope::WithTransport, SyncScope::WithTarget] {
        let oneway = with(&[Policy::SyncScope(scope)]);
        allocate_nothing(&format!("oneways, {scope:?}"), || {
            for value in 0..CALLS {
                oneway.note(value).unwrap();
                assert_eq!(noted.recv().unwrap(), value);
            }
        });
    }
    client.policy_manager().set_policy_overrides(&[time], SetOverrideType::Set).unwrap();
    allocate_nothing("policies of the ORB, set after the first call", || double_all(&echo));
    server.shutdown(true);
    client.shutdown(true);
}
