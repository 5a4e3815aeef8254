//! Every combination of the seven policies of POAs, with every lock and demultiplexing strategy and
//! under every server concurrency strategy: what each operation of `PortableServer::POA` and each
//! request must do is said once, as a function of the policies (CORBA 3.3 P1 §15.3.8, §15.3.9).
//! Illegal combinations are refused with the place of the policy at fault.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod operations;
mod requests;
mod site;
mod witness;

use corbie::{
    IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, PoaError, PoaPolicy,
    RequestProcessing, ServantDemux, ServantRetention, ThreadModel,
};
use site::{BY_MESSAGE, Case, DIRECT, Driver, Site, THROUGH_POA};

const STRATEGIES: [&str; 5] = [
    "thread-per-connection",
    "thread-pool",
    "thread-per-request",
    "reactive",
    "reactor-per-thread",
];

/// All 288 combinations of the seven policies of the specification.
fn combinations() -> Vec<Case> {
    let mut all = vec![];
    for thread in [ThreadModel::OrbControl, ThreadModel::SingleThread, ThreadModel::MainThread] {
        for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
            for uniqueness in [IdUniqueness::UniqueId, IdUniqueness::MultipleId] {
                for assignment in [IdAssignment::SystemId, IdAssignment::UserId] {
                    for activation in [ImplicitActivation::No, ImplicitActivation::Implicit] {
                        for retention in [ServantRetention::Retain, ServantRetention::NonRetain] {
                            for processing in [
                                RequestProcessing::ActiveObjectMapOnly,
                                RequestProcessing::DefaultServant,
                                RequestProcessing::ServantManager,
                            ] {
                                all.push(Case {
                                    thread,
                                    lifespan,
                                    uniqueness,
                                    assignment,
                                    activation,
                                    retention,
                                    processing,
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

/// The rules that `case` breaks, each as the two kinds of policy that do not go together: the rules
/// as the specification has them, not as the code does.
fn broken_rules(case: &Case) -> Vec<[PoaPolicy; 2]> {
    let mut broken = vec![];
    let mut rule = |is_broken: bool, between: [PoaPolicy; 2]| {
        if is_broken {
            broken.push(between);
        }
    };
    let non_retain = case.retention == ServantRetention::NonRetain;
    let implicit = case.activation == ImplicitActivation::Implicit;
    rule(
        non_retain && case.processing == RequestProcessing::ActiveObjectMapOnly,
        [case.retention.into(), case.processing.into()],
    );
    rule(
        case.processing == RequestProcessing::DefaultServant
            && case.uniqueness == IdUniqueness::UniqueId,
        [case.processing.into(), case.uniqueness.into()],
    );
    rule(
        implicit && case.assignment == IdAssignment::UserId,
        [case.activation.into(), case.assignment.into()],
    );
    rule(implicit && non_retain, [case.activation.into(), case.retention.into()]);
    broken
}

#[test]
fn exactly_the_legal_combinations_make_a_poa_and_the_others_name_the_culprit() {
    let site = Site::new("thread-pool", Driver::Background, BY_MESSAGE);
    let (mut legal, mut illegal) = (0, 0);
    for case in combinations() {
        // In every order the policy at fault is another one.
        let list = case.policies();
        for turn in 0..list.len() {
            let mut list = list.clone();
            list.rotate_left(turn);
            let made = site.root.create_poa("made", None, &list);
            let broken = broken_rules(&case);
            if broken.is_empty() {
                made.unwrap().destroy(false, true).unwrap();
                legal += 1;
                continue;
            }
            illegal += 1;
            let Err(PoaError::InvalidPolicy { index, why }) = made else {
                panic!("{case:?} was not refused")
            };
            let named = std::mem::discriminant(&list[index]);
            let is_at_fault = broken.iter().flatten().any(|p| std::mem::discriminant(p) == named);
            assert!(is_at_fault, "{list:?}: {index} is not at fault ({why})");
            // Of the two that do not go together, the one that came first.
            let firsts: Vec<usize> = broken
                .iter()
                .filter_map(|between| {
                    let kinds = between.map(|policy| std::mem::discriminant(&policy));
                    list.iter().position(|p| kinds.contains(&std::mem::discriminant(p)))
                })
                .collect();
            assert!(firsts.contains(&index), "{list:?}: {index}, not one of {firsts:?}");
        }
    }
    assert_eq!((legal, illegal), (126 * 7, 162 * 7));
    site.end();
}

fn run_all(site: &Site, demux: ServantDemux, name: &str) {
    for case in combinations().into_iter().filter(|case| broken_rules(case).is_empty()) {
        let what = format!("{name}, {demux:?}: {case:?}");
        operations::check(site, &case, demux, &what);
        requests::check(site, &case, demux, &what);
    }
}

#[test]
fn every_legal_combination_behaves_as_specified_with_every_strategy() {
    for (index, strategy) in STRATEGIES.into_iter().enumerate() {
        let site = Site::new(strategy, Driver::Background, BY_MESSAGE);
        // Each strategy of threads with one of demultiplexing, so that all meet all policies.
        let demux = [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear];
        run_all(&site, demux[index % 3], strategy);
        site.end();
    }
}

#[test]
fn every_legal_combination_behaves_the_same_without_locks() {
    let site = Site::new("reactive", Driver::ThisThread, BY_MESSAGE);
    for demux in [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear] {
        run_all(&site, demux, "without locks");
    }
    site.end();
}

/// Calls within the process keep what the policies say (paper POA §3.1 has them ignore it).
#[test]
fn every_legal_combination_behaves_the_same_for_calls_within_the_process() {
    for (mode, name) in [(THROUGH_POA, "through the POA"), (DIRECT, "direct")] {
        for strategy in ["thread-pool", "thread-per-connection"] {
            let site = Site::new(strategy, Driver::Background, mode);
            for demux in [ServantDemux::Active, ServantDemux::DynamicHash] {
                run_all(&site, demux, &format!("{strategy}, {name}"));
            }
            site.end();
        }
        let site = Site::new("reactive", Driver::ThisThread, mode);
        run_all(&site, ServantDemux::Active, &format!("without locks, {name}"));
        site.end();
    }
}
