//! What a peer can do to a message protocol: end in the middle, claim any length, send anything.
//! Checks of the suite, made tests by its macro.

use super::samples::{reader, samples, written};
use crate::Seed;
use corbie_cdr::ByteOrder;
use corbie_giop::{
    Cut, GiopErrorKind, Message, MessageKind, MessageReader, Protocol, ReaderLimits,
};

/// A stream that ends within a message is told from one that ends behind it.
pub fn ends_within_a_message_are_seen(protocol: Protocol) {
    for sample in samples().into_iter().filter(|sample| sample.body().len() < 100) {
        let octets = written(protocol, ByteOrder::NATIVE, &sample);
        for cut in 0..octets.len() {
            let mut reader = reader(protocol, ByteOrder::NATIVE, &sample);
            if cut > 0 {
                reader.receive_from(&octets[..cut]);
            }
            let found = reader.next().expect("the beginning of a good message");
            assert!(found.is_none(), "a message of {cut} octets out of {}", octets.len());
            assert_eq!(reader.check_end_of_stream().is_err(), cut > 0, "cut at {cut}");
        }
    }
}

/// Whatever a length claims, memory grows with what arrived: 128 KiB, or sixteen times the octets.
pub fn lengths_take_no_memory_before_octets_come(protocol: Protocol) {
    let most = 128 << 10;
    for sample in samples().into_iter().filter(|sample| sample.body().len() < 10) {
        let octets = written(protocol, ByteOrder::NATIVE, &sample);
        for at in 0..octets.len() {
            for (length, value) in [(4, 0xff), (4, 0x7f), (2, 0x3f), (1, 0xff), (1, 0x80)] {
                let mut hostile = octets.clone();
                let end = hostile.len().min(at + length);
                hostile[at..end].fill(value);
                let mut reader = reader(protocol, ByteOrder::NATIVE, &sample);
                take(&mut reader, &hostile);
                let held = reader.memory_octets();
                assert!(held <= most + 16 * octets.len(), "{held} octets for {}", octets.len());
                // What is missing is asked for in a space that is bounded, too.
                assert!(reader.space().len() <= most + 16 * octets.len());
            }
        }
    }
}

/// A message beyond `message_octets` is refused when its length is known, not when it is here.
pub fn messages_beyond_the_limit_are_refused(protocol: Protocol) {
    let body = vec![0; 10_000];
    for sample in super::samples::large(&body) {
        let octets = written(protocol, ByteOrder::NATIVE, &sample);
        for (limit, is_refused) in [(octets.len(), false), (octets.len() - 1, true), (2000, true)] {
            let limits = ReaderLimits { message_octets: limit, ..ReaderLimits::DEFAULT };
            let reader = MessageReader::new(limits, sample.roles());
            let mut reader = reader.with_protocol(protocol, ByteOrder::NATIVE);
            reader.receive_from(&octets[..1000]);
            match reader.next() {
                Ok(None) => assert!(!is_refused, "a limit of {limit} octets"),
                Ok(Some(_)) => panic!("a message of 1000 octets out of {}", octets.len()),
                Err(error) => {
                    assert!(is_refused, "{error}");
                    assert_eq!(error.kind(), GiopErrorKind::MessageTooLarge, "{error}");
                }
            }
            assert_eq!(reader.has_ended(), is_refused);
        }
    }
}

/// Good messages with some octets changed, and octets at random: each is a message or an error.
pub fn no_octets_panic(protocol: Protocol) {
    let mut seed = Seed::new(0xc0_2b1e);
    let all = samples();
    for _ in 0..30_000 {
        let sample = &all[seed.below(all.len())];
        let mut octets = written(protocol, ByteOrder::NATIVE, sample);
        match seed.below(4) {
            0 => octets.truncate(seed.below(octets.len())),
            1 => octets.iter_mut().for_each(|octet| *octet = seed.next_u64() as u8),
            _ => {
                for _ in 0..=seed.below(4) {
                    let at = seed.below(octets.len().min(80));
                    octets[at] = [0, 1, 0x7f, 0x80, 0xff, seed.next_u64() as u8][seed.below(6)];
                }
            }
        }
        cuts_keep_their_word(protocol, &octets);
        let mut reader = reader(protocol, ByteOrder::NATIVE, sample);
        let part = 1 + seed.below(octets.len());
        octets.chunks(part).for_each(|part| take(&mut reader, part));
    }
}

/// What `MessageProtocol::cut` promises, of octets that may be anything.
fn cuts_keep_their_word(protocol: Protocol, octets: &[u8]) {
    let Protocol::Plugged(plugged) = protocol else { return };
    for held in 0..octets.len().min(64) {
        match plugged.protocol().cut(&octets[..held]) {
            Ok(Cut::Needs(most)) => assert!((held + 1..=4096).contains(&most), "{held}: {most}"),
            Ok(Cut::Message(frame)) => {
                assert!(frame.octets > 0 && frame.kind != MessageKind::Fragment, "{frame:?}");
                let all = plugged.protocol().cut(octets);
                assert_eq!(all.ok(), Some(Cut::Message(frame)), "with more octets");
            }
            Err(_) => {}
        }
    }
}

/// Receives octets that may be bad, and decodes what comes out.
fn take(reader: &mut MessageReader, mut octets: &[u8]) {
    while !octets.is_empty() && !reader.has_ended() {
        octets = &octets[reader.receive_from(octets)..];
        while let Ok(Some(message)) = reader.next() {
            decode(&message);
        }
    }
}

fn decode(message: &Message<'_>) {
    let _ = (message.request_id(), message.response_expected());
    match message.kind() {
        MessageKind::Request => drop(message.request()),
        MessageKind::Reply => drop(message.reply()),
        MessageKind::LocateRequest => drop(message.locate_request()),
        MessageKind::LocateReply => drop(message.locate_reply()),
        MessageKind::CancelRequest => drop(message.cancel_request()),
        _ => {}
    }
}
