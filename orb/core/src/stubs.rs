//! What all generated stubs and skeletons share: making a call, reading and writing its results and
//! its user exceptions, and what a typed reference is beside its operations.
//!
//! Used only by code that `corbie_codegen` writes, through `corbie::codegen`. A stub says the types
//! of its results as markers ([`Results`]) and what it can fail with ([`Raised`]). CORBA 3.3 P2
//! §9.4.2 (requests), §9.4.3 (replies).

use crate::client::Reply;
use crate::server::{ResponseHandler, ServerRequest};
use crate::{Object, Operation};

pub use crate::client::{Members, Raised};
pub use crate::{Interface, decode_reference, encode_reference};
pub use corbie_cdr::{Decoder, Encoder, Error, Marshal, member};
pub use corbie_types::{SystemException, TypeCode, Typed};

/// The outcome of writing or reading a value.
pub type Coded<T> = Result<T, Error>;

/// A request as skeletons get it.
pub type Request<'r> = ServerRequest<'r>;

/// The outcome of serving a request.
pub type Done = Result<(), SystemException>;

/// Writes something to a message.
type Write<'w, 'a> = &'w dyn Fn(&mut Encoder<'a>) -> Result<(), Error>;

/// The results of an operation as they are in a reply: a tuple of markers, in the order of the IDL.
pub trait Results {
    /// Nothing, the only result, or a tuple.
    type Value;

    /// Writes them.
    ///
    /// # Errors
    /// As [`Marshal::encode`].
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error>;

    /// Reads them.
    ///
    /// # Errors
    /// As [`Marshal::decode`].
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error>;
}

impl Results for () {
    type Value = ();

    #[inline]
    fn encode((): &(), _e: &mut Encoder<'_>) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn decode(_d: &mut Decoder<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl<M: Marshal> Results for (M,) {
    type Value = M::Value;

    #[inline]
    fn encode<'a>(value: &'a M::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        M::encode(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<M::Value, Error> {
        M::decode(d)
    }
}

macro_rules! results_of {
    ($($marker:ident $at:tt),+) => {
        impl<$($marker: Marshal),+> Results for ($($marker),+) {
            type Value = ($($marker::Value),+);

            #[inline]
            fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
                $($marker::encode(&value.$at, e)?;)+
                Ok(())
            }

            #[inline]
            fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
                Ok(($($marker::decode(d)?),+))
            }
        }
    };
}

results_of!(A 0, B 1);
results_of!(A 0, B 1, C 2);
results_of!(A 0, B 1, C 2, D 3);
results_of!(A 0, B 1, C 2, D 3, F 4);
results_of!(A 0, B 1, C 2, D 3, F 4, G 5);
results_of!(A 0, B 1, C 2, D 3, F 4, G 5, H 6);
results_of!(A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7);

/// More results than a tuple of markers has: some, and then the others.
#[derive(Debug)]
pub struct Both<A, B>(std::marker::PhantomData<(A, B)>);

impl<A: Results, B: Results> Results for Both<A, B> {
    type Value = (A::Value, B::Value);

    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        A::encode(&value.0, e)?;
        B::encode(&value.1, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        Ok((A::decode(d)?, B::decode(d)?))
    }
}

/// Makes a call: on the servant, seen as `T`, where that may be ([`Object::call`]), else by a
/// message. `T` is `dyn QuoterServant`.
///
/// # Errors
/// What the operation raises, or why it was not reached.
#[inline]
pub fn call<'a, R: Results, E: Raised, T: ?Sized + 'static>(
    object: &Object,
    operation: &Operation,
    upcall: impl FnOnce(&T) -> Result<R::Value, E>,
    arguments: Write<'_, 'a>,
) -> Result<R::Value, E> {
    object.call(operation, upcall, || invoke::<R, E>(object, operation, arguments))
}

/// Makes a call by a message.
///
/// # Errors
/// As [`call`].
#[inline]
pub fn invoke<'a, R: Results, E: Raised>(
    object: &Object,
    operation: &Operation,
    arguments: Write<'_, 'a>,
) -> Result<R::Value, E> {
    finish::<R, E>(&mut object.invoke(operation, arguments)?)
}

/// Takes the results, or the exception, out of a reply.
///
/// # Errors
/// As [`call`].
#[inline]
pub fn finish<R: Results, E: Raised>(reply: &mut Reply) -> Result<R::Value, E> {
    match reply.is_user_exception() {
        true => Err(raised(reply)),
        false => Ok(reply.results(R::decode)?),
    }
}

#[cold]
fn raised<E: Raised>(reply: &mut Reply) -> E {
    let id = reply.user_exception().unwrap_or_default().to_owned();
    match E::read(&id, reply) {
        Some(Ok(exception)) => exception,
        Some(Err(exception)) => exception.into(),
        None => reply.unknown_user_exception().into(),
    }
}

/// Answers a request with what the servant returned.
///
/// # Errors
/// As [`ServerRequest::reply`]; the system exception that the servant raised.
#[inline]
pub fn answer<R: Results, E: Raised>(
    request: &mut ServerRequest<'_>,
    outcome: Result<R::Value, E>,
) -> Result<(), SystemException> {
    match outcome {
        Ok(value) => request.reply(&|e| R::encode(&value, e)),
        Err(exception) => raise(request, &exception),
    }
}

/// Answers a request whose answer was put off.
///
/// # Errors
/// As [`ResponseHandler::reply`].
pub fn answer_later<R: Results, E: Raised>(
    handler: ResponseHandler,
    outcome: Result<R::Value, E>,
) -> Result<(), SystemException> {
    match &outcome {
        Ok(value) => handler.reply(&|e| R::encode(value, e)),
        Err(raised) => match raised.user_exception() {
            Ok((id, members)) => handler.reply_exception(id, &|e| members.encode_members(e)),
            Err(exception) => handler.raise(exception),
        },
    }
}

#[cold]
fn raise<E: Raised>(request: &mut ServerRequest<'_>, raised: &E) -> Result<(), SystemException> {
    match raised.user_exception() {
        Ok((id, members)) => request.reply_exception(id, &|e| members.encode_members(e)),
        Err(exception) => Err(exception.clone()),
    }
}

/// What an error enum of an operation is, beside its variants: one for each user exception, and
/// `System`.
#[macro_export]
macro_rules! raised {
    ($name:ident: $($variant:ident($exception:ty)),* $(,)?) => {
        $(impl ::std::convert::From<$exception> for $name {
            fn from(exception: $exception) -> Self {
                Self::$variant(exception)
            }
        })*

        impl ::std::convert::From<$crate::stubs::SystemException> for $name {
            fn from(exception: $crate::stubs::SystemException) -> Self {
                Self::System(exception)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant(exception) => ::std::fmt::Display::fmt(exception, f),)*
                    Self::System(exception) => ::std::fmt::Display::fmt(exception, f),
                }
            }
        }

        impl ::std::error::Error for $name {
            fn source(
                &self,
            ) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                ::std::option::Option::Some(match self {
                    $(Self::$variant(exception) => exception,)*
                    Self::System(exception) => exception,
                })
            }
        }

        impl $crate::stubs::Raised for $name {
            fn read(
                id: &str,
                reply: &mut $crate::Reply,
            ) -> ::std::option::Option<
                ::std::result::Result<Self, $crate::stubs::SystemException>,
            > {
                $(if id == <$exception>::REPOSITORY_ID {
                    let read = reply.results(<$exception as $crate::stubs::Marshal>::decode);
                    return ::std::option::Option::Some(read.map(Self::$variant));
                })*
                let _ = (id, reply);
                ::std::option::Option::None
            }

            fn user_exception(
                &self,
            ) -> ::std::result::Result<
                (&'static str, &dyn $crate::stubs::Members),
                &$crate::stubs::SystemException,
            > {
                match self {
                    $(Self::$variant(exception) => {
                        ::std::result::Result::Ok((<$exception>::REPOSITORY_ID, exception))
                    })*
                    Self::System(exception) => ::std::result::Result::Err(exception),
                }
            }
        }
    };
}

/// `operation!("get_quote")`: an operation, made at compile time.
#[macro_export]
macro_rules! operation {
    ($name:literal) => {
        $crate::operation!(@ $crate::Operation::twoway($name))
    };
    (oneway $name:literal) => {
        $crate::operation!(@ $crate::Operation::oneway($name))
    };
    (@ $operation:expr) => {{
        static OPERATION: $crate::Operation = $operation;
        &OPERATION
    }};
}

/// `members!(Name { field "idl_name": Marker, … })`: a struct that is written and read member for
/// member. Errors of reading tell the member.
#[macro_export]
macro_rules! members {
    ($name:ident { $($field:ident $idl:literal: $marker:ty),* $(,)? }) => {
        impl $crate::stubs::Marshal for $name {
            type Value = Self;
            const MIN_OCTETS: usize = 0 $(+ <$marker as $crate::stubs::Marshal>::MIN_OCTETS)*;
            #[inline]
            fn encode<'a>(
                value: &'a Self,
                e: &mut $crate::stubs::Encoder<'a>,
            ) -> $crate::stubs::Coded<()> {
                $(<$marker as $crate::stubs::Marshal>::encode(&value.$field, e)?;)*
                let _ = (value, e);
                ::std::result::Result::Ok(())
            }
            #[inline]
            fn decode(d: &mut $crate::stubs::Decoder<'_>) -> $crate::stubs::Coded<Self> {
                let made = Self {
                    $($field: $crate::stubs::member!(
                        $idl,
                        <$marker as $crate::stubs::Marshal>::decode(d)
                    ),)*
                };
                let _ = d;
                ::std::result::Result::Ok(made)
            }
        }
    };
}

/// `typed!(Name, code)`: the TypeCode of a type, made when it is first asked for.
#[macro_export]
macro_rules! typed {
    ($name:ident, $code:expr) => {
        impl $crate::stubs::Typed for $name {
            fn type_code() -> $crate::stubs::TypeCode {
                static CODE: ::std::sync::LazyLock<$crate::stubs::TypeCode> =
                    ::std::sync::LazyLock::new(|| $code);
                CODE.clone()
            }
        }
    };
}

/// `alias!(Marker = Structural)`: a marker that is written and read as another.
#[macro_export]
macro_rules! alias {
    ($name:ident = $to:ty) => {
        impl $crate::stubs::Marshal for $name {
            type Value = <$to as $crate::stubs::Marshal>::Value;
            const MIN_OCTETS: usize = <$to as $crate::stubs::Marshal>::MIN_OCTETS;
            #[inline]
            fn encode<'a>(
                value: &'a Self::Value,
                e: &mut $crate::stubs::Encoder<'a>,
            ) -> $crate::stubs::Coded<()> {
                <$to as $crate::stubs::Marshal>::encode(value, e)
            }
            #[inline]
            fn decode(d: &mut $crate::stubs::Decoder<'_>) -> $crate::stubs::Coded<Self::Value> {
                <$to as $crate::stubs::Marshal>::decode(d)
            }
            fn encode_slice<'a>(
                values: &'a [Self::Value],
                e: &mut $crate::stubs::Encoder<'a>,
            ) -> $crate::stubs::Coded<()> {
                <$to as $crate::stubs::Marshal>::encode_slice(values, e)
            }
            fn decode_vec(
                n: usize,
                d: &mut $crate::stubs::Decoder<'_>,
            ) -> $crate::stubs::Coded<::std::vec::Vec<Self::Value>> {
                <$to as $crate::stubs::Marshal>::decode_vec(n, d)
            }
            fn decode_array<const N: usize>(
                d: &mut $crate::stubs::Decoder<'_>,
            ) -> $crate::stubs::Coded<[Self::Value; N]> {
                <$to as $crate::stubs::Marshal>::decode_array(d)
            }
        }
    };
}

/// What a typed reference is, beside its operations. `reference!(Quoter: "IDL:Stock/Quoter:1.0",
/// "Quoter", interface, [])`; a derived one holds that of its first base, and derefs to it.
#[macro_export]
macro_rules! reference {
    ($name:ident($base:ty): $($rest:tt)*) => {
        impl ::std::ops::Deref for $name {
            type Target = $base;
            fn deref(&self) -> &$base {
                &self.0
            }
        }
        $crate::reference!(@ $name ($base) $($rest)*);
    };
    ($name:ident: $($rest:tt)*) => {
        $crate::reference!(@ $name () $($rest)*);
    };
    (@ $name:ident $inner:tt $id:literal, $idl:literal, $kind:ident,
        [$($base:ty = $base_id:literal),* $(,)?]
    ) => {
        impl $crate::stubs::Interface for $name {
            const REPOSITORY_ID: &'static str = $id;
            const BASES: &'static [&'static str] = &[$($base_id),*];
            #[inline]
            fn from_object(object: $crate::Object) -> Self {
                Self($crate::reference!(@from $inner object))
            }
            #[inline]
            fn as_object(&self) -> &$crate::Object {
                $crate::reference!(@as $inner (&self.0))
            }
            #[inline]
            fn into_object(self) -> $crate::Object {
                $crate::reference!(@into $inner (self.0))
            }
        }

        impl $name {
            /// What names this interface on the wire.
            pub const REPOSITORY_ID: &'static str = $id;

            /// This interface of `object`, `None` if it has no such interface. Asks the object
            /// unless its reference says.
            ///
            /// # Errors
            /// The system exception of asking.
            pub fn narrow(
                object: &$crate::Object,
            ) -> ::std::result::Result<
                ::std::option::Option<Self>,
                $crate::stubs::SystemException,
            > {
                <Self as $crate::stubs::Interface>::narrow(object)
            }

            /// This interface of `object` on the caller's word.
            pub fn unchecked_narrow(object: $crate::Object) -> Self {
                <Self as $crate::stubs::Interface>::from_object(object)
            }

            /// The reference without its type.
            #[inline]
            pub fn as_object(&self) -> &$crate::Object {
                <Self as $crate::stubs::Interface>::as_object(self)
            }

            /// The reference without its type.
            pub fn into_object(self) -> $crate::Object {
                <Self as $crate::stubs::Interface>::into_object(self)
            }
        }

        impl ::std::convert::From<$name> for $crate::Object {
            fn from(reference: $name) -> Self {
                reference.into_object()
            }
        }

        $(impl ::std::convert::From<$name> for $base {
            fn from(derived: $name) -> Self {
                <Self as $crate::stubs::Interface>::from_object(derived.into_object())
            }
        })*

        $crate::reference!(@marshal $name);

        $crate::typed!($name, $crate::stubs::TypeCode::$kind($id, $idl));
    };
    (@from () $object:ident) => { $object };
    (@from ($base:ty) $object:ident) => {
        <$base as $crate::stubs::Interface>::from_object($object)
    };
    (@as () ($inner:expr)) => { $inner };
    (@as ($base:ty) ($inner:expr)) => {
        <$base as $crate::stubs::Interface>::as_object($inner)
    };
    (@into () ($inner:expr)) => { $inner };
    (@into ($base:ty) ($inner:expr)) => {
        <$base as $crate::stubs::Interface>::into_object($inner)
    };
    (@marshal $name:ident) => {
        impl $crate::stubs::Marshal for $name {
            type Value = ::std::option::Option<Self>;
            const MIN_OCTETS: usize = <$crate::Object as $crate::stubs::Marshal>::MIN_OCTETS;
            fn encode<'a>(
                value: &'a Self::Value,
                e: &mut $crate::stubs::Encoder<'a>,
            ) -> ::std::result::Result<(), $crate::stubs::Error> {
                $crate::stubs::encode_reference(value, e)
            }
            fn decode(
                d: &mut $crate::stubs::Decoder<'_>,
            ) -> ::std::result::Result<Self::Value, $crate::stubs::Error> {
                $crate::stubs::decode_reference(d)
            }
        }
    };
}
