//! Joins IDL types to encoder and decoder. Implemented here for the basic types, in
//! [`idl`](crate::idl) for what needs a marker, and by generated code for the rest.

use arrayvec::ArrayVec;

use crate::{ByteOrder, Decoder, Encoder, Error, LongDouble, WChar};

/// An IDL type as a marker: how its Rust value is put on the wire and taken off it.
///
/// Basic types and user-defined types are their own markers (`Value = Self`); where the Rust
/// type does not tell (bounds, wide strings) the marker stands in [`idl`](crate::idl).
pub trait Marshal {
    /// The Rust value.
    type Value;

    /// Octets of the smallest encoding, padding not counted: what a claimed length is checked
    /// against before anything is allocated. 0 only when an encoding can really be empty.
    const MIN_OCTETS: usize;

    /// Writes one value.
    ///
    /// # Errors
    /// When the value cannot be sent: see [`ErrorKind`](crate::ErrorKind).
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error>;

    /// Reads one value.
    ///
    /// # Errors
    /// When the octets are no such value: see [`ErrorKind`](crate::ErrorKind).
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error>;

    /// Writes the elements of a sequence or array, without length.
    ///
    /// # Errors
    /// As [`Marshal::encode`].
    #[inline]
    fn encode_slice<'a>(values: &'a [Self::Value], e: &mut Encoder<'a>) -> Result<(), Error> {
        values.iter().try_for_each(|value| Self::encode(value, e))
    }

    /// Reads `n` elements of a sequence; `n` comes from [`Decoder::read_length`].
    ///
    /// # Errors
    /// As [`Marshal::decode`]; `LimitExceeded` when nested too deeply.
    #[inline]
    fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self::Value>, Error> {
        d.nested(|d| {
            // A string of 4 octets takes 24 in memory: reserve little, grow with what comes.
            let reserve = PREALLOCATED_OCTETS / size_of::<Self::Value>().max(1);
            let mut values = Vec::with_capacity(n.min(reserve));
            for _ in 0..n {
                values.push(Self::decode(d)?);
            }
            Ok(values)
        })
    }

    /// Reads the elements of an array.
    ///
    /// # Errors
    /// As [`Marshal::decode`].
    #[inline]
    fn decode_array<const N: usize>(d: &mut Decoder<'_>) -> Result<[Self::Value; N], Error>
    where
        Self: Sized,
    {
        elementwise::<Self, N>(d)
    }
}

/// Reads `n` elements one by one, as they may lie in several chunks of a value.
#[cold]
fn gathered<M: Marshal>(n: usize, d: &mut Decoder<'_>) -> Result<Vec<M::Value>, Error> {
    (0..n).map(|_| M::decode(d)).collect()
}

/// The elements of an array, one by one.
fn elementwise<M: Marshal, const N: usize>(d: &mut Decoder<'_>) -> Result<[M::Value; N], Error> {
    let mut values = ArrayVec::new();
    for _ in 0..N {
        values.push(M::decode(d)?);
    }
    values.into_inner().map_err(|_| d.invalid("array", "too few elements", "all elements"))
}

/// Memory that a claimed length may reserve before its elements were seen.
const PREALLOCATED_OCTETS: usize = 1 << 20;

macro_rules! marshal_plain {
    (plain $type:ident $read:ident $write:ident) => {
        impl Marshal for $type {
            type Value = Self;
            const MIN_OCTETS: usize = size_of::<$type>();

            #[inline]
            fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
                e.$write(*value);
                Ok(())
            }

            #[inline]
            fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
                d.$read()
            }

            #[inline]
            fn encode_slice<'a>(values: &'a [Self], e: &mut Encoder<'a>) -> Result<(), Error> {
                if values.is_empty() {
                    return Ok(());
                }
                e.align(size_of::<Self>());
                if e.order().is_swapped() {
                    e.write_converted(values, |value| {
                        let mut octets = value.to_ne_bytes();
                        octets.reverse();
                        octets
                    });
                } else {
                    e.write_borrowed_octets(bytemuck::cast_slice(values));
                }
                Ok(())
            }

            #[inline]
            fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
                const SIZE: usize = size_of::<$type>();
                if d.is_in_chunks() {
                    return gathered::<Self>(n, d);
                }
                let elements = d.read_elements::<SIZE>(n, SIZE)?.iter();
                Ok(match d.order() {
                    ByteOrder::BigEndian => elements.map(|o| Self::from_be_bytes(*o)).collect(),
                    ByteOrder::LittleEndian => elements.map(|o| Self::from_le_bytes(*o)).collect(),
                })
            }

            #[inline]
            fn decode_array<const N: usize>(d: &mut Decoder<'_>) -> Result<[Self; N], Error> {
                const SIZE: usize = size_of::<$type>();
                if d.is_in_chunks() {
                    return elementwise::<Self, N>(d);
                }
                let elements = d.read_elements::<SIZE>(N, SIZE)?;
                let mut values = [Self::default(); N];
                for (value, octets) in values.iter_mut().zip(elements) {
                    *value = match d.order() {
                        ByteOrder::BigEndian => Self::from_be_bytes(*octets),
                        ByteOrder::LittleEndian => Self::from_le_bytes(*octets),
                    };
                }
                Ok(values)
            }
        }
    };
    (own $($_rest:tt)+) => {};
}

/// A primitive type, whose values are written from copies: nothing is borrowed.
pub trait MarshalCopy: Marshal<Value = Self> + Copy + Default {
    /// Writes it.
    ///
    /// # Errors
    /// As [`Marshal::encode`].
    fn write(self, e: &mut Encoder<'_>) -> Result<(), Error>;
}

/// What a method that writes returns: nothing where it cannot fail.
trait Written {
    fn outcome(self) -> Result<(), Error>;
}

impl Written for () {
    #[inline]
    fn outcome(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Written for Result<(), Error> {
    #[inline]
    fn outcome(self) -> Result<(), Error> {
        self
    }
}

macro_rules! marshal_primitives {
    (
        kinds { $(
            $kind:ident $type:ident $type_code:tt ($read:ident $write:ident $codec:ident)
            $facts:tt;
        )+ }
        $aliases:ident $rows:tt
    ) => {
        $(
            impl MarshalCopy for $type {
                #[inline]
                fn write(self, e: &mut Encoder<'_>) -> Result<(), Error> {
                    e.$write(self).outcome()
                }
            }
            marshal_plain! { $codec $type $read $write }
        )+
    };
}
corbie_primitives::primitives!(marshal_primitives);
marshal_plain! { plain i8 read_int8 write_int8 }

impl Marshal for u8 {
    type Value = Self;
    const MIN_OCTETS: usize = 1;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_octet(*value);
        Ok(())
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_octet()
    }

    #[inline]
    fn encode_slice<'a>(values: &'a [Self], e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_borrowed_octets(values);
        Ok(())
    }

    #[inline]
    fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
        if d.is_in_chunks() {
            return d.gathered_octets(n);
        }
        d.read_octets(n).map(<[u8]>::to_vec)
    }

    #[inline]
    fn decode_array<const N: usize>(d: &mut Decoder<'_>) -> Result<[Self; N], Error> {
        if d.is_in_chunks() {
            return elementwise::<Self, N>(d);
        }
        let mut values = [0; N];
        values.copy_from_slice(d.read_octets(N)?);
        Ok(values)
    }
}

impl Marshal for bool {
    type Value = Self;
    const MIN_OCTETS: usize = 1;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_boolean(*value);
        Ok(())
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_boolean()
    }

    #[inline]
    fn encode_slice<'a>(values: &'a [Self], e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_converted(values, |value| [u8::from(value)]);
        Ok(())
    }

    #[inline]
    fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
        if d.is_in_chunks() {
            return gathered::<Self>(n, d);
        }
        let octets = d.read_octets(n)?;
        match octets.iter().find(|octet| **octet > 1) {
            Some(octet) => Err(d.invalid_boolean(*octet)),
            None => Ok(octets.iter().map(|octet| *octet == 1).collect()),
        }
    }
}

impl Marshal for char {
    type Value = Self;
    const MIN_OCTETS: usize = 1;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_char(*value)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_char()
    }

    #[inline]
    fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
        if d.is_in_chunks() {
            return gathered::<Self>(n, d);
        }
        let octets = d.read_octets(n)?;
        octets.iter().map(|octet| d.char_of(*octet)).collect()
    }
}

impl Marshal for WChar {
    type Value = Self;
    /// Two octets in GIOP 1.1; one more in 1.2.
    const MIN_OCTETS: usize = 2;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_wchar(*value)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_wchar()
    }
}

impl Marshal for LongDouble {
    type Value = Self;
    const MIN_OCTETS: usize = 16;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_longdouble(*value);
        Ok(())
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_longdouble()
    }

    #[inline]
    fn decode_vec(n: usize, d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
        if d.is_in_chunks() {
            return gathered::<Self>(n, d);
        }
        let elements = d.read_elements::<16>(n, 8)?.iter();
        Ok(match d.order() {
            ByteOrder::BigEndian => {
                elements.map(|o| Self::from_bits(u128::from_be_bytes(*o))).collect()
            }
            ByteOrder::LittleEndian => {
                elements.map(|o| Self::from_bits(u128::from_le_bytes(*o))).collect()
            }
        })
    }
}

impl Marshal for String {
    type Value = Self;
    /// The length; some ORBs send an empty string as length 0.
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_string(value)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.read_string().map(std::borrow::Cow::into_owned)
    }
}

/// `void`: no octets.
impl Marshal for () {
    type Value = Self;
    const MIN_OCTETS: usize = 0;

    #[inline]
    fn encode((): &Self, _: &mut Encoder<'_>) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn decode(_: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(())
    }
}

/// The same octets; for members that would make a type infinitely large.
impl<M: Marshal> Marshal for Box<M> {
    type Value = Box<M::Value>;
    const MIN_OCTETS: usize = M::MIN_OCTETS;

    #[inline]
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        M::encode(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        d.nested(|d| M::decode(d)).map(Box::new)
    }
}
