//! Writes whole messages: the message header, the type's header, the body's alignment, the size.
//!
//! `write_*`, then the body, then [`finish_message`]; the three messages without a body are
//! constants of twelve or sixteen octets. Caller: `orb/core`. CORBA 3.3 P2 §9.4.

use corbie_cdr::{ByteOrder, Encoder, ErrorKind, Version};

use crate::message::{
    LocateReplyHeader, LocateRequestHeader, MessageHeader, MessageKind, ReplyHeader, RequestHeader,
};

/// A message whose size is not known yet; [`finish_message`] fills it in.
#[derive(Debug)]
#[must_use = "a message that is not finished has no size"]
pub struct MessageStart {
    /// Where the type's header ends, and where its body begins; `header_end <= body`.
    header_end: usize,
    body: usize,
}

impl MessageStart {
    #[inline]
    pub(crate) fn new(header_end: usize, body: usize) -> Self {
        Self { header_end, body }
    }

    pub(crate) fn header_end(&self) -> usize {
        self.header_end
    }
}

/// Writes the message header, with the encoder's version and byte order and a size of 0.
/// The encoder has to be empty.
#[inline]
pub fn begin_message(e: &mut Encoder<'_>, kind: MessageKind) -> MessageStart {
    debug_assert!(e.is_empty(), "a message begins at position 0, the origin of alignment");
    let (version, order) = (e.version(), e.order());
    let header = MessageHeader { version, order, more_fragments: false, kind, size: 0 };
    e.write_octets(&header.encode());
    MessageStart { header_end: e.len(), body: e.len() }
}

/// The body of a Request or Reply is aligned in 1.2 only. CORBA 3.3 P2 §9.4.2.1, §9.4.3.2.
#[inline]
fn begin_body(e: &mut Encoder<'_>) -> MessageStart {
    let header_end = e.len();
    if e.version() >= Version::V1_2 {
        e.align(8);
    }
    MessageStart { header_end, body: e.len() }
}

/// Writes everything of a Request up to its body.
///
/// # Errors
/// The encoder's: a length of 4 GiB or more (MARSHAL, COMPLETED_NO).
#[inline]
pub fn write_request(
    e: &mut Encoder<'_>,
    header: &RequestHeader<'_>,
) -> Result<MessageStart, corbie_cdr::Error> {
    let _ = begin_message(e, MessageKind::Request);
    header.encode(e)?;
    Ok(begin_body(e))
}

/// Writes everything of a Reply up to its body.
///
/// # Errors
/// The encoder's: a length of 4 GiB or more (MARSHAL).
#[inline]
pub fn write_reply(
    e: &mut Encoder<'_>,
    header: &ReplyHeader<'_>,
) -> Result<MessageStart, corbie_cdr::Error> {
    if e.version() == Version::V1_2 && header.service_contexts.is_empty() {
        return Ok(write_plain_reply(e, header));
    }
    let _ = begin_message(e, MessageKind::Reply);
    header.encode(e)?;
    Ok(begin_body(e))
}

/// The usual Reply in one write: 1.2, without service contexts, so that its header has 24 octets.
#[inline]
fn write_plain_reply(e: &mut Encoder<'_>, header: &ReplyHeader<'_>) -> MessageStart {
    const HEADER_OCTETS: usize = 24;
    let order = e.order();
    let ulong = |value: u32| match order {
        ByteOrder::BigEndian => value.to_be_bytes(),
        ByteOrder::LittleEndian => value.to_le_bytes(),
    };
    let mut octets = [0; HEADER_OCTETS];
    octets[..12].copy_from_slice(&bare(MessageKind::Reply, e.version(), order, 0));
    octets[12..16].copy_from_slice(&ulong(header.request_id));
    octets[16..20].copy_from_slice(&ulong(header.status as u32));
    e.write_octets(&octets);
    MessageStart { header_end: HEADER_OCTETS, body: HEADER_OCTETS }
}

/// Writes a LocateRequest, which has no body.
///
/// # Errors
/// The encoder's: a length of 4 GiB or more (MARSHAL, COMPLETED_NO).
pub fn write_locate_request(
    e: &mut Encoder<'_>,
    header: &LocateRequestHeader<'_>,
) -> Result<MessageStart, corbie_cdr::Error> {
    let start = begin_message(e, MessageKind::LocateRequest);
    header.encode(e)?;
    Ok(start)
}

/// Writes a LocateReply up to its body, which is not aligned in any version.
pub fn write_locate_reply(e: &mut Encoder<'_>, header: &LocateReplyHeader) -> MessageStart {
    let start = begin_message(e, MessageKind::LocateReply);
    header.encode(e);
    start
}

/// Fills in the size of the message; takes back the padding before a body that was not written.
///
/// # Errors
/// `BadParameter`: the message has 4 GiB or more and cannot be sent.
#[inline]
pub fn finish_message(e: &mut Encoder<'_>, start: MessageStart) -> Result<(), corbie_cdr::Error> {
    let MessageStart { header_end, body } = start;
    if e.len() == body && header_end < body {
        // CORBA 3.3 P2 §9.4.2.1: without a body there is no padding behind the header.
        e.truncate(header_end);
    }
    let Ok(size) = u32::try_from(e.len() - MessageHeader::OCTETS) else {
        return Err(too_long(e));
    };
    e.patch_ulong(e.placeholder_at(8), size);
    Ok(())
}

#[cold]
fn too_long(e: &Encoder<'_>) -> corbie_cdr::Error {
    let found = format!("{} octets", e.len());
    e.error(ErrorKind::BadParameter, "GIOP message", found, "less than 4 GiB")
}

/// A CancelRequest message.
#[must_use]
pub fn cancel_request(version: Version, order: ByteOrder, request_id: u32) -> [u8; 16] {
    let id = match order {
        ByteOrder::BigEndian => request_id.to_be_bytes(),
        ByteOrder::LittleEndian => request_id.to_le_bytes(),
    };
    let mut octets = [0; 16];
    octets[..12].copy_from_slice(&bare(MessageKind::CancelRequest, version, order, 4));
    octets[12..].copy_from_slice(&id);
    octets
}

/// A CloseConnection message. CORBA 3.3 P2 §9.4.7: a header alone.
#[must_use]
pub fn close_connection(version: Version, order: ByteOrder) -> [u8; 12] {
    bare(MessageKind::CloseConnection, version, order, 0)
}

/// A MessageError message. CORBA 3.3 P2 §9.4.8: a header alone, in a version that the peer knows,
/// or in our highest when the peer's is unknown.
#[must_use]
pub fn message_error(version: Version, order: ByteOrder) -> [u8; 12] {
    bare(MessageKind::MessageError, version, order, 0)
}

#[inline]
fn bare(kind: MessageKind, version: Version, order: ByteOrder, size: u32) -> [u8; 12] {
    MessageHeader { version, order, more_fragments: false, kind, size }.encode()
}
