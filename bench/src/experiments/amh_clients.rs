//! `amh-clients`, paper AMH Figures 8 and 9: replies a second of a middle tier, against the number
//! of source clients.
//!
//! In the table of `experiments.rs`; `amh_delay.rs` has the same contenders against the sink's
//! delay.

use crate::contender::{Contender, Family};
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};
use crate::orders::Order;
use crate::placement::Pin;
use crate::record::At;
use serde_json::json;

/// How long the sink takes, in milliseconds.
const DELAY_MS: u64 = 40;

/// AMH on one thread with a sink that is slow enough for 10,000 clients on a small machine.
const SLOW_SINK: &str = "corbie-amh-1-500ms";

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "amh-clients",
    paper: "AMH Fig. 8, 9",
    summary: "Replies a second of a middle tier, with source clients and a sink that takes 40 ms.",
    notes: NOTES,
    paper_table: Some(PaperTable {
        title: "Paper AMH, Figure 8 (three machines, the middle tier with one 733 MHz processor, \
                10 Mbit/s; the paper prints curves, its text these words) beside ours \
                (replies a second; ideal: 10,000)",
        metrics: &["replies_per_s"],
        heads: &["at 400 clients"],
        rows: &[
            PaperRow {
                name: "TPC (thread per connection)",
                values: &["no more than 250 clients; most replies at 150, falling from there"],
                ours: "corbie-thread-per-connection",
                at: &["400"],
            },
            PaperRow {
                name: "TPR-ST (one reactive thread)",
                values: &["follows TPR-2"],
                ours: "corbie-reactive",
                at: &["400"],
            },
            PaperRow {
                name: "TPR-2 (pool of two)",
                values: &["worst of all; crashes above 300 clients"],
                ours: "corbie-pool-2",
                at: &["400"],
            },
            PaperRow {
                name: "AMH-ST (one thread)",
                values: &["scales to 400 clients; dips at 100 and at 250"],
                ours: "corbie-amh-1",
                at: &["400"],
            },
            PaperRow {
                name: "AMH-2 (two threads)",
                values: &["better than AMH-ST from 250 clients"],
                ours: "corbie-amh-2",
                at: &["400"],
            },
        ],
    }),
    ratios: &[
        "corbie-amh-1 / ideal : replies_per_s @ 400",
        "corbie-amh-1 / ideal : replies_per_s @ 10000",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 400",
        "corbie-amh-1-500ms / ideal : replies_per_s @ 10000 @ 500",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 1",
        "corbie-amh-1 / corbie-thread-per-connection : replies_per_s @ 10000",
        "corbie-amh-1 / omniorb-thread-per-connection : replies_per_s @ 400",
        "corbie-async / ideal : replies_per_s @ 400",
        "corbie-reactive / ideal : replies_per_s @ 400",
        "corbie-pool-2 / ideal : replies_per_s @ 400",
    ],
    bests: &[],
    added: None,
    ideal: Some(ideal),
    metric: "replies_per_s",
    charts: &[Plot::of_rows("replies_per_s", Chart::Lines { along: "clients", logarithmic: true })],
    plan,
};

/// How both experiments with three tiers are measured.
pub(super) const NOTES: &[&str] = &[
    "Three processes: source clients (one thread, one connection and one call under way each), \
     the middle tier, and a sink that answers after its delay. Sources and sink are raw GIOP on \
     epoll, no ORB: their shares of a core are client_cpu_pct and sink_cpu_pct, the middle tier's \
     is tier_cpu_pct. Where the three sum up to all cores (200 with two), the machine is the limit \
     and not the model: 10,000 clients and 40 ms are 250,000 calls a second, each of which costs \
     sources and middle tier four system calls for its two messages. corbie-amh-1-500ms has as \
     many clients and a slower sink (20,000 calls a second; not with --quick).",
    "ideal is clients / delay. Counting starts when every client is connected and served; each \
     client counts whole round trips over the time that they took.",
    "thread-per-connection: synchronous calls to the sink, a connection to it for each thread (to \
     4,000); reactive: synchronous calls to the sink, and further requests are served from inside \
     them, as deep as the ORB lets them nest; pool-2: synchronous calls from two threads; \
     amh-N: asynchronous calls to the sink from AMH servants, N threads; async: an async fn \
     servant on AMH.",
];

/// Clients over the time that the sink takes.
pub(super) fn ideal(x: &At) -> Option<f64> {
    let number = |name: &str| x.get(name).and_then(serde_json::Value::as_f64);
    let (clients, delay_ms) = (number("clients")?, number("delay_ms")?);
    (delay_ms > 0.0).then(|| clients * 1e3 / delay_ms)
}

/// The middle tiers.
pub(super) fn tiers() -> Vec<Contender> {
    let corbie = |series, arguments| Contender::new(series, "", Family::Corbie, arguments);
    let omniorb = "omniorb-thread-per-connection";
    vec![
        corbie("corbie-thread-per-connection", THREADS),
        corbie("corbie-reactive", REACTIVE),
        corbie("corbie-pool-2", POOL),
        corbie("corbie-amh-1", AMH_1),
        corbie("corbie-amh-2", AMH_2),
        corbie("corbie-async", ASYNC),
        Contender::new(omniorb, "", Family::OmniOrb, OMNIORB_THREADS),
    ]
}

/// `-ORB…` arguments of every server here: each source has a connection.
macro_rules! with_connections {
    ($($word:literal),*) => { &[$($word,)* "-ORBServerConnectionsMax", "12000"] };
}

const THREADS: &[&str] = with_connections![
    "synchronous",
    "-ORBConnectionsPerEndpoint",
    "4000",
    "-ORBClientConnectionsMax",
    "4000",
    "-ORBWaitStrategy",
    "block",
    "-ORBServerWaitStrategy",
    "block"
];
const REACTIVE: &[&str] = with_connections![
    "synchronous:1",
    "-ORBServerConcurrency",
    "reactive",
    "-ORBReplyWait",
    "reactor"
];
const POOL: &[&str] = with_connections![
    "synchronous",
    "-ORBServerConcurrency",
    "thread-pool",
    "-ORBPoolThreadsMin",
    "2",
    "-ORBPoolThreadsMax",
    "2",
    "-ORBReplyWait",
    "leader-followers"
];
const AMH_1: &[&str] = with_connections!["amh:1", "-ORBServerConcurrency", "reactive"];
const AMH_2: &[&str] = with_connections!["amh:2", "-ORBServerConcurrency", "reactive"];
const ASYNC: &[&str] = with_connections!["async:1", "-ORBServerConcurrency", "reactive"];
/// As many connections to the sink as sources, up to what a process may open.
const OMNIORB_THREADS: &[&str] = &["-ORBmaxGIOPConnectionPerServer", "4000"];

/// A middle tier with its sources and its sink.
pub(super) fn cell(contender: Contender, clients: usize, delay_ms: u64, effort: &Effort) -> Cell {
    // Threads and connections to the sink are made by the first calls.
    let beginning = clients as u64 / 5;
    let (warm_up_ms, window_ms) = match effort.quick {
        true => (2 * delay_ms + beginning / 4, 200),
        false => (4 * delay_ms + 200 + beginning, 1_500),
    };
    Cell {
        contender,
        pin: Pin::None,
        sink_delay_ms: Some(delay_ms),
        order: Order::Sources { clients, warm_up_ms, window_ms },
        x: vec![("clients", json!(clients)), ("delay_ms", json!(delay_ms))],
    }
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let counts: &[usize] = match effort.quick {
        true => &[1, 400, 10_000],
        false => &[1, 10, 50, 100, 150, 200, 250, 300, 350, 400, 1_000, 2_500, 5_000, 10_000],
    };
    let mut cells = Vec::new();
    for &clients in counts {
        for contender in tiers() {
            // In a minute there is time for thousands of clients of two of them.
            let few = ["corbie-thread-per-connection", "corbie-amh-1"];
            if effort.quick && clients > 1_000 && !few.contains(&contender.series.as_str()) {
                continue;
            }
            cells.push(cell(contender, clients, DELAY_MS, effort));
        }
    }
    // As many clients, but fewer calls than the machine can make.
    if !effort.quick {
        let slow = Contender::new(SLOW_SINK, "", Family::Corbie, AMH_1);
        cells.push(cell(slow, 10_000, 500, effort));
    }
    cells
}
