//! `mshn`, paper MSHN Figures 13 and 14: requests for schedules by every mechanism, one after the
//! other and in bursts, with the paper's pause for computing a schedule (scaled) and without.
//!
//! In the table of `experiments.rs`; what is measured is in `bench/src/mshn.rs`.

use crate::contender::{Contender, Family};
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};
use crate::orders::{Order, Requests};
use crate::placement::Pin;

/// What both experiments tell the reader.
pub(super) const NOTES: &[&str] = &[
    "The flow of figure 5: the Client Library asks the Scheduling Advisor, which asks the Resource \
     Status Server and the Resource Requirement Database, schedules (MCT), and answers. Each is a \
     process, the naming service and the event service too; one request is scheduled at a time, as \
     in the paper. `local` is all of them in one process, by calls of functions.",
    "`network` is TCP over the loopback interface, `local` unix-domain sockets: what one machine \
     has of the paper's two configurations. Its four machines had a processor each.",
    "`ms_per_request` is the time from the first request to the last answer divided by the number \
     of answers (the paper's seconds for 1,000 requests, read as milliseconds). \
     `added_ms_per_request` is how much of it `local` does not need under the same conditions. \
     `cpu_us_per_request` is what all processes together used of processors.",
    "pause_ms: how long computing a schedule is made to take; the paper's 500 ms are 2 ms here \
     (`--full-pause` has them in full), and the 60 ms between two requests of a burst are 0.24 ms. \
     With pause 0 a burst is made as fast as it can be.",
    "resolved: in consecutive runs the paper's Client Library asked the naming service for the \
     advisor before each request (§4.3). Rows with `resolved each` do so.",
    "`asked` and `answered` count requests: an answer counts once, and only with the placement of \
     its own job. `…-100000` is a burst of so many, made in the first round alone.",
];

/// The pause of the paper, scaled, and the time between two requests of a burst then: 500 ms and
/// 60 ms by 250.
const SCALED: (u64, u64) = (2, 240);
/// The same in full.
const FULL: (u64, u64) = (500, 60_000);

/// A burst that the paper did not dare: its typed service failed at a hundred requests.
const LONG_BURST: u64 = 100_000;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "mshn",
    paper: "MSHN Fig. 13, 14",
    summary: "1,000 requests for schedules by SII, DII, AMI, untyped and typed events.",
    notes: NOTES,
    paper_table: Some(PaperTable {
        title: "Paper MSHN, Figures 13 and 14 (1,000 requests with a pause of 500 ms each, read as \
                ms a request; Solaris, 300 MHz, 100 Mbit/s; added: less its non-CORBA row) beside \
                ours (pause scaled to 2 ms)",
        metrics: &["ms_per_request", "added_ms_per_request"],
        heads: &["ms a request", "added ms"],
        rows: PAPER,
    }),
    ratios: &[
        "typed / untyped : ms_per_request @ bursty",
        "typed / untyped : ms_per_request @ consecutive",
        "sii / local : added_ms_per_request @ consecutive",
        "dii / local : added_ms_per_request @ consecutive",
        "ami / local : added_ms_per_request @ consecutive",
        "untyped / local : added_ms_per_request @ consecutive",
        "typed / local : added_ms_per_request @ consecutive",
        "sii / local : added_ms_per_request @ bursty",
        "dii / local : added_ms_per_request @ bursty",
        "ami / local : added_ms_per_request @ bursty",
        "untyped / local : added_ms_per_request @ bursty",
        "typed / local : added_ms_per_request @ bursty",
        "dii / sii : ms_per_request @ bursty",
        "ami / sii : ms_per_request @ bursty",
        "untyped / sii : ms_per_request @ bursty",
    ],
    bests: &[],
    added: Some(("local", "ms_per_request")),
    ideal: None,
    metric: "ms_per_request",
    charts: &[
        Plot::of_rows("ms_per_request", Chart::Bars { by: "arrival" }),
        Plot {
            name: "added",
            metric: "added_ms_per_request",
            chart: Chart::Bars { by: "arrival" },
        },
    ],
    plan,
};

const PAPER: &[PaperRow] = &[
    PaperRow {
        name: "consecutive: non-CORBA",
        values: &["500.1", "0"],
        ours: "local",
        at: &["consecutive", "paper"],
    },
    PaperRow {
        name: "consecutive, local: SII",
        values: &["511.4", "11.3"],
        ours: "sii",
        at: &["consecutive", "paper", "local"],
    },
    PaperRow {
        name: "consecutive, local: DII",
        values: &["530.1", "30.0"],
        ours: "dii",
        at: &["consecutive", "paper", "local"],
    },
    PaperRow {
        name: "consecutive, local: untyped event",
        values: &["607.4", "107.3"],
        ours: "untyped",
        at: &["consecutive", "paper", "local"],
    },
    PaperRow {
        name: "consecutive, local: typed event",
        values: &["580.5", "80.4"],
        ours: "typed",
        at: &["consecutive", "paper", "local"],
    },
    PaperRow {
        name: "consecutive, network: SII",
        values: &["520.0", "19.9"],
        ours: "sii",
        at: &["consecutive", "paper", "network"],
    },
    PaperRow {
        name: "consecutive, network: DII",
        values: &["530.4", "30.3"],
        ours: "dii",
        at: &["consecutive", "paper", "network"],
    },
    PaperRow {
        name: "consecutive, network: untyped event",
        values: &["593.9", "93.8"],
        ours: "untyped",
        at: &["consecutive", "paper", "network"],
    },
    PaperRow {
        name: "consecutive, network: typed event",
        values: &["779.2", "279.1"],
        ours: "typed",
        at: &["consecutive", "paper", "network"],
    },
    PaperRow {
        name: "bursty: non-CORBA",
        values: &["500.1", "0"],
        ours: "local",
        at: &["bursty", "paper"],
    },
    PaperRow {
        name: "bursty, local: SII",
        values: &["510.8", "10.7"],
        ours: "sii",
        at: &["bursty", "paper", "local"],
    },
    PaperRow {
        name: "bursty, local: DII",
        values: &["521.2", "21.1"],
        ours: "dii",
        at: &["bursty", "paper", "local"],
    },
    PaperRow {
        name: "bursty, local: untyped event",
        values: &["592.8", "92.7"],
        ours: "untyped",
        at: &["bursty", "paper", "local"],
    },
    PaperRow {
        name: "bursty, local: typed event (100 requests, then it failed)",
        values: &["647", "147"],
        ours: "typed",
        at: &["bursty", "paper", "local"],
    },
    PaperRow {
        name: "bursty, network: SII",
        values: &["510.8", "10.5"],
        ours: "sii",
        at: &["bursty", "paper", "network"],
    },
    PaperRow {
        name: "bursty, network: DII",
        values: &["520.2", "20.0"],
        ours: "dii",
        at: &["bursty", "paper", "network"],
    },
    PaperRow {
        name: "bursty, network: untyped event",
        values: &["564.4", "64.2"],
        ours: "untyped",
        at: &["bursty", "paper", "network"],
    },
    PaperRow {
        name: "bursty, network: typed event (100 requests, then it failed)",
        values: &["636", "135"],
        ours: "typed",
        at: &["bursty", "paper", "network"],
    },
];

/// Each mechanism over both configurations.
fn contenders(mechanisms: &[MechanismSeries]) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for (series, network, local) in mechanisms {
        contenders.push(Contender::new(series, "network", Family::Mshn, network));
        contenders.push(Contender::new(series, "local", Family::Mshn, local));
    }
    contenders
}

/// Series, and the words for it over TCP and over unix-domain sockets.
type MechanismSeries = (&'static str, &'static [&'static str], &'static [&'static str]);

const MECHANISMS: &[MechanismSeries] = &[
    ("sii", &["sii"], &["sii", "--unix"]),
    ("dii", &["dii"], &["dii", "--unix"]),
    ("ami", &["ami"], &["ami", "--unix"]),
    ("untyped", &["untyped"], &["untyped", "--unix"]),
    ("typed", &["typed"], &["typed", "--unix"]),
];

/// How requests come.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    is_bursty: bool,
    pause_ms: u64,
    gap_us: u64,
    resolves: bool,
    count: u64,
}

impl Arrival {
    /// As fast as they can be made.
    pub(super) fn at_once(is_bursty: bool) -> Self {
        Self { is_bursty, pause_ms: 0, gap_us: 0, resolves: false, count: 1_000 }
    }

    /// With the paper's pause, scaled or in full.
    pub(super) fn as_in_paper(is_bursty: bool, effort: &Effort) -> Self {
        let (pause_ms, gap_us) = if effort.full_pause { FULL } else { SCALED };
        let count = if effort.quick { 50 } else { 1_000 };
        Self { is_bursty, pause_ms, gap_us, resolves: false, count }
    }

    /// Whether requests do not wait for answers.
    pub(super) fn is_bursty(self) -> bool {
        self.is_bursty
    }

    /// Whether the advisor pauses and requests come as in the paper.
    pub(super) fn is_paced(self) -> bool {
        self.pause_ms > 0
    }

    /// All that one effort has.
    pub(super) fn all(effort: &Effort) -> Vec<Self> {
        let paced = [false, true].map(|is_bursty| Self::as_in_paper(is_bursty, effort));
        let at_once = [false, true].map(Self::at_once).into_iter();
        at_once.filter(|_| !effort.full_pause).chain(paced).collect()
    }
}

pub(super) fn cell(contender: Contender, arrival: Arrival) -> Cell {
    let Arrival { is_bursty, pause_ms, gap_us, resolves, count } = arrival;
    let warm_up = if pause_ms > 0 { (count / 10).min(5) } else { (count / 5).min(200) };
    let order = Order::Requests(Requests { warm_up, count, is_bursty, gap_us, resolves });
    let mut x = vec![
        ("arrival", if is_bursty { "bursty" } else { "consecutive" }.into()),
        ("pace", if pause_ms > 0 { "paper" } else { "at once" }.into()),
        ("pause_ms", pause_ms.into()),
    ];
    if resolves {
        x.push(("resolved", "each".into()));
    }
    Cell { contender, pin: Pin::None, sink_delay_ms: None, order, x }
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let local = Contender::new("local", "", Family::Mshn, &["local"]);
    let mut cells = Vec::new();
    for arrival in Arrival::all(effort) {
        cells.push(cell(local.clone(), arrival));
        cells.extend(contenders(MECHANISMS).into_iter().map(|who| cell(who, arrival)));
    }
    if effort.full_pause {
        return cells;
    }
    let resolving = Arrival { resolves: true, ..Arrival::at_once(false) };
    cells.extend(contenders(MECHANISMS).into_iter().map(|who| cell(who, resolving)));
    if effort.quick {
        return cells;
    }
    let burst = Arrival { count: LONG_BURST, ..Arrival::at_once(true) };
    for contender in contenders(MECHANISMS).into_iter().filter(|who| who.config == "network") {
        let series = format!("{}-{LONG_BURST}", contender.series);
        cells.push(cell(contender.named(&series).once(), burst));
    }
    cells
}
