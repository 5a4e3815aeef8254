//! Walks over an encoded value by its TypeCode, checks it, and writes it again if asked: in
//! another byte order, alignment, code set or GIOP version. [`Any`](crate::Any) finds the end of
//! its value with it, without holding anything but octets.

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, Marshal, decode_fixed, encode_fixed};

use super::decode::{array_length, element_of, incomplete, skip_exception_id, within};
use super::held::{read_held, write_held};
use super::primitive;
use crate::type_code::{read_label, write_label};
use crate::{Ior, TcKind, TypeCode};

/// Reads a value of this type from `d` and writes it to `to`, if any. The values in it count
/// towards the limits of `d`.
///
/// # Errors
/// As [`Value::decode`](crate::Value::decode) and [`Value::encode`](crate::Value::encode).
pub(crate) fn transcode(
    type_code: &TypeCode,
    d: &mut Decoder<'_>,
    to: Option<&mut Encoder<'_>>,
) -> Result<(), Error> {
    Walk { to, met_value: false }.plain_value(type_code, d)
}

/// Reads a value of this type, unless there is a value of a valuetype in it: such have to be
/// written again, to be apart from the message. Whether it was read to its end.
///
/// # Errors
/// As [`transcode`].
pub(crate) fn walk_without_values(
    type_code: &TypeCode,
    d: &mut Decoder<'_>,
) -> Result<bool, Error> {
    let mut walk = Walk { to: None, met_value: false };
    match walk.plain_value(type_code, d) {
        Err(_) if walk.met_value => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Reads the members of an exception and writes them, both without the repository id that stands
/// before them.
///
/// # Errors
/// As [`transcode`]; `BadTypeCode` when the type is no exception.
pub(crate) fn transcode_members(
    type_code: &TypeCode,
    d: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), Error> {
    let Some(plain) = type_code.unaliased().filter(|plain| plain.kind() == TcKind::Except) else {
        let found = format!("{type_code}");
        return Err(d.error(ErrorKind::BadTypeCode, "user exception", found, "an exception"));
    };
    let mut walk = Walk { to: Some(to), met_value: false };
    d.nested(|d| plain.try_members(|_, part| walk.value(&part, d)))
}

struct Walk<'e, 'a> {
    to: Option<&'e mut Encoder<'a>>,
    /// There was a value of a valuetype, and nothing to write it to.
    met_value: bool,
}

impl Walk<'_, '_> {
    fn value(&mut self, type_code: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        d.dynamic_value(|d| self.plain_value(type_code, d))
    }

    fn plain_value(&mut self, type_code: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let Some(plain) = type_code.plain() else {
            return Err(incomplete(type_code, d));
        };
        match plain.kind() {
            TcKind::Null | TcKind::Void => {}
            TcKind::Principal => self.octets(d)?,
            TcKind::Fixed => self.fixed(&plain, d)?,
            TcKind::String => self.string(&plain, d)?,
            TcKind::WString => self.wide_string(&plain, d)?,
            TcKind::Enum => self.label(&plain, d).map(drop)?,
            TcKind::Struct | TcKind::Except => d.nested(|d| self.members(&plain, d))?,
            TcKind::Union => d.nested(|d| self.union(&plain, d))?,
            TcKind::Sequence => {
                let element = element_of(&plain, d)?;
                let length = d.read_length(element.min_octets())?;
                let length = within(&plain, length, d, length)?;
                if let Some(e) = &mut self.to {
                    e.write_length(length)?;
                }
                d.nested(|d| self.elements(&element, length, d))?;
            }
            TcKind::Array => {
                let length = array_length(&plain, d)?;
                let element = element_of(&plain, d)?;
                d.nested(|d| self.elements(&element, length, d))?;
            }
            TcKind::Any => self.any(d)?,
            TcKind::TypeCode => self.type_code(d)?,
            TcKind::ObjRef | TcKind::Component | TcKind::Home => self.reference(d)?,
            TcKind::AbstractInterface => {
                let is_reference = d.read_boolean()?;
                if let Some(e) = &mut self.to {
                    e.write_boolean(is_reference);
                }
                match is_reference {
                    true => self.reference(d)?,
                    false => self.valuetype(&plain, d)?,
                }
            }
            TcKind::Value | TcKind::ValueBox | TcKind::Event => {
                self.valuetype(&plain, d)?;
            }
            kind => {
                if let Some(outcome) = primitive::copy(kind, d, self.to.as_deref_mut()) {
                    return outcome;
                }
                let needed = "a type whose values can be sent";
                return Err(d.error(ErrorKind::BadTypeCode, "any", format!("{plain}"), needed));
            }
        }
        Ok(())
    }

    fn octets(&mut self, d: &mut Decoder<'_>) -> Result<(), Error> {
        let octets = d.read_octet_sequence()?;
        self.to.as_mut().map_or(Ok(()), |e| e.write_octet_sequence_copied(octets))
    }

    fn fixed(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let (digits, _) = of.fixed_digits_and_scale().unwrap_or_default();
        let value = decode_fixed(digits, d)?;
        self.to.as_mut().map_or(Ok(()), |e| encode_fixed(value, digits, e))
    }

    fn string(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let text = d.read_string()?;
        within(of, text.chars().count(), d, ())?;
        self.to.as_mut().map_or(Ok(()), |e| e.write_string(&text))
    }

    fn wide_string(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let text = d.read_wstring()?;
        within(of, text.encode_utf16().count(), d, ())?;
        self.to.as_mut().map_or(Ok(()), |e| e.write_wstring(&text))
    }

    fn label(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<i128, Error> {
        let label = read_label(of, d)?;
        if let Some(e) = &mut self.to {
            write_label(of, label, e)?;
        }
        Ok(label)
    }

    fn members(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        if of.kind() == TcKind::Except {
            skip_exception_id(of, d)?;
            if let Some(e) = &mut self.to {
                e.write_str(&of.id())?;
            }
        }
        of.try_members(|_, part| self.value(&part, d))
    }

    fn union(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let discriminator = self.label(&of.discriminator_type().unwrap_or_default(), d)?;
        match of.union_case_type(discriminator) {
            Some(part) => self.value(&part, d),
            None => Ok(()),
        }
    }

    fn elements(
        &mut self,
        element: &TypeCode,
        length: usize,
        d: &mut Decoder<'_>,
    ) -> Result<(), Error> {
        let kind = element.plain().map_or(TcKind::Null, |plain| plain.kind());
        // Numbers of up to 8 octets are copied, or turned round.
        let size = match kind.primitive() {
            Some(number) if number.is_number() && number.octets <= 8 && !d.is_in_chunks() => {
                number.octets as usize
            }
            _ => return (0..length).try_for_each(|_| self.value(element, d)),
        };
        if length == 0 {
            return Ok(());
        }
        d.align(size)?;
        let octets = d.read_octets(length.saturating_mul(size))?;
        let Some(e) = &mut self.to else { return Ok(()) };
        e.align(size);
        if e.order() == d.order() {
            e.write_octets(octets);
            return Ok(());
        }
        for value in octets.chunks_exact(size) {
            let mut swapped = [0; 8];
            let swapped = swapped.get_mut(..size).unwrap_or_default();
            swapped.copy_from_slice(value);
            swapped.reverse();
            e.write_octets(swapped);
        }
        Ok(())
    }

    fn any(&mut self, d: &mut Decoder<'_>) -> Result<(), Error> {
        d.nested(|d| {
            let type_code = <TypeCode as Marshal>::decode(d)?;
            if let Some(e) = &mut self.to {
                type_code.write(e)?;
            }
            // The `any` was counted, and took octets, whatever is in it.
            self.plain_value(&type_code, d)
        })
    }

    fn type_code(&mut self, d: &mut Decoder<'_>) -> Result<(), Error> {
        let type_code = <TypeCode as Marshal>::decode(d)?;
        match &mut self.to {
            Some(e) => type_code.write(e),
            None => Ok(()),
        }
    }

    fn valuetype(&mut self, of: &TypeCode, d: &mut Decoder<'_>) -> Result<(), Error> {
        let Some(e) = &mut self.to else {
            self.met_value = d.look_ahead()?.read_ulong()? != 0;
            return match self.met_value {
                true => Err(d.invalid("value", "one that cannot be passed over", "null")),
                false => d.read_ulong().map(drop),
            };
        };
        match read_held(of, d)? {
            Some(value) => write_held(&value, of, e),
            None => {
                e.write_null_value();
                Ok(())
            }
        }
    }

    fn reference(&mut self, d: &mut Decoder<'_>) -> Result<(), Error> {
        let reference = Ior::decode(d)?;
        match &mut self.to {
            Some(e) => reference.encode_copied(e),
            None => Ok(()),
        }
    }
}
