//! Writes a [`Value`] by its TypeCode; a value that does not fit it is `BadParameter`, with a
//! text that names both.

use corbie_cdr::{Encoder, Error, ErrorKind, Marshal, encode_fixed};

use super::held::write_held;
use super::{UnionValue, Value, primitive};
use crate::type_code::write_label;
use crate::{TcKind, TypeCode};

impl Value {
    /// Writes it as a value of this type.
    ///
    /// # Errors
    /// `BadParameter` when it does not fit the type or exceeds a bound, and as the writing of
    /// strings and references; `BadTypeCode` when the TypeCode is incomplete.
    pub fn encode<'a>(&'a self, type_code: &TypeCode, e: &mut Encoder<'a>) -> Result<(), Error> {
        let Some(plain) = type_code.plain() else {
            let found = format!("the placeholder {type_code}");
            let needed = "an enclosing definition with this repository id";
            return Err(e.error(ErrorKind::BadTypeCode, "value", found, needed));
        };
        match (plain.kind(), self) {
            (TcKind::Null | TcKind::Void, Self::Void) => {}
            (TcKind::Fixed, Self::Fixed(v)) => {
                let (digits, _) = plain.fixed_digits_and_scale().unwrap_or_default();
                encode_fixed(*v, digits, e)?;
            }
            (TcKind::String, Self::String(v)) => {
                check_bound(&plain, v.chars().count(), e)?;
                e.write_string(v)?;
            }
            (TcKind::WString, Self::WString(v)) => {
                check_bound(&plain, v.encode_utf16().count(), e)?;
                e.write_wstring(v)?;
            }
            (TcKind::Enum, Self::Enum(v)) if *v < plain.enumerator_count() => e.write_ulong(*v),
            (TcKind::Struct | TcKind::Except, Self::Struct(members)) => {
                encode_members(&plain, members, e)?;
            }
            (TcKind::Union, Self::Union(v)) => encode_union(&plain, v, e)?,
            (TcKind::Sequence | TcKind::Array, Self::List(elements)) => {
                encode_length(&plain, elements.len(), e)?;
                let element = plain.content_type().unwrap_or_default();
                elements.iter().try_for_each(|value| value.encode(&element, e))?;
            }
            (TcKind::Sequence | TcKind::Array, Self::Octets(octets)) if has_octets(&plain) => {
                encode_length(&plain, octets.len(), e)?;
                e.write_borrowed_octets(octets);
            }
            (TcKind::Any, Self::Any(v)) => crate::Any::encode(v, e)?,
            (TcKind::TypeCode, Self::TypeCode(v)) => <TypeCode as Marshal>::encode(v, e)?,
            (TcKind::Principal, Self::Principal(v)) => e.write_octet_sequence(v)?,
            (TcKind::ObjRef | TcKind::Component | TcKind::Home, Self::Object(v)) => {
                crate::Ior::encode(v, e)?;
            }
            // CORBA 3.3 P2 §9.3.7: nil is a null value.
            (TcKind::AbstractInterface, Self::Object(v)) if v.is_nil() => {
                e.write_boolean(false);
                e.write_long(0);
            }
            (TcKind::AbstractInterface, Self::Object(v)) => {
                e.write_boolean(true);
                crate::Ior::encode(v, e)?;
            }
            (TcKind::AbstractInterface, Self::Valuetype(v)) => {
                e.write_boolean(false);
                write_held(v, &plain, e)?;
            }
            (TcKind::Value | TcKind::ValueBox | TcKind::Event, Self::Void) => e.write_null_value(),
            (TcKind::Value | TcKind::ValueBox | TcKind::Event, Self::Valuetype(v)) => {
                write_held(v, &plain, e)?;
            }
            (kind, value) => match primitive::write(kind, value, e) {
                Some(outcome) => outcome?,
                None => return Err(mismatch(&plain, self, e)),
            },
        }
        Ok(())
    }
}

fn encode_members<'a>(
    of: &TypeCode,
    members: &'a [Value],
    e: &mut Encoder<'a>,
) -> Result<(), Error> {
    if members.len() != of.member_count() {
        let found = format!("{} members", members.len());
        let needed = format!("{}", of.member_count());
        return Err(e.error(ErrorKind::BadParameter, format!("{of}"), found, needed));
    }
    if of.kind() == TcKind::Except {
        e.write_str(&of.id())?;
    }
    of.try_members(|index, part| match members.get(index) {
        Some(member) => member.encode(&part, e),
        None => Ok(()),
    })
}

fn encode_union<'a>(
    of: &TypeCode,
    value: &'a UnionValue,
    e: &mut Encoder<'a>,
) -> Result<(), Error> {
    let UnionValue { discriminator, member } = value;
    write_label(&of.discriminator_type().unwrap_or_default(), *discriminator, e)?;
    match (of.union_case_type(*discriminator), member) {
        (Some(part), Some(member)) => member.encode(&part, e),
        (None, None) => Ok(()),
        (case, _) => {
            let found = if member.is_some() { "a member" } else { "no member" };
            let needed = match case {
                Some(part) => format!("the {part} that the discriminator {discriminator} selects"),
                None => format!("none, as the discriminator {discriminator} selects none"),
            };
            Err(e.error(ErrorKind::BadParameter, format!("{of}"), found, needed))
        }
    }
}

/// Writes the length of a sequence, or checks that of an array.
fn encode_length(of: &TypeCode, length: usize, e: &mut Encoder<'_>) -> Result<(), Error> {
    if of.kind() == TcKind::Sequence {
        check_bound(of, length, e)?;
        return e.write_length(length);
    }
    let expected = of.length().unwrap_or_default();
    if length != expected as usize {
        let found = format!("{length} elements");
        let needed = format!("{expected}");
        return Err(e.error(ErrorKind::BadParameter, format!("{of}"), found, needed));
    }
    Ok(())
}

fn has_octets(of: &TypeCode) -> bool {
    let element = of.content_type().and_then(|element| element.unaliased());
    element.is_some_and(|element| element.kind() == TcKind::Octet)
}

fn check_bound(of: &TypeCode, length: usize, e: &Encoder<'_>) -> Result<(), Error> {
    match of.length() {
        Some(bound @ 1..) if length > bound as usize => {
            Err(e.bound_exceeded("string or sequence", length, bound as usize))
        }
        _ => Ok(()),
    }
}

#[cold]
fn mismatch(of: &TypeCode, value: &Value, e: &Encoder<'_>) -> Error {
    let found = match value {
        Value::Enum(position) => format!("the enumerator number {position}"),
        other => format!("a value of kind {}", other.kind_name()),
    };
    e.error(ErrorKind::BadParameter, "value", found, format!("{of}"))
}
