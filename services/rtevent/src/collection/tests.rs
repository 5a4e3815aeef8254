//! Collections under every strategy: random operations against a list, changes from inside visits,
//! and threads that visit and change at once.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ALL: [CollectionStrategy; 4] = [
    CollectionStrategy::Immediate,
    CollectionStrategy::CopyOnRead,
    CollectionStrategy::CopyOnWrite,
    CollectionStrategy::Delayed { visits: 3 },
];

fn seen(collection: &Collection<u64>) -> Vec<u64> {
    let mut seen = Vec::new();
    collection.visit(|entry| seen.push(*entry));
    seen
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u64),
    Remove(u64),
    Clear,
    Look,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..8_u64).prop_map(Step::Add),
        3 => (0..8_u64).prop_map(Step::Remove),
        1 => Just(Step::Clear),
        2 => Just(Step::Look),
    ];
    prop::collection::vec(step, 0..60)
}

fn take(collection: &Collection<u64>, list: &mut Vec<u64>, step: Step) {
    match step {
        Step::Add(number) => {
            list.retain(|other| *other != number);
            list.push(number);
            collection.change(Change::Add(number, number));
        }
        Step::Remove(number) => {
            list.retain(|other| *other != number);
            collection.change(Change::Remove(number));
        }
        Step::Clear => {
            list.clear();
            collection.change(Change::Clear);
        }
        Step::Look => {}
    }
}

proptest! {
    #[test]
    fn every_strategy_does_what_a_list_does(steps in steps()) {
        for strategy in ALL {
            let (collection, mut list) = (Collection::new(strategy), Vec::new());
            for step in &steps {
                take(&collection, &mut list, *step);
                prop_assert_eq!(&seen(&collection), &list, "{:?}", strategy);
            }
        }
    }

    #[test]
    fn changes_of_a_visit_are_there_after_it(before in steps(), within in steps()) {
        // `Immediate` is for visits that change nothing.
        for strategy in &ALL[1..] {
            let (collection, mut list) = (Collection::new(*strategy), Vec::new());
            before.iter().for_each(|step| take(&collection, &mut list, *step));
            let at_first = list.clone();
            let (mut visited, mut steps) = (Vec::new(), within.iter());
            collection.visit(|entry| {
                visited.push(*entry);
                steps.next().into_iter().for_each(|step| take(&collection, &mut list, *step));
                collection.visit(|_| {});
            });
            prop_assert_eq!(visited, at_first, "{:?}", strategy);
            prop_assert_eq!(&seen(&collection), &list, "{:?}", strategy);
        }
    }
}

#[test]
fn threads_visit_while_others_change() {
    for strategy in ALL {
        let collection = Arc::new(Collection::new(strategy));
        collection.change(Change::Add(0, 0));
        let (is_over, visits) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let seen = seen(&collection);
                        // What nothing removes is always there, and nothing is there twice.
                        assert_eq!(seen.iter().filter(|entry| **entry == 0).count(), 1);
                        let mut sorted = seen.clone();
                        sorted.sort_unstable();
                        sorted.dedup();
                        assert_eq!(sorted.len(), seen.len());
                        visits.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for round in 1..=500_u64 {
                collection.change(Change::Add(1 + round % 5, round));
                collection.change(Change::Remove(1 + (round + 2) % 5));
            }
            while visits.load(Ordering::Relaxed) < 10 {
                std::thread::yield_now();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut left = seen(&collection);
        left.sort_unstable();
        assert_eq!(left, [0, 498, 499, 500], "{strategy:?}: all changes are made");
    }
}

#[test]
fn a_change_that_was_put_off_does_not_starve() {
    let collection = Collection::new(CollectionStrategy::Delayed { visits: 2 });
    collection.change(Change::Add(1, 1));
    let (begun, is_begun) = std::sync::mpsc::channel();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let collection = &collection;
        scope.spawn(move || {
            collection.visit(|_| {
                begun.send(()).expect("it listens");
                let _ = gate.recv();
            });
        });
        is_begun.recv().expect("it visits");
        collection.change(Change::Add(2, 2));
        // These may begin, and do not see the change.
        assert_eq!(seen(collection), [1]);
        assert_eq!(seen(collection), [1]);
        // This one waits for it, until the first visit is over.
        let waiting = scope.spawn(|| seen(collection));
        drop(go);
        assert_eq!(waiting.join().expect("it ends"), [1, 2]);
    });
}

#[test]
fn what_a_change_takes_out_ends_without_the_lock() {
    struct Last<'c>(&'c Collection<u64>);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            self.0.change(Change::Add(9, 9));
        }
    }
    for strategy in ALL {
        let numbers = Collection::new(strategy);
        let entries = Collection::new(strategy);
        entries.change(Change::Add(1, Arc::new(Last(&numbers))));
        entries.change(Change::Remove(1));
        assert_eq!(seen(&numbers), [9], "{strategy:?}");
    }
}
