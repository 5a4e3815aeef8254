//! What a server can be watched by: metrics in the text form of OpenMetrics, which Prometheus
//! reads, at `--metrics HOST:PORT`. Without that argument nothing here runs.
//!
//! Requests are counted by an interceptor of the ORB; everything else is read from counters that
//! are there anyway, when it is asked for. The names are an interface: the book lists them.

mod events;
mod limits;
mod page;
mod requests;

use std::net::TcpListener;
use std::sync::Arc;

use clap::{Arg, ArgMatches};
use corbie::Orb;
use corbie_event::EventServer;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::failure::Failure;
use events::Channels;
pub(super) use limits::Limits;
use requests::Requests;

pub(super) fn argument() -> Arg {
    Arg::new("metrics")
        .long("metrics")
        .value_name("HOST:PORT")
        .help("Where Prometheus reads metrics, by HTTP [default: nowhere]")
        .help_heading("Operation")
}

/// The metrics of this server.
pub(crate) struct Metrics {
    listener: TcpListener,
    registry: Registry,
}

impl Metrics {
    /// Has the requests of `orb` counted, if the command line wants metrics. To be called before
    /// there is a POA.
    pub(super) fn of(
        matches: &ArgMatches,
        orb: &Orb,
        limits: &Arc<Limits>,
    ) -> Result<Option<Self>, Failure> {
        let Some(place) = matches.get_one::<String>("metrics") else { return Ok(None) };
        let cannot = |why: &dyn std::fmt::Display| {
            Failure::new(format!("cannot serve metrics at {place}: {why}"))
        };
        let listener = TcpListener::bind(place).map_err(|error| cannot(&error))?;
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry);
        orb.set_server_interceptors(vec![Arc::new(requests)]).map_err(|error| cannot(&error))?;
        limits.register(&mut registry);
        registry.register_collector(Box::new(OfOrb(orb.clone())));
        Ok(Some(Self { listener, registry }))
    }

    /// Counts the channels of `server` as well.
    pub(crate) fn add_events(&mut self, server: &Arc<EventServer>) {
        self.registry.register_collector(Box::new(Channels(Arc::downgrade(server))));
    }

    /// Serves them from now on.
    pub(crate) fn serve(self) -> Result<(), Failure> {
        let Self { listener, registry } = self;
        let place = listener.local_addr().map_or_else(|_| String::new(), |at| at.to_string());
        let started = page::serve(listener, move || {
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
            text
        });
        started.map_err(|error| Failure::new(format!("cannot serve metrics: {error}")))?;
        tracing::info!(url = format!("http://{place}/metrics"), "serving metrics");
        Ok(())
    }
}

/// How a value goes on.
#[derive(Clone, Copy)]
enum Kind {
    /// It only grows.
    Counter,
    Gauge,
}

/// Name, help, kind and value of a metric without labels.
type Sample = (&'static str, &'static str, Kind, u64);

fn write_all(
    encoder: &mut DescriptorEncoder<'_>,
    samples: &[Sample],
) -> Result<(), std::fmt::Error> {
    samples.iter().try_for_each(|(name, help, kind, value)| {
        write(encoder, name, help, *kind, std::iter::once((None, *value)))
    })
}

fn write<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: Kind,
    values: impl Iterator<Item = (Option<(&'static str, &'a str)>, u64)>,
) -> Result<(), std::fmt::Error> {
    let kind_of_metric = match kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
    };
    let mut metric = encoder.encode_descriptor(name, help, None, kind_of_metric)?;
    for (label, value) in values {
        match label {
            Some(label) => write_value(&mut metric.encode_family(&[label])?, kind, value)?,
            None => write_value(&mut metric, kind, value)?,
        }
    }
    Ok(())
}

fn write_value(
    metric: &mut MetricEncoder<'_>,
    kind: Kind,
    value: u64,
) -> Result<(), std::fmt::Error> {
    match kind {
        Kind::Counter => metric.encode_counter::<NoLabelSet, _, u64>(&value, None),
        Kind::Gauge => metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX)),
    }
}

/// What the ORB holds.
struct OfOrb(Orb);

impl std::fmt::Debug for OfOrb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OfOrb")
    }
}

impl Collector for OfOrb {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let s = self.0.statistics();
        let size = |octets: usize| octets as u64;
        let samples: [Sample; 4] = [
            (
                "corbie_connections",
                "Connections that peers have open",
                Kind::Gauge,
                size(s.connections.now),
            ),
            (
                "corbie_memory_limit_octets",
                "What peers may make the process hold",
                Kind::Gauge,
                size(s.memory.limit),
            ),
            (
                "corbie_memory_refused",
                "Times that memory was refused",
                Kind::Counter,
                s.memory.refused,
            ),
            (
                "corbie_up",
                "1 while the server takes requests",
                Kind::Gauge,
                u64::from(!self.0.is_shut_down()),
            ),
        ];
        write_all(&mut encoder, &samples)?;
        let purposes = [
            ("reading", s.memory.reading),
            ("sending", s.memory.sending),
            ("services", s.memory.services),
            ("waiting", s.memory.waiting),
        ];
        let held = purposes
            .into_iter()
            .map(|(purpose, octets)| (Some(("purpose", purpose)), size(octets)));
        write(
            &mut encoder,
            "corbie_memory_octets",
            "What peers make the process hold",
            Kind::Gauge,
            held,
        )
    }
}
