//! Peers that send what they must not: each fault is found, named, answered and bounded.
//! CORBA 3.3 P2 §9.4.8 (MessageError); `Bad input` of the first issue.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::budget::Account;
use corbie_cdr::{ByteOrder, Version};
use corbie_giop::{
    Answer, GiopError, GiopErrorKind, MessageHeader, MessageKind, MessageReader, ReaderLimits,
    Roles,
};
use corbie_types::{CompletionStatus, Minor, SystemExceptionKind, minor};
use samples::*;

fn header(version: Version, kind: MessageKind, more_fragments: bool, size: u32) -> [u8; 12] {
    MessageHeader { version, order: ByteOrder::BigEndian, more_fragments, kind, size }.encode()
}

/// A 1.2 Request or Fragment with this id and so many octets of data, more to follow.
fn piece(kind: MessageKind, id: u32, data: usize) -> Vec<u8> {
    let header = header(Version::V1_2, kind, true, 4 + u32::try_from(data).unwrap());
    [&header[..], &id.to_be_bytes(), &vec![0; data]].concat()
}

fn error_of(reader: &mut MessageReader, octets: &[u8]) -> GiopError {
    read_in_chunks(reader, octets, &[]).expect_err("the reader accepted it")
}

#[test]
fn garbage_is_refused_at_its_first_octet() {
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\x02\x00", b"giop", b"GIOQ", &[0]]
    {
        let mut reader = reader(Roles::SERVER);
        let mut sent = 0;
        let error = loop {
            reader.receive_from(&garbage[sent..=sent]);
            sent += 1;
            match reader.next() {
                Ok(message) => assert!(message.is_none()),
                Err(error) => break error,
            }
        };
        let same = garbage.iter().zip(b"GIOP").take_while(|(a, b)| a == b).count();
        assert_eq!(sent, same + 1, "{garbage:?}");
        assert_eq!((error.kind(), error.answer()), (GiopErrorKind::BadMagic, Answer::MessageError));
        assert_eq!(minor_of(&error), minor::COMM_FAILURE_PROTOCOL);
    }
}

#[test]
fn the_error_shows_what_was_seen() {
    let error = error_of(&mut reader(Roles::SERVER), b"GET / HTTP/1.1\r\n\r\n");
    assert!(error.to_string().contains("GET / HTTP/1"), "{error}");
    assert!(error.to_string().contains("magic at octet 0"), "{error}");
}

#[test]
fn other_versions_are_refused() {
    for (major, minor) in [(0, 9), (1, 3), (1, 255), (2, 0), (255, 255)] {
        let mut octets = header(Version::V1_2, MessageKind::Request, false, 0);
        octets[4] = major;
        octets[5] = minor;
        for octets in [&octets[..], &octets[..6]] {
            let error = error_of(&mut reader(Roles::SERVER), octets);
            assert_eq!(error.kind(), GiopErrorKind::UnsupportedVersion);
            assert!(error.to_string().contains(&format!("{major}.{minor}")), "{error}");
        }
    }
}

#[test]
fn unknown_types_are_refused() {
    for kind in 8..=255u8 {
        let mut octets = header(Version::V1_2, MessageKind::Request, false, 0);
        octets[7] = kind;
        let error = error_of(&mut reader(Roles::SERVER), &octets);
        assert_eq!(error.kind(), GiopErrorKind::UnknownMessageType);
        assert_eq!(error.offset(), 7);
    }
}

#[test]
fn huge_lengths_are_refused_by_the_header_alone() {
    for size in [u32::MAX, u32::MAX - 11, 0x8000_0000, (64 << 20) - 11] {
        let octets = header(Version::V1_2, MessageKind::Request, false, size);
        let mut reader = reader(Roles::SERVER);
        let error = error_of(&mut reader, &octets);
        assert_eq!(error.kind(), GiopErrorKind::MessageTooLarge);
        assert!(error.to_string().contains(&size.to_string()), "{error}");
        assert!(reader.memory_octets() <= 64 << 10);
        let exception = error.to_system_exception(CompletionStatus::No);
        assert_eq!(exception.kind, SystemExceptionKind::ImpLimit);
    }
    // The largest that is allowed is waited for.
    let octets = header(Version::V1_2, MessageKind::Request, false, (64 << 20) - 12);
    assert!(read_in_chunks(&mut reader(Roles::SERVER), &octets, &[]).unwrap().is_empty());
}

/// What may come before the reader is asked again is drawn already, but for the free shares: also of
/// the next message of the same size, which has a buffer beforehand.
#[test]
fn memory_for_large_messages_is_drawn_before_its_octets_come() {
    let octets = reply(Version::V1_2, ByteOrder::LittleEndian, 1, &vec![7; 2 << 20][100..]);
    let account = Account::new();
    let mut reader = reader(Roles::CLIENT);
    reader.set_account(&account);
    for round in 0..3 {
        let mut rest = &octets[..];
        while !rest.is_empty() {
            let undrawn = reader.space().len().min(rest.len());
            assert!(
                reader.memory_octets() <= account.held() + (256 << 10),
                "{round}: {} drawn for {}",
                account.held(),
                reader.memory_octets()
            );
            rest = &rest[reader.receive_from(&rest[..undrawn])..];
            let is_whole = reader.next().unwrap().is_some();
            assert_eq!(is_whole, rest.is_empty());
        }
        let message = reader.take_message().unwrap();
        assert!(
            account.held() >= octets.len() - (128 << 10),
            "{round}: it is drawn while it lasts"
        );
        drop(message);
        reader.release();
        assert_eq!((account.held(), reader.memory_octets()), (0, 0), "{round}");
    }
}

#[test]
fn a_whole_message_beyond_the_limit_is_refused_too() {
    let limits = ReaderLimits { message_octets: 100, ..ReaderLimits::DEFAULT };
    let octets = request(Version::V1_2, ByteOrder::BigEndian, 1, &[0; 100]);
    let mut reader = MessageReader::new(limits, Roles::SERVER);
    assert_eq!(error_of(&mut reader, &octets).kind(), GiopErrorKind::MessageTooLarge);
}

#[test]
fn the_limit_counts_the_fragments_together() {
    let limits = ReaderLimits { message_octets: 1000, ..ReaderLimits::DEFAULT };
    let mut reader = MessageReader::new(limits, Roles::SERVER);
    read_in_chunks(&mut reader, &piece(MessageKind::Request, 1, 500), &[]).unwrap();
    // The header and id of the fragment are enough to refuse it.
    let error = error_of(&mut reader, &piece(MessageKind::Fragment, 1, 500)[..16]);
    assert_eq!(error.kind(), GiopErrorKind::MessageTooLarge);
    assert_eq!(minor_of(&error), minor::IMP_LIMIT_MESSAGE_SIZE);
}

#[test]
fn a_million_fragments_end_at_the_limit() {
    let mut reader = reader(Roles::SERVER);
    read_in_chunks(&mut reader, &piece(MessageKind::Request, 1, 0), &[]).unwrap();
    let fragment = piece(MessageKind::Fragment, 1, 0);
    let mut accepted = 1;
    let error = loop {
        match read_in_chunks(&mut reader, &fragment, &[]) {
            Ok(messages) => assert!(messages.is_empty()),
            Err(error) => break error,
        }
        accepted += 1;
        assert!(accepted < 1_000_000);
    };
    assert_eq!(accepted, ReaderLimits::DEFAULT.fragments_per_message);
    assert_eq!(error.kind(), GiopErrorKind::TooManyFragments);
    assert_eq!(minor_of(&error), minor::IMP_LIMIT_FRAGMENTS);
    assert_eq!(error.answer(), Answer::MessageError);
    assert!(reader.memory_octets() <= 64 << 10, "{}", reader.memory_octets());
}

#[test]
fn a_million_beginnings_end_at_the_limit() {
    let mut reader = reader(Roles::SERVER);
    for id in 0..32 {
        read_in_chunks(&mut reader, &piece(MessageKind::Request, id, 100), &[]).unwrap();
    }
    let error = error_of(&mut reader, &piece(MessageKind::Request, 32, 100));
    assert_eq!(error.kind(), GiopErrorKind::TooManyFragmented);
    assert_eq!(error.kind().setting(), Some("reassembly_messages_max"));
}

#[test]
fn incomplete_messages_are_bounded_together() {
    let limits = ReaderLimits { reassembly_octets: 100_000, ..ReaderLimits::DEFAULT };
    let mut reader = MessageReader::new(limits, Roles::SERVER);
    let mut held = 0;
    let error = 'all: loop {
        for id in 0..8 {
            let kind = if held < 8 * 1000 { MessageKind::Request } else { MessageKind::Fragment };
            match read_in_chunks(&mut reader, &piece(kind, id, 1000), &[]) {
                Ok(_) => held += 1000,
                Err(error) => break 'all error,
            }
            assert!(held < 200_000);
        }
    };
    assert_eq!(error.kind(), GiopErrorKind::ReassemblyTooLarge);
    assert!(reader.memory_octets() < 3 * 100_000);
}

#[test]
fn fragments_of_nothing_are_refused() {
    // 1.2: an id that has not begun; only the header and the id have arrived.
    let error =
        error_of(&mut reader(Roles::SERVER), &piece(MessageKind::Fragment, 9, 1 << 20)[..16]);
    assert_eq!(error.kind(), GiopErrorKind::UnknownFragment);
    assert!(error.to_string().contains("request id 9"), "{error}");
    // 1.1: nothing in progress.
    let octets = header(Version::V1_1, MessageKind::Fragment, false, 10);
    let error = error_of(&mut reader(Roles::CLIENT), &octets);
    assert_eq!(error.kind(), GiopErrorKind::UnknownFragment);
    // 1.0 has no fragments.
    let octets = header(Version::V1_0, MessageKind::Fragment, false, 10);
    let error = error_of(&mut reader(Roles::CLIENT), &octets);
    assert_eq!(error.kind(), GiopErrorKind::BadFlags);
}

#[test]
fn a_fragment_without_room_for_its_id_is_refused() {
    for size in 0..4 {
        let octets = header(Version::V1_2, MessageKind::Fragment, false, size);
        // Octets of a next message lie behind it, one that has begun.
        for behind in [0, 20] {
            let octets = [&octets[..], &vec![0; size as usize + behind]].concat();
            let mut reader = reader(Roles::SERVER);
            read_in_chunks(&mut reader, &piece(MessageKind::Request, 0, 8), &[]).unwrap();
            let error = error_of(&mut reader, &octets);
            assert_eq!(error.kind(), GiopErrorKind::BadFragment);
        }
    }
}

#[test]
fn a_message_that_begins_twice_is_refused() {
    let mut reader = reader(Roles::SERVER);
    read_in_chunks(&mut reader, &piece(MessageKind::Request, 1, 8), &[]).unwrap();
    let error = error_of(&mut reader, &piece(MessageKind::Request, 1, 8));
    assert_eq!(error.kind(), GiopErrorKind::DuplicateFragmented);
}

#[test]
fn a_fragment_of_another_byte_order_or_version_is_refused() {
    let mut reader = reader(Roles::SERVER);
    read_in_chunks(&mut reader, &piece(MessageKind::Request, 0, 8), &[]).unwrap();
    let mut other = piece(MessageKind::Fragment, 0, 8);
    other[6] |= 1;
    other[8..12].copy_from_slice(&12u32.to_le_bytes());
    assert_eq!(error_of(&mut reader, &other).kind(), GiopErrorKind::BadFragment);
}

#[test]
fn types_that_cannot_be_fragmented_are_refused_as_fragments() {
    let kinds =
        [MessageKind::CancelRequest, MessageKind::CloseConnection, MessageKind::MessageError];
    for kind in kinds {
        let error = error_of(&mut reader(Roles::SERVER), &header(Version::V1_2, kind, true, 4));
        assert_eq!(error.kind(), GiopErrorKind::BadFlags);
    }
    for kind in [MessageKind::LocateRequest, MessageKind::LocateReply] {
        let error = error_of(&mut reader(Roles::SERVER), &header(Version::V1_1, kind, true, 4));
        assert_eq!(error.kind(), GiopErrorKind::BadFlags);
    }
}

#[test]
fn counts_beyond_the_message_are_refused() {
    // A 1.0 Request that claims four thousand million service contexts.
    let order = ByteOrder::BigEndian;
    let mut octets = request(Version::V1_0, order, 1, b"body");
    octets[12..16].copy_from_slice(&u32::MAX.to_be_bytes());
    check_malformed(&octets, "service_context");
    // A context whose length goes beyond the message.
    let mut octets = request(Version::V1_0, order, 1, b"body");
    octets[20..24].copy_from_slice(&0x7fff_ffffu32.to_be_bytes());
    check_malformed(&octets, "service_context");
    // An object key that does.
    let mut octets = request(Version::V1_2, order, 1, b"body");
    octets[24..28].copy_from_slice(&0x0100_0000u32.to_be_bytes());
    check_malformed(&octets, "object_key");
}

fn check_malformed(octets: &[u8], what: &str) {
    let mut reader = reader(Roles::SERVER);
    reader.receive_from(octets);
    let error = reader.next().unwrap().unwrap().request().unwrap_err();
    assert_eq!((error.kind(), error.what()), (GiopErrorKind::Malformed, what), "{error}");
    assert_eq!(minor_of(&error), minor::MARSHAL_HEADER);
    assert_eq!(error.answer(), Answer::MessageError);
    let exception = error.to_system_exception(CompletionStatus::No);
    assert_eq!(exception.kind, SystemExceptionKind::Marshal);
    assert!(exception.to_string().contains(what), "{exception}");
}

#[test]
fn operations_without_a_terminator_are_refused() {
    let mut octets = request(Version::V1_2, ByteOrder::BigEndian, 1, b"");
    let end = octets.windows(10).position(|window| window == b"get_quote\0").unwrap() + 9;
    for octet in [b'x', 0xff] {
        octets[end] = octet;
        let mut reader = reader(Roles::SERVER);
        reader.receive_from(&octets);
        let error = reader.next().unwrap().unwrap().request().unwrap_err();
        assert_eq!((error.kind(), error.what()), (GiopErrorKind::BadValue, "operation"));
    }
}

#[test]
fn every_truncation_of_every_message_is_an_error_or_a_shorter_body() {
    for (version, order) in all_dialects() {
        let octets = request(version, order, 1, b"arguments");
        let (header, size_place) = if version.is_lite() { (5, 0) } else { (12, 8) };
        for len in header..octets.len() {
            let mut cut = octets[..len].to_vec();
            let size = u32::try_from(len - header).unwrap();
            cut[size_place..size_place + 4].copy_from_slice(&match order {
                ByteOrder::BigEndian => size.to_be_bytes(),
                ByteOrder::LittleEndian => size.to_le_bytes(),
            });
            let mut reader = reader_of(Roles::SERVER, version, order);
            reader.receive_from(&cut);
            let message = reader.next().unwrap().unwrap();
            match message.request() {
                Ok((_, body)) => assert!(body.remaining() < b"arguments".len()),
                Err(error) => assert_eq!(error.kind(), GiopErrorKind::Malformed),
            }
        }
    }
}

#[test]
fn every_kind_of_error_says_who_is_at_fault() {
    for &kind in GiopErrorKind::ALL {
        let error = GiopError::new(kind, 3, "a field", "a finding");
        let text = error.to_string();
        assert_eq!(text, format!("{}: a field at octet 3 is a finding", kind.text()));
        let exception = error.to_system_exception(CompletionStatus::Maybe);
        assert_eq!(exception.completed, CompletionStatus::Maybe);
        let about_limits = text.contains("limit");
        assert_eq!(exception.kind == SystemExceptionKind::ImpLimit, about_limits, "{text}");
        if error.answer() == Answer::Nothing {
            let kind = exception.kind;
            let transport = [SystemExceptionKind::CommFailure, SystemExceptionKind::Transient];
            assert!(transport.contains(&kind), "{text}");
        }
    }
    assert_eq!(size_of::<GiopError>(), size_of::<usize>());
    let over = GiopError::new(GiopErrorKind::OverBudget, 0, "message", "too much");
    assert_eq!(minor_of(&over), minor::IMP_LIMIT_MEMORY);
}

fn minor_of(error: &GiopError) -> Minor {
    error.to_system_exception(CompletionStatus::Maybe).minor
}
