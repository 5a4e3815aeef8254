//! [`Decimal`]: `fixed` values during evaluation.
//!
//! Sums, differences and products are exact; quotients and everything else are kept to 62 digits
//! and the final value must fit 31. IDL 4.2 §7.4.1.4.3 (fixed-point constant expressions).

use num_bigint::{BigInt, Sign};

use crate::model::FixedValue;

/// Digits of intermediate results.
const DIGITS: usize = 62;
/// Digits of a constant.
const MOST: usize = 31;

/// `unscaled / 10^scale`, without needless zeros at the end of the fraction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decimal {
    unscaled: BigInt,
    scale: u32,
}

fn ten_to(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

fn digits(value: &BigInt) -> usize {
    value.magnitude().to_str_radix(10).len()
}

impl Decimal {
    fn new(unscaled: BigInt, scale: u32) -> Decimal {
        let mut value = Decimal { unscaled, scale };
        // Digits beyond the 62nd are dropped from the fraction, never from the whole part.
        let excess = digits(&value.unscaled).saturating_sub(DIGITS) as u32;
        let drop = excess.min(value.scale);
        value.unscaled /= ten_to(drop);
        value.scale -= drop;
        while value.scale > 0 && (&value.unscaled % 10u32).sign() == Sign::NoSign {
            value.unscaled /= 10;
            value.scale -= 1;
        }
        value
    }

    pub(crate) fn integer(value: i128) -> Decimal {
        Decimal { unscaled: value.into(), scale: 0 }
    }

    /// A literal without its `d`, already checked by the lexer.
    pub(crate) fn literal(text: &str) -> Decimal {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("0{whole}{fraction}");
        let unscaled = BigInt::parse_bytes(all.as_bytes(), 10).unwrap_or_default();
        Decimal::new(unscaled, fraction.len() as u32)
    }

    pub(crate) fn from_value(value: FixedValue) -> Decimal {
        Decimal::new(value.unscaled.into(), value.scale.into())
    }

    /// Whether the whole part alone has more than 62 digits.
    pub(crate) fn is_too_large(&self) -> bool {
        digits(&self.unscaled) > DIGITS
    }

    fn aligned(&self, other: &Decimal) -> (BigInt, BigInt, u32) {
        let scale = self.scale.max(other.scale);
        let raise = |x: &Decimal| &x.unscaled * ten_to(scale - x.scale);
        (raise(self), raise(other), scale)
    }

    pub(crate) fn add(&self, other: &Decimal) -> Decimal {
        let (a, b, scale) = self.aligned(other);
        Decimal::new(a + b, scale)
    }

    pub(crate) fn subtract(&self, other: &Decimal) -> Decimal {
        let (a, b, scale) = self.aligned(other);
        Decimal::new(a - b, scale)
    }

    pub(crate) fn multiply(&self, other: &Decimal) -> Decimal {
        Decimal::new(&self.unscaled * &other.unscaled, self.scale + other.scale)
    }

    /// `None` for division by zero.
    pub(crate) fn divide(&self, other: &Decimal) -> Option<Decimal> {
        if other.unscaled.sign() == Sign::NoSign {
            return None;
        }
        // Enough zeros behind the dividend that the quotient has at least 62 digits.
        let more = DIGITS as u32 + digits(&other.unscaled) as u32 + other.scale;
        let quotient = &self.unscaled * ten_to(more) / &other.unscaled;
        Some(Decimal::new(quotient, self.scale + more - other.scale))
    }

    pub(crate) fn negate(&self) -> Decimal {
        Decimal { unscaled: -&self.unscaled, scale: self.scale }
    }

    /// The value with its own digits, at most 31 (excess digits of the fraction are dropped);
    /// `None` when the whole part needs more.
    pub(crate) fn value(&self) -> Option<FixedValue> {
        let excess = digits(&self.unscaled).saturating_sub(MOST) as u32;
        if excess > self.scale {
            return None;
        }
        let cut = Decimal::new(&self.unscaled / ten_to(excess), self.scale - excess);
        // 0.05 has two digits, both after the point.
        let digits = digits(&cut.unscaled).max(cut.scale as usize);
        let unscaled = i128::try_from(&cut.unscaled).ok()?;
        if digits > MOST {
            let drop = (digits - MOST) as u32;
            let scale = cut.scale - drop;
            let unscaled = unscaled / 10i128.checked_pow(drop).unwrap_or(i128::MAX);
            return Some(FixedValue { unscaled, digits: MOST as u16, scale: scale as u16 });
        }
        Some(FixedValue { unscaled, digits: digits as u16, scale: cut.scale as u16 })
    }

    /// The value as `fixed<digits, scale>`, excess digits of the fraction dropped; `None` when the
    /// whole part does not fit.
    pub(crate) fn value_as(&self, digits: u16, scale: u16) -> Option<FixedValue> {
        let wanted = u32::from(scale);
        let unscaled = if self.scale > wanted {
            &self.unscaled / ten_to(self.scale - wanted)
        } else {
            &self.unscaled * ten_to(wanted - self.scale)
        };
        if unscaled.sign() != Sign::NoSign && self::digits(&unscaled) > usize::from(digits) {
            return None;
        }
        Some(FixedValue { unscaled: i128::try_from(&unscaled).ok()?, digits, scale })
    }
}
