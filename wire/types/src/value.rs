//! Values whose type is known only at run time, by TypeCode. Used by `corbie call`, by the
//! dynamic invocation interface, and for comparing the contents of [`Any`].

mod any;
mod decode;
mod encode;
mod held;
mod primitive;
mod transcode;
mod typed;

use corbie_cdr::primitive_types::*;

use crate::{Ior, TypeCode};

pub use any::Any;
pub use held::{DynamicValue, HeldValue};
pub use typed::Typed;

macro_rules! value {
    (
        kinds { $(
            $kind:ident $rust:ident ($number:literal $name:literal $constant:ident)
            $codec:tt { $idl:literal $($facts:tt)+ };
        )+ }
        $aliases:ident $rows:tt
    ) => {
        /// A value of any IDL type. Which variant belongs to a TypeCode is told at each; aliases
        /// are looked through.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Value {
            $(#[doc = concat!("`", $name, "`.")] $kind($rust),)+
            /// `tk_null`, `tk_void`; a null `tk_value`, `tk_value_box` and `tk_event`.
            Void,
            /// `tk_fixed`: the digits without the point, which the TypeCode has.
            Fixed(i128),
            /// `tk_string`.
            String(String),
            /// `tk_wstring`.
            WString(String),
            /// `tk_enum`: the position of the enumerator, from 0.
            Enum(u32),
            /// `tk_struct`, `tk_except`: the members in order. The repository id that precedes an
            /// exception on the wire comes from the TypeCode.
            Struct(Vec<Value>),
            /// `tk_union`.
            Union(Box<UnionValue>),
            /// `tk_sequence`, `tk_array`: the elements in order.
            List(Vec<Value>),
            /// `tk_sequence`, `tk_array` of `octet`.
            Octets(Vec<u8>),
            /// `tk_any`.
            Any(Box<Any>),
            /// `tk_TypeCode`.
            TypeCode(TypeCode),
            /// `tk_objref`, `tk_component`, `tk_home`; and `tk_abstract_interface` when it is a
            /// reference.
            Object(Ior),
            /// `tk_value`, `tk_value_box`, `tk_event`, unless null; and `tk_abstract_interface`
            /// when it is a value.
            Valuetype(HeldValue),
            /// `tk_Principal`: opaque.
            Principal(Vec<u8>),
        }

        impl Value {
            /// What it is, in IDL words.
            #[must_use]
            pub fn kind_name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $idl,)+
                    Self::Void => "void",
                    Self::Fixed(_) => "fixed",
                    Self::String(_) => "string",
                    Self::WString(_) => "wstring",
                    Self::Enum(_) => "enum",
                    Self::Struct(_) => "struct or exception",
                    Self::Union(_) => "union",
                    Self::List(_) => "sequence or array",
                    Self::Octets(_) => "sequence or array of octet",
                    Self::Any(_) => "any",
                    Self::TypeCode(_) => "TypeCode",
                    Self::Object(_) => "object reference",
                    Self::Valuetype(_) => "valuetype",
                    Self::Principal(_) => "Principal",
                }
            }
        }
    };
}
corbie_primitives::primitives!(value);

/// The value of a union.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionValue {
    /// The discriminator as a number; see [`TypeCode::union`].
    pub discriminator: i128,
    /// The member that it selects; `None` when it selects none.
    pub member: Option<Value>,
}
