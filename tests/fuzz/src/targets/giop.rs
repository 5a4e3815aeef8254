//! GIOP: the reader over a stream, the rules of a connection, and each header.
//! What is accepted is written again and has to read the same.

use corbie_cdr::ByteOrder;
use corbie_giop::{
    CodeSetContext, GiopError, LocateReplyHeader, Message, MessageHeader, MessageKind,
    MessageReader, Protocol, ReaderLimits, Roles, finish_message, write_locate_reply,
    write_locate_request, write_reply, write_request,
};
use corbie_testkit::{Seed, hostile_peer};
use corbie_types::CompletionStatus;

use super::Dialect;

/// Limits small enough that a short input reaches them.
const LIMITS: ReaderLimits = ReaderLimits {
    message_octets: 4096,
    fragments_per_message: 8,
    fragmented_messages: 3,
    reassembly_octets: 6000,
};

fn role(octet: u8) -> Roles {
    if octet & 1 == 0 { Roles::SERVER } else { Roles::CLIENT }
}

/// What is spoken, by the first octet of an input.
fn protocol(octet: u8) -> (Protocol, ByteOrder) {
    let protocol = if octet & 2 == 0 { Protocol::Giop } else { Protocol::GiopLite };
    (protocol, ByteOrder::from_flag(octet >> 2))
}

/// The first octet chooses the role (bit 0), GIOP or GIOPlite (bit 1) and the byte order of
/// GIOPlite (bit 2), the second seeds the sizes of the chunks, the rest arrives.
/// Whatever the chunks, the same messages come out, and memory stays within the limits.
pub fn giop_stream(data: &[u8]) {
    let [first, second, stream @ ..] = data else { return };
    let whole = read(*first, stream, None);
    let chunked = read(*first, stream, Some(Seed::new((*second).into())));
    assert_eq!(whole, chunked, "the chunks made a difference");
    for octets in &whole.0 {
        decode_header(protocol(*first), octets);
    }
}

/// The messages, and whether the stream was refused.
fn read(first: u8, mut stream: &[u8], mut chunks: Option<Seed>) -> (Vec<Vec<u8>>, bool) {
    let (protocol, order) = protocol(first);
    let mut reader = MessageReader::new(LIMITS, role(first)).with_protocol(protocol, order);
    let mut messages = Vec::new();
    while !stream.is_empty() {
        let size = match &mut chunks {
            Some(seed) => 1 + seed.below(stream.len().min(40)),
            None => stream.len(),
        };
        let taken = reader.receive_from(&stream[..size]);
        assert!(taken > 0, "the reader has room after `next` returned None");
        stream = &stream[taken..];
        loop {
            match reader.next() {
                Ok(Some(message)) => messages.push(message.octets.to_vec()),
                Ok(None) => break,
                Err(error) => {
                    check_error(&error);
                    return (messages, true);
                }
            }
        }
        let bound = (64 << 10) + 2 * LIMITS.reassembly_octets + LIMITS.message_octets;
        assert!(reader.memory_octets() <= bound, "{} octets held", reader.memory_octets());
    }
    (messages, false)
}

fn check_error(error: &GiopError) {
    assert!(!error.to_string().is_empty());
    assert!(!error.to_system_exception(CompletionStatus::Maybe).to_string().is_empty());
}

/// A message that is all here.
fn whole((protocol, order): (Protocol, ByteOrder), octets: &[u8]) -> Message<'_> {
    let header = match protocol {
        Protocol::Giop => octets.first_chunk().map(MessageHeader::decode).transpose(),
        Protocol::GiopLite => MessageHeader::decode_lite(octets, order),
        Protocol::Plugged(_) => unreachable!("no dialect of the corpus"),
    };
    let Ok(Some(header)) = header else { panic!("{octets:02x?} has no {protocol} header") };
    assert_eq!(header.total(), octets.len());
    Message { header, octets }
}

fn decode_header(protocol: (Protocol, ByteOrder), octets: &[u8]) {
    let message = whole(protocol, octets);
    let results = [
        message.request().map(|_| ()),
        message.reply().map(|_| ()),
        message.locate_request().map(|_| ()),
        message.locate_reply().map(|_| ()),
        message.cancel_request().map(|_| ()),
        message.request_id().map(|_| ()),
        message.response_expected().map(|_| ()),
    ];
    results.into_iter().filter_map(Result::err).for_each(|error| check_error(&error));
}

/// As `giop_stream`, through a whole connection that asks, answers, or both: requests wait for
/// replies and are in service meanwhile. Answers, cancels and time-outs are interleaved as the
/// second octet says.
pub fn giop_connection(data: &[u8]) {
    let [first, second, stream @ ..] = data else { return };
    let roles = if first & 8 == 0 { role(*first) } else { Roles::both(first & 1 == 0) };
    hostile_peer(roles, protocol(*first).0, stream, &mut Seed::new((*second).into()));
}

/// A whole message of this kind with `body` behind the message header.
fn message(dialect: Dialect, kind: MessageKind, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let Dialect { version, order, .. } = dialect;
    let header = MessageHeader { version, order, more_fragments: false, kind, size };
    match Protocol::of(version) {
        Protocol::Giop => [&header.encode()[..], body].concat(),
        Protocol::GiopLite => [&header.encode_lite()[..], body].concat(),
        Protocol::Plugged(_) => unreachable!("no dialect of the corpus"),
    }
}

fn parse(dialect: Dialect, octets: &[u8]) -> Message<'_> {
    whole((Protocol::of(dialect.version), dialect.order), octets)
}

macro_rules! header_target {
    ($(#[$doc:meta])* $name:ident, $kind:ident, $decode:ident, $write:ident) => {
        $(#[$doc])*
        pub fn $name(data: &[u8]) {
            let Some((dialect, body)) = Dialect::take(data) else { return };
            let octets = message(dialect, MessageKind::$kind, body);
            let (header, body) = match parse(dialect, &octets).$decode() {
                Ok(decoded) => decoded,
                Err(error) => return check_error(&error),
            };
            let mut e = dialect.encoder();
            let start = $write(&mut e, &header).expect("a header that was decoded");
            e.write_octets(body.rest());
            finish_message(&mut e, start).expect("as long as the input");
            let again = e.to_vec();
            let (header_again, body_again) = parse(dialect, &again).$decode().expect("own octets");
            assert_eq!(header_again, header);
            assert_eq!(body_again.rest(), body.rest());
        }
    };
}

header_target! {
    /// A dialect, then what follows the message header of a Request.
    giop_request, Request, request, write_request
}

header_target! {
    /// A dialect, then what follows the message header of a Reply.
    giop_reply, Reply, reply, write_reply
}

/// A dialect, then what follows the message header of a LocateRequest.
pub fn giop_locate_request(data: &[u8]) {
    let Some((dialect, body)) = Dialect::take(data) else { return };
    let octets = message(dialect, MessageKind::LocateRequest, body);
    let header = match parse(dialect, &octets).locate_request() {
        Ok(header) => header,
        Err(error) => return check_error(&error),
    };
    let mut e = dialect.encoder();
    let start = write_locate_request(&mut e, &header).expect("a header that was decoded");
    finish_message(&mut e, start).expect("as long as the input");
    let again = e.to_vec();
    assert_eq!(parse(dialect, &again).locate_request().expect("own octets"), header);
    if let Some(profile) = header.target.profile() {
        let _ = corbie_types::IiopProfile::decode(profile.data);
    }
}

/// A dialect, then what follows the message header of a LocateReply.
pub fn giop_locate_reply(data: &[u8]) {
    let Some((dialect, body)) = Dialect::take(data) else { return };
    let octets = message(dialect, MessageKind::LocateReply, body);
    let (header, body) = match parse(dialect, &octets).locate_reply() {
        Ok(decoded) => decoded,
        Err(error) => return check_error(&error),
    };
    let LocateReplyHeader { request_id, status } = header;
    let mut e = dialect.encoder();
    let header = LocateReplyHeader { request_id, status };
    let start = write_locate_reply(&mut e, &header).expect("as small as it came");
    e.write_octets(body.rest());
    finish_message(&mut e, start).expect("as long as the input");
    let again = e.to_vec();
    match dialect.version.is_lite() {
        // The padding before the id may have been anything.
        true => assert_eq!(again[8..], octets[8..]),
        false => assert_eq!(again, octets),
    }
}

/// A dialect, then what follows the message header of a CancelRequest.
pub fn giop_cancel_request(data: &[u8]) {
    let Some((dialect, body)) = Dialect::take(data) else { return };
    let octets = message(dialect, MessageKind::CancelRequest, body);
    match parse(dialect, &octets).cancel_request() {
        Ok(header) => {
            let id = header.request_id;
            let again = corbie_giop::cancel_request(dialect.version, dialect.order, id);
            let end = again.len();
            assert_eq!(again[end - 4..], octets[end - 4..end]);
        }
        Err(error) => check_error(&error),
    }
}

/// The data of a CodeSets service context.
pub fn giop_code_set_context(data: &[u8]) {
    match CodeSetContext::decode(data) {
        Ok(code_sets) => {
            for order in [corbie_cdr::ByteOrder::BigEndian, corbie_cdr::ByteOrder::LittleEndian] {
                let context = CodeSetContext::new(code_sets, order);
                let again = CodeSetContext::decode(context.as_context().data);
                assert_eq!(again, Ok(code_sets));
            }
        }
        Err(error) => check_error(&error),
    }
}
