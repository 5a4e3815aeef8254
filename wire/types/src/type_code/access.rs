//! What a TypeCode can be asked (CORBA 3.3 P1 §14.8.1). Where CORBA raises `BadKind`, the answer
//! is `None` or empty. Placeholders answer for the definition that they stand for.

use super::shape::{Body, Case, Field};
use super::{Repr, TcKind, TypeCode, ValueModifier, Visibility};

/// Bases that a value type may have, one above another: a peer may say that one is its own.
pub(crate) const MOST_BASES: usize = 256;

/// A member of a struct or exception.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; may be empty when the TypeCode came without names.
    pub name: String,
    /// Its type.
    pub type_code: TypeCode,
}

/// A case of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionMember {
    /// The value of the discriminator; `None` for `default`. See [`TypeCode::union`].
    pub label: Option<i128>,
    /// The name of the member that it selects.
    pub name: String,
    /// The type of that member.
    pub type_code: TypeCode,
}

/// A state member of a value type.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMember {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_code: TypeCode,
    /// Whether it is public.
    pub visibility: Visibility,
}

impl TypeCode {
    /// Its kind; of a placeholder, that of its definition; `tk_null` when that is not there.
    #[must_use]
    pub fn kind(&self) -> TcKind {
        match &self.0 {
            Repr::Basic(kind) => *kind,
            Repr::Shared(shape, _) => shape.kind,
            Repr::Recursive(..) => self.resolved().map_or(TcKind::Null, |found| found.kind()),
        }
    }

    fn ask<T>(&self, question: impl FnOnce(&Self, &Body) -> Option<T>) -> Option<T> {
        match &self.0 {
            Repr::Basic(_) => None,
            Repr::Shared(shape, _) => question(self, &shape.body),
            Repr::Recursive(..) => {
                let definition = self.resolved()?;
                question(&definition, definition.body()?)
            }
        }
    }

    /// Its repository id; empty when it has none.
    #[must_use]
    pub fn id(&self) -> String {
        self.ask(|_, body| body.name().map(|name| name.id.to_string())).unwrap_or_default()
    }

    /// Its simple name; empty when it has none.
    #[must_use]
    pub fn name(&self) -> String {
        self.ask(|_, body| body.name().map(|name| name.name.to_string())).unwrap_or_default()
    }

    /// The bound of a string or sequence (0: none), or the length of an array.
    #[must_use]
    pub fn length(&self) -> Option<u32> {
        self.ask(|_, body| match body {
            Body::Bounded { bound: length } | Body::Repeated { length, .. } => Some(*length),
            _ => None,
        })
    }

    /// The type of the elements of a sequence or array, or what an alias or box contains.
    #[must_use]
    pub fn content_type(&self) -> Option<Self> {
        self.ask(|of, body| match body {
            Body::Repeated { element: part, .. } | Body::Wrapped { content: part, .. } => {
                Some(of.part(part))
            }
            _ => None,
        })
    }

    /// Digits and scale of a `fixed`.
    #[must_use]
    pub fn fixed_digits_and_scale(&self) -> Option<(u16, i16)> {
        self.ask(|_, body| match body {
            Body::Fixed { digits, scale } => Some((*digits, *scale)),
            _ => None,
        })
    }

    /// The members of a struct or exception, in order.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let members = self.ask(|of, body| match body {
            Body::Members { members, .. } => {
                let member = |(name, part): &(Box<str>, Self)| Member {
                    name: name.to_string(),
                    type_code: of.part(part),
                };
                Some(members.iter().map(member).collect())
            }
            _ => None,
        });
        members.unwrap_or_default()
    }

    /// The type of a union's discriminator.
    #[must_use]
    pub fn discriminator_type(&self) -> Option<Self> {
        self.ask(|of, body| match body {
            Body::Union { discriminator, .. } => Some(of.part(discriminator)),
            _ => None,
        })
    }

    /// The cases of a union, in order; a member with several labels comes several times.
    #[must_use]
    pub fn union_members(&self) -> Vec<UnionMember> {
        let cases = self.ask(|of, body| match body {
            Body::Union { cases, .. } => {
                let member = |case: &Case| UnionMember {
                    label: case.label,
                    name: case.name.to_string(),
                    type_code: of.part(&case.type_code),
                };
                Some(cases.iter().map(member).collect())
            }
            _ => None,
        });
        cases.unwrap_or_default()
    }

    /// The case that a discriminator selects, as position in [`TypeCode::union_members`]: the one
    /// with this label, else `default`, else none.
    #[must_use]
    pub fn union_case(&self, discriminator: i128) -> Option<usize> {
        self.ask(|_, body| match body {
            Body::Union { cases, .. } => cases.select(discriminator),
            _ => None,
        })
    }

    /// The type of one case of a union.
    pub(crate) fn union_case_type(&self, discriminator: i128) -> Option<Self> {
        self.ask(|of, body| match body {
            Body::Union { cases, .. } => {
                let case = cases.get(cases.select(discriminator)?)?;
                Some(of.part(&case.type_code))
            }
            _ => None,
        })
    }

    /// The enumerators of an enum, in order.
    #[must_use]
    pub fn enumerators(&self) -> Vec<String> {
        let names = self.ask(|_, body| match body {
            Body::Enum { enumerators, .. } => {
                Some(enumerators.iter().map(|name| name.to_string()).collect())
            }
            _ => None,
        });
        names.unwrap_or_default()
    }

    /// The number of enumerators of an enum.
    pub(crate) fn enumerator_count(&self) -> u32 {
        let count = self.ask(|_, body| match body {
            Body::Enum { enumerators, .. } => u32::try_from(enumerators.len()).ok(),
            _ => None,
        });
        count.unwrap_or_default()
    }

    /// How a value type is declared.
    #[must_use]
    pub fn value_modifier(&self) -> Option<ValueModifier> {
        self.ask(|_, body| match body {
            Body::Value { modifier, .. } => Some(*modifier),
            _ => None,
        })
    }

    /// The concrete base of a value type; `tk_null` when it has none.
    #[must_use]
    pub fn concrete_base_type(&self) -> Option<Self> {
        self.ask(|of, body| match body {
            Body::Value { base, .. } => Some(of.part(base)),
            _ => None,
        })
    }

    /// The own state members of a value type, in order.
    #[must_use]
    pub fn value_members(&self) -> Vec<ValueMember> {
        let members = self.ask(|of, body| match body {
            Body::Value { members, .. } => {
                let member = |field: &Field| ValueMember {
                    name: field.name.to_string(),
                    type_code: of.part(&field.type_code),
                    visibility: field.visibility,
                };
                Some(members.iter().map(member).collect())
            }
            _ => None,
        });
        members.unwrap_or_default()
    }

    /// All state members of a value type, those of its first base first; of a value box what is in
    /// it, without a name. `None` for other types, and for one whose bases have no end.
    #[must_use]
    pub fn state_members(&self) -> Option<Vec<ValueMember>> {
        let plain = self.unaliased()?;
        if plain.kind() == TcKind::ValueBox {
            let (name, visibility) = (String::new(), Visibility::Public);
            let type_code = plain.content_type()?;
            return Some(vec![ValueMember { name, type_code, visibility }]);
        }
        plain.value_modifier()?;
        let mut line = vec![plain];
        while let Some(base) = line.last().and_then(Self::base_value) {
            if line.len() >= MOST_BASES {
                return None;
            }
            line.push(base);
        }
        Some(line.iter().rev().flat_map(Self::value_members).collect())
    }

    /// The concrete base of a value type, without aliases.
    pub(crate) fn base_value(&self) -> Option<Self> {
        let base = self.concrete_base_type()?.unaliased()?;
        matches!(base.kind(), TcKind::Value | TcKind::Event).then_some(base)
    }

    /// Whether values of this type are also of that one, by its concrete bases.
    pub(crate) fn derives_from(&self, from: &Self) -> bool {
        let mut next = self.unaliased();
        for _ in 0..MOST_BASES {
            match next {
                Some(of) if of.equivalent(from) => return true,
                Some(of) => next = of.base_value(),
                None => return false,
            }
        }
        false
    }

    /// Calls `visit` with the type of each member of a struct or exception, in order.
    pub(crate) fn try_members<E>(
        &self,
        mut visit: impl FnMut(usize, Self) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.body() {
            Some(Body::Members { members, .. }) => {
                members.iter().enumerate().try_for_each(|(i, (_, part))| visit(i, self.part(part)))
            }
            _ => Ok(()),
        }
    }

    /// The number of members of a struct or exception.
    pub(crate) fn member_count(&self) -> usize {
        match self.body() {
            Some(Body::Members { members, .. }) => members.len(),
            _ => 0,
        }
    }
}
