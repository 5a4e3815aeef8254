//! Writes and reads values. A value that is read is made by the factory of its own type, or, when
//! that is not known here, of the nearest type that its sender lets it be truncated to.

use std::any::Any;
use std::sync::Arc;

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, StateRead, ValueHeader, ValueStart};

use super::listed::become_typed;
use super::{Listed, ValueBase, ValueFactory};
use crate::TypeCode;

/// Factories for types of which the application registered none.
type Defaults<'f> = &'f [fn() -> ValueFactory];

/// Writes a value, or null.
///
/// # Errors
/// What cannot be sent, see [`ValueBase::encode_state`].
pub fn write_value(value: Option<&Arc<dyn ValueBase>>, e: &mut Encoder<'_>) -> Result<(), Error> {
    let Some(value) = value else {
        e.write_null_value();
        return Ok(());
    };
    if e.put_aside(|| Listed::Typed(Arc::clone(value)).shared()) {
        return Ok(());
    }
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(value) as _;
    if e.write_known_value(&shared) {
        return Ok(());
    }
    let of = value.value_type();
    e.write_new_value(shared, of.repository_ids, of.is_custom, |e| value.encode_state(e))
}

/// Writes a value, of whatever kind.
pub(crate) fn write_listed(value: &Listed, e: &mut Encoder<'_>) -> Result<(), Error> {
    let value = match value.clone().present() {
        Listed::Typed(value) => return write_value(Some(&value), e),
        Listed::Unfactored(value) => value,
    };
    if e.put_aside(|| Listed::Unfactored(Arc::clone(&value)).shared()) {
        return Ok(());
    }
    let shared: Arc<dyn Any + Send + Sync> = Arc::clone(&value) as _;
    if e.write_known_value(&shared) {
        return Ok(());
    }
    let ids = value.repository_ids();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    e.write_new_value(shared, &ids, false, |e| value.write_state(e))
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
    defaults: Defaults<'_>,
) -> Result<Option<Arc<dyn ValueBase>>, Error> {
    let header = match begin_value(d)? {
        None => return Ok(None),
        Some(Begun::Known(Listed::Typed(value))) => return Ok(Some(value)),
        Some(Begun::Known(Listed::Unfactored(value))) => {
            let ids = value.repository_ids();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let at_hand: &Decoder<'_> = d;
            let typed = become_typed(&value, at_hand, || factory_of(at_hand, &ids, defaults));
            return typed.map(Some);
        }
        Some(Begun::New(header)) => header,
    };
    let ids = match &*header.repository_ids {
        [] => declared.as_slice(),
        ids => ids,
    };
    let Some((at, factory)) = registered(d, ids, defaults) else {
        return Err(no_factory(d, ids));
    };
    by_factory(d, &header, at, &factory).map(Some)
}

/// The factory for a value that is read already. That of a base will do: its state comes first.
fn factory_of(
    d: &Decoder<'_>,
    ids: &[&str],
    defaults: Defaults<'_>,
) -> Result<ValueFactory, Error> {
    match registered(d, ids, defaults) {
        Some((_, factory)) => Ok(factory),
        None => Err(no_factory(d, ids)),
    }
}

/// The beginning of a value.
pub(crate) enum Begun<'d> {
    Known(Listed),
    New(ValueHeader<'d>),
}

/// Reads the beginning of a value; `None` for null.
pub(crate) fn begin_value<'d>(d: &mut Decoder<'d>) -> Result<Option<Begun<'d>>, Error> {
    Ok(match d.value_start()? {
        ValueStart::Null => None,
        ValueStart::Known(known) => Some(Begun::Known(Listed::of(&known, d)?.present())),
        ValueStart::New(header) => Some(Begun::New(header)),
    })
}

/// Reads the state of a value with the factory of its type number `at`.
pub(crate) fn by_factory<'d>(
    d: &mut Decoder<'d>,
    header: &ValueHeader<'d>,
    at: usize,
    factory: &ValueFactory,
) -> Result<Arc<dyn ValueBase>, Error> {
    let how = if at == 0 { StateRead::Whole } else { StateRead::Truncated };
    let listed = |value: &Arc<dyn ValueBase>| Listed::Typed(Arc::clone(value)).shared();
    let read = |d: &mut Decoder<'d>| factory.read(d, |d, value| d.value_is(header, listed(value)));
    d.value_state(header, how, read)
}

/// The error for a value of a type that nothing makes.
#[cold]
pub(crate) fn no_factory(d: &Decoder<'_>, ids: &[&str]) -> Error {
    let found = format!("a value of type {}", ids.first().copied().unwrap_or("unknown"));
    let needed = "a type that has a factory: Orb::register_value_factory";
    d.error(ErrorKind::NoValueFactory, "value", found, needed)
}

/// The first of these types that has a factory, and that.
pub(crate) fn registered(
    d: &Decoder<'_>,
    ids: &[&str],
    defaults: Defaults<'_>,
) -> Option<(usize, ValueFactory)> {
    ids.iter().enumerate().find_map(|(at, id)| Some((at, factory(d, id, defaults)?)))
}

/// The first of these types whose TypeCode the application registered, and that.
pub(crate) fn registered_type(d: &Decoder<'_>, ids: &[&str]) -> Option<(usize, TypeCode)> {
    let context = d.context()?;
    ids.iter().enumerate().find_map(|(at, id)| {
        let found = context.value_factory(id)?;
        Some((at, found.downcast_ref::<TypeCode>()?.clone()))
    })
}

fn factory(d: &Decoder<'_>, repository_id: &str, defaults: Defaults<'_>) -> Option<ValueFactory> {
    let registered = d.context().and_then(|context| context.value_factory(repository_id));
    if let Some(factory) = registered.as_ref().and_then(|any| any.downcast_ref::<ValueFactory>()) {
        return Some(factory.clone());
    }
    let defaults = defaults.iter().map(|default| default());
    defaults.into_iter().find(|default| default.value_type().repository_id == repository_id)
}
