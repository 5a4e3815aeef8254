//! [`Ratio`]: exact fractions, and their rounding to IEEE 754 formats (nearest, ties to even).
//!
//! Used for `float`, `double` and `long double` constants. Fractions are not reduced; their size is
//! bounded by the caller.

use num_bigint::{BigInt, BigUint, Sign};

/// `numerator / denominator`; the denominator is positive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) numerator: BigInt,
    pub(crate) denominator: BigInt,
}

/// An IEEE 754 binary interchange format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Bits of the fraction field.
    fraction: u32,
    /// Bits of the exponent field.
    exponent: u32,
}

impl Format {
    pub(crate) const SINGLE: Format = Format { fraction: 23, exponent: 8 };
    pub(crate) const DOUBLE: Format = Format { fraction: 52, exponent: 11 };
    pub(crate) const QUADRUPLE: Format = Format { fraction: 112, exponent: 15 };

    fn bias(self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }
}

/// Decimal exponents beyond this are outside every format by far.
const EXPONENT: i64 = 6000;

impl Ratio {
    pub(crate) fn integer(value: i128) -> Ratio {
        Ratio { numerator: value.into(), denominator: 1.into() }
    }

    /// A literal such as `1.5e-3`, already checked by the lexer. `None`: too large for every type.
    pub(crate) fn literal(text: &str) -> Option<Ratio> {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("0{whole}{fraction}");
        let numerator = BigInt::parse_bytes(digits.as_bytes(), 10)?;
        if numerator.sign() == Sign::NoSign {
            return Some(Ratio::integer(0));
        }
        // An exponent that does not fit in 64 bits is as good as the largest that does.
        let limit = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let power = exponent.parse::<i64>().unwrap_or(limit).clamp(i64::MIN / 2, i64::MAX / 2);
        let power = power - fraction.len() as i64;
        if power > EXPONENT {
            return None;
        }
        if power < -EXPONENT {
            return Some(Ratio::integer(0)); // below the smallest subnormal of every type
        }
        let scale = BigInt::from(10).pow(power.unsigned_abs() as u32);
        Some(if power >= 0 {
            Ratio { numerator: numerator * scale, denominator: 1.into() }
        } else {
            Ratio { numerator, denominator: scale }
        })
    }

    /// Binary digits that it takes to hold it.
    pub(crate) fn bits(&self) -> u64 {
        self.numerator.bits() + self.denominator.bits()
    }

    /// The bits of the nearest value of a format; `None` when that would be infinite.
    pub(crate) fn round(&self, format: Format) -> Option<u128> {
        let (sign, n) = (self.numerator.sign() == Sign::Minus, self.numerator.magnitude());
        let sign = u128::from(sign) << (format.fraction + format.exponent);
        if n.bits() == 0 {
            return Some(0);
        }
        let d = self.denominator.magnitude();
        let mut exponent = n.bits() as i64 - d.bits() as i64;
        // 2^exponent <= n/d < 2^(exponent+1) after this correction.
        if scaled(n, -exponent) < scaled(d, exponent) {
            exponent -= 1;
        }
        let mut exponent = exponent.max(1 - format.bias());
        let mut quotient = divide_rounded(n, d, i64::from(format.fraction) - exponent);
        let hidden = 1u128 << format.fraction;
        if quotient >= hidden << 1 {
            quotient >>= 1;
            exponent += 1;
        }
        if exponent > format.bias() {
            return None;
        }
        let biased = if quotient >= hidden { (exponent + format.bias()) as u128 } else { 0 };
        Some(sign | biased << format.fraction | (quotient & (hidden - 1)))
    }

    /// The value of the bits of a finite number of a format.
    pub(crate) fn from_bits(bits: u128, format: Format) -> Ratio {
        let hidden = 1u128 << format.fraction;
        let biased = (bits >> format.fraction) as i64 & ((1 << format.exponent) - 1);
        let fraction = bits & (hidden - 1);
        let mantissa = if biased == 0 { fraction } else { fraction | hidden };
        let power = biased.max(1) - format.bias() - i64::from(format.fraction);
        let negative = bits >> (format.fraction + format.exponent) & 1 == 1;
        let mantissa = if negative { -BigInt::from(mantissa) } else { BigInt::from(mantissa) };
        let scale = BigInt::from(1) << power.unsigned_abs();
        if power >= 0 {
            Ratio { numerator: mantissa * scale, denominator: 1.into() }
        } else {
            Ratio { numerator: mantissa, denominator: scale }
        }
    }
}

/// `n * 2^shift` for a positive shift, else `n`.
fn scaled(n: &BigUint, shift: i64) -> BigUint {
    if shift > 0 { n << shift as u64 } else { n.clone() }
}

/// `n * 2^shift / d`, rounded to nearest, ties to even. The result has at most 114 bits.
fn divide_rounded(n: &BigUint, d: &BigUint, shift: i64) -> u128 {
    let (n, d) =
        if shift >= 0 { (n << shift as u64, d.clone()) } else { (n.clone(), d << -shift as u64) };
    let quotient = &n / &d;
    let rest: BigUint = (&n - &quotient * &d) << 1u32;
    let mut result = u128::try_from(&quotient).unwrap_or(u128::MAX >> 1);
    if rest > d || (rest == d && result & 1 == 1) {
        result += 1;
    }
    result
}
