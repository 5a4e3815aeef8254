//! The LocateRequest message: asks whether the server has the object, or where it is.
//!
//! Written by `writer::write_locate_request`, read by [`crate::Message::locate_request`].
//! CORBA 3.3 P2 §9.4.5.

use corbie_cdr::{Decoder, Encoder};

use super::MessageKind;
use super::plugged::{self, Head};
use super::request::field;
use super::target::{AddressingDisposition, Target};
use crate::error::GiopError;

/// The whole of a LocateRequest behind the message header.
///
/// ```text
/// request_id: ulong │ 1.0, 1.1: object_key: sequence<octet>
///                   │ 1.2:      target: TargetAddress
///
/// GIOPlite: 1 octet, zero │ disposition: short │ request_id: ulong │ the rest of the target
/// ```
/// CORBA 3.3 P2 §9.4.5.1, paper POA §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocateRequestHeader<'a> {
    /// Chosen by the client; shares its numbers with the ids of Requests.
    pub request_id: u32,
    /// The object.
    pub target: Target<'a>,
}

impl<'a> LocateRequestHeader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Malformed`, `BadValue`; the peer gets MessageError.
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        if d.version().is_lite() {
            let disposition = AddressingDisposition::decode(d)?;
            let request_id = field("request_id", d.read_ulong())?;
            let target = Target::decode_addressed(disposition, d)?;
            return Ok(Self { request_id, target });
        }
        if d.version().plugged().is_some() {
            return plugged::read(MessageKind::LocateRequest, d, |head| match head {
                Head::LocateRequest(head) => Some(head),
                _ => None,
            });
        }
        let request_id = field("request_id", d.read_ulong())?;
        let target = Target::decode(d)?;
        Ok(Self { request_id, target })
    }

    /// Writes the header in the form of the encoder's version.
    ///
    /// # Errors
    /// The encoder's: the message becomes longer than a GIOP message can be.
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        let Self { request_id, target } = self;
        if e.version().is_lite() {
            target.disposition().encode(e);
            e.write_ulong(*request_id);
            return target.encode_addressed(e);
        }
        if e.version().plugged().is_some() {
            return plugged::write(&Head::LocateRequest(*self), e);
        }
        e.write_ulong(*request_id);
        target.encode(e)
    }
}
