//! JSON as a union: `{"_d": discriminator, MEMBER: value}`.
//!
//! The discriminator may be left out when the member says it all: then it is the member's first
//! label, or for `default` a value that no label has.

use corbie::types::{TypeCode, UnionMember, UnionValue, Value};
use serde_json::{Map, Value as Json};

use super::decode::{decode, no_others};
use super::encode::member_name;
use super::mismatch::Mismatch;
use super::place::Place;
use super::surroundings::Surroundings;
use super::union_label::{self, DISCRIMINATOR};
use crate::failure::Failure;

/// Reads a union.
pub(super) fn union(
    json: &Json,
    plain: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    let Json::Object(given) = json else {
        let form = "{\"_d\": discriminator, MEMBER: value}";
        return Err(Mismatch::expected(form, json).at(place));
    };
    let cases = plain.union_members();
    let names: Vec<String> =
        cases.iter().enumerate().map(|(i, case)| member_name(&case.name, i)).collect();
    let known: Vec<String> = names.iter().cloned().chain([DISCRIMINATOR.to_owned()]).collect();
    no_others(given, &known, plain, place)?;
    let discriminator = match given.get(DISCRIMINATOR) {
        Some(json) => label(json, plain, place, surroundings)?,
        None => implied(given, plain, &cases, &names).map_err(|mismatch| mismatch.at(place))?,
    };
    let Some(selected) = plain.union_case(discriminator) else {
        return match given.keys().find(|key| *key != DISCRIMINATOR) {
            None => Ok(whole(discriminator, None)),
            Some(other) => {
                let sentence = format!("the discriminator selects no member, not `{other}`");
                Err(Mismatch::new(sentence).at(place))
            }
        };
    };
    let name = &names[selected];
    if let Some(other) = given.keys().find(|key| *key != DISCRIMINATOR && *key != name) {
        let sentence = format!("the discriminator selects the member `{name}`, not `{other}`");
        return Err(Mismatch::new(sentence).at(place));
    }
    let Some(json) = given.get(name) else {
        let sentence = format!("the member `{name}`, which the discriminator selects, is missing");
        return Err(Mismatch::new(sentence).at(place));
    };
    let type_code = &cases[selected].type_code;
    let member = decode(json, type_code, &place.member(name), surroundings)?;
    Ok(whole(discriminator, Some(member)))
}

fn whole(discriminator: i128, member: Option<Value>) -> Value {
    Value::Union(Box::new(UnionValue { discriminator, member }))
}

/// The discriminator that was given.
fn label(
    json: &Json,
    plain: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<i128, Failure> {
    let place = place.member(DISCRIMINATOR);
    let type_code = plain.discriminator_type().unwrap_or_default();
    let value = decode(json, &type_code, &place, surroundings)?;
    value.ordinal().ok_or_else(|| Mismatch::new("this type cannot be a discriminator").at(&place))
}

/// The discriminator that the only member given implies.
fn implied(
    given: &Map<String, Json>,
    plain: &TypeCode,
    cases: &[UnionMember],
    names: &[String],
) -> Result<i128, Mismatch> {
    let mut keys = given.keys();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return Err(Mismatch::new("one member, or `_d` and its member, is needed"));
    };
    let own = || cases.iter().zip(names).filter(|(_, name)| *name == key).map(|(case, _)| case);
    let labelled = own().find_map(|case| case.label);
    labelled.or_else(|| union_label::unused(plain)).ok_or_else(|| {
        Mismatch::new(format!("`{key}` alone does not say the discriminator: add `_d`"))
    })
}
