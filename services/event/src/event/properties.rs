//! Typed events as untyped ones, and back: a list of properties, the first of which names the
//! operation (Notification Service 1.1 §2.8.2: `CosNotification::PropertySeq`).
//!
//! So untyped consumers of a typed channel see what happens in it, and untyped suppliers can give
//! events to typed consumers. Each is decoded only if there are both.

use crate::interfaces::{EventInterface, Signature};
use corbie::types::TcKind;
use corbie::{Any, Decoder, SystemException, TypeCode, Value};
use std::sync::{Arc, LazyLock};

/// The name of the first property, whose value is the scoped name of the operation.
pub(crate) const OPERATION: &str = "operation";

/// `CosNotification::PropertySeq`.
pub(crate) static PROPERTY_SEQ: LazyLock<TypeCode> = LazyLock::new(|| {
    let id = |name: &str| format!("IDL:omg.org/CosNotification/{name}:1.0");
    let alias = |name: &str, content| TypeCode::alias(&id(name), name, content);
    let text = alias("PropertyName", alias("Istring", TypeCode::string(0)));
    let members = [("name", text), ("value", alias("PropertyValue", TypeCode::ANY))];
    let property = TypeCode::structure(&id("Property"), "Property", &members);
    alias("PropertySeq", TypeCode::sequence(property, 0))
});

/// An event of `signature`, whose arguments `d` reads, as a list of properties.
///
/// # Errors
/// `MARSHAL` when the arguments cannot be read.
pub(super) fn of(signature: &Signature, d: &mut Decoder<'_>) -> Result<Any, SystemException> {
    let property = |name: &str, value: Any| {
        Value::Struct(vec![Value::String(name.to_owned()), Value::Any(Box::new(value))])
    };
    let mut list = vec![property(OPERATION, Any::string(&signature.scoped_name())?)];
    for (name, type_code) in signature.names().iter().zip(signature.types().iter()) {
        list.push(property(name, Any::decode_value(type_code.clone(), d)?));
    }
    Any::from_dynamic(PROPERTY_SEQ.clone(), &Value::List(list))
}

/// The typed event of `interface` that `any` lists the properties of, with its arguments in order;
/// none, when it is no such list, names no operation of the interface, or has other parameters.
pub(crate) fn read(any: &Any, interface: &EventInterface) -> Option<(Arc<Signature>, Vec<Any>)> {
    if any.type_code().unaliased()?.kind() != TcKind::Sequence
        || !any.type_code().equivalent(&PROPERTY_SEQ)
    {
        return None;
    }
    let Ok(Value::List(list)) = any.to_value() else { return None };
    let mut properties = list.into_iter().map_while(|property| match property {
        Value::Struct(members) => match <[Value; 2]>::try_from(members) {
            Ok([Value::String(name), Value::Any(value)]) => Some((name, *value)),
            _ => None,
        },
        _ => None,
    });
    let (_, operation) = properties.next().filter(|(name, _)| name == OPERATION)?;
    let operation = operation.extract::<String>().ok()?;
    let (_, name) = operation.rsplit_once("::")?;
    let signature = interface.signature(name)?;
    if signature.scoped_name() != operation {
        return None;
    }
    let given: Vec<(String, Any)> = properties.collect();
    let fits = given.len() == signature.types().len()
        && given
            .iter()
            .zip(signature.types().iter())
            .all(|((_, value), type_code)| value.type_code().equivalent(type_code));
    fits.then(|| (Arc::clone(signature), given.into_iter().map(|(_, value)| value).collect()))
}
