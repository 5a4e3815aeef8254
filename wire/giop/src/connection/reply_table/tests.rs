//! Every short sequence of what can happen to requests, against a model: each request ends once,
//! and what comes late, twice or for no request finds nothing.

use super::{Begun, NotBegun, Replied, ReplyTable, SLOT_MASK};
use crate::roles::RequestIds;

const MOST: usize = 1 << 20;
const NEVER: u64 = ReplyTable::<()>::NEVER;

/// What can happen. Numbers count the requests in the order in which they began.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    Reply(usize),
    Abandon(usize),
    /// The time is over of the first two.
    Expire,
    Close,
}

const REQUESTS: usize = 3;
const STEPS: [Step; 9] = [
    Step::Begin,
    Step::Reply(0),
    Step::Reply(1),
    Step::Reply(2),
    Step::Abandon(0),
    Step::Abandon(1),
    Step::Abandon(2),
    Step::Expire,
    Step::Close,
];

/// What became of a request, in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Owes,
    Done,
}

/// Runs one sequence; each request is known by its number.
fn run(ids: RequestIds, steps: &[Step]) {
    let mut table = ReplyTable::new(ids);
    let mut given: Vec<u32> = Vec::new();
    let mut fates: Vec<Fate> = Vec::new();
    let mut is_closed = false;
    for step in steps {
        match *step {
            Step::Begin => match table.begin(given.len(), 10 + given.len() as u64, MOST) {
                Ok(begun) => {
                    assert!(!is_closed && !given.contains(&begun.id), "{steps:?}: {begun:?}");
                    assert_eq!(ids.id(ids.number(begun.id).unwrap()), begun.id);
                    given.push(begun.id);
                    fates.push(Fate::Waits);
                }
                Err(refused) => assert_eq!((is_closed, refused.1), (true, NotBegun::Closed)),
            },
            Step::Reply(number) => {
                let Some(id) = given.get(number).copied() else { continue };
                let expected = match std::mem::replace(&mut fates[number], Fate::Done) {
                    Fate::Waits => Replied::To(number),
                    Fate::Owes => Replied::Late,
                    Fate::Done => Replied::Unasked,
                };
                assert_eq!(table.replied(id), expected, "{steps:?}");
            }
            Step::Abandon(number) => {
                let Some(id) = given.get(number).copied() else { continue };
                let waits = fates[number] == Fate::Waits;
                assert_eq!(table.abandon(id), waits.then_some(number), "{steps:?}");
                if waits {
                    give_up(ids, &given, &mut fates, number);
                }
            }
            Step::Expire => {
                let over: Vec<usize> = table.expire(11).into_iter().map(|(_, n)| n).collect();
                let is_over = |n: &usize| *n < 2 && fates[*n] == Fate::Waits;
                let expected: Vec<usize> = (0..fates.len()).filter(is_over).collect();
                assert_eq!(over, expected, "{steps:?}");
                for number in expected {
                    give_up(ids, &given, &mut fates, number);
                }
                assert!(table.next_deadline() > 11);
            }
            Step::Close => {
                let waits = |n: &usize| fates[*n] == Fate::Waits;
                let expected: Vec<usize> = (0..fates.len()).filter(waits).collect();
                assert_eq!(table.close(), expected, "{steps:?}");
                fates.fill(Fate::Done);
                is_closed = true;
            }
        }
        check(&table, &fates, steps);
    }
}

/// A slot remembers only the last request that was given up in it.
fn give_up(ids: RequestIds, given: &[u32], fates: &mut [Fate], number: usize) {
    let slot = |number: usize| ids.number(given[number]).unwrap() & SLOT_MASK;
    for (earlier, fate) in fates.iter_mut().enumerate().take(number) {
        if *fate == Fate::Owes && slot(earlier) == slot(number) {
            *fate = Fate::Done;
        }
    }
    fates[number] = Fate::Owes;
}

fn check(table: &ReplyTable<usize>, fates: &[Fate], steps: &[Step]) {
    let count = |fate| fates.iter().filter(|f| **f == fate).count();
    let waits = count(Fate::Waits);
    assert_eq!((table.len(), table.is_empty()), (waits, waits == 0), "{steps:?}");
    assert_eq!(table.iter().count(), waits, "{steps:?}");
    assert_eq!(table.owed() as usize, count(Fate::Owes), "{steps:?}");
}

#[test]
fn each_request_ends_once_in_every_order() {
    const LENGTH: u32 = 6;
    for number in 0..STEPS.len().pow(LENGTH) {
        let mut rest = number;
        let mut steps = [Step::Begin; LENGTH as usize];
        for step in &mut steps {
            *step = STEPS[rest % STEPS.len()];
            rest /= STEPS.len();
        }
        let ids = [RequestIds::All, RequestIds::Even, RequestIds::Odd][number % 3];
        run(ids, &steps);
    }
    assert!(REQUESTS < LENGTH as usize, "all requests can begin, and end in every order");
}

fn begin<T: std::fmt::Debug>(table: &mut ReplyTable<T>, what: T) -> Begun {
    table.begin(what, NEVER, MOST).unwrap()
}

#[test]
fn a_full_table_takes_no_more() {
    let mut table = ReplyTable::default();
    for number in 0..ReplyTable::<usize>::SLOTS_MAX {
        begin(&mut table, number);
    }
    assert_eq!(table.begin(7, NEVER, MOST), Err((7, NotBegun::Full)));
    assert_eq!(table.admits(2), Err(NotBegun::Full));
    let id = table.iter().next().unwrap().0;
    assert_eq!(table.replied(id), Replied::To(0));
    begin(&mut table, 7);
}

#[test]
fn a_late_reply_finds_nothing_for_a_whole_round_of_generations() {
    let mut table = ReplyTable::default();
    let first = begin(&mut table, 0).id;
    assert_eq!(table.abandon(first), Some(0));
    assert_eq!(table.owed(), 1);
    assert_eq!(table.replied(first), Replied::Late);
    for round in 1..u32::MAX / (ReplyTable::<u32>::SLOTS_MAX as u32) {
        let id = begin(&mut table, round).id;
        assert_eq!(table.replied(first), Replied::Unasked, "in round {round}");
        assert_eq!(table.replied(id), Replied::To(round));
    }
}

#[test]
fn ids_that_were_never_given_find_nothing() {
    for ids in [RequestIds::All, RequestIds::Even, RequestIds::Odd] {
        let mut table = ReplyTable::new(ids);
        let id = begin(&mut table, ()).id;
        for stranger in [id + 1, !id, id ^ 1 << 31, u32::MAX] {
            assert_eq!(table.replied(stranger), Replied::Unasked);
            assert_eq!(table.abandon(stranger), None);
        }
        assert_eq!(table.replied(id), Replied::To(()));
    }
}

#[test]
fn what_was_never_sent_owes_no_reply() {
    let mut table = ReplyTable::default();
    let id = begin(&mut table, 1).id;
    assert_eq!(table.withdraw(id), Some(1));
    assert_eq!((table.owed(), table.replied(id)), (0, Replied::Unasked));
}

#[test]
fn the_next_deadline_is_the_first_of_all() {
    let mut table = ReplyTable::default();
    let deadlines = [30, 20, NEVER, 40];
    let began = deadlines.map(|deadline| table.begin(deadline, deadline, MOST).unwrap());
    assert_eq!(began.map(|begun| begun.is_next_deadline), [true, true, false, false]);
    assert_eq!(began.map(|begun| begun.others), [0, 1, 2, 3]);
    assert!(table.expire(19).is_empty());
    assert_eq!(table.expire(30).into_iter().map(|(_, what)| what).collect::<Vec<_>>(), [30, 20]);
    assert_eq!(table.next_deadline(), 40);
    assert_eq!(table.close(), [NEVER, 40]);
    assert_eq!(table.next_deadline(), NEVER);
}
