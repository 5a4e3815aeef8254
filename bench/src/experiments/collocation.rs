//! `collocation`, paper POA figure 15: calls of an object of the same process, without a message
//! and with one.
//!
//! In the table of `experiments.rs`; measured by `collocation.rs`, and by `peers/omniorb`.

use crate::contender::{Contender, Family};
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "collocation",
    paper: "POA Fig. 15",
    summary: "Calls of an object of the same process: empty ones, and sequences of longs cubed.",
    notes: &[
        "dyn-call: the servant as a trait object of Rust, called in the same loop. direct, poa and \
         remote are the same generated stub, and the settings collocation and \
         collocation_strategy differ. All keep the object adapter's promises: manager, Current, \
         deactivation, exceptions and panics.",
        "longs = 0: an operation without arguments. With longs, the result is a new sequence in \
         every series; remote encodes and decodes both.",
        "Time is the calling thread's own processor time, but for remote calls, which wait.",
        "The paper, UltraSPARC-II and Pentium II: collocation 20 to 2,000 times as many calls.",
    ],
    paper_table: None,
    ratios: &[
        "corbie-direct / dyn-call : ns_per_op",
        "corbie-poa / omniorb-collocated : ns_per_op",
        "corbie-direct / omniorb-collocated : ns_per_op",
        "corbie-direct / corbie-remote : calls_per_s @ 4",
        "corbie-direct / corbie-remote : calls_per_s @ 1024",
        "corbie-poa / corbie-remote : calls_per_s @ 4",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_per_op",
    charts: &[Plot::of_rows("calls_per_s", Chart::Lines { along: "longs", logarithmic: true })],
    plan,
};

const WAYS: &[(&str, &[&str])] = &[
    ("dyn-call", &["collocation", "dyn"]),
    ("corbie-direct", &["collocation", "direct"]),
    ("corbie-poa", &["collocation", "poa"]),
    ("corbie-remote", &["collocation", "none"]),
];

fn plan(effort: &Effort) -> Vec<Cell> {
    let window_ms = if effort.quick { 100 } else { 500 };
    let omniorb = Contender::new("omniorb-collocated", "", Family::OmniOrb, &[]);
    let own = WAYS.iter().map(|(series, words)| Contender::local(series, "", words));
    let contenders: Vec<_> = own.chain([omniorb]).collect();
    let mut cells = Vec::new();
    for longs in [0, 4, 1024] {
        for contender in &contenders {
            let contender = contender.clone();
            let order = Order::Local { size: longs, window_ms };
            let x = vec![("longs", longs.into())];
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
