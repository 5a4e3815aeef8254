//! Fragments: cut at every size, put together again, interleaved; nothing is copied when cutting.
//! CORBA 3.3 P2 §9.4.9.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    Fragments, MessageHeader, MessageKind, MessageReader, ReaderLimits, ReplyHeader, ReplyStatus,
    Roles, ServiceContexts, finish_message, write_reply,
};
use proptest::prelude::*;
use samples::*;

/// A reply with a large octet sequence, which the encoder borrows, between two small values.
fn gathered<'a>(version: Version, order: ByteOrder, id: u32, large: &'a [u8]) -> Encoder<'a> {
    let mut e = encoder(version, order);
    let header = ReplyHeader {
        request_id: id,
        status: ReplyStatus::NoException,
        service_contexts: ServiceContexts::EMPTY,
    };
    let start = write_reply(&mut e, &header).unwrap();
    e.write_ulonglong(0x0102_0304_0506_0708);
    e.write_octet_sequence(large).unwrap();
    e.write_double(1.5);
    finish_message(&mut e, start).unwrap();
    e
}

/// The fragments as they go over the wire.
fn fragments(e: &Encoder<'_>, max_octets: usize) -> Option<Vec<Vec<u8>>> {
    let wire = |fragment: corbie_giop::Fragment| {
        let pieces: Vec<&[u8]> = fragment.pieces(e.segments()).collect();
        assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), fragment.range().len());
        [fragment.head(), &pieces.concat()].concat()
    };
    Some(Fragments::of(e, max_octets)?.map(wire).collect())
}

fn check_fragments(fragments: &[Vec<u8>], version: Version, max_octets: usize) {
    for (index, fragment) in fragments.iter().enumerate() {
        let header = MessageHeader::decode(fragment.first_chunk().unwrap()).unwrap();
        let last = index + 1 == fragments.len();
        assert_eq!(header.total(), fragment.len());
        assert_eq!(header.more_fragments, !last);
        assert_eq!(header.kind == MessageKind::Fragment, index > 0);
        assert!(fragment.len() <= max_octets.max(Fragments::MIN_OCTETS));
        if version >= Version::V1_2 && !last {
            assert_eq!(fragment.len() % 8, 0, "CORBA 3.3 P2 §9.4.9");
        }
    }
}

proptest! {
    #[test]
    fn come_back_whatever_the_size(
        (version, order) in any_dialect(),
        large in prop::collection::vec(any::<u8>(), 0..9000),
        max_octets in 0..5000usize,
        chunks in prop::collection::vec(1..3000usize, 1..8),
    ) {
        let e = gathered(version, order, 77, &large);
        let whole = e.to_vec();
        let Some(fragments) = fragments(&e, max_octets) else {
            prop_assert!(version == Version::V1_0 || version.is_lite() || whole.len() <= max_octets.max(39));
            return Ok(());
        };
        prop_assert!(version != Version::V1_0 && fragments.len() > 1);
        check_fragments(&fragments, version, max_octets);
        let mut reader = reader(Roles::CLIENT);
        let read = read_in_chunks(&mut reader, &fragments.concat(), &chunks).unwrap();
        prop_assert!(read == [whole], "{} messages", read.len());
        prop_assert!(!reader.is_mid_message());
    }

    #[test]
    fn messages_of_1_2_interleave(
        count in 1..8u32,
        order in any::<prop::sample::Index>(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 400),
        max_octets in 32..400usize,
    ) {
        let order = ORDERS[order.index(2)];
        let bodies: Vec<Vec<u8>> =
            (1..=count).map(|id| vec![id as u8; 200 * id as usize]).collect();
        let mut expected = Vec::new();
        let mut waiting = Vec::new();
        for (id, body) in (1..).zip(&bodies) {
            let e = gathered(Version::V1_2, order, id, body);
            expected.push(e.to_vec());
            let mut fragments = fragments(&e, max_octets).unwrap_or_else(|| vec![e.to_vec()]);
            fragments.reverse();
            waiting.push(fragments);
        }
        let mut stream = Vec::new();
        let mut picks = picks.into_iter().cycle();
        while !waiting.is_empty() {
            let index = picks.next().unwrap().index(waiting.len());
            stream.extend(waiting[index].pop().unwrap());
            if waiting[index].is_empty() {
                waiting.swap_remove(index);
            }
        }
        let mut read = read_in_chunks(&mut reader(Roles::CLIENT), &stream, &[999]).unwrap();
        read.sort();
        expected.sort();
        prop_assert!(read == expected);
    }
}

#[test]
fn a_whole_message_may_come_between_fragments() {
    let body = vec![1; 500];
    for version in [Version::V1_1, Version::V1_2] {
        let e = gathered(version, ByteOrder::LittleEndian, 1, &body);
        let between = reply(version, ByteOrder::LittleEndian, 2, b"small");
        let mut stream = fragments(&e, 128).unwrap();
        stream.insert(2, between.clone());
        let read = read_in_chunks(&mut reader(Roles::CLIENT), &stream.concat(), &[]).unwrap();
        assert_eq!(read, [between, e.to_vec()]);
    }
}

#[test]
fn cuts_never_split_an_aligned_value_of_eight_octets() {
    let body = vec![1; 5000];
    for version in [Version::V1_1, Version::V1_2] {
        let e = gathered(version, ByteOrder::LittleEndian, 1, &body);
        for max_octets in [32, 40, 100, 1024] {
            for fragment in Fragments::of(&e, max_octets).unwrap() {
                let end = fragment.range().end;
                assert!(end % 8 == 0 || end == e.len(), "{version}: a cut at {end}");
            }
        }
    }
}

#[test]
fn completed_and_cancelled_messages_do_not_count_as_held() {
    let limits = ReaderLimits { reassembly_octets: 4000, ..ReaderLimits::DEFAULT };
    let body = vec![1; 1000];
    let mut client = MessageReader::new(limits.clone(), Roles::CLIENT);
    let mut server = MessageReader::new(limits, Roles::SERVER);
    for id in 0..50 {
        let e = gathered(Version::V1_2, ByteOrder::BigEndian, id, &body);
        let stream = fragments(&e, 128).unwrap().concat();
        assert_eq!(read_in_chunks(&mut client, &stream, &[]).unwrap(), [e.to_vec()]);

        let mut first = request(Version::V1_2, ByteOrder::BigEndian, id, &body);
        first[6] |= 2;
        let cancel = corbie_giop::cancel_request(Version::V1_2, ByteOrder::BigEndian, id);
        let stream = [&first[..], &cancel].concat();
        assert_eq!(read_in_chunks(&mut server, &stream, &[]).unwrap(), [cancel.to_vec()]);
    }
}

#[test]
fn large_sequences_are_cut_where_they_lie() {
    let large = vec![9; 100_000];
    let e = gathered(Version::V1_2, ByteOrder::LittleEndian, 1, &large);
    let within = large.as_ptr_range();
    let borrowed: usize = Fragments::of(&e, 8192)
        .unwrap()
        .flat_map(|fragment| fragment.pieces(e.segments()).collect::<Vec<_>>())
        .filter(|piece| within.contains(&piece.as_ptr()))
        .map(<[u8]>::len)
        .sum();
    assert_eq!(borrowed, large.len());
}

#[test]
fn a_cancelled_request_is_forgotten_with_its_fragments() {
    let order = ByteOrder::LittleEndian;
    let mut first = request(Version::V1_2, order, 5, b"");
    first.truncate(88);
    first[6] |= 2;
    first[8..12].copy_from_slice(&76u32.to_le_bytes());
    let cancel = corbie_giop::cancel_request(Version::V1_2, order, 5);
    let mut reader = reader(Roles::SERVER);
    let read = read_in_chunks(&mut reader, &[&first[..], &cancel].concat(), &[]).unwrap();
    assert_eq!(read, [cancel.to_vec()]);
    assert!(!reader.is_mid_message());
    // The id may begin again.
    assert!(read_in_chunks(&mut reader, &first, &[]).unwrap().is_empty());
    assert!(reader.is_mid_message());
}

#[test]
fn a_reassembled_message_can_be_taken() {
    let body = vec![1; 5000];
    let e = gathered(Version::V1_2, ByteOrder::BigEndian, 1, &body);
    let stream = fragments(&e, 512).unwrap().concat();
    let mut reader = reader(Roles::CLIENT);
    for _ in 0..3 {
        let mut rest = &stream[..];
        while !rest.is_empty() {
            rest = &rest[reader.receive_from(rest)..];
        }
        assert!(reader.next().unwrap().is_some());
        let taken = reader.take_message().unwrap();
        assert_eq!(taken.as_message().octets, e.to_vec());
        assert!(!taken.header().more_fragments);
    }
}
