//! Whether a consumer can be interested in what a supplier publishes (paper RTEC §4.2). Asked by
//! `routes` when clients connect, and where observers are told what is wanted.

use super::{Filter, bits, is_like};
use crate::kinds::{EVENT_ANY, EVENT_SOURCE_ANY};

/// A kind of events that a supplier pushes; 0 stands for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Publication {
    /// The source.
    pub source: i32,
    /// The type.
    pub kind: i32,
}

impl Publication {
    /// Anything at all.
    pub const ANYTHING: Publication = Publication { source: EVENT_SOURCE_ANY, kind: EVENT_ANY };
}

/// What a filter may do with the events of a publication.
#[derive(Clone, Copy)]
struct May {
    accept: bool,
    refuse: bool,
}

impl Filter {
    /// Whether the tree may accept an event of this publication. When it says no, no such event
    /// would be accepted; when it says yes, there may be none.
    #[must_use]
    pub fn may_accept(&self, publication: Publication) -> bool {
        self.may(publication).accept
    }

    fn may(&self, publication: Publication) -> May {
        let Publication { source, kind } = publication;
        let any = |children: &[Filter]| any(children.iter().map(|c| c.may(publication)));
        match self {
            Filter::Null => May { accept: true, refuse: false },
            Filter::Type { source: asked_source, kind: asked_kind } => May {
                accept: is_like(*asked_source, source, EVENT_SOURCE_ANY)
                    && is_like(*asked_kind, kind, EVENT_ANY),
                refuse: may_differ(*asked_source, source) || may_differ(*asked_kind, kind),
            },
            Filter::MaskedType { source_mask, kind_mask, source: left_source, kind: left_kind } => {
                let source = masked(source, *source_mask, |left| left == *left_source);
                let kind = masked(kind, *kind_mask, |left| left == *left_kind);
                both(source, kind)
            }
            Filter::Bitmask { source_mask, kind_mask, child } => {
                let source = masked(source, *source_mask, |left| left != 0);
                let kind = masked(kind, *kind_mask, |left| left != 0);
                both(both(source, kind), child.may(publication))
            }
            Filter::Negation(child) => {
                let May { accept, refuse } = child.may(publication);
                May { accept: refuse, refuse: accept }
            }
            Filter::LogicalAnd(children) => {
                let all = May { accept: true, refuse: false };
                children.iter().fold(all, |so_far, child| both(so_far, child.may(publication)))
            }
            Filter::Disjunction(children) => any(children),
            Filter::Conjunction(group) => any(&group.children),
            // It refuses what is not next.
            Filter::Sequence(group) => May { refuse: true, ..any(&group.children) },
            Filter::Timeout(_) => May { accept: false, refuse: true },
        }
    }
}

fn any(children: impl Iterator<Item = May>) -> May {
    let none = May { accept: false, refuse: true };
    children.fold(none, |so_far, may| May {
        accept: so_far.accept || may.accept,
        refuse: so_far.refuse && may.refuse,
    })
}

fn both(one: May, two: May) -> May {
    May { accept: one.accept && two.accept, refuse: one.refuse || two.refuse }
}

/// Whether a published number may be another one than what is asked for.
fn may_differ(asked: i32, published: i32) -> bool {
    asked != EVENT_ANY && (published == EVENT_ANY || published != asked)
}

/// What a test of the bits behind a mask may say of a published number.
fn masked(published: i32, mask: u32, accepts: impl Fn(u32) -> bool) -> May {
    if published == EVENT_ANY {
        return May { accept: true, refuse: true };
    }
    let accept = accepts(bits(published) & mask);
    May { accept, refuse: !accept }
}

impl Filter {
    /// Adds the kinds of events that the tree has to be shown for its answers.
    pub fn wants(&self, wanted: &mut std::collections::BTreeSet<Publication>) {
        match self {
            Filter::Type { source, kind } => {
                wanted.insert(Publication { source: *source, kind: *kind });
            }
            // Which numbers these are cannot be said by a list.
            Filter::Null | Filter::MaskedType { .. } | Filter::Negation(_) => {
                wanted.insert(Publication::ANYTHING);
            }
            Filter::Timeout(_) => {}
            _ => self.children().iter().for_each(|child| child.wants(wanted)),
        }
    }
}
