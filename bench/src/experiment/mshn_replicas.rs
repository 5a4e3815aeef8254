//! `mshn-replicas`, paper MSHN Figure 15: one, two and four event service processes, and what the
//! paper could not replicate: typed events, advisors, servers.
//!
//! In the table of `experiment.rs`; contenders and cells are as those of `mshn.rs`.

use super::mshn::{Arrival, NOTES, cell};
use super::{Cell, Effort, Experiment};
use crate::chart::{Chart, Plot};
use crate::contender::{Contender, Family};
use crate::table::{PaperRow, PaperTable};

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "mshn-replicas",
    paper: "MSHN Fig. 15",
    summary: "Requests for schedules with one, two and four event service processes, advisors and \
              servers.",
    notes: &[
        "The paper's hosts are cores here: client and advisor have one (`SA and client`), status \
         server and requirement database the other (`RRD and RSS`); the event service processes are \
         with the ones, with the others, or on both in turn (`all`). Rows without a place leave \
         that to the kernel. Channels are spread over the processes by name.",
        "`advisors` and `servers` (status servers and requirement databases) count replicas; the \
         Client Library takes advisors in turn, an advisor the servers. `busiest_…_pct` is the \
         part of the busiest: of requests, of event service processes the processor time.",
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
        "untyped channels 2 / untyped channels 1 : ms_per_request @ bursty @ at once",
        "untyped channels 4 / untyped channels 1 : ms_per_request @ bursty @ at once",
        "untyped channels 2 / untyped channels 1 : ms_per_request @ consecutive @ at once",
        "untyped channels 4 / untyped channels 1 : ms_per_request @ consecutive @ at once",
        "typed channels 4 / typed channels 1 : ms_per_request @ bursty @ at once",
        "sii advisors 4 / sii advisors 1 : ms_per_request @ bursty @ paper",
        "untyped advisors 4 / untyped advisors 1 : ms_per_request @ bursty @ paper",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "ms_per_request",
    charts: &[Plot::of_rows("ms_per_request", Chart::Bars { by: "arrival" })],
    plan,
};

const PAPER: &[PaperRow] = &[
    row("consecutive: one (Figure 13)", &["593.9"], &["consecutive", "paper", "RRD and RSS", "1"]),
    row("consecutive: two", &["599.05"], &["consecutive", "paper", "SA and client", "2"]),
    row("consecutive: two", &["593.82"], &["consecutive", "paper", "RRD and RSS", "2"]),
    row("consecutive: four", &["593.82"], &["consecutive", "paper", "all", "4"]),
    row("bursty: one (Figure 13)", &["564.4"], &["bursty", "paper", "RRD and RSS", "1"]),
    row("bursty: two", &["574.38"], &["bursty", "paper", "SA and client", "2"]),
    row("bursty: two", &["561.44"], &["bursty", "paper", "RRD and RSS", "2"]),
    row("bursty: four", &["560.98"], &["bursty", "paper", "all", "4"]),
];

const fn row(
    name: &'static str,
    values: &'static [&'static str],
    at: &'static [&'static str],
) -> PaperRow {
    PaperRow { name, values, ours: "untyped", at }
}

/// Where, how many, and the words for it.
type Placed = (&'static str, u64, &'static [&'static str]);

const CHANNELS: &[Placed] = &[
    ("RRD and RSS", 1, &["untyped", "--place=servers"]),
    ("SA and client", 2, &["untyped", "--place=advisors", "--channels=2"]),
    ("RRD and RSS", 2, &["untyped", "--place=servers", "--channels=2"]),
    ("all", 4, &["untyped", "--place=all", "--channels=4"]),
    ("", 1, &["untyped"]),
    ("", 2, &["untyped", "--channels=2"]),
    ("", 4, &["untyped", "--channels=4"]),
];

const TYPED: &[Placed] = &[
    ("", 1, &["typed"]),
    ("", 2, &["typed", "--channels=2"]),
    ("", 4, &["typed", "--channels=4"]),
];

/// Series, replicas, words.
type Replicated = (&'static str, u64, &'static [&'static str]);

const ADVISORS: &[Replicated] = &[
    ("sii", 1, &["sii", "--servers=2"]),
    ("sii", 2, &["sii", "--servers=2", "--advisors=2"]),
    ("sii", 4, &["sii", "--servers=2", "--advisors=4"]),
    ("untyped", 1, &["untyped", "--servers=2"]),
    ("untyped", 2, &["untyped", "--servers=2", "--advisors=2"]),
    ("untyped", 4, &["untyped", "--servers=2", "--advisors=4"]),
];

/// With replicated channels, in a place.
fn channels(series: &str, (place, count, words): Placed, arrival: Arrival) -> Cell {
    let mut cell = cell(Contender::new(series, place, Family::Mshn, words), arrival);
    cell.x.push(("channels", count.into()));
    cell
}

/// With two of each server, and so many advisors.
fn advisors((series, count, words): Replicated, arrival: Arrival) -> Cell {
    let mut cell = cell(Contender::new(series, "", Family::Mshn, words), arrival);
    cell.x.extend([("advisors", count.into()), ("servers", 2.into())]);
    cell
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let mut cells = Vec::new();
    for arrival in Arrival::all(effort) {
        cells.extend(CHANNELS.iter().map(|&placed| channels("untyped", placed, arrival)));
        cells.extend(TYPED.iter().map(|&placed| channels("typed", placed, arrival)));
    }
    // One request at a time has no use for a second advisor.
    for arrival in Arrival::all(effort).into_iter().filter(|arrival| arrival.is_bursty()) {
        cells.extend(ADVISORS.iter().map(|&replicated| advisors(replicated, arrival)));
    }
    cells
}
