//! Writes and reads values. A value that is read is made by the factory of its own type, or, when
//! that is not known here, of the nearest type that its sender lets it be truncated to.

use std::any::Any;
use std::sync::Arc;

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, SharedValue, StateRead, ValueStart};

use super::{ValueBase, ValueFactory};

/// A value as the table of a message has it.
#[derive(Debug)]
struct Listed(Arc<dyn ValueBase>);

/// Writes a value, or null.
///
/// # Errors
/// What cannot be sent, see [`ValueBase::encode_state`].
pub fn write_value(value: Option<&Arc<dyn ValueBase>>, e: &mut Encoder<'_>) -> Result<(), Error> {
    let Some(value) = value else {
        e.write_null_value();
        return Ok(());
    };
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(value) as _;
    if e.write_known_value(&shared) {
        return Ok(());
    }
    let of = value.value_type();
    e.write_new_value(shared, of.repository_ids, of.is_custom, |e| value.encode_state(e))
}

/// Reads a value, or null. `declared` is the repository id of the type that the IDL says, for a
/// sender that leaves it out; `defaults` are the factories to be taken for types of which the
/// application registered none.
///
/// # Errors
/// When the octets are no value, or no factory makes one of its type, or of a type that it may be
/// truncated to.
pub fn read_value(
    d: &mut Decoder<'_>,
    declared: Option<&str>,
    defaults: &[fn() -> ValueFactory],
) -> Result<Option<Arc<dyn ValueBase>>, Error> {
    d.dynamic_value(|d| read_counted(d, declared, defaults))
}

fn read_counted<'d>(
    d: &mut Decoder<'d>,
    declared: Option<&str>,
    defaults: &[fn() -> ValueFactory],
) -> Result<Option<Arc<dyn ValueBase>>, Error> {
    let header = match d.value_start()? {
        ValueStart::Null => return Ok(None),
        ValueStart::Known(known) => return entry(d, &known).map(Some),
        ValueStart::New(header) => header,
    };
    let ids = match &*header.repository_ids {
        [] => declared.as_slice(),
        ids => ids,
    };
    let found = ids.iter().enumerate().find_map(|(at, id)| Some((at, factory(d, id, defaults)?)));
    let Some((at, factory)) = found else {
        let found = format!("a value of type {}", ids.first().copied().unwrap_or("unknown"));
        let needed = "a type that has a factory: Orb::register_value_factory";
        return Err(d.error(ErrorKind::NoValueFactory, "value", found, needed));
    };
    let how = if at == 0 { StateRead::Whole } else { StateRead::Truncated };
    let read = |d: &mut Decoder<'d>| factory.read(d, |d, value| d.value_is(&header, share(value)));
    d.value_state(&header, how, read).map(Some)
}

fn share(value: &Arc<dyn ValueBase>) -> SharedValue {
    Arc::new(Listed(Arc::clone(value)))
}

fn entry(d: &Decoder<'_>, known: &SharedValue) -> Result<Arc<dyn ValueBase>, Error> {
    match known.downcast_ref::<Listed>() {
        Some(Listed(value)) => Ok(Arc::clone(value)),
        None => Err(d.invalid("value", "an indirection to another thing", "a value")),
    }
}

fn factory(
    d: &Decoder<'_>,
    repository_id: &str,
    defaults: &[fn() -> ValueFactory],
) -> Option<ValueFactory> {
    let registered = d.context().and_then(|context| context.value_factory(repository_id));
    if let Some(factory) = registered.as_ref().and_then(|any| any.downcast_ref::<ValueFactory>()) {
        return Some(factory.clone());
    }
    let defaults = defaults.iter().map(|default| default());
    defaults.into_iter().find(|default| default.value_type().repository_id == repository_id)
}
