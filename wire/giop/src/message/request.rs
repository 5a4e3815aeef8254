//! The Request message: an invocation on an object.
//!
//! Written by `writer::write_request`, read by [`crate::Message::request`]. CORBA 3.3 P2 §9.4.2.

use corbie_cdr::{Decoder, Encoder, Version};

use super::MessageKind;
use super::plugged::{self, Head};
use super::service_context::ServiceContexts;
use super::tagged::TaggedList;
use super::target::{AddressingDisposition, Target};
use crate::error::{GiopError, GiopErrorKind};

/// Whether and when the server answers: the SyncScope of the request, as 1.2 encodes it.
///
/// CORBA 3.3 P2 §9.4.2.2: the lowest bit asks for a reply, the next one to wait for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ResponseFlags {
    /// No reply (oneway with SYNC_NONE or SYNC_WITH_TRANSPORT).
    None = 0,
    /// A reply as soon as the server ORB has the request (oneway with SYNC_WITH_SERVER).
    WithServer = 1,
    /// A reply when the operation is done: every two-way call, and oneway with SYNC_WITH_TARGET.
    WithTarget = 3,
}

impl ResponseFlags {
    /// Whether a Reply message follows.
    #[inline]
    #[must_use]
    pub fn response_expected(self) -> bool {
        !matches!(self, Self::None)
    }

    /// The flags in a header of this version: 1.0 and 1.1 have a boolean; reserved bits are
    /// ignored.
    #[inline]
    #[must_use]
    pub fn from_header_octet(octet: u8, version: Version) -> Self {
        match octet & 3 {
            _ if version < Version::V1_2 && octet != 0 => Self::WithTarget,
            0 | 2 => Self::None,
            1 => Self::WithServer,
            _ => Self::WithTarget,
        }
    }
}

/// The header of a Request.
///
/// ```text
/// 1.0, 1.1                               1.2
/// service_context: ServiceContextList    request_id: ulong
/// request_id: ulong                      response_flags: octet
/// response_expected: boolean             reserved: 3 octets
/// reserved: 3 octets (1.1 only)          target: TargetAddress
/// object_key: sequence<octet>            operation: string
/// operation: string                      service_context: ServiceContextList
/// requesting_principal: sequence<octet>
/// body, right behind the header          body, at the next multiple of 8 when there is one
///
/// GIOPlite
/// response_flags: octet                  at octet 5; bit 7: service_context is there
/// disposition: short                     of the target
/// request_id: ulong                      at octet 8
/// target: what follows its disposition
/// operation: string
/// service_context: ServiceContextList    left out when empty
/// body, at the next multiple of 8 when there is one
/// ```
/// CORBA 3.3 P2 §9.4.2.1, paper POA §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// Chosen by the client, not in use by another unanswered request of the connection.
    pub request_id: u32,
    /// Whether and when to answer. 1.0 and 1.1 know yes (`WithTarget`) and no.
    pub response: ResponseFlags,
    /// The object.
    pub target: Target<'a>,
    /// The operation, `_get_`/`_set_` and the attribute, or one of the implicit ones (`_is_a` …).
    pub operation: &'a str,
    /// What else the sender says.
    pub service_contexts: ServiceContexts<'a>,
}

impl<'a> RequestHeader<'a> {
    /// Reads the header and leaves the decoder at the body.
    ///
    /// # Errors
    /// `Malformed`, `BadValue`; the peer gets MessageError.
    #[inline(always)]
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        if !d.version().is_giop() {
            return Self::decode_other(d);
        }
        if d.version() >= Version::V1_2 {
            return Self::decode_1_2(d);
        }
        let service_contexts = TaggedList::decode(d, "service_context")?;
        let request_id = field("request_id", d.read_ulong())?;
        let response = field("response_expected", d.read_octet())?;
        let response = ResponseFlags::from_header_octet(response, d.version());
        if d.version() == Version::V1_1 {
            field("reserved", d.read_octets(3))?;
        }
        let target = Target::decode(d)?;
        let operation = decode_operation(d)?;
        field("requesting_principal", d.read_octet_sequence())?;
        Ok(Self { request_id, response, target, operation, service_contexts })
    }

    #[inline(always)]
    fn decode_1_2(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        let request_id = field("request_id", d.read_ulong())?;
        let response = field("response_flags", d.read_octet())?;
        let response = ResponseFlags::from_header_octet(response, d.version());
        field("reserved", d.read_octets(3))?;
        let target = Target::decode(d)?;
        let operation = decode_operation(d)?;
        let service_contexts = TaggedList::decode(d, "service_context")?;
        align_body(d)?;
        Ok(Self { request_id, response, target, operation, service_contexts })
    }

    /// In another protocol than GIOP.
    #[inline]
    fn decode_other(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        if d.version().is_lite() {
            return Self::decode_lite(d);
        }
        let head = plugged::read(MessageKind::Request, d, |head| match head {
            Head::Request(head) => Some(head),
            _ => None,
        })?;
        align_body(d)?;
        Ok(head)
    }

    #[inline]
    fn decode_lite(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        let flags = field("response_flags", d.read_octet())?;
        let response = ResponseFlags::from_header_octet(flags, d.version());
        let disposition = AddressingDisposition::decode(d)?;
        let request_id = field("request_id", d.read_ulong())?;
        let target = Target::decode_addressed(disposition, d)?;
        let operation = decode_operation(d)?;
        let service_contexts = decode_lite_contexts(flags, d)?;
        align_body(d)?;
        Ok(Self { request_id, response, target, operation, service_contexts })
    }

    #[inline]
    fn encode_lite(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        let Self { request_id, response, target, operation, service_contexts } = self;
        e.write_octet(*response as u8 | lite_contexts_bit(service_contexts));
        target.disposition().encode(e);
        e.write_ulong(*request_id);
        target.encode_addressed(e)?;
        encode_operation(e, operation)?;
        encode_lite_contexts(service_contexts, e)
    }

    /// Writes the header in the form of the encoder's version; the body's alignment is `writer`'s.
    ///
    /// # Errors
    /// The encoder's: the message becomes longer than a GIOP message can be.
    #[inline]
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        if !e.version().is_giop() {
            return match e.version().is_lite() {
                true => self.encode_lite(e),
                false => plugged::write(&Head::Request(*self), e),
            };
        }
        let Self { request_id, response, target, operation, service_contexts } = self;
        if e.version() >= Version::V1_2 {
            e.write_ulong(*request_id);
            e.write_octets(&[*response as u8, 0, 0, 0]);
            target.encode(e)?;
            encode_operation(e, operation)?;
            return service_contexts.encode(e);
        }
        service_contexts.encode(e)?;
        e.write_ulong(*request_id);
        e.write_octet(u8::from(response.response_expected()));
        if e.version() == Version::V1_1 {
            e.write_octets(&[0; 3]);
        }
        target.encode(e)?;
        encode_operation(e, operation)?;
        // The principal is deprecated: always sent empty, ignored when received.
        e.write_octet_sequence_copied(&[])
    }
}

/// In the first octet of a Request or Reply of GIOPlite: its header has service contexts.
const LITE_CONTEXTS: u8 = 0x80;

/// The bit of the first octet that says whether there are any.
#[inline]
pub(super) fn lite_contexts_bit(contexts: &ServiceContexts<'_>) -> u8 {
    if contexts.is_empty() { 0 } else { LITE_CONTEXTS }
}

/// Reads the service contexts of GIOPlite when `first`, the first octet of the header, says that
/// there are any.
#[inline]
pub(super) fn decode_lite_contexts<'a>(
    first: u8,
    d: &mut Decoder<'a>,
) -> Result<ServiceContexts<'a>, GiopError> {
    match first & LITE_CONTEXTS {
        0 => Ok(ServiceContexts::EMPTY),
        _ => TaggedList::decode(d, "service_context"),
    }
}

#[inline]
pub(super) fn encode_lite_contexts(
    contexts: &ServiceContexts<'_>,
    e: &mut Encoder<'_>,
) -> Result<(), corbie_cdr::Error> {
    if contexts.is_empty() { Ok(()) } else { contexts.encode(e) }
}

/// Names the field in the error of the CDR decoder.
#[inline(always)]
pub(super) fn field<T>(
    what: &'static str,
    result: Result<T, corbie_cdr::Error>,
) -> Result<T, GiopError> {
    result.map_err(|error| GiopError::malformed(what, &error))
}

/// CORBA 3.3 P2 §9.4.2.1: the 1.2 body begins at a multiple of eight. A message that ends within
/// the padding has no body.
#[inline(always)]
pub(super) fn align_body(d: &mut Decoder<'_>) -> Result<(), GiopError> {
    let padding = d.position().wrapping_neg() & 7;
    let padding = padding.min(d.remaining());
    field("padding before the body", d.read_octets(padding)).map(|_| ())
}

/// An operation name is an identifier: ASCII, whatever the code set of the connection.
#[inline(always)]
fn decode_operation<'a>(d: &mut Decoder<'a>) -> Result<&'a str, GiopError> {
    const WHAT: &str = "operation";
    let octets = field(WHAT, d.read_octet_sequence())?;
    if let [name @ .., 0] = octets
        && let Ok(name) = std::str::from_utf8(name)
    {
        return Ok(name);
    }
    Err(bad_operation(d.position() - octets.len(), octets))
}

#[cold]
fn bad_operation(offset: usize, octets: &[u8]) -> GiopError {
    let shown = &octets[..octets.len().min(64)];
    let found = format_args!("\"{}\", not a name that ends with NUL", shown.escape_ascii());
    GiopError::new(GiopErrorKind::BadValue, offset, "operation", found)
}

#[inline]
fn encode_operation(e: &mut Encoder<'_>, name: &str) -> Result<(), corbie_cdr::Error> {
    e.write_length(name.len() + 1)?;
    e.write_octets(name.as_bytes());
    e.write_octet(0);
    Ok(())
}
