//! Trees against a naive interpreter, which keeps all events and knows nothing of groups' places.

use super::*;
use crate::kinds;
use crate::rtec_event_channel_admin::Dependency;
use proptest::prelude::*;

fn header(source: i32, kind: i32) -> EventHeader {
    EventHeader { source, r#type: kind, ..EventHeader::default() }
}

/// An event of a test: what its header says, and the number of the time-out from which it comes.
#[derive(Clone, Copy, Debug)]
struct Shown {
    source: i32,
    kind: i32,
    timeout: Option<u32>,
}

/// The interpreter: what each node has kept, as a tree of its own.
struct Naive {
    filter: Filter,
    children: Vec<Naive>,
    /// By child, what it has passed on.
    kept: Vec<Option<Vec<usize>>>,
    /// In the order in which it came.
    order: Vec<usize>,
}

enum Said {
    No,
    Waits,
    Gives(Vec<usize>),
}

impl Naive {
    fn of(filter: &Filter) -> Self {
        let children: Vec<_> = filter.children().iter().map(Naive::of).collect();
        let kept = children.iter().map(|_| None).collect();
        Self { filter: filter.clone(), children, kept, order: Vec::new() }
    }

    fn clear(&mut self) {
        self.children.iter_mut().for_each(Naive::clear);
        self.kept.fill(None);
        self.order.clear();
    }

    fn ask(&mut self, at: usize, shown: Shown) -> Said {
        let yes = |is: bool| if is { Said::Gives(vec![at]) } else { Said::No };
        let (s, k) = (shown.source.cast_unsigned(), shown.kind.cast_unsigned());
        match self.filter.clone() {
            Filter::Null => yes(true),
            Filter::Type { source, kind } => yes([(source, shown.source), (kind, shown.kind)]
                .iter()
                .all(|(asked, given)| *asked == 0 || *given == 0 || asked == given)),
            Filter::MaskedType { source_mask, kind_mask, source, kind } => {
                yes(s & source_mask == source && k & kind_mask == kind)
            }
            Filter::Bitmask { source_mask, kind_mask, .. } => {
                if s & source_mask == 0 || k & kind_mask == 0 {
                    return Said::No;
                }
                self.children[0].ask(at, shown)
            }
            Filter::Negation(_) => yes(matches!(self.children[0].ask(at, shown), Said::No)),
            Filter::LogicalAnd(_) => {
                for child in &mut self.children {
                    if let Said::No = child.ask(at, shown) {
                        return Said::No;
                    }
                }
                yes(true)
            }
            Filter::Disjunction(_) => {
                for child in &mut self.children {
                    match child.ask(at, shown) {
                        Said::No => {}
                        said => return said,
                    }
                }
                Said::No
            }
            Filter::Conjunction(_) => {
                for child in 0..self.children.len() {
                    match self.children[child].ask(at, shown) {
                        Said::No => {}
                        Said::Waits => return Said::Waits,
                        Said::Gives(events) => return self.keep(child, events),
                    }
                }
                Said::No
            }
            Filter::Sequence(_) => {
                let Some(next) = self.kept.iter().position(Option::is_none) else {
                    return Said::No;
                };
                match self.children[next].ask(at, shown) {
                    Said::Gives(events) => self.keep(next, events),
                    said => said,
                }
            }
            Filter::Timeout(timeout) => yes(shown.timeout == Some(timeout.number)),
        }
    }

    fn keep(&mut self, child: usize, events: Vec<usize>) -> Said {
        if self.kept[child].is_some() {
            return Said::Waits;
        }
        self.order.extend(&events);
        self.kept[child] = Some(events);
        if self.kept.iter().any(Option::is_none) {
            return Said::Waits;
        }
        Said::Gives(self.order.clone())
    }
}

fn masked_type(((source_mask, kind_mask), source, kind): ((u32, u32), u32, u32)) -> Filter {
    Filter::MaskedType { source_mask, kind_mask, source, kind }
}

fn trees() -> impl Strategy<Value = Filter> {
    let number = 0..4_i32;
    let mask = prop_oneof![Just(0_u32), Just(1), Just(2), Just(3), Just(u32::MAX)];
    let masks = (mask.clone(), mask.clone());
    let leaf = prop_oneof![
        4 => (number.clone(), prop_oneof![Just(0), 16..20_i32])
            .prop_map(|(source, kind)| Filter::Type { source, kind }),
        1 => (masks.clone(), 0..4_u32, 0..4_u32).prop_map(masked_type),
        1 => Just(Filter::Null),
        1 => (0..3_u32).prop_map(|moment| Filter::Timeout(Timeout {
            moment: [Moment::Once, Moment::Interval, Moment::Deadline][moment as usize],
            after: 10_000,
            number: 0,
        })),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            some.clone().prop_map(Filter::Disjunction),
            some.clone().prop_map(Filter::LogicalAnd),
            some.clone().prop_map(Filter::all_of),
            some.prop_map(Filter::in_order),
            inner.clone().prop_map(|child| !child),
            (masks.clone(), inner).prop_map(|((s, k), child)| child.with_bits(s, k)),
        ]
    })
}

fn events() -> impl Strategy<Value = Vec<Shown>> {
    let event = prop_oneof![
        5 => (0..4_i32, prop_oneof![Just(0), 16..20_i32])
            .prop_map(|(source, kind)| Shown { source, kind, timeout: None }),
        1 => (0..4_u32).prop_map(|number| {
            Shown { source: 0, kind: kinds::EVENT_TIMEOUT, timeout: Some(number) }
        }),
    ];
    prop::collection::vec(event, 0..40)
}

fn read(entries: &[Dependency], form: Form) -> Result<Filter, BadSubscription> {
    Filter::of(entries, form, Bounds::default())
}

proptest! {
    #[test]
    fn a_tree_says_what_the_interpreter_says(tree in trees(), events in events()) {
        let tree = read(&tree.entries(), Form::Prefix).expect("a subscription");
        let (mut progress, mut naive) = (Progress::of(&tree), Naive::of(&tree));
        for (at, shown) in events.iter().enumerate() {
            let header = header(shown.source, shown.kind);
            let question = Question { header: &header, event: &at, timeout: shown.timeout };
            let answer = tree.answer(&question, &mut progress);
            let passed = match (answer, naive.ask(at, *shown)) {
                (Answer::Refused, Said::No) | (Answer::Kept, Said::Waits) => None,
                (Answer::Passed, Said::Gives(events)) => Some((vec![at], events)),
                (Answer::PassedWith(one), Said::Gives(other)) => Some((one, other)),
                (answer, _) => return Err(TestCaseError::fail(format!("{answer:?} of {shown:?}"))),
            };
            if let Some((one, other)) = passed {
                prop_assert_eq!(one, other);
                progress.clear();
                naive.clear();
                prop_assert_eq!(progress.kept(), 0);
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(tree in trees()) {
        let entries = tree.entries();
        let mut numbered = tree;
        numbered.number();
        for form in [Form::Prefix, Form::Either] {
            prop_assert_eq!(read(&entries, form), Ok(numbered.clone()));
        }
    }

    #[test]
    fn any_octets_are_a_subscription_or_refused(
        headers in prop::collection::vec((-2..5_i32, -1..20_i32, 0..20_000_u64), 0..50),
    ) {
        let entries: Vec<_> = headers.into_iter().map(|(source, kind, time)| {
            let mut entry = Dependency::default();
            entry.event.header = EventHeader { creation_time: time, ..header(source, kind) };
            entry
        }).collect();
        for form in [Form::Either, Form::Basic, Form::Prefix] {
            if let Ok(filter) = read(&entries, form) {
                let again = read(&filter.entries(), Form::Prefix).expect("it was one");
                prop_assert_eq!(again.entries(), filter.entries());
            }
        }
    }

    #[test]
    fn what_may_be_accepted_says_no_only_when_it_never_is(tree in trees(), events in events()) {
        let tree = read(&tree.entries(), Form::Prefix).expect("a subscription");
        let mut progress = Progress::of(&tree);
        for (at, Shown { source, kind, .. }) in events.into_iter().enumerate() {
            let header = header(source, kind);
            let question = Question { header: &header, event: &at, timeout: None };
            if let Answer::Refused = tree.answer(&question, &mut progress) {
                continue;
            }
            for publication in [
                Publication { source, kind },
                Publication { source: 0, kind },
                Publication { source, kind: 0 },
                Publication::ANYTHING,
            ] {
                prop_assert!(tree.may_accept(publication), "{:?}", publication);
            }
            progress.clear();
        }
    }
}

fn entries(headers: &[(i32, i32)]) -> Vec<Dependency> {
    let entry = |(source, kind): &(i32, i32)| {
        let mut entry = Dependency::default();
        entry.event.header = EventHeader { creation_time: 50_000, ..header(*source, *kind) };
        entry
    };
    headers.iter().map(entry).collect()
}

#[test]
fn a_group_of_the_basic_form_goes_up_to_the_next_one() {
    let flat = entries(&[
        (0, kinds::CONJUNCTION_DESIGNATOR),
        (1, 16),
        (0, kinds::NEGATION_DESIGNATOR),
        (1, 17),
        (0, kinds::DISJUNCTION_DESIGNATOR),
        (0, 18),
        (0, kinds::EVENT_INTERVAL_TIMEOUT),
        (0, kinds::GLOBAL_DESIGNATOR),
        (0, 19),
    ]);
    let mut expected = Filter::any_of([
        Filter::all_of([event(16).from(1), !event(17).from(1)]),
        Filter::any_of([event(18), Filter::every(std::time::Duration::from_millis(5))]),
        event(19),
    ]);
    expected.number();
    for form in [Form::Basic, Form::Either] {
        assert_eq!(read(&flat, form), Ok(expected.clone()));
    }
}

#[test]
fn what_lacks_a_part_is_refused_with_its_place() {
    let refused = [
        (vec![(0, kinds::NEGATION_DESIGNATOR)], 1, "needs one more"),
        (vec![(0, 16), (0, kinds::BITMASK_DESIGNATOR), (1, 1)], 3, "needs one more"),
        (vec![(0, kinds::MASKED_TYPE_DESIGNATOR), (1, 1)], 2, "needs one more"),
        (vec![(2, kinds::CONJUNCTION_DESIGNATOR), (0, 16)], 2, "needs one more"),
        (vec![(0, kinds::NEGATION_DESIGNATOR); 40], 32, "nested more than 32"),
        (vec![(0, 16); 20_000], 0, "more than 1000 "),
        (vec![(0, kinds::EVENT_TIMEOUT); 65], 65, "more than 64 time-outs"),
    ];
    for (headers, entry, why) in refused {
        let bad = read(&entries(&headers), Form::Either).expect_err("it is bad");
        assert_eq!(bad.entry, entry, "{bad}");
        assert!(bad.why.contains(why), "{bad}");
    }
    let soon = Filter::every(std::time::Duration::from_nanos(100)).entries();
    let bad = read(&soon, Form::Either).expect_err("it comes too often");
    assert_eq!(bad.entry, 0);
}

#[test]
fn an_empty_subscription_accepts_nothing() {
    let nothing = read(&[], Form::Either).expect("a subscription");
    assert!(!nothing.accepts(&header(1, 16), None));
    assert!(!nothing.may_accept(Publication::ANYTHING));
}
