//! Reads a [`Value`] by its TypeCode. Nesting and the number of values are bounded by the
//! decoder's limits; lengths are checked before anything is reserved for them.

use corbie_cdr::{Decoder, Error, ErrorKind, Marshal, decode_fixed};

use super::held::read_held;
use super::{UnionValue, Value, primitive};
use crate::type_code::read_label;
use crate::{Any, Ior, TcKind, TypeCode};

impl Value {
    /// Reads a value of this type.
    ///
    /// # Errors
    /// When the octets are no such value, a limit is exceeded, or the TypeCode is incomplete;
    /// `NoValueFactory` for a value of a type that neither a factory nor the TypeCode describes.
    pub fn decode(type_code: &TypeCode, d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.dynamic_value(|d| decode_plain(type_code, d))
    }
}

fn decode_plain(type_code: &TypeCode, d: &mut Decoder<'_>) -> Result<Value, Error> {
    let Some(plain) = type_code.plain() else {
        return Err(incomplete(type_code, d));
    };
    Ok(match plain.kind() {
        TcKind::Null | TcKind::Void => Value::Void,
        TcKind::Fixed => {
            let (digits, _) = plain.fixed_digits_and_scale().unwrap_or_default();
            Value::Fixed(decode_fixed(digits, d)?)
        }
        TcKind::String => {
            let text = d.read_string()?.into_owned();
            Value::String(within(&plain, text.chars().count(), d, text)?)
        }
        TcKind::WString => {
            let text = d.read_wstring()?;
            Value::WString(within(&plain, text.encode_utf16().count(), d, text)?)
        }
        TcKind::Enum => {
            let position = read_label(&plain, d)?;
            Value::Enum(u32::try_from(position).unwrap_or(u32::MAX))
        }
        TcKind::Struct | TcKind::Except => d.nested(|d| decode_members(&plain, d))?,
        TcKind::Union => d.nested(|d| decode_union(&plain, d))?,
        TcKind::Sequence => {
            let element = element_of(&plain, d)?;
            let length = d.read_length(element.min_octets())?;
            let length = within(&plain, length, d, length)?;
            d.nested(|d| decode_list(&element, length, d))?
        }
        TcKind::Array => {
            let length = array_length(&plain, d)?;
            let element = element_of(&plain, d)?;
            d.nested(|d| decode_list(&element, length, d))?
        }
        TcKind::Any => Value::Any(Box::new(d.nested(Any::decode)?)),
        TcKind::TypeCode => Value::TypeCode(<TypeCode as Marshal>::decode(d)?),
        TcKind::Principal => Value::Principal(d.read_octet_sequence()?.to_vec()),
        TcKind::ObjRef | TcKind::Component | TcKind::Home => Value::Object(Ior::decode(d)?),
        TcKind::AbstractInterface => abstract_interface(&plain, d)?,
        TcKind::Value | TcKind::ValueBox | TcKind::Event => {
            read_held(&plain, d)?.map_or(Value::Void, Value::Valuetype)
        }
        kind => {
            if let Some(value) = primitive::read(kind, d) {
                return value;
            }
            let needed = "a type whose values can be sent";
            return Err(d.error(ErrorKind::BadTypeCode, "any", format!("{plain}"), needed));
        }
    })
}

/// CORBA 3.3 P2 §9.3.7: a reference or a value; for nil a null value.
fn abstract_interface(of: &TypeCode, d: &mut Decoder<'_>) -> Result<Value, Error> {
    if d.read_boolean()? {
        return Ior::decode(d).map(Value::Object);
    }
    Ok(read_held(of, d)?.map_or_else(|| Value::Object(Ior::nil()), Value::Valuetype))
}

fn decode_members(of: &TypeCode, d: &mut Decoder<'_>) -> Result<Value, Error> {
    if of.kind() == TcKind::Except {
        skip_exception_id(of, d)?;
    }
    let mut members = Vec::with_capacity(of.member_count());
    of.try_members(|_, part| {
        members.push(Value::decode(&part, d)?);
        Ok(())
    })?;
    Ok(Value::Struct(members))
}

fn decode_union(of: &TypeCode, d: &mut Decoder<'_>) -> Result<Value, Error> {
    let discriminator = read_label(&of.discriminator_type().unwrap_or_default(), d)?;
    let member = match of.union_case_type(discriminator) {
        Some(part) => Some(Value::decode(&part, d)?),
        None => None,
    };
    Ok(Value::Union(Box::new(UnionValue { discriminator, member })))
}

fn decode_list(element: &TypeCode, length: usize, d: &mut Decoder<'_>) -> Result<Value, Error> {
    if element.unaliased().is_some_and(|plain| plain.kind() == TcKind::Octet) {
        return Ok(Value::Octets(u8::decode_vec(length, d)?));
    }
    let mut elements = Vec::new();
    for _ in 0..length {
        elements.push(Value::decode(element, d)?);
    }
    Ok(Value::List(elements))
}

/// Reads the repository id before the members of an exception (CORBA 3.3 P2 §9.3.5.2). omniORB
/// leaves it out of anys: then nothing is read.
pub(crate) fn skip_exception_id(of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
    let id = of.id();
    let mut ahead = d.look_ahead()?;
    match ahead.read_string_octets() {
        Ok(found) if found == id.as_bytes() || id.is_empty() => d.skip_to(&ahead),
        Err(error) if id.is_empty() => return Err(error),
        _ => {}
    }
    Ok(())
}

/// The element type of a sequence or array.
pub(super) fn element_of(of: &TypeCode, d: &Decoder<'_>) -> Result<TypeCode, Error> {
    let element = of.content_type().unwrap_or_default();
    element.into_resolved().map_err(|element| incomplete(&element, d))
}

/// The length of an array, whose octets must be there.
pub(super) fn array_length(of: &TypeCode, d: &Decoder<'_>) -> Result<usize, Error> {
    let length = of.length().unwrap_or_default();
    if of.min_octets() > d.remaining() {
        let found = format!("{} octets left", d.remaining());
        let needed = format!("at least {}", of.min_octets());
        return Err(d.error(ErrorKind::UnexpectedEnd, format!("{of}"), found, needed));
    }
    Ok(length as usize)
}

/// `value`, when `length` is within the bound of its type.
pub(super) fn within<T>(
    of: &TypeCode,
    length: usize,
    d: &Decoder<'_>,
    value: T,
) -> Result<T, Error> {
    match of.length() {
        Some(bound @ 1..) if length > bound as usize => {
            Err(d.bound_exceeded("string or sequence", length, bound as usize))
        }
        _ => Ok(value),
    }
}

#[cold]
pub(super) fn incomplete(type_code: &TypeCode, d: &Decoder<'_>) -> Error {
    let found = format!("the placeholder {type_code}");
    let needed = "an enclosing definition with this repository id";
    d.error(ErrorKind::BadTypeCode, "value", found, needed)
}
