//! `amh-delay`, paper AMH Figures 10 and 11: replies a second of a middle tier with 150 clients,
//! against the time that the sink takes.
//!
//! In the table of `experiments.rs`; contenders and cells are those of `amh_clients.rs`.

use super::amh_clients;
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};

/// Source clients, as in the paper.
const CLIENTS: usize = 150;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "amh-delay",
    paper: "AMH Fig. 10, 11",
    summary: "Replies a second of a middle tier with 150 source clients, against the sink's delay.",
    notes: amh_clients::NOTES,
    paper_table: Some(PaperTable {
        title: "Paper AMH, Figure 10 (replies a second as its text gives them; three machines, the \
                middle tier with one 733 MHz processor, 10 Mbit/s) beside ours",
        metrics: &["replies_per_s"],
        heads: &["replies/s"],
        rows: &[
            PaperRow {
                name: "TPR-2 at 20 ms (its best)",
                values: &["1,281"],
                ours: "corbie-pool-2",
                at: &["20"],
            },
            PaperRow {
                name: "TPC at 40 ms",
                values: &["about 1,000"],
                ours: "corbie-thread-per-connection",
                at: &["40"],
            },
            PaperRow {
                name: "TPC at 160 ms",
                values: &["396"],
                ours: "corbie-thread-per-connection",
                at: &["160"],
            },
            PaperRow {
                name: "TPR-2 at 160 ms",
                values: &["381"],
                ours: "corbie-pool-2",
                at: &["160"],
            },
            PaperRow {
                name: "AMH-ST at 160 ms",
                values: &["941"],
                ours: "corbie-amh-1",
                at: &["160"],
            },
            PaperRow {
                name: "AMH-2 at 160 ms",
                values: &["938"],
                ours: "corbie-amh-2",
                at: &["160"],
            },
            PaperRow {
                name: "150 clients / 160 ms",
                values: &["\"1,000\" (937.5)"],
                ours: "ideal",
                at: &["160"],
            },
        ],
    }),
    ratios: &[
        "corbie-amh-1 / ideal : replies_per_s @ 160",
        "corbie-amh-2 / ideal : replies_per_s @ 160",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 0",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 20",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 160",
        "corbie-amh-1 / corbie-reactive : replies_per_s @ 0",
        "corbie-amh-1 / omniorb-thread-per-connection : replies_per_s @ 160",
        "corbie-async / ideal : replies_per_s @ 160",
    ],
    bests: &[],
    added: None,
    ideal: Some(amh_clients::ideal),
    metric: "replies_per_s",
    charts: &[Plot::of_rows(
        "replies_per_s",
        Chart::Lines { along: "delay_ms", logarithmic: false },
    )],
    plan,
};

fn plan(effort: &Effort) -> Vec<Cell> {
    let delays: &[u64] = match effort.quick {
        true => &[0, 20, 40, 160],
        false => &[0, 10, 20, 30, 40, 60, 80, 100, 120, 140, 160],
    };
    let mut cells = Vec::new();
    for &delay_ms in delays {
        for contender in amh_clients::tiers() {
            cells.push(amh_clients::cell(contender, CLIENTS, delay_ms, effort));
        }
    }
    cells
}
