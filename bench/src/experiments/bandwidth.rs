//! `bandwidth`: octet sequences of 1 KiB to 16 MiB, echoed.
//!
//! In the table of `experiments.rs`. Not from a paper: it shows what copying costs.

use crate::contender::{Contender, Family, JACORB_QUEUE, OMNIORB_STOCK};
use crate::corbie_contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;
use serde_json::json;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "bandwidth",
    paper: "-",
    summary: "Octet sequences of 1 KiB to 16 MiB echoed by one thread; MB/s of payload, both ways.",
    notes: &[
        "mb_per_s counts the payload in both directions, 1 MB = 1,000,000 octets. \
         raw-tcp reads a whole message into one buffer and writes it back from there, as an \
         ORB has to read it before it may dispatch.",
        "While warming up, every octet that comes back is compared.",
    ],
    paper_table: None,
    ratios: &[
        "corbie / raw-tcp : mb_per_s @ 1MiB",
        "corbie / omniorb : mb_per_s @ 1MiB",
        "corbie-unix / raw-unix : mb_per_s @ 1MiB",
        "corbie-unix / corbie : mb_per_s @ 1MiB",
        "corbie / omniorb : mb_per_s @ 64KiB",
        "corbie / raw-tcp : mb_per_s @ 64KiB",
        "corbie / omniorb : mb_per_s @ 1KiB",
        "corbie / omniorb : mb_per_s @ 16MiB",
        "corbie / raw-tcp : mb_per_s @ 1MiB @ two-cores",
        "corbie / omniorb : mb_per_s @ 1MiB @ two-cores",
        "corbie / omniorb : mb_per_s @ 64KiB @ two-cores",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "mb_per_s",
    charts: &[Plot::of_rows("mb_per_s", Chart::Lines { along: "octets", logarithmic: true })],
    plan,
};

/// Name and octets of each size.
const SIZES: [(&str, usize); 7] = [
    ("1KiB", 1 << 10),
    ("4KiB", 4 << 10),
    ("16KiB", 16 << 10),
    ("64KiB", 64 << 10),
    ("256KiB", 256 << 10),
    ("1MiB", 1 << 20),
    ("16MiB", 16 << 20),
];

fn contenders() -> Vec<Contender> {
    use Family::{JacOrb, OmniOrb, Raw};
    vec![
        Contender::new("raw-tcp", "", Raw, &[]),
        Contender::new("raw-unix", "", Raw, &["--unix"]),
        // omniORB refuses messages of more than 2 MiB unless told otherwise.
        Contender::new("omniorb", OMNIORB_STOCK.0, OmniOrb, &["-ORBgiopMaxMsgSize", "67108864"]),
        Contender::new(
            "omniorb",
            "pool",
            OmniOrb,
            &["-ORBgiopMaxMsgSize", "67108864", "-ORBthreadPerConnectionPolicy", "0"],
        ),
        Contender::new("jacorb", JACORB_QUEUE.0, JacOrb, JACORB_QUEUE.1),
        corbie_contender::smi("corbie").configured("blocking"),
        corbie_contender::smi_spin("corbie").configured("adaptive"),
        corbie_contender::unix("corbie-unix"),
    ]
}

fn plan(effort: &Effort) -> Vec<Cell> {
    let (warm_up_ms, window_ms) = if effort.quick { (30, 100) } else { (200, 700) };
    let pins: &[Pin] = if effort.quick { &[Pin::None] } else { &[Pin::None, Pin::TwoCores] };
    let mut cells = Vec::new();
    for &pin in pins {
        for (name, size) in SIZES {
            for contender in contenders() {
                let order = Order::Octets { size, warm_up_ms, window_ms };
                let x = vec![("size", json!(name)), ("octets", json!(size))];
                cells.push(Cell { contender, pin, sink_delay_ms: None, order, x });
            }
        }
    }
    cells
}
