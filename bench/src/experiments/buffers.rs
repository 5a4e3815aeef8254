//! `buffers`, paper POA Figure 17: buffers of the ORB from the thread's pool and from the heap,
//! among allocations of the application, alone and with other threads that allocate.
//!
//! In the table of `experiments.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "buffers",
    paper: "POA Figure 17",
    summary: "Time of 16 buffers of the ORB among 1,000 allocations of the application.",
    notes: &[
        "ns_*: nanoseconds that the sixteen buffers of one iteration take together, taken and \
         given back, with seventeen pairs of looks at the clock, the same for both. The sequence \
         of sizes and lifetimes is the same in every run.",
        "interfered: two threads allocate and free meanwhile, and free a seventh of what the \
         measured thread allocates. On fewer than three cores they also take the processor away, \
         which no allocator can help: see ns_p99 before ns_max.",
        "corbie: corbie::buffers, the pool of the thread. heap: the same buffers from the global \
         allocator (glibc, unless the binary says otherwise).",
    ],
    paper_table: None,
    ratios: &[
        "heap / corbie : ns_p50 @ alone",
        "heap / corbie : ns_p50 @ interfered",
        "heap / corbie : ns_p99 @ alone",
        "heap / corbie : ns_p99 @ interfered",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ns_p50",
    charts: &[
        Plot { name: "", metric: "ns", chart: Chart::Curves },
        Plot { name: "p99", metric: "ns_p99", chart: Chart::Bars { by: "config" } },
    ],
    plan,
};

fn plan(effort: &Effort) -> Vec<Cell> {
    let iterations = if effort.quick { 1_000 } else { 4_000 };
    let contenders = [
        Contender::local("corbie", "alone", &["buffers-pool-alone"]),
        Contender::local("heap", "alone", &["buffers-heap-alone"]),
        Contender::local("corbie", "interfered", &["buffers-pool-interfered"]),
        Contender::local("heap", "interfered", &["buffers-heap-interfered"]),
    ];
    contenders
        .into_iter()
        .map(|contender| {
            let order = Order::Local { size: iterations, window_ms: 0 };
            Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x: Vec::new() }
        })
        .collect()
}
