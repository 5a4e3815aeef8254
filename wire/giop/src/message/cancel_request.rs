//! The CancelRequest message: the client no longer waits for a reply.
//!
//! Written by `writer::cancel_request`, read by [`crate::Message::cancel_request`].
//! CORBA 3.3 P2 §9.4.4.

use corbie_cdr::Decoder;

use super::MessageKind;
use super::plugged::{self, Head};
use super::request::field;
use crate::error::GiopError;

/// The whole of a CancelRequest behind the message header.
///
/// ```text
/// request_id: ulong; in GIOPlite at octet 8, as everywhere
/// ```
/// CORBA 3.3 P2 §9.4.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelRequestHeader {
    /// The Request or LocateRequest to forget. The server may answer it all the same.
    pub request_id: u32,
}

impl CancelRequestHeader {
    /// Reads the header.
    ///
    /// # Errors
    /// `Malformed`; the peer gets MessageError.
    pub fn decode(d: &mut Decoder<'_>) -> Result<Self, GiopError> {
        if d.version().plugged().is_some() {
            return plugged::read(MessageKind::CancelRequest, d, |head| match head {
                Head::CancelRequest(head) => Some(head),
                _ => None,
            });
        }
        let request_id = field("request_id", d.read_ulong())?;
        Ok(Self { request_id })
    }
}
