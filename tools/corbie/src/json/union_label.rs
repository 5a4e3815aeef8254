//! Discriminators of unions: TypeCodes carry them as numbers, JSON as values of their type.
//!
//! Used by `decode` and `encode`. CORBA 3.3 P1 §14.8.2: a boolean is 0 or 1, a character its
//! code, an enumerator its position.

use corbie::cdr::WChar;
use corbie::types::{TcKind, TypeCode, Value};

/// The key of the discriminator; no IDL member can begin with an underscore.
pub(super) const DISCRIMINATOR: &str = "_d";

/// The discriminator as a value of its type; `None` if it is none.
pub(super) fn to_value(number: i128, discriminator: &TypeCode) -> Option<Value> {
    Some(match discriminator.unaliased()?.kind() {
        TcKind::Boolean => Value::Boolean(number == 1),
        TcKind::Octet => Value::Octet(number.try_into().ok()?),
        TcKind::Char => Value::Char(char::from_u32(number.try_into().ok()?)?),
        TcKind::WChar => Value::WChar(WChar(number.try_into().ok()?)),
        TcKind::Short => Value::Short(number.try_into().ok()?),
        TcKind::UShort => Value::UShort(number.try_into().ok()?),
        TcKind::Long => Value::Long(number.try_into().ok()?),
        TcKind::ULong => Value::ULong(number.try_into().ok()?),
        TcKind::LongLong => Value::LongLong(number.try_into().ok()?),
        TcKind::ULongLong => Value::ULongLong(number.try_into().ok()?),
        TcKind::Enum => Value::Enum(number.try_into().ok()?),
        _ => return None,
    })
}

/// The number of a discriminator; `None` for a value that cannot be one.
pub(super) fn to_number(value: &Value) -> Option<i128> {
    Some(match value {
        Value::Boolean(value) => i128::from(*value),
        Value::Octet(value) => i128::from(*value),
        Value::Char(value) => i128::from(u32::from(*value)),
        Value::WChar(value) => i128::from(value.0),
        Value::Short(value) => i128::from(*value),
        Value::UShort(value) => i128::from(*value),
        Value::Long(value) => i128::from(*value),
        Value::ULong(value) => i128::from(*value),
        Value::LongLong(value) => i128::from(*value),
        Value::ULongLong(value) => i128::from(*value),
        Value::Enum(value) => i128::from(*value),
        _ => return None,
    })
}

/// A number that selects `default`: the smallest from 0 that no case has.
pub(super) fn unused(union: &TypeCode) -> Option<i128> {
    let labels: Vec<i128> = union.union_members().iter().filter_map(|case| case.label).collect();
    let discriminator = union.discriminator_type()?;
    // One more candidate than there are labels always has a free one, if the type has it at all.
    let candidates = 0..=i128::try_from(labels.len()).ok()?;
    let mut free = candidates.filter(|number| !labels.contains(number));
    let number = free.next()?;
    let plain = discriminator.unaliased()?;
    let exists = match plain.kind() {
        TcKind::Boolean => number <= 1,
        TcKind::Enum => usize::try_from(number).ok()? < plain.enumerators().len(),
        _ => to_value(number, &plain).is_some(),
    };
    exists.then_some(number)
}
