//! Which events a consumer gets: a tree of filters (paper RTEC §4.1).
//!
//! No input, output or clock is here. `form` makes a tree of a subscription and the other way
//! round; `consumer` asks it for every event. A [`Filter`] itself never changes: what groups have
//! received so far is in a [`Progress`], which only those consumers have that need one.

mod build;
mod form;
mod progress;
mod publication;
#[cfg(test)]
mod tests;

pub use build::{any_event, event, from_source, masked};
pub use form::{BadSubscription, Bounds, Form};
pub use progress::Progress;
pub use publication::Publication;

use crate::kinds::{EVENT_ANY, EVENT_SOURCE_ANY};
use crate::rtec_event_comm::EventHeader;
use progress::Groups;

/// A time, or a span of time, in units of 100 nanoseconds.
pub type TimeT = u64;

/// A tree of filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Accepts every event.
    Null,
    /// Accepts events of this source and type; 0 stands for any, here and in the event.
    Type {
        /// The source.
        source: i32,
        /// The type.
        kind: i32,
    },
    /// Accepts events of which this is left behind the masks.
    MaskedType {
        /// The bits of the source that count.
        source_mask: u32,
        /// The bits of the type that count.
        kind_mask: u32,
        /// What these bits of the source are to be.
        source: u32,
        /// What these bits of the type are to be.
        kind: u32,
    },
    /// Shows its child those events that have a bit of each mask.
    Bitmask {
        /// The bits of the source.
        source_mask: u32,
        /// The bits of the type.
        kind_mask: u32,
        /// What else is asked.
        child: Box<Filter>,
    },
    /// Accepts what its child refuses.
    Negation(Box<Filter>),
    /// Accepts what each child accepts.
    LogicalAnd(Vec<Filter>),
    /// Accepts what a child accepts; the first one counts.
    Disjunction(Vec<Filter>),
    /// Passes on a set when each child has accepted an event: a correlation. An event is that of
    /// the first child that accepts it, so `Conjunction([A, A])` is never complete.
    Conjunction(Group),
    /// Passes on a set when the children have accepted an event each, in their order.
    Sequence(Group),
    /// Accepts what its timer gives.
    Timeout(Timeout),
}

/// The children of a filter that waits for several events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    children: Vec<Filter>,
    /// Its place in the progress of a tree.
    place: usize,
}

/// When a time-out comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Once, so long after the consumer was connected.
    Once,
    /// Again and again.
    Interval,
    /// When the consumer was given nothing for so long.
    Deadline,
}

/// A time-out within a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When it comes.
    pub moment: Moment,
    /// How long it takes.
    pub after: TimeT,
    /// Its number within the tree: 0 is the first.
    pub number: u32,
}

/// Something that a tree is asked about.
#[derive(Debug)]
pub struct Question<'a, E> {
    /// The header of the event.
    pub header: &'a EventHeader,
    /// What is kept of it, where several are waited for.
    pub event: &'a E,
    /// The number of the time-out from which it comes.
    pub timeout: Option<u32>,
}

/// What a filter says of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<E> {
    /// It is not for this one.
    Refused,
    /// It is for this one, and more is waited for.
    Kept,
    /// It passes.
    Passed,
    /// It passes with others that came before; in the order in which they came.
    PassedWith(Vec<E>),
}

impl<E> Answer<E> {
    fn is_refusal(&self) -> bool {
        matches!(self, Answer::Refused)
    }
}

impl Filter {
    /// The answer of a tree to an event; `progress` is that of this tree. When it is that the event
    /// passes, [`Progress::clear`] has to be called before the next question.
    pub fn answer<E: Clone>(
        &self,
        question: &Question<'_, E>,
        progress: &mut Progress<E>,
    ) -> Answer<E> {
        self.ask(question, progress.groups())
    }

    /// Whether a tree without groups accepts an event: it needs no progress.
    #[must_use]
    pub fn accepts(&self, header: &EventHeader, timeout: Option<u32>) -> bool {
        let question = Question { header, event: &(), timeout };
        !self.ask(&question, &mut Groups::none()).is_refusal()
    }

    fn ask<E: Clone>(&self, question: &Question<'_, E>, groups: &mut Groups<E>) -> Answer<E> {
        let header = question.header;
        let passed_if = |accepts| if accepts { Answer::Passed } else { Answer::Refused };
        match self {
            Filter::Null => Answer::Passed,
            Filter::Type { source, kind } => passed_if(
                is_like(*source, header.source, EVENT_SOURCE_ANY)
                    && is_like(*kind, header.r#type, EVENT_ANY),
            ),
            Filter::MaskedType { source_mask, kind_mask, source, kind } => passed_if(
                bits(header.source) & source_mask == *source
                    && bits(header.r#type) & kind_mask == *kind,
            ),
            Filter::Bitmask { source_mask, kind_mask, child } => {
                if bits(header.source) & source_mask == 0 || bits(header.r#type) & kind_mask == 0 {
                    return Answer::Refused;
                }
                child.ask(question, groups)
            }
            Filter::Negation(child) => passed_if(child.ask(question, groups).is_refusal()),
            Filter::LogicalAnd(children) => {
                passed_if(children.iter().all(|child| !child.ask(question, groups).is_refusal()))
            }
            Filter::Disjunction(children) => {
                let mut answers = children.iter().map(|child| child.ask(question, groups));
                answers.find(|answer| !answer.is_refusal()).unwrap_or(Answer::Refused)
            }
            Filter::Conjunction(group) => group.ask_any(question, groups),
            Filter::Sequence(group) => group.ask_next(question, groups),
            Filter::Timeout(timeout) => passed_if(question.timeout == Some(timeout.number)),
        }
    }

    fn children(&self) -> &[Filter] {
        match self {
            Filter::Null | Filter::Type { .. } | Filter::MaskedType { .. } | Filter::Timeout(_) => {
                &[]
            }
            Filter::Bitmask { child, .. } | Filter::Negation(child) => std::slice::from_ref(child),
            Filter::LogicalAnd(children) | Filter::Disjunction(children) => children,
            Filter::Conjunction(group) | Filter::Sequence(group) => &group.children,
        }
    }

    fn children_mut(&mut self) -> &mut [Filter] {
        match self {
            Filter::Null | Filter::Type { .. } | Filter::MaskedType { .. } | Filter::Timeout(_) => {
                &mut []
            }
            Filter::Bitmask { child, .. } | Filter::Negation(child) => std::slice::from_mut(child),
            Filter::LogicalAnd(children) | Filter::Disjunction(children) => children,
            Filter::Conjunction(group) | Filter::Sequence(group) => &mut group.children,
        }
    }

    /// Gives groups their places and time-outs their numbers; how many of each there are.
    fn number(&mut self) -> Counted {
        let mut counted = Counted::default();
        self.count(&mut counted);
        counted
    }

    fn count(&mut self, counted: &mut Counted) {
        match self {
            Filter::Conjunction(group) | Filter::Sequence(group) => {
                group.place = counted.groups;
                counted.groups += 1;
            }
            Filter::Timeout(timeout) => {
                timeout.number = counted.timeouts;
                counted.timeouts += 1;
            }
            _ => {}
        }
        self.children_mut().iter_mut().for_each(|child| child.count(counted));
    }

    /// All time-outs of the tree.
    #[must_use]
    pub fn timeouts(&self) -> Vec<Timeout> {
        let below = self.children().iter().flat_map(Filter::timeouts);
        match self {
            Filter::Timeout(timeout) => vec![*timeout],
            _ => below.collect(),
        }
    }

    /// Whether a part of it waits for several events.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        matches!(self, Filter::Conjunction(_) | Filter::Sequence(_))
            || self.children().iter().any(Filter::has_groups)
    }
}

/// What a tree has.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    groups: usize,
    timeouts: u32,
}

impl Group {
    fn of(children: Vec<Filter>) -> Self {
        Self { children, place: 0 }
    }

    fn ask_any<E: Clone>(&self, question: &Question<'_, E>, groups: &mut Groups<E>) -> Answer<E> {
        for (at, child) in self.children.iter().enumerate() {
            match child.ask(question, groups) {
                Answer::Refused => {}
                Answer::Kept => return Answer::Kept,
                Answer::Passed => return self.received(at, vec![question.event.clone()], groups),
                Answer::PassedWith(events) => return self.received(at, events, groups),
            }
        }
        Answer::Refused
    }

    fn ask_next<E: Clone>(&self, question: &Question<'_, E>, groups: &mut Groups<E>) -> Answer<E> {
        let at = groups.received(self.place);
        let Some(child) = self.children.get(at) else { return Answer::Refused };
        match child.ask(question, groups) {
            Answer::Passed => self.received(at, vec![question.event.clone()], groups),
            Answer::PassedWith(events) => self.received(at, events, groups),
            other => other,
        }
    }

    /// The child at this place has passed on `events`.
    fn received<E>(&self, at: usize, events: Vec<E>, groups: &mut Groups<E>) -> Answer<E> {
        match groups.receive(self.place, at, self.children.len(), events) {
            Some(all) => Answer::PassedWith(all),
            None => Answer::Kept,
        }
    }
}

/// Whether a number that is asked for and that of an event go together.
fn is_like(asked: i32, given: i32, any: i32) -> bool {
    asked == any || given == any || asked == given
}

fn bits(number: i32) -> u32 {
    number.cast_unsigned()
}
