//! Subscriptions and publications as they are said: `event(POSITION).from(7) | event(VELOCITY)`.

use super::{Filter, Group, Moment, Publication, TimeT, Timeout};
use crate::kinds::{EVENT_ANY, EVENT_SOURCE_ANY};
use crate::rtec_event_channel_admin as admin;
use std::ops::{BitAnd, BitOr, Not};
use std::time::Duration;

/// Events of this type, from any source.
#[must_use]
pub fn event(kind: i32) -> Filter {
    Filter::Type { source: EVENT_SOURCE_ANY, kind }
}

/// Events of any type from this source.
#[must_use]
pub fn from_source(source: i32) -> Filter {
    Filter::Type { source, kind: EVENT_ANY }
}

/// Every event.
#[must_use]
pub fn any_event() -> Filter {
    Filter::Type { source: EVENT_SOURCE_ANY, kind: EVENT_ANY }
}

/// Events of which `left` is left of the type behind `mask`, from any source.
#[must_use]
pub fn masked(mask: u32, left: u32) -> Filter {
    Filter::MaskedType { source_mask: 0, kind_mask: mask, source: 0, kind: left }
}

impl Filter {
    /// Only those from this source.
    #[must_use]
    pub fn from(self, source: i32) -> Filter {
        match self {
            Filter::Type { source: EVENT_SOURCE_ANY, kind } => Filter::Type { source, kind },
            other => other & from_source(source),
        }
    }

    /// Only those of which source and type have a bit of the masks.
    #[must_use]
    pub fn with_bits(self, source_mask: u32, kind_mask: u32) -> Filter {
        Filter::Bitmask { source_mask, kind_mask, child: Box::new(self) }
    }

    /// One of these, whichever comes.
    #[must_use]
    pub fn any_of(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::Disjunction(filters.into_iter().collect())
    }

    /// A set of one of each, when all have come.
    #[must_use]
    pub fn all_of(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::Conjunction(Group::of(filters.into_iter().collect()))
    }

    /// A set of one of each, when they have come in this order.
    #[must_use]
    pub fn in_order(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::Sequence(Group::of(filters.into_iter().collect()))
    }

    /// An event once, so long after the consumer was connected.
    #[must_use]
    pub fn once_after(time: Duration) -> Filter {
        timeout(Moment::Once, time)
    }

    /// An event again and again, so long apart.
    #[must_use]
    pub fn every(time: Duration) -> Filter {
        timeout(Moment::Interval, time)
    }

    /// An event when the consumer was given nothing for so long.
    #[must_use]
    pub fn after_silence(time: Duration) -> Filter {
        timeout(Moment::Deadline, time)
    }

    /// The quality of service with which a consumer connects to get this.
    ///
    /// ```
    /// use corbie_rtevent::filter::{Filter, event};
    /// use std::time::Duration;
    ///
    /// const POSITION: i32 = 16;
    /// const VELOCITY: i32 = 17;
    /// let both = Filter::all_of([event(POSITION).from(7), event(VELOCITY)]);
    /// let subscription = both | Filter::after_silence(Duration::from_secs(1));
    /// assert_eq!(subscription.subscription().dependencies.len(), 5);
    /// ```
    #[must_use]
    pub fn subscription(&self) -> admin::ConsumerQos {
        admin::ConsumerQos { dependencies: self.entries(), is_gateway: false }
    }
}

fn timeout(moment: Moment, time: Duration) -> Filter {
    Filter::Timeout(Timeout { moment, after: to_time_t(time), number: 0 })
}

fn to_time_t(time: Duration) -> TimeT {
    TimeT::try_from(time.as_nanos() / 100).unwrap_or(TimeT::MAX)
}

impl BitOr for Filter {
    type Output = Filter;

    /// What the one or the other accepts.
    fn bitor(self, other: Filter) -> Filter {
        match (self, other) {
            (Filter::Disjunction(mut filters), other) => {
                filters.push(other);
                Filter::Disjunction(filters)
            }
            (one, two) => Filter::Disjunction(vec![one, two]),
        }
    }
}

impl BitAnd for Filter {
    type Output = Filter;

    /// What both accept.
    fn bitand(self, other: Filter) -> Filter {
        match (self, other) {
            (Filter::LogicalAnd(mut filters), other) => {
                filters.push(other);
                Filter::LogicalAnd(filters)
            }
            (one, two) => Filter::LogicalAnd(vec![one, two]),
        }
    }
}

impl Not for Filter {
    type Output = Filter;

    /// What it does not accept.
    fn not(self) -> Filter {
        Filter::Negation(Box::new(self))
    }
}

impl Publication {
    /// Events of this type and source.
    #[must_use]
    pub fn new(source: i32, kind: i32) -> Self {
        Self { source, kind }
    }

    /// The quality of service with which a supplier of these connects.
    ///
    /// ```
    /// use corbie_rtevent::filter::Publication;
    ///
    /// let positions = Publication::of([Publication::new(7, 16)]);
    /// assert_eq!(positions.publications.len(), 1);
    /// ```
    #[must_use]
    pub fn of(publications: impl IntoIterator<Item = Publication>) -> admin::SupplierQos {
        let publication = |Publication { source, kind }| {
            let mut publication = admin::Publication::default();
            let header = &mut publication.event.header;
            (header.source, header.r#type) = (source, kind);
            publication
        };
        let publications = publications.into_iter().map(publication).collect();
        admin::SupplierQos { publications, is_gateway: false }
    }
}
