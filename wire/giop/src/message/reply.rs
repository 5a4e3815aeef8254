//! The Reply message: the answer to a Request.
//!
//! Written by `writer::write_reply`, read by [`crate::Message::reply`]. CORBA 3.3 P2 §9.4.3.

use corbie_cdr::{Decoder, Encoder, Version};

use super::MessageKind;
use super::plugged::{self, Head};
use super::request::{
    align_body, decode_lite_contexts, encode_lite_contexts, field, lite_contexts_bit,
};
use super::service_context::ServiceContexts;
use super::tagged::TaggedList;
use crate::error::{GiopError, GiopErrorKind};

/// What the body of a Reply is. CORBA 3.3 P2 §9.4.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ReplyStatus {
    /// The result, then the out and inout arguments in order.
    NoException = 0,
    /// The repository id of a user exception, then its members.
    UserException = 1,
    /// The repository id of a system exception, its minor code and completion status.
    SystemException = 2,
    /// A reference: send this request there.
    LocationForward = 3,
    /// A reference: send this and all later requests there (1.2).
    LocationForwardPerm = 4,
    /// The addressing disposition that the server wants: send the request again with it (1.2).
    NeedsAddressingMode = 5,
}

impl ReplyStatus {
    const ALL: [Self; 6] = [
        Self::NoException,
        Self::UserException,
        Self::SystemException,
        Self::LocationForward,
        Self::LocationForwardPerm,
        Self::NeedsAddressingMode,
    ];

    /// Whether GIOPlite aligns the body, as 1.2 does: results are better off without padding, but
    /// an exception has to be able to move to where another begins.
    #[inline]
    pub(crate) fn lite_body_is_aligned(self) -> bool {
        self != Self::NoException
    }

    /// The status with this number, when the version has it.
    #[inline]
    #[must_use]
    pub fn from_ulong(value: u32, version: Version) -> Option<Self> {
        let status = *Self::ALL.get(usize::try_from(value).ok()?)?;
        (status as u32 <= Self::LocationForward as u32 || version >= Version::V1_2)
            .then_some(status)
    }
}

/// The header of a Reply.
///
/// ```text
/// 1.0, 1.1                               1.2
/// service_context: ServiceContextList    request_id: ulong
/// request_id: ulong                      reply_status: ulong
/// reply_status: ulong                    service_context: ServiceContextList
/// body, right behind the header          body, at the next multiple of 8 when there is one
///
/// GIOPlite
/// reply_status: octet                    at octet 5; bit 7: service_context is there
/// 2 octets, zero
/// request_id: ulong                      at octet 8
/// service_context: ServiceContextList    left out when empty
/// results right behind the header; anything else at the next multiple of 8 when there is a body
/// ```
/// CORBA 3.3 P2 §9.4.3.1, paper POA §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader<'a> {
    /// The id of the Request that this answers.
    pub request_id: u32,
    /// What the body is.
    pub status: ReplyStatus,
    /// What else the sender says.
    pub service_contexts: ServiceContexts<'a>,
}

impl<'a> ReplyHeader<'a> {
    /// Reads the header and leaves the decoder at the body.
    ///
    /// # Errors
    /// `Malformed`, `BadValue`; the peer gets MessageError.
    #[inline]
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        if !d.version().is_giop() {
            return Self::decode_other(d);
        }
        if d.version() >= Version::V1_2 {
            let request_id = field("request_id", d.read_ulong())?;
            let status = Self::decode_status(d)?;
            let service_contexts = TaggedList::decode(d, "service_context")?;
            align_body(d)?;
            return Ok(Self { request_id, status, service_contexts });
        }
        let service_contexts = TaggedList::decode(d, "service_context")?;
        let request_id = field("request_id", d.read_ulong())?;
        let status = Self::decode_status(d)?;
        Ok(Self { request_id, status, service_contexts })
    }

    /// In another protocol than GIOP.
    #[inline]
    fn decode_other(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        if d.version().is_lite() {
            return Self::decode_lite(d);
        }
        let head = plugged::read(MessageKind::Reply, d, |head| match head {
            Head::Reply(head) => Some(head),
            _ => None,
        })?;
        align_body(d)?;
        Ok(head)
    }

    #[inline]
    fn decode_lite(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        const WHAT: &str = "reply_status";
        let first = field(WHAT, d.read_octet())?;
        let Some(status) = ReplyStatus::from_ulong(u32::from(first & 0x7f), d.version()) else {
            let value = first & 0x7f;
            return Err(GiopError::new(GiopErrorKind::BadValue, d.position() - 1, WHAT, value));
        };
        let request_id = field("request_id", d.read_ulong())?;
        let service_contexts = decode_lite_contexts(first, d)?;
        if status.lite_body_is_aligned() {
            align_body(d)?;
        }
        Ok(Self { request_id, status, service_contexts })
    }

    #[inline]
    fn decode_status(d: &mut Decoder<'a>) -> Result<ReplyStatus, GiopError> {
        const WHAT: &str = "reply_status";
        let value = field(WHAT, d.read_ulong())?;
        ReplyStatus::from_ulong(value, d.version())
            .ok_or_else(|| GiopError::new(GiopErrorKind::BadValue, d.position() - 4, WHAT, value))
    }

    /// Writes the header in the form of the encoder's version; the body's alignment is `writer`'s.
    ///
    /// # Errors
    /// The encoder's: the message becomes longer than a GIOP message can be.
    #[inline]
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        let Self { request_id, status, service_contexts } = self;
        if e.version().is_lite() {
            e.write_octets(&[*status as u8 | lite_contexts_bit(service_contexts), 0, 0]);
            e.write_ulong(*request_id);
            return encode_lite_contexts(service_contexts, e);
        }
        if e.version().plugged().is_some() {
            return plugged::write(&Head::Reply(*self), e);
        }
        if e.version() < Version::V1_2 {
            service_contexts.encode(e)?;
        }
        e.write_ulong(*request_id);
        e.write_ulong(*status as u32);
        if e.version() >= Version::V1_2 {
            service_contexts.encode(e)?;
        }
        Ok(())
    }
}
