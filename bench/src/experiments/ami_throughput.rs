//! `ami-throughput`, paper AMI Table 2: calls a second from 1, 7 and 220 threads, and oneways.
//!
//! In the table of `experiments.rs`.

use crate::contender::{
    Contender, Family, JACORB_QUEUE, OMNIORB_CONNECTIONS, OMNIORB_POOL, OMNIORB_STOCK,
};
use crate::corbie_contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};
use crate::orders::Order;
use crate::placement::Pin;
use serde_json::json;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "ami-throughput",
    paper: "AMI Table 2",
    summary: "Calls a second that return a 64-bit value, from many threads; and oneways a second.",
    notes: &[
        "The paper lets every thread make 10,000 calls; here calls are counted for a fixed \
         time while all threads are \
         calling, so that the last ones to finish do not run alone.",
        "corbie-oneway: SYNC_WITH_TRANSPORT (the default) returns when the system has taken the \
         request, SYNC_NONE may hold it back until a write is full or a millisecond has passed; \
         omniORB's oneways wait for the system, too (it has no SyncScope), JacORB's as it comes.",
        "oneway: sent by one thread; the time ends when the server has taken the last one. \
         raw-tcp-pipelined: Corbie's octets, ten messages to a write, one thread that \
         sends and one that reads.",
        "corbie-ami: 2,200,000 calls as in the paper (150,000 with --quick) over one \
         connection, one thread sends with sendc_echo, the ORB's thread gives replies to the \
         handler, and every reply is checked; corbie-dii: as many deferred requests, one thread \
         sends, one takes the responses.",
        "corbie-ami-unbounded: calls in a loop for 20 s (0.5 s), whatever becomes of the replies; \
         the second picture has the rate and the client's memory over time. What bounds both is \
         pending_requests_max: at that many outstanding calls, the sender waits until some are \
         answered. (TAO's collapses to 1,325 calls/s with 95,000 pending.)",
        "client_cpu_pct is the load generator's own share of a core (200: both cores); \
         nothing is pinned.",
    ],
    paper_table: Some(PaperTable {
        title: "Paper AMI, Table 2 (calls a second; two 400 MHz quad-CPU machines) beside ours",
        metrics: &["calls_per_s"],
        heads: &["calls/s"],
        rows: &[
            PaperRow {
                name: "SMI (220 threads)",
                values: &["1,914"],
                ours: "corbie-smi-220",
                at: &[],
            },
            PaperRow { name: "SMI (7 threads)", values: &["7,080"], ours: "corbie-smi-7", at: &[] },
            PaperRow { name: "AMI", values: &["8,524"], ours: "corbie-ami", at: &[] },
            PaperRow { name: "DII", values: &["3,816"], ours: "corbie-dii", at: &[] },
        ],
    }),
    ratios: &[
        "corbie-ami / corbie-smi-best : calls_per_s",
        "corbie-ami / raw-tcp-pipelined : calls_per_s",
        "corbie-ami / omniorb-ami : calls_per_s",
        "corbie-ami / jacorb-ami : calls_per_s",
        "corbie-dii / corbie-smi-best : calls_per_s",
        "corbie-smi-220 / corbie-smi-7 : calls_per_s",
        "corbie-smi-7 / omniorb-smi-7 : calls_per_s",
        "corbie-oneway / omniorb-oneway : calls_per_s",
        "corbie-smi-1 / omniorb-smi-1 : calls_per_s",
        "corbie-smi-220 / omniorb-smi-220 : calls_per_s",
        "corbie-smi-1 / raw-tcp-1 : calls_per_s",
        "corbie-smi-7 / raw-tcp-7 : calls_per_s",
        "corbie-smi-220 / raw-tcp-220 : calls_per_s",
        "corbie-oneway / raw-tcp-oneway : calls_per_s",
    ],
    bests: &[("corbie-smi-best", "corbie-smi-", "calls_per_s")],
    added: None,
    ideal: None,
    metric: "calls_per_s",
    charts: &[
        Plot::of_rows("calls_per_s", Chart::Bars { by: "threads" }),
        Plot { name: "unbounded", metric: "calls_per_s", chart: Chart::OverTime },
    ],
    plan,
};

/// The contenders that call from many threads; `-N` is appended to the series.
fn callers() -> Vec<Contender> {
    use Family::{JacOrb, OmniOrb, Raw};
    let mut callers = vec![
        Contender::new("raw-tcp", "", Raw, &[]),
        Contender::new("omniorb-smi", OMNIORB_STOCK.0, OmniOrb, OMNIORB_STOCK.1),
        Contender::new("omniorb-smi", OMNIORB_CONNECTIONS.0, OmniOrb, OMNIORB_CONNECTIONS.1),
        Contender::new("omniorb-smi", OMNIORB_POOL.0, OmniOrb, OMNIORB_POOL.1),
        Contender::new("jacorb-smi", JACORB_QUEUE.0, JacOrb, JACORB_QUEUE.1),
    ];
    callers.extend(corbie_contender::smi_configurations("corbie-smi"));
    callers
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let window_ms = if effort.quick { 120 } else { 2_000 };
    let warm_up_ms = if effort.quick { 20 } else { 300 };
    let cell = |contender, order, threads: usize| Cell {
        contender,
        pin: Pin::None,
        sink_delay_ms: None,
        order,
        x: vec![("threads", json!(threads))],
    };
    let mut cells = Vec::new();
    for threads in [1, 7, 220] {
        for caller in callers() {
            let contender = caller.named(&format!("{}-{threads}", caller.series));
            cells.push(cell(contender, Order::Threads { threads, warm_up_ms, window_ms }, threads));
        }
    }
    let pipelined = Contender::new("raw-tcp-pipelined", "", Family::Raw, &["--pipelined"]);
    cells.push(cell(pipelined, Order::Threads { threads: 2, warm_up_ms, window_ms }, 2));
    for contender in [
        Contender::new("raw-tcp-oneway", "", Family::Raw, &[]),
        Contender::new("omniorb-oneway", OMNIORB_STOCK.0, Family::OmniOrb, OMNIORB_STOCK.1),
        Contender::new("omniorb-oneway", OMNIORB_POOL.0, Family::OmniOrb, OMNIORB_POOL.1),
        Contender::new("jacorb-oneway", JACORB_QUEUE.0, Family::JacOrb, JACORB_QUEUE.1),
    ] {
        cells.push(cell(contender, Order::Oneways { window_ms }, 1));
    }
    for contender in corbie_contender::oneways() {
        cells.push(cell(contender, Order::Oneways { window_ms }, 1));
    }
    let calls = if effort.quick { 150_000 } else { 2_200_000 };
    for contender in corbie_contender::pipelines() {
        cells.push(cell(contender, Order::Pipelined { calls }, 2));
    }
    // The peers need longer for each.
    let calls = if effort.quick { 8_000 } else { 300_000 };
    for contender in [
        Contender::new(
            "omniorb-ami",
            OMNIORB_CONNECTIONS.0,
            Family::OmniOrb,
            OMNIORB_CONNECTIONS.1,
        ),
        Contender::new("omniorb-ami", OMNIORB_POOL.0, Family::OmniOrb, OMNIORB_POOL.1),
        Contender::new("jacorb-ami", JACORB_QUEUE.0, Family::JacOrb, JACORB_QUEUE.1),
    ] {
        cells.push(cell(contender, Order::Pipelined { calls }, 2));
    }
    let (window_ms, step_ms) = if effort.quick { (500, 50) } else { (20_000, 500) };
    cells.push(cell(corbie_contender::unbounded(), Order::Unbounded { window_ms, step_ms }, 2));
    cells
}
