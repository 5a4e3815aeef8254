//! A naming context with everything below it: for `corbie naming tree` and for watching.
//!
//! Contexts may lead back to themselves and over to other servers, so the walk is bounded in depth
//! and in size, and a context that is among its own ancestors is named and not entered.

use super::{Entry, Naming, NamingError};
use crate::cos_naming::NamingContext;
use crate::cos_naming::naming_context::NotFoundReason;
use crate::store::Kind;
use corbie::Object;

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Contexts within contexts.
    pub depth: usize,
    /// Bindings in all.
    pub bindings: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 32, bindings: 100_000 }
    }
}

/// A binding with what is below it.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name within its context, as text; that of the root is empty.
    pub name: String,
    /// Whether it is a context.
    pub kind: Kind,
    /// What it leads to, where that could be found out.
    pub object: Option<Object>,
    /// Why there is nothing below it, though it is a context.
    pub note: Option<String>,
    /// Whether it could be looked at. A context that did not answer may have anything below it.
    pub is_seen: bool,
    /// The bindings of the context.
    pub children: Vec<Node>,
}

impl Naming {
    /// This context and all below it. What cannot be entered has a note and is no error.
    ///
    /// # Errors
    /// When this context itself cannot be listed.
    pub fn tree(&self, bounds: Bounds) -> Result<Node, NamingError> {
        let object = self.as_context().as_object().clone();
        let mut walk = Walk { left: bounds.bindings, depth: bounds.depth, above: vec![object] };
        let (children, note) = walk.below(self)?;
        let object = walk.above.pop();
        let (name, kind) = (String::new(), Kind::Context);
        Ok(Node { name, kind, object, note, is_seen: true, children })
    }
}

struct Walk {
    left: usize,
    depth: usize,
    /// The contexts that are being walked through.
    above: Vec<Object>,
}

/// Why a context was not entered.
struct Closed {
    why: String,
    /// Whether it was left out; else it did not answer.
    is_on_purpose: bool,
}

impl Walk {
    fn below(&mut self, context: &Naming) -> Result<(Vec<Node>, Option<String>), NamingError> {
        let entries = context.list_at_most("", self.left.saturating_add(1))?;
        let is_cut = entries.len() > self.left;
        let entries: Vec<Entry> = entries.into_iter().take(self.left).collect();
        self.left -= entries.len();
        let children = entries.into_iter().filter_map(|entry| self.node(context, entry)).collect();
        Ok((children, is_cut.then(|| "more than can be shown".to_owned())))
    }

    /// `None` for a name that was unbound since it was listed.
    fn node(&mut self, context: &Naming, Entry { name, kind }: Entry) -> Option<Node> {
        let mut node =
            Node { name, kind, object: None, note: None, is_seen: true, children: Vec::new() };
        match context.resolve_object(&node.name) {
            Ok(object) => node.object = Some(object),
            Err(NamingError::NotFound { why: NotFoundReason::MissingNode, .. }) => return None,
            Err(error) => {
                node.is_seen = matches!(error, NamingError::Nil { .. });
                node.note = Some(error.to_string());
            }
        }
        if let (Kind::Context, Some(object)) = (kind, node.object.clone()) {
            match self.enter(object) {
                Ok((children, note)) => (node.children, node.note) = (children, note),
                Err(closed) => (node.note, node.is_seen) = (Some(closed.why), closed.is_on_purpose),
            }
        }
        Some(node)
    }

    fn enter(&mut self, object: Object) -> Result<(Vec<Node>, Option<String>), Closed> {
        let on_purpose = |why: String| Err(Closed { why, is_on_purpose: true });
        if self.above.contains(&object) {
            return on_purpose("leads back to a context above".to_owned());
        }
        if self.above.len() >= self.depth {
            return on_purpose(format!("deeper than {}", self.depth));
        }
        let context = Naming::from(NamingContext::unchecked_narrow(object.clone()));
        self.above.push(object);
        let below = self.below(&context).map_err(|error| {
            let why = match error {
                NamingError::System { exception, .. } => format!("cannot be listed: {exception}"),
                other => other.to_string(),
            };
            Closed { why, is_on_purpose: false }
        });
        self.above.pop();
        below
    }
}
