//! `poa-depth`, paper POA figure 3: the time to find the POA of an object against its nesting.
//!
//! In the table of `experiments.rs`; measured by `demultiplexing/depth.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "poa-depth",
    paper: "POA Fig. 3",
    summary: "From an object key to its POA, against the nesting of the POA.",
    notes: &[
        "active: from the key to the POA, by transient keys and by persistent ones: both carry the \
         POA's index.",
        "per-level: what the paper's TAO did: each POA finds its child by name in a hash table.",
        "entered: active, and on to the servant, whose upcall could begin.",
        "empty-loop: what counting costs; it is part of every row.",
        "The paper's figure: the time grows linearly with the depth, 1 to 25.",
    ],
    paper_table: None,
    ratios: &[
        "active depth 25 / active depth 1 : ns_per_op",
        "per-level depth 25 / per-level depth 1 : ns_per_op",
        "active depth 25 / per-level depth 25 : ns_per_op",
        "entered depth 25 / entered depth 1 : ns_per_op",
        "active depth 25 / active depth 1 : ns_per_op @ transient keys",
        "active depth 25 / active depth 1 : ns_per_op @ persistent keys",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_per_op",
    charts: &[Plot::of_rows("ns_per_op", Chart::Lines { along: "depth", logarithmic: false })],
    plan,
};

fn plan(effort: &Effort) -> Vec<Cell> {
    let depths: &[u64] = if effort.quick { &[1, 10, 25] } else { &[1, 2, 5, 10, 15, 20, 25] };
    let window_ms = if effort.quick { 50 } else { 500 };
    let contenders = [
        Contender::local("active", "transient keys", &["depth", "active", "transient"]),
        Contender::local("active", "persistent keys", &["depth", "active", "persistent"]),
        Contender::local("per-level", "", &["depth", "per-level", "persistent"]),
        Contender::local("entered", "transient keys", &["depth", "entered", "transient"]),
        Contender::local("entered", "persistent keys", &["depth", "entered", "persistent"]),
        Contender::local("empty-loop", "", &["nothing"]),
    ];
    let mut cells = Vec::new();
    for &depth in depths {
        for contender in &contenders {
            let order = Order::Local { size: depth, window_ms };
            let x = vec![("depth", depth.into())];
            let contender = contender.clone();
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
