//! GIOPlite: the octets of each message, what they save against GIOP 1.2, and peers that speak the
//! other protocol or none. Paper POA §3.3.
//!
//! What GIOPlite shares with GIOP (round trips, chunks, roles, truncation) is tested in the other
//! files of this folder, for all dialects.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    Answer, Fragments, GiopErrorKind, Incoming, LocateReplyHeader, LocateStatus, MessageHeader,
    MessageKind, MessageReader, Protocol, ReaderLimits, ReplyHeader, ReplyStatus, RequestHeader,
    ResponseFlags, Roles, ServiceContext, ServiceContexts, Target, cancel_request,
    close_connection, finish_message, message_error, write_locate_reply, write_reply,
    write_request,
};
use samples::*;

const BE: ByteOrder = ByteOrder::BigEndian;
const LE: ByteOrder = ByteOrder::LittleEndian;

fn request_to(version: Version, order: ByteOrder, key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = RequestHeader {
        request_id: 0x0102_0304,
        response: ResponseFlags::WithTarget,
        target: Target::Key(key),
        operation: "get",
        service_contexts: ServiceContexts::EMPTY,
    };
    let start = write_request(&mut e, &header).unwrap();
    e.write_octets(body);
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

fn reply_with(version: Version, status: ReplyStatus, contexts: &[ServiceContext<'_>]) -> Vec<u8> {
    let mut e = encoder(version, BE);
    let service_contexts = ServiceContexts::new(contexts);
    let header = ReplyHeader { request_id: 0x0102_0304, status, service_contexts };
    let start = write_reply(&mut e, &header).unwrap();
    e.write_octets(b"body");
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

#[test]
fn a_request_says_what_changes() {
    let octets = request_to(LITE, BE, b"key", b"body");
    let expected: [&[u8]; 8] = [
        &[0, 0, 0, 31],     // message_size
        &[0],               // Request
        &[3],               // response_flags: a reply by the target, no service contexts
        &[0, 0],            // the target is a key
        &[1, 2, 3, 4],      // request_id
        b"\0\0\0\x03key\0", // the key, and padding
        b"\0\0\0\x04get\0", // the operation
        b"\0\0\0\0body",    // the body begins at a multiple of eight
    ];
    assert_eq!(octets, expected.concat());
    let little = request_to(LITE, LE, b"key", b"");
    assert_eq!(little[..12], [23, 0, 0, 0, 0, 3, 0, 0, 4, 3, 2, 1]);
    assert_eq!(little.len(), 28, "no padding without a body");
}

#[test]
fn service_contexts_are_there_when_there_are_any() {
    let plain = reply_with(LITE, ReplyStatus::NoException, &[]);
    assert_eq!(plain, *b"\0\0\0\x0b\x01\0\0\0\x01\x02\x03\x04body");
    let context = [ServiceContext { tag: 9, data: b"data" }];
    let with = reply_with(LITE, ReplyStatus::NoException, &context);
    let list = b"\0\0\0\x01\0\0\0\x09\0\0\0\x04data";
    assert_eq!(with, [&b"\0\0\0\x1b\x01\x80\0\0\x01\x02\x03\x04"[..], list, b"body"].concat());
    let message = message_in(LITE, BE, &with);
    let (header, body) = message.reply().unwrap();
    assert_eq!(header.service_contexts, ServiceContexts::new(&context));
    assert_eq!(body.rest(), b"body");
}

#[test]
fn exceptions_begin_where_they_can_be_moved_from() {
    for status in [ReplyStatus::UserException, ReplyStatus::LocationForward] {
        let octets = reply_with(LITE, status, &[]);
        assert_eq!(octets[5], status as u8);
        assert_eq!(octets[12..], *b"\0\0\0\0body");
    }
}

#[test]
fn the_short_messages() {
    let mut e = encoder(LITE, BE);
    let header = LocateReplyHeader { request_id: 7, status: LocateStatus::ObjectHere };
    let start = write_locate_reply(&mut e, &header).unwrap();
    finish_message(&mut e, start).unwrap();
    assert_eq!(e.to_vec(), [0, 0, 0, 7, 4, 1, 0, 0, 0, 0, 0, 7]);
    let key = [0, 0, 0, 3, b'k', b'e', b'y'];
    let head = [0, 0, 0, 14, 3, 0, 0, 0, 0, 0, 0, 7];
    assert_eq!(locate_request(LITE, BE, 7), [&head[..], &key].concat());
    assert_eq!(*cancel_request(LITE, BE, 7), [0, 0, 0, 7, 2, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!(*close_connection(LITE, LE), [0, 0, 0, 0, 5]);
    assert_eq!(*message_error(LITE, LE), [0, 0, 0, 0, 6]);
}

/// Octets that GIOPlite saves, for the paper's Table 3, which counts at least 15 in a request of
/// GIOP 1.0: magic 4, version 2, flags 1, service context 4, principal 4 (1.2 has none, but three
/// reserved octets and padding instead).
#[test]
fn what_is_saved() {
    let saved = |from: Version, octets: &dyn Fn(Version) -> usize| octets(from) - octets(LITE);
    let mut requests = Vec::new();
    let mut of_1_0 = Vec::new();
    for key in 1..=24 {
        let octets = |version: Version| request_to(version, LE, &vec![7; key], b"").len();
        requests.push(saved(Version::V1_2, &octets));
        of_1_0.push(saved(Version::V1_0, &octets));
    }
    assert!(requests.iter().all(|saved| *saved == 16), "{requests:?}");
    assert!(of_1_0.iter().all(|saved| (15..=18).contains(saved)), "{of_1_0:?}");
    // With arguments, whose alignment may take some of it back or add to it.
    let octets = |version: Version| request_to(version, LE, &[7; 16], &[0; 8]).len();
    assert_eq!((octets(Version::V1_2), octets(LITE)), (64, 48));
    for body in [&b""[..], &[0; 4], &[0; 8]] {
        let octets = |version: Version| reply(version, LE, 1, body).len();
        assert_eq!(saved(Version::V1_2, &octets), 12);
        assert_eq!(saved(Version::V1_0, &octets), 12);
    }
    let control = |version: Version| close_connection(version, LE).len();
    assert_eq!(saved(Version::V1_2, &control), 7);
    let control = |version: Version| cancel_request(version, LE, 1).len();
    assert_eq!(saved(Version::V1_2, &control), 4);
}

#[test]
fn a_message_is_never_fragmented_and_at_most_a_gibibyte() {
    let mut e = encoder(LITE, LE);
    let start = write_reply(&mut e, &plain_reply()).unwrap();
    e.write_octets(&[0; 5000]);
    finish_message(&mut e, start).unwrap();
    assert!(Fragments::of(&e, 1000).is_none());
    for kind in MessageKind::ALL {
        assert!(!kind.may_be_fragmented(LITE));
    }
    // Sixteen borrowed pieces of 64 MiB: no memory is taken for them.
    let piece = vec![0; 64 << 20];
    let mut e: Encoder<'_> = encoder(LITE, LE);
    let start = write_reply(&mut e, &plain_reply()).unwrap();
    (0..16).for_each(|_| e.write_borrowed_octets(&piece));
    let error = finish_message(&mut e, start).unwrap_err();
    assert!(error.to_string().contains("1 GiB in GIOPlite"), "{error}");
}

fn plain_reply() -> ReplyHeader<'static> {
    let (status, service_contexts) = (ReplyStatus::NoException, ServiceContexts::EMPTY);
    ReplyHeader { request_id: 1, status, service_contexts }
}

fn lite(role: Roles) -> MessageReader {
    reader_of(role, LITE, ByteOrder::NATIVE)
}

#[test]
fn a_peer_that_speaks_giop_is_told_so_in_giop() {
    for (version, order) in dialects() {
        for (role, octets) in [
            (Roles::SERVER, request(version, order, 1, b"arguments")),
            (Roles::CLIENT, message_error(version, order).to_vec()),
        ] {
            for chunk in [1, 4, octets.len()] {
                let mut reader = lite(role);
                let error = read_in_chunks(&mut reader, &octets, &[chunk]).unwrap_err();
                assert_eq!(error.kind(), GiopErrorKind::OtherProtocol);
                assert_eq!(error.answer(), Answer::MessageError);
                assert_eq!(error.answer_version(LITE), Version::V1_0);
                let text = error.to_string();
                assert!(text.contains("iiop://") && text.contains("giopl://"), "{text}");
                assert!(reader.has_ended());
            }
        }
    }
    let octets = request(Version::V1_2, BE, 1, b"");
    let error = read_in_chunks(&mut lite(Roles::SERVER), &octets, &[]).unwrap_err();
    let word = Roles::SERVER.last_words(&error, LITE).unwrap();
    assert_eq!(*word, *message_error(Version::V1_0, ByteOrder::NATIVE));
}

#[test]
fn giop_says_when_a_peer_seems_to_speak_giop_lite() {
    for order in ORDERS {
        for (_, octets) in messages_to(Roles::SERVER, LITE, order) {
            let error = read_in_chunks(&mut reader(Roles::SERVER), &octets, &[]).unwrap_err();
            assert_eq!(error.kind(), GiopErrorKind::BadMagic);
            let text = error.to_string();
            assert!(text.contains("giopl://") && text.contains("gioplite off"), "{text}");
        }
    }
    let error = read_in_chunks(&mut reader(Roles::SERVER), b"GET / HTTP/1.1\r\n", &[]).unwrap_err();
    assert!(!error.to_string().contains("giopl"), "{error}");
}

#[test]
fn sizes_beyond_a_gibibyte_or_the_limit_are_refused_by_four_octets() {
    let most = MessageHeader::LITE_SIZE_MAX;
    for (size, order) in [(most + 1, BE), (u32::MAX, LE), (most + 1, LE), (1 << 31, BE)] {
        let size = match order {
            ByteOrder::BigEndian => size.to_be_bytes(),
            ByteOrder::LittleEndian => size.to_le_bytes(),
        };
        let mut reader = reader_of(Roles::SERVER, LITE, order);
        assert!(read_in_chunks(&mut reader, &size[..3], &[]).unwrap().is_empty());
        let error = read_in_chunks(&mut reader, &size[3..], &[]).unwrap_err();
        assert_eq!(error.kind(), GiopErrorKind::MessageTooLarge);
    }
    for (size, fits) in [((64 << 20) - 5, true), ((64 << 20) - 4, false)] {
        let octets = [&u32::to_ne_bytes(size)[..], &[0]].concat();
        let mut reader = lite(Roles::SERVER);
        match read_in_chunks(&mut reader, &octets, &[]) {
            Ok(messages) => assert!(fits && messages.is_empty()),
            Err(error) => assert!(!fits && error.kind() == GiopErrorKind::MessageTooLarge),
        }
        assert!(reader.memory_octets() <= 64 << 10, "a claim takes no memory");
    }
}

#[test]
fn unknown_types_and_fragments_are_refused() {
    for kind in 7..=255u8 {
        let octets = [0, 0, 0, 0, kind];
        let error = read_in_chunks(&mut lite(Roles::SERVER), &octets, &[]).unwrap_err();
        assert_eq!(error.kind(), GiopErrorKind::UnknownMessageType);
        assert_eq!(error.offset(), 4);
    }
}

/// Every bit of every message, and every prefix: an error or a message, never a panic, and no more
/// memory than arrived.
#[test]
fn every_flipped_bit_is_refused_or_read() {
    for order in ORDERS {
        for role in [Roles::CLIENT, Roles::SERVER] {
            let all = messages_to(role, LITE, order).into_iter().chain(last_messages(LITE, order));
            for (_, octets) in all {
                for bit in 0..octets.len() * 8 {
                    let mut flipped = octets.clone();
                    flipped[bit / 8] ^= 1 << (bit % 8);
                    read_all(role, order, &flipped);
                }
                for len in 0..octets.len() {
                    let mut reader = reader_of(role, LITE, order);
                    assert!(read_in_chunks(&mut reader, &octets[..len], &[]).unwrap().is_empty());
                    assert_eq!(reader.check_end_of_stream().is_ok(), len == 0);
                }
            }
        }
    }
}

fn read_all(role: Roles, order: ByteOrder, octets: &[u8]) {
    let limits = ReaderLimits { message_octets: 4096, ..ReaderLimits::DEFAULT };
    let mut reader = MessageReader::new(limits, role).with_protocol(Protocol::GiopLite, order);
    reader.receive_from(octets);
    while let Ok(Some(message)) = reader.next() {
        let results = [
            message.request().err(),
            message.reply().err(),
            message.locate_request().err(),
            message.locate_reply().err(),
            message.cancel_request().err(),
            message.request_id().err(),
            message.response_expected().err(),
        ];
        for error in results.into_iter().flatten() {
            assert_eq!(error.answer(), Answer::MessageError);
        }
    }
    assert!(reader.memory_octets() <= 64 << 10);
}

#[test]
fn a_connection_cancels_and_closes_in_its_protocol() {
    let native = ByteOrder::NATIVE;
    for (roles, octets, expected) in [
        (Roles::SERVER, request(LITE, native, 1, b""), Incoming::Request),
        (Roles::SERVER, cancel_request(LITE, native, 1).to_vec(), Incoming::CancelRequest),
        (Roles::CLIENT, close_connection(LITE, native).to_vec(), Incoming::CloseConnection),
    ] {
        let mut reader = lite(roles);
        reader.receive_from(&octets);
        let message = reader.next().unwrap().unwrap();
        assert_eq!(roles.incoming(&message), Ok(expected));
    }
}
