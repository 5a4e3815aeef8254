//! The operators of constant expressions on [`Exact`] values.
//!
//! Integers mix with floating and fixed point values, which are otherwise kept apart.
//! IDL 4.2 §7.4.1.4.3.

use num_bigint::{BigInt, Sign};

use super::{Decimal, Exact, Ratio};

/// Why an operator has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// These operands do not have it.
    Operand(String),
    DivisionByZero,
    /// A shift by less than 0 or more than 63.
    Shift(i128),
    /// Beyond 128 bits, or 62 digits.
    TooLarge,
}

type Result = std::result::Result<Exact, Problem>;

/// `-x`, `+x`, `~x`. `unsigned_bits` is the size of the type wanted, if that is unsigned: `~0` is
/// all ones in it.
pub(crate) fn unary(operator: &str, value: Exact, unsigned_bits: Option<u32>) -> Result {
    match (operator, value) {
        ("+", value @ (Exact::Integer(_) | Exact::Float(_) | Exact::Fixed(_))) => Ok(value),
        ("-", Exact::Integer(value)) => {
            value.checked_neg().map(Exact::Integer).ok_or(Problem::TooLarge)
        }
        ("-", Exact::Float(x)) => {
            Ok(Exact::Float(Ratio { numerator: -x.numerator, denominator: x.denominator }))
        }
        ("-", Exact::Fixed(x)) => Ok(Exact::Fixed(x.negate())),
        ("~", Exact::Integer(value)) => {
            let all_ones = unsigned_bits.map(|bits| (1i128 << bits) - 1);
            Ok(Exact::Integer(match all_ones {
                Some(ones) if (0..=ones).contains(&value) => ones - value,
                _ => !value,
            }))
        }
        (_, value) => {
            Err(Problem::Operand(format!("`{operator}` does not apply to {}", value.describe())))
        }
    }
}

/// `left operator right`.
pub(crate) fn binary(operator: &str, left: Exact, right: Exact) -> Result {
    match (left, right) {
        (Exact::Integer(a), Exact::Integer(b)) => integers(operator, a, b).map(Exact::Integer),
        (Exact::Float(a), Exact::Float(b)) => floats(operator, &a, &b),
        (Exact::Float(a), Exact::Integer(b)) => floats(operator, &a, &Ratio::integer(b)),
        (Exact::Integer(a), Exact::Float(b)) => floats(operator, &Ratio::integer(a), &b),
        (Exact::Fixed(a), Exact::Fixed(b)) => decimals(operator, &a, &b),
        (Exact::Fixed(a), Exact::Integer(b)) => decimals(operator, &a, &Decimal::integer(b)),
        (Exact::Integer(a), Exact::Fixed(b)) => decimals(operator, &Decimal::integer(a), &b),
        (a, b) => {
            let (a, b) = (a.describe(), b.describe());
            Err(Problem::Operand(format!("`{operator}` does not apply to {a} and {b}")))
        }
    }
}

fn integers(operator: &str, a: i128, b: i128) -> std::result::Result<i128, Problem> {
    let shift = || u32::try_from(b).ok().filter(|n| *n < 64).ok_or(Problem::Shift(b));
    match operator {
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "<<" => {
            let n = shift()?;
            a.checked_mul(1i128 << n)
        }
        ">>" => Some(a >> shift()?),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        _ if b == 0 => return Err(Problem::DivisionByZero),
        "/" => a.checked_div(b),
        _ => a.checked_rem(b),
    }
    .ok_or(Problem::TooLarge)
}

fn floats(operator: &str, a: &Ratio, b: &Ratio) -> Result {
    let (x, y) = (&a.numerator, &b.numerator);
    let joined = |sum: fn(BigInt, BigInt) -> BigInt| {
        if a.denominator == b.denominator {
            return (sum(x.clone(), y.clone()), a.denominator.clone());
        }
        (sum(x * &b.denominator, y * &a.denominator), &a.denominator * &b.denominator)
    };
    let (numerator, denominator) = match operator {
        "+" => joined(|p, q| p + q),
        "-" => joined(|p, q| p - q),
        "*" => (x * y, &a.denominator * &b.denominator),
        "/" if y.sign() == Sign::NoSign => return Err(Problem::DivisionByZero),
        "/" => {
            let (n, d) = (x * &b.denominator, &a.denominator * y);
            if d.sign() == Sign::Minus { (-n, -d) } else { (n, d) }
        }
        _ => {
            return Err(Problem::Operand(format!(
                "`{operator}` does not apply to floating point numbers"
            )));
        }
    };
    Ok(Exact::Float(Ratio { numerator, denominator }))
}

fn decimals(operator: &str, a: &Decimal, b: &Decimal) -> Result {
    let result = match operator {
        "+" => a.add(b),
        "-" => a.subtract(b),
        "*" => a.multiply(b),
        "/" => a.divide(b).ok_or(Problem::DivisionByZero)?,
        _ => {
            let message = format!("`{operator}` does not apply to fixed point numbers");
            return Err(Problem::Operand(message));
        }
    };
    if result.is_too_large() { Err(Problem::TooLarge) } else { Ok(Exact::Fixed(result)) }
}
