//! The channels of an event server, as they are when they are asked for. `metrics` registers them
//! where there is such a server.

use std::fmt;
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::super::channels::{ChannelServer, Look};
use super::{Kind, Sample, write};

/// Channels with a name of their own among the metrics; clients make channels.
const CHANNELS_MAX: usize = 200;

pub(super) struct Channels(pub(super) Weak<dyn ChannelServer>);

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Channels")
    }
}

type OfChannel = (&'static str, &'static str, Kind, fn(&Look) -> u64);

const OF_CHANNELS: [OfChannel; 9] = [
    ("corbie_event_received", "Events that came to the channel", Kind::Counter, |s| s.received),
    ("corbie_event_delivered", "Events that consumers took", Kind::Counter, |s| {
        s.consumers.iter().map(|c| c.delivered).sum()
    }),
    ("corbie_event_dropped", "Events that consumers did not get", Kind::Counter, |s| {
        s.consumers.iter().map(|c| c.dropped).sum()
    }),
    ("corbie_event_failed_pushes", "Pushes that failed and are tried again", Kind::Counter, |s| {
        s.consumers.iter().map(|c| c.failed).sum()
    }),
    ("corbie_event_queued", "Events that wait for consumers", Kind::Gauge, |s| {
        s.consumers.iter().map(|c| c.queued).sum()
    }),
    ("corbie_event_longest_queue", "Events that wait for the slowest consumer", Kind::Gauge, |s| {
        s.consumers.iter().map(|c| c.queued).max().unwrap_or(0)
    }),
    ("corbie_event_consumers", "Consumers that are connected", Kind::Gauge, |s| {
        s.consumers.len() as u64
    }),
    ("corbie_event_suppliers", "Suppliers that are connected", Kind::Gauge, |s| s.suppliers),
    ("corbie_event_log_octets", "Octets of the log of a durable channel", Kind::Gauge, |s| {
        s.log_octets
    }),
];

impl Collector for Channels {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(server) = self.0.upgrade() else { return Ok(()) };
        let mut all = server.looks();
        all.truncate(CHANNELS_MAX);
        for (name, help, kind, value) in OF_CHANNELS {
            let labelled = all.iter().map(|look| (Some(("channel", &*look.name)), value(look)));
            write(&mut encoder, name, help, kind, labelled)?;
        }
        let s = server.totals();
        let of_server: [Sample; 6] = [
            (
                "corbie_event_queued_octets",
                "Memory that waits in all queues",
                Kind::Gauge,
                s.queued_octets,
            ),
            (
                "corbie_event_waiting_pulls",
                "Pulls that wait for events",
                Kind::Gauge,
                s.waiting_pulls,
            ),
            ("corbie_event_proxies", "Proxies, connected or not", Kind::Gauge, s.proxies),
            (
                "corbie_event_refused",
                "Events that queues had no room for",
                Kind::Counter,
                s.refused_events,
            ),
            (
                "corbie_event_refused_pulls",
                "Pulls that were not let wait",
                Kind::Counter,
                s.refused_pulls,
            ),
            (
                "corbie_event_refused_proxies",
                "Proxies that were refused, since there were too many",
                Kind::Counter,
                s.refused_proxies,
            ),
        ];
        super::write_all(&mut encoder, &of_server)
    }
}
