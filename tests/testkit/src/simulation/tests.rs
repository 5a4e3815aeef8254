//! 2,000 seeds, or the one of `CORBIE_SIMULATION_SEED`; and that the checks fail when they should.

use super::plan::Fault;
use super::{Counts, Plan, Seed, World, simulate};

const SEEDS: u64 = 2_000;

#[test]
fn what_holds_of_every_run() {
    if let Ok(seed) = std::env::var("CORBIE_SIMULATION_SEED") {
        let seed = seed.parse().expect("a number");
        let counts = simulate(seed).unwrap_or_else(|what| panic!("{what}"));
        assert_eq!(Ok(counts), simulate(seed), "the same seed gives the same run");
        return;
    }
    let mut total = Counts::default();
    for seed in 0..SEEDS {
        total.add(&simulate(seed).unwrap_or_else(|what| panic!("{what}")));
    }
    // All that can happen has happened, often.
    let Counts { calls, answered, not_begun, in_doubt, cancelled, connections, .. } = total;
    for (what, often) in [
        ("calls", calls),
        ("answered", answered),
        ("not begun", not_begun),
        ("in doubt", in_doubt),
        ("cancelled", cancelled),
        ("connections", connections),
        ("declined", total.declined),
        ("late replies", total.late_replies),
        ("unasked replies", total.unasked_replies),
        ("replies sent twice", total.replies_sent_twice),
        ("cancels", total.cancels),
        ("forwards", total.forwards),
        ("faults", total.faults),
    ] {
        assert!(often > 50, "{what}: {often} times, too few to test anything: {total:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..50 {
        assert_eq!(simulate(seed), simulate(seed));
    }
}

/// A server that says CloseConnection while it serves breaks the promise that nothing unanswered was
/// begun: the checks have to see that its requests are carried out twice.
#[test]
fn the_checks_find_a_server_that_closes_and_still_serves() {
    let mut found = 0;
    for number in 0..200 {
        let mut seed = Seed::new(number);
        let mut plan = Plan::of(&mut seed);
        let at = plan.calls.iter().map(|call| call.start_us).max().unwrap_or_default();
        plan.faults = (0..plan.servers.len()).map(|s| (at + 200, Fault::Lie(s))).collect();
        let violation = World::new(plan, seed).run();
        found += u32::from(violation.is_err());
    }
    assert!(found > 10, "found in {found} of 200 runs");
}
