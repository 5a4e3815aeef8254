//! `mshn-replicas`, paper MSHN Figure 15: one, two and four event service processes, and what the
//! paper could not replicate: typed events, advisors, servers.
//!
//! In the table of `experiments.rs`; contenders and cells are as those of `mshn.rs`.

use super::mshn::{Arrival, NOTES, cell};
use crate::contender::{Contender, Family};
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "mshn-replicas",
    paper: "MSHN Fig. 15",
    summary: "Requests for schedules with one, two and four event service processes, advisors and \
              servers.",
    notes: &[
        "The paper's hosts are cores here: client and advisor have one (`SA and client`), status \
         server and requirement database the other (`RRD and RSS`); the event service processes \
         are with the ones, with the others, or on both in turn (`all`). Rows without a place \
         leave that to the kernel. Channels are spread over the processes by name.",
        "`untyped-N`, `typed-N`: N event service processes. `…-advisors-N`: N advisors, two status \
         servers and two requirement databases; the Client Library takes advisors in turn, an \
         advisor the servers. `busiest_…_pct` is the part of the busiest replica: of requests, of \
         event service processes the processor time.",
        NOTES[0],
        NOTES[2],
        NOTES[3],
    ],
    paper_table: Some(PaperTable {
        title: "Paper MSHN, Figures 13 and 15, untyped events (1,000 requests with a pause of \
                500 ms each, read as ms a request) beside ours (pause scaled to 2 ms)",
        metrics: &["ms_per_request"],
        heads: &["ms a request"],
        rows: PAPER,
    }),
    ratios: &[
        "untyped-2 / untyped-1 : ms_per_request @ bursty @ at once",
        "untyped-4 / untyped-1 : ms_per_request @ bursty @ at once",
        "untyped-2 / untyped-1 : ms_per_request @ consecutive @ at once",
        "untyped-4 / untyped-1 : ms_per_request @ consecutive @ at once",
        "typed-4 / typed-1 : ms_per_request @ bursty @ at once",
        "sii-advisors-4 / sii-advisors-1 : ms_per_request @ bursty @ paper",
        "untyped-advisors-4 / untyped-advisors-1 : ms_per_request @ bursty @ paper",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ms_per_request",
    charts: &[Plot::of_rows("ms_per_request", Chart::Bars { by: "arrival" })],
    plan,
};

const PAPER: &[PaperRow] = &[
    row("consecutive: one (Figure 13)", "untyped-1", &["593.9"], &["consecutive", RIGHT]),
    row("consecutive: two", "untyped-2", &["599.05"], &["consecutive", LEFT]),
    row("consecutive: two", "untyped-2", &["593.82"], &["consecutive", RIGHT]),
    row("consecutive: four", "untyped-4", &["593.82"], &["consecutive", "all"]),
    row("bursty: one (Figure 13)", "untyped-1", &["564.4"], &["bursty", RIGHT]),
    row("bursty: two", "untyped-2", &["574.38"], &["bursty", LEFT]),
    row("bursty: two", "untyped-2", &["561.44"], &["bursty", RIGHT]),
    row("bursty: four", "untyped-4", &["560.98"], &["bursty", "all"]),
];

/// The paper's places of event service processes.
const LEFT: &str = "SA and client";
const RIGHT: &str = "RRD and RSS";

const fn row(
    name: &'static str,
    ours: &'static str,
    values: &'static [&'static str],
    at: &'static [&'static str],
) -> PaperRow {
    PaperRow { name, values, ours, at }
}

/// Series, the place of its event service processes, and the words for it.
type Replicated = (&'static str, &'static str, &'static [&'static str]);

/// As in the paper, with cores for hosts.
const PLACED: &[Replicated] = &[
    ("untyped-1", RIGHT, &["untyped", "--place=servers"]),
    ("untyped-2", LEFT, &["untyped", "--place=advisors", "--channels=2"]),
    ("untyped-2", RIGHT, &["untyped", "--place=servers", "--channels=2"]),
    ("untyped-4", "all", &["untyped", "--place=all", "--channels=4"]),
];

/// Wherever the kernel puts them.
const ANYWHERE: &[Replicated] = &[
    ("untyped-1", "", &["untyped"]),
    ("untyped-2", "", &["untyped", "--channels=2"]),
    ("untyped-4", "", &["untyped", "--channels=4"]),
    ("typed-1", "", &["typed"]),
    ("typed-2", "", &["typed", "--channels=2"]),
    ("typed-4", "", &["typed", "--channels=4"]),
];

/// Advisors, with two of each of the other servers.
const ADVISORS: &[Replicated] = &[
    ("sii-advisors-1", "", &["sii", "--servers=2"]),
    ("sii-advisors-2", "", &["sii", "--servers=2", "--advisors=2"]),
    ("sii-advisors-4", "", &["sii", "--servers=2", "--advisors=4"]),
    ("untyped-advisors-1", "", &["untyped", "--servers=2"]),
    ("untyped-advisors-2", "", &["untyped", "--servers=2", "--advisors=2"]),
    ("untyped-advisors-4", "", &["untyped", "--servers=2", "--advisors=4"]),
];

fn cells(replicated: &'static [Replicated], arrival: Arrival) -> impl Iterator<Item = Cell> {
    let contender =
        |&(series, place, words): &Replicated| Contender::new(series, place, Family::Mshn, words);
    replicated.iter().map(contender).map(move |contender| cell(contender, arrival))
}

/// A quick run has the paper's rows, and of the others the bursts.
fn plan(effort: &Effort) -> Vec<Cell> {
    let mut plan = Vec::new();
    for arrival in Arrival::all(effort) {
        let (is_bursty, is_paced) = (arrival.is_bursty(), arrival.is_paced());
        if is_paced || !effort.quick {
            plan.extend(cells(PLACED, arrival));
        }
        if (is_bursty && !is_paced) || !effort.quick {
            plan.extend(cells(ANYWHERE, arrival));
        }
        // One request at a time has no use for a second advisor.
        if is_bursty && (is_paced || !effort.quick) {
            plan.extend(cells(ADVISORS, arrival));
        }
    }
    plan
}
