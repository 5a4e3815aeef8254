//! What a server can be watched by: metrics in the text form of OpenMetrics, which Prometheus
//! reads, at `--metrics HOST:PORT`. Without that argument nothing here runs.
//!
//! Requests are counted by an interceptor of the ORB; everything else is read from counters that
//! are there anyway, when it is asked for. The names are an interface: the book lists them.
//! The page is there before the server is ready, so that one that does not get ready is seen.

mod events;
mod limits;
mod of_orb;
mod page;
mod requests;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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

pub(crate) fn argument() -> Arg {
    Arg::new("metrics")
        .long("metrics")
        .value_name("HOST:PORT")
        .help("Where Prometheus reads metrics, by HTTP [default: nowhere]")
        .help_heading("Operation")
}

/// The metrics of this server.
pub(crate) struct Metrics {
    /// Lock "metrics": held to register, and to write a page, which takes other locks for a look.
    registry: Arc<Mutex<Registry>>,
    place: SocketAddr,
    is_ready: Arc<AtomicBool>,
}

impl Metrics {
    /// Has the requests of `orb` counted, if the command line wants metrics, and serves them from
    /// now on. To be called before there is a POA.
    pub(super) fn of(
        matches: &ArgMatches,
        orb: &Orb,
        limits: &Arc<Limits>,
    ) -> Result<Option<Self>, Failure> {
        let Some(given) = matches.get_one::<String>("metrics") else { return Ok(None) };
        let cannot = |why: &dyn std::fmt::Display| {
            Failure::new(format!("cannot serve metrics at {given}: {why}"))
        };
        let listener = TcpListener::bind(given).map_err(|error| cannot(&error))?;
        let place = listener.local_addr().map_err(|error| cannot(&error))?;
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry);
        orb.set_server_interceptors(vec![Arc::new(requests)]).map_err(|error| cannot(&error))?;
        limits.register(&mut registry);
        let is_ready: Arc<AtomicBool> = Arc::default();
        registry.register_collector(Box::new(OfOrb::new(orb, &is_ready)));
        let registry = Arc::new(Mutex::new(registry));
        let shown = Arc::clone(&registry);
        let started = page::serve(listener, move || {
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = prometheus_client::encoding::text::encode(&mut text, &lock(&shown));
            text
        });
        started.map_err(|error| cannot(&error))?;
        tracing::info!(url = format!("http://{place}/metrics"), "serving metrics");
        Ok(Some(Self { registry, place, is_ready }))
    }

    /// Where they are.
    pub(crate) fn place(&self) -> SocketAddr {
        self.place
    }

    /// Counts the channels of `server` as well.
    pub(crate) fn add_events<S: ChannelServer + 'static>(&mut self, server: &Arc<S>) {
        let weak: Weak<S> = Arc::downgrade(server);
        lock(&self.registry).register_collector(Box::new(Channels(weak)));
    }

    /// The server is ready, and says so.
    pub(super) fn tell_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }
}

fn lock(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
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
