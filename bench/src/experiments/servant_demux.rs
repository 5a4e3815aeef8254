//! `servant-demux`, paper POA figure 5: the time to find a servant against their number, by each
//! strategy; and the whole way of a request.
//!
//! In the table of `experiments.rs`; measured by `demultiplexing/servants.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "servant-demux",
    paper: "POA Fig. 5",
    summary: "From an object key to its servant, against the number of servants of the POA.",
    notes: &[
        "Each strategy is that of a POA (its policy ServantDemux): the key is parsed, the map \
         locked and looked into, the object counted.",
        "hot: 64 servants, spread evenly over all, asked for again and again, so that what they \
         need stays in the cache: what the strategy itself costs. random: all of them, shuffled: \
         with so many objects each step is a cache miss, whatever the strategy. sequential: the \
         same in the order of memory, where the processor fetches ahead: what is left of the \
         misses when they are foreseen.",
        "full: the whole way of a request: key, three levels of POAs, active demultiplexing, gate, \
         the object entered and left, one of 100 operations in the perfect hash of a skeleton.",
        "linear ends at 10,000 servants (1,000 in a quick run): beyond it one look takes longer \
         than a remote call.",
        "The paper's figure, 1 to 500 servants: active demultiplexing flat and lowest, dynamic \
         hashing above it and slowly rising, linear search beyond both at once.",
    ],
    paper_table: None,
    ratios: &[
        "active 1000000 / active 1 : ns_per_op",
        "active 1000000 / active 1 : ns_per_op @ random",
        "active 10000 / dynamic-hash 10000 : ns_per_op @ hot",
        "full 1000000 / full 1 : ns_per_op",
        "dynamic-hash 1000000 / dynamic-hash 1 : ns_per_op",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_per_op",
    charts: &[Plot::of_rows("ns_per_op", Chart::Lines { along: "servants", logarithmic: true })],
    plan,
};

/// A strategy, how its servants are asked for, and how many there may be: in a quick run, and else.
const WAYS: &[(&str, &str, &[&str], u64, u64)] = &[
    ("active", "hot", &["servants", "active", "hot"], MILLION, MILLION),
    ("active", "random", &["servants", "active", "random"], MILLION, MILLION),
    ("active", "sequential", &["servants", "active", "sequential"], 10_000, MILLION),
    ("dynamic-hash", "hot", &["servants", "dynamic-hash", "hot"], 10_000, MILLION),
    ("dynamic-hash", "random", &["servants", "dynamic-hash", "random"], 10_000, MILLION),
    ("linear", "random", &["servants", "linear", "random"], 1_000, 10_000),
    ("full", "hot", &["servants", "full", "hot"], 10_000, MILLION),
];
const MILLION: u64 = 1_000_000;

fn plan(effort: &Effort) -> Vec<Cell> {
    let sizes: &[u64] = match effort.quick {
        true => &[1, 100, 10_000, MILLION],
        false => &[1, 10, 100, 1_000, 10_000, 100_000, MILLION],
    };
    let window_ms = if effort.quick { 50 } else { 500 };
    let mut cells = Vec::new();
    for &servants in sizes {
        for (series, config, words, quick_most, most) in WAYS {
            if servants > if effort.quick { *quick_most } else { *most } {
                continue;
            }
            let contender = Contender::local(series, config, words);
            let order = Order::Local { size: servants, window_ms };
            let x = vec![("servants", servants.into())];
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
