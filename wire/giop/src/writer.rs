//! Writes whole messages: the message header, the type's header, the body's alignment, the size.
//!
//! `write_*`, then the body, then [`finish_message`]; the three messages without a body are a
//! [`Control`] each. The encoder's version says which protocol is written: GIOP, GIOPlite or that
//! of an application.
//! Caller: `orb/core`. CORBA 3.3 P2 §9.4, paper POA §3.3.

use std::borrow::Cow;

use corbie_cdr::{ByteOrder, Decoder, Encoder, ErrorKind, Version};

use crate::message::{
    CancelRequestHeader, Head, LITE_REQUEST_ID, LocateReplyHeader, LocateRequestHeader,
    MessageHeader, MessageKind, Plugged, ReplyHeader, RequestHeader,
};
use crate::protocol::Protocol;

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

/// Writes the message header, with the encoder's version and byte order and a size of 0; nothing in
/// a protocol of an application, which writes it with the rest. The encoder has to be empty.
#[inline]
pub fn begin_message(e: &mut Encoder<'_>, kind: MessageKind) -> MessageStart {
    debug_assert!(e.is_empty(), "a message begins at position 0, the origin of alignment");
    let (version, order) = (e.version(), e.order());
    let header = MessageHeader { version, order, more_fragments: false, kind, size: 0 };
    if version.is_giop() {
        e.write_octets(&header.encode());
    } else if version.is_lite() {
        e.write_octets(&header.encode_lite());
    }
    MessageStart { header_end: e.len(), body: e.len() }
}

/// The body of a Request or Reply is aligned in 1.2 and in other protocols than GIOP.
/// CORBA 3.3 P2 §9.4.2.1, §9.4.3.2.
#[inline]
fn begin_body(e: &mut Encoder<'_>) -> MessageStart {
    let header_end = e.len();
    if e.version() >= Version::V1_2 {
        e.align(8);
    }
    MessageStart { header_end, body: e.len() }
}

/// Where the request id stands in every Request of this version; `None`: behind the service
/// contexts (1.0, 1.1), or where the protocol of an application puts it.
#[inline]
pub(crate) fn fixed_request_id(version: Version) -> Option<usize> {
    match version {
        Version::GIOP_LITE => Some(LITE_REQUEST_ID),
        Version::V1_2 => Some(MessageHeader::OCTETS),
        _ => None,
    }
}

/// Where the request id stands in a finished Request or LocateRequest, which is numbered when it is
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdPlace(IdPlace);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdPlace {
    At(usize),
    Plugged(Plugged),
}

impl RequestIdPlace {
    /// The place in the message that was written to `e` and finished.
    ///
    /// # Errors
    /// None for what this module wrote.
    #[inline]
    pub fn of(e: &Encoder<'_>) -> Result<Self, corbie_cdr::Error> {
        match fixed_request_id(e.version()) {
            Some(place) => Ok(Self(IdPlace::At(place))),
            None => Self::elsewhere(e),
        }
    }

    #[cold]
    fn elsewhere(e: &Encoder<'_>) -> Result<Self, corbie_cdr::Error> {
        if let Some(plugged) = Plugged::of(e.version()) {
            return Ok(Self(IdPlace::Plugged(plugged)));
        }
        // CORBA 3.3 P2 §9.4.5: a LocateRequest begins with it.
        if e.own_octets().get(7) == Some(&(MessageKind::LocateRequest as u8)) {
            return Ok(Self(IdPlace::At(MessageHeader::OCTETS)));
        }
        // Behind the service contexts, aligned to 4 (CORBA 3.3 P2 §9.4.2).
        // Octets in several blocks are brought together: a header of that size is rare.
        let octets = match e.is_in_blocks() {
            false => Cow::Borrowed(e.own_octets()),
            true => Cow::Owned(e.to_vec()),
        };
        let mut decoder = Decoder::with_position(&octets, MessageHeader::OCTETS, e.order());
        for _ in 0..decoder.read_ulong()? {
            decoder.read_ulong()?;
            decoder.read_octet_sequence()?;
        }
        decoder.align(4)?;
        Ok(Self(IdPlace::At(decoder.position())))
    }

    /// Gives the message its id.
    #[inline]
    pub fn set(self, e: &mut Encoder<'_>, request_id: u32) {
        match self.0 {
            IdPlace::At(place) => e.patch_ulong(e.placeholder_at(place), request_id),
            IdPlace::Plugged(plugged) => plugged.protocol().set_request_id(e, request_id),
        }
    }
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
    if e.version().is_lite() && !header.status.lite_body_is_aligned() {
        return Ok(MessageStart::new(e.len(), e.len()));
    }
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
    let (kind, version) = (MessageKind::Reply, e.version());
    let message = MessageHeader { version, order, more_fragments: false, kind, size: 0 };
    octets[..12].copy_from_slice(&message.encode());
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
///
/// # Errors
/// Those of a protocol of an application.
pub fn write_locate_reply(
    e: &mut Encoder<'_>,
    header: &LocateReplyHeader,
) -> Result<MessageStart, corbie_cdr::Error> {
    let start = begin_message(e, MessageKind::LocateReply);
    header.encode(e)?;
    Ok(start)
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
    let (size_place, most) = match e.version().is_giop() {
        true => (8, u32::MAX),
        false if e.version().is_lite() => (0, MessageHeader::LITE_SIZE_MAX),
        false => return finish_plugged(e),
    };
    let size = e.len() - MessageHeader::octets_in(e.version());
    match u32::try_from(size) {
        Ok(size) if size <= most => e.patch_ulong(e.placeholder_at(size_place), size),
        _ => return Err(too_long(e)),
    }
    Ok(())
}

#[cold]
fn finish_plugged(e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
    let Some(plugged) = Plugged::of(e.version()) else { return Ok(()) };
    let protocol = plugged.protocol();
    // Its frames have no more, whatever it says itself.
    if e.len() > protocol.octets_max().min(u32::MAX as usize) {
        return Err(too_long(e));
    }
    protocol.finish(e);
    Ok(())
}

#[cold]
fn too_long(e: &Encoder<'_>) -> corbie_cdr::Error {
    let found = format!("{} octets", e.len());
    let needed = match Protocol::of(e.version()) {
        Protocol::Giop => "less than 4 GiB",
        Protocol::GiopLite => "at most 1 GiB in GIOPlite; larger ones go over IIOP",
        Protocol::Plugged(_) => "no more than the message protocol allows",
    };
    e.error(ErrorKind::BadParameter, "GIOP message", found, needed)
}

/// A short message: CancelRequest, CloseConnection or MessageError.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    octets: [u8; Plugged::CONTROL_OCTETS],
    /// Of those: at most 16 in GIOP.
    len: u8,
}

impl Control {
    /// A message of this kind, with a request id if it has one.
    fn new(kind: MessageKind, version: Version, order: ByteOrder, id: Option<u32>) -> Self {
        if let Some(plugged) = Plugged::of(version) {
            return Self::plugged(plugged, kind, order, id);
        }
        let id_place = match version.is_lite() {
            true => LITE_REQUEST_ID,
            false => MessageHeader::OCTETS,
        };
        let header_octets = MessageHeader::octets_in(version);
        let len = if id.is_some() { id_place + 4 } else { header_octets };
        let size = (len - header_octets) as u32;
        let header = MessageHeader { version, order, more_fragments: false, kind, size };
        let mut octets = [0; Plugged::CONTROL_OCTETS];
        match version.is_lite() {
            true => octets[..MessageHeader::LITE_OCTETS].copy_from_slice(&header.encode_lite()),
            false => octets[..MessageHeader::OCTETS].copy_from_slice(&header.encode()),
        }
        if let Some(id) = id {
            let id = match order {
                ByteOrder::BigEndian => id.to_be_bytes(),
                ByteOrder::LittleEndian => id.to_le_bytes(),
            };
            octets[id_place..id_place + 4].copy_from_slice(&id);
        }
        Self { octets, len: len as u8 }
    }

    /// The same in a protocol of an application, whose messages of this kind have room:
    /// [`Plugged::register`] has looked.
    #[cold]
    fn plugged(plugged: Plugged, kind: MessageKind, order: ByteOrder, id: Option<u32>) -> Self {
        let head = match (kind, id) {
            (_, Some(request_id)) => Head::CancelRequest(CancelRequestHeader { request_id }),
            (MessageKind::CloseConnection, None) => Head::CloseConnection,
            (_, None) => Head::MessageError,
        };
        let message = plugged.control(&head, order);
        let mut octets = [0; Plugged::CONTROL_OCTETS];
        let len = message.len().min(octets.len());
        octets[..len].copy_from_slice(&message[..len]);
        Self { octets, len: len as u8 }
    }

    /// The octets to send.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }
}

impl std::ops::Deref for Control {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.octets()
    }
}

/// A CancelRequest message.
#[must_use]
pub fn cancel_request(version: Version, order: ByteOrder, request_id: u32) -> Control {
    Control::new(MessageKind::CancelRequest, version, order, Some(request_id))
}

/// A CloseConnection message. CORBA 3.3 P2 §9.4.7: a header alone.
#[must_use]
pub fn close_connection(version: Version, order: ByteOrder) -> Control {
    Control::new(MessageKind::CloseConnection, version, order, None)
}

/// A MessageError message. CORBA 3.3 P2 §9.4.8: a header alone, in a version that the peer knows,
/// or in our highest when the peer's is unknown.
#[must_use]
pub fn message_error(version: Version, order: ByteOrder) -> Control {
    Control::new(MessageKind::MessageError, version, order, None)
}
