//! The part of a Request that is the same for every call on one target, encoded once.
//!
//! `orb/core/client/bind` makes a [`RequestTemplate`] for each target; `client/exchange` writes
//! requests with it. The result is what `write_request` writes, for a third of the instructions.
//! CORBA 3.3 P2 §9.4.2.

use corbie_cdr::{ByteOrder, Encoder, Version};

use crate::message::{RequestHeader, ResponseFlags, ServiceContexts, Target};
use crate::writer::{MessageStart, write_request};

/// The octets of a 1.2 Request from `GIOP` up to the padding behind its target.
///
/// ```text
///  0 … 11           12 … 15      16     17 … 19   20 …                     to a multiple of 4
/// message header │ request_id │ flags │ reserved │ target, as given       │ padding
/// ```
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    octets: Box<[u8]>,
    order: ByteOrder,
}

/// Where the request id and the response flags stand in a 1.2 Request.
const REQUEST_ID: usize = 12;
const FLAGS: usize = 16;
/// NUL and padding of the operation, the empty list of service contexts, padding before the body.
const ZEROS: [u8; 16] = [0; 16];

impl RequestTemplate {
    /// The template of requests to `target`; `None` for versions before 1.2, whose header begins
    /// with what changes.
    #[must_use]
    pub fn new(version: Version, order: ByteOrder, target: Target<'_>) -> Option<Self> {
        if version != Version::V1_2 {
            return None;
        }
        let mut e = Encoder::new(Vec::new(), order);
        e.set_version(version);
        let header = RequestHeader {
            request_id: 0,
            response: ResponseFlags::None,
            target,
            operation: "",
            service_contexts: ServiceContexts::EMPTY,
        };
        let start = write_request(&mut e, &header).ok()?;
        // Behind the target: an operation of length 1 (its NUL), padding, an empty list.
        const EMPTY_OPERATION_AND_CONTEXTS: usize = 12;
        e.truncate(start.header_end() - EMPTY_OPERATION_AND_CONTEXTS);
        Some(RequestTemplate { octets: e.into_buffer().into(), order })
    }

    /// Writes everything of a Request up to its body, without service contexts. The encoder has to
    /// be empty, of version 1.2 and of the template's byte order.
    ///
    /// # Errors
    /// The encoder's: an operation name of 4 GiB or more (MARSHAL, COMPLETED_NO).
    #[inline]
    pub fn write(
        &self,
        e: &mut Encoder<'_>,
        request_id: u32,
        response: ResponseFlags,
        operation: &str,
    ) -> Result<MessageStart, corbie_cdr::Error> {
        debug_assert!(e.is_empty() && e.version() == Version::V1_2 && e.order() == self.order);
        e.write_octets(&self.octets);
        e.patch_ulong(e.placeholder_at(REQUEST_ID), request_id);
        e.patch_octet(FLAGS, response as u8);
        e.write_length(operation.len() + 1)?;
        e.write_octets(operation.as_bytes());
        // NUL, padding to 4, and the zero of an empty list are all zeros; so is what follows up to
        // the body, which begins at a multiple of 8.
        let list = (e.len() + 1).next_multiple_of(4);
        let header_end = list + 4;
        let body = header_end.next_multiple_of(8);
        e.write_octets(&ZEROS[..body - e.len()]);
        Ok(MessageStart::new(header_end, body))
    }
}

#[cfg(test)]
mod tests {
    use super::RequestTemplate;
    use crate::message::{RequestHeader, ResponseFlags, ServiceContexts, Target};
    use crate::writer::{finish_message, write_request};
    use corbie_cdr::{ByteOrder, Encoder, Version};

    #[test]
    fn a_template_writes_what_the_header_codec_writes() {
        for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
            for key_octets in 0..9 {
                for operation in ["", "a", "ab", "abc", "abcd", "abcde", "a_longer_operation"] {
                    for body in [&b""[..], b"body"] {
                        check(order, &[7; 9][..key_octets], operation, body);
                    }
                }
            }
        }
    }

    fn check(order: ByteOrder, key: &[u8], operation: &str, body: &[u8]) {
        let target = Target::Key(key);
        let (request_id, response) = (0x0102_0304, ResponseFlags::WithTarget);
        let service_contexts = ServiceContexts::EMPTY;
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        let mut expected = Encoder::new(Vec::new(), order);
        let start = write_request(&mut expected, &header).unwrap();
        expected.write_octets(body);
        finish_message(&mut expected, start).unwrap();

        let template = RequestTemplate::new(Version::V1_2, order, target).unwrap();
        let mut written = Encoder::new(Vec::new(), order);
        let start = template.write(&mut written, request_id, response, operation).unwrap();
        written.write_octets(body);
        finish_message(&mut written, start).unwrap();
        assert_eq!(written.to_vec(), expected.to_vec(), "{order:?} {key:?} {operation:?} {body:?}");
    }

    #[test]
    fn older_versions_have_no_template() {
        let target = Target::Key(b"key");
        assert!(RequestTemplate::new(Version::V1_1, ByteOrder::NATIVE, target).is_none());
    }
}
