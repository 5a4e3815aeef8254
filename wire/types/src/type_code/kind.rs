//! The kinds of TypeCode with their numbers on the wire (CORBA 3.3 P2 §9.3.5.1): those of the
//! primitive types, from their table, and the others. Used by everything that walks TypeCodes.

use corbie_primitives::{Primitive, primitives, rows};

macro_rules! tc_kinds {
    ($($number:literal $variant:ident $name:literal $min:expr;)+) => {
        /// The kind of a type: `TCKind`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum TcKind {
            $(#[doc = concat!("`", $name, "`.")] $variant = $number,)+
        }

        impl TcKind {
            /// The kind with this number.
            #[must_use]
            pub fn from_number(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }

            /// Its IDL name, such as `tk_struct`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Octets of the smallest value; 0 where the parameters decide.
            pub(super) fn min_octets(self) -> usize {
                match self { $(Self::$variant => $min,)+ }
            }
        }
    };
}

macro_rules! kinds {
    (
        kinds { $(
            $primitive:ident $rust:ident ($number:literal $name:literal $constant:ident)
            $codec:tt $facts:tt;
        )+ }
        $aliases:ident $rows:tt
    ) => {
        tc_kinds! {
            $($number $primitive $name rows::$primitive.octets as usize;)+
            0 Null "tk_null" 0;
            1 Void "tk_void" 0;
            11 Any "tk_any" 4;
            12 TypeCode "tk_TypeCode" 4;
            13 Principal "tk_Principal" 4;
            14 ObjRef "tk_objref" 8;
            15 Struct "tk_struct" 0;
            16 Union "tk_union" 0;
            17 Enum "tk_enum" 4;
            18 String "tk_string" 4;
            19 Sequence "tk_sequence" 4;
            20 Array "tk_array" 0;
            21 Alias "tk_alias" 0;
            22 Except "tk_except" 4;
            27 WString "tk_wstring" 4;
            28 Fixed "tk_fixed" 0;
            29 Value "tk_value" 4;
            30 ValueBox "tk_value_box" 4;
            31 Native "tk_native" 0;
            32 AbstractInterface "tk_abstract_interface" 1;
            33 LocalInterface "tk_local_interface" 0;
            34 Component "tk_component" 8;
            35 Home "tk_home" 8;
            36 Event "tk_event" 4;
        }

        impl TcKind {
            /// Its row in the table of primitive types, if it is there.
            pub(crate) fn primitive(self) -> Option<&'static Primitive> {
                match self { $(Self::$primitive => Some(rows::$primitive),)+ _ => None }
            }
        }
    };
}
primitives!(kinds);

impl TcKind {
    /// Whether a TypeCode of this kind has no parameters (CORBA 3.3 P2 §9.3.5.1).
    #[must_use]
    pub fn is_basic(self) -> bool {
        let is_other =
            matches!(self, Self::Null | Self::Void | Self::Any | Self::TypeCode | Self::Principal);
        is_other || self.primitive().is_some()
    }

    /// The smallest and the largest value of a kind of integers, which `tk_octet` is, too; `None`
    /// for the other kinds.
    #[must_use]
    pub fn integer_range(self) -> Option<(i128, i128)> {
        self.primitive().and_then(Primitive::integer_range)
    }
}

/// How a value type is declared (CORBA 3.3 P1 §14.8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ValueModifier {
    /// `valuetype`.
    #[default]
    None = 0,
    /// `custom valuetype`.
    Custom = 1,
    /// `abstract valuetype`.
    Abstract = 2,
    /// Derives from its base with `truncatable`.
    Truncatable = 3,
}

/// Whether a member of a value type is `private` or `public`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum Visibility {
    /// `private`.
    Private = 0,
    /// `public`.
    Public = 1,
}
