//! The rows of the table, and how redb has them.
//!
//! Made by `server`, which makes channels and proxies again of them.

use crate::log::Retention;
use crate::qos::{ChannelQos, Overflow};
use std::time::Duration;

/// Queue events, queue octets, window.
type Sizes = (u64, u64, u64);
/// Push time-out, give up after: milliseconds.
type Times = (u64, u64);
/// Retained seconds, octets.
type Retained = (u64, u64);
/// Name, kind, and quality of service.
pub(super) type ChannelValue<'v> = (&'v str, &'v str, Sizes, Times, Retained);
/// Kind, interface, peer.
pub(super) type ProxyValue<'v> = (&'v str, &'v str, &'v str);
/// Position, delivered, dropped, refused.
pub(super) type ProgressValue = (u64, u64, u64, u64);

/// Whether it was handed over, its definition, and its description.
pub(super) type InterfaceValue<'v> = (bool, &'v str, &'v [u8]);

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelRow {
    pub(crate) name: String,
    /// Empty for an untyped channel.
    pub(crate) kind: String,
    pub(crate) qos: ChannelQos,
}

/// An interface that a typed channel knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceRow {
    /// Its repository id.
    pub(crate) id: String,
    /// With the channel, by who made that; else the server knew it.
    pub(crate) is_handed_over: bool,
    /// The reference of its `CORBA::InterfaceDef`, else empty.
    pub(crate) definition: String,
    /// As `interfaces` writes it.
    pub(crate) description: Vec<u8>,
}

impl InterfaceRow {
    pub(super) fn of(id: &str, (is_handed_over, definition, octets): InterfaceValue<'_>) -> Self {
        let (id, definition) = (id.to_owned(), definition.to_owned());
        Self { id, is_handed_over, definition, description: octets.to_owned() }
    }

    pub(super) fn value(&self) -> InterfaceValue<'_> {
        (self.is_handed_over, &self.definition, &self.description)
    }
}

impl ChannelRow {
    pub(super) fn of((name, kind, sizes, times, retained): ChannelValue<'_>) -> Self {
        let (queue_events, queue_octets, window) = sizes;
        let (push_timeout, give_up_after) = times;
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let qos = ChannelQos {
            when_full: Overflow::DropOldest,
            queue_events: size(queue_events),
            queue_octets: size(queue_octets),
            window: size(window),
            push_timeout: Duration::from_millis(push_timeout),
            give_up_after: Duration::from_millis(give_up_after),
            durable: Some(Retention { age: Duration::from_secs(retained.0), octets: retained.1 }),
        };
        Self { name: name.to_owned(), kind: kind.to_owned(), qos }
    }

    pub(super) fn value(&self) -> ChannelValue<'_> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let qos = &self.qos;
        let retention = qos.durable.unwrap_or_default();
        (
            &self.name,
            &self.kind,
            (qos.queue_events as u64, qos.queue_octets as u64, qos.window as u64),
            (millis(qos.push_timeout), millis(qos.give_up_after)),
            (retention.age.as_secs(), retention.octets),
        )
    }
}

/// A proxy that is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProxyRow {
    /// Of which kind it is: its proxy's word for it.
    pub(crate) kind: String,
    /// The repository id of what a typed proxy speaks, else empty.
    pub(crate) interface: String,
    /// The reference of its other side; empty, when that is nil.
    pub(crate) peer: String,
}

impl ProxyRow {
    pub(super) fn of((kind, interface, peer): ProxyValue<'_>) -> Self {
        Self { kind: kind.to_owned(), interface: interface.to_owned(), peer: peer.to_owned() }
    }

    pub(super) fn value(&self) -> ProxyValue<'_> {
        (&self.kind, &self.interface, &self.peer)
    }
}

/// How far a consumer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// It has all events with lower numbers.
    pub(crate) position: u64,
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
    pub(crate) refused: u64,
}

impl Progress {
    pub(super) fn of((position, delivered, dropped, refused): ProgressValue) -> Self {
        Self { position, delivered, dropped, refused }
    }

    pub(super) fn value(self) -> ProgressValue {
        (self.position, self.delivered, self.dropped, self.refused)
    }
}
