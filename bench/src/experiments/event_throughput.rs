//! `event-throughput`: events a second from one supplier through a channel to 1 … 1,000 consumers,
//! beside NATS, IceStorm and omniEvents.
//!
//! In the table of `experiments.rs`; measured by `events.rs`, with `peers/events`.

use crate::contender::Contender;
use crate::experiment::{Cell, Chart, Effort, Experiment, Plot};
use crate::orders::Order;
use crate::placement::Pin;

/// The experiment.
pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "event-throughput",
    paper: "-",
    summary: "Events a second, 1 supplier, 1 … 1,000 consumers, beside other channels.",
    notes: &[
        "Supplier, channel and consumers are three processes on loopback TCP in every row; the \
         consumers of a row share a process. Time runs from before the first event until the last \
         consumer has the last one. Each event is numbered, and a row stands here only if every \
         consumer got every event, in order.",
        "corbie bundles: many events in one request, which is answered once, by the channel and by \
         each consumer (decision 28). corbie-untyped: a request and an answer for each event, \
         many on their way at once. corbie oneway: the supplier asks for no answer. corbie-typed: \
         as acknowledged, events are calls of an interface instead of an any.",
        "nats: the C client, which writes many messages in one go; nothing is acknowledged, and \
         the limits above which server and client drop messages are raised. Subscriptions are \
         served by a thread each, or by a pool of two.",
        "icestorm twoway: acknowledged and ordered; oneway: not; batch: batched oneways, to \
         IceStorm and to the subscribers. It keeps a batch for 100 ms at least.",
        "omnievents twoway, oneway: whether its supplier asks for an answer. Its consumers are \
         always waited for. The cycle is 1 ms instead of 100 ms.",
    ],
    paper_table: None,
    ratios: &[
        "corbie / nats : events_per_s @ 1 @ 64",
        "corbie / nats : events_per_s @ 10 @ 64",
        "corbie / nats : events_per_s @ 100 @ 64",
        "corbie / icestorm : events_per_s @ 1 @ 64",
        "corbie / icestorm : events_per_s @ 10 @ 64",
        "corbie / icestorm : events_per_s @ 100 @ 64",
        "corbie / omnievents : events_per_s @ 1 @ 64",
        "corbie-typed / corbie-untyped : events_per_s @ 1 @ 64",
        "corbie-typed / corbie-untyped : events_per_s @ 10 @ 64",
        "corbie-typed / corbie-untyped : events_per_s @ 100 @ 64",
        "corbie / nats : events_per_s @ 1000 @ 64",
        "corbie / icestorm : events_per_s @ 1000 @ 64",
        "corbie / nats : events_per_s @ 1 @ 1024",
        "corbie / nats : events_per_s @ 10 @ 1024",
        "corbie / nats : events_per_s @ 100 @ 1024",
        "corbie / icestorm : events_per_s @ 1 @ 1024",
    ],
    bests: &[],
    added: None,
    ideal: None,
    metric: "events_per_s",
    charts: &[Plot::of_rows(
        "events_per_s",
        Chart::Lines { along: "consumers", logarithmic: true },
    )],
    plan,
};

/// Series, configuration, words; whether a quick run has it.
const CONTENDERS: &[(&str, &str, &[&str], bool)] = &[
    ("corbie", "bundles", &["events", "corbie", "bundles"], true),
    ("corbie-untyped", "acknowledged", &["events", "corbie", "acknowledged"], true),
    ("corbie-typed", "acknowledged", &["events", "corbie", "typed"], true),
    ("corbie", "oneway", &["events", "corbie", "oneway"], false),
    ("nats", "pool of threads", &["events", "nats", "pool"], true),
    ("nats", "thread each", &["events", "nats", "thread"], false),
    ("icestorm", "batch", &["events", "icestorm", "batch"], true),
    ("icestorm", "oneway", &["events", "icestorm", "oneway"], false),
    ("icestorm", "twoway", &["events", "icestorm", "twoway"], false),
    ("omnievents", "oneway", &["events", "omnievents", "oneway"], true),
    ("omnievents", "twoway", &["events", "omnievents", "twoway"], false),
];

fn plan(effort: &Effort) -> Vec<Cell> {
    let quick = effort.quick;
    let window_ms = if quick { 200 } else { 1_500 };
    let mut cells = Vec::new();
    for octets in [64, 1024] {
        for consumers in [1, 10, 100, 1_000] {
            for (series, config, words, is_quick) in CONTENDERS {
                // A quick run is short of time for many consumers, and for who is slow.
                let is_slow = *series != "corbie" && *series != "nats";
                let fits =
                    *is_quick && octets == 64 && consumers < 1_000 && (!is_slow || consumers == 1);
                if quick && !fits {
                    continue;
                }
                cells.push(Cell {
                    contender: Contender::local(series, config, words),
                    pin: Pin::None,
                    sink_delay_ms: None,
                    order: Order::Events { consumers, octets, window_ms },
                    x: vec![("consumers", consumers.into()), ("octets", octets.into())],
                });
            }
        }
    }
    cells
}
