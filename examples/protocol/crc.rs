//! A message protocol that Corbie does not know: each message carries a CRC-32 of itself, for lines
//! and gateways that change octets more often than TCP's sixteen bits notice.
//!
//! ```text
//!  0    1    2             3           4 … 7   8 … 11   12 … 15       16 …
//! 'C'  'K'  kind, order   flags/status  size   CRC-32   request id    the kind's own
//! ```
//! Bit 7 of the third octet is the byte order, the others are GIOP's number of the message type.
//! The size is that of the whole message; the CRC is of the whole message with zeros in its own
//! place. Behind octet 16 a Request has target, operation and service contexts, a Reply service
//! contexts, a LocateRequest its target, each as in GIOP 1.2.

use corbie::cdr;
use corbie::protocol::{
    ByteOrder, CancelRequestHeader, Cut, Decoder, Encoder, Frame, GiopError, GiopErrorKind, Head,
    LocateReplyHeader, LocateRequestHeader, LocateStatus, MessageKind, MessageProtocol,
    ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, ServiceContexts, Target,
};

/// The protocol: endpoints begin with `crc+`.
#[derive(Debug)]
pub(crate) struct Crc;

const MAGIC: [u8; 2] = *b"CK";
const HEADER_OCTETS: usize = 16;
const SIZE: usize = 4;
const CHECKSUM: usize = 8;
const REQUEST_ID: usize = 12;

impl MessageProtocol for Crc {
    fn name(&self) -> &'static str {
        "crc"
    }

    fn cut(&self, octets: &[u8]) -> Result<Cut, GiopError> {
        let begun = &octets[..octets.len().min(MAGIC.len())];
        if !MAGIC.starts_with(begun) {
            let seen = &octets[..octets.len().min(12)];
            let found = format_args!("\"{}\"", seen.escape_ascii());
            return Err(GiopError::new(GiopErrorKind::NotOfProtocol, 0, "magic", found));
        }
        let Some(&[_, _, kind, _, a, b, c, d]) = octets.first_chunk() else {
            return Ok(Cut::Needs(SIZE + 4));
        };
        let (order, size) = match kind >> 7 {
            0 => (ByteOrder::BigEndian, u32::from_be_bytes([a, b, c, d])),
            _ => (ByteOrder::LittleEndian, u32::from_le_bytes([a, b, c, d])),
        };
        let known =
            MessageKind::from_octet(kind & 0x7f).filter(|kind| *kind != MessageKind::Fragment);
        let Some(kind) = known else {
            let (kind, what) = (kind & 0x7f, "message type");
            return Err(GiopError::new(GiopErrorKind::UnknownMessageType, 2, what, kind));
        };
        let octets = size as usize;
        if octets < HEADER_OCTETS {
            let found = format_args!("{octets}, less than the header has");
            return Err(GiopError::new(GiopErrorKind::NotOfProtocol, SIZE, "message size", found));
        }
        Ok(Cut::Message(Frame { kind, order, octets }))
    }

    fn check(&self, message: &[u8]) -> Result<(), GiopError> {
        let order = ByteOrder::from_flag(message[2] >> 7);
        let said = Decoder::new(&message[CHECKSUM..], order).read_ulong();
        let (before, behind) = (&message[..CHECKSUM], &message[CHECKSUM + 4..]);
        let is = checksum([before, &[0; 4], behind].into_iter());
        if said.as_ref().is_ok_and(|said| *said == is) {
            return Ok(());
        }
        let found = format_args!("{said:08x?}, where the octets give {is:08x}");
        Err(GiopError::new(GiopErrorKind::Damaged, CHECKSUM, "CRC-32", found))
    }

    fn read<'a>(&self, kind: MessageKind, d: &mut Decoder<'a>) -> Result<Head<'a>, GiopError> {
        let header = d.read_octets(REQUEST_ID).map_err(|e| GiopError::malformed("header", &e))?;
        let code = header[3];
        let request_id = d.read_ulong().map_err(|e| GiopError::malformed("request id", &e))?;
        let bad_status = || GiopError::new(GiopErrorKind::BadValue, 3, "status", code);
        Ok(match kind {
            MessageKind::Request => {
                let response = ResponseFlags::from_header_octet(code, d.version());
                let target = Target::decode(d)?;
                let name = d.read_str().map_err(|e| GiopError::malformed("operation", &e))?;
                let service_contexts = ServiceContexts::decode(d, "service contexts")?;
                let operation = name;
                let head =
                    RequestHeader { request_id, response, target, operation, service_contexts };
                Head::Request(head)
            }
            MessageKind::Reply => {
                let status = ReplyStatus::from_ulong(code.into(), d.version());
                let status = status.ok_or_else(bad_status)?;
                let service_contexts = ServiceContexts::decode(d, "service contexts")?;
                Head::Reply(ReplyHeader { request_id, status, service_contexts })
            }
            MessageKind::LocateRequest => {
                let target = Target::decode(d)?;
                Head::LocateRequest(LocateRequestHeader { request_id, target })
            }
            MessageKind::LocateReply => {
                let status = LocateStatus::from_ulong(code.into(), d.version());
                let status = status.ok_or_else(bad_status)?;
                Head::LocateReply(LocateReplyHeader { request_id, status })
            }
            MessageKind::CancelRequest => Head::CancelRequest(CancelRequestHeader { request_id }),
            MessageKind::CloseConnection => Head::CloseConnection,
            MessageKind::MessageError | MessageKind::Fragment => Head::MessageError,
        })
    }

    fn write(&self, head: &Head<'_>, e: &mut Encoder<'_>) -> Result<(), cdr::Error> {
        let (code, request_id) = match head {
            Head::Request(head) => (head.response as u8, head.request_id),
            Head::Reply(head) => (head.status as u8, head.request_id),
            Head::LocateReply(head) => (head.status as u8, head.request_id),
            Head::LocateRequest(head) => (0, head.request_id),
            Head::CancelRequest(head) => (0, head.request_id),
            Head::CloseConnection | Head::MessageError => (0, 0),
        };
        let [c, k] = MAGIC;
        e.write_octets(&[c, k, head.kind() as u8 | e.order().flag() << 7, code]);
        // Size and CRC come at the end.
        e.write_octets(&[0; 8]);
        e.write_ulong(request_id);
        match head {
            Head::Request(head) => {
                head.target.encode(e)?;
                e.write_str(head.operation)?;
                head.service_contexts.encode(e)
            }
            Head::Reply(head) => head.service_contexts.encode(e),
            Head::LocateRequest(head) => head.target.encode(e),
            _ => Ok(()),
        }
    }

    fn finish(&self, e: &mut Encoder<'_>) {
        // No message has more than octets_max, which fits.
        let size = u32::try_from(e.len()).unwrap_or(u32::MAX);
        e.patch_ulong(e.placeholder_at(SIZE), size);
        seal(e);
    }

    fn set_request_id(&self, e: &mut Encoder<'_>, request_id: u32) {
        e.patch_ulong(e.placeholder_at(REQUEST_ID), request_id);
        seal(e);
    }
}

/// Fills in the CRC of the message in `e`, which lies in pieces when it has large arguments.
fn seal(e: &mut Encoder<'_>) {
    e.patch_ulong(e.placeholder_at(CHECKSUM), 0);
    let checksum = checksum(e.segments());
    e.patch_ulong(e.placeholder_at(CHECKSUM), checksum);
}

/// The CRC-32 (as in Ethernet and zip) of octets that lie in pieces.
fn checksum<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    pieces.for_each(|piece| hasher.update(piece));
    hasher.finalize()
}
