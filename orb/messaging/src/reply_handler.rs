//! `Messaging::ReplyHandler`, the base of all reply handlers, and how `sendc_…` takes one.
//!
//! Reply handlers are ordinary objects: `AmiQuoterHandler` is a reference like any other, to a
//! servant in this process or in another. CORBA Messaging §22.8; paper AMI §1.

use crate::delivery::ReplyStub;
use corbie_cdr::{Decoder, Encoder, Marshal};
use corbie_core::{Interface, Object, ReplySink, decode_reference, encode_reference};
use corbie_types::{TypeCode, Typed};
use std::fmt;
use std::marker::PhantomData;

/// Reference to an object of the interface `Messaging::ReplyHandler`; nil is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyHandler(Object);

impl Interface for ReplyHandler {
    const REPOSITORY_ID: &'static str = "IDL:omg.org/Messaging/ReplyHandler:1.0";
    const BASES: &'static [&'static str] = &[];

    fn from_object(object: Object) -> Self {
        ReplyHandler(object)
    }

    fn as_object(&self) -> &Object {
        &self.0
    }

    fn into_object(self) -> Object {
        self.0
    }
}

impl From<ReplyHandler> for Object {
    fn from(handler: ReplyHandler) -> Self {
        handler.0
    }
}

impl Marshal for ReplyHandler {
    type Value = Option<Self>;
    const MIN_OCTETS: usize = <Object as Marshal>::MIN_OCTETS;

    fn encode<'a>(value: &'a Option<Self>, e: &mut Encoder<'a>) -> Result<(), corbie_cdr::Error> {
        encode_reference(value, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Option<Self>, corbie_cdr::Error> {
        decode_reference(d)
    }
}

impl Typed for ReplyHandler {
    fn type_code() -> TypeCode {
        TypeCode::interface(Self::REPOSITORY_ID, "ReplyHandler")
    }
}

/// What a servant of `Messaging::ReplyHandler` implements: nothing, so every servant does.
pub trait ReplyHandlerServant: Send + Sync + 'static {}

impl<T: Send + Sync + 'static + ?Sized> ReplyHandlerServant for T {}

/// Which reply handler a `sendc_…` operation is given: `&handler`, a handler of a derived
/// interface, `Some(&handler)`, or `None` for no handler. The reply is then dropped, and an
/// exception logged (CORBA Messaging §22.6: a nil handler).
pub struct ReplyTo<'h, H> {
    handler: Option<&'h Object>,
    interface: PhantomData<fn() -> H>,
}

impl<'h, H> ReplyTo<'h, H> {
    /// A handler of any type, on the caller's word.
    #[must_use]
    pub fn unchecked(handler: Option<&'h Object>) -> Self {
        ReplyTo { handler, interface: PhantomData }
    }

    /// The sink that calls the handler.
    #[must_use]
    pub fn sink(self, stub: &'static ReplyStub) -> ReplySink {
        match self.handler {
            Some(handler) => ReplySink::handler(handler, stub),
            None => ReplySink::discard(),
        }
    }
}

impl<'h, H: Interface> From<&'h H> for ReplyTo<'h, H> {
    fn from(handler: &'h H) -> Self {
        Self::unchecked(Some(handler.as_object()))
    }
}

impl<'h, H: Interface> From<Option<&'h H>> for ReplyTo<'h, H> {
    fn from(handler: Option<&'h H>) -> Self {
        Self::unchecked(handler.map(Interface::as_object))
    }
}

impl<H> fmt::Debug for ReplyTo<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReplyTo").field(&self.handler).finish()
    }
}
