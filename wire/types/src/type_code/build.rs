//! Constructors of TypeCodes, one for each kind (CORBA 3.3 P1 §14.8.4). Called by generated code,
//! once for each type, and by `corbie call`. Names and ids are taken as they are.

use std::sync::{Arc, LazyLock, OnceLock};

use super::shape::{Body, Case, Field, Named, Shape};
use super::{Repr, TcKind, TypeCode, ValueModifier, Visibility};

/// Those without parameters of their own are made once.
static OBJECT: LazyLock<TypeCode> =
    LazyLock::new(|| TypeCode::interface("IDL:omg.org/CORBA/Object:1.0", "Object"));
static STRING: LazyLock<TypeCode> =
    LazyLock::new(|| TypeCode::shared(TcKind::String, Body::Bounded { bound: 0 }));
static WSTRING: LazyLock<TypeCode> =
    LazyLock::new(|| TypeCode::shared(TcKind::WString, Body::Bounded { bound: 0 }));

/// Unbounded sequences of those without parameters, by the number of their kind.
static BASIC_SEQUENCES: [OnceLock<TypeCode>; 32] = [const { OnceLock::new() }; 32];

macro_rules! basic {
    ($($name:ident $kind:ident $idl:literal;)+) => {$(
        #[doc = concat!("`", $idl, "`.")]
        pub const $name: Self = Self(Repr::Basic(TcKind::$kind));
    )+};
}

macro_rules! named {
    ($($name:ident $kind:ident $idl:literal;)+) => {$(
        #[doc = concat!($idl, ".")]
        #[must_use]
        pub fn $name(id: &str, name: &str) -> Self {
            Self::shared(TcKind::$kind, Body::Named { name: Named::new(id, name) })
        }
    )+};
}

macro_rules! primitive {
    (
        kinds { $(
            $kind:ident $rust:ident ($number:literal $name:literal $constant:ident)
            $codec:tt { $idl:literal $($facts:tt)+ };
        )+ }
        $aliases:ident $rows:tt
    ) => {
        impl TypeCode {
            basic! { $($constant $kind $idl;)+ }
        }
    };
}
corbie_primitives::primitives!(primitive);

impl TypeCode {
    basic! {
        NULL Null "null";
        VOID Void "void";
        ANY Any "any";
        TYPE_CODE TypeCode "TypeCode";
        PRINCIPAL Principal "Principal";
    }

    named! {
        interface ObjRef "A reference to objects of an interface";
        abstract_interface AbstractInterface "An abstract interface";
        local_interface LocalInterface "A local interface";
        native Native "A native type";
        component Component "A component";
        home Home "A component home";
    }

    pub(super) fn shared(kind: TcKind, body: Body) -> Self {
        Self(Repr::Shared(Arc::new(Shape::new(kind, body)), None))
    }

    /// A kind without parameters; `None` for the others.
    #[must_use]
    pub fn basic(kind: TcKind) -> Option<Self> {
        kind.is_basic().then_some(Self(Repr::Basic(kind)))
    }

    /// `Object`, the base of all interfaces.
    #[must_use]
    pub fn object() -> Self {
        OBJECT.clone()
    }

    /// `string<bound>`; 0: unbounded.
    #[must_use]
    pub fn string(bound: u32) -> Self {
        if bound == 0 {
            return STRING.clone();
        }
        Self::shared(TcKind::String, Body::Bounded { bound })
    }

    /// `wstring<bound>`; 0: unbounded.
    #[must_use]
    pub fn wstring(bound: u32) -> Self {
        if bound == 0 {
            return WSTRING.clone();
        }
        Self::shared(TcKind::WString, Body::Bounded { bound })
    }

    /// `fixed<digits, scale>`.
    #[must_use]
    pub fn fixed(digits: u16, scale: i16) -> Self {
        Self::shared(TcKind::Fixed, Body::Fixed { digits, scale })
    }

    /// `sequence<element, bound>`; 0: unbounded.
    #[must_use]
    pub fn sequence(element: Self, bound: u32) -> Self {
        if let (Repr::Basic(kind), 0) = (&element.0, bound)
            && let Some(known) = BASIC_SEQUENCES.get(*kind as usize)
        {
            let length = bound;
            let new = || Self::shared(TcKind::Sequence, Body::Repeated { element, length });
            return known.get_or_init(new).clone();
        }
        Self::shared(TcKind::Sequence, Body::Repeated { element, length: bound })
    }

    /// One dimension of an array; several dimensions are an array of arrays.
    #[must_use]
    pub fn array(element: Self, length: u32) -> Self {
        Self::shared(TcKind::Array, Body::Repeated { element, length })
    }

    /// `typedef content name`.
    #[must_use]
    pub fn alias(id: &str, name: &str, content: Self) -> Self {
        Self::shared(TcKind::Alias, Body::Wrapped { name: Named::new(id, name), content })
    }

    /// `valuetype name content`.
    #[must_use]
    pub fn value_box(id: &str, name: &str, content: Self) -> Self {
        Self::shared(TcKind::ValueBox, Body::Wrapped { name: Named::new(id, name), content })
    }

    /// `enum`, with its enumerators in order.
    #[must_use]
    pub fn enumeration(id: &str, name: &str, enumerators: &[&str]) -> Self {
        let enumerators = enumerators.iter().map(|name| (*name).into()).collect();
        Self::shared(TcKind::Enum, Body::Enum { name: Named::new(id, name), enumerators })
    }

    /// `struct`, with its members in order. Inside it, [`TypeCode::recursive`] of its id stands
    /// for itself.
    #[must_use]
    pub fn structure(id: &str, name: &str, members: &[(&str, Self)]) -> Self {
        Self::members_of(TcKind::Struct, id, name, members)
    }

    /// `exception`, with its members in order.
    #[must_use]
    pub fn exception(id: &str, name: &str, members: &[(&str, Self)]) -> Self {
        Self::members_of(TcKind::Except, id, name, members)
    }

    fn members_of(kind: TcKind, id: &str, name: &str, members: &[(&str, Self)]) -> Self {
        let members = members.iter().map(|(name, part)| ((*name).into(), part.clone())).collect();
        Self::shared(kind, Body::Members { name: Named::new(id, name), members })
    }

    /// `union`, with a case for each label in order: the label, the name of the member and its
    /// type. A member with several labels comes several times; the label `None` is `default`.
    /// Labels are numbers: of a boolean 0 and 1, of a character its code, of an enumerator its
    /// position.
    #[must_use]
    pub fn union(
        id: &str,
        name: &str,
        discriminator: Self,
        cases: &[(Option<i128>, &str, Self)],
    ) -> Self {
        let case = |(label, name, part): &(Option<i128>, &str, Self)| Case {
            label: *label,
            name: (*name).into(),
            type_code: part.clone(),
        };
        let cases = cases.iter().map(case).collect();
        Self::shared(
            TcKind::Union,
            Body::Union { name: Named::new(id, name), discriminator, cases },
        )
    }

    /// `valuetype`, with its own state members in order; `base` is its concrete base.
    #[must_use]
    pub fn value(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: Option<Self>,
        members: &[(&str, Self, Visibility)],
    ) -> Self {
        Self::value_of(TcKind::Value, id, name, (modifier, base), members)
    }

    /// `eventtype`, like [`TypeCode::value`].
    #[must_use]
    pub fn event(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: Option<Self>,
        members: &[(&str, Self, Visibility)],
    ) -> Self {
        Self::value_of(TcKind::Event, id, name, (modifier, base), members)
    }

    fn value_of(
        kind: TcKind,
        id: &str,
        name: &str,
        (modifier, base): (ValueModifier, Option<Self>),
        members: &[(&str, Self, Visibility)],
    ) -> Self {
        let field = |(name, part, visibility): &(&str, Self, Visibility)| Field {
            name: (*name).into(),
            type_code: part.clone(),
            visibility: *visibility,
        };
        let members = members.iter().map(field).collect();
        let base = base.unwrap_or_default();
        Self::shared(kind, Body::Value { name: Named::new(id, name), modifier, base, members })
    }

    /// A placeholder for the enclosing struct, union or value type with this repository id
    /// (CORBA 3.3 P1 §14.8.4, `create_recursive_tc`). By itself it is incomplete.
    #[must_use]
    pub fn recursive(id: &str) -> Self {
        Self(Repr::Recursive(id.into(), None))
    }

    pub(super) fn recursive_key(key: Arc<str>) -> Self {
        Self(Repr::Recursive(key, None))
    }
}
