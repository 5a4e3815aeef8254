//! From the sequence of a subscription to a tree, and back (paper RTEC §4.1).
//!
//! A sequence is written in one of two forms. In the *basic* one a group goes up to the next group
//! and groups do not stand in groups. In the *prefix* one the source of a designator says how many
//! filters the group has, and groups stand in groups. Both are read here, by one builder.

use super::{Filter, Group, Moment, Timeout, bits};
use crate::kinds as k;
use crate::rtec_event_channel_admin::Dependency;
use crate::rtec_event_comm::EventHeader;
use std::fmt;

/// In which form subscriptions are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A group whose designator has a count is in the prefix form, one without in the basic form.
    #[default]
    Either,
    /// Counts are not looked at.
    Basic,
    /// A designator without a count begins an empty group.
    Prefix,
}

/// How large a subscription may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Entries of the sequence.
    pub entries: usize,
    /// Publications of a supplier.
    pub publications: usize,
    /// Entries of all consumers of a channel together, and publications of all its suppliers.
    pub in_all: usize,
    /// Filters within filters.
    pub depth: usize,
    /// Time-outs, each of which takes a timer.
    pub timeouts: usize,
    /// The shortest time of a time-out, in units of 100 nanoseconds.
    pub shortest_timeout: super::TimeT,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            entries: 1_000,
            publications: 500,
            in_all: 100_000,
            depth: 32,
            timeouts: 64,
            shortest_timeout: 10_000,
        }
    }
}

/// Why a sequence is no subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSubscription {
    /// The entry at which that was seen; 0 is the first.
    pub entry: usize,
    /// A sentence.
    pub why: String,
}

impl fmt::Display for BadSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} of the subscription: {}", self.entry, self.why)
    }
}

impl std::error::Error for BadSubscription {}

struct Reader<'d> {
    entries: &'d [Dependency],
    at: usize,
    form: Form,
    bounds: Bounds,
}

impl Filter {
    /// The tree of a subscription. Of several filters that stand beside each other any will do; an
    /// empty subscription accepts nothing.
    ///
    /// # Errors
    /// [`BadSubscription`] when a designator lacks what belongs behind it, or a bound is exceeded.
    pub fn of(
        entries: &[Dependency],
        form: Form,
        bounds: Bounds,
    ) -> Result<Filter, BadSubscription> {
        let mut reader = Reader { entries, at: 0, form, bounds };
        if entries.len() > bounds.entries {
            return Err(reader.bad(format!("there are more than {} of them", bounds.entries)));
        }
        let mut filters = Vec::new();
        while reader.at < entries.len() {
            if reader.header()?.r#type == k::GLOBAL_DESIGNATOR {
                reader.at += 1;
            } else {
                filters.push(reader.filter(1)?);
            }
        }
        let mut filter = match (filters.len(), filters.pop()) {
            (1, Some(filter)) => filter,
            (_, last) => {
                filters.extend(last);
                Filter::Disjunction(filters)
            }
        };
        let timeouts = filter.number().timeouts as usize;
        if timeouts > bounds.timeouts {
            return Err(reader.bad(format!("there are more than {} time-outs", bounds.timeouts)));
        }
        Ok(filter)
    }

    /// The subscription of which this is the tree, in the prefix form.
    #[must_use]
    pub fn entries(&self) -> Vec<Dependency> {
        let mut entries = Vec::new();
        self.write(&mut entries);
        entries
    }

    fn write(&self, entries: &mut Vec<Dependency>) {
        // A count of 0 is none.
        match self {
            Filter::LogicalAnd(children) if children.is_empty() => {
                return Filter::Null.write(entries);
            }
            Filter::Disjunction(_) | Filter::Conjunction(_) | Filter::Sequence(_)
                if self.children().is_empty() =>
            {
                return Filter::Negation(Box::new(Filter::Null)).write(entries);
            }
            _ => {}
        }
        let signed = u32::cast_signed;
        let mut put = |source: i32, kind: i32| entries.push(entry(source, kind, 0));
        let count = i32::try_from(self.children().len()).unwrap_or(i32::MAX);
        match self {
            Filter::Null => put(0, k::NULL_DESIGNATOR),
            Filter::Type { source, kind } => put(*source, *kind),
            Filter::MaskedType { source_mask, kind_mask, source, kind } => {
                put(0, k::MASKED_TYPE_DESIGNATOR);
                put(signed(*source_mask), signed(*kind_mask));
                put(signed(*source), signed(*kind));
            }
            Filter::Bitmask { source_mask, kind_mask, .. } => {
                put(0, k::BITMASK_DESIGNATOR);
                put(signed(*source_mask), signed(*kind_mask));
            }
            Filter::Negation(_) => put(0, k::NEGATION_DESIGNATOR),
            Filter::LogicalAnd(_) => put(count, k::LOGICAL_AND_DESIGNATOR),
            Filter::Disjunction(_) => put(count, k::DISJUNCTION_DESIGNATOR),
            Filter::Conjunction(_) => put(count, k::CONJUNCTION_DESIGNATOR),
            Filter::Sequence(_) => put(count, k::SEQUENCE_DESIGNATOR),
            Filter::Timeout(timeout) => {
                let kind = match timeout.moment {
                    Moment::Once => k::EVENT_TIMEOUT,
                    Moment::Interval => k::EVENT_INTERVAL_TIMEOUT,
                    Moment::Deadline => k::EVENT_DEADLINE_TIMEOUT,
                };
                entries.push(entry(0, kind, timeout.after));
            }
        }
        self.children().iter().for_each(|child| child.write(entries));
    }
}

fn entry(source: i32, kind: i32, creation_time: u64) -> Dependency {
    let mut entry = Dependency::default();
    let header = &mut entry.event.header;
    (header.source, header.r#type, header.creation_time) = (source, kind, creation_time);
    entry
}

impl Reader<'_> {
    fn bad(&self, why: String) -> BadSubscription {
        BadSubscription { entry: self.at, why }
    }

    fn header(&self) -> Result<&EventHeader, BadSubscription> {
        let here = self.entries.get(self.at).map(|entry| &entry.event.header);
        here.ok_or_else(|| self.bad("a designator before it needs one more".to_owned()))
    }

    /// The numbers of the next entry: source and type.
    fn take(&mut self) -> Result<(i32, i32), BadSubscription> {
        let header = self.header()?;
        let numbers = (header.source, header.r#type);
        self.at += 1;
        Ok(numbers)
    }

    /// The filter that begins here.
    fn filter(&mut self, depth: usize) -> Result<Filter, BadSubscription> {
        if depth > self.bounds.depth {
            return Err(self.bad(format!("filters are nested more than {}", self.bounds.depth)));
        }
        let after = self.header()?.creation_time;
        let (source, kind) = self.take()?;
        Ok(match kind {
            k::CONJUNCTION_DESIGNATOR => Filter::Conjunction(Group::of(self.group(source, depth)?)),
            k::SEQUENCE_DESIGNATOR => Filter::Sequence(Group::of(self.group(source, depth)?)),
            k::DISJUNCTION_DESIGNATOR => Filter::Disjunction(self.group(source, depth)?),
            k::LOGICAL_AND_DESIGNATOR => Filter::LogicalAnd(self.group(source, depth)?),
            k::NEGATION_DESIGNATOR => Filter::Negation(Box::new(self.filter(depth + 1)?)),
            k::BITMASK_DESIGNATOR => {
                let (source, kind) = self.take()?;
                let child = Box::new(self.filter(depth + 1)?);
                Filter::Bitmask { source_mask: bits(source), kind_mask: bits(kind), child }
            }
            k::MASKED_TYPE_DESIGNATOR => {
                let (source_mask, kind_mask) = self.take()?;
                let (source, kind) = self.take()?;
                Filter::MaskedType {
                    source_mask: bits(source_mask),
                    kind_mask: bits(kind_mask),
                    source: bits(source),
                    kind: bits(kind),
                }
            }
            k::NULL_DESIGNATOR => Filter::Null,
            k::EVENT_TIMEOUT => self.timeout(Moment::Once, after)?,
            k::EVENT_INTERVAL_TIMEOUT => self.timeout(Moment::Interval, after)?,
            k::EVENT_DEADLINE_TIMEOUT => self.timeout(Moment::Deadline, after)?,
            _ => Filter::Type { source, kind },
        })
    }

    fn timeout(&self, moment: Moment, after: u64) -> Result<Filter, BadSubscription> {
        let shortest = self.bounds.shortest_timeout;
        if after < shortest {
            let why = format!("a time-out of {after}00 ns is below the least of {shortest}00 ns");
            return Err(BadSubscription { entry: self.at - 1, why });
        }
        Ok(Filter::Timeout(Timeout { moment, after, number: 0 }))
    }

    /// The filters of a group whose designator had this source.
    fn group(&mut self, count: i32, depth: usize) -> Result<Vec<Filter>, BadSubscription> {
        let is_counted = match self.form {
            Form::Either => count > 0,
            Form::Basic => false,
            Form::Prefix => true,
        };
        let mut filters = Vec::new();
        if is_counted {
            for _ in 0..count.max(0) {
                filters.push(self.filter(depth + 1)?);
            }
            return Ok(filters);
        }
        while let Ok(header) = self.header()
            && !begins_group(header.r#type)
        {
            filters.push(self.filter(depth + 1)?);
        }
        Ok(filters)
    }
}

fn begins_group(kind: i32) -> bool {
    matches!(
        kind,
        k::CONJUNCTION_DESIGNATOR
            | k::SEQUENCE_DESIGNATOR
            | k::DISJUNCTION_DESIGNATOR
            | k::LOGICAL_AND_DESIGNATOR
            | k::GLOBAL_DESIGNATOR
    )
}
