//! The value of an IDL `fixed<D, S>`: a decimal number of D digits, S of them after the point.
//! On the wire: packed decimal with a sign nibble (CORBA 3.3 P2 §9.3.2.8).

use std::fmt;
use std::str::FromStr;

use crate::{Decoder, Encoder, Error, ErrorKind, Marshal};

/// An IDL `fixed<D, S>`: `D` decimal digits (1 to 31), the decimal point `S` digits from the
/// right (negative: zeros to be appended). Every value has at most `D` digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fixed<const D: u16, const S: i16>(
    /// The digits without the point; `|digits| < 10^D`.
    i128,
);

/// Why a number is no `fixed<D, S>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixedError {
    /// It needs more digits than `D`.
    TooManyDigits,
    /// It has digits behind the last place that `S` keeps.
    Inexact,
    /// It is no decimal number.
    NotANumber,
}

impl fmt::Display for FixedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyDigits => "the number has more digits than its fixed type",
            Self::Inexact => "the number has digits behind the last place of its fixed type",
            Self::NotANumber => "a decimal number such as -12.50 was expected",
        })
    }
}

impl std::error::Error for FixedError {}

/// Most digits of a `fixed` (CORBA 3.3 P1 §7.11.3.4).
const MAX_DIGITS: u16 = 31;

const fn power_of_ten(exponent: u16) -> i128 {
    let exponent = if exponent < MAX_DIGITS { exponent } else { MAX_DIGITS };
    10i128.pow(exponent as u32)
}

impl<const D: u16, const S: i16> Fixed<D, S> {
    /// From its digits without the point: 1250 is 12.50 when `S` is 2.
    ///
    /// # Errors
    /// `TooManyDigits` when it has more than `D`.
    pub const fn from_digits(digits: i128) -> Result<Self, FixedError> {
        if digits.unsigned_abs() >= power_of_ten(D).unsigned_abs() {
            return Err(FixedError::TooManyDigits);
        }
        Ok(Self(digits))
    }

    /// Its digits without the point.
    #[must_use]
    pub const fn digits(self) -> i128 {
        self.0
    }

    /// The nearest `f64`, or close to it: for display and estimates, not for money.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 10f64.powi(i32::from(S))
    }
}

impl<const D: u16, const S: i16> fmt::Display for Fixed<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let digits = self.0.unsigned_abs();
        if S <= 0 {
            let zeros = if digits == 0 { 0 } else { usize::from(S.unsigned_abs()) };
            return write!(f, "{sign}{digits}{:0<zeros$}", "");
        }
        let places = usize::from(S.unsigned_abs());
        let text = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = text.split_at(text.len() - places);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

impl<const D: u16, const S: i16> fmt::Debug for Fixed<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<const D: u16, const S: i16> FromStr for Fixed<D, S> {
    type Err = FixedError;

    /// Reads `-12.5`, with or without the `d` that ends an IDL literal.
    fn from_str(text: &str) -> Result<Self, FixedError> {
        let text = text.strip_suffix(['d', 'D']).unwrap_or(text);
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.len() + fraction.len() == 0 {
            return Err(FixedError::NotANumber);
        }
        let mut digits: i128 = 0;
        for (index, octet) in whole.bytes().chain(fraction.bytes()).enumerate() {
            if !octet.is_ascii_digit() {
                return Err(FixedError::NotANumber);
            }
            // The power of ten of this digit, counted from the last place kept.
            let place = whole.len() as i64 - 1 - index as i64 + i64::from(S);
            match (place, octet - b'0') {
                (_, 0) => {}
                (..0, _) => return Err(FixedError::Inexact),
                (31.., _) => return Err(FixedError::TooManyDigits),
                (place, digit) => digits += i128::from(digit) * 10i128.pow(place as u32),
            }
        }
        Self::from_digits(if negative { -digits } else { digits })
    }
}

impl<const D: u16, const S: i16> Marshal for Fixed<D, S> {
    type Value = Self;
    const MIN_OCTETS: usize = octets_of(D);

    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        encode_fixed(value.0, D, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        decode_fixed(D, d).map(Self)
    }
}

const fn octets_of(digits: u16) -> usize {
    digits as usize / 2 + 1
}

/// Writes `value` as packed decimal of `digits` digits and a sign nibble, for types known only
/// at run time.
///
/// # Errors
/// `BadParameter` when it has more digits, or `digits` is beyond 31.
pub fn encode_fixed(value: i128, digits: u16, e: &mut Encoder<'_>) -> Result<(), Error> {
    if digits > MAX_DIGITS || value.unsigned_abs() >= power_of_ten(digits).unsigned_abs() {
        let needed = format!("at most {} digits", digits.min(MAX_DIGITS));
        return Err(e.error(ErrorKind::BadParameter, "fixed", format!("{value}"), needed));
    }
    let mut packed = [0u8; octets_of(MAX_DIGITS)];
    let mut rest = value.unsigned_abs();
    let mut nibble = if value < 0 { 0xd } else { 0xc };
    let used = packed.get_mut(..octets_of(digits)).unwrap_or_default();
    for octet in used.iter_mut().rev() {
        *octet = nibble | ((rest % 10) as u8) << 4;
        rest /= 10;
        nibble = (rest % 10) as u8;
        rest /= 10;
    }
    e.write_octets(used);
    Ok(())
}

/// Reads packed decimal of `digits` digits and a sign nibble.
///
/// # Errors
/// `UnexpectedEnd`; `InvalidValue` for a nibble that is no digit or no sign, or `digits` beyond
/// 31.
pub fn decode_fixed(digits: u16, d: &mut Decoder<'_>) -> Result<i128, Error> {
    if digits > MAX_DIGITS {
        return Err(d.invalid("fixed", format!("{digits} digits in its type"), "at most 31"));
    }
    let octets = d.read_octets(octets_of(digits))?;
    let mut value: i128 = 0;
    let mut negative = false;
    for (index, octet) in octets.iter().enumerate() {
        let last = index + 1 == octets.len();
        for (nibble, is_sign) in [(octet >> 4, false), (octet & 0xf, last)] {
            match (nibble, is_sign) {
                (0..=9, false) => value = value * 10 + i128::from(nibble),
                (0xc, true) => {}
                (0xd, true) => negative = true,
                _ => return Err(invalid_nibble(d, octets, is_sign)),
            }
        }
    }
    if value >= power_of_ten(digits) {
        let found = format!("{value}");
        return Err(d.invalid("fixed", found, format!("at most {digits} digits")));
    }
    Ok(if negative { -value } else { value })
}

#[cold]
#[inline(never)]
fn invalid_nibble(d: &Decoder<'_>, octets: &[u8], is_sign: bool) -> Error {
    let needed = if is_sign { "a sign nibble, c (plus) or d (minus)" } else { "digits 0 to 9" };
    d.invalid("fixed", format!("the packed octets {octets:02x?}"), needed)
}
