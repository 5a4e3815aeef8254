//! The conformance suite of message protocols: what every one has to do, whatever its messages look
//! like.
//!
//! `message_protocol_suite!` makes a test of each check for a `MessageProtocol` of an application
//! ([`plugged`]), or for one of ours. Instantiated for GIOP 1.2 and GIOPlite in
//! `tests/testkit/tests`, and for the example's in `examples/protocol`. The checks use what
//! `orb/core` uses: the writer, `MessageReader` and the header codecs.

#![allow(clippy::missing_panics_doc, reason = "a panic is how a check says what it found")]

mod hostile;
mod samples;

pub use corbie_giop::Protocol;
pub use hostile::{
    ends_within_a_message_are_seen, lengths_take_no_memory_before_octets_come,
    messages_beyond_the_limit_are_refused, no_octets_panic,
};
pub use samples::{Sample, plugged};

use crate::Seed;
use corbie_cdr::{ByteOrder, Encoder};
use corbie_giop::{
    Message, MessageKind, MessageReader, Plugged, ReaderLimits, RequestIdPlace, Roles,
    cancel_request, close_connection, finish_message, message_error, write_request,
};
use samples::{read_all, reader, samples, written};

/// Every message comes back as it was written: its kind, its byte order, all of its head, its body.
pub fn every_message_comes_back(protocol: Protocol) {
    for sample in samples() {
        for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
            let octets = written(protocol, order, &sample);
            read_all(&mut reader(protocol, order, &sample), &octets, |message| {
                assert_eq!(message.octets, octets, "{sample:?} {order:?}");
                assert_eq!(message.header.order, order, "{sample:?}");
                sample.check(message);
            });
        }
    }
}

/// The arguments of a Request begin at a multiple of eight, so that they can be sent on.
pub fn arguments_begin_at_a_multiple_of_eight(protocol: Protocol) {
    for sample in samples().into_iter().filter(|sample| !sample.body().is_empty()) {
        let octets = written(protocol, ByteOrder::NATIVE, &sample);
        let kind = sample.kind();
        read_all(&mut reader(protocol, ByteOrder::NATIVE, &sample), &octets, |message| {
            if kind == MessageKind::Request {
                let (_, arguments) = message.request().expect("it was decoded before");
                assert_eq!(arguments.position() % 8, 0, "{sample:?}");
            }
        });
    }
}

/// Several messages behind one another are cut apart wherever the octets are divided.
pub fn messages_are_cut_apart_at_every_octet(protocol: Protocol) {
    let order = ByteOrder::NATIVE;
    for kind in [MessageKind::Request, MessageKind::Reply] {
        let all: Vec<_> = samples().into_iter().filter(|one| one.is_between(kind)).collect();
        let one: Vec<_> = all.iter().map(|sample| written(protocol, order, sample)).collect();
        // One of each length: cutting at every octet takes time by the square of all.
        let mut small: Vec<_> = one.iter().filter(|octets| octets.len() < 150).collect();
        small.sort_by_key(|octets| octets.len());
        small.dedup_by_key(|octets| octets.len());
        let stream: Vec<u8> = small.iter().flat_map(|octets| octets.iter().copied()).collect();
        let sample = &all[0];
        for cut in 0..=stream.len() {
            let mut reader = reader(protocol, order, sample);
            let mut found = Vec::new();
            for part in [&stream[..cut], &stream[cut..]] {
                read_all(&mut reader, part, |message| found.push(message.octets.to_vec()));
            }
            assert!(found.iter().eq(small.iter().copied()), "cut at {cut}");
            assert!(!reader.is_mid_message());
        }
        let mut reader = reader(protocol, order, sample);
        let mut found = Vec::new();
        for octet in &stream {
            read_all(&mut reader, &[*octet], |message| found.push(message.octets.to_vec()));
            assert!(reader.wanted() > 0 || !reader.is_mid_message(), "it does not know what lacks");
        }
        assert!(found.iter().eq(small.iter().copied()), "octet by octet");
    }
}

/// Where a message ends depends on its own octets alone.
pub fn an_end_once_found_stays(protocol: Protocol) {
    let order = ByteOrder::NATIVE;
    let mut seed = Seed::new(1);
    for sample in samples().into_iter().filter(|sample| sample.body().len() < 600) {
        let octets = written(protocol, order, &sample);
        let behind: Vec<u8> = (0..64).map(|_| seed.next_u64() as u8).collect();
        let both = [&octets[..], &behind].concat();
        let mut reader = reader(protocol, order, &sample);
        let mut at = 0;
        while at < both.len() {
            at += reader.receive_from(&both[at..]);
        }
        let message = reader.next().expect("a good message").expect("a whole one");
        assert_eq!(message.octets, octets, "{sample:?}");
    }
}

/// A Request that is numbered when it is sent is the one that was written with that number.
pub fn requests_are_numbered_when_they_are_sent(protocol: Protocol) {
    for sample in samples() {
        let Sample::Request(header, body) = &sample else { continue };
        for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
            for blocks in [64, 1 << 20] {
                let mut e = Encoder::in_blocks_of(blocks, order);
                e.set_version(protocol.version());
                let unnumbered = corbie_giop::RequestHeader { request_id: 0, ..*header };
                let start = write_request(&mut e, &unnumbered).expect("a small header");
                e.write_borrowed_octets(body);
                finish_message(&mut e, start).expect("a message of less than 1 GiB");
                for id in [7, u32::MAX, header.request_id] {
                    let place = RequestIdPlace::of(&e).expect("a message that was written");
                    place.set(&mut e, id);
                }
                assert!(e.to_vec() == written(protocol, order, &sample), "{sample:?} {order:?}");
            }
        }
    }
}

/// Ids and response flags can be told without the rest.
pub fn ids_are_known_of_every_message(protocol: Protocol) {
    for sample in samples() {
        let octets = written(protocol, ByteOrder::NATIVE, &sample);
        read_all(&mut reader(protocol, ByteOrder::NATIVE, &sample), &octets, |message| {
            assert_eq!(message.request_id().expect("a good message"), Some(sample.id()));
            if let Sample::Request(header, _) = &sample {
                let expected = message.response_expected().expect("a good message");
                assert_eq!(expected, header.response.response_expected());
            }
        });
    }
}

/// CancelRequest, CloseConnection and MessageError are short and come back; the last two end
/// reading.
pub fn messages_without_a_body_come_back(protocol: Protocol) {
    let version = protocol.version();
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        for (octets, kind, roles) in [
            (
                cancel_request(version, order, 0x0102_0304),
                MessageKind::CancelRequest,
                Roles::SERVER,
            ),
            (close_connection(version, order), MessageKind::CloseConnection, Roles::CLIENT),
            (message_error(version, order), MessageKind::MessageError, Roles::CLIENT),
        ] {
            assert!((1..=Plugged::CONTROL_OCTETS).contains(&octets.len()), "{kind:?}");
            let reader = MessageReader::new(ReaderLimits::DEFAULT, roles);
            let mut reader = reader.with_protocol(protocol, order);
            let mut found = 0;
            read_all(&mut reader, &octets, |message: &Message<'_>| {
                assert_eq!(message.kind(), kind);
                if kind == MessageKind::CancelRequest {
                    let header = message.cancel_request().expect("a good message");
                    assert_eq!(header.request_id, 0x0102_0304);
                }
                found += 1;
            });
            assert_eq!(found, 1, "{kind:?}");
            assert_eq!(reader.has_ended(), kind != MessageKind::CancelRequest, "{kind:?}");
        }
    }
}

/// A message of several megabytes comes back whole, however it arrives.
pub fn large_messages_come_back(protocol: Protocol) {
    let octets: Vec<u8> =
        (0..3 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let order = ByteOrder::NATIVE;
    for sample in samples::large(&octets) {
        let message = written(protocol, order, &sample);
        for part in [1000, 64 << 10, message.len()] {
            let mut reader = reader(protocol, order, &sample);
            let mut found = 0;
            for part in message.chunks(part) {
                read_all(&mut reader, part, |message| {
                    sample.check(message);
                    found += 1;
                });
            }
            assert_eq!(found, 1, "in parts of {part}");
        }
    }
}

/// Makes a test of each check of the suite for one message protocol.
///
/// ```ignore
/// corbie_testkit::message_protocol_suite!(crc, message_protocol_suite::plugged(&Crc));
/// ```
#[macro_export]
macro_rules! message_protocol_suite {
    ($name:ident, $protocol:expr) => {
        mod $name {
            use super::*;

            $crate::message_protocol_suite!(@tests $protocol,
                an_end_once_found_stays,
                arguments_begin_at_a_multiple_of_eight,
                ends_within_a_message_are_seen,
                every_message_comes_back,
                ids_are_known_of_every_message,
                large_messages_come_back,
                lengths_take_no_memory_before_octets_come,
                messages_are_cut_apart_at_every_octet,
                messages_beyond_the_limit_are_refused,
                messages_without_a_body_come_back,
                no_octets_panic,
                requests_are_numbered_when_they_are_sent,
            );
        }
    };
    (@tests $protocol:expr, $($check:ident,)+) => {
        $(
            #[test]
            fn $check() {
                $crate::message_protocol_suite::$check($protocol);
            }
        )+
    };
}
