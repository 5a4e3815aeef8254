//! Markers for the IDL types that their Rust value does not tell: wide and bounded strings,
//! sequences and arrays. Named by generated code; never constructed. The values stay plain
//! (`String`, `Vec<T>`, `[T; N]`); bounds are checked on both sides (CORBA 3.3 P2 §9.3.2).

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::{Decoder, Encoder, Error, Marshal};

pub use crate::Fixed as FixedPoint;

/// `wstring`, as `String`.
#[derive(Debug)]
pub enum Wstring {}

/// `string<N>`, as `String` of at most `N` characters.
#[derive(Debug)]
pub enum BoundedString<const N: u32> {}

/// `wstring<N>`, as `String` of at most `N` UTF-16 code units.
#[derive(Debug)]
pub enum BoundedWstring<const N: u32> {}

/// `sequence<M>`, as `Vec`.
#[derive(Debug)]
pub struct Sequence<M>(PhantomData<M>);

/// `sequence<M, N>`, as `Vec` of at most `N` elements.
#[derive(Debug)]
pub struct BoundedSequence<M, const N: u32>(PhantomData<M>);

/// One dimension of an array; several dimensions are an array of arrays.
#[derive(Debug)]
pub struct Array<M, const N: usize>(PhantomData<M>);

/// One dimension of an array too large for the stack, as `Box<[T; N]>`.
#[derive(Debug)]
pub struct BoxedArray<M, const N: usize>(PhantomData<M>);

impl Marshal for Wstring {
    type Value = String;
    /// The length of an empty one in GIOP 1.2.
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode(value: &String, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_wstring(value)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<String, Error> {
        d.read_wstring()
    }
}

/// Characters beyond a bound, if so. A text has at most as many characters as octets.
#[inline]
fn excess_characters(text: &str, bound: u32) -> Option<usize> {
    if text.len() <= bound as usize {
        return None;
    }
    let characters = text.chars().count();
    (characters > bound as usize).then_some(characters)
}

#[inline]
fn excess_units(text: &str, bound: u32) -> Option<usize> {
    if text.len() <= bound as usize {
        return None;
    }
    let units = text.encode_utf16().count();
    (units > bound as usize).then_some(units)
}

impl<const N: u32> BoundedString<N> {
    /// Writes a bounded string.
    ///
    /// # Errors
    /// `BadParameter` beyond the bound, and as [`Encoder::write_string`].
    #[inline]
    pub fn write(value: &str, e: &mut Encoder<'_>) -> Result<(), Error> {
        match excess_characters(value, N) {
            None => e.write_string(value),
            Some(length) => Err(e.bound_exceeded("string", length, N as usize)),
        }
    }

    /// Reads a bounded string.
    ///
    /// # Errors
    /// `InvalidValue` beyond the bound, and as [`Decoder::read_string`].
    #[inline]
    pub fn read<'a>(d: &mut Decoder<'a>) -> Result<Cow<'a, str>, Error> {
        let text = d.read_string()?;
        match excess_characters(&text, N) {
            None => Ok(text),
            Some(length) => Err(d.bound_exceeded("string", length, N as usize)),
        }
    }
}

impl<const N: u32> Marshal for BoundedString<N> {
    type Value = String;
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode(value: &String, e: &mut Encoder<'_>) -> Result<(), Error> {
        Self::write(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<String, Error> {
        Self::read(d).map(Cow::into_owned)
    }
}

impl<const N: u32> BoundedWstring<N> {
    /// Writes a bounded wide string.
    ///
    /// # Errors
    /// `BadParameter` beyond the bound, and as [`Encoder::write_wstring`].
    #[inline]
    pub fn write(value: &str, e: &mut Encoder<'_>) -> Result<(), Error> {
        match excess_units(value, N) {
            None => e.write_wstring(value),
            Some(length) => Err(e.bound_exceeded("wstring", length, N as usize)),
        }
    }
}

impl<const N: u32> Marshal for BoundedWstring<N> {
    type Value = String;
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode(value: &String, e: &mut Encoder<'_>) -> Result<(), Error> {
        Self::write(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<String, Error> {
        let text = d.read_wstring()?;
        match excess_units(&text, N) {
            None => Ok(text),
            Some(length) => Err(d.bound_exceeded("wstring", length, N as usize)),
        }
    }
}

impl<M: Marshal> Sequence<M> {
    /// Writes a sequence from a slice: what `in` parameters are.
    ///
    /// # Errors
    /// As the elements' [`Marshal::encode`].
    #[inline]
    pub fn write<'a>(values: &'a [M::Value], e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_length(values.len())?;
        M::encode_slice(values, e)
    }
}

impl<M: Marshal> Marshal for Sequence<M> {
    type Value = Vec<M::Value>;
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        Self::write(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        let length = d.read_length(M::MIN_OCTETS)?;
        M::decode_vec(length, d)
    }
}

impl<M: Marshal, const N: u32> BoundedSequence<M, N> {
    /// Writes a bounded sequence from a slice: what `in` parameters are.
    ///
    /// # Errors
    /// `BadParameter` beyond the bound, and as the elements' [`Marshal::encode`].
    #[inline]
    pub fn write<'a>(values: &'a [M::Value], e: &mut Encoder<'a>) -> Result<(), Error> {
        if values.len() > N as usize {
            return Err(e.bound_exceeded("sequence", values.len(), N as usize));
        }
        Sequence::<M>::write(values, e)
    }
}

impl<const N: u32> BoundedSequence<u8, N> {
    /// Reads a bounded sequence of octets in place: what servants get as an `in` parameter.
    ///
    /// # Errors
    /// `InvalidValue` beyond the bound, and as [`Decoder::read_octet_sequence`].
    #[inline]
    pub fn read<'d>(d: &mut Decoder<'d>) -> Result<&'d [u8], Error> {
        let length = d.read_length(1)?;
        if length > N as usize {
            return Err(d.bound_exceeded("sequence", length, N as usize));
        }
        d.read_octets(length)
    }
}

impl<M: Marshal, const N: u32> Marshal for BoundedSequence<M, N> {
    type Value = Vec<M::Value>;
    const MIN_OCTETS: usize = 4;

    #[inline]
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        Self::write(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        let length = d.read_length(M::MIN_OCTETS)?;
        if length > N as usize {
            return Err(d.bound_exceeded("sequence", length, N as usize));
        }
        M::decode_vec(length, d)
    }
}

impl<M: Marshal, const N: usize> Marshal for Array<M, N> {
    type Value = [M::Value; N];
    const MIN_OCTETS: usize = M::MIN_OCTETS.saturating_mul(N);

    #[inline]
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        M::encode_slice(value, e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        M::decode_array(d)
    }
}

impl<M: Marshal, const N: usize> Marshal for BoxedArray<M, N> {
    type Value = Box<[M::Value; N]>;
    const MIN_OCTETS: usize = M::MIN_OCTETS.saturating_mul(N);

    #[inline]
    fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
        M::encode_slice(&value[..], e)
    }

    #[inline]
    fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
        let values = M::decode_vec(N, d)?.into_boxed_slice();
        values.try_into().map_err(|_| d.invalid("array", "too few elements", "all elements"))
    }
}
