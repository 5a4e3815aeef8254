//! [`Type`]: every type that a member, parameter, element or typedef can have.
//!
//! Constructed and user-defined types are `Type::Named`; everything else is spelled out in place.
//! IDL 4.2 §7.4.1.4.4 (data types), §7.4.2 (any), §7.4.5 (valuetypes), §7.4.13 (extended types).

use super::DefId;

/// An IDL type use, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// `void`: only as the result of an operation.
    Void,
    /// `boolean`
    Boolean,
    /// `octet`
    Octet,
    /// `char`: one octet of the narrow code set.
    Char,
    /// `wchar`
    WChar,
    /// `int8`
    Int8,
    /// `uint8`
    UInt8,
    /// `short`, `int16`
    Short,
    /// `unsigned short`, `uint16`
    UShort,
    /// `long`, `int32`
    Long,
    /// `unsigned long`, `uint32`
    ULong,
    /// `long long`, `int64`
    LongLong,
    /// `unsigned long long`, `uint64`
    ULongLong,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `long double`
    LongDouble,
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
    /// An array declarator around a type: `long x[2][3]` has `dims` `[2, 3]`, each 1..=2^32-1.
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
    /// A user-defined type: struct, union, enum, typedef, interface, valuetype, value box, native,
    /// …
    Named(DefId),
}

impl Type {
    /// Whether this is one of the integer types, `octet` included.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.integer_range().is_some()
    }

    /// Smallest and largest value of an integer type (`octet` included); `None` for all others.
    #[must_use]
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        Some(match self {
            Type::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Type::Octet | Type::UInt8 => (0, u8::MAX.into()),
            Type::Short => (i16::MIN.into(), i16::MAX.into()),
            Type::UShort => (0, u16::MAX.into()),
            Type::Long => (i32::MIN.into(), i32::MAX.into()),
            Type::ULong => (0, u32::MAX.into()),
            Type::LongLong => (i64::MIN.into(), i64::MAX.into()),
            Type::ULongLong => (0, u64::MAX.into()),
            _ => return None,
        })
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
