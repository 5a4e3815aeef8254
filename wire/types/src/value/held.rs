//! Values of valuetypes where the type is known only at run time: in an `any`, in dynamic calls.
//!
//! A value whose factory the application registered is what that makes. Every other one is a
//! [`DynamicValue`], read by the TypeCode. Called by the codecs of `Value` and `Any`.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, StateRead, ValueHeader};

use super::Value;
use crate::type_code::MOST_BASES;
use crate::valuetype::{
    Begun, Listed, State, Unfactored, ValueBase, begin_value, by_factory, no_factory, registered,
    registered_type, write_listed,
};
use crate::{TcKind, TypeCode, ValueModifier};

/// The valuetype that every other one is derived from.
const VALUE_BASE: &str = "IDL:omg.org/CORBA/ValueBase:1.0";

const NEEDED: &str = "a valuetype with a last base";

/// A value, or a value box, as an `any` and a dynamic call have it. Cheap to clone; clones are the
/// same value, and `==` says whether two are.
#[derive(Clone)]
pub struct HeldValue(Listed);

impl HeldValue {
    /// It, of a type that the application knows: made by a factory, or by the program.
    #[must_use]
    pub fn as_typed(&self) -> Option<Arc<dyn ValueBase>> {
        match self.0.clone().present() {
            Listed::Typed(value) => Some(value),
            Listed::Unfactored(_) => None,
        }
    }

    /// It, of a type that is known by its TypeCode only.
    #[must_use]
    pub fn as_dynamic(&self) -> Option<Arc<DynamicValue>> {
        match self.0.clone().present() {
            Listed::Typed(_) => None,
            Listed::Unfactored(value) => {
                let value: Arc<dyn Any + Send + Sync> = value;
                value.downcast().ok()
            }
        }
    }

    /// Its most derived type, as far as that is known.
    #[must_use]
    pub fn type_code(&self) -> TypeCode {
        match (self.as_typed(), self.as_dynamic()) {
            (Some(value), _) => (value.value_type().type_code)(),
            (_, Some(value)) => value.type_code.clone(),
            _ => TypeCode::NULL,
        }
    }

    /// Whether it is a value of this type, or of one derived from it. Of abstract valuetypes
    /// TypeCodes do not tell: every value may be one.
    #[must_use]
    pub fn is_a(&self, of: &TypeCode) -> bool {
        let of = of.unaliased().unwrap_or_default();
        is_base_of_all(&of) || self.type_code().derives_from(&of)
    }

    fn address(&self) -> usize {
        match self.0.clone().present() {
            Listed::Typed(value) => Arc::as_ptr(&value).cast::<()>().addr(),
            Listed::Unfactored(value) => Arc::as_ptr(&value).cast::<()>().addr(),
        }
    }
}

impl PartialEq for HeldValue {
    /// Whether both are the same value.
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for HeldValue {}

impl Hash for HeldValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for HeldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldValue({})", self.type_code())
    }
}

impl From<Arc<dyn ValueBase>> for HeldValue {
    fn from(value: Arc<dyn ValueBase>) -> Self {
        Self(Listed::Typed(value))
    }
}

impl From<Arc<DynamicValue>> for HeldValue {
    fn from(value: Arc<DynamicValue>) -> Self {
        Self(Listed::Unfactored(value))
    }
}

/// A value, or a value box, of a type that is known by its TypeCode only. Its state is replaced as
/// a whole, as that of every value; values may lead back to themselves.
pub struct DynamicValue {
    type_code: TypeCode,
    state: State<Vec<Value>>,
    typed: OnceLock<Arc<dyn ValueBase>>,
}

impl DynamicValue {
    /// A value of a valuetype, with the members of all its bases, the first base first; or of a
    /// value box, with its content. What does not fit the type is refused when it is sent.
    #[must_use]
    pub fn new(type_code: TypeCode, members: Vec<Value>) -> Arc<Self> {
        let value = Self::empty(type_code);
        value.set(members);
        value
    }

    /// A value whose state is still to be set: the first of a cycle.
    #[must_use]
    pub fn empty(type_code: TypeCode) -> Arc<Self> {
        let (state, typed) = (State::empty(), OnceLock::new());
        Arc::new(Self { type_code, state, typed })
    }

    /// Its type.
    #[must_use]
    pub fn type_code(&self) -> &TypeCode {
        &self.type_code
    }

    /// The members as they are now; `None` before they were set.
    #[must_use]
    pub fn members(&self) -> Option<Arc<Vec<Value>>> {
        self.state.get()
    }

    /// Sets or replaces the members. So are cycles made, and broken.
    pub fn set(&self, members: Vec<Value>) {
        self.state.set(members);
    }

    fn write_members(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        let Some(members) = self.state.get() else {
            let found = format!("a {} without state", self.type_code);
            return Err(e.error(ErrorKind::BadParameter, "value", found, "one whose state is set"));
        };
        let Some(types) = self.type_code.state_members() else {
            let found = format!("{}", self.type_code);
            return Err(e.error(ErrorKind::BadTypeCode, "value", found, NEEDED));
        };
        if types.len() != members.len() {
            let (found, needed) = (format!("{} members", members.len()), types.len().to_string());
            let what = self.type_code.to_string();
            return Err(e.error(ErrorKind::BadParameter, what, found, needed));
        }
        let mut each = members.iter().zip(&types);
        e.copied(|e| each.try_for_each(|(member, of)| member.encode(&of.type_code, e)))
    }
}

impl fmt::Debug for DynamicValue {
    /// Without the members, which may lead back here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicValue({})", self.type_code)
    }
}

impl Unfactored for DynamicValue {
    fn repository_ids(&self) -> Vec<String> {
        let mut ids = vec![self.type_code.id()];
        let mut of = self.type_code.clone();
        while ids.len() < MOST_BASES
            && of.value_modifier() == Some(ValueModifier::Truncatable)
            && let Some(base) = of.base_value()
        {
            ids.push(base.id());
            of = base;
        }
        ids
    }

    fn write_state(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        self.write_members(e)
    }

    fn typed(&self) -> &OnceLock<Arc<dyn ValueBase>> {
        &self.typed
    }
}

fn is_base_of_all(of: &TypeCode) -> bool {
    of.kind() == TcKind::AbstractInterface
        || of.value_modifier() == Some(ValueModifier::Abstract)
        || of.id() == VALUE_BASE
}

/// Reads a value of this type, or of one derived from it; `None` for null.
pub(super) fn read_held(of: &TypeCode, d: &mut Decoder<'_>) -> Result<Option<HeldValue>, Error> {
    let listed = match begin_value(d)? {
        None => return Ok(None),
        Some(Begun::Known(listed)) => listed,
        Some(Begun::New(header)) => read_new(of, &header, d)?,
    };
    Ok(Some(HeldValue(listed)))
}

fn read_new<'d>(
    of: &TypeCode,
    header: &ValueHeader<'d>,
    d: &mut Decoder<'d>,
) -> Result<Listed, Error> {
    let declared = of.id();
    let declared = [declared.as_str()];
    let ids = match &*header.repository_ids {
        [] => &declared[..],
        ids => ids,
    };
    // Without an id there is nothing to compare: it is what the TypeCode says.
    let own = ids.iter().position(|id| *id == declared[0] || declared[0].is_empty());
    let own = own.filter(|_| has_state(of));
    let factory = registered(d, ids, &[]).filter(|(at, _)| own.is_none_or(|own| *at <= own));
    if let Some((at, factory)) = factory {
        return by_factory(d, header, at, &factory).map(Listed::Typed);
    }
    let known = registered_type(d, ids).filter(|(at, _)| own.is_none_or(|own| *at < own));
    match (known, own) {
        (Some((at, of)), _) if has_state(&of) => read_dynamic(&of, header, at, d),
        (_, Some(at)) => read_dynamic(of, header, at, d),
        (_, None) => Err(no_factory(d, ids)),
    }
}

/// Whether a TypeCode says what the state is.
fn has_state(of: &TypeCode) -> bool {
    let modifier = of.value_modifier().unwrap_or_default();
    of.kind() != TcKind::AbstractInterface
        && !matches!(modifier, ValueModifier::Custom | ValueModifier::Abstract)
        && of.id() != VALUE_BASE
}

fn read_dynamic<'d>(
    of: &TypeCode,
    header: &ValueHeader<'d>,
    at: usize,
    d: &mut Decoder<'d>,
) -> Result<Listed, Error> {
    let how = if at == 0 { StateRead::Whole } else { StateRead::Truncated };
    let Some(types) = of.state_members() else {
        return Err(d.error(ErrorKind::BadTypeCode, "value", format!("{of}"), NEEDED));
    };
    let value = DynamicValue::empty(of.clone());
    let listed = Listed::Unfactored(value.clone());
    d.value_state(header, how, |d| {
        // A box is known when it is read, as those of generated code: it cannot be in a cycle.
        let is_box = of.kind() == TcKind::ValueBox;
        if !is_box {
            d.value_is(header, listed.clone().shared());
        }
        let members = types.iter().map(|member| Value::decode(&member.type_code, d));
        value.set(members.collect::<Result<_, _>>()?);
        if is_box {
            d.value_is(header, listed.clone().shared());
        }
        Ok(())
    })?;
    Ok(listed)
}

/// Writes a value of this type, or of one derived from it.
pub(super) fn write_held(
    value: &HeldValue,
    of: &TypeCode,
    e: &mut Encoder<'_>,
) -> Result<(), Error> {
    if !value.is_a(of) {
        let found = format!("a value of type {}", value.type_code());
        return Err(e.error(ErrorKind::BadParameter, "value", found, format!("{of}")));
    }
    write_listed(&value.0, e)
}
