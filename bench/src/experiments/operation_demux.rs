//! `operation-demux`, paper POA figure 7: the time to find the operation that a request names
//! against the number of operations of the interface, by each strategy.
//!
//! In the table of `experiments.rs`; measured by `demultiplexing/operations.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "operation-demux",
    paper: "POA Fig. 7",
    summary: "From the name of an operation to its index in the skeleton, against their number.",
    notes: &[
        "perfect, binary, linear: the tables that generated skeletons hold (OperationDemux of \
         the generator); dynamic-hash: the standard library's HashMap, filled at run time.",
        "Names have 14 characters. hot: 64 of them, spread evenly, again and again; random: all of \
         them, shuffled.",
        "The paper's figure, 1 to 50 operations: perfect hashing flat and lowest, binary search \
         and dynamic hashing above it, linear search rising.",
    ],
    paper_table: None,
    ratios: &[
        "perfect 1000 / perfect 1 : ns_per_op",
        "perfect 1000 / perfect 1 : ns_per_op @ random",
        "perfect 1000 / dynamic-hash 1000 : ns_per_op",
        "perfect 1000 / binary 1000 : ns_per_op",
        "perfect 1000 / linear 1000 : ns_per_op",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_per_op",
    charts: &[Plot::of_rows("ns_per_op", Chart::Lines { along: "operations", logarithmic: true })],
    plan,
};

const WAYS: &[(&str, &str, &[&str])] = &[
    ("perfect", "hot", &["operations", "perfect", "hot"]),
    ("perfect", "random", &["operations", "perfect", "random"]),
    ("binary", "random", &["operations", "binary", "random"]),
    ("dynamic-hash", "random", &["operations", "dynamic-hash", "random"]),
    ("linear", "random", &["operations", "linear", "random"]),
];

fn plan(effort: &Effort) -> Vec<Cell> {
    let sizes: &[u64] = match effort.quick {
        true => &[1, 10, 100, 1_000],
        false => &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
    };
    let window_ms = if effort.quick { 50 } else { 500 };
    let mut cells = Vec::new();
    for &operations in sizes {
        for (series, config, words) in WAYS {
            let contender = Contender::local(series, config, words);
            let order = Order::Local { size: operations, window_ms };
            let x = vec![("operations", operations.into())];
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
