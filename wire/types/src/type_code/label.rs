//! Labels of unions as numbers (CORBA 3.3 P1 §14.8.2): of a boolean 0 and 1, of a character its
//! code, of an enumerator its position. Used by the codec of TypeCodes and by dynamic values.

use std::ops::RangeInclusive;

use corbie_cdr::primitive_types::*;
use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, Marshal, MarshalCopy};

use super::{TcKind, TypeCode};

/// A primitive type whose values can be counted, or cannot.
pub(crate) trait Ordinal: MarshalCopy {
    /// The number of a value; `None` for floating point numbers.
    fn ordinal(self) -> Option<i128>;

    /// The value with this number, if there is one.
    fn from_ordinal(number: i128) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ty)+) => {$(
        impl Ordinal for $integer {
            fn ordinal(self) -> Option<i128> {
                Some(self.into())
            }

            fn from_ordinal(number: i128) -> Option<Self> {
                number.try_into().ok()
            }
        }
    )+};
}
integers! { u8 i16 u16 i32 u32 i64 u64 }

impl Ordinal for bool {
    fn ordinal(self) -> Option<i128> {
        Some(self.into())
    }

    fn from_ordinal(number: i128) -> Option<Self> {
        matches!(number, 0 | 1).then_some(number == 1)
    }
}

impl Ordinal for char {
    fn ordinal(self) -> Option<i128> {
        Some(u32::from(self).into())
    }

    fn from_ordinal(number: i128) -> Option<Self> {
        u32::try_from(number).ok().and_then(Self::from_u32)
    }
}

impl Ordinal for WChar {
    fn ordinal(self) -> Option<i128> {
        Some(self.0.into())
    }

    fn from_ordinal(number: i128) -> Option<Self> {
        number.try_into().ok().map(Self)
    }
}

macro_rules! floating {
    ($($floating:ty)+) => {$(
        impl Ordinal for $floating {
            fn ordinal(self) -> Option<i128> {
                None
            }

            fn from_ordinal(_: i128) -> Option<Self> {
                None
            }
        }
    )+};
}
floating! { f32 f64 LongDouble }

macro_rules! labels {
    (
        kinds { $($kind:ident $rust:ident $type_code:tt $codec:tt $facts:tt;)+ }
        $aliases:ident $rows:tt
    ) => {
        fn read_ordinal(kind: TcKind, d: &mut Decoder<'_>) -> Result<Option<i128>, Error> {
            match kind {
                $(TcKind::$kind => <$rust>::decode(d).map(Ordinal::ordinal),)+
                _ => Ok(None),
            }
        }

        /// Whether there is such a value; it is written then.
        fn write_ordinal(kind: TcKind, number: i128, e: &mut Encoder<'_>) -> Result<bool, Error> {
            match kind {
                $(TcKind::$kind => match <$rust>::from_ordinal(number) {
                    Some(value) => value.write(e).map(|()| true),
                    None => Ok(false),
                },)+
                _ => Ok(false),
            }
        }
    };
}
corbie_primitives::primitives!(labels);

/// The numbers that can be labels; `None` when the type cannot be a discriminator.
pub(super) fn label_range(discriminator: &TypeCode) -> Option<RangeInclusive<i128>> {
    let plain = discriminator.unaliased()?;
    match plain.kind() {
        TcKind::Enum => Some(0..=i128::from(plain.enumerator_count()) - 1),
        kind => kind.primitive()?.label_range().map(|(least, most)| least..=most),
    }
}

/// Reads a value of a union's discriminator as a number; see [`TypeCode::union`].
pub(crate) fn read_label(discriminator: &TypeCode, d: &mut Decoder<'_>) -> Result<i128, Error> {
    let plain = discriminator.unaliased().unwrap_or_default();
    if plain.kind() == TcKind::Enum {
        let value = d.read_ulong()?;
        if value >= plain.enumerator_count() {
            let found = format!("the value {value}");
            let needed = format!("less than {}", plain.enumerator_count());
            return Err(d.invalid(format!("{plain}"), found, needed));
        }
        return Ok(value.into());
    }
    let can_be_label = plain.kind().primitive().is_some_and(|p| p.label_range().is_some());
    let label = if can_be_label { read_ordinal(plain.kind(), d)? } else { None };
    label.ok_or_else(|| {
        let (found, needed) = not_a_discriminator(discriminator);
        d.error(ErrorKind::BadTypeCode, "union discriminator", found, needed)
    })
}

/// Writes a value of a union's discriminator.
pub(crate) fn write_label(
    discriminator: &TypeCode,
    value: i128,
    e: &mut Encoder<'_>,
) -> Result<(), Error> {
    let kind = discriminator.unaliased().map_or(TcKind::Null, |plain| plain.kind());
    let written = match kind {
        TcKind::Enum => write_ordinal(TcKind::ULong, value, e)?,
        _ if kind.primitive().is_some_and(|p| p.label_range().is_some()) => {
            write_ordinal(kind, value, e)?
        }
        _ => {
            let (found, needed) = not_a_discriminator(discriminator);
            return Err(e.error(ErrorKind::BadTypeCode, "union discriminator", found, needed));
        }
    };
    if written {
        return Ok(());
    }
    let needed = format!("a value of {discriminator}");
    Err(e.error(ErrorKind::BadParameter, "union discriminator", format!("{value}"), needed))
}

fn not_a_discriminator(found: &TypeCode) -> (String, &'static str) {
    (found.to_string(), "an integer, boolean, character or enum")
}
