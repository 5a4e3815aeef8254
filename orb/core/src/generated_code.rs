//! What generated code needs beyond references and requests: abstract interfaces, the base of
//! valuetypes, and operation contexts.
//!
//! Used only by code that `corbie_codegen` writes, through `corbie::codegen`. CORBA 3.3 P2 §9.3.7
//! (abstract interfaces on the wire), P1 §8.6 (contexts), P1 §9 (valuetypes; marshalling is to
//! come).

use crate::Object;
use crate::interface::encode_object;
use corbie_cdr::{Decoder, Encoder, Error, Marshal};
use corbie_types::{TypeCode, Typed, ValueModifier};
use std::fmt::Debug;

/// `CORBA::AbstractBase`: an object reference whose interface is abstract and not known.
#[derive(Clone, Debug, PartialEq)]
pub struct AbstractBase(Object);

impl AbstractBase {
    /// The reference behind it.
    #[must_use]
    pub fn as_object(&self) -> &Object {
        &self.0
    }

    /// The reference behind it.
    #[must_use]
    pub fn into_object(self) -> Object {
        self.0
    }
}

impl From<Object> for AbstractBase {
    fn from(object: Object) -> Self {
        AbstractBase(object)
    }
}

impl Marshal for AbstractBase {
    type Value = Option<AbstractBase>;
    const MIN_OCTETS: usize = 1;

    fn encode<'a>(value: &'a Option<AbstractBase>, e: &mut Encoder<'a>) -> Result<(), Error> {
        encode_abstract(value.as_ref().map(AbstractBase::as_object), e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Option<AbstractBase>, Error> {
        Ok(decode_abstract(d)?.map(AbstractBase))
    }
}

impl Typed for AbstractBase {
    fn type_code() -> TypeCode {
        TypeCode::abstract_interface("IDL:omg.org/CORBA/AbstractBase:1.0", "AbstractBase")
    }
}

/// Writes a reference as an abstract interface: `TRUE` and the reference, or for nil `FALSE` and a
/// null value (CORBA 3.3 P2 §9.3.7).
///
/// # Errors
/// The encoder's.
pub fn encode_abstract<'a>(object: Option<&'a Object>, e: &mut Encoder<'a>) -> Result<(), Error> {
    e.write_boolean(object.is_some());
    match object {
        Some(object) => encode_object(Some(object), e),
        None => {
            e.write_long(0);
            Ok(())
        }
    }
}

/// Reads what [`encode_abstract`] writes.
///
/// # Errors
/// The decoder's; `NotImplemented` when a valuetype was sent, which Corbie cannot read yet.
pub fn decode_abstract(d: &mut Decoder<'_>) -> Result<Option<Object>, Error> {
    if d.read_boolean()? {
        return Object::decode(d);
    }
    match d.read_long()? {
        0 => Ok(None),
        _ => Err(d.not_implemented("valuetype sent as an abstract interface")),
    }
}

/// What every valuetype has in common (`CORBA::ValueBase`).
pub trait ValueBase: Debug + Send + Sync + 'static {}

/// Markers for IDL types, beside those of `corbie_cdr::idl`.
pub mod idl {
    use corbie_cdr::{Decoder, Encoder, Error, Marshal};
    use std::sync::Arc;

    /// The IDL type `ValueBase`: any valuetype. Marshalling is to come, but for null.
    #[derive(Debug)]
    pub enum ValueBase {}

    impl ValueBase {
        /// Writes a value given as a parameter.
        ///
        /// # Errors
        /// `NotImplemented`, unless the value is null.
        pub fn write(
            value: Option<&Arc<dyn super::ValueBase>>,
            e: &mut Encoder<'_>,
        ) -> Result<(), Error> {
            match value {
                None => {
                    e.write_long(0);
                    Ok(())
                }
                Some(_) => Err(e.not_implemented("ValueBase")),
            }
        }
    }

    impl Marshal for ValueBase {
        type Value = Option<Arc<dyn super::ValueBase>>;
        const MIN_OCTETS: usize = 4;

        fn encode<'a>(value: &'a Self::Value, e: &mut Encoder<'a>) -> Result<(), Error> {
            Self::write(value.as_ref(), e)
        }

        fn decode(d: &mut Decoder<'_>) -> Result<Self::Value, Error> {
            match d.read_long()? {
                0 => Ok(None),
                _ => Err(d.not_implemented("ValueBase")),
            }
        }
    }
}

impl Typed for idl::ValueBase {
    fn type_code() -> TypeCode {
        let id = "IDL:omg.org/CORBA/ValueBase:1.0";
        TypeCode::value(id, "ValueBase", ValueModifier::None, None, &[])
    }
}

impl PartialEq for dyn ValueBase {
    /// Whether both are the same object.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

/// Writes the context of an operation with a `context` clause: name and value, one after the other,
/// of those entries whose name is in the clause. A name there that ends in `*` stands for all names
/// that begin like it (CORBA 3.3 P1 §7.13.5, P2 §9.4.2.2).
///
/// # Errors
/// The encoder's.
pub fn encode_context(
    clause: &[impl AsRef<str>],
    context: &[(String, String)],
    e: &mut Encoder<'_>,
) -> Result<(), Error> {
    let is_wanted = |name: &str| {
        clause.iter().map(AsRef::as_ref).any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        })
    };
    let wanted = context.iter().filter(|(name, _)| is_wanted(name));
    e.write_length(2 * wanted.clone().count())?;
    for (name, value) in wanted {
        e.write_string(name)?;
        e.write_string(value)?;
    }
    Ok(())
}

/// Reads what [`encode_context`] writes.
///
/// # Errors
/// The decoder's; `InvalidValue` when a name has no value.
pub fn decode_context(d: &mut Decoder<'_>) -> Result<Vec<(String, String)>, Error> {
    let length = d.read_length(String::MIN_OCTETS)?;
    if length % 2 != 0 {
        return Err(d.invalid("context", format!("{length} strings"), "names with a value each"));
    }
    let mut context = Vec::new();
    for _ in 0..length / 2 {
        let name = d.read_string()?.into_owned();
        context.push((name, d.read_string()?.into_owned()));
    }
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie_cdr::ByteOrder;

    fn entry(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_context_carries_what_the_clause_names() {
        let context = [entry("user", "a"), entry("sys_os", "b"), entry("sys", "c"), entry("x", "")];
        let mut e = Encoder::native();
        encode_context(&["user", "sys_*"], &context, &mut e).expect("encodes");
        let octets = e.to_vec();
        let mut d = Decoder::new(&octets, ByteOrder::NATIVE);
        let read = decode_context(&mut d).expect("decodes");
        assert_eq!(read, [entry("user", "a"), entry("sys_os", "b")]);
        assert_eq!(d.remaining(), 0);
    }

    #[test]
    fn a_context_name_without_value_is_refused() {
        let mut e = Encoder::native();
        e.write_ulong(1);
        e.write_string("user").expect("encodes");
        let octets = e.to_vec();
        let error = decode_context(&mut Decoder::new(&octets, ByteOrder::NATIVE));
        assert_eq!(error.expect_err("odd").kind(), corbie_cdr::ErrorKind::InvalidValue);
    }

    #[test]
    fn a_nil_abstract_interface_is_a_null_value() {
        let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
        encode_abstract(None, &mut e).expect("encodes");
        let octets = e.to_vec();
        assert_eq!(octets, [0, 0, 0, 0, 0, 0, 0, 0]);
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        assert_eq!(decode_abstract(&mut d).expect("decodes"), None);
    }

    #[test]
    fn a_value_sent_as_an_abstract_interface_is_refused() {
        let octets = [0, 0, 0, 0, 0x7f, 0xff, 0xff, 0x02];
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        let error = decode_abstract(&mut d).expect_err("a valuetype");
        assert_eq!(error.kind(), corbie_cdr::ErrorKind::NotImplemented);
    }
}
