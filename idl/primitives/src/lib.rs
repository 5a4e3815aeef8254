//! The primitive types of IDL as one table (IDL 4.2 §7.4.1.4.4.1, CORBA 3.3 P2 §9.3.1).
//!
//! The parser, the generator, the encoder and decoder, TypeCodes, dynamic values and JSON are
//! made from it. Code that needs one item for each type gives the name of a macro to
//! [`primitives!`]; code that only looks something up uses [`Primitive`].

#![no_std]
#![forbid(unsafe_code)]

/// Calls the macro with this name, with all rows of the table.
///
/// `kinds`: the types that have a TypeCode of their own. In each row stand
/// - the name of the type, and its Rust type;
/// - number and name of its TypeCode's kind, and the constant of `TypeCode`;
/// - what reads and writes it: methods of the decoder and the encoder. `plain`: the octets of a
///   Rust number, in the byte order of the message and aligned on their size; `own`: a method of
///   its own;
/// - IDL text, IDL 4 text, octets of the smallest encoding, and what its values are.
///
/// `aliases`: the types that travel as another one, which stands in place of the TypeCode.
#[macro_export]
macro_rules! primitives {
    ($made:ident) => {
        $made! {
            kinds {
                Boolean bool (8 "tk_boolean" BOOLEAN)
                    (read_boolean write_boolean own) { "boolean" [] 1 Boolean };
                Octet u8 (10 "tk_octet" OCTET)
                    (read_octet write_octet own) { "octet" [] 1 Unsigned };
                Char char (9 "tk_char" CHAR)
                    (read_char write_char own) { "char" [] 1 Character };
                WChar WChar (26 "tk_wchar" WCHAR)
                    (read_wchar write_wchar own) { "wchar" [] 2 Character };
                Short i16 (2 "tk_short" SHORT)
                    (read_short write_short plain) { "short" ["int16"] 2 Signed };
                UShort u16 (4 "tk_ushort" USHORT)
                    (read_ushort write_ushort plain) { "unsigned short" ["uint16"] 2 Unsigned };
                Long i32 (3 "tk_long" LONG)
                    (read_long write_long plain) { "long" ["int32"] 4 Signed };
                ULong u32 (5 "tk_ulong" ULONG)
                    (read_ulong write_ulong plain) { "unsigned long" ["uint32"] 4 Unsigned };
                LongLong i64 (23 "tk_longlong" LONGLONG)
                    (read_longlong write_longlong plain) { "long long" ["int64"] 8 Signed };
                ULongLong u64 (24 "tk_ulonglong" ULONGLONG)
                    (read_ulonglong write_ulonglong plain)
                    { "unsigned long long" ["uint64"] 8 Unsigned };
                Float f32 (6 "tk_float" FLOAT)
                    (read_float write_float plain) { "float" [] 4 Floating };
                Double f64 (7 "tk_double" DOUBLE)
                    (read_double write_double plain) { "double" [] 8 Floating };
                LongDouble LongDouble (25 "tk_longdouble" LONGDOUBLE)
                    (read_longdouble write_longdouble own) { "long double" [] 16 Floating };
            }
            aliases {
                Int8 i8 Octet (read_int8 write_int8) { "int8" ["int8"] 1 Signed };
                UInt8 u8 Octet (read_octet write_octet) { "uint8" ["uint8"] 1 Unsigned };
            }
        }
    };
}

/// A row of the table.
#[derive(Debug)]
pub struct Primitive {
    /// Its name in the front end and in the library: `LongLong`.
    pub name: &'static str,
    /// Its text in IDL: `long long`.
    pub idl: &'static str,
    /// Its name in IDL 4 (IDL 4.2 §7.4.13), where that is a name of its own: `int64`.
    pub sized_name: Option<&'static str>,
    /// The number of its TypeCode's kind (CORBA 3.3 P2 §9.3.5.1).
    pub kind: u32,
    /// Whether it travels as another type, and has that type's kind.
    pub is_alias: bool,
    /// The name of its Rust type: `i64`. A type of the library begins with a capital.
    pub rust: &'static str,
    /// Octets of its smallest encoding: 1 to 16.
    pub octets: u32,
    /// What its values are.
    pub values: Values,
    /// The method of the decoder that reads it.
    pub read: &'static str,
    /// The method of the encoder that writes it; only that of a character can fail.
    pub write: &'static str,
}

/// What the values of a primitive type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// `FALSE` and `TRUE`.
    Boolean,
    /// Characters of a code set.
    Character,
    /// Integers, negative ones too.
    Signed,
    /// Integers from 0.
    Unsigned,
    /// Floating point numbers.
    Floating,
}

impl Primitive {
    /// Whether it is an integer type; `octet` is one.
    #[must_use]
    pub const fn is_integer(&self) -> bool {
        matches!(self.values, Values::Signed | Values::Unsigned)
    }

    /// Whether it is an integer or floating point type.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        self.is_integer() || matches!(self.values, Values::Floating)
    }

    /// The smallest and the largest value of an integer type; `None` for all others.
    #[must_use]
    pub const fn integer_range(&self) -> Option<(i128, i128)> {
        if self.is_integer() { self.label_range() } else { None }
    }

    /// The smallest and the largest label of a union with this discriminator: of a boolean 0 and
    /// 1, of a character its codes. `None` for floating point numbers.
    #[must_use]
    pub const fn label_range(&self) -> Option<(i128, i128)> {
        let bits = self.octets * 8;
        match self.values {
            Values::Boolean => Some((0, 1)),
            Values::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Values::Unsigned | Values::Character => Some((0, (1 << bits) - 1)),
            Values::Floating => None,
        }
    }
}

macro_rules! rows {
    (
        kinds { $(
            $name:ident $rust:ident ($kind:literal $tk:literal $constant:ident)
            ($read:ident $write:ident $codec:ident)
            { $idl:literal [$($sized:literal)?] $octets:literal $values:ident };
        )+ }
        aliases { $(
            $alias:ident $alias_rust:ident $of:ident ($alias_read:ident $alias_write:ident)
            { $alias_idl:literal [$alias_sized:literal] $alias_octets:literal $alias_values:ident };
        )+ }
    ) => {
        /// The rows, each as a constant with the name of its type.
        #[allow(non_upper_case_globals, reason = "named as the variants of enums are")]
        pub mod rows {
            use super::{Primitive, Values};

            $(
                #[doc = concat!("`", $idl, "`.")]
                pub const $name: &Primitive = &Primitive {
                    name: stringify!($name),
                    idl: $idl,
                    sized_name: first(&[$($sized)?]),
                    kind: $kind,
                    is_alias: false,
                    rust: stringify!($rust),
                    octets: $octets,
                    values: Values::$values,
                    read: stringify!($read),
                    write: stringify!($write),
                };
            )+
            $(
                #[doc = concat!("`", $alias_idl, "`.")]
                pub const $alias: &Primitive = &Primitive {
                    name: stringify!($alias),
                    idl: $alias_idl,
                    sized_name: Some($alias_sized),
                    kind: $of.kind,
                    is_alias: true,
                    rust: stringify!($alias_rust),
                    octets: $alias_octets,
                    values: Values::$alias_values,
                    read: stringify!($alias_read),
                    write: stringify!($alias_write),
                };
            )+

            const fn first(of: &[&'static str]) -> Option<&'static str> {
                match of {
                    [first, ..] => Some(first),
                    [] => None,
                }
            }
        }

        impl Primitive {
            /// All rows.
            pub const ALL: &[&Primitive] = &[$(rows::$name,)+ $(rows::$alias,)+];
        }
    };
}
primitives!(rows);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_rust_types() {
        let range = |name: &str| {
            Primitive::ALL.iter().find(|p| p.name == name).and_then(|p| p.integer_range())
        };
        assert_eq!(range("Int8"), Some((i8::MIN.into(), i8::MAX.into())));
        assert_eq!(range("Octet"), Some((0, u8::MAX.into())));
        assert_eq!(range("LongLong"), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(range("ULongLong"), Some((0, u64::MAX.into())));
        assert_eq!((range("Boolean"), range("Double")), (None, None));
        assert_eq!(rows::Boolean.label_range(), Some((0, 1)));
        assert_eq!(rows::WChar.label_range(), Some((0, u16::MAX.into())));
        assert_eq!(rows::LongDouble.label_range(), None);
    }

    #[test]
    fn no_name_and_no_kind_is_used_twice() {
        for (at, one) in Primitive::ALL.iter().enumerate() {
            for other in Primitive::ALL.iter().skip(at + 1) {
                assert_ne!(one.name, other.name);
                assert_ne!(one.idl, other.idl);
                assert!(one.kind != other.kind || other.is_alias, "{} {}", one.name, other.name);
            }
        }
    }
}
