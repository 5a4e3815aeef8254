//! The eight message types of GIOP, one file each, and a received [`Message`].
//!
//! The versions 1.0, 1.1 and 1.2 share one codec per header: a header differs by version in the
//! order and presence of a few fields, and the codec branches on the version there. GIOPlite is one
//! more such version; protocols of applications are behind one branch (`plugged`).
//! Callers: the reader, the writers, `orb/core`. CORBA 3.3 P2 §9.4.

mod cancel_request;
mod fragment;
mod header;
mod listen_points;
mod locate_reply;
mod locate_request;
mod plugged;
mod reply;
mod request;
mod service_context;
mod tagged;
mod target;

use std::sync::Arc;

use corbie_cdr::budget::{Draw, Reading};
use corbie_cdr::payload::PayloadMemory;
use corbie_cdr::{ByteOrder, Decoder, Version};

use crate::error::GiopError;
use crate::memory::Memory;

pub use cancel_request::CancelRequestHeader;
pub use fragment::FragmentHeader;
pub(crate) use header::LITE_REQUEST_ID;
pub use header::{MessageHeader, MessageKind};
pub use listen_points::{ListenPoint, ListenPoints};
pub use locate_reply::{LocateReplyHeader, LocateStatus};
pub use locate_request::LocateRequestHeader;
pub use plugged::{Cut, Frame, Head, MessageProtocol, Plugged};
pub use reply::{ReplyHeader, ReplyStatus};
pub use request::{RequestHeader, ResponseFlags};
pub use service_context::{CodeSetContext, ServiceContext, ServiceContexts, service_context_id};
pub use tagged::{Tagged, TaggedIter, TaggedList};
pub use target::{AddressingDisposition, Target};

/// A whole message as received (fragments put together), borrowed from the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The decoded message header.
    pub header: MessageHeader,
    /// All octets of the message; the first, the `G` of `GIOP`, is the origin of CDR alignment.
    pub octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message type.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        self.header.kind
    }

    /// A decoder that stands behind the message header.
    #[inline]
    #[must_use]
    pub fn decoder(&self) -> Decoder<'a> {
        let mut decoder =
            Decoder::with_position(self.octets, self.header.octets(), self.header.order);
        decoder.set_version(self.header.version);
        decoder
    }

    /// The header of a Request, and the decoder at its body (the arguments).
    ///
    /// # Errors
    /// `Malformed` or `BadValue`: the header cannot be decoded. The peer gets MessageError.
    #[inline]
    pub fn request(&self) -> Result<(RequestHeader<'a>, Decoder<'a>), GiopError> {
        let mut decoder = self.decoder();
        let header = RequestHeader::decode(&mut decoder)?;
        Ok((header, decoder))
    }

    /// The header of a Reply, and the decoder at its body.
    ///
    /// # Errors
    /// `Malformed` or `BadValue`: the header cannot be decoded. The peer gets MessageError.
    #[inline]
    pub fn reply(&self) -> Result<(ReplyHeader<'a>, Decoder<'a>), GiopError> {
        let mut decoder = self.decoder();
        let header = ReplyHeader::decode(&mut decoder)?;
        Ok((header, decoder))
    }

    /// The header of a LocateRequest (there is no body).
    ///
    /// # Errors
    /// `Malformed` or `BadValue`: the header cannot be decoded. The peer gets MessageError.
    pub fn locate_request(&self) -> Result<LocateRequestHeader<'a>, GiopError> {
        LocateRequestHeader::decode(&mut self.decoder())
    }

    /// The header of a LocateReply, and the decoder at its body.
    ///
    /// # Errors
    /// `Malformed` or `BadValue`: the header cannot be decoded. The peer gets MessageError.
    pub fn locate_reply(&self) -> Result<(LocateReplyHeader, Decoder<'a>), GiopError> {
        let mut decoder = self.decoder();
        let header = LocateReplyHeader::decode(&mut decoder)?;
        Ok((header, decoder))
    }

    /// The request id of a CancelRequest.
    ///
    /// # Errors
    /// `Malformed`: the message is too short. The peer gets MessageError.
    pub fn cancel_request(&self) -> Result<CancelRequestHeader, GiopError> {
        CancelRequestHeader::decode(&mut self.decoder())
    }

    /// The request id of a Request, Reply, LocateRequest, LocateReply or CancelRequest, without
    /// decoding more than has to be skipped to reach it; `None` for the other types.
    ///
    /// # Errors
    /// `Malformed`: the message is too short. The peer gets MessageError.
    #[inline]
    pub fn request_id(&self) -> Result<Option<u32>, GiopError> {
        use MessageKind as K;
        match self.header.kind {
            K::CloseConnection | K::MessageError | K::Fragment => Ok(None),
            kind if self.header.version.plugged().is_some() => self.plugged_id(kind),
            _ => {
                let mut decoder = self.decoder_at_request_id()?;
                let id = decoder.read_ulong();
                id.map(Some).map_err(|e| GiopError::malformed("request_id", &e))
            }
        }
    }

    /// Whether a Request asks for a reply, without decoding the rest of its header.
    ///
    /// # Errors
    /// `Malformed`: the message is too short. The peer gets MessageError.
    #[inline]
    pub fn response_expected(&self) -> Result<bool, GiopError> {
        if self.header.version.plugged().is_some() {
            return Ok(self.request()?.0.response.response_expected());
        }
        let malformed = |e| GiopError::malformed("response_flags", &e);
        let mut decoder = self.decoder_at_request_id()?;
        if !self.header.version.is_lite() {
            decoder.read_ulong().map_err(malformed)?;
        }
        let flags = decoder.read_octet().map_err(malformed)?;
        Ok(ResponseFlags::from_header_octet(flags, self.header.version).response_expected())
    }

    /// The request id in a protocol of an application.
    #[cold]
    fn plugged_id(&self, kind: MessageKind) -> Result<Option<u32>, GiopError> {
        plugged::read(kind, &mut self.decoder(), |head| match head {
            Head::Request(head) => Some(Some(head.request_id)),
            Head::Reply(head) => Some(Some(head.request_id)),
            Head::CancelRequest(head) => Some(Some(head.request_id)),
            Head::LocateRequest(head) => Some(Some(head.request_id)),
            Head::LocateReply(head) => Some(Some(head.request_id)),
            Head::CloseConnection | Head::MessageError => Some(None),
        })
    }

    #[inline]
    fn decoder_at_request_id(&self) -> Result<Decoder<'a>, GiopError> {
        let mut decoder = self.decoder();
        let contexts_first = self.header.version < Version::V1_2
            && matches!(self.header.kind, MessageKind::Request | MessageKind::Reply);
        if contexts_first {
            ServiceContexts::decode(&mut decoder, "service_context")?;
        }
        Ok(decoder)
    }
}

/// A message that owns its octets, taken out of the reader so that another thread may read on.
/// Dropped, its memory goes to the pool of the thread that drops it ([`corbie_cdr::buffers`]).
#[derive(Debug)]
pub struct OwnedMessage {
    header: MessageHeader,
    memory: Memory,
    /// The message is `memory[start..start + len]`.
    start: usize,
    len: usize,
    /// What it has drawn of the memory budget, as long as it is there.
    #[expect(dead_code, reason = "given back when dropped")]
    draw: Option<Draw<Reading>>,
}

impl OwnedMessage {
    #[inline]
    pub(crate) fn new(header: MessageHeader, memory: Memory, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= memory.octets().len());
        Self { header, memory, start, len, draw: None }
    }

    /// A copy of `message` that owns its octets.
    #[must_use]
    pub fn copy_of(message: &Message<'_>) -> Self {
        let (memory, len) = (Memory::Pooled(message.octets.to_vec()), message.octets.len());
        Self { header: message.header, memory, start: 0, len, draw: None }
    }

    /// It, with what was drawn for it.
    pub(crate) fn counted(self, draw: Option<Draw<Reading>>) -> Self {
        Self { draw, ..self }
    }

    /// The decoded message header.
    #[inline]
    #[must_use]
    pub fn header(&self) -> MessageHeader {
        self.header
    }

    /// The byte order of the message.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.header.order
    }

    /// The message, borrowed.
    #[inline]
    #[must_use]
    pub fn as_message(&self) -> Message<'_> {
        let octets = self.memory.octets().get(self.start..self.start + self.len);
        Message { header: self.header, octets: octets.unwrap_or_default() }
    }

    /// The memory that the application's allocator gave for it.
    #[inline]
    #[must_use]
    pub fn memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        self.memory.given()
    }
}
