//! Routes under every supplier filter: what is shown is what a look at all consumers would find.

use super::*;
use crate::filter::{Filter, event};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Debug)]
struct Consumer {
    number: u64,
    filter: Filter,
}

impl Interested for Consumer {
    fn number(&self) -> u64 {
        self.number
    }

    fn is(&self, other: &Self) -> bool {
        self.number == other.number && self.filter == other.filter
    }

    fn may_accept(&self, publication: Publication) -> bool {
        self.filter.may_accept(publication)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Consumer(u64, i32, i32),
    NoConsumer(u64),
    Supplier(u64, Vec<(i32, i32)>),
    NoSupplier(u64),
    Push(u64, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6_u64, 0..3_i32, 0..4_i32).prop_map(|(n, s, k)| Step::Consumer(n, s, k)),
        1 => (0..6_u64).prop_map(Step::NoConsumer),
        2 => (0..3_u64, prop::collection::vec((1..3_i32, 1..4_i32), 1..4))
            .prop_map(|(n, p)| Step::Supplier(n, p)),
        1 => (0..3_u64).prop_map(Step::NoSupplier),
        4 => (0..3_u64, 0..4_usize).prop_map(|(n, at)| Step::Push(n, at)),
    ];
    prop::collection::vec(step, 0..80)
}

proptest! {
    #[test]
    fn an_event_is_shown_to_those_that_want_it(steps in steps()) {
        for kind in [SupplierFilter::PerSupplier, SupplierFilter::PerType, SupplierFilter::Global] {
            let routes = Routes::new(kind, CollectionStrategy::CopyOnWrite);
            let mut consumers = BTreeMap::<u64, Consumer>::new();
            let mut suppliers = BTreeMap::<u64, Route<Consumer>>::new();
            for step in steps.clone() {
                match step {
                    Step::Consumer(number, source, kind) => {
                        let consumer = Consumer { number, filter: event(kind).from(source) };
                        routes.remove_consumer(number);
                        routes.add_consumer(&consumer);
                        consumers.insert(number, consumer);
                    }
                    Step::NoConsumer(number) => {
                        routes.remove_consumer(number);
                        consumers.remove(&number);
                    }
                    Step::Supplier(number, published) => {
                        let published = published.into_iter();
                        let published = published.map(|(s, k)| Publication::new(s, k)).collect();
                        suppliers.insert(number, routes.add_supplier(number, published));
                    }
                    Step::NoSupplier(number) => {
                        routes.remove_supplier(number);
                        suppliers.remove(&number);
                    }
                    Step::Push(number, at) => {
                        let Some(route) = suppliers.get(&number) else { continue };
                        let published = route.publications[at % route.publications.len()];
                        let wants = |c: &&Consumer| c.may_accept(published);
                        let expected: Vec<_> =
                            consumers.values().filter(wants).map(|c| c.number).collect();
                        let mut shown = Vec::new();
                        routes.visit(route, published.kind, |c| shown.push(c.clone()));
                        shown.retain(|c| wants(&c));
                        let mut shown: Vec<_> = shown.iter().map(|c| c.number).collect();
                        shown.sort_unstable();
                        prop_assert_eq!(shown, expected, "{:?}", kind);
                    }
                }
            }
            prop_assert_eq!(routes.consumers().len(), consumers.len());
            prop_assert_eq!(routes.publications().len(), suppliers.len());
        }
    }
}

#[test]
fn those_that_want_nothing_of_it_are_not_looked_at() {
    for kind in [SupplierFilter::PerSupplier, SupplierFilter::PerType] {
        let routes = Routes::new(kind, CollectionStrategy::CopyOnWrite);
        let route = routes.add_supplier(1, vec![Publication::new(1, 16)]);
        for number in 0..1000 {
            let wanted = if number == 500 { 16 } else { 17 };
            routes.add_consumer(&Consumer { number, filter: event(wanted) });
        }
        let mut looked_at = Vec::new();
        routes.visit(&route, 16, |consumer| looked_at.push(consumer.number));
        assert_eq!(looked_at, [500], "{kind:?}");
    }
}

#[test]
fn types_beyond_the_bound_are_shown_to_all() {
    let routes = Routes::new(SupplierFilter::PerType, CollectionStrategy::CopyOnWrite);
    let route = routes.add_supplier(1, vec![Publication::ANYTHING]);
    routes.add_consumer(&Consumer { number: 1, filter: event(16) });
    let mut shown = 0;
    for kind in 17..17 + i32::try_from(MOST_TYPES).expect("small") {
        routes.visit(&route, kind, |_| shown += 1);
    }
    assert_eq!((shown, routes.types().len()), (0, MOST_TYPES));
    routes.visit(&route, 1_000_000, |_| shown += 1);
    assert_eq!((shown, routes.types().len()), (1, MOST_TYPES));
}

/// A consumer whose filter takes long: it says that it is asked, and answers when it may.
#[derive(Clone)]
struct Slow {
    number: u64,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    asked: AtomicBool,
    is_open: AtomicBool,
}

impl Interested for Slow {
    fn number(&self) -> u64 {
        self.number
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gate, &other.gate)
    }

    fn may_accept(&self, _: Publication) -> bool {
        self.gate.asked.store(true, Ordering::SeqCst);
        while !self.gate.is_open.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        true
    }
}

#[test]
fn clients_come_and_go_while_it_is_found_out_for_whom_an_event_is() {
    let routes = Routes::new(SupplierFilter::PerSupplier, CollectionStrategy::CopyOnWrite);
    let open = || Arc::new(Gate { is_open: AtomicBool::new(true), ..Gate::default() });
    let slow = |number| Slow { number, gate: Arc::default() };
    let quick = |number| Slow { number, gate: open() };
    let (first, goes) = (slow(1), quick(2));
    std::thread::scope(|scope| {
        let supplier = || routes.add_supplier(7, vec![Publication::ANYTHING]);
        routes.add_consumer(&first);
        routes.add_consumer(&goes);
        let connecting = scope.spawn(supplier);
        let is_asked = |consumer: &Slow| {
            while !consumer.gate.asked.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        };
        is_asked(&first);
        // None of these waits for the filter.
        assert_eq!(routes.consumers().len(), 2);
        routes.remove_consumer(2);
        routes.add_consumer(&quick(3));
        let other = routes.add_supplier(8, Vec::new());
        first.gate.is_open.store(true, Ordering::SeqCst);
        let route = connecting.join().expect("it does not panic");
        let second = slow(4);
        let late = scope.spawn({
            let (routes, second) = (&routes, second.clone());
            move || routes.add_consumer(&second)
        });
        is_asked(&second);
        assert_eq!(routes.publications().len(), 2);
        routes.remove_supplier(8);
        second.gate.is_open.store(true, Ordering::SeqCst);
        late.join().expect("it does not panic");
        let shown = |route| {
            let mut shown = Vec::new();
            routes.visit(route, 0, |consumer: &Slow| shown.push(consumer.number));
            shown
        };
        assert_eq!(shown(&route), [1, 3, 4]);
        assert!(shown(&other).is_empty());
    });
}
