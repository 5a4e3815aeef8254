//! TypeCode (CORBA 3.3 P1 §14.8): a type described at run time. Built by generated code and by
//! `corbie call`, carried by [`Any`](crate::Any), walked by [`Value`](crate::Value).
//!
//! A TypeCode is a tree of shared, immutable nodes. A recursive type holds a *placeholder* that
//! names the enclosing definition, so there are no cycles and nothing leaks. A part taken out of
//! a recursive type remembers its enclosing definitions (its scope) and resolves through them.

mod access;
mod build;
mod check;
mod equality;
mod kind;
mod label;
mod memo;
mod octets;
mod shape;
mod wire;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use access::MOST_BASES;
pub use access::{Member, UnionMember, ValueMember};
pub use kind::{TcKind, ValueModifier, Visibility};
pub(crate) use label::{Ordinal, read_label, write_label};
pub(crate) use octets::write as write_octets_type;
pub(crate) use shape::{Alignment, HOLDS};
use shape::{Body, Shape};

/// A type, described at run time. Cheap to clone.
///
/// `==` is CORBA's `equal`; see also [`TypeCode::equivalent`].
///
/// ```
/// use corbie_types::{TcKind, TypeCode};
/// let id = "IDL:Tree:1.0";
/// let children = TypeCode::sequence(TypeCode::recursive(id), 0);
/// let members = [("label", TypeCode::string(0)), ("children", children)];
/// let tree = TypeCode::structure(id, "Tree", &members);
/// let inner = tree.members()[1].type_code.content_type().expect("an element");
/// assert_eq!(inner.kind(), TcKind::Struct);
/// assert_eq!(inner, tree);
/// ```
#[derive(Clone)]
pub struct TypeCode(Repr);

#[derive(Clone)]
enum Repr {
    /// A kind without parameters.
    Basic(TcKind),
    /// A kind with parameters.
    Shared(Arc<Shape>, Option<Arc<Scope>>),
    /// The enclosing definition with this key.
    Recursive(Arc<str>, Option<Arc<Scope>>),
}

/// The definitions that enclose a part taken out of a recursive type, innermost first.
struct Scope {
    definition: Arc<Shape>,
    outer: Option<Arc<Scope>>,
}

impl TypeCode {
    /// A part of `self`, with `self` as its innermost enclosing definition when it needs one.
    fn part(&self, part: &Self) -> Self {
        let Repr::Shared(shape, outer) = &self.0 else {
            return part.clone();
        };
        let scope = || match shape.key() {
            None => outer.clone(),
            Some(_) => {
                let (definition, outer) = (shape.clone(), outer.clone());
                Some(Arc::new(Scope { definition, outer }))
            }
        };
        match &part.0 {
            Repr::Shared(inner, None) if !inner.free.is_empty() => {
                Self(Repr::Shared(inner.clone(), scope()))
            }
            Repr::Recursive(key, None) => Self(Repr::Recursive(key.clone(), scope())),
            _ => part.clone(),
        }
    }

    /// The definition that a placeholder stands for; itself when it is none; `None` when the
    /// definition is not there: the TypeCode is incomplete.
    #[must_use]
    pub fn resolved(&self) -> Option<Self> {
        let Repr::Recursive(key, scope) = &self.0 else {
            return Some(self.clone());
        };
        let mut scope = scope.as_ref();
        while let Some(here) = scope {
            if here.definition.key() == Some(key) {
                return Some(Self(Repr::Shared(here.definition.clone(), here.outer.clone())));
            }
            scope = here.outer.as_ref();
        }
        None
    }

    /// Whether it is `sequence<octet>`, without a bound or a name.
    pub(crate) fn is_octets(&self) -> bool {
        let Repr::Shared(shape, _) = &self.0 else { return false };
        match &shape.body {
            Body::Repeated { element: Self(Repr::Basic(TcKind::Octet)), length: 0 } => {
                shape.kind == TcKind::Sequence
            }
            _ => false,
        }
    }

    /// As [`TypeCode::resolved`], without a copy where it is no placeholder.
    pub(crate) fn into_resolved(self) -> Result<Self, Self> {
        match &self.0 {
            Repr::Recursive(..) => self.resolved().ok_or(self),
            Repr::Basic(_) | Repr::Shared(..) => Ok(self),
        }
    }

    /// It without `typedef`s and placeholders; `None` when it is incomplete.
    #[must_use]
    pub fn unaliased(&self) -> Option<Self> {
        let mut current = self.resolved()?;
        while current.kind() == TcKind::Alias {
            current = current.content_type()?.resolved()?;
        }
        Some(current)
    }

    /// As [`TypeCode::unaliased`], without a copy where there is nothing to look through.
    pub(crate) fn plain(&self) -> Option<Cow<'_, Self>> {
        let is_plain = match &self.0 {
            Repr::Basic(_) => true,
            Repr::Shared(shape, _) => shape.kind != TcKind::Alias,
            Repr::Recursive(..) => false,
        };
        if is_plain { Some(Cow::Borrowed(self)) } else { self.unaliased().map(Cow::Owned) }
    }

    /// Whether every placeholder in it can be resolved.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.0 {
            Repr::Basic(_) => true,
            Repr::Recursive(..) => self.resolved().is_some(),
            Repr::Shared(shape, scope) => shape.free.iter().all(|key| {
                let placeholder = Self(Repr::Recursive(key.clone(), scope.clone()));
                placeholder.resolved().is_some()
            }),
        }
    }

    fn body(&self) -> Option<&Body> {
        match &self.0 {
            Repr::Shared(shape, _) => Some(&shape.body),
            Repr::Basic(_) | Repr::Recursive(..) => None,
        }
    }

    /// Octets of the smallest encoding of a value, padding not counted.
    #[must_use]
    pub(crate) fn min_octets(&self) -> usize {
        match &self.0 {
            Repr::Basic(kind) => kind.min_octets(),
            Repr::Shared(shape, _) => shape.min_octets,
            Repr::Recursive(..) => self.resolved().map_or(0, |definition| match definition.0 {
                Repr::Shared(shape, _) => shape.min_octets,
                Repr::Basic(_) | Repr::Recursive(..) => 0,
            }),
        }
    }

    /// What its values can contain, as bits of [`HOLDS`].
    pub(crate) fn holds(&self) -> u8 {
        match self.is_part() {
            true => HOLDS::ALL, // what the enclosing definition has, too
            false => self.own_holds(),
        }
    }

    /// [`TypeCode::holds`] without what placeholders stand for.
    fn own_holds(&self) -> u8 {
        match &self.0 {
            Repr::Basic(kind) => shape::held_by(*kind),
            Repr::Shared(shape, _) => shape.holds,
            Repr::Recursive(..) => 0,
        }
    }

    /// Whether it contains placeholders for definitions around it.
    fn is_part(&self) -> bool {
        match &self.0 {
            Repr::Basic(_) => false,
            Repr::Shared(shape, _) => !shape.free.is_empty(),
            Repr::Recursive(..) => true,
        }
    }

    /// How its values lie in a message.
    pub(crate) fn alignment(&self) -> Alignment {
        match &self.0 {
            Repr::Basic(kind) => shape::alignment_of(*kind),
            Repr::Shared(shape, _) => shape.alignment,
            Repr::Recursive(..) => Alignment::ANY,
        }
    }

    /// Nodes of the tree, shared ones counted as often as they occur.
    fn weight(&self) -> u32 {
        match &self.0 {
            Repr::Shared(shape, _) => shape.weight,
            Repr::Basic(_) | Repr::Recursive(..) => 1,
        }
    }

    fn free(&self) -> &[Arc<str>] {
        match &self.0 {
            Repr::Shared(shape, None) => &shape.free,
            Repr::Recursive(key, None) => std::slice::from_ref(key),
            // With a scope it resolves by itself.
            _ => &[],
        }
    }
}

impl Default for TypeCode {
    /// `tk_null`.
    fn default() -> Self {
        Self::NULL
    }
}
