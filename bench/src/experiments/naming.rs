//! `naming`: resolve and bind a second of our naming server beside omniNames.
//!
//! In the table of `experiments.rs`; what is measured is in `bench/src/naming.rs`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "naming",
    paper: "-",
    summary: "Names resolved a second, and bindings changed a second, by 1 and 8 threads.",
    notes: &[
        "The client is Corbie's for both servers; the server is a process of its own on a fresh \
         store. resolve: a name of three components. bind: a thread binds a name of its own and \
         unbinds it, which are two changes.",
        "corbie's changes are on the disk when they are acknowledged (redb, flushed); omniNames \
         writes its log to the system's cache and does not wait for the disk.",
    ],
    paper_table: None,
    ratios: &[
        "corbie-resolve / omninames-resolve : calls_per_s @ 1",
        "corbie-resolve / omninames-resolve : calls_per_s @ 8",
        "corbie-bind / omninames-bind : calls_per_s @ 1",
        "corbie-bind / omninames-bind : calls_per_s @ 8",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "calls_per_s",
    charts: &[Plot { name: "", metric: "calls_per_s", chart: Chart::Bars { by: "threads" } }],
    plan,
};

fn plan(effort: &Effort) -> Vec<Cell> {
    let window_ms = if effort.quick { 500 } else { 3_000 };
    let contenders = [
        Contender::local("corbie-resolve", "", &["naming", "corbie", "resolve"]),
        Contender::local("omninames-resolve", "", &["naming", "omninames", "resolve"]),
        Contender::local("corbie-bind", "", &["naming", "corbie", "bind"]),
        Contender::local("omninames-bind", "", &["naming", "omninames", "bind"]),
    ];
    let mut cells = Vec::new();
    for threads in [1, 8] {
        for contender in &contenders {
            let order = Order::Local { size: threads, window_ms };
            let x = vec![("threads", threads.into())];
            let contender = contender.clone();
            cells.push(Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x });
        }
    }
    cells
}
