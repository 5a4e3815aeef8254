//! Run by `cargo test`.
//!
//! The experiments against `experiments.md`.

use super::*;
use crate::experiment::Effort;
use crate::record::{self, Collected};

/// The ratios that `experiments.md` demands, word for word.
const REQUIRED: &[(&str, &[&str])] = &[
    (
        "ami-latency",
        &[
            "corbie-smi / raw-tcp : rtt_p50_us @ same-core",
            "corbie-smi / raw-tcp : rtt_p50_us @ two-cores",
            "corbie-smi / omniorb-smi : rtt_p50_us @ same-core",
            "corbie-smi / omniorb-smi : rtt_p50_us @ two-cores",
            "corbie-smi-spin / raw-tcp : rtt_p50_us @ two-cores",
            "corbie-smi-spin / raw-tcp-spin : rtt_p50_us @ two-cores",
            "corbie-ami-callback / corbie-smi : rtt_p50_us @ same-core",
            "corbie-dii / corbie-smi : rtt_p50_us @ same-core",
            "corbie-shm-spin / raw-tcp : rtt_p50_us @ two-cores",
        ],
    ),
    (
        "ami-throughput",
        &[
            "corbie-ami / corbie-smi-best : calls_per_s",
            "corbie-ami / raw-tcp-pipelined : calls_per_s",
            "corbie-smi-220 / corbie-smi-7 : calls_per_s",
            "corbie-smi-7 / omniorb-smi-7 : calls_per_s",
            "corbie-oneway / omniorb-oneway : calls_per_s",
        ],
    ),
    (
        "amh-clients",
        &[
            "corbie-amh-1 / ideal : replies_per_s @ 400",
            "corbie-amh-1 / ideal : replies_per_s @ 10000",
            "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 400",
        ],
    ),
    ("amh-delay", &[]),
    ("poa-depth", &["active depth 25 / active depth 1 : ns_per_op"]),
    ("servant-demux", &["active 1000000 / active 1 : ns_per_op"]),
    ("operation-demux", &["perfect 1000 / perfect 1 : ns_per_op"]),
    ("reverse-lookup", &[]),
    (
        "collocation",
        &["corbie-direct / dyn-call : ns_per_op", "corbie-poa / omniorb-collocated : ns_per_op"],
    ),
    ("gioplite", &[]),
    ("naming", &[]),
    (
        "event-throughput",
        &[
            "corbie / nats : events_per_s @ 1 @ 64",
            "corbie / nats : events_per_s @ 10 @ 64",
            "corbie / nats : events_per_s @ 100 @ 64",
            "corbie / icestorm : events_per_s @ 1 @ 64",
            "corbie / omnievents : events_per_s @ 1 @ 64",
            "corbie-typed / corbie-untyped : events_per_s @ 1 @ 64",
        ],
    ),
    (
        "mshn",
        &[
            "typed / untyped : ms_per_request @ bursty",
            "sii / local : added_ms_per_request @ consecutive",
        ],
    ),
    ("mshn-replicas", &[]),
    (
        "tls",
        &[
            "corbie-tls / raw-rustls : rtt_p50_us @ same-core",
            "corbie-tls / raw-rustls : mb_per_s @ 1MiB",
        ],
    ),
    ("buffers", &["heap / corbie : ns_p50 @ interfered", "heap / corbie : ns_p99 @ interfered"]),
    (
        "bandwidth",
        &[
            "corbie / raw-tcp : mb_per_s @ 1MiB",
            "corbie / omniorb : mb_per_s @ 1MiB",
            "corbie / omniorb : mb_per_s @ 64KiB",
        ],
    ),
];

const EFFORTS: [Effort; 2] = [effort(true), effort(false)];

const fn effort(quick: bool) -> Effort {
    Effort { quick, rounds: 5, full_pause: false }
}

#[test]
fn every_experiment_declares_the_required_ratios() {
    assert_eq!(REQUIRED.len(), EXPERIMENTS.len());
    for (name, keys) in REQUIRED {
        let experiment = EXPERIMENTS.iter().find(|e| e.name == *name).unwrap();
        for key in *keys {
            assert!(experiment.ratios.contains(key), "{name} lacks `{key}`");
        }
    }
}

/// Rows as a run would give them, every value 1, for every cell: also for contenders not built yet.
fn imagined_rows(experiment: &Experiment, effort: Effort) -> Vec<record::Row> {
    let mut collected = Collected::default();
    for cell in (experiment.plan)(&effort) {
        collected.add(&cell.contender.series, &cell.at(), experiment.metric, 1.0);
        for plot in experiment.charts {
            if plot.metric != experiment.metric {
                collected.add(&cell.contender.series, &cell.at(), plot.metric, 1.0);
            }
        }
    }
    let mut rows = collected.rows();
    if experiment.ideal.is_some() {
        record::add_ideal(&mut rows, experiment.metric, |_| Some(1.0));
    }
    for (name, prefix, metric) in experiment.bests {
        record::add_best(&mut rows, name, prefix, metric);
    }
    rows
}

#[test]
fn every_ratio_can_be_computed_from_the_planned_cells() {
    for experiment in EXPERIMENTS {
        for effort in EFFORTS {
            let rows = imagined_rows(experiment, effort);
            let required = REQUIRED.iter().find(|(name, _)| *name == experiment.name).unwrap().1;
            // A quick run leaves out some pins of the ratios that are not required.
            let keys = if effort.quick { required } else { experiment.ratios };
            for key in keys {
                // Of rows that are all alike, the difference is nothing.
                let expected = if key.contains(record::ADDED) { 0.0 } else { 1.0 };
                let found = record::ratio(&rows, key);
                assert_eq!(found, Some(expected), "{}: `{key}`", experiment.name);
            }
        }
    }
}

#[test]
fn no_two_cells_write_the_same_row() {
    for experiment in EXPERIMENTS {
        for effort in EFFORTS {
            let mut seen = std::collections::BTreeSet::new();
            for cell in (experiment.plan)(&effort) {
                let label = cell.label();
                assert!(seen.insert(label.clone()), "{}: {label} twice", experiment.name);
            }
        }
    }
}

#[test]
fn the_paper_stands_beside_rows_that_exist() {
    for experiment in EXPERIMENTS {
        let Some(paper) = &experiment.paper_table else { continue };
        let cells = (experiment.plan)(&EFFORTS[1]);
        for row in paper.rows {
            let computed = experiment.ideal.is_some() && row.ours == "ideal";
            let measured = cells.iter().any(|cell| cell.contender.series == row.ours);
            assert!(measured || computed, "{}", row.ours);
            assert_eq!(row.values.len(), paper.metrics.len());
        }
    }
}
