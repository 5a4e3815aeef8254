//! Types that have a TypeCode: what can go into an [`Any`] at build time. Implemented here for
//! the basic types and markers, and by generated code for user-defined types.

use corbie_cdr::idl::{
    Array, BoundedSequence, BoundedString, BoundedWstring, BoxedArray, Sequence, Wstring,
};
use corbie_cdr::primitive_types::*;
use corbie_cdr::{Fixed, Marshal};

use crate::{Any, Ior, TypeCode};

/// An IDL type that can describe itself.
pub trait Typed: Marshal {
    /// Its TypeCode.
    fn type_code() -> TypeCode;
}

macro_rules! typed {
    ($($type:ty, $type_code:ident;)+) => {$(
        impl Typed for $type {
            fn type_code() -> TypeCode {
                TypeCode::$type_code
            }
        }
    )+};
}

macro_rules! typed_primitives {
    (
        kinds { $(
            $kind:ident $rust:ident ($number:literal $name:literal $constant:ident)
            $codec:tt $facts:tt;
        )+ }
        $aliases:ident $rows:tt
    ) => {
        typed! { $($rust, $constant;)+ }
    };
}
corbie_primitives::primitives!(typed_primitives);

typed! {
    (), VOID;
    Any, ANY;
    TypeCode, TYPE_CODE;
}

/// CORBA has no kind for `int8`; it is described as what is on the wire, an octet.
impl Typed for i8 {
    fn type_code() -> TypeCode {
        TypeCode::OCTET
    }
}

impl Typed for String {
    fn type_code() -> TypeCode {
        TypeCode::string(0)
    }
}

impl Typed for Wstring {
    fn type_code() -> TypeCode {
        TypeCode::wstring(0)
    }
}

impl<const N: u32> Typed for BoundedString<N> {
    fn type_code() -> TypeCode {
        TypeCode::string(N)
    }
}

impl<const N: u32> Typed for BoundedWstring<N> {
    fn type_code() -> TypeCode {
        TypeCode::wstring(N)
    }
}

impl<M: Typed> Typed for Sequence<M> {
    fn type_code() -> TypeCode {
        TypeCode::sequence(M::type_code(), 0)
    }
}

impl<M: Typed, const N: u32> Typed for BoundedSequence<M, N> {
    fn type_code() -> TypeCode {
        TypeCode::sequence(M::type_code(), N)
    }
}

impl<M: Typed, const N: usize> Typed for Array<M, N> {
    fn type_code() -> TypeCode {
        TypeCode::array(M::type_code(), u32::try_from(N).unwrap_or(u32::MAX))
    }
}

impl<M: Typed, const N: usize> Typed for BoxedArray<M, N> {
    fn type_code() -> TypeCode {
        TypeCode::array(M::type_code(), u32::try_from(N).unwrap_or(u32::MAX))
    }
}

impl<const D: u16, const S: i16> Typed for Fixed<D, S> {
    fn type_code() -> TypeCode {
        TypeCode::fixed(D, S)
    }
}

impl<M: Typed> Typed for Box<M> {
    fn type_code() -> TypeCode {
        M::type_code()
    }
}

/// A reference of unknown type: `Object`.
impl Typed for Ior {
    fn type_code() -> TypeCode {
        TypeCode::object()
    }
}
