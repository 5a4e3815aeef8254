//! `any` (CORBA 3.3 P1 §7.11.1.9, P2 §9.3.5.3): a TypeCode and a value of that type. The value
//! stays as the octets that came, or were written by generated code, until a caller asks for it;
//! it is walked over once on arrival, so that later reads cannot fail on malformed octets.

mod encoded;

use std::fmt;

use corbie_cdr::{Context, Decoder, Encoder, Error, ErrorKind, Marshal};

use super::decode::skip_exception_id;
use super::held::{HeldValue, read_held};
use super::transcode::{transcode, transcode_members, walk_without_values};
use super::{Typed, Value};
use crate::type_code::{HOLDS, write_octets_type};
use crate::{CompletionStatus, SystemException, TcKind, TypeCode, minor};
use encoded::Encoded;

/// An IDL `any`. Cheap to clone.
///
/// ```
/// use corbie_types::{Any, TypeCode};
/// let any = Any::from_value::<i32>(&7)?;
/// assert_eq!(any.type_code(), &TypeCode::LONG);
/// assert_eq!(any.extract::<i32>()?, 7);
/// assert!(any.extract::<String>().is_err());
/// # Ok::<(), corbie_types::SystemException>(())
/// ```
#[derive(Clone)]
pub struct Any {
    type_code: TypeCode,
    encoded: Encoded,
}

impl Any {
    /// An any that holds a value of a type known at build time.
    ///
    /// # Errors
    /// When the value cannot be sent: `BAD_PARAM` and others, see [`Marshal::encode`].
    pub fn from_value<M: Typed>(value: &M::Value) -> Result<Self, SystemException> {
        let type_code = M::type_code();
        let exception_id = exception_id(&type_code);
        Ok(Self::written(type_code, |e| {
            if let Some(id) = &exception_id {
                e.write_str(id)?;
            }
            M::encode(value, e)
        })?)
    }

    /// An any that holds a value of a type known only at run time.
    ///
    /// # Errors
    /// When the value does not fit the type: `BAD_PARAM` and others, see [`Value::encode`].
    pub fn from_dynamic(type_code: TypeCode, value: &Value) -> Result<Self, SystemException> {
        let of = type_code.clone();
        Ok(Self::written(type_code, |e| value.encode(&of, e))?)
    }

    fn written<'v>(
        type_code: TypeCode,
        write: impl FnOnce(&mut Encoder<'v>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        Ok(Self { encoded: Encoded::written(write)?, type_code })
    }

    /// Writes its value without the TypeCode, as an argument or a result.
    ///
    /// # Errors
    /// What cannot be sent on this connection, see [`Value::encode`].
    pub fn encode_value<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
        if !self.has_value() {
            return Err(self.no_value(e));
        }
        if self.encoded.write_as_is(&self.type_code, e) {
            return Ok(());
        }
        transcode(&self.type_code, &mut self.encoded.decoder(None), Some(e))
    }

    /// Writes it as an `any`, without borrowing from it: for encoders that live longer.
    ///
    /// # Errors
    /// As [`Any::encode_value`].
    pub fn encode_copied(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        if self.type_code.is_octets()
            && let Some(octets) = self.encoded.sequence_of_octets(e.order())
        {
            write_octets_type(e);
            e.write_octets(octets);
            return Ok(());
        }
        self.type_code.write(e)?;
        if !self.has_value() {
            return Err(self.no_value(e));
        }
        if self.encoded.copy_as_is(&self.type_code, e) {
            return Ok(());
        }
        transcode(&self.type_code, &mut self.encoded.decoder(None), Some(e))
    }

    /// Writes the members of the exception that it holds, without the repository id that stands
    /// before them.
    ///
    /// # Errors
    /// As [`Any::encode_value`]; `BadTypeCode` when it holds no exception.
    pub fn encode_exception(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        if !self.has_value() {
            return Err(self.no_value(e));
        }
        let d = &mut self.encoded.decoder(None);
        if let Some(plain) = self.type_code.unaliased()
            && plain.kind() == TcKind::Except
        {
            skip_exception_id(&plain, d)?;
        }
        transcode_members(&self.type_code, d, e)
    }

    #[cold]
    fn no_value(&self, e: &Encoder<'_>) -> Error {
        let found = format!("an any of type {} without a value", self.type_code);
        e.error(ErrorKind::BadParameter, "any", found, "a value")
    }

    /// Reads a value of a type that is known already, as an argument or a result: it is walked
    /// over once and kept as octets.
    ///
    /// # Errors
    /// When the octets are no such value or a limit is exceeded, see [`Value::decode`].
    pub fn decode_value(type_code: TypeCode, d: &mut Decoder<'_>) -> Result<Self, Error> {
        if type_code.is_octets() && !d.is_in_chunks() {
            let start = d.position();
            d.read_octet_sequence()?;
            return Ok(Self { type_code, encoded: Encoded::read_since(start, d) });
        }
        if exception_id(&type_code).is_some() {
            // With its repository id, even when the peer left it out.
            return Self::read_apart(type_code, d);
        }
        let holds = type_code.holds();
        if d.is_in_chunks() || holds & HOLDS::VALUES != 0 {
            return Self::read_apart(type_code, d);
        }
        let start = d.position();
        if holds & HOLDS::ANYS != 0 {
            if d.has_read_values() {
                return Self::read_apart(type_code, d);
            }
            let before = d.clone();
            if !walk_without_values(&type_code, d)? {
                *d = before;
                return Self::read_apart(type_code, d);
            }
        } else {
            transcode(&type_code, d, None)?;
        }
        Ok(Self { type_code, encoded: Encoded::read_since(start, d) })
    }

    /// Reads a value that does not lie together: in chunks, or with values of valuetypes in it,
    /// which may be anywhere in the message.
    #[cold]
    fn read_apart(type_code: TypeCode, d: &mut Decoder<'_>) -> Result<Self, Error> {
        Self::written(type_code.clone(), |e| transcode(&type_code, d, Some(e)))
    }

    /// Reads the members of a user exception, as a reply has them: its repository id stands
    /// before them and has been read.
    ///
    /// # Errors
    /// As [`Any::decode_value`]; `BadTypeCode` when the type is no exception.
    pub fn decode_exception(type_code: TypeCode, d: &mut Decoder<'_>) -> Result<Self, Error> {
        Self::written(type_code.clone(), |e| {
            e.write_str(&exception_id(&type_code).unwrap_or_default())?;
            transcode_members(&type_code, d, e)
        })
    }

    /// An any that has a type, but no value yet: an out parameter before the call. It cannot be
    /// sent, unless its type is `null` or `void`.
    #[must_use]
    pub fn without_value(type_code: TypeCode) -> Self {
        Self { type_code, encoded: Encoded::absent() }
    }

    /// Whether it has a value.
    #[must_use]
    pub fn has_value(&self) -> bool {
        !self.encoded.is_absent() || matches!(self.type_code.kind(), TcKind::Null | TcKind::Void)
    }

    /// The type of its value.
    #[must_use]
    pub fn type_code(&self) -> &TypeCode {
        &self.type_code
    }

    /// Whether [`Any::extract`] of this type can succeed.
    #[must_use]
    pub fn holds<M: Typed>(&self) -> bool {
        let asked = M::type_code();
        asked.equivalent(&self.type_code)
            || is_reference_to_any(&asked, &self.type_code)
            || self.held_value().is_some_and(|value| value.is_a(&asked))
    }

    /// The value of a valuetype; `None` when it holds another type, or null.
    #[must_use]
    pub fn held_value(&self) -> Option<HeldValue> {
        let plain = self.type_code.plain()?;
        if plain.holds() & HOLDS::VALUES == 0
            || !matches!(plain.kind(), TcKind::Value | TcKind::ValueBox | TcKind::Event)
        {
            return None;
        }
        read_held(&plain, &mut self.encoded.decoder(None)).ok().flatten()
    }

    /// Its value, as a type known at build time; equivalent types will do, and every reference
    /// is an `Object`.
    ///
    /// # Errors
    /// `BAD_PARAM`, minor `BAD_PARAM_WRONG_TYPE`, when it holds another type.
    pub fn extract<M: Typed>(&self) -> Result<M::Value, SystemException> {
        self.extract_in::<M>(None)
    }

    /// [`Any::extract`] with what decoding references needs; see [`Decoder::set_context`].
    ///
    /// # Errors
    /// As [`Any::extract`].
    pub fn extract_in<M: Typed>(
        &self,
        context: Option<&dyn Context>,
    ) -> Result<M::Value, SystemException> {
        if !self.holds::<M>() {
            let text = format!("the any holds {}, not {}", self.type_code, M::type_code());
            let (minor, completed) = (minor::BAD_PARAM_WRONG_TYPE, CompletionStatus::No);
            return Err(minor.raise(completed, text));
        }
        Ok(self.read(context, |d| {
            if exception_id(&self.type_code).is_some() {
                d.read_string_octets()?;
            }
            M::decode(d)
        })?)
    }

    /// The value of a `sequence<octet>` where it lies; `None` when it holds another type.
    #[must_use]
    pub fn octets(&self) -> Option<&[u8]> {
        if self.type_code.is_octets() {
            return self.encoded.decoder(None).read_octet_sequence().ok();
        }
        let plain = self.type_code.plain()?;
        if plain.kind() != TcKind::Sequence
            || plain.content_type()?.plain()?.kind() != TcKind::Octet
        {
            return None;
        }
        self.encoded.decoder(None).read_octet_sequence().ok()
    }

    /// Its value, dynamically.
    ///
    /// # Errors
    /// None of what was received: it was looked through when it came.
    pub fn to_value(&self) -> Result<Value, SystemException> {
        Ok(self.read(None, |d| Value::decode(&self.type_code, d))?)
    }

    /// The value of a `string`, as [`Any::from_value`], from a borrowed text.
    ///
    /// # Errors
    /// `BAD_PARAM` when it contains a NUL.
    pub fn string(text: &str) -> Result<Self, SystemException> {
        Ok(Self::written(TypeCode::string(0), |e| e.write_string(text))?)
    }

    fn read<T>(
        &self,
        context: Option<&dyn Context>,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        read(&mut self.encoded.decoder(context))
    }
}

impl Default for Any {
    /// An any of type `null`.
    fn default() -> Self {
        Self::without_value(TypeCode::NULL)
    }
}

/// The repository id that stands before the members of an exception (CORBA 3.3 P2 §9.3.5.2);
/// generated code encodes the members only, since in replies the id is read separately.
fn exception_id(type_code: &TypeCode) -> Option<String> {
    let plain = type_code.plain().filter(|plain| plain.kind() == TcKind::Except)?;
    Some(plain.id())
}

fn is_reference_to_any(asked: &TypeCode, held: &TypeCode) -> bool {
    let is_reference =
        |of: &TypeCode| of.unaliased().is_some_and(|plain| plain.kind() == TcKind::ObjRef);
    is_reference(held) && is_reference(asked) && asked.equivalent(&TypeCode::object())
}

impl Marshal for Any {
    type Value = Self;
    /// The TypeCode of `null`.
    const MIN_OCTETS: usize = 4;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        <TypeCode as Marshal>::encode(&value.type_code, e)?;
        value.encode_value(e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let read = |d: &mut Decoder<'_>| {
            let type_code = <TypeCode as Marshal>::decode(d)?;
            Self::decode_value(type_code, d)
        };
        d.dynamic_value(|d| d.nested(read))
    }
}

impl PartialEq for Any {
    /// Equal types and equal values; floating-point values as IEEE 754 says.
    fn eq(&self, other: &Self) -> bool {
        self.type_code == other.type_code
            && match (self.to_value(), other.to_value()) {
                (Ok(a), Ok(b)) => a == b,
                _ => false,
            }
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_value() {
            Ok(value) => write!(f, "Any({}: {value:?})", self.type_code),
            Err(error) => write!(f, "Any({}: {error})", self.type_code),
        }
    }
}
