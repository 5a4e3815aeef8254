//! [`ConstValue`]: an evaluated constant, union label or annotation argument.
//!
//! Evaluation is exact (unbounded integers, decimal and rational arithmetic) and the result is
//! rounded once to the declared type. IDL 4.2 §7.4.1.4.3.

use super::DefId;

/// A constant, converted to the type it was declared with.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstValue {
    /// `boolean`
    Boolean(bool),
    /// Any integer type and `octet`; in the range of the declared type.
    Integer(i128),
    /// `float` and `double`; always finite. A `float` is already rounded to 24 bits.
    Float(f64),
    /// `long double`: the bits of the IEEE 754 binary128 value; always finite.
    LongDouble(u128),
    /// `char`: U+0000..=U+00FF (ISO 8859-1).
    Char(char),
    /// `wchar`: one UTF-16 code unit.
    WChar(u16),
    /// `string`; has no U+0000.
    String(String),
    /// `wstring`; has no U+0000.
    WString(String),
    /// `fixed`
    Fixed(FixedValue),
    /// An enumerator: the enum and the index in its list.
    Enumerator(DefId, u32),
}

/// The exact value of a `fixed` constant: `unscaled / 10^scale`, written with `digits` digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedValue {
    /// All digits as one integer; at most 31 digits.
    pub unscaled: i128,
    /// Total number of decimal digits, 1..=31.
    pub digits: u16,
    /// Digits after the decimal point, 0..=digits.
    pub scale: u16,
}

impl std::fmt::Display for FixedValue {
    /// Decimal notation, e.g. `-12.50`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let scale = usize::from(self.scale);
        let all = format!("{:0>1$}", self.unscaled.unsigned_abs(), scale + 1);
        let (whole, fraction) = all.split_at(all.len() - scale);
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}
