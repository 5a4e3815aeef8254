//! The message header of GIOPlite: the size and the type, and nothing that both ends know.
//!
//! Called by the reader and the writers through [`MessageHeader`]. Paper POA §3.3, table 3; the
//! layout of the five octets is TAO's.

use corbie_cdr::{ByteOrder, Version};

use super::{MessageHeader, MessageKind};
use crate::error::{GiopError, GiopErrorKind};

/// Where the request id stands in every message of GIOPlite that has one: three octets behind the
/// header are the type's own.
pub(crate) const REQUEST_ID: usize = 8;

/// ```text
///  0   1   2   3   4
/// message_size: ulong, in the order agreed
///                 type: octet, 0 to 6
/// ```
impl MessageHeader {
    /// The most octets that follow a GIOPlite header: below what `GIOP` would be as a size, in
    /// either byte order, so that a peer that speaks GIOP is known by its first four octets.
    pub const LITE_SIZE_MAX: u32 = 1 << 30;

    /// Decodes the five octets that a GIOPlite message begins with; `None`: they are not all here.
    ///
    /// # Errors
    /// `OtherProtocol`, `MessageTooLarge`, `UnknownMessageType`; all answered by MessageError.
    pub fn decode_lite(octets: &[u8], order: ByteOrder) -> Result<Option<Self>, GiopError> {
        let Some(size) = octets.first_chunk() else { return Ok(None) };
        if *size == Self::MAGIC {
            return Err(speaks_giop(octets));
        }
        let size = ulong(*size, order);
        if size > Self::LITE_SIZE_MAX {
            return Err(no_size(octets, size));
        }
        let Some(&kind) = octets.get(4) else { return Ok(None) };
        match MessageKind::from_octet(kind) {
            None | Some(MessageKind::Fragment) => Err(no_type(octets, kind)),
            Some(kind) => Ok(Some(Self::lite(kind, order, size))),
        }
    }

    /// As [`Self::decode_lite`], for messages that end neither a connection nor a request; `None`:
    /// anything else. The path that nearly every message takes.
    #[inline]
    pub(crate) fn decode_plain_lite(octets: &[u8], order: ByteOrder) -> Option<Self> {
        let &[a, b, c, d, kind] = octets.first_chunk()?;
        let size = ulong([a, b, c, d], order);
        if size > Self::LITE_SIZE_MAX {
            return None;
        }
        let kind = match kind {
            0 => MessageKind::Request,
            1 => MessageKind::Reply,
            3 => MessageKind::LocateRequest,
            4 => MessageKind::LocateReply,
            _ => return None,
        };
        Some(Self::lite(kind, order, size))
    }

    #[inline]
    fn lite(kind: MessageKind, order: ByteOrder, size: u32) -> Self {
        Self { version: Version::GIOP_LITE, order, more_fragments: false, kind, size }
    }

    /// The five octets of this header in GIOPlite.
    #[inline]
    #[must_use]
    pub fn encode_lite(&self) -> [u8; Self::LITE_OCTETS] {
        let [a, b, c, d] = match self.order {
            ByteOrder::BigEndian => self.size.to_be_bytes(),
            ByteOrder::LittleEndian => self.size.to_le_bytes(),
        };
        [a, b, c, d, self.kind as u8]
    }

    /// Whether octets that are not GIOP look like the beginning of a GIOPlite message.
    pub(super) fn resembles_lite(octets: &[u8]) -> bool {
        let size = |order| octets.first_chunk().is_some_and(|size| ulong(*size, order) < 1 << 24);
        let is_type = octets.get(4).is_some_and(|kind| *kind < MessageKind::Fragment as u8);
        is_type && (size(ByteOrder::LittleEndian) || size(ByteOrder::BigEndian))
    }
}

#[inline]
fn ulong(octets: [u8; 4], order: ByteOrder) -> u32 {
    match order {
        ByteOrder::BigEndian => u32::from_be_bytes(octets),
        ByteOrder::LittleEndian => u32::from_le_bytes(octets),
    }
}

/// What has arrived, in a form that can be shown.
fn seen(octets: &[u8]) -> String {
    let octets = &octets[..octets.len().min(12)];
    format!("{:02x?} (\"{}\")", octets, octets.escape_ascii())
}

#[cold]
fn speaks_giop(octets: &[u8]) -> GiopError {
    let found = format_args!(
        "{}, the beginning of a GIOP message; a giopl:// endpoint is for clients with gioplite on \
         alone, others need an iiop:// one",
        seen(octets)
    );
    GiopError::new(GiopErrorKind::OtherProtocol, 0, "message_size", found)
}

#[cold]
fn no_size(octets: &[u8], size: u32) -> GiopError {
    let found = format_args!(
        "{size}, from {}; GIOPlite messages have at most {} octets",
        seen(octets),
        MessageHeader::LITE_SIZE_MAX
    );
    GiopError::new(GiopErrorKind::MessageTooLarge, 0, "message_size", found)
}

#[cold]
fn no_type(octets: &[u8], kind: u8) -> GiopError {
    let found = format_args!("{kind}, from {}; known in GIOPlite are 0 to 6", seen(octets));
    GiopError::new(GiopErrorKind::UnknownMessageType, 4, "message_type", found)
}
