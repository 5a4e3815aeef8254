//! Values of the primitive types, made from their table: read, written, copied, counted. Called
//! by the codecs of `Value` and `Any`, and by tools that know types only at run time.

use corbie_cdr::primitive_types::*;
use corbie_cdr::{Decoder, Encoder, Error, Marshal, MarshalCopy};

use super::Value;
use crate::TcKind;
use crate::type_code::Ordinal;

macro_rules! primitive_values {
    (
        kinds { $($kind:ident $rust:ident $type_code:tt $codec:tt $facts:tt;)+ }
        $aliases:ident $rows:tt
    ) => {
        /// Reads a value of this kind; `None` when the kind is not primitive.
        #[inline]
        pub(super) fn read(kind: TcKind, d: &mut Decoder<'_>) -> Option<Result<Value, Error>> {
            Some(match kind {
                $(TcKind::$kind => <$rust>::decode(d).map(Value::$kind),)+
                _ => return None,
            })
        }

        /// Writes a value of this kind; `None` when the kind is not primitive or the value is of
        /// another one.
        #[inline]
        pub(super) fn write(
            kind: TcKind,
            value: &Value,
            e: &mut Encoder<'_>,
        ) -> Option<Result<(), Error>> {
            Some(match (kind, value) {
                $((TcKind::$kind, Value::$kind(value)) => value.write(e),)+
                _ => return None,
            })
        }

        /// Reads a value of this kind, and writes it again if asked; `None` when the kind is not
        /// primitive.
        #[inline]
        pub(super) fn copy(
            kind: TcKind,
            d: &mut Decoder<'_>,
            to: Option<&mut Encoder<'_>>,
        ) -> Option<Result<(), Error>> {
            Some(match kind {
                $(TcKind::$kind => <$rust>::decode(d).and_then(|value| match to {
                    Some(e) => value.write(e),
                    None => Ok(()),
                }),)+
                _ => return None,
            })
        }

        impl Value {
            /// The kind of a value of a primitive type; `None` for the others.
            #[must_use]
            pub fn primitive_kind(&self) -> Option<TcKind> {
                match self { $(Self::$kind(_) => Some(TcKind::$kind),)+ _ => None }
            }

            /// The value of a primitive kind that is 0 or `FALSE`; `None` for the other kinds.
            #[must_use]
            pub fn zero(kind: TcKind) -> Option<Self> {
                match kind { $(TcKind::$kind => Some(Self::$kind(Default::default())),)+ _ => None }
            }

            /// The value as a number, as labels of unions are: an integer itself, of a boolean 0
            /// or 1, of a character its code, of an enumerator its position. `None` for the
            /// others.
            #[must_use]
            pub fn ordinal(&self) -> Option<i128> {
                match self {
                    $(Self::$kind(value) => value.ordinal(),)+
                    Self::Enum(position) => Some((*position).into()),
                    _ => None,
                }
            }

            /// The value of this kind with that number, as [`Value::ordinal`] tells it; `None`
            /// when there is none. How many enumerators there are is not checked.
            #[must_use]
            pub fn from_ordinal(kind: TcKind, number: i128) -> Option<Self> {
                match kind {
                    $(TcKind::$kind => <$rust>::from_ordinal(number).map(Self::$kind),)+
                    TcKind::Enum => number.try_into().ok().map(Self::Enum),
                    _ => None,
                }
            }
        }
    };
}
corbie_primitives::primitives!(primitive_values);
