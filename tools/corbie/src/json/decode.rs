//! JSON as a value of a given IDL type, or a sentence that says where it does not fit.
//!
//! Used for arguments and the content of `any`. The mapping is in `corbie call --help`. How deep
//! JSON nests is bounded by its parser (128 levels), and so is the recursion here.

use corbie::cdr::WChar;
use corbie::types::{Any, Ior, TcKind, TypeCode, Value};
use serde_json::{Map, Value as Json};

use super::encode::member_name;
use super::mismatch::Mismatch;
use super::place::Place;
use super::surroundings::Surroundings;
use super::{decode_union, fixed, number, octets, type_code, valuetype};
use crate::failure::Failure;
use crate::near_names;

/// Makes a value of `type_code` from JSON; errors name the place.
pub(crate) fn decode(
    json: &Json,
    type_code: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    let at = |mismatch: Mismatch| mismatch.at(place);
    let plain = type_code
        .unaliased()
        .ok_or_else(|| Mismatch::new(format!("the type {type_code} is not complete")).at(place))?;
    match plain.kind() {
        TcKind::Struct | TcKind::Except => structure(json, &plain, place, surroundings),
        TcKind::Union => decode_union::union(json, &plain, place, surroundings),
        TcKind::Sequence | TcKind::Array => list(json, &plain, place, surroundings),
        TcKind::Any => any(json, place, surroundings),
        TcKind::TypeCode => {
            type_code::type_from_json(json, surroundings).map(Value::TypeCode).map_err(at)
        }
        TcKind::Value | TcKind::ValueBox | TcKind::Event => {
            valuetype::value_from_json(json, &plain, place, surroundings)
        }
        TcKind::AbstractInterface if valuetype::has_own_type(json) => {
            valuetype::value_from_json(json, &plain, place, surroundings)
        }
        TcKind::ObjRef | TcKind::Component | TcKind::Home | TcKind::AbstractInterface => {
            reference(json, surroundings).map(Value::Object).map_err(at)
        }
        TcKind::Octet if super::is_int8(type_code) => {
            let signed: Result<i8, _> = number::integer(json, i8::MIN.into(), i8::MAX.into());
            signed.map(|value| Value::Octet(value.cast_unsigned())).map_err(at)
        }
        _ => scalar(json, &plain).map_err(at),
    }
}

/// A type without parts.
fn scalar(json: &Json, plain: &TypeCode) -> Result<Value, Mismatch> {
    Ok(match plain.kind() {
        TcKind::Null | TcKind::Void if json.is_null() => Value::Void,
        TcKind::Null | TcKind::Void => return Err(Mismatch::expected("null", json)),
        TcKind::Boolean => {
            Value::Boolean(json.as_bool().ok_or_else(|| Mismatch::expected("true or false", json))?)
        }
        TcKind::Float => Value::Float(number::float(json)?),
        TcKind::Double => Value::Double(number::float(json)?),
        TcKind::LongDouble => Value::LongDouble(number::long_double(json)?),
        TcKind::Fixed => Value::Fixed(decimal(json, plain)?),
        TcKind::Char => Value::Char(character(json)?),
        TcKind::WChar => Value::WChar(wide_character(json)?),
        TcKind::String => Value::String(bounded(json, plain, |text| text.chars().count())?),
        TcKind::WString => {
            Value::WString(bounded(json, plain, |text| text.encode_utf16().count())?)
        }
        TcKind::Enum => Value::Enum(enumerator(json, plain)?),
        TcKind::Principal => Value::Principal(octets::octets(json)?),
        kind => {
            let refused = || Mismatch::new(format!("values of {plain} cannot be sent yet"));
            let (least, most) = kind.integer_range().ok_or_else(refused)?;
            let number = number::integer(json, least, most)?;
            Value::from_ordinal(kind, number).ok_or_else(refused)?
        }
    })
}

fn decimal(json: &Json, plain: &TypeCode) -> Result<i128, Mismatch> {
    let (digits, scale) = plain.fixed_digits_and_scale().unwrap_or_default();
    let text = match json {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        other => return Err(Mismatch::expected("a decimal number such as \"12.50\"", other)),
    };
    fixed::read(&text, digits, scale).map_err(Mismatch::new)
}

fn character(json: &Json) -> Result<char, Mismatch> {
    let text = json.as_str().unwrap_or_default();
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(Mismatch::expected("a string of one character", json)),
    }
}

fn wide_character(json: &Json) -> Result<WChar, Mismatch> {
    if json.is_number() {
        return number::integer(json, 0, u16::MAX.into()).map(WChar);
    }
    WChar::try_from(character(json)?).map_err(|character| {
        Mismatch::new(format!("`{character}` needs two UTF-16 units, and a wchar has one"))
    })
}

fn bounded(
    json: &Json,
    plain: &TypeCode,
    count: impl Fn(&str) -> usize,
) -> Result<String, Mismatch> {
    let text = json.as_str().ok_or_else(|| Mismatch::expected("a string", json))?;
    if text.contains('\0') {
        return Err(Mismatch::new("a string of IDL cannot have the character U+0000"));
    }
    match (plain.length(), count(text)) {
        (Some(bound @ 1..), length) if length > bound as usize => {
            Err(Mismatch::new(format!("{length} characters, but the bound of the type is {bound}")))
        }
        _ => Ok(text.to_owned()),
    }
}

fn enumerator(json: &Json, plain: &TypeCode) -> Result<u32, Mismatch> {
    let names = plain.enumerators();
    let found = match json {
        Json::String(name) => names.iter().position(|known| known == name),
        // As written for a type without names.
        Json::Number(_) => {
            let position: usize = number::integer(json, 0, u32::MAX.into())?;
            Some(position).filter(|position| *position < names.len())
        }
        _ => None,
    };
    match found.and_then(|index| u32::try_from(index).ok()) {
        Some(index) => Ok(index),
        None => {
            let wanted = json.as_str().unwrap_or_default();
            let near = near_names::suggestion(wanted, names.iter().map(String::as_str));
            let text = super::mismatch::found(json);
            Err(Mismatch::new(format!("{text} is not an enumerator of {}{near}", plain.name())))
        }
    }
}

fn structure(
    json: &Json,
    plain: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    let Json::Object(given) = json else {
        return Err(Mismatch::expected("an object with the members", json).at(place));
    };
    let members = plain.members();
    let names: Vec<String> =
        members.iter().enumerate().map(|(i, m)| member_name(&m.name, i)).collect();
    no_others(given, &names, plain, place)?;
    let mut values = Vec::with_capacity(members.len());
    for (member, name) in members.iter().zip(&names) {
        let Some(json) = given.get(name) else {
            let of = plain.name();
            return Err(Mismatch::new(format!("the member `{name}` of {of} is missing")).at(place));
        };
        values.push(decode(json, &member.type_code, &place.member(name), surroundings)?);
    }
    Ok(Value::Struct(values))
}

/// Refuses members that the type does not have.
pub(super) fn no_others(
    given: &Map<String, Json>,
    names: &[String],
    plain: &TypeCode,
    place: &Place<'_>,
) -> Result<(), Failure> {
    match given.keys().find(|key| !names.contains(key)) {
        None => Ok(()),
        Some(unknown) => {
            let near = near_names::suggestion(unknown, names.iter().map(String::as_str));
            let of = plain.name();
            Err(Mismatch::new(format!("{of} has no member `{unknown}`{near}")).at(place))
        }
    }
}

fn list(
    json: &Json,
    plain: &TypeCode,
    place: &Place<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Value, Failure> {
    let element = plain.content_type().unwrap_or_default();
    let is_octet = element.unaliased().is_some_and(|element| element.kind() == TcKind::Octet);
    if is_octet && !super::is_int8(&element) {
        let octets = octets::octets(json).map_err(|mismatch| mismatch.at(place))?;
        check_length(octets.len(), plain).map_err(|mismatch| mismatch.at(place))?;
        return Ok(Value::Octets(octets));
    }
    let Json::Array(elements) = json else {
        return Err(Mismatch::expected("an array", json).at(place));
    };
    check_length(elements.len(), plain).map_err(|mismatch| mismatch.at(place))?;
    let values = elements
        .iter()
        .enumerate()
        .map(|(index, json)| decode(json, &element, &place.element(index), surroundings));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    if !is_octet {
        return Ok(Value::List(values));
    }
    let octets =
        values.iter().filter_map(|v| if let Value::Octet(o) = v { Some(*o) } else { None });
    Ok(Value::Octets(octets.collect()))
}

fn check_length(given: usize, plain: &TypeCode) -> Result<(), Mismatch> {
    let length = plain.length().unwrap_or(0) as usize;
    match plain.kind() {
        TcKind::Array if given != length => {
            Err(Mismatch::new(format!("{given} elements, but the array has {length}")))
        }
        TcKind::Sequence if length > 0 && given > length => {
            Err(Mismatch::new(format!("{given} elements, but the bound of the type is {length}")))
        }
        _ => Ok(()),
    }
}

fn any(json: &Json, place: &Place<'_>, surroundings: &dyn Surroundings) -> Result<Value, Failure> {
    let form = || Mismatch::expected("{\"type\": TYPE, \"value\": VALUE}", json).at(place);
    let members = json.as_object().filter(|members| members.len() <= 2).ok_or_else(form)?;
    let type_json = members.get("type").ok_or_else(form)?;
    let type_place = place.member("type");
    let type_code = type_code::type_from_json(type_json, surroundings)
        .map_err(|mismatch| mismatch.at(&type_place))?;
    let json = match members.get("value") {
        Some(json) => json,
        None if members.len() == 1 && matches!(type_code.kind(), TcKind::Null | TcKind::Void) => {
            &Json::Null
        }
        None => return Err(form()),
    };
    let value = decode(json, &type_code, &place.member("value"), surroundings)?;
    Any::from_dynamic(type_code, &value)
        .map(|any| Value::Any(Box::new(any)))
        .map_err(|exception| Mismatch::new(exception.to_string()).at(place))
}

fn reference(json: &Json, surroundings: &dyn Surroundings) -> Result<Ior, Mismatch> {
    match json {
        Json::Null => Ok(Ior::nil()),
        Json::String(text) if text.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("IOR:")) => {
            text.parse().map_err(|error| Mismatch::new(format!("{error}")))
        }
        Json::String(text) => surroundings.reference(text).map_err(Mismatch::new),
        other => Err(Mismatch::expected("a reference as a string, or null", other)),
    }
}
