//! What a server can be watched by: metrics in the text form of OpenMetrics, which Prometheus
//! reads, at `--metrics HOST:PORT`. Without that argument nothing here runs.
//!
//! Requests are counted by an interceptor of the ORB; everything else is read from counters that
//! are there anyway, when it is asked for. The names are an interface: the book lists them.

mod events;
mod limits;
mod of_orb;
mod page;
mod requests;

use std::net::TcpListener;
use std::sync::{Arc, Weak};

use clap::{Arg, ArgMatches};
use corbie::Orb;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::channels::ChannelServer;
use crate::failure::Failure;
use events::Channels;
pub(super) use limits::Limits;
use of_orb::OfOrb;
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
    pub(crate) fn add_events<S: ChannelServer + 'static>(&mut self, server: &Arc<S>) {
        let weak: Weak<S> = Arc::downgrade(server);
        self.registry.register_collector(Box::new(Channels(weak)));
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
