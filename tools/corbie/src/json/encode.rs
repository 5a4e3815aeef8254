//! A value of any IDL type as JSON.
//!
//! Used for results, user exceptions and the content of `any`. The mapping is in
//! `corbie call --help`; `decode` reads everything that is written here.

use corbie::cdr::WChar;
use corbie::types::{Any, TcKind, TypeCode, UnionValue, Value};
use serde_json::{Map, Value as Json, json};

use super::surroundings::Surroundings;
use super::{fixed, number, octets, type_code, union_label, valuetype};

/// The JSON of a value that was decoded by this type.
pub(crate) fn encode(value: &Value, type_code: &TypeCode, surroundings: &dyn Surroundings) -> Json {
    let plain = type_code.unaliased().unwrap_or_default();
    match value {
        Value::Void => Json::Null,
        Value::Boolean(value) => json!(value),
        #[allow(clippy::cast_possible_wrap, reason = "int8 is the same octet, signed")]
        Value::Octet(value) if super::is_int8(type_code) => json!(*value as i8),
        Value::Char(value) => json!(value.to_string()),
        Value::WChar(value) => wchar(*value),
        Value::Float(value) => number::float_to_json(*value),
        Value::Double(value) => number::float_to_json(*value),
        Value::LongDouble(value) => number::long_double_to_json(*value),
        Value::Fixed(digits) => {
            let (_, scale) = plain.fixed_digits_and_scale().unwrap_or_default();
            json!(fixed::write(*digits, scale))
        }
        Value::String(text) | Value::WString(text) => json!(text),
        Value::Enum(position) => enumerator(*position, &plain),
        Value::Struct(members) => structure(members, &plain, surroundings),
        Value::Union(value) => union(value, &plain, surroundings),
        Value::List(elements) => list(elements, &plain, surroundings),
        Value::Octets(octets) => octet_list(octets, &plain),
        Value::Any(any) => any_to_json(any, surroundings),
        Value::TypeCode(value) => type_code::type_to_json(value, surroundings),
        Value::Object(ior) if ior.is_nil() => Json::Null,
        Value::Object(ior) => json!(ior.to_string()),
        Value::Valuetype(value) => valuetype::value_to_json(value, &plain, surroundings),
        Value::Principal(octets) => octets::octets_to_json(octets),
        integer => number::integer_to_json(integer.ordinal().unwrap_or_default()),
    }
}

/// A string of one character; half of a surrogate pair is no text, so it is a number.
fn wchar(value: WChar) -> Json {
    match value.to_char() {
        Some(character) => json!(character.to_string()),
        None => json!(value.0),
    }
}

/// The name of an enumerator; its number if the type came without names.
fn enumerator(position: u32, plain: &TypeCode) -> Json {
    let name = plain.enumerators().into_iter().nth(position as usize);
    name.filter(|name| !name.is_empty()).map_or_else(|| json!(position), Json::String)
}

/// The name of a member, or its position where the type came without names.
pub(super) fn member_name(name: &str, index: usize) -> String {
    if name.is_empty() { format!("#{index}") } else { name.to_owned() }
}

fn structure(members: &[Value], plain: &TypeCode, surroundings: &dyn Surroundings) -> Json {
    let types = plain.members();
    let named = members.iter().zip(&types).enumerate().map(|(index, (value, member))| {
        let name = member_name(&member.name, index);
        (name, encode(value, &member.type_code, surroundings))
    });
    Json::Object(named.collect())
}

fn union(value: &UnionValue, plain: &TypeCode, surroundings: &dyn Surroundings) -> Json {
    let discriminator = plain.discriminator_type().unwrap_or_default();
    let label = union_label::to_value(value.discriminator, &discriminator);
    let mut members = Map::new();
    let label = label.map_or(Json::Null, |label| encode(&label, &discriminator, surroundings));
    members.insert(union_label::DISCRIMINATOR.to_owned(), label);
    let case = plain.union_case(value.discriminator);
    let case = case.and_then(|index| Some((index, plain.union_members().into_iter().nth(index)?)));
    if let (Some(member), Some((index, case))) = (&value.member, case) {
        let name = member_name(&case.name, index);
        members.insert(name, encode(member, &case.type_code, surroundings));
    }
    Json::Object(members)
}

fn list(elements: &[Value], plain: &TypeCode, surroundings: &dyn Surroundings) -> Json {
    let element = plain.content_type().unwrap_or_default();
    elements.iter().map(|value| encode(value, &element, surroundings)).collect()
}

fn octet_list(octets: &[u8], plain: &TypeCode) -> Json {
    match plain.content_type() {
        #[allow(clippy::cast_possible_wrap, reason = "int8 is the same octet, signed")]
        Some(element) if super::is_int8(&element) => {
            octets.iter().map(|octet| json!(*octet as i8)).collect()
        }
        _ => octets::octets_to_json(octets),
    }
}

fn any_to_json(any: &Any, surroundings: &dyn Surroundings) -> Json {
    let type_json = type_code::type_to_json(any.type_code(), surroundings);
    if any.type_code().kind() == TcKind::Null {
        return json!({ "type": type_json, "value": null });
    }
    match any.to_value() {
        Ok(value) => {
            json!({ "type": type_json, "value": encode(&value, any.type_code(), surroundings) })
        }
        Err(exception) => json!({ "type": type_json, "unreadable": exception.to_string() }),
    }
}
