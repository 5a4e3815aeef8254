//! The nodes of a TypeCode: kind, parameters, and what follows from them (smallest encoding,
//! size, unresolved placeholders), computed once when the node is made.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::{TcKind, TypeCode, ValueModifier, Visibility};

/// Bits of `TypeCode::holds`.
#[allow(non_snake_case)]
pub(crate) mod HOLDS {
    /// `char` or `string` data.
    pub(crate) const CHAR: u8 = 1;
    /// `wchar` or `wstring` data.
    pub(crate) const WIDE: u8 = 2;
    /// Valuetypes, or abstract interfaces.
    pub(crate) const VALUES: u8 = 4;
    /// An `any`, which may hold everything.
    pub(crate) const ANYS: u8 = 8;
    /// All of it.
    pub(crate) const ALL: u8 = 15;
}

pub(super) struct Shape {
    pub(super) kind: TcKind,
    pub(super) body: Body,
    /// Octets of the smallest value, padding not counted.
    pub(super) min_octets: usize,
    /// Nodes, shared ones counted as often as they occur; saturating.
    pub(super) weight: u32,
    /// Keys of placeholders that nothing in here resolves; sorted, each once.
    pub(super) free: Box<[Arc<str>]>,
    /// Bits of `HOLDS`.
    pub(super) holds: u8,
    /// How values lie in a message.
    pub(super) alignment: Alignment,
}

/// How values of a type lie in a message (CORBA 3.3 P2 §9.3.1).
#[derive(Clone, Copy)]
pub(crate) struct Alignment {
    /// Of the first octet that is no padding; 1 when it is not known.
    pub(crate) first: u8,
    /// The largest of anything inside.
    pub(crate) largest: u8,
}

impl Alignment {
    /// Nothing is known.
    pub(super) const ANY: Self = Self { first: 1, largest: 8 };

    const fn all(of: u8) -> Self {
        Self { first: of, largest: of }
    }

    /// Of values that begin with one of these and go on with one of those.
    fn then(self, next: Self) -> Self {
        Self { first: self.first, largest: self.largest.max(next.largest) }
    }
}

/// The parameters, by kind.
pub(super) enum Body {
    /// String, wide string.
    Bounded { bound: u32 },
    /// Fixed.
    Fixed { digits: u16, scale: i16 },
    /// Sequence (bound, 0 for none) and array (length).
    Repeated { element: TypeCode, length: u32 },
    /// Object reference, native, abstract and local interface, component, home.
    Named { name: Named },
    /// Alias, value box.
    Wrapped { name: Named, content: TypeCode },
    /// Enum.
    Enum { name: Named, enumerators: Box<[Box<str>]> },
    /// Struct, exception.
    Members { name: Named, members: Box<[(Box<str>, TypeCode)]> },
    /// Union.
    Union { name: Named, discriminator: TypeCode, cases: Cases },
    /// Value, event.
    Value { name: Named, modifier: ValueModifier, base: TypeCode, members: Box<[Field]> },
}

#[derive(Clone)]
pub(super) struct Named {
    /// Repository id; may be empty.
    pub(super) id: Box<str>,
    /// Simple name; may be empty.
    pub(super) name: Box<str>,
    /// What placeholders call it: the id, or the place where it was read when it has none.
    pub(super) key: Arc<str>,
}

impl Named {
    pub(super) fn new(id: &str, name: &str) -> Self {
        Self { id: id.into(), name: name.into(), key: id.into() }
    }
}

pub(super) struct Case {
    /// `None`: the default case.
    pub(super) label: Option<i128>,
    pub(super) name: Box<str>,
    pub(super) type_code: TypeCode,
}

/// The cases of a union in order, and where each label stands: a value is found in the time of a
/// binary search, whatever a peer says that a union has.
pub(super) struct Cases {
    list: Box<[Case]>,
    /// Positions in `list`, sorted by label; made when a value is looked for in a long list.
    by_label: OnceLock<Box<[u32]>>,
}

impl Cases {
    /// So many cases are looked through one after the other.
    const FEW: usize = 8;

    /// The position of the first case with this label, else of `default`.
    pub(super) fn select(&self, label: i128) -> Option<usize> {
        if self.list.len() <= Self::FEW {
            let labelled = self.list.iter().position(|case| case.label == Some(label));
            return labelled.or_else(|| self.list.iter().position(|case| case.label.is_none()));
        }
        let by_label = self.by_label.get_or_init(|| self.sorted());
        // `default`, as `None`, stands before all labels.
        let of = |label| {
            let first = by_label.partition_point(|at| self.label_at(*at) < label);
            by_label.get(first).copied().filter(|at| self.label_at(*at) == label)
        };
        of(Some(label)).or_else(|| of(None)).map(|at| at as usize)
    }

    /// All positions, sorted by label; of those with the same label the first comes first.
    fn sorted(&self) -> Box<[u32]> {
        let mut positions: Box<[u32]> = (0u32..).take(self.list.len()).collect();
        positions.sort_by_key(|at| self.label_at(*at));
        positions
    }

    fn label_at(&self, position: u32) -> Option<i128> {
        self.list.get(position as usize).and_then(|case| case.label)
    }
}

impl Deref for Cases {
    type Target = [Case];

    fn deref(&self) -> &[Case] {
        &self.list
    }
}

impl FromIterator<Case> for Cases {
    fn from_iter<I: IntoIterator<Item = Case>>(cases: I) -> Self {
        Self { list: cases.into_iter().collect(), by_label: OnceLock::new() }
    }
}

pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) type_code: TypeCode,
    pub(super) visibility: Visibility,
}

impl Body {
    pub(super) fn name(&self) -> Option<&Named> {
        match self {
            Self::Bounded { .. } | Self::Fixed { .. } | Self::Repeated { .. } => None,
            Self::Named { name }
            | Self::Wrapped { name, .. }
            | Self::Enum { name, .. }
            | Self::Members { name, .. }
            | Self::Union { name, .. }
            | Self::Value { name, .. } => Some(name),
        }
    }

    /// The TypeCodes directly in it.
    fn parts(&self) -> Vec<&TypeCode> {
        match self {
            Self::Bounded { .. } | Self::Fixed { .. } | Self::Named { .. } | Self::Enum { .. } => {
                Vec::new()
            }
            Self::Repeated { element: part, .. } | Self::Wrapped { content: part, .. } => {
                vec![part]
            }
            Self::Members { members, .. } => members.iter().map(|(_, part)| part).collect(),
            Self::Union { discriminator, cases, .. } => {
                let cases = cases.iter().map(|case| &case.type_code);
                std::iter::once(discriminator).chain(cases).collect()
            }
            Self::Value { base, members, .. } => {
                let members = members.iter().map(|field| &field.type_code);
                std::iter::once(base).chain(members).collect()
            }
        }
    }
}

impl Shape {
    pub(super) fn new(kind: TcKind, body: Body) -> Self {
        let min_octets = min_octets(kind, &body);
        let alignment = alignment(kind, &body);
        let (mut weight, mut holds, mut free) = (1u32, held_by(kind), Vec::new());
        for part in body.parts() {
            weight = weight.saturating_add(part.weight());
            holds |= part.own_holds();
            free.extend_from_slice(part.free());
        }
        let free_none = Box::default();
        let mut shape = Self { kind, body, min_octets, weight, free: free_none, holds, alignment };
        if !free.is_empty() {
            free.sort();
            free.dedup();
            free.retain(|key| Some(key) != shape.key());
            shape.free = free.into();
        }
        shape
    }

    /// What placeholders inside it call it, when it is a definition that can contain itself.
    pub(super) fn key(&self) -> Option<&Arc<str>> {
        match &self.body {
            Body::Members { name, .. }
            | Body::Union { name, .. }
            | Body::Value { name, .. }
            | Body::Wrapped { name, .. } => Some(&name.key),
            _ => None,
        }
    }
}

fn min_octets(kind: TcKind, body: &Body) -> usize {
    match body {
        Body::Fixed { digits, .. } => usize::from(*digits) / 2 + 1,
        Body::Repeated { element, length } if kind == TcKind::Array => {
            element.min_octets().saturating_mul(*length as usize)
        }
        Body::Wrapped { content, .. } if kind == TcKind::Alias => content.min_octets(),
        Body::Members { members, .. } => {
            // Without the repository id of an exception, which only the outermost value has.
            members.iter().fold(0, |sum, (_, part)| sum.saturating_add(part.min_octets()))
        }
        Body::Union { discriminator, .. } => discriminator.min_octets(),
        _ => kind.min_octets(),
    }
}

/// CORBA 3.3 P2 §9.3.1, §9.3.2; values in encapsulations are aligned by themselves.
pub(super) fn alignment_of(kind: TcKind) -> Alignment {
    match kind {
        TcKind::Null | TcKind::Void | TcKind::Fixed => Alignment::all(1),
        // An octet with the length from GIOP 1.2 on, before that two or four octets.
        TcKind::WChar => Alignment { first: 1, largest: 4 },
        TcKind::Enum
        | TcKind::String
        | TcKind::WString
        | TcKind::TypeCode
        | TcKind::Principal
        | TcKind::ObjRef
        | TcKind::Component
        | TcKind::Home => Alignment::all(4),
        // On their size, but on no more than 8.
        kind => kind
            .primitive()
            .map_or(Alignment::ANY, |primitive| Alignment::all(primitive.octets.min(8) as u8)),
    }
}

fn alignment(kind: TcKind, body: &Body) -> Alignment {
    let length = Alignment::all(4);
    match body {
        // Perhaps there is nothing at all.
        Body::Repeated { element, .. } if kind == TcKind::Array => {
            Alignment { first: 1, ..element.alignment() }
        }
        Body::Repeated { element, .. } => length.then(element.alignment()),
        Body::Wrapped { content, .. } if kind == TcKind::Alias => content.alignment(),
        Body::Members { members, .. } => {
            let start = (kind == TcKind::Except).then_some(length);
            let parts = start.into_iter().chain(members.iter().map(|(_, part)| part.alignment()));
            parts.reduce(Alignment::then).unwrap_or(Alignment::all(1))
        }
        Body::Union { discriminator, cases, .. } => {
            let cases = cases.iter().map(|case| case.type_code.alignment());
            cases.fold(discriminator.alignment(), Alignment::then)
        }
        _ => alignment_of(kind),
    }
}

pub(super) fn held_by(kind: TcKind) -> u8 {
    match kind {
        TcKind::Char | TcKind::String => HOLDS::CHAR,
        TcKind::WChar | TcKind::WString => HOLDS::WIDE,
        // A union TypeCode may hold characters as labels.
        TcKind::TypeCode => HOLDS::CHAR | HOLDS::WIDE,
        // What an any holds is not known.
        TcKind::Any => HOLDS::CHAR | HOLDS::WIDE | HOLDS::ANYS,
        // Nor what a derived type adds.
        TcKind::Value | TcKind::ValueBox | TcKind::Event | TcKind::AbstractInterface => HOLDS::ALL,
        _ => 0,
    }
}
