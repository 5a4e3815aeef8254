//! `any` (CORBA 3.3 P1 §7.11.1.9, P2 §9.3.5.3): a TypeCode and a value of that type. The value
//! stays as the octets that came, or were written by generated code, until somebody asks for it;
//! it is walked over once on arrival, so that later reads cannot fail on malformed octets.

use std::any::Any as Context;
use std::fmt;
use std::sync::Arc;

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Error, Limits, Marshal, Version};

use crate::type_code::TEXT;
use crate::value::transcode;
use crate::{CompletionStatus, SystemException, TcKind, TypeCode, Typed, Value, minor};

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
#[derive(Clone, Default)]
pub struct Any {
    type_code: TypeCode,
    /// `None`: no octets, as for `null`.
    octets: Option<Arc<Encoded>>,
}

/// Octets of a value and how they are to be read.
struct Encoded {
    /// Begins with `lead` octets of padding, so that the alignment origin is at index 0.
    data: Box<[u8]>,
    /// Alignment of the first octet, 0 to 7.
    lead: usize,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
}

impl Encoded {
    fn decoder<'a>(&'a self, context: Option<&'a (dyn Context + Send + Sync)>) -> Decoder<'a> {
        let mut d = Decoder::with_position(&self.data, self.lead, self.order);
        d.set_version(self.version);
        d.set_code_sets(self.code_sets);
        d.set_limits(&LOCAL_LIMITS);
        d.set_context(context);
        d
    }

    /// Whether an encoder would write the same octets at its present position.
    fn fits(&self, text: u8, e: &Encoder<'_>) -> bool {
        let (mine, other) = (self.code_sets, e.code_sets());
        self.order == e.order()
            && self.lead == e.position() % 8
            && (text & TEXT::CHAR == 0 || mine.char_data == other.char_data)
            && (text & TEXT::WIDE == 0
                || (mine.wchar_data == other.wchar_data && self.version == e.version()))
    }
}

/// What is here was let in, or made, under the limits of the one who did it.
static LOCAL_LIMITS: Limits = Limits {
    message_octets: usize::MAX,
    nesting_depth: 256,
    sequence_elements: u32::MAX,
    empty_elements: u32::MAX,
    type_code_nodes: u32::MAX,
    dynamic_values: u32::MAX,
};

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
        let mut e = Encoder::native();
        // Nothing is lost, whatever a connection agrees upon later.
        let code_sets = CodeSets { char_data: CodeSet::LOCAL, wchar_data: CodeSet::UTF_16 };
        e.set_code_sets(code_sets);
        write(&mut e)?;
        let (order, version) = (e.order(), e.version());
        let data = if e.is_contiguous() { e.into_buffer() } else { e.to_vec() };
        let data = data.into_boxed_slice();
        let octets = Some(Arc::new(Encoded { data, lead: 0, order, version, code_sets }));
        Ok(Self { type_code, octets })
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
        asked.equivalent(&self.type_code) || is_reference_to_any(&asked, &self.type_code)
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
        context: Option<&(dyn Context + Send + Sync)>,
    ) -> Result<M::Value, SystemException> {
        if !self.holds::<M>() {
            let text = format!("the any holds {}, not {}", self.type_code, M::type_code());
            let (minor, completed) = (minor::BAD_PARAM_WRONG_TYPE, CompletionStatus::No);
            return Err(SystemException::bad_param(minor, completed).with_detail(text));
        }
        Ok(self.read(context, |d| {
            if exception_id(&self.type_code).is_some() {
                d.read_string_octets()?;
            }
            M::decode(d)
        })?)
    }

    /// Its value, dynamically.
    ///
    /// # Errors
    /// `NO_IMPLEMENT` for value types.
    pub fn to_value(&self) -> Result<Value, SystemException> {
        Ok(self.read(None, |d| Value::decode(&self.type_code, d))?)
    }

    fn read<T>(
        &self,
        context: Option<&(dyn Context + Send + Sync)>,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &self.octets {
            Some(encoded) => read(&mut encoded.decoder(context)),
            None => read(&mut Decoder::new(&[], ByteOrder::NATIVE)),
        }
    }
}

/// The repository id that stands before the members of an exception (CORBA 3.3 P2 §9.3.5.2);
/// generated code encodes the members only, since in replies the id is read separately.
fn exception_id(type_code: &TypeCode) -> Option<String> {
    let plain = type_code.unaliased().filter(|plain| plain.kind() == TcKind::Except)?;
    Some(plain.id())
}

fn is_reference_to_any(asked: &TypeCode, held: &TypeCode) -> bool {
    let is_reference = held.unaliased().is_some_and(|held| held.kind() == TcKind::ObjRef);
    is_reference && asked.equivalent(&TypeCode::object())
}

impl Marshal for Any {
    type Value = Self;
    /// The TypeCode of `null`.
    const MIN_OCTETS: usize = 4;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        <TypeCode as Marshal>::encode(&value.type_code, e)?;
        let Some(encoded) = &value.octets else { return Ok(()) };
        if encoded.fits(value.type_code.text(), e) {
            let octets = encoded.data.get(encoded.lead..).unwrap_or_default();
            e.write_borrowed_octets(octets);
            return Ok(());
        }
        transcode(&value.type_code, &mut encoded.decoder(None), Some(e))
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.nested(|d| {
            let type_code = <TypeCode as Marshal>::decode(d)?;
            if exception_id(&type_code).is_some() {
                // With its repository id, even when the peer left it out.
                return Self::written(type_code.clone(), |e| transcode(&type_code, d, Some(e)));
            }
            let start = d.position();
            transcode(&type_code, d, None)?;
            let octets = d.octets_since(start);
            if octets.is_empty() {
                return Ok(Self { type_code, octets: None });
            }
            let lead = start % 8;
            let mut data = Vec::with_capacity(lead + octets.len());
            data.resize(lead, 0);
            data.extend_from_slice(octets);
            let (order, version, code_sets) = (d.order(), d.version(), d.code_sets());
            let data = data.into_boxed_slice();
            let encoded = Encoded { data, lead, order, version, code_sets };
            Ok(Self { type_code, octets: Some(Arc::new(encoded)) })
        })
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
