//! What a channel promises, and what clients can make a server spend.
//!
//! Set when a channel is made (`CorbieEvents::ChannelQos`, flags of `corbie events`), read by
//! `channel` for every event.

use crate::corbie_events::{self, BadQos};
use crate::log::Retention;
use std::time::Duration;

/// What becomes of an event that finds a consumer's queue full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The event that waits longest makes room.
    #[default]
    DropOldest,
    /// The event that comes is not taken.
    DropNewest,
    /// The event is taken, and its supplier waits until there is room.
    BlockSupplier,
    /// The consumer is disconnected.
    Disconnect,
}

/// What a channel promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelQos {
    /// What becomes of an event that finds a consumer's queue full.
    pub when_full: Overflow,
    /// Events that may wait for one consumer.
    pub queue_events: usize,
    /// Octets of events that may wait for one consumer, with what each takes beside its own
    /// ([`Event::BESIDE`](crate::Event::BESIDE)). Where the supplier is to wait, as many may be
    /// taken from suppliers that wait; what they push beyond that is refused with `TRANSIENT`.
    pub queue_octets: usize,
    /// Pushes to one consumer that may be on their way at once. More than 1 keeps the order only
    /// if the consumer serves the requests of a connection one after the other, as servants of
    /// Corbie with the interfaces of the Event Service do; 1 is kept by all.
    pub window: usize,
    /// How long a consumer may take for one push.
    pub push_timeout: Duration,
    /// A consumer or supplier that could not be reached for so long is disconnected. A consumer of
    /// a durable channel is when it does not exist for so long; if it cannot be reached, it is when
    /// nothing that waited for it in the beginning is kept any more.
    pub give_up_after: Duration,
    /// Whether events, and who is connected, outlive the server, and how long events are kept.
    pub durable: Option<Retention>,
}

impl Default for ChannelQos {
    fn default() -> Self {
        Self {
            when_full: Overflow::DropOldest,
            queue_events: 10_000,
            queue_octets: 64 << 20,
            window: 1,
            push_timeout: Duration::from_secs(5),
            give_up_after: Duration::from_secs(60),
            durable: None,
        }
    }
}

/// Octets of events that a log has to be allowed to keep.
const RETAIN_OCTETS_MIN: u64 = 64 << 10;

/// Most pushes on their way to one consumer.
const WINDOW_MAX: u32 = 4096;

impl ChannelQos {
    /// The first sentence that says why a channel cannot be like this.
    ///
    /// # Errors
    /// [`BadQos`].
    pub fn check(&self) -> Result<(), BadQos> {
        let why = if self.queue_events == 0 || self.queue_octets == 0 {
            "a queue has to have room for an event"
        } else if self.window == 0 || self.window > WINDOW_MAX as usize {
            "window is from 1 to 4096"
        } else if self.push_timeout.is_zero() || self.give_up_after.is_zero() {
            "push_timeout and give_up_after are longer than no time"
        } else if self.durable.is_some() && self.when_full != Overflow::DropOldest {
            "what waits for the consumers of a durable channel is in its log: its oldest events go \
             when they are too old or too many (retain_seconds, retain_octets), so when_full is \
             DROP_OLDEST"
        } else if self.durable.is_some_and(|kept| kept.octets < RETAIN_OCTETS_MIN) {
            "retain_octets is at least 65536"
        } else if self.durable.is_some_and(|kept| kept.age < Duration::from_secs(1)) {
            "retain_seconds is at least 1"
        } else {
            return Ok(());
        };
        Err(BadQos { why: why.to_owned() })
    }

    /// As [`ChannelQos::check`], and that it is within what a server allows.
    ///
    /// # Errors
    /// [`BadQos`].
    pub fn check_at(&self, limits: &Limits) -> Result<(), BadQos> {
        self.check()?;
        let retained = self.durable.map_or(0, |kept| kept.octets);
        let beyond = [
            ("queue_events", self.queue_events as u64, limits.queue_events as u64),
            ("queue_octets", self.queue_octets as u64, limits.queue_octets as u64),
            ("retain_octets", retained, limits.retain_octets),
        ];
        let Some((name, asked, most)) = beyond.into_iter().find(|(_, asked, most)| asked > most)
        else {
            return Ok(());
        };
        let flag = name.replace('_', "-");
        let why = format!(
            "{name} is {asked}, but at this server at most {most} (corbie events serve \
             --{flag}-max)"
        );
        Err(BadQos { why })
    }

    /// The same, as far as a server with these limits allows.
    #[must_use]
    pub fn within(mut self, limits: &Limits) -> Self {
        self.queue_events = self.queue_events.min(limits.queue_events);
        self.queue_octets = self.queue_octets.min(limits.queue_octets);
        if let Some(kept) = &mut self.durable {
            kept.octets = kept.octets.min(limits.retain_octets);
        }
        self
    }

    /// What a client asks for; 0 is our default, or what the server allows where that is less.
    ///
    /// # Errors
    /// [`BadQos`].
    pub fn of_idl(asked: &corbie_events::ChannelQos, limits: &Limits) -> Result<Self, BadQos> {
        let kept = Some(Retention::default());
        let default = Self { durable: kept, ..Self::default() }.within(limits);
        let millis = |asked: u32, default: Duration| match asked {
            0 => default,
            asked => Duration::from_millis(asked.into()),
        };
        let count = |asked: u64, default: usize| match asked {
            0 => default,
            asked => usize::try_from(asked).unwrap_or(usize::MAX),
        };
        let kept = default.durable.unwrap_or_default();
        let durable = asked.is_durable.then(|| Retention {
            age: match asked.retain_seconds {
                0 => kept.age,
                asked => Duration::from_secs(asked.into()),
            },
            octets: if asked.retain_octets == 0 { kept.octets } else { asked.retain_octets },
        });
        let qos = Self {
            when_full: match asked.when_full {
                corbie_events::Overflow::DropOldest => Overflow::DropOldest,
                corbie_events::Overflow::DropNewest => Overflow::DropNewest,
                corbie_events::Overflow::BlockSupplier => Overflow::BlockSupplier,
                corbie_events::Overflow::Disconnect => Overflow::Disconnect,
            },
            queue_events: count(asked.queue_events.into(), default.queue_events),
            queue_octets: count(asked.queue_octets, default.queue_octets),
            window: count(asked.window.into(), default.window),
            push_timeout: millis(asked.push_timeout, default.push_timeout),
            give_up_after: millis(asked.give_up_after, default.give_up_after),
            durable,
        };
        qos.check_at(limits).map(|()| qos)
    }
}

impl ChannelQos {
    /// What holds for the queues of consumers: those of a durable channel are bounded by how far
    /// the log is read ahead.
    pub(crate) fn of_queues(&self) -> Self {
        let mut qos = self.clone();
        if qos.durable.is_some() {
            (qos.queue_events, qos.queue_octets) = (usize::MAX, usize::MAX);
        }
        qos
    }
}

/// What clients can make a server spend: limits with defaults for an open network. What is beyond
/// them is refused with `IMP_LIMIT` (`COMPLETED_NO`).
#[derive(Clone, Debug)]
pub struct Limits {
    /// Channels of a server.
    pub channels: usize,
    /// Durable channels of a server: each has a file open.
    pub durable_channels: usize,
    /// Proxies of one channel, connected or not.
    pub proxies: usize,
    /// Proxies of all channels together.
    pub proxies_of_server: usize,
    /// The most that a channel may have as [`ChannelQos::queue_events`].
    pub queue_events: usize,
    /// The most that a channel may have as [`ChannelQos::queue_octets`].
    pub queue_octets: usize,
    /// Octets that wait in the queues of all consumers together, with what each event takes beside
    /// its own. An event that several consumers wait for counts for each. A queue grows only while
    /// it holds less than what is left.
    pub queues_octets: usize,
    /// The most that a durable channel may keep ([`Retention::octets`]).
    pub retain_octets: u64,
    /// Octets of a channel's name.
    pub name_octets: usize,
    /// Pulls that may wait at one proxy for events.
    pub waiting_pulls: usize,
    /// Pulls that may wait at all proxies together. A peer (an address of the network, or a user of
    /// this machine) may have one more only while it has fewer than are left.
    pub waiting_pulls_of_server: usize,
    /// Clients, each with a connection of its own, whose pulls may wait; by peer as well. At most
    /// as many as the ORB takes connections (`server_connections_max`).
    pub waiting_clients: usize,
    /// Interfaces that are handed over with one typed channel.
    pub interfaces: usize,
    /// Threads of all real-time channels together that give events to consumers.
    pub threads: usize,
    /// Time-outs that come to all consumers of real-time channels together in a second. A consumer
    /// gets half of what is left at most, unless it asks for ten or less.
    pub time_outs: usize,
    /// Threads that make connections to consumers and suppliers.
    pub workers: usize,
    /// A peer that gave a reference and neither supplied nor took anything for so long is asked
    /// whether it exists; if not, its proxy ends.
    pub idle_limit: Duration,
    /// A peer that gave no reference and neither pushed nor pulled for so long is disconnected;
    /// `None`: never, since no call can tell whether it lives.
    pub idle_nil_limit: Option<Duration>,
    /// A proxy that no client connected for so long ends.
    pub unconnected_limit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            channels: 1000,
            durable_channels: 100,
            proxies: 10_000,
            proxies_of_server: 50_000,
            queue_events: 1_000_000,
            queue_octets: 256 << 20,
            queues_octets: 1 << 30,
            retain_octets: 16 << 30,
            name_octets: 1024,
            waiting_pulls: 64,
            waiting_pulls_of_server: 100_000,
            waiting_clients: 1000,
            interfaces: 100,
            threads: 256,
            time_outs: 10_000,
            workers: 4,
            idle_limit: Duration::from_secs(300),
            idle_nil_limit: None,
            unconnected_limit: Duration::from_secs(300),
        }
    }
}
