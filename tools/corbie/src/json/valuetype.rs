//! Values of valuetypes as JSON: an object with the members, those of the base first, and beside
//! them `_id`, a number by which `{"_ref": number}` means the same value again.
//!
//! `_type` is there where the value is of another type than the place says; a value box has its
//! content as `_value`. Values are told apart within all arguments of a call, and all its results.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use corbie::types::{DynamicValue, HeldValue, TcKind, TypeCode, Value, ValueModifier};
use serde_json::{Map, Value as Json, json};

use super::decode::{decode, no_others};
use super::encode::{encode, member_name};
use super::mismatch::Mismatch;
use super::place::Place;
use super::surroundings::Surroundings;
use super::type_code;
use crate::failure::Failure;

const ID: &str = "_id";
const REF: &str = "_ref";
const TYPE: &str = "_type";
const CONTENT: &str = "_value";

/// The values that were met, by their numbers.
#[derive(Default)]
pub(crate) struct Values {
    read: RefCell<HashMap<i64, HeldValue>>,
    written: RefCell<HashMap<HeldValue, usize>>,
}

/// Whether a place of this type may have a value of any type.
pub(super) fn has_own_type(json: &Json) -> bool {
    json.get(TYPE).is_some() || json.get(REF).is_some()
}

/// A value, or null.
pub(super) fn value_from_json(
    json: &Json,
    declared: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    if json.is_null() {
        return Ok(Value::Void);
    }
    let form = "an object with the members, or null";
    let given = json.as_object().ok_or_else(|| Mismatch::expected(form, json).at(place))?;
    if let Some(number) = given.get(REF) {
        return met_before(number, given, place, surroundings);
    }
    let type_code = match given.get(TYPE) {
        None => declared.clone(),
        Some(own) => type_code::type_from_json(own, surroundings)
            .map_err(|mismatch| mismatch.at(&place.member(TYPE)))?
            .unaliased()
            .unwrap_or_default(),
    };
    let value = DynamicValue::empty(type_code.clone());
    let held = HeldValue::from(Arc::clone(&value));
    if !held.is_a(declared) {
        let sentence = format!("{type_code} is not derived from {declared}");
        return Err(Mismatch::new(sentence).at(&place.member(TYPE)));
    }
    if let Some(number) = given.get(ID) {
        let number = super::number::integer(number, i64::MIN.into(), i64::MAX.into())
            .map_err(|mismatch| mismatch.at(&place.member(ID)))?;
        let before = surroundings.values().read.borrow_mut().insert(number, held.clone());
        if before.is_some() {
            let sentence = format!("there is another value with the number {number}");
            return Err(Mismatch::new(sentence).at(&place.member(ID)));
        }
    }
    value.set(members(given, &type_code, place, surroundings)?);
    Ok(Value::Valuetype(held))
}

fn met_before(
    number: &Json,
    given: &Map<String, Json>,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    let known = number.as_i64().filter(|_| given.len() == 1);
    let known = known.and_then(|n| surroundings.values().read.borrow().get(&n).cloned());
    known.map(Value::Valuetype).ok_or_else(|| {
        let sentence = "expected the `_id` of a value that stands before it, and nothing beside it";
        Mismatch::new(sentence).at(&place.member(REF))
    })
}

fn members(
    given: &Map<String, Json>,
    of: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Vec<Value>, Failure> {
    let modifier = of.value_modifier().unwrap_or_default();
    if matches!(modifier, ValueModifier::Abstract | ValueModifier::Custom) {
        let sentence = match modifier {
            ValueModifier::Custom => format!("only a program can write the custom valuetype {of}"),
            _ => format!("{of} is abstract: say with `{TYPE}` which type the value has"),
        };
        return Err(Mismatch::new(sentence).at(place));
    }
    let types = of.state_members().unwrap_or_default();
    let is_box = of.kind() == TcKind::ValueBox;
    let name = |(index, name): (usize, &str)| match is_box {
        true => CONTENT.to_owned(),
        false => member_name(name, index),
    };
    let names: Vec<String> = types.iter().map(|m| m.name.as_str()).enumerate().map(name).collect();
    let known: Vec<String> = names.iter().cloned().chain([ID, TYPE].map(str::to_owned)).collect();
    no_others(given, &known, of, place)?;
    let each = types.iter().zip(&names).map(|(member, name)| match given.get(name) {
        Some(json) => decode(json, &member.type_code, &place.member(name), surroundings),
        None => {
            let sentence = format!("the member `{name}` of {} is missing", of.name());
            Err(Mismatch::new(sentence).at(place))
        }
    });
    each.collect()
}

/// The JSON of a value.
pub(super) fn value_to_json(
    value: &HeldValue,
    declared: &TypeCode,
    surroundings: &dyn Surroundings,
) -> Json {
    let mut written = surroundings.values().written.borrow_mut();
    if let Some(number) = written.get(value) {
        return json!({ REF: number });
    }
    let number = written.len() + 1;
    written.insert(value.clone(), number);
    drop(written);
    let type_code = value.type_code();
    let mut all = Map::new();
    all.insert(ID.to_owned(), json!(number));
    if type_code.id() != declared.id() {
        all.insert(TYPE.to_owned(), type_code::type_to_json(&type_code, surroundings));
    }
    let members = value.as_dynamic().and_then(|value| value.members()).unwrap_or_default();
    let types = type_code.state_members().unwrap_or_default();
    for (index, (value, member)) in members.iter().zip(&types).enumerate() {
        let name = match type_code.kind() {
            TcKind::ValueBox => CONTENT.to_owned(),
            _ => member_name(&member.name, index),
        };
        all.insert(name, encode(value, &member.type_code, surroundings));
    }
    Json::Object(all)
}
