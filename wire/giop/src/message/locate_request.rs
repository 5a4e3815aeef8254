//! The LocateRequest message: asks whether the server has the object, or where it is.
//!
//! Written by `writer::write_locate_request`, read by [`crate::Message::locate_request`].
//! CORBA 3.3 P2 §9.4.5.

use corbie_cdr::{Decoder, Encoder};

use super::request::field;
use super::target::Target;
use crate::error::GiopError;

/// The whole of a LocateRequest behind the message header.
///
/// ```text
/// request_id: ulong │ 1.0, 1.1: object_key: sequence<octet>
///                   │ 1.2:      target: TargetAddress
/// ```
/// CORBA 3.3 P2 §9.4.5.1.
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
        e.write_ulong(*request_id);
        target.encode(e)
    }
}
