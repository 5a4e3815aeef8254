//! The Fragment message: more octets of a message that began earlier.
//!
//! Read by the reader's reassembly, written by `split`. CORBA 3.3 P2 §9.4.9.

use corbie_cdr::{ByteOrder, Version};

use super::header::MessageHeader;
use crate::error::{GiopError, GiopErrorKind};

/// What stands before the continued octets of a Fragment.
///
/// ```text
/// 1.1: nothing                    octets from 12 on
/// 1.2: request_id: ulong          octets from 16 on
/// ```
/// CORBA 3.3 P2 §9.4.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHeader {
    /// Which message it continues; 1.1 has one incomplete message at a time and sends no id.
    pub request_id: Option<u32>,
}

impl FragmentHeader {
    /// The octets before the continued data, message header included.
    #[must_use]
    pub fn octets(version: Version) -> usize {
        MessageHeader::OCTETS + if version >= Version::V1_2 { 4 } else { 0 }
    }

    /// Reads the header of a Fragment, or the request id at the same place of a 1.2 message that
    /// is continued by one.
    ///
    /// # Errors
    /// `BadFragment`: a 1.2 message too short for the id; the peer gets MessageError.
    pub fn decode(header: &MessageHeader, octets: &[u8]) -> Result<Self, GiopError> {
        if header.version < Version::V1_2 {
            return Ok(Self { request_id: None });
        }
        let Some(&[a, b, c, d]) = octets.get(12..16) else {
            return Err(GiopError::new(
                GiopErrorKind::BadFragment,
                MessageHeader::OCTETS,
                "request_id",
                format_args!("missing: the message has {} octets", octets.len()),
            ));
        };
        let id = match header.order {
            ByteOrder::BigEndian => u32::from_be_bytes([a, b, c, d]),
            ByteOrder::LittleEndian => u32::from_le_bytes([a, b, c, d]),
        };
        Ok(Self { request_id: Some(id) })
    }
}
