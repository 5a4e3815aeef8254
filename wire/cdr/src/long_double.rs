//! The value of an IDL `long double`: IEEE 754 binary128, kept as its bits, since Rust has no
//! such type yet. Conversions to and from `f64` are exact or rounded to nearest, ties to even.
//! On the wire: 16 octets, aligned on 8 (CORBA 3.3 P2 §9.3.1.3).

use std::fmt;

/// An IDL `long double`: the bits of an IEEE 754 binary128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LongDouble(u128);

const EXPONENT_BIAS: i32 = 16383;
const FRACTION_BITS: u32 = 112;
const FRACTION_MASK: u128 = (1 << FRACTION_BITS) - 1;
const EXPONENT_MAX: u32 = 0x7fff;

impl LongDouble {
    /// From its bits: sign 1, exponent 15, fraction 112, most significant first.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// From the 16 octets, most significant first.
    #[inline]
    #[must_use]
    pub const fn from_be_bytes(octets: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(octets))
    }

    /// The 16 octets, most significant first.
    #[inline]
    #[must_use]
    pub const fn to_be_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The nearest `f64`, ties to even; infinite beyond its range, signed zero below it.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let sign = u64::from((self.0 >> 127) as u8) << 63;
        let exponent = ((self.0 >> FRACTION_BITS) as u32) & EXPONENT_MAX;
        let fraction = self.0 & FRACTION_MASK;
        if exponent == EXPONENT_MAX {
            let payload = (fraction >> 60) as u64;
            // A NaN whose payload lies in the low bits must not turn into infinity.
            let quiet = u64::from(fraction != 0) << 51;
            return f64::from_bits(sign | 0x7ff << 52 | payload | quiet);
        }
        let unbiased = exponent as i32 - EXPONENT_BIAS;
        if unbiased > 1023 {
            return f64::from_bits(sign | 0x7ff << 52);
        }
        if unbiased < -1075 {
            return f64::from_bits(sign);
        }
        let significand = fraction | 1 << FRACTION_BITS;
        // 113 bits down to 53, and to fewer where the result is subnormal.
        let subnormal_shift = (-1022 - unbiased).max(0) as u32;
        let rounded = round_half_even(significand, 60 + subnormal_shift);
        if subnormal_shift > 0 {
            return f64::from_bits(sign | rounded);
        }
        // The carry of the rounding moves into the exponent by itself.
        let biased = (unbiased + 1023) as u64;
        f64::from_bits(sign | (((biased - 1) << 52) + rounded))
    }
}

fn round_half_even(value: u128, shift: u32) -> u64 {
    let kept = value >> shift;
    let rest = value & ((1u128 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    kept as u64 + u64::from(up)
}

impl From<f64> for LongDouble {
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        let sign = u128::from(bits >> 63) << 127;
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let (biased, fraction) = match (exponent, fraction) {
            (0x7ff, f) => (EXPONENT_MAX as i32, f << 60),
            (0, 0) => (0, 0),
            (0, f) => {
                // Subnormal in binary64, normal here: move the leading bit to its place.
                let leading = 127 - f.leading_zeros();
                let shifted = (f << (FRACTION_BITS - leading)) & FRACTION_MASK;
                (leading as i32 - 1074 + EXPONENT_BIAS, shifted)
            }
            (e, f) => (e - 1023 + EXPONENT_BIAS, f << 60),
        };
        Self(sign | (biased as u128) << FRACTION_BITS | fraction)
    }
}

impl From<f32> for LongDouble {
    fn from(value: f32) -> Self {
        Self::from(f64::from(value))
    }
}

impl From<LongDouble> for f64 {
    fn from(value: LongDouble) -> Self {
        value.to_f64()
    }
}

impl fmt::Display for LongDouble {
    /// As the nearest `f64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}
