//! `ami-latency`, paper AMI Table 1: the round trip of one 64-bit value, one call at a time.
//!
//! In the table of `experiments.rs`; `count.rs` counts for the same contenders.

use crate::contender::{Contender, Family, JACORB_QUEUE, OMNIORB_STOCK};
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// Where our rows beside the paper's were measured.
const TWO_CORES: &[&str] = &["two-cores"];

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "ami-latency",
    paper: "AMI Table 1",
    summary: "Round trip of a 64-bit value: one thread, one call at a time, two processes.",
    notes: &[
        "same-core: both processes on one core, no core is woken, what remains is the work itself; \
         two-cores: each has its own; none: the kernel's choice.",
        "raw-*: the same number of octets as Corbie's request and reply, without an ORB. \
         *-spin: both sides try again and again for a while instead of sleeping at once.",
        "corbie-unix: over a unix-domain socket (UIOP), of which raw-unix is the bare one.",
        "corbie-shm: over shared memory (SHMIOP); raw-shm: its rings without an ORB; raw-words: a \
         bare word there and one back, between two threads on two cores: what the machine takes.",
        "corbie-ami-callback: sendc_echo, then the same thread runs the event loop until the \
         handler was called, as in the paper; -poller: sendp_echo, then the poller's echo; \
         -future: echo_async, awaited by a sleeping thread (the ORB's own thread reads the \
         reply, so two threads take turns); corbie-dii: a Request made, sent and read for every \
         call, deferred as in the paper, and invoke.",
        "Every call is timed, percentiles come from a histogram of each round, and the table has \
         their medians over rounds.",
    ],
    paper_table: Some(PaperTable {
        title: "Paper AMI, Table 1 (µs; two 400 MHz machines, 100 Mbit/s) beside ours (two-cores)",
        metrics: &["rtt_min_us", "rtt_mean_us", "rtt_max_us", "jitter_pct"],
        heads: &["minimum", "average", "maximum", "jitter %"],
        rows: &[
            PaperRow {
                name: "SMI",
                values: &["455", "497", "684", "2.7"],
                ours: "corbie-smi",
                at: TWO_CORES,
            },
            PaperRow {
                name: "AMI",
                values: &["447", "479", "1,859", "3.0"],
                ours: "corbie-ami-callback",
                at: TWO_CORES,
            },
            PaperRow {
                name: "DII",
                values: &["499", "573", "2,652", "9.6"],
                ours: "corbie-dii",
                at: TWO_CORES,
            },
        ],
    }),
    ratios: &[
        "corbie-smi / raw-tcp : rtt_p50_us @ same-core",
        "corbie-smi / raw-tcp : rtt_p50_us @ two-cores",
        "corbie-smi / omniorb-smi : rtt_p50_us @ same-core",
        "corbie-smi / omniorb-smi : rtt_p50_us @ two-cores",
        "corbie-smi-spin / raw-tcp : rtt_p50_us @ two-cores",
        "corbie-smi-spin / raw-tcp-spin : rtt_p50_us @ two-cores",
        "corbie-ami-callback / corbie-smi : rtt_p50_us @ same-core",
        "corbie-dii / corbie-smi : rtt_p50_us @ same-core",
        "corbie-unix / raw-unix : rtt_p50_us @ same-core",
        "corbie-unix / corbie-smi : rtt_p50_us @ same-core",
        "corbie-unix-spin / corbie-smi-spin : rtt_p50_us @ two-cores",
        "corbie-shm-spin / raw-tcp : rtt_p50_us @ two-cores",
        "corbie-shm-spin / raw-shm-spin : rtt_p50_us @ two-cores",
        "raw-shm-spin / raw-words : rtt_p50_us @ two-cores",
        "corbie-shm / raw-shm : rtt_p50_us @ same-core",
        "corbie-shm / raw-unix : rtt_p50_us @ same-core",
        "corbie-shm / corbie-smi : rtt_p50_us @ same-core",
        "corbie-ami-poller / corbie-smi : rtt_p50_us @ same-core",
        "corbie-ami-future / corbie-smi : rtt_p50_us @ same-core",
        "corbie-ami-callback / corbie-smi : rtt_p50_us @ two-cores",
        "corbie-smi / jacorb-smi : rtt_p50_us @ same-core",
        "corbie-smi-spin / corbie-smi : rtt_p50_us @ same-core",
        "corbie-smi-spin / omniorb-smi : rtt_p50_us @ two-cores",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "rtt_p50_us",
    charts: &[Plot::of_rows("rtt_p50_us", Chart::Bars { by: "pin" })],
    plan,
};

/// Everyone who echoes one value at a time.
pub(crate) fn contenders() -> Vec<Contender> {
    use Family::{JacOrb, OmniOrb, Raw};
    let mut contenders = vec![
        Contender::new("raw-tcp", "", Raw, &[]),
        Contender::new("raw-tcp-spin", "", Raw, &["--spin"]),
        Contender::new("raw-unix", "", Raw, &["--unix"]),
        Contender::new("omniorb-smi", OMNIORB_STOCK.0, OmniOrb, OMNIORB_STOCK.1),
        Contender::new("omniorb-smi", "pool", OmniOrb, &["-ORBthreadPerConnectionPolicy", "0"]),
        Contender::new("jacorb-smi", JACORB_QUEUE.0, JacOrb, JACORB_QUEUE.1),
        crate::corbie_contender::smi("corbie-smi"),
        crate::corbie_contender::smi_spin("corbie-smi-spin"),
    ];
    contenders.extend(crate::corbie_contender::mechanisms());
    contenders.extend(crate::corbie_contender::of_one_machine());
    contenders.push(Contender::new("raw-shm", "", Raw, &["--ring"]));
    contenders.push(Contender::new("raw-shm-spin", "", Raw, &["--ring", "--spin"]));
    contenders.push(Contender::new("raw-words", "", Raw, &["--words"]));
    contenders
}

/// Those that never sleep soon.
const SPINS_ALWAYS: &[&str] = &["raw-tcp-spin", "raw-shm-spin", "raw-words"];

fn plan(effort: &Effort) -> Vec<Cell> {
    let calls = if effort.quick { 3_000 } else { 40_000 };
    let pins: &[Pin] = match effort.quick {
        true => &[Pin::SameCore, Pin::TwoCores],
        false => &[Pin::SameCore, Pin::TwoCores, Pin::None],
    };
    let mut cells = Vec::new();
    for &pin in pins {
        for contender in contenders() {
            // Two spinning processes on one core only take the core from each other.
            if pin == Pin::SameCore && SPINS_ALWAYS.contains(&&*contender.series) {
                continue;
            }
            // The second thread is on a core that the client does not use.
            if pin == Pin::None && contender.series == "raw-words" {
                continue;
            }
            let order = Order::Latency { warm_up: 0, calls };
            cells.push(Cell { contender, pin, sink_delay_ms: None, order, x: vec![] });
        }
    }
    cells
}
