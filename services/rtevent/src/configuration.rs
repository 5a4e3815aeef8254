//! How a channel works: one factory for all its strategies, which refuses what does not go together
//! (paper RTEC §4.7, §4.8).
//!
//! A configuration is made in a program, or of settings `NAME=VALUE` (the factory of a server,
//! flags of `corbie rtevents`).

mod text;

use crate::collection::CollectionStrategy;
use crate::filter::{Bounds, Form};
use crate::routes::SupplierFilter;
use corbie_event::{ChannelQos, Overflow};
use std::fmt;
use std::str::FromStr;

/// Which thread gives an event to a consumer (paper RTEC §4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatching {
    /// The thread that brought it. A consumer of the same process holds up its supplier.
    #[default]
    Reactive,
    /// One of so many. Each consumer gets its events in order.
    Pool {
        /// How many, from 1 to 256.
        threads: usize,
    },
    /// One that the consumer has for itself.
    PerConsumer,
}

/// What becomes of a second `connect` of one proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconnection {
    /// `AlreadyConnected`.
    #[default]
    Refused,
    /// It replaces the first one.
    Allowed,
}

/// Whether observers are told of subscriptions and publications (paper RTEC §4.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observers {
    /// `append_observer` raises `CANT_APPEND_OBSERVER`; nothing is computed.
    Refused,
    /// They are told.
    #[default]
    Told,
}

/// Configurations that have a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// An event takes the shortest way: the thread that brings it delivers it.
    #[default]
    Latency,
    /// Many events: several threads deliver, and several pushes to a consumer are on their way.
    Throughput,
    /// What a consumer does changes nothing for others: each has a thread, changes wait for no
    /// visit and visits for no change.
    Predictable,
    /// Little memory: one set of consumers, short queues.
    Small,
}

/// How a channel works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// In which form subscriptions are read.
    pub filtering: Form,
    /// How large a subscription may be.
    pub bounds: Bounds,
    /// For what there is a set of consumers.
    pub supplier_filter: SupplierFilter,
    /// How the sets of consumers are read and changed.
    pub collection: CollectionStrategy,
    /// Which thread gives an event to a consumer.
    pub dispatching: Dispatching,
    /// What becomes of a second `connect`.
    pub reconnection: Reconnection,
    /// Whether observers are told.
    pub observers: Observers,
    /// The queue of a consumer: its size, what becomes of events that find it full, and when a
    /// consumer that does not answer is given up. Never durable.
    pub queue: ChannelQos,
}

/// Why a channel cannot work like this: a sentence that names the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfiguration(pub String);

impl fmt::Display for BadConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadConfiguration {}

impl Default for Configuration {
    fn default() -> Self {
        Self::preset(Preset::Latency)
    }
}

impl Configuration {
    /// One that has a name.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        let latency = Self {
            filtering: Form::Either,
            bounds: Bounds::default(),
            supplier_filter: SupplierFilter::PerSupplier,
            collection: CollectionStrategy::CopyOnWrite,
            dispatching: Dispatching::Reactive,
            reconnection: Reconnection::Refused,
            observers: Observers::Told,
            queue: ChannelQos::default(),
        };
        match preset {
            Preset::Latency => latency,
            Preset::Throughput => Self {
                supplier_filter: SupplierFilter::PerType,
                dispatching: Dispatching::Pool { threads: 4 },
                queue: ChannelQos { window: 8, ..ChannelQos::default() },
                ..latency
            },
            Preset::Predictable => Self {
                dispatching: Dispatching::PerConsumer,
                queue: ChannelQos { when_full: Overflow::DropOldest, ..ChannelQos::default() },
                ..latency
            },
            Preset::Small => Self {
                supplier_filter: SupplierFilter::Global,
                collection: CollectionStrategy::Delayed { visits: 32 },
                observers: Observers::Refused,
                queue: ChannelQos {
                    queue_events: 100,
                    queue_octets: 256 << 10,
                    ..ChannelQos::default()
                },
                ..latency
            },
        }
    }

    /// One of settings `NAME=VALUE`, applied in order to the default one; `preset=…` comes first.
    ///
    /// ```
    /// use corbie_rtevent::Configuration;
    ///
    /// let configuration = Configuration::of(["preset=throughput", "threads=2"]);
    /// assert!(configuration.is_ok());
    /// let why = Configuration::of(["collection=immediate", "dispatching=reactive"]);
    /// assert!(why.is_err_and(|why| why.0.contains("collection=copy-on-write")));
    /// ```
    ///
    /// # Errors
    /// [`BadConfiguration`] when a setting is not known or out of range, or two do not go together.
    pub fn of<S: AsRef<str>>(
        settings: impl IntoIterator<Item = S>,
    ) -> Result<Self, BadConfiguration> {
        let mut configuration = Self::default();
        for (at, setting) in settings.into_iter().enumerate() {
            let setting = setting.as_ref();
            let Some((name, value)) = setting.split_once('=') else {
                return Err(BadConfiguration(format!("`{setting}` is not NAME=VALUE")));
            };
            if name == "preset" {
                if at > 0 {
                    let why = "preset comes before the settings that change it";
                    return Err(BadConfiguration(why.to_owned()));
                }
                configuration = Self::preset(Preset::from_str(value)?);
            } else {
                text::set(&mut configuration, name, value)?;
            }
        }
        configuration.check().map(|()| configuration)
    }

    /// All settings as `NAME=VALUE`, from which [`Configuration::of`] makes the same one.
    #[must_use]
    pub fn settings(&self) -> Vec<String> {
        text::settings(self)
    }

    /// That the strategies go together.
    ///
    /// # Errors
    /// [`BadConfiguration`].
    pub fn check(&self) -> Result<(), BadConfiguration> {
        let bad = |why: &str| Err(BadConfiguration(why.to_owned()));
        if self.collection == CollectionStrategy::Immediate
            && self.dispatching == Dispatching::Reactive
        {
            return bad(
                "collection=immediate keeps its lock while it goes through the consumers, and \
                 dispatching=reactive makes upcalls then, which may connect and disconnect: take \
                 collection=copy-on-write, or dispatching=pool",
            );
        }
        if matches!(self.collection, CollectionStrategy::Delayed { visits: 0 }) {
            return bad("delayed-visits is at least 1");
        }
        if let Dispatching::Pool { threads } = self.dispatching
            && !(1..=256).contains(&threads)
        {
            return bad("threads is from 1 to 256");
        }
        if self.queue.durable.is_some() {
            return bad("a real-time channel is not durable");
        }
        self.queue.check().map_err(|bad| BadConfiguration(bad.why))
    }
}
