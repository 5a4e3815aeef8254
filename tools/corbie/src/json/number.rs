//! Numbers: JSON text to exactly one IDL number type, and back without losing a bit.
//!
//! Used by `decode` and `encode`. JSON has no NaN and no infinity: they are strings.

use std::str::FromStr;

use corbie::cdr::LongDouble;
use serde_json::{Number, Value as Json, json};

use super::mismatch::{Mismatch, found};

/// An integer from `min` to `max`; a string of digits is read too, for tools whose numbers
/// are doubles.
pub(super) fn integer<T: TryFrom<i128>>(json: &Json, min: i128, max: i128) -> Result<T, Mismatch> {
    let text = match json {
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        other => return Err(Mismatch::expected("a whole number", other)),
    };
    let number: i128 = text.parse().map_err(|_| Mismatch::expected("a whole number", json))?;
    let within = Some(number).filter(|number| (min..=max).contains(number));
    within
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| Mismatch::new(format!("{} is not between {min} and {max}", found(json))))
}

/// An integer of up to 64 bits as JSON.
pub(super) fn integer_to_json(number: i128) -> Json {
    Number::from_i128(number).map_or(Json::Null, Json::Number)
}

/// A floating point number of type `T`, rounded once from the decimal text.
pub(super) fn float<T: FloatingPoint>(json: &Json) -> Result<T, Mismatch> {
    match json {
        Json::Number(number) => {
            let value = T::from_str(&number.to_string())
                .map_err(|_| Mismatch::expected("a number", json))?;
            if value.to_f64().is_finite() {
                Ok(value)
            } else {
                Err(Mismatch::new(format!("{} is too large for its type", found(json))))
            }
        }
        Json::String(text) => special(text)
            .map(T::from_special)
            .ok_or_else(|| Mismatch::expected(NUMBER_OR_SPECIAL, json)),
        other => Err(Mismatch::expected(NUMBER_OR_SPECIAL, other)),
    }
}

const NUMBER_OR_SPECIAL: &str = "a number, \"NaN\", \"Infinity\" or \"-Infinity\"";

fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// `f32` and `f64`.
pub(super) trait FloatingPoint: Copy + FromStr {
    /// NaN or an infinity.
    fn from_special(value: f64) -> Self;
    /// The same value; exact.
    fn to_f64(self) -> f64;
    /// The shortest decimal number that is read back as this value.
    fn shortest(self) -> String;
}

impl FloatingPoint for f32 {
    #[allow(clippy::cast_possible_truncation, reason = "NaN and infinities only")]
    fn from_special(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn shortest(self) -> String {
        format!("{self:?}")
    }
}

impl FloatingPoint for f64 {
    fn from_special(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn shortest(self) -> String {
        format!("{self:?}")
    }
}

/// A floating point number as JSON.
pub(super) fn float_to_json<T: FloatingPoint>(value: T) -> Json {
    let wide = value.to_f64();
    if wide.is_nan() {
        return json!("NaN");
    }
    if wide.is_infinite() {
        return json!(if wide > 0.0 { "Infinity" } else { "-Infinity" });
    }
    // `{:?}` of a finite float is always a JSON number.
    Number::from_str(&value.shortest()).map_or(Json::Null, Json::Number)
}

/// The key of the exact form of a `long double`.
const LONG_DOUBLE: &str = "long_double";

/// A `long double`: a number as for `double`, or all bits in hexadecimal.
pub(super) fn long_double(json: &Json) -> Result<LongDouble, Mismatch> {
    let Some(exact) = json.get(LONG_DOUBLE) else {
        return float::<f64>(json).map(LongDouble::from);
    };
    exact
        .as_str()
        .and_then(|text| text.strip_prefix("0x"))
        .filter(|digits| digits.len() == 32 && digits.bytes().all(|d| d.is_ascii_hexdigit()))
        .and_then(|digits| u128::from_str_radix(digits, 16).ok())
        .map(LongDouble::from_bits)
        .ok_or_else(|| Mismatch::expected("0x and 32 hexadecimal digits", exact))
}

/// A `long double` as JSON: a number if a `double` holds it exactly.
pub(super) fn long_double_to_json(value: LongDouble) -> Json {
    let rounded = value.to_f64();
    if LongDouble::from(rounded) == value && !rounded.is_nan() {
        return float_to_json(rounded);
    }
    json!({ LONG_DOUBLE: format!("0x{:032x}", value.to_bits()) })
}
