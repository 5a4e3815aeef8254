//! Values and abstract interfaces as generated code uses them (CORBA 3.3 P1 §9, P2 §9.3.4, §9.3.7).
//!
//! The macros make of a few facts what each valuetype, value box and abstract interface has; what
//! they do stands in `corbie_types::valuetype`.

use crate::Object;
use crate::interface::{Interface, encode_object};
use corbie_cdr::{Decoder, Encoder, Error, Marshal};
use corbie_types::valuetype::{ValueBase, ValueFactory, read_value, view, write_value};
use corbie_types::{CompletionStatus, SystemException, TypeCode, Typed, minor};
use std::sync::Arc;

pub use corbie_types::valuetype;
pub use corbie_types::valuetype::{CustomMarshal, State, StateRef, ValueType};

/// What an abstract interface is sent as: a reference to an object that has it, or a value that
/// supports it. `AbstractBase` is that of no interface in particular.
#[derive(Clone, Debug, PartialEq)]
pub enum Abstract<I> {
    /// A reference.
    Object(I),
    /// A value: [`view`] gives it as a servant of the interface, or as its valuetype.
    Value(Arc<dyn ValueBase>),
}

/// `CORBA::AbstractBase`.
pub type AbstractBase = Abstract<Object>;

impl<I> Abstract<I> {
    /// The reference, where it is one.
    pub fn as_object(&self) -> Option<&I> {
        match self {
            Self::Object(object) => Some(object),
            Self::Value(_) => None,
        }
    }

    /// The value as `dyn T`, where it is one and has that: the valuetype, or the servant's trait of
    /// an interface that it supports.
    pub fn as_value<T: ?Sized + 'static>(&self) -> Option<Arc<T>> {
        match self {
            Self::Object(_) => None,
            Self::Value(value) => view(Arc::clone(value)),
        }
    }
}

impl<I> From<I> for Abstract<I> {
    fn from(object: I) -> Self {
        Self::Object(object)
    }
}

/// A value as the servant of an interface.
///
/// # Errors
/// `BAD_PARAM`, minor `BAD_PARAM_WRONG_TYPE`, when it does not support the interface.
pub fn supported<T: ?Sized + 'static>(
    value: &Arc<dyn ValueBase>,
) -> Result<Arc<T>, SystemException> {
    view(Arc::clone(value)).ok_or_else(|| {
        let text = format!("the value {value:?} does not support the interface");
        minor::BAD_PARAM_WRONG_TYPE.raise(CompletionStatus::No, text)
    })
}

/// An interface that values are passed as. Implemented by generated code.
pub trait AbstractInterface: Interface {
    /// Factories of valuetypes that support it.
    const FACTORIES: &'static [fn() -> ValueFactory];

    /// Its TypeCode.
    fn abstract_type_code() -> TypeCode;
}

impl AbstractInterface for Object {
    const FACTORIES: &'static [fn() -> ValueFactory] = &[];

    fn abstract_type_code() -> TypeCode {
        TypeCode::abstract_interface("IDL:omg.org/CORBA/AbstractBase:1.0", "AbstractBase")
    }
}

impl<I: AbstractInterface> Abstract<I> {
    /// Writes one given as a parameter.
    ///
    /// # Errors
    /// What cannot be sent.
    pub fn write<'a>(value: Option<&'a Self>, e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_boolean(matches!(value, Some(Self::Object(_))));
        match value {
            Some(Self::Object(object)) => encode_object(Some(object.as_object()), e),
            Some(Self::Value(value)) => write_value(Some(value), e),
            None => write_value(None, e),
        }
    }
}

impl<I: AbstractInterface> Marshal for Abstract<I> {
    type Value = Option<Self>;
    const MIN_OCTETS: usize = 1;

    fn encode<'a>(value: &'a Option<Self>, e: &mut Encoder<'a>) -> Result<(), Error> {
        Self::write(value.as_ref(), e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Option<Self>, Error> {
        if d.read_boolean()? {
            return Ok(Object::decode(d)?.map(I::from_object).map(Self::Object));
        }
        Ok(read_value(d, None, I::FACTORIES)?.map(Self::Value))
    }
}

impl<I: AbstractInterface> Typed for Abstract<I> {
    fn type_code() -> TypeCode {
        I::abstract_type_code()
    }
}

/// Reads a value that has to be a `T`.
///
/// # Errors
/// As [`read_value`]; `InvalidValue` for a value of another type.
pub fn read_view<T: ?Sized + 'static>(
    d: &mut Decoder<'_>,
    repository_id: &str,
    defaults: &[fn() -> ValueFactory],
) -> Result<Option<Arc<T>>, Error> {
    let Some(value) = read_value(d, Some(repository_id), defaults)? else { return Ok(None) };
    let of = value.value_type().repository_id;
    match view(value) {
        Some(value) => Ok(Some(value)),
        None => {
            Err(d.invalid("value", format!("a value of type {of}"), format!("a {repository_id}")))
        }
    }
}

/// Markers for IDL types, beside those of `corbie_cdr::idl`.
pub mod idl {
    use super::{
        Arc, Decoder, Encoder, Error, Marshal, TypeCode, Typed, read_value, valuetype, write_value,
    };
    use corbie_types::ValueModifier;

    /// The IDL type `ValueBase`: any value.
    #[derive(Debug)]
    pub enum ValueBase {}

    impl ValueBase {
        /// Writes a value given as a parameter.
        ///
        /// # Errors
        /// What cannot be sent.
        pub fn write(
            value: Option<&Arc<dyn valuetype::ValueBase>>,
            e: &mut Encoder<'_>,
        ) -> Result<(), Error> {
            write_value(value, e)
        }
    }

    impl Marshal for ValueBase {
        type Value = Option<Arc<dyn valuetype::ValueBase>>;
        const MIN_OCTETS: usize = 4;

        fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
            Self::write(value.as_ref(), e)
        }

        fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
            read_value(d, None, &[])
        }
    }

    impl Typed for ValueBase {
        fn type_code() -> TypeCode {
            let id = "IDL:omg.org/CORBA/ValueBase:1.0";
            TypeCode::value(id, "ValueBase", ValueModifier::None, None, &[])
        }
    }
}

/// The marker of a valuetype: `value_marker!(NodeIdl = dyn Node, "IDL:Node:1.0", [factories])`.
#[macro_export]
macro_rules! value_marker {
    ($marker:ident = $view:ty, $id:literal, [$($factory:expr),* $(,)?]) => {
        impl $marker {
            #[doc(hidden)]
            pub fn write(
                value: ::std::option::Option<&::std::sync::Arc<$view>>,
                e: &mut $crate::stubs::Encoder<'_>,
            ) -> $crate::stubs::Coded<()> {
                let value = value.map(|value| {
                    let value: ::std::sync::Arc<dyn $crate::values::valuetype::ValueBase> =
                        ::std::clone::Clone::clone(value) as _;
                    value
                });
                $crate::values::valuetype::write_value(value.as_ref(), e)
            }
        }

        impl $crate::stubs::Marshal for $marker {
            type Value = ::std::option::Option<::std::sync::Arc<$view>>;
            const MIN_OCTETS: usize = 4;
            fn encode<'a>(
                value: &'a Self::Value,
                e: &mut $crate::stubs::Encoder<'a>,
            ) -> $crate::stubs::Coded<()> {
                Self::write(value.as_ref(), e)
            }
            fn decode(d: &mut $crate::stubs::Decoder<'_>) -> $crate::stubs::Coded<Self::Value> {
                $crate::values::read_view(d, $id, &[$($factory),*])
            }
        }
    };
}

/// The values of a valuetype: `valuetype!(NodeValue: NodeIdl, NodeState, NodeOperations, plain,
/// ["IDL:Node:1.0"], [dyn Node])`.
#[macro_export]
macro_rules! valuetype {
    (
        $(#[$attribute:meta])*
        $value:ident: $marker:ty, $state:ty, $operations:path, $kind:ident,
        [$id:literal $(, $other:literal)*], [$($view:ty),* $(,)?]
    ) => {
        $(#[$attribute])*
        pub struct $value<CorbieOperations = ()> {
            state: $crate::values::State<$state>,
            operations: CorbieOperations,
        }

        impl $value {
            /// A value with this state, without operations of the application.
            pub fn new(state: $state) -> ::std::sync::Arc<Self> {
                Self::with((), state)
            }
        }

        impl<CorbieOperations> $value<CorbieOperations> {
            /// A value with these operations and this state.
            pub fn with(operations: CorbieOperations, state: $state) -> ::std::sync::Arc<Self> {
                let state = $crate::values::State::new(state);
                ::std::sync::Arc::new(Self { state, operations })
            }

            /// A value whose state is still to be set: the first of a cycle.
            pub fn empty(operations: CorbieOperations) -> ::std::sync::Arc<Self> {
                let state = $crate::values::State::empty();
                ::std::sync::Arc::new(Self { state, operations })
            }

            /// The place of the state, to set, change or take it.
            pub fn state(&self) -> &$crate::values::State<$state> {
                &self.state
            }

            /// What the application gave the value.
            pub fn operations(&self) -> &CorbieOperations {
                &self.operations
            }
        }

        impl<CorbieOperations: $operations> $value<CorbieOperations> {
            /// A factory whose values get their operations from `make`.
            pub fn factory(
                make: impl ::std::ops::Fn() -> CorbieOperations
                    + ::std::marker::Send
                    + ::std::marker::Sync
                    + 'static,
            ) -> $crate::values::valuetype::ValueFactory {
                let make = move || -> ::std::sync::Arc<dyn $crate::values::valuetype::ValueBase> {
                    Self::empty(make())
                };
                $crate::values::valuetype::ValueFactory::new(&Self::VALUE_TYPE, make)
            }

            const VALUE_TYPE: $crate::values::ValueType = $crate::values::ValueType {
                repository_id: $id,
                repository_ids: &[$id $(, $other)*],
                is_custom: $crate::valuetype!(@is_custom $kind),
                type_code: <$marker as $crate::stubs::Typed>::type_code,
            };
        }

        impl<CorbieOperations> ::std::fmt::Debug for $value<CorbieOperations> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                // Values may lead back to themselves.
                f.debug_struct(::std::stringify!($value)).finish_non_exhaustive()
            }
        }

        impl<CorbieOperations: $operations> $crate::values::valuetype::ValueBase
            for $value<CorbieOperations>
        {
            fn value_type(&self) -> &'static $crate::values::ValueType {
                &Self::VALUE_TYPE
            }

            fn encode_state(
                &self,
                e: &mut $crate::stubs::Encoder<'_>,
            ) -> $crate::stubs::Coded<()> {
                let ::std::option::Option::Some(state) = self.state.get() else {
                    return ::std::result::Result::Err($crate::values::no_state($id, e));
                };
                $crate::valuetype!(@write $kind $state, self, state, e)
            }

            fn decode_state(
                &self,
                d: &mut $crate::stubs::Decoder<'_>,
            ) -> $crate::stubs::Coded<()> {
                let state: $state = $crate::valuetype!(@read $kind $state, self, d)?;
                self.state.set(state);
                ::std::result::Result::Ok(())
            }

            fn as_view(
                self: ::std::sync::Arc<Self>,
                wanted: ::std::any::TypeId,
            ) -> ::std::option::Option<::std::boxed::Box<dyn ::std::any::Any>> {
                $(if wanted == ::std::any::TypeId::of::<::std::sync::Arc<$view>>() {
                    let view: ::std::sync::Arc<$view> = self;
                    return ::std::option::Option::Some(::std::boxed::Box::new(view));
                })*
                if wanted == ::std::any::TypeId::of::<::std::sync::Arc<Self>>() {
                    return ::std::option::Option::Some(::std::boxed::Box::new(self));
                }
                ::std::option::Option::None
            }
        }
    };
    (@is_custom plain) => { false };
    (@is_custom custom) => { true };
    (@write plain $state:ty, $value:ident, $own:ident, $e:ident) => {
        $e.copied(|e| <$state as $crate::stubs::Marshal>::encode(&$own, e))
    };
    (@write custom $state:ty, $value:ident, $own:ident, $e:ident) => {
        $e.copied(|e| $crate::values::CustomMarshal::<$state>::marshal(
            &$value.operations, &$own, e))
    };
    (@read plain $state:ty, $value:ident, $d:ident) => {
        <$state as $crate::stubs::Marshal>::decode($d)
    };
    (@read custom $state:ty, $value:ident, $d:ident) => {
        $crate::values::CustomMarshal::<$state>::unmarshal(&$value.operations, $d)
    };
}

/// A value box: `value_box!(Text: String, "IDL:Text:1.0")`.
#[macro_export]
macro_rules! value_box {
    ($name:ident: $boxed:ty, $id:literal) => {
        impl $name {
            const VALUE_TYPE: $crate::values::ValueType = $crate::values::ValueType {
                repository_id: $id,
                repository_ids: &[$id],
                is_custom: false,
                type_code: <Self as $crate::stubs::Typed>::type_code,
            };

            /// Reads boxes of this type.
            pub fn factory() -> $crate::values::valuetype::ValueFactory {
                $crate::values::valuetype::ValueFactory::of_box(&Self::VALUE_TYPE, |d| {
                    let boxed = <$boxed as $crate::stubs::Marshal>::decode(d)?;
                    ::std::result::Result::Ok(::std::sync::Arc::new($name(boxed)))
                })
            }
        }

        impl $crate::values::valuetype::ValueBase for $name {
            fn value_type(&self) -> &'static $crate::values::ValueType {
                &Self::VALUE_TYPE
            }

            fn encode_state(&self, e: &mut $crate::stubs::Encoder<'_>) -> $crate::stubs::Coded<()> {
                e.copied(|e| <$boxed as $crate::stubs::Marshal>::encode(&self.0, e))
            }

            fn decode_state(&self, d: &mut $crate::stubs::Decoder<'_>) -> $crate::stubs::Coded<()> {
                ::std::result::Result::Err(d.invalid("value box", "a state", "a box that is made"))
            }

            fn as_view(
                self: ::std::sync::Arc<Self>,
                wanted: ::std::any::TypeId,
            ) -> ::std::option::Option<::std::boxed::Box<dyn ::std::any::Any>> {
                (wanted == ::std::any::TypeId::of::<::std::sync::Arc<Self>>()).then(|| {
                    let view: ::std::boxed::Box<dyn ::std::any::Any> = ::std::boxed::Box::new(self);
                    view
                })
            }
        }

        $crate::value_marker!($name = $name, $id, [$name::factory]);
    };
}

/// An abstract interface: `abstract_interface!(Drawable, [factories])`.
#[macro_export]
macro_rules! abstract_interface {
    ($name:ident, [$($factory:expr),* $(,)?]) => {
        impl $crate::values::AbstractInterface for $name {
            const FACTORIES: &'static [fn() -> $crate::values::valuetype::ValueFactory] =
                &[$($factory),*];

            fn abstract_type_code() -> $crate::stubs::TypeCode {
                <$name as $crate::stubs::Typed>::type_code()
            }
        }
    };
}

/// The error for a value whose state was taken or never set.
#[cold]
pub fn no_state(repository_id: &str, e: &Encoder<'_>) -> Error {
    let found = format!("a {repository_id} without state");
    e.error(corbie_cdr::ErrorKind::BadParameter, "value", found, "one whose state is set")
}
