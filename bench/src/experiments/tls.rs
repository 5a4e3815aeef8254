//! `tls`: what TLS costs a call, beside `rustls` alone around the same octets.
//!
//! In the table of `experiments.rs`. Not from a paper.

use crate::contender::{Contender, Family};
use crate::corbie_contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;
use serde_json::json;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "tls",
    paper: "-",
    summary: "Round trip of a 64-bit value, and echoed octet sequences, over TLS 1.3.",
    notes: &[
        "raw-rustls: rustls (ring) around a blocking TCP stream, with as many octets as Corbie's \
         request and reply have; both sides of every contender sleep until something comes.",
        "TLS 1.3, certificates of ECDSA P-256, the server proves who it is, the client does not. \
         The handshake is not timed: it is over before the first call that counts.",
        "mb_per_s counts the payload in both directions, 1 MB = 1,000,000 octets.",
        "Gate of the issue SECURE: corbie-tls at most 1.25 of raw-rustls in rtt_p50_us.",
    ],
    paper_table: None,
    ratios: &[
        "corbie-tls / raw-rustls : rtt_p50_us @ same-core",
        "corbie-tls / raw-rustls : rtt_p50_us @ two-cores",
        "corbie-tls / corbie : rtt_p50_us @ same-core",
        "raw-rustls / raw-tcp : rtt_p50_us @ same-core",
        "corbie-tls / raw-rustls : mb_per_s @ 1MiB",
        "corbie-tls / raw-rustls : mb_per_s @ 64KiB",
        "corbie-tls / raw-rustls : mb_per_s @ 1KiB",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "rtt_p50_us",
    charts: &[
        Plot::of_rows("rtt_p50_us", Chart::Bars { by: "pin" }),
        Plot { name: "bandwidth", metric: "mb_per_s", chart: Chart::Bars { by: "size" } },
    ],
    plan,
};

/// Name and octets of each size.
const SIZES: [(&str, usize); 3] = [("1KiB", 1 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20)];

fn contenders() -> [Contender; 4] {
    [
        Contender::new("raw-tcp", "", Family::Raw, &[]),
        Contender::new("raw-rustls", "", Family::Raw, &["--tls"]),
        corbie_contender::smi("corbie"),
        corbie_contender::tls("corbie-tls"),
    ]
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let calls = if effort.quick { 10_000 } else { 50_000 };
    let (warm_up_ms, window_ms) = if effort.quick { (30, 100) } else { (200, 700) };
    let mut cells = Vec::new();
    let mut add = |contender: Contender, pin, order, x| {
        cells.push(Cell { contender, pin, sink_delay_ms: None, order, x });
    };
    for pin in [Pin::SameCore, Pin::TwoCores] {
        for contender in contenders() {
            let warm_up = contender.warm_up_calls(true, effort.quick);
            add(contender, pin, Order::Latency { warm_up, calls }, Vec::new());
        }
    }
    for (name, size) in SIZES {
        for contender in contenders() {
            let x = vec![("size", json!(name)), ("octets", json!(size))];
            add(contender, Pin::None, Order::Octets { size, warm_up_ms, window_ms }, x);
        }
    }
    cells
}
