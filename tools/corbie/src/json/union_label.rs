//! Discriminators of unions: TypeCodes carry them as numbers, JSON as values of their type.
//!
//! Used by `decode` and `encode`. CORBA 3.3 P1 §14.8.2: a boolean is 0 or 1, a character its
//! code, an enumerator its position.

use corbie::types::{TcKind, TypeCode, Value};

/// The key of the discriminator; no IDL member can begin with an underscore.
pub(super) const DISCRIMINATOR: &str = "_d";

/// The discriminator as a value of its type; `None` if it is none.
pub(super) fn to_value(number: i128, discriminator: &TypeCode) -> Option<Value> {
    Value::from_ordinal(discriminator.unaliased()?.kind(), number)
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
        TcKind::Enum => usize::try_from(number).ok()? < plain.enumerators().len(),
        _ => to_value(number, &plain).is_some(),
    };
    exists.then_some(number)
}
