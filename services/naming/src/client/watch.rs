//! What changes in a naming context and below: found by looking again, since CosNaming tells nobody
//! of changes. So it works with every server.
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
    seen: BTreeMap<String, (Kind, Option<String>)>,
}

impl Watch {
    /// Begins with what is there now.
    ///
    /// # Errors
    /// As [`Naming::tree`].
    pub fn begin(naming: &Naming, bounds: Bounds) -> Result<Self, NamingError> {
        let seen = look(naming, bounds)?;
        Ok(Self { naming: naming.clone(), bounds, seen })
    }

    /// What is different from the last time, by name.
    ///
    /// # Errors
    /// As [`Naming::tree`]; what was seen before stays.
    pub fn changes(&mut self) -> Result<Vec<Change>, NamingError> {
        let now = look(&self.naming, self.bounds)?;
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

fn look(
    naming: &Naming,
    bounds: Bounds,
) -> Result<BTreeMap<String, (Kind, Option<String>)>, NamingError> {
    let mut seen = BTreeMap::new();
    note(&naming.tree(bounds)?, "", &mut seen);
    Ok(seen)
}

fn note(node: &Node, path: &str, seen: &mut BTreeMap<String, (Kind, Option<String>)>) {
    for child in &node.children {
        let separator = if path.is_empty() { "" } else { "/" };
        let name = format!("{path}{separator}{}", child.name);
        let reference = child.object.as_ref().map(ToString::to_string);
        note(child, &name, seen);
        seen.insert(name, (child.kind, reference));
    }
}
