//! The policies and their values, with the numbers of the OMG (CORBA Messaging §22.2).
//!
//! A policy is a plain value; what `create_policy` makes elsewhere is written down here.

use crate::policy::UtcT;
pub use corbie_settings::SyncScope;
use corbie_settings::TlsProtection;
use std::fmt;
use std::time::Duration;

/// The number of a kind of policy (`CORBA::PolicyType`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyType(pub u32);

/// Our part of the numbers, as of minor codes; not registered with the OMG.
const VENDOR: u32 = corbie_types::minor::VMCID;

macro_rules! policy_types {
    ($($(#[$doc:meta])* $name:ident = $number:expr, $text:literal;)+) => {
        impl PolicyType {
            $($(#[$doc])* pub const $name: PolicyType = PolicyType($number);)+

            /// All that are known here, in the order of their slots.
            pub(crate) const ALL: &'static [PolicyType] = &[$(PolicyType::$name,)+];

            /// The name of the policy.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self { $(PolicyType::$name => Some($text),)+ _ => None }
            }
        }
    };
}

policy_types! {
    /// Whether a call may bind its reference anew.
    REBIND = 23, "RebindPolicy";
    /// What a oneway waits for.
    SYNC_SCOPE = 24, "SyncScopePolicy";
    /// Priorities that a request may have.
    REQUEST_PRIORITY = 25, "RequestPriorityPolicy";
    /// Priorities that a reply may have.
    REPLY_PRIORITY = 26, "ReplyPriorityPolicy";
    /// Before when a request is not delivered.
    REQUEST_START_TIME = 27, "RequestStartTimePolicy";
    /// After when a request is not delivered.
    REQUEST_END_TIME = 28, "RequestEndTimePolicy";
    /// Before when a reply is not delivered.
    REPLY_START_TIME = 29, "ReplyStartTimePolicy";
    /// After when a reply is not delivered.
    REPLY_END_TIME = 30, "ReplyEndTimePolicy";
    /// How long a request may take to its target.
    RELATIVE_REQUEST_TIMEOUT = 31, "RelativeRequestTimeoutPolicy";
    /// How long request and reply may take together.
    RELATIVE_ROUNDTRIP_TIMEOUT = 32, "RelativeRoundtripTimeoutPolicy";
    /// In which order waiting requests are delivered.
    QUEUE_ORDER = 35, "QueueOrderPolicy";
    /// How long a reply may take after the request was sent. Ours.
    RELATIVE_REPLY_TIMEOUT = VENDOR, "RelativeReplyTimeoutPolicy";
    /// How many oneways are sent together. Ours.
    BUFFERING_CONSTRAINT = VENDOR | 1, "BufferingConstraintPolicy";
    /// Whether calls go over TLS. Ours.
    TLS_PROTECTION = VENDOR | 2, "TlsProtectionPolicy";
}

impl PolicyType {
    /// The place of the policy in a set; `None` for kinds that are not known here.
    pub(crate) fn slot(self) -> Option<usize> {
        Self::ALL.iter().position(|known| *known == self)
    }
}

impl fmt::Display for PolicyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "policy type {}", self.0),
        }
    }
}

impl fmt::Debug for PolicyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({})", self.0)
    }
}

/// Whether a call may bind its reference anew without being told to (CORBA Messaging §22.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum RebindMode {
    /// Forwards are followed and connections opened as needed. The default.
    #[default]
    Transparent = 0,
    /// Connections are opened as needed; a forward to a reference whose policies differ is a
    /// `REBIND` exception.
    NoRebind = 1,
    /// As `NoRebind`; besides, a connection that must be opened after the first is a `REBIND`
    /// exception, too.
    NoReconnect = 2,
}

/// Priorities from `min` to `max`; higher is more urgent (CORBA Messaging §22.2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriorityRange {
    /// The lowest that is allowed.
    pub min: i16,
    /// The highest that is allowed; never below `min`.
    pub max: i16,
}

impl PriorityRange {
    /// What is in both; `None` when nothing is.
    pub(crate) fn intersection(self, other: PriorityRange) -> Option<PriorityRange> {
        let (min, max) = (self.min.max(other.min), self.max.min(other.max));
        (min <= max).then_some(PriorityRange { min, max })
    }
}

/// In which orders waiting requests may be delivered: a set (CORBA Messaging §22.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueOrder(pub u16);

impl QueueOrder {
    /// Any order.
    pub const ANY: QueueOrder = QueueOrder(1);
    /// As they were sent.
    pub const TEMPORAL: QueueOrder = QueueOrder(2);
    /// The higher priority first.
    pub const PRIORITY: QueueOrder = QueueOrder(4);
    /// The one first whose end time comes first.
    pub const DEADLINE: QueueOrder = QueueOrder(8);

    /// Whether all of `other` is in this set.
    #[must_use]
    pub fn contains(self, other: QueueOrder) -> bool {
        self.0 & other.0 == other.0
    }
}

/// How long oneways with [`SyncScope::None`] may be held back so that several go in one system
/// call: until the first of these bounds is reached, or until a flush. Without any bound only a
/// flush (or the ORB's `batch_octets`) sends them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BufferingConstraint {
    /// Requests held back at most.
    pub count: Option<u32>,
    /// Octets held back at most.
    pub octets: Option<u32>,
    /// How long the first of them is held back at most.
    pub time: Option<Duration>,
}

/// One policy with its value. Relative times have a resolution of 100 ns where they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// How long request and reply may take together: then TIMEOUT.
    RelativeRoundtripTimeout(Duration),
    /// How long a request may take to be delivered to its target: then TIMEOUT. The reply may take
    /// longer.
    RelativeRequestTimeout(Duration),
    /// How long the reply may take from when the request was sent: then TIMEOUT. It may be longer
    /// than the setting `request_timeout`, which then bounds the sending alone. Ours.
    RelativeReplyTimeout(Duration),
    /// The request is not sent before.
    RequestStartTime(UtcT),
    /// The request is not delivered afterwards: TIMEOUT.
    RequestEndTime(UtcT),
    /// The reply is not delivered to the caller before.
    ReplyStartTime(UtcT),
    /// The reply is not delivered to the caller afterwards: TIMEOUT.
    ReplyEndTime(UtcT),
    /// What a oneway waits for.
    SyncScope(SyncScope),
    /// Whether calls may bind their reference anew.
    Rebind(RebindMode),
    /// In which order waiting requests are delivered.
    QueueOrder(QueueOrder),
    /// Priorities that requests may have.
    RequestPriority(PriorityRange),
    /// Priorities that replies may have.
    ReplyPriority(PriorityRange),
    /// How many oneways are sent together. Ours.
    BufferingConstraint(BufferingConstraint),
    /// Whether calls of a reference go over TLS where they leave the machine, whatever the setting
    /// `tls_protection` says. Of references only, since it is settled when a reference is bound;
    /// for all references there is the setting. Ours.
    TlsProtection(TlsProtection),
}

impl Policy {
    /// The number of its kind.
    #[must_use]
    pub fn policy_type(&self) -> PolicyType {
        match self {
            Policy::RelativeRoundtripTimeout(_) => PolicyType::RELATIVE_ROUNDTRIP_TIMEOUT,
            Policy::RelativeRequestTimeout(_) => PolicyType::RELATIVE_REQUEST_TIMEOUT,
            Policy::RelativeReplyTimeout(_) => PolicyType::RELATIVE_REPLY_TIMEOUT,
            Policy::RequestStartTime(_) => PolicyType::REQUEST_START_TIME,
            Policy::RequestEndTime(_) => PolicyType::REQUEST_END_TIME,
            Policy::ReplyStartTime(_) => PolicyType::REPLY_START_TIME,
            Policy::ReplyEndTime(_) => PolicyType::REPLY_END_TIME,
            Policy::SyncScope(_) => PolicyType::SYNC_SCOPE,
            Policy::Rebind(_) => PolicyType::REBIND,
            Policy::QueueOrder(_) => PolicyType::QUEUE_ORDER,
            Policy::RequestPriority(_) => PolicyType::REQUEST_PRIORITY,
            Policy::ReplyPriority(_) => PolicyType::REPLY_PRIORITY,
            Policy::BufferingConstraint(_) => PolicyType::BUFFERING_CONSTRAINT,
            Policy::TlsProtection(_) => PolicyType::TLS_PROTECTION,
        }
    }

    /// Whether it may be set for a reference alone.
    pub(crate) fn is_of_references(&self) -> bool {
        matches!(self, Policy::TlsProtection(_))
    }

    /// Why the value can never be met, if so.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            Policy::RequestPriority(range) | Policy::ReplyPriority(range)
                if range.min > range.max =>
            {
                Some("the least priority is above the highest")
            }
            Policy::QueueOrder(QueueOrder(order)) if *order == 0 || *order > 0xf => {
                Some("the order is none that the specification has")
            }
            Policy::BufferingConstraint(BufferingConstraint { count: Some(0), .. }) => {
                Some("a count of 0 holds nothing; use SyncScope::WithTransport instead")
            }
            _ => None,
        }
    }
}
