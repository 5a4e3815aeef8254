//! `gioplite`, paper POA Table 4: calls a second over GIOP and over GIOPlite, with something to
//! marshal and with nothing; and the octets of each call on the wire (Table 3).
//!
//! In the table of `experiments.rs`.

use crate::contender::{Contender, Family};
use crate::experiment::{Cell, Chart, Effort, Experiment, PaperRow, PaperTable, Plot};
use crate::orders::Order;
use crate::placement::Pin;

const ENABLED: &[&str] = &["same-core", "enabled"];
const DISABLED: &[&str] = &["same-core", "disabled"];

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "gioplite",
    paper: "POA Table 3, 4",
    summary: "Calls a second over GIOP 1.2 and over GIOPlite, one thread, and octets a call.",
    notes: &[
        "marshalling enabled: a struct of octet, long and short is sent, cubed and sent back; \
         disabled: an operation without arguments and results. The paper does not say what its \
         calls were; these are those of TAO's tests of that time.",
        "request_octets and reply_octets are counted by a relay between client and server, in the \
         third call of a connection; calls are counted without the relay.",
        "Both sides block until something comes; same-core: both processes on one core. \
         rtt_p50_us: each call timed by itself, on one core; what else the machine does moves the \
         median less than a rate.",
    ],
    paper_table: Some(PaperTable {
        title: "Paper POA, Table 4 (calls/s; one 450 MHz machine, loopback) beside ours \
                (same-core, over rounds)",
        metrics: &["calls_per_s:low", "calls_per_s:high", "calls_per_s:mean"],
        heads: &["minimum", "maximum", "average"],
        rows: &[
            PaperRow {
                name: "GIOP, marshalling enabled",
                values: &["2,878", "2,937", "2,906"],
                ours: "corbie-giop",
                at: ENABLED,
            },
            PaperRow {
                name: "GIOPlite, marshalling enabled",
                values: &["2,883", "2,978", "2,943"],
                ours: "corbie-gioplite",
                at: ENABLED,
            },
            PaperRow {
                name: "GIOP, marshalling disabled",
                values: &["2,912", "2,976", "2,949"],
                ours: "corbie-giop",
                at: DISABLED,
            },
            PaperRow {
                name: "GIOPlite, marshalling disabled",
                values: &["2,911", "3,003", "2,967"],
                ours: "corbie-gioplite",
                at: DISABLED,
            },
        ],
    }),
    ratios: &[
        "corbie-gioplite / corbie-giop : rtt_p50_us @ same-core @ enabled",
        "corbie-gioplite / corbie-giop : rtt_p50_us @ same-core @ disabled",
        "corbie-gioplite / corbie-giop : calls_per_s @ same-core @ enabled",
        "corbie-gioplite / corbie-giop : calls_per_s @ same-core @ disabled",
        "corbie-gioplite / corbie-giop : calls_per_s @ two-cores @ enabled",
        "corbie-gioplite / corbie-giop : calls_per_s @ two-cores @ disabled",
        "corbie-gioplite / corbie-giop : request_octets @ enabled",
        "corbie-gioplite / corbie-giop : request_octets @ disabled",
        "corbie-gioplite / corbie-giop : reply_octets @ enabled",
        "corbie-gioplite / corbie-giop : reply_octets @ disabled",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "calls_per_s",
    charts: &[
        Plot::of_rows("calls_per_s", Chart::Bars { by: "pin" }),
        Plot { name: "latency", metric: "rtt_p50_us", chart: Chart::Bars { by: "marshalling" } },
        Plot {
            name: "request-octets",
            metric: "request_octets",
            chart: Chart::Bars { by: "marshalling" },
        },
        Plot {
            name: "reply-octets",
            metric: "reply_octets",
            chart: Chart::Bars { by: "marshalling" },
        },
    ],
    plan,
};

const SERVER: &[&str] =
    &["-ORBServerWaitStrategy", "block", "-ORBListenEndpoints", "giopl://127.0.0.1:0"];

/// Both protocols, by what they call: `x.marshalling`. One server listens for both.
fn contenders() -> [(Contender, &'static str); 4] {
    let with = |series, client| Contender::sides(series, "", Family::Corbie, SERVER, client);
    const LITE: &str = "-ORBgioplite";
    const WAIT: &str = "-ORBWaitStrategy";
    [
        (with("corbie-giop", &["cube", WAIT, "block"]), "enabled"),
        (with("corbie-gioplite", &["cube", WAIT, "block", LITE]), "enabled"),
        (with("corbie-giop", &["noop", WAIT, "block"]), "disabled"),
        (with("corbie-gioplite", &["noop", WAIT, "block", LITE]), "disabled"),
    ]
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let (warm_up_ms, window_ms) = if effort.quick { (100, 500) } else { (300, 3_000) };
    let mut cells = Vec::new();
    for (contender, marshalling) in contenders() {
        let order =
            Order::Latency { warm_up: 0, calls: if effort.quick { 10_000 } else { 50_000 } };
        let x = vec![("marshalling", marshalling.into()), ("timed", "each call".into())];
        cells.push(Cell { contender, pin: Pin::SameCore, sink_delay_ms: None, order, x });
    }
    for pin in [Pin::SameCore, Pin::TwoCores, Pin::None] {
        for (contender, marshalling) in contenders() {
            // Octets are the same on every core.
            let order = match pin {
                Pin::None => Order::Wire,
                _ => Order::Threads { threads: 1, warm_up_ms, window_ms },
            };
            let x = vec![("marshalling", marshalling.into())];
            cells.push(Cell { contender, pin, sink_delay_ms: None, order, x });
        }
    }
    cells
}
