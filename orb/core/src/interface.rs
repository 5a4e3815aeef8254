//! Typed references: what generated code adds to [`Object`], and how references travel in messages.
//!
//! Narrowing follows CORBA 3.3 P1 §8.3.3: the type id of the reference is believed where it says
//! yes, else the object is asked with `_is_a`.

use crate::handles::Giver;
use crate::policy::{Policy, PolicyError, PolicyType, SetOverrideType};
use crate::{Object, Orb};
use corbie_cdr::{Context, Decoder, Encoder, ErrorKind, Marshal, SharedValue};
use corbie_types::{InterfaceDescription, Ior, SystemException, TypeCode, Typed};

/// An interface that can say what it consists of. Implemented by generated code when the generator
/// is asked for descriptions (`corbie_build::Builder::descriptions`).
pub trait Described: Interface {
    /// Its operations and attributes, inherited ones too.
    fn describe() -> InterfaceDescription;
}

/// An object reference of a known IDL interface. Implemented by generated code.
pub trait Interface: Clone + Send + Sync + 'static {
    /// The repository id of the interface.
    const REPOSITORY_ID: &'static str;
    /// The repository ids of its bases, near and far.
    const BASES: &'static [&'static str];

    /// The typed view of a reference, unchecked.
    fn from_object(object: Object) -> Self;
    /// The untyped reference.
    fn as_object(&self) -> &Object;
    /// The untyped reference.
    fn into_object(self) -> Object;

    /// The typed view of `object`, or `None` when the object has another interface. Asks the
    /// object only when its reference does not say.
    ///
    /// # Errors
    /// What [`Object::is_a`] says.
    fn narrow(object: &Object) -> Result<Option<Self>, SystemException> {
        Ok(object.is_a(Self::REPOSITORY_ID)?.then(|| Self::from_object(object.clone())))
    }

    /// A reference to the same object with other policies of its own; this one is unchanged.
    ///
    /// # Errors
    /// What [`Object::set_policy_overrides`] says.
    fn set_policy_overrides(
        &self,
        policies: &[Policy],
        how: SetOverrideType,
    ) -> Result<Self, PolicyError> {
        Ok(Self::from_object(self.as_object().set_policy_overrides(policies, how)?))
    }

    /// As [`Object::get_policy_overrides`].
    fn get_policy_overrides(&self, types: &[PolicyType]) -> Vec<Policy> {
        self.as_object().get_policy_overrides(types)
    }

    /// As [`Object::get_policy`].
    ///
    /// # Errors
    /// As there.
    fn get_policy(&self, policy_type: PolicyType) -> Result<Option<Policy>, SystemException> {
        self.as_object().get_policy(policy_type)
    }

    /// As [`Object::get_client_policy`].
    ///
    /// # Errors
    /// As there.
    fn get_client_policy(
        &self,
        policy_type: PolicyType,
    ) -> Result<Option<Policy>, SystemException> {
        self.as_object().get_client_policy(policy_type)
    }

    /// As [`Object::validate_connection`].
    ///
    /// # Errors
    /// As there.
    fn validate_connection(&self) -> Result<Vec<Policy>, SystemException> {
        self.as_object().validate_connection()
    }

    /// The typed view of `object` on the caller's word.
    #[must_use]
    fn unchecked_narrow(object: Object) -> Self {
        Self::from_object(object)
    }
}

/// The reference of an object whose interface is not known at build time.
impl Interface for Object {
    const REPOSITORY_ID: &'static str = "IDL:omg.org/CORBA/Object:1.0";
    const BASES: &'static [&'static str] = &[];

    fn from_object(object: Object) -> Self {
        object
    }

    fn as_object(&self) -> &Object {
        self
    }

    fn into_object(self) -> Object {
        self
    }
}

/// Writes a typed reference, or nil.
///
/// # Errors
/// The encoder's.
pub fn encode_reference<'a, I: Interface>(
    value: &'a Option<I>,
    e: &mut Encoder<'a>,
) -> Result<(), corbie_cdr::Error> {
    encode_object(value.as_ref().map(Interface::as_object), e)
}

/// Reads a typed reference, or nil. Its type is believed, as the IDL says it.
///
/// # Errors
/// The decoder's.
pub fn decode_reference<I: Interface>(d: &mut Decoder<'_>) -> Result<Option<I>, corbie_cdr::Error> {
    Ok(decode_object(d)?.map(I::from_object))
}

/// Writes an untyped reference, or nil.
///
/// # Errors
/// The encoder's.
pub fn encode_object<'a>(
    object: Option<&'a Object>,
    e: &mut Encoder<'a>,
) -> Result<(), corbie_cdr::Error> {
    static NIL: Ior = Ior { type_id: String::new(), profiles: Vec::new() };
    Ior::encode(object.map_or(&NIL, Object::ior), e)
}

/// What a message is read with while the ORB has rules of egress: references in it come from the
/// peer that sent it.
pub(crate) struct FromPeer {
    orb: Orb,
    giver: Giver,
}

impl FromPeer {
    pub(crate) fn new(orb: &Orb, giver: Giver) -> Self {
        FromPeer { orb: orb.clone(), giver }
    }
}

impl Context for FromPeer {
    fn value_factory(&self, repository_id: &str) -> Option<SharedValue> {
        self.orb.value_factory(repository_id)
    }
}

/// What an answer of an object is read with: references in it are [`Object::related`] ones.
impl Context for Object {
    fn value_factory(&self, repository_id: &str) -> Option<SharedValue> {
        self.orb().value_factory(repository_id)
    }
}

/// The ORB that a decoder reads for.
pub fn orb_of<'d>(d: &Decoder<'d>) -> Option<&'d Orb> {
    let context: &'d dyn std::any::Any = d.context()?;
    context
        .downcast_ref()
        .or_else(|| context.downcast_ref().map(Object::orb))
        .or_else(|| context.downcast_ref().map(|from: &FromPeer| &from.orb))
}

/// The peer that references come from which a decoder reads, where that is noted.
pub(crate) fn giver_of(d: &Decoder<'_>) -> Option<Giver> {
    let context: &dyn std::any::Any = d.context()?;
    let from_peer = context.downcast_ref().map(|from: &FromPeer| &from.giver);
    from_peer.or_else(|| context.downcast_ref().and_then(Object::giver)).cloned()
}

fn decode_object(d: &mut Decoder<'_>) -> Result<Option<Object>, corbie_cdr::Error> {
    let ior = Ior::decode(d)?;
    if ior.is_nil() {
        return Ok(None);
    }
    match orb_of(d) {
        Some(orb) => Ok(Some(Object::given(orb, ior, giver_of(d)))),
        None => Err(d.error(
            ErrorKind::BadParameter,
            "object reference",
            "a decoder without an ORB",
            "Decoder::set_context with the ORB that the reference shall belong to",
        )),
    }
}

impl Typed for Object {
    fn type_code() -> TypeCode {
        TypeCode::object()
    }
}

impl Marshal for Object {
    type Value = Option<Object>;
    const MIN_OCTETS: usize = Ior::MIN_OCTETS;

    fn encode<'a>(value: &'a Option<Object>, e: &mut Encoder<'a>) -> Result<(), corbie_cdr::Error> {
        encode_object(value.as_ref(), e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Option<Object>, corbie_cdr::Error> {
        decode_object(d)
    }
}
