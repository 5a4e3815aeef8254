//! The reader: chunks of every size, several messages at once, memory, roles, ends.
//! CORBA 3.3 P2 §9.4.1, §9.5.1.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, Version};
use corbie_giop::{Answer, GiopErrorKind, MessageKind, MessageReader, ReaderLimits, Roles};
use proptest::prelude::*;
use samples::*;

/// Sample messages for a role in one stream, and what reads them.
struct Sample {
    stream: Vec<u8>,
    messages: Vec<Vec<u8>>,
    reader: MessageReader,
}

impl Sample {
    fn of(role: Roles, dialects: impl Iterator<Item = (Version, ByteOrder)>) -> Self {
        let dialects: Vec<_> = dialects.collect();
        let (version, order) = dialects[0];
        let of_dialect = |(version, order)| messages_to(role, version, order);
        let messages: Vec<Vec<u8>> =
            dialects.into_iter().flat_map(of_dialect).map(|(_, octets)| octets).collect();
        let reader = reader_of(role, version, order);
        Sample { stream: messages.concat(), messages, reader }
    }

    /// All versions and byte orders of GIOP in one stream; GIOPlite in one of each byte order.
    fn all(role: Roles) -> Vec<Self> {
        let lite = ORDERS.map(|order| Self::of(role, [(LITE, order)].into_iter()));
        std::iter::once(Self::of(role, dialects())).chain(lite).collect()
    }

    fn check(mut self, chunks: &[usize]) {
        assert_eq!(read_in_chunks(&mut self.reader, &self.stream, chunks).unwrap(), self.messages);
    }
}

#[test]
fn one_octet_at_a_time() {
    for role in [Roles::CLIENT, Roles::SERVER] {
        Sample::all(role).into_iter().for_each(|sample| sample.check(&[1]));
    }
}

#[test]
fn all_in_one_receive() {
    for role in [Roles::CLIENT, Roles::SERVER] {
        Sample::all(role).into_iter().for_each(|sample| sample.check(&[]));
    }
}

proptest! {
    #[test]
    fn random_chunks(chunks in prop::collection::vec(1..200usize, 1..30), client in any::<bool>()) {
        let role = if client { Roles::CLIENT } else { Roles::SERVER };
        Sample::all(role).into_iter().for_each(|sample| sample.check(&chunks));
    }

    /// Messages of all sizes, so that the buffer grows, moves and shrinks in every order.
    #[test]
    fn random_sizes_and_chunks(
        sizes in prop::collection::vec(prop_oneof![0..50usize, 0..200_000usize], 1..12),
        chunks in prop::collection::vec(1..150_000usize, 1..10),
    ) {
        let mut reader = MessageReader::new(ReaderLimits::DEFAULT, Roles::CLIENT);
        let messages: Vec<Vec<u8>> = sizes
            .iter()
            .zip(1..)
            .map(|(size, id)| {
                let body: Vec<u8> = (0..*size).map(|i| (i % 251) as u8).collect();
                reply(Version::V1_2, ByteOrder::BigEndian, id, &body)
            })
            .collect();
        let read = read_in_chunks(&mut reader, &messages.concat(), &chunks).unwrap();
        prop_assert!(read == messages, "{} of {} messages", read.len(), messages.len());
        prop_assert!(!reader.is_mid_message());
        reader.space();
        prop_assert!(reader.memory_octets() <= 256 << 10);
        reader.release();
        prop_assert_eq!(reader.memory_octets(), 0);
    }
}

#[test]
fn wanted_and_mid_message_follow_the_octets() {
    let octets = reply(Version::V1_2, ByteOrder::LittleEndian, 1, &[7; 1000]);
    let mut reader = reader(Roles::CLIENT);
    assert_eq!((reader.wanted(), reader.is_mid_message()), (0, false));
    for (received, octet) in octets.iter().enumerate() {
        assert_eq!(reader.receive_from(&[*octet]), 1);
        let whole = reader.next().unwrap().is_some();
        let received = received + 1;
        assert_eq!(whole, received == octets.len());
        let expected = match received {
            1..12 => 12 - received,
            _ => octets.len() - received,
        };
        assert_eq!(reader.wanted(), expected);
        assert_eq!(reader.is_mid_message(), !whole);
    }
}

#[test]
fn the_rest_of_a_large_body_fits_into_one_receive_when_the_pool_has_the_memory() {
    let octets = reply(Version::V1_2, ByteOrder::LittleEndian, 1, &vec![7; 3 << 20]);
    let mut reader = reader(Roles::CLIENT);
    for round in 0..3 {
        assert_eq!(reader.receive_from(&octets[..12]), 12);
        assert!(reader.next().unwrap().is_none());
        let space = reader.space().len();
        assert!(round == 0 || space == octets.len() - 12, "{space} octets of space");
        let mut rest = &octets[12..];
        while !rest.is_empty() {
            rest = &rest[reader.receive_from(rest)..];
            assert_eq!(reader.wanted(), rest.len());
        }
        assert_eq!(reader.next().unwrap().unwrap().octets, octets);
        assert!(!reader.is_mid_message());
        reader.release();
        assert_eq!(reader.memory_octets(), 0, "what is between messages holds nothing");
    }
}

#[test]
fn the_buffer_never_grows_by_a_claim() {
    // A header that claims 60 MiB, then one octet after the other.
    let mut reader = reader(Roles::SERVER);
    let claim = 60u32 << 20;
    let mut header = *b"GIOP\x01\x02\x00\x00\0\0\0\0";
    header[8..].copy_from_slice(&claim.to_be_bytes());
    let mut received = reader.receive_from(&header);
    while received < 1 << 20 {
        assert!(reader.next().unwrap().is_none());
        let space = reader.space().len();
        assert!(space > 0);
        assert!(
            reader.memory_octets() <= (128 << 10).max(16 * received),
            "{} octets of memory for {received} received",
            reader.memory_octets()
        );
        let now = space.min(997);
        reader.received(now);
        received += now;
    }
}

#[test]
fn current_is_the_message_until_something_else_is_asked_for() {
    let octets = reply(Version::V1_2, ByteOrder::LittleEndian, 1, b"body");
    let mut reader = reader(Roles::CLIENT);
    assert!(reader.current().is_none());
    reader.receive_from(&octets);
    assert!(reader.current().is_none());
    assert_eq!(reader.next().unwrap().unwrap().octets, octets);
    assert_eq!(reader.current().unwrap().octets, octets);
    assert!(reader.next().unwrap().is_none());
    assert!(reader.current().is_none());
}

#[test]
fn taken_messages_own_their_octets_and_buffers_go_round() {
    let first = reply(Version::V1_2, ByteOrder::LittleEndian, 1, b"first");
    let second = reply(Version::V1_1, ByteOrder::BigEndian, 2, &[5; 3000]);
    let mut reader = reader(Roles::CLIENT);
    for behind in [0, 1, 11, 12, 20, second.len() - 1, second.len()] {
        reader.receive_from(&[&first[..], &second[..behind]].concat());
        assert!(reader.next().unwrap().is_some());
        let taken = reader.take_message().unwrap();
        assert_eq!(taken.as_message().octets, first, "{behind} octets behind");
        assert!(reader.take_message().is_none());

        reader.receive_from(&second[behind..]);
        assert!(reader.next().unwrap().is_some(), "{behind} octets behind");
        let taken = reader.take_message().unwrap();
        assert_eq!(taken.header().version, Version::V1_1);
        assert_eq!(taken.as_message().octets, second, "{behind} octets behind");
        assert!(reader.next().unwrap().is_none());
    }
}

#[test]
fn roles_refuse_what_they_must_not_get() {
    for (version, order) in all_dialects() {
        for (role, other) in [(Roles::CLIENT, Roles::SERVER), (Roles::SERVER, Roles::CLIENT)] {
            for (kind, octets) in messages_to(other, version, order) {
                // By its header alone, and when all of it is there.
                for received in [&octets[..12.min(octets.len())], &octets] {
                    let mut reader = reader_of(role, version, order);
                    reader.receive_from(received);
                    let error = reader.next().unwrap_err();
                    assert_eq!(error.kind(), GiopErrorKind::WrongRole, "{kind:?} to {role:?}");
                    assert_eq!(error.answer(), Answer::MessageError);
                    assert!(reader.has_ended());
                }
            }
        }
    }
}

#[test]
fn nothing_is_read_after_the_last_message() {
    for (version, order) in all_dialects() {
        for role in [Roles::CLIENT, Roles::SERVER] {
            for (kind, last) in last_messages(version, order) {
                let mut reader = reader_of(role, version, order);
                let (_, other) = &messages_to(role, version, order)[0];
                reader.receive_from(&[&last[..], &other[..]].concat());
                assert_eq!(reader.next().unwrap().unwrap().kind(), kind);
                assert!(reader.next().unwrap().is_none());
                assert!(reader.has_ended());
                for _ in 0..1000 {
                    assert!(reader.receive_from(other) > 0);
                    assert!(reader.next().unwrap().is_none());
                }
                assert!(!reader.is_mid_message());
                assert!(reader.memory_octets() <= 64 << 10);
            }
        }
    }
}

#[test]
fn the_end_of_the_stream_within_a_message_is_an_error() {
    let octets = reply(Version::V1_2, ByteOrder::LittleEndian, 1, b"body");
    for received in 0..=octets.len() {
        let mut reader = reader(Roles::CLIENT);
        read_in_chunks(&mut reader, &octets[..received], &[]).unwrap();
        match reader.check_end_of_stream() {
            Ok(()) => assert!(received == 0 || received == octets.len()),
            Err(error) => {
                assert_eq!(error.kind(), GiopErrorKind::Truncated);
                assert_eq!(error.answer(), Answer::Nothing);
                assert!(0 < received && received < octets.len());
            }
        }
    }
}

#[test]
fn message_kinds_of_a_mixed_stream() {
    let mut reader = reader(Roles::SERVER);
    let mut kinds = Vec::new();
    for (version, order) in dialects() {
        for (_, octets) in messages_to(Roles::SERVER, version, order) {
            reader.receive_from(&octets);
            while let Some(message) = reader.next().unwrap() {
                kinds.push((message.header.version, message.header.order, message.kind()));
            }
        }
    }
    assert_eq!(kinds.len(), 6 * 4);
    assert!(kinds.contains(&(Version::V1_0, ByteOrder::BigEndian, MessageKind::CancelRequest)));
}
