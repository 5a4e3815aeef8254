//! The part of a Request that is the same for every call on one target, encoded once.
//!
//! `orb/core/client/bind` makes a [`RequestTemplate`] for each target; `client/write` writes
//! requests with it. The result is what `write_request` writes, for a third of the instructions.
//! CORBA 3.3 P2 §9.4.2.

use std::sync::Arc;

use corbie_cdr::{ByteOrder, Encoder, Version};

use crate::message::{MessageHeader, RequestHeader, ResponseFlags, ServiceContexts, Target};
use crate::writer::{MessageStart, fixed_request_id, write_request};

/// The octets of a 1.2 or GIOPlite Request up to the padding behind its target.
///
/// ```text
///           0 … 11           12 … 15      16     17 … 19    20 …              to a multiple of 4
/// 1.2       message header │ request_id │ flags │ reserved │ target, as given │ padding
///           0 … 4            5       6 … 7         8 … 11       12 …
/// GIOPlite  message header │ flags │ disposition │ request_id │ rest of the target │ padding
/// ```
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    /// Shared by the addresses of a profile: a key may be long.
    octets: Arc<[u8]>,
    version: Version,
    order: ByteOrder,
    /// Where the request id and the response flags stand.
    request_id: usize,
    flags: usize,
}

/// NUL and padding of the operation, the empty list of service contexts, padding before the body.
const ZEROS: [u8; 16] = [0; 16];

impl RequestTemplate {
    /// The template of requests to `target`; `None` for versions before 1.2, whose header begins
    /// with what changes, and for protocols of applications. For [`Version::GIOP_LITE`] one of
    /// GIOPlite.
    #[must_use]
    pub fn new(version: Version, order: ByteOrder, target: Target<'_>) -> Option<Self> {
        let request_id = fixed_request_id(version)?;
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
        // Behind the target: an operation of length 1 (its NUL), in 1.2 padding and an empty list.
        let (flags, behind_target) = match version.is_lite() {
            true => (MessageHeader::LITE_OCTETS, 5),
            false => (request_id + 4, 12),
        };
        e.truncate(start.header_end() - behind_target);
        let octets = e.into_buffer().into();
        Some(RequestTemplate { octets, version, order, request_id, flags })
    }

    /// Writes everything of a Request up to its body, without service contexts. The encoder has to
    /// be empty, of the version and of the byte order of the template.
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
        debug_assert!(e.is_empty() && e.version() == self.version && e.order() == self.order);
        e.write_octets(&self.octets);
        e.patch_ulong(e.placeholder_at(self.request_id), request_id);
        e.patch_octet(self.flags, response as u8);
        e.write_length(operation.len() + 1)?;
        e.write_octets(operation.as_bytes());
        // NUL, padding to 4, and the zero of an empty list, which GIOPlite leaves out, are all
        // zeros; so is what follows up to the body, which begins at a multiple of 8.
        let header_end = match self.version.is_lite() {
            true => e.len() + 1,
            false => (e.len() + 1).next_multiple_of(4) + 4,
        };
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
            for version in [Version::V1_2, Version::GIOP_LITE] {
                for key_octets in 0..9 {
                    for operation in ["", "a", "ab", "abc", "abcd", "abcde", "a_longer_operation"] {
                        for body in [&b""[..], b"body"] {
                            check(version, order, &[7; 9][..key_octets], operation, body);
                        }
                    }
                }
            }
        }
    }

    fn check(version: Version, order: ByteOrder, key: &[u8], operation: &str, body: &[u8]) {
        let target = Target::Key(key);
        let (request_id, response) = (0x0102_0304, ResponseFlags::WithTarget);
        let service_contexts = ServiceContexts::EMPTY;
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        let mut expected = Encoder::new(Vec::new(), order);
        expected.set_version(version);
        let start = write_request(&mut expected, &header).unwrap();
        expected.write_octets(body);
        finish_message(&mut expected, start).unwrap();

        let template = RequestTemplate::new(version, order, target).unwrap();
        let mut written = Encoder::new(Vec::new(), order);
        written.set_version(version);
        let start = template.write(&mut written, request_id, response, operation).unwrap();
        written.write_octets(body);
        finish_message(&mut written, start).unwrap();
        let case = format!("{version} {order:?} {key:?} {operation:?} {body:?}");
        assert_eq!(written.to_vec(), expected.to_vec(), "{case}");
    }

    #[test]
    fn older_versions_have_no_template() {
        let target = Target::Key(b"key");
        assert!(RequestTemplate::new(Version::V1_1, ByteOrder::NATIVE, target).is_none());
    }
}
