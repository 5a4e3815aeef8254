//! Every short sequence of what can happen to requests, against a model: each request ends once,
//! and what comes late, twice or for nobody finds nothing.

use super::{ReplyTable, SLOTS_MAX};

/// What can happen. Numbers count the requests in the order in which they began.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Reply(usize),
    Abandon(usize),
    Close,
}

const REQUESTS: usize = 3;
const STEPS: [Step; 8] = [
    Step::Begin,
    Step::Reply(0),
    Step::Reply(1),
    Step::Reply(2),
    Step::Abandon(0),
    Step::Abandon(1),
    Step::Abandon(2),
    Step::Close,
];

/// Runs one sequence; each request is known by its number.
fn run(steps: &[Step]) {
    let mut table = ReplyTable::default();
    let mut ids: Vec<u32> = Vec::new();
    let mut waits: Vec<bool> = Vec::new();
    for step in steps {
        match *step {
            Step::Begin => {
                let id = table.insert(ids.len()).unwrap();
                assert!(!ids.contains(&id), "{steps:?}: id {id} was used before");
                ids.push(id);
                waits.push(true);
            }
            Step::Reply(number) | Step::Abandon(number) => {
                let Some(id) = ids.get(number).copied() else { continue };
                let ended = match step {
                    Step::Reply(_) => table.take(id),
                    _ => table.abandon(id),
                };
                let expected = std::mem::take(&mut waits[number]).then_some(number);
                assert_eq!(ended, expected, "{steps:?}");
            }
            Step::Close => {
                let mut ended = table.take_all();
                ended.sort_unstable();
                let expected: Vec<usize> = (0..waits.len()).filter(|n| waits[*n]).collect();
                assert_eq!(ended, expected, "{steps:?}");
                waits.fill(false);
            }
        }
        let pending = waits.iter().filter(|waits| **waits).count();
        assert_eq!((table.len(), table.is_empty()), (pending, pending == 0), "{steps:?}");
        assert_eq!(table.iter().count(), pending, "{steps:?}");
    }
}

#[test]
fn each_request_ends_once_in_every_order() {
    const LENGTH: u32 = 6;
    for number in 0..STEPS.len().pow(LENGTH) {
        let mut rest = number;
        let steps: Vec<Step> = (0..LENGTH)
            .map(|_| {
                let step = STEPS[rest % STEPS.len()];
                rest /= STEPS.len();
                step
            })
            .collect();
        run(&steps);
    }
    assert!(REQUESTS < LENGTH as usize, "all requests can begin, and end in every order");
}

#[test]
fn a_full_table_takes_no_more() {
    let mut table = ReplyTable::default();
    for number in 0..SLOTS_MAX {
        table.insert(number).unwrap();
    }
    assert_eq!(table.insert(7), Err(7));
    let id = table.iter().next().unwrap().0;
    assert_eq!(table.take(id), Some(0));
    assert!(table.insert(7).is_ok());
}

#[test]
fn a_late_reply_finds_nothing_for_a_whole_round_of_generations() {
    let mut table = ReplyTable::default();
    let first = table.insert(0).unwrap();
    assert_eq!(table.abandon(first), Some(0));
    for round in 1..u32::MAX / (SLOTS_MAX as u32) {
        let id = table.insert(round).unwrap();
        assert_eq!(table.take(first), None, "in round {round}");
        assert_eq!(table.take(id), Some(round));
    }
}

#[test]
fn ids_that_were_never_given_find_nothing() {
    let mut table = ReplyTable::default();
    let id = table.insert(()).unwrap();
    for stranger in [id + 1, !id, id ^ 1 << 31, u32::MAX] {
        assert_eq!(table.take(stranger), None);
        assert_eq!(table.abandon(stranger), None);
    }
    assert_eq!(table.take(id), Some(()));
}
