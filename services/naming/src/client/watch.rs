//! What changes in a naming context and below: found by looking again, since CosNaming tells no
//! client of changes. So it works with every server. Below a context that does not answer all is
//! taken to be as it was, until it answers again.
//!
//! `corbie naming watch` looks as often as it is told.

use super::{Bounds, Naming, NamingError, Node};
use crate::store::Kind;
use std::collections::BTreeMap;

/// A change between two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A name that was not there before.
    Bound {
        /// The name from the context that is watched.
        name: String,
        /// Whether it is a context.
        kind: Kind,
        /// The reference, where it could be found out.
        reference: Option<String>,
    },
    /// A name that leads elsewhere than before.
    Rebound {
        /// The name.
        name: String,
        /// Whether it is a context.
        kind: Kind,
        /// The reference, where it could be found out.
        reference: Option<String>,
    },
    /// A name that is gone.
    Unbound {
        /// The name.
        name: String,
    },
}

/// A naming context that is looked at again and again.
#[derive(Debug)]
pub struct Watch {
    naming: Naming,
    bounds: Bounds,
    seen: Seen,
}

/// Names, and what they lead to.
type Seen = BTreeMap<String, (Kind, Option<String>)>;

impl Watch {
    /// Begins with what is there now.
    ///
    /// # Errors
    /// As [`Naming::tree`].
    pub fn begin(naming: &Naming, bounds: Bounds) -> Result<Self, NamingError> {
        let seen = look(naming, bounds, &Seen::new())?;
        Ok(Self { naming: naming.clone(), bounds, seen })
    }

    /// What is different from the last time, by name.
    ///
    /// # Errors
    /// As [`Naming::tree`]; what was seen before stays.
    pub fn changes(&mut self) -> Result<Vec<Change>, NamingError> {
        let now = look(&self.naming, self.bounds, &self.seen)?;
        let before = std::mem::replace(&mut self.seen, now);
        let gone = before.keys().filter(|name| !self.seen.contains_key(*name));
        let mut changes: Vec<Change> =
            gone.map(|name| Change::Unbound { name: name.clone() }).collect();
        for (name, (kind, reference)) in &self.seen {
            let (name, kind, reference) = (name.clone(), *kind, reference.clone());
            match before.get(&name) {
                None => changes.push(Change::Bound { name, kind, reference }),
                Some(old) if *old != (kind, reference.clone()) => {
                    changes.push(Change::Rebound { name, kind, reference });
                }
                Some(_) => {}
            }
        }
        Ok(changes)
    }
}

/// What is there now; where that could not be seen, what was there before.
fn look(naming: &Naming, bounds: Bounds, before: &Seen) -> Result<Seen, NamingError> {
    let mut seen = Seen::new();
    note(&naming.tree(bounds)?, "", before, &mut seen);
    Ok(seen)
}

fn note(node: &Node, path: &str, before: &Seen, seen: &mut Seen) {
    for child in &node.children {
        let separator = if path.is_empty() { "" } else { "/" };
        let name = format!("{path}{separator}{}", child.name);
        let reference = child.object.as_ref().map(ToString::to_string);
        note(child, &name, before, seen);
        let mut found = (child.kind, reference);
        if !child.is_seen && child.kind == Kind::Context {
            let below = format!("{name}/");
            let known = before.range(below.clone()..);
            let known = known.take_while(|(name, _)| name.starts_with(&below));
            seen.extend(known.map(|(name, what)| (name.clone(), what.clone())));
        }
        if !child.is_seen
            && child.object.is_none()
            && let Some(known) = before.get(&name).filter(|known| known.0 == child.kind)
        {
            found = known.clone();
        }
        seen.insert(name, found);
    }
}
