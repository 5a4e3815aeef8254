//! The LocateReply message: the answer to a LocateRequest.
//!
//! Written by `writer::write_locate_reply`, read by [`crate::Message::locate_reply`].
//! CORBA 3.3 P2 §9.4.6.

use corbie_cdr::{Decoder, Encoder, Version};

use super::MessageKind;
use super::plugged::{self, Head};
use super::request::field;
use crate::error::{GiopError, GiopErrorKind};

/// What is known of the object, and what the body is. CORBA 3.3 P2 §9.4.6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LocateStatus {
    /// The server does not know the object. No body.
    UnknownObject = 0,
    /// The server takes requests for it. No body.
    ObjectHere = 1,
    /// A reference: send requests there.
    ObjectForward = 2,
    /// A reference: send requests there from now on (1.2).
    ObjectForwardPerm = 3,
    /// A system exception (1.2).
    SystemException = 4,
    /// The addressing disposition that the server wants (1.2).
    NeedsAddressingMode = 5,
}

impl LocateStatus {
    const ALL: [Self; 6] = [
        Self::UnknownObject,
        Self::ObjectHere,
        Self::ObjectForward,
        Self::ObjectForwardPerm,
        Self::SystemException,
        Self::NeedsAddressingMode,
    ];

    /// The status with this number, when the version has it.
    #[must_use]
    pub fn from_ulong(value: u32, version: Version) -> Option<Self> {
        let status = *Self::ALL.get(usize::try_from(value).ok()?)?;
        (status as u32 <= Self::ObjectForward as u32 || version >= Version::V1_2).then_some(status)
    }
}

/// The header of a LocateReply; the body follows at once, in 1.2 too.
///
/// ```text
/// request_id: ulong │ locate_status: ulong │ body without extra alignment
///
/// GIOPlite: locate_status: octet │ 2 octets, zero │ request_id: ulong │ body as above
/// ```
/// CORBA 3.3 P2 §9.4.6.1, §9.4.6.2, paper POA §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocateReplyHeader {
    /// The id of the LocateRequest that this answers.
    pub request_id: u32,
    /// What is known of the object.
    pub status: LocateStatus,
}

impl LocateReplyHeader {
    /// Reads the header and leaves the decoder at the body.
    ///
    /// # Errors
    /// `Malformed`, `BadValue`; the peer gets MessageError.
    pub fn decode(d: &mut Decoder<'_>) -> Result<Self, GiopError> {
        const WHAT: &str = "locate_status";
        let status = |value, octets, d: &Decoder<'_>| {
            let at = d.position() - octets;
            let bad = || GiopError::new(GiopErrorKind::BadValue, at, WHAT, value);
            LocateStatus::from_ulong(value, d.version()).ok_or_else(bad)
        };
        if d.version().is_lite() {
            let value = u32::from(field(WHAT, d.read_octet())?);
            let status = status(value, 1, d)?;
            return Ok(Self { request_id: field("request_id", d.read_ulong())?, status });
        }
        if d.version().plugged().is_some() {
            return plugged::read(MessageKind::LocateReply, d, |head| match head {
                Head::LocateReply(head) => Some(head),
                _ => None,
            });
        }
        let request_id = field("request_id", d.read_ulong())?;
        let value = field(WHAT, d.read_ulong())?;
        Ok(Self { request_id, status: status(value, 4, d)? })
    }

    /// Writes the header.
    ///
    /// # Errors
    /// Those of a protocol of an application.
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        let Self { request_id, status } = *self;
        if e.version().is_lite() {
            e.write_octets(&[status as u8, 0, 0]);
            e.write_ulong(request_id);
            return Ok(());
        }
        if e.version().plugged().is_some() {
            return plugged::write(&Head::LocateReply(*self), e);
        }
        e.write_ulong(request_id);
        e.write_ulong(status as u32);
        Ok(())
    }
}
