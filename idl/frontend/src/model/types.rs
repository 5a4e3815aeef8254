//! [`Type`]: every type that a member, parameter, element or typedef can have.
//!
//! Constructed and user-defined types are `Type::Named`; everything else is spelled out in place.
//! IDL 4.2 §7.4.1.4.4 (data types), §7.4.2 (any), §7.4.5 (valuetypes), §7.4.13 (extended types).

use corbie_primitives::{Primitive, rows};

use super::DefId;

macro_rules! types {
    (
        kinds { $(
            $name:ident $rust:ident $type_code:tt $codec:tt { $idl:literal $($facts:tt)+ };
        )+ }
        aliases { $(
            $alias:ident $alias_rust:ident $of:ident $alias_codec:tt
            { $alias_idl:literal $($alias_facts:tt)+ };
        )+ }
    ) => {
        /// An IDL type use, resolved.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Type {
            /// `void`: only as the result of an operation.
            Void,
            $(#[doc = concat!("`", $idl, "`")] $name,)+
            $(#[doc = concat!("`", $alias_idl, "`")] $alias,)+
            /// `string`, `string<bound>`: the bound counts characters, 1..=2^32-1.
            String {
                /// `None`: unbounded.
                bound: Option<u32>,
            },
            /// `wstring`, `wstring<bound>`: the bound counts wide characters, 1..=2^32-1.
            WString {
                /// `None`: unbounded.
                bound: Option<u32>,
            },
            /// `sequence<element>`, `sequence<element, bound>`: 1..=2^32-1 elements.
            Sequence {
                /// Type of the elements.
                element: Box<Type>,
                /// `None`: unbounded.
                bound: Option<u32>,
            },
            /// An array declarator around a type: `long x[2][3]` has `dims` `[2, 3]`, each
            /// 1..=2^32-1.
            Array {
                /// Type of the elements; never itself an `Array` (but perhaps an alias of one).
                element: Box<Type>,
                /// Extent of each dimension, outermost first; never empty.
                dims: Vec<u32>,
            },
            /// `fixed<digits, scale>`: 1..=31 digits, 0..=digits of them after the point.
            /// In `const fixed X = …` the digits and scale are those of the value.
            Fixed {
                /// Total number of decimal digits.
                digits: u16,
                /// Digits after the decimal point.
                scale: u16,
            },
            /// `any`
            Any,
            /// `Object`: any object reference.
            Object,
            /// `AbstractBase` (`CORBA::AbstractBase`): reference or value.
            AbstractBase,
            /// `ValueBase`: any value.
            ValueBase,
            /// `TypeCode` (`CORBA::TypeCode`)
            TypeCode,
            /// A user-defined type: struct, union, enum, typedef, interface, valuetype, value box,
            /// native, …
            Named(DefId),
        }

        impl Type {
            /// The primitive types, each with its row.
            pub const PRIMITIVES: &[(Type, &Primitive)] =
                &[$((Type::$name, rows::$name),)+ $((Type::$alias, rows::$alias),)+];

            /// Its row in the table of primitive types, if it is one.
            #[must_use]
            pub fn primitive(&self) -> Option<&'static Primitive> {
                match self {
                    $(Type::$name => Some(rows::$name),)+
                    $(Type::$alias => Some(rows::$alias),)+
                    _ => None,
                }
            }
        }
    };
}
corbie_primitives::primitives!(types);

impl Type {
    /// Whether this is one of the integer types, `octet` included.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.integer_range().is_some()
    }

    /// Smallest and largest value of an integer type (`octet` included); `None` for all others.
    #[must_use]
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        self.primitive().and_then(Primitive::integer_range)
    }

    /// The definition if this is a user-defined type.
    #[must_use]
    pub fn named(&self) -> Option<DefId> {
        match self {
            Type::Named(id) => Some(*id),
            _ => None,
        }
    }

    /// The innermost element type: of `sequence<sequence<X>>` or an array of `X`, `X`.
    #[must_use]
    pub fn innermost(&self) -> &Type {
        let mut at = self;
        while let Type::Sequence { element, .. } | Type::Array { element, .. } = at {
            at = element;
        }
        at
    }
}
