//! `equal` and `equivalent` (CORBA 3.3 P1 §14.8.1), and TypeCodes as text for people.
//!
//! Recursive types are compared by assuming that a pair already being compared is alike.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::shape::{Body, Named, Shape};
use super::{Repr, TcKind, TypeCode};

impl PartialEq for TypeCode {
    /// CORBA's `equal`: the same kinds, ids, names and parameters; aliases count.
    fn eq(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        Comparison { exact: true, assumed: HashSet::new() }.alike(self, other)
    }
}

impl TypeCode {
    /// CORBA's `equivalent`: aliases are looked through; types with repository ids are
    /// equivalent when the ids are the same; without, when they have the same structure.
    #[must_use]
    pub fn equivalent(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        Comparison { exact: false, assumed: HashSet::new() }.alike(self, other)
    }
}

impl TypeCode {
    /// Whether it is surely the same: one look, in the usual case.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Basic(a), Repr::Basic(b)) => a == b,
            (Repr::Shared(a, _), Repr::Shared(b, _)) => Arc::ptr_eq(a, b) && a.free.is_empty(),
            _ => false,
        }
    }
}

struct Comparison {
    exact: bool,
    /// Pairs of nodes taken as alike: being compared, or compared. One pair that is not makes
    /// the whole comparison fail, so they need not be taken back.
    assumed: HashSet<(*const Shape, *const Shape)>,
}

impl Comparison {
    fn alike(&mut self, a: &TypeCode, b: &TypeCode) -> bool {
        let look = |t: &TypeCode| if self.exact { t.resolved() } else { t.unaliased() };
        match (look(a), look(b)) {
            (Some(a), Some(b)) => self.definitions_alike(&a, &b),
            // Incomplete ones are alike when they are the same placeholder.
            (None, None) => match (&a.0, &b.0) {
                (Repr::Recursive(a, _), Repr::Recursive(b, _)) => a == b,
                _ => false,
            },
            _ => false,
        }
    }

    fn definitions_alike(&mut self, a: &TypeCode, b: &TypeCode) -> bool {
        let (x, y) = match (&a.0, &b.0) {
            (Repr::Basic(a), Repr::Basic(b)) => return a == b,
            (Repr::Shared(x, _), Repr::Shared(y, _)) => (x, y),
            _ => return false,
        };
        if x.kind != y.kind {
            return false;
        }
        if Arc::ptr_eq(x, y) && x.free.is_empty() {
            return true;
        }
        if !self.exact
            && let (Some(x), Some(y)) = (x.body.name(), y.body.name())
            && !x.id.is_empty()
            && !y.id.is_empty()
        {
            return x.id == y.id;
        }
        let pair = (Arc::as_ptr(x), Arc::as_ptr(y));
        !self.assumed.insert(pair) || self.bodies_alike((a, &x.body), (b, &y.body))
    }

    fn named_alike(&self, x: &Named, y: &Named) -> bool {
        !self.exact || (x.id == y.id && x.name == y.name)
    }

    fn texts_alike(&self, x: &str, y: &str) -> bool {
        !self.exact || x == y
    }

    fn bodies_alike(&mut self, (a, x): (&TypeCode, &Body), (b, y): (&TypeCode, &Body)) -> bool {
        match (x, y) {
            (Body::Bounded { bound: x }, Body::Bounded { bound: y }) => x == y,
            (Body::Fixed { digits, scale }, Body::Fixed { digits: d, scale: s }) => {
                (digits, scale) == (d, s)
            }
            (
                Body::Repeated { element: x, length },
                Body::Repeated { element: y, length: other },
            ) => length == other && self.alike(&a.part(x), &b.part(y)),
            (Body::Named { name: x }, Body::Named { name: y }) => self.named_alike(x, y),
            (Body::Wrapped { name: x, content: c }, Body::Wrapped { name: y, content: d }) => {
                self.named_alike(x, y) && self.alike(&a.part(c), &b.part(d))
            }
            (Body::Enum { name: x, enumerators: e }, Body::Enum { name: y, enumerators: f }) => {
                self.named_alike(x, y)
                    && e.len() == f.len()
                    && e.iter().zip(f).all(|(e, f)| self.texts_alike(e, f))
            }
            (Body::Members { name: x, members: m }, Body::Members { name: y, members: n }) => {
                self.named_alike(x, y)
                    && m.len() == n.len()
                    && m.iter().zip(n).all(|((m, c), (n, d))| {
                        self.texts_alike(m, n) && self.alike(&a.part(c), &b.part(d))
                    })
            }
            (Body::Union { .. }, Body::Union { .. }) => self.unions_alike((a, x), (b, y)),
            (Body::Value { .. }, Body::Value { .. }) => self.values_alike((a, x), (b, y)),
            _ => false,
        }
    }

    fn unions_alike(&mut self, (a, x): (&TypeCode, &Body), (b, y): (&TypeCode, &Body)) -> bool {
        let (
            Body::Union { name: x, discriminator: c, cases: m },
            Body::Union { name: y, discriminator: d, cases: n },
        ) = (x, y)
        else {
            return false;
        };
        self.named_alike(x, y)
            && m.len() == n.len()
            && self.alike(&a.part(c), &b.part(d))
            && m.iter().zip(n.iter()).all(|(m, n)| {
                m.label == n.label
                    && self.texts_alike(&m.name, &n.name)
                    && self.alike(&a.part(&m.type_code), &b.part(&n.type_code))
            })
    }

    fn values_alike(&mut self, (a, x): (&TypeCode, &Body), (b, y): (&TypeCode, &Body)) -> bool {
        let (
            Body::Value { name: x, modifier: c, base: d, members: m },
            Body::Value { name: y, modifier: e, base: f, members: n },
        ) = (x, y)
        else {
            return false;
        };
        self.named_alike(x, y)
            && c == e
            && m.len() == n.len()
            && self.alike(&a.part(d), &b.part(f))
            && m.iter().zip(n.iter()).all(|(m, n)| {
                m.visibility == n.visibility
                    && self.texts_alike(&m.name, &n.name)
                    && self.alike(&a.part(&m.type_code), &b.part(&n.type_code))
            })
    }
}

impl fmt::Display for TypeCode {
    /// As IDL would write it where the type is used: `sequence<Stock::Quote, 8>`, with the
    /// repository id standing for user-defined types.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, of) = match &self.0 {
            Repr::Basic(kind) => return f.write_str(basic_name(*kind)),
            Repr::Recursive(key, _) => return write!(f, "{key}"),
            Repr::Shared(shape, _) => (shape, self),
        };
        let text = if shape.kind == TcKind::WString { "wstring" } else { "string" };
        match &shape.body {
            Body::Bounded { bound: 0 } => f.write_str(text),
            Body::Bounded { bound } => write!(f, "{text}<{bound}>"),
            Body::Fixed { digits, scale } => write!(f, "fixed<{digits}, {scale}>"),
            Body::Repeated { element, length } => match (shape.kind, length) {
                (TcKind::Array, _) => write!(f, "{}[{length}]", of.part(element)),
                (_, 0) => write!(f, "sequence<{}>", of.part(element)),
                _ => write!(f, "sequence<{}, {length}>", of.part(element)),
            },
            body => {
                let (id, name) = body.name().map_or(("", ""), |name| (&name.id, &name.name));
                let kind = shape.kind.name().trim_start_matches("tk_");
                match (id, name) {
                    ("", "") => write!(f, "{kind}"),
                    ("", name) => write!(f, "{kind} {name}"),
                    (id, _) => write!(f, "{kind} {id}"),
                }
            }
        }
    }
}

fn basic_name(kind: TcKind) -> &'static str {
    match kind.primitive() {
        Some(primitive) => primitive.idl,
        None => kind.name().trim_start_matches("tk_"),
    }
}

impl fmt::Debug for TypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeCode({self})")
    }
}
