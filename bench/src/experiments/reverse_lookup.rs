//! `reverse-lookup`, paper POA figure 8: the time to find the object of a servant against their
//! number, with and without the reverse-lookup map.
//!
//! In the table of `experiments.rs`; measured by `demultiplexing/reverse.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "reverse-lookup",
    paper: "POA Fig. 8",
    summary: "From a servant to the id of its object, against the number of servants of the POA.",
    notes: &[
        "map: the active object map with the reverse-lookup map, by itself; search: the same map \
         without it, which looks at one object after the other; servant-to-id: the operation of a \
         POA with UNIQUE_ID, which has the map, locks it, and makes an ObjectId of what it finds.",
        "Servants are asked for in an order that looks random. The search ends at 10,000 servants \
         (1,000 in a quick run).",
        "The paper's figure: with the map flat, without it rising linearly.",
    ],
    paper_table: None,
    ratios: &[
        "map 1000 / search 1000 : ns_per_op",
        "map 1000 / map 1 : ns_per_op",
        "search 1000 / search 1 : ns_per_op",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_per_op",
    charts: &[Plot::of_rows("ns_per_op", Chart::Lines { along: "servants", logarithmic: true })],
    plan,
};

const WAYS: &[(&str, &[&str], u64, u64)] = &[
    ("map", &["reverse", "map"], 10_000, 1_000_000),
    ("search", &["reverse", "search"], 1_000, 10_000),
    ("servant-to-id", &["reverse", "poa"], 10_000, 1_000_000),
];

fn plan(effort: &Effort) -> Vec<Cell> {
    let sizes: &[u64] = match effort.quick {
        true => &[1, 10, 100, 1_000, 10_000],
        false => &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
    };
    let window_ms = if effort.quick { 50 } else { 500 };
    let mut cells = Vec::new();
    for &servants in sizes {
        for (series, words, quick_most, most) in WAYS {
            if servants > if effort.quick { *quick_most } else { *most } {
                continue;
            }
            let contender = Contender::local(series, "", words);
            let order = Order::Local { size: servants, window_ms };
            let x = vec![("servants", servants.into())];
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
