//! Octets derived by hand from the specification, and streams captured from other ORBs: see
//! `golden/README.md`. Both have to be read, and written again exactly where they are determined.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder, Version};
use corbie_giop::{
    AddressingDisposition, Fragments, LocateReplyHeader, LocateRequestHeader, LocateStatus,
    Message, MessageHeader, MessageKind, MessageReader, ReaderLimits, ReplyHeader, ReplyStatus,
    RequestHeader, ResponseFlags, Roles, ServiceContext, ServiceContexts, Tagged, TaggedList,
    Target, cancel_request, close_connection, finish_message, message_error, write_locate_reply,
    write_locate_request, write_reply, write_request,
};
use corbie_types::{CompletionStatus, SystemException, SystemExceptionKind};
use samples::*;

const BE: ByteOrder = ByteOrder::BigEndian;
const LE: ByteOrder = ByteOrder::LittleEndian;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The octets of a `.hex` file.
fn golden(name: &str) -> Vec<u8> {
    let text = fs::read_to_string(folder().join(name).with_extension("hex")).unwrap();
    let octets = text.lines().flat_map(|line| {
        line.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned)
    });
    octets.map(|octet| u8::from_str_radix(&octet, 16).expect("two hexadecimal digits")).collect()
}

fn message(octets: &[u8]) -> Message<'_> {
    let header = MessageHeader::decode(octets.first_chunk().unwrap()).unwrap();
    assert_eq!(header.total(), octets.len(), "message_size");
    Message { header, octets }
}

/// Checks that a request decodes to this header and body, and is written back the same.
fn check_request(name: &str, expected: RequestHeader<'_>, body: &[u8]) {
    let octets = golden(name);
    let message = message(&octets);
    let (header, rest) = message.request().unwrap();
    assert_eq!(header, expected, "{name}");
    assert_eq!(rest.rest(), body, "{name}");
    assert_eq!(rewrite_request(&message), octets, "{name}");
}

fn rewrite_request(message: &Message<'_>) -> Vec<u8> {
    let (header, body) = message.request().unwrap();
    let mut e = encoder(message.header.version, message.header.order);
    let start = write_request(&mut e, &header).unwrap();
    e.write_octets(body.rest());
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

fn check_reply<'a>(name: &str, octets: &'a [u8], expected: ReplyHeader<'_>) -> Decoder<'a> {
    let message = message(octets);
    let (header, body) = message.reply().unwrap();
    assert_eq!(header, expected, "{name}");
    assert_eq!(rewrite_reply(&message), octets, "{name}");
    body
}

fn rewrite_reply(message: &Message<'_>) -> Vec<u8> {
    let (header, body) = message.reply().unwrap();
    let mut e = encoder(message.header.version, message.header.order);
    let start = write_reply(&mut e, &header).unwrap();
    e.write_octets(body.rest());
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

#[test]
fn request_1_0() {
    let context = [0, 0, 0, 0, 5, 1, 0, 1, 0, 1, 1, 9];
    let contexts = [ServiceContext { tag: 1, data: &context }];
    let header = RequestHeader {
        request_id: 5,
        response: ResponseFlags::WithTarget,
        target: Target::Key(b"key"),
        operation: "ping",
        service_contexts: ServiceContexts::new(&contexts),
    };
    check_request("request_1_0_be", header, b"");
    let code_sets = header.service_contexts.code_sets().unwrap();
    let expected = CodeSets { char_data: CodeSet(0x0501_0001), wchar_data: CodeSet(0x0001_0109) };
    assert_eq!(code_sets, Some(expected));
}

#[test]
fn request_1_1_with_a_principal_that_is_not_kept() {
    let octets = golden("request_1_1_le");
    let (header, mut body) = message(&octets).request().unwrap();
    let expected = RequestHeader {
        request_id: 255,
        response: ResponseFlags::None,
        target: Target::Key(&[0xaa, 0xbb]),
        operation: "_get_size",
        service_contexts: ServiceContexts::EMPTY,
    };
    assert_eq!(header, expected);
    assert_eq!(body.read_short().unwrap(), 0x1234);
    // Written again, the deprecated principal is empty.
    let mut without = octets.clone();
    without.drain(52..56);
    without[8] -= 4;
    without[48] = 0;
    assert_eq!(rewrite_request(&message(&octets)), without);
}

#[test]
fn request_1_2_by_key() {
    let header = RequestHeader {
        request_id: 0x0102_0304,
        response: ResponseFlags::WithTarget,
        target: Target::Key(&[0x2a]),
        operation: "x",
        service_contexts: ServiceContexts::EMPTY,
    };
    check_request("request_1_2_be", header, &[0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 1]);
}

#[test]
fn request_1_2_by_profile() {
    let contexts = [ServiceContext { tag: 0x1a2b_3c4d, data: &[0x63] }];
    let header = RequestHeader {
        request_id: 7,
        response: ResponseFlags::WithServer,
        target: Target::Profile(Tagged { tag: 0, data: &[1, 1, 2, 0, 0] }),
        operation: "kick",
        service_contexts: ServiceContexts::new(&contexts),
    };
    check_request("request_1_2_le_profile", header, b"");
}

#[test]
fn request_1_2_by_reference() {
    let profiles = [Tagged { tag: 1, data: &[0; 4] }, Tagged { tag: 0, data: &[0, 1, 2] }];
    let target = Target::Reference {
        selected_profile: 1,
        type_id: b"IDL:A:1",
        profiles: TaggedList::new(&profiles),
    };
    let header = RequestHeader {
        request_id: 9,
        response: ResponseFlags::WithTarget,
        target,
        operation: "foo",
        service_contexts: ServiceContexts::EMPTY,
    };
    check_request("request_1_2_be_reference", header, &[0xff, 0, 0, 0, 0, 0, 0, 0x2a]);
    assert_eq!(target.profile(), Some(profiles[1]));
    assert_eq!(target.disposition(), AddressingDisposition::Reference);
}

#[test]
fn replies() {
    let name = "reply_1_0_le_user_exception";
    let octets = golden(name);
    let status = ReplyStatus::UserException;
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id: 42, status, service_contexts };
    let mut body = check_reply(name, &octets, header);
    assert_eq!(body.read_string().unwrap(), "IDL:E:1");
    assert_eq!(body.remaining(), 0);

    let name = "reply_1_2_be_system_exception";
    let octets = golden(name);
    let status = ReplyStatus::SystemException;
    let header = ReplyHeader { request_id: 5, status, service_contexts };
    let mut body = check_reply(name, &octets, header);
    let exception = SystemException::decode_reply(&mut body).unwrap();
    assert_eq!(exception.kind, SystemExceptionKind::Unknown);
    assert_eq!(exception.minor, 0x4f4d_0001);
    assert_eq!(exception.completed, CompletionStatus::Maybe);

    let name = "reply_1_2_le_needs_addressing_mode";
    let octets = golden(name);
    let status = ReplyStatus::NeedsAddressingMode;
    let contexts = [ServiceContext { tag: 14, data: &[1, 2, 3] }];
    let service_contexts = ServiceContexts::new(&contexts);
    let header = ReplyHeader { request_id: 1, status, service_contexts };
    let mut body = check_reply(name, &octets, header);
    let disposition = AddressingDisposition::decode(&mut body).unwrap();
    assert_eq!(disposition, AddressingDisposition::Reference);

    let name = "reply_1_2_be_empty";
    let octets = golden(name);
    let status = ReplyStatus::NoException;
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id: 100, status, service_contexts };
    assert_eq!(check_reply(name, &octets, header).remaining(), 0);
}

#[test]
fn locate_messages() {
    for name in ["locate_request_1_1_be", "locate_request_1_2_le"] {
        let octets = golden(name);
        let message = message(&octets);
        let header = message.locate_request().unwrap();
        assert_eq!(header, LocateRequestHeader { request_id: 3, target: Target::Key(b"key") });
        let mut e = encoder(message.header.version, message.header.order);
        let start = write_locate_request(&mut e, &header).unwrap();
        finish_message(&mut e, start).unwrap();
        assert_eq!(e.to_vec(), octets, "{name}");
    }
    let cases = [
        ("locate_reply_1_2_be_needs_addressing_mode", LocateStatus::NeedsAddressingMode),
        ("locate_reply_1_0_le_here", LocateStatus::ObjectHere),
    ];
    for (name, status) in cases {
        let octets = golden(name);
        let message = message(&octets);
        let (header, mut body) = message.locate_reply().unwrap();
        assert_eq!(header, LocateReplyHeader { request_id: 3, status });
        let mut e = encoder(message.header.version, message.header.order);
        let start = write_locate_reply(&mut e, &header).unwrap();
        if status == LocateStatus::NeedsAddressingMode {
            let disposition = AddressingDisposition::decode(&mut body).unwrap();
            assert_eq!(disposition, AddressingDisposition::Profile);
            disposition.encode(&mut e);
        }
        finish_message(&mut e, start).unwrap();
        assert_eq!(e.to_vec(), octets, "{name}");
    }
}

#[test]
fn messages_without_a_body() {
    let cancel = cancel_request(Version::V1_2, LE, 0x1234_5678);
    assert_eq!(cancel[..], golden("cancel_request_1_2_le"));
    let octets = golden("cancel_request_1_2_le");
    assert_eq!(message(&octets).cancel_request().unwrap().request_id, 0x1234_5678);
    let close = golden("close_connection_1_0_be");
    assert_eq!(close_connection(Version::V1_0, BE)[..], close);
    assert_eq!(message(&close).kind(), MessageKind::CloseConnection);
    let error = golden("message_error_1_1_le");
    assert_eq!(message_error(Version::V1_1, LE)[..], error);
    assert_eq!(message(&error).kind(), MessageKind::MessageError);
}

#[test]
fn fragments() {
    let cases: [(&str, u32, &[u8]); 2] = [
        ("fragments_1_2_be", 11, b"abcdefghijklmnopq"),
        ("fragments_1_1_le", 12, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ];
    for (name, id, expected) in cases {
        let octets = golden(name);
        let first = MessageHeader::decode(octets.first_chunk().unwrap()).unwrap();
        let mut reader = reader(Roles::CLIENT);
        reader.receive_from(&octets);
        let message = reader.next().unwrap().expect("whole");
        let (header, body) = message.reply().unwrap();
        assert_eq!((header.request_id, body.rest()), (id, expected), "{name}");
        // Cut again, it is the same: 32 octets are the smallest fragments there are.
        let mut e = encoder(first.version, first.order);
        let start = write_reply(&mut e, &header).unwrap();
        e.write_octets(body.rest());
        finish_message(&mut e, start).unwrap();
        if name == "fragments_1_1_le" {
            let cut: Vec<u8> = Fragments::of(&e, 32)
                .unwrap()
                .flat_map(|f| {
                    [f.head(), &f.pieces(e.segments()).collect::<Vec<_>>().concat()].concat()
                })
                .collect();
            assert_eq!(cut, octets, "{name}");
        }
        assert!(reader.next().unwrap().is_none());
    }
}

#[test]
fn every_hex_file_is_used() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.rs"));
    let source = source.unwrap();
    for path in files("hex") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(source.contains(&format!("\"{name}\"")), "{name}.hex is not tested");
    }
}

fn files(extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

/// The `key = value` lines of a sidecar; values are strings or booleans.
fn sidecar(path: &Path) -> BTreeMap<String, String> {
    let path = path.with_extension("toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_owned(), value_of(value))).collect()
}

fn value_of(value: &str) -> String {
    let value = value.trim();
    match value.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
        Some(text) => text.to_owned(),
        None => value.split('#').next().unwrap_or_default().trim().to_owned(),
    }
}

/// A capture as this crate has to see it.
struct Capture {
    name: String,
    octets: Vec<u8>,
    reader_role: Roles,
    version: String,
    complete: bool,
}

fn captures() -> Vec<Capture> {
    let capture = |path: PathBuf| {
        let about = sidecar(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for key in ["peer", "version", "direction", "how"] {
            assert!(about.get(key).is_some_and(|v| !v.is_empty()), "{name}: no {key}");
        }
        let reader_role = match about["direction"].as_str() {
            "client" => Roles::SERVER,
            "server" => Roles::CLIENT,
            other => panic!("{name}: direction {other:?} is neither client nor server"),
        };
        let octets = fs::read(&path).unwrap();
        let complete = about.get("complete").is_none_or(|value| value != "false");
        Capture { name, octets, reader_role, version: about["version"].clone(), complete }
    };
    files("bin").into_iter().map(capture).collect()
}

#[test]
fn captured_streams_are_read_in_any_chunks() {
    for capture in captures() {
        let read = |chunks: &[usize]| {
            let mut reader = MessageReader::new(ReaderLimits::default(), capture.reader_role);
            let messages = read_in_chunks(&mut reader, &capture.octets, chunks)
                .unwrap_or_else(|e| panic!("{}: {e}", capture.name));
            if capture.complete {
                assert!(!reader.is_mid_message(), "{} ends within a message", capture.name);
            }
            messages
        };
        let whole = read(&[]);
        assert!(!whole.is_empty(), "{}", capture.name);
        for chunks in [&[1][..], &[7], &[11, 13, 4096], &[4096]] {
            assert!(read(chunks) == whole, "{} in chunks of {chunks:?}", capture.name);
        }
    }
}

#[test]
fn captured_headers_are_written_as_the_peer_wrote_them() {
    for Capture { name, octets, reader_role, version, .. } in captures() {
        let mut reader = MessageReader::new(ReaderLimits::default(), reader_role);
        for octets in read_in_chunks(&mut reader, &octets, &[]).unwrap() {
            let message = message(&octets);
            assert_eq!(message.header.version.to_string(), version, "{name}");
            check_rewritten(&name, &message);
        }
    }
}

/// Decodes the header; encodes it again and compares, apart from what peers may fill as they like.
fn check_rewritten(name: &str, message: &Message<'_>) {
    let octets = message.octets;
    match message.kind() {
        MessageKind::Request => {
            let (header, body) = message.request().unwrap();
            assert!(!header.operation.is_empty(), "{name}");
            header.service_contexts.code_sets().unwrap();
            let mut e = encoder(message.header.version, message.header.order);
            let start = write_request(&mut e, &header).unwrap();
            e.write_octets(body.rest());
            finish_message(&mut e, start).unwrap();
            let again = e.to_vec();
            let (again_header, again_body) = self::message(&again).request().unwrap();
            assert_eq!(again_header, header, "{name}");
            assert_eq!(again_body.rest(), body.rest(), "{name}");
            if message.header.version >= Version::V1_2 {
                assert_same_but_padding(name, &again, octets);
            }
        }
        MessageKind::Reply => {
            message.reply().unwrap();
            assert_same_but_padding(name, &rewrite_reply(message), octets);
        }
        MessageKind::LocateRequest => {
            let header = message.locate_request().unwrap();
            let mut e = encoder(message.header.version, message.header.order);
            let start = write_locate_request(&mut e, &header).unwrap();
            finish_message(&mut e, start).unwrap();
            assert_same_but_padding(name, &e.to_vec(), octets);
        }
        MessageKind::LocateReply => {
            let (header, body) = message.locate_reply().unwrap();
            let mut e = encoder(message.header.version, message.header.order);
            let start = write_locate_reply(&mut e, &header).unwrap();
            e.write_octets(body.rest());
            finish_message(&mut e, start).unwrap();
            assert_same_but_padding(name, &e.to_vec(), octets);
        }
        MessageKind::CancelRequest => {
            let id = message.cancel_request().unwrap().request_id;
            let again = cancel_request(message.header.version, message.header.order, id);
            assert_eq!(again[..], *octets, "{name}");
        }
        MessageKind::CloseConnection | MessageKind::MessageError => assert_eq!(octets.len(), 12),
        MessageKind::Fragment => panic!("{name}: fragments are put together by the reader"),
    }
}

/// We pad with zeros; others leave what was in their buffers, or pad a header without a body.
fn assert_same_but_padding(name: &str, ours: &[u8], theirs: &[u8]) {
    assert!(theirs.len() >= ours.len() && theirs.len() - ours.len() < 8, "{name}: lengths");
    for (offset, (ours, theirs)) in ours.iter().zip(theirs).enumerate().skip(12) {
        assert!(ours == theirs || *ours == 0, "{name}: octet {offset} is {theirs}, ours {ours}");
    }
}
