//! Tests of what waits to be sent: order, batches, bounds.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

use super::{Outbox, Patience, Urgency};
use corbie_cdr::payload::SharedOctets;
use corbie_cdr::{ByteOrder, Encoder};
use corbie_transport::{Acceptor, Link};

fn pair() -> (Link, Link) {
    let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let link = Link::connect(&acceptor.endpoint(), None, None).unwrap();
    (link, acceptor.accept().unwrap())
}

#[test]
fn a_peer_that_is_always_behind_makes_nothing_grow() {
    const LIMIT: usize = 1 << 20;
    let (link, peer) = pair();
    let outbox = Outbox::new(LIMIT);
    let octets = vec![7; 64 << 10];
    let mut space = vec![0; 64 << 10];
    let put = || {
        let mut message = Encoder::pooled(ByteOrder::NATIVE);
        message.write_octets(&octets);
        outbox.put(&link, &mut message, None, Urgency::Now, Patience::None)
    };
    // As much comes as goes, so the queue is hardly ever empty.
    for _ in 0..1_000 {
        while outbox.waiting() < LIMIT {
            put().unwrap();
        }
        let mut taken = 0;
        while taken < 64 << 10 {
            taken += peer.receive(&mut space[taken..]).unwrap();
        }
        outbox.flush(&link, Patience::None).unwrap();
    }
    let kept = outbox.lock().backlog.memory_octets();
    assert!(kept <= 8 * LIMIT, "{kept} octets are kept for a queue of 1 MiB");
}

/// Small and large, copied, linked, borrowed and shared, to a peer that takes now nothing and
/// now a little: the octets come as they were written, whatever is sent from where.
#[test]
fn whatever_waits_is_sent_in_order_and_whole() {
    let (link, peer) = pair();
    let outbox = Outbox::new(64 << 20);
    let shared = SharedOctets::new(vec![3; 400_000]);
    let borrowed = vec![4; 90_000];
    let (mut expected, mut came) = (Vec::new(), Vec::new());
    let mut space = vec![0; 300_000];
    for round in 0..400_usize {
        let mut message = Encoder::pooled(ByteOrder::NATIVE);
        message.write_ulong(round as u32);
        match round % 5 {
            0 => message.write_octets(&[1; 100]),
            1 => (0..round as u64 * 100).for_each(|value| message.write_ulonglong(value)),
            2 => shared.lend(|octets| message.write_borrowed_octets(&octets[round..])),
            3 => message.write_borrowed_octets(&borrowed),
            _ => {
                message.write_shared_octets(shared.clone());
                (0..20_000).for_each(|value| message.write_ulonglong(value));
                message.write_borrowed_octets(&borrowed[..50_000]);
                message.write_octet(5);
            }
        }
        expected.extend(message.to_vec());
        let urgency = if round % 3 == 0 { Urgency::Batch(1 << 20) } else { Urgency::Now };
        outbox.put(&link, &mut message, None, urgency, Patience::None).unwrap();
        assert!(message.is_empty() || came.len() + outbox.waiting() <= expected.len());
        if round % 7 == 0 {
            let most = space.len().min(round * 1000 + 1);
            let taken = peer.try_receive(&mut space[..most]).unwrap().unwrap_or(0);
            came.extend_from_slice(&space[..taken]);
        }
    }
    while came.len() < expected.len() {
        outbox.flush(&link, Patience::None).unwrap();
        let taken = peer.try_receive(&mut space).unwrap().unwrap_or(0);
        came.extend_from_slice(&space[..taken]);
    }
    assert!(came == expected, "other octets came than were put");
    assert_eq!(outbox.waiting(), 0);
    outbox.rest();
    assert_eq!(outbox.lock().backlog.memory_octets(), 0, "nothing is held for nothing");
}

fn message(octets: &[u8]) -> Encoder<'_> {
    let mut message = Encoder::pooled(ByteOrder::NATIVE);
    message.write_octets(octets);
    message
}

#[test]
fn the_rest_of_a_message_goes_before_what_was_added_meanwhile() {
    let (link, peer) = pair();
    let outbox = Outbox::new(1 << 20);
    let first = outbox.add(&mut message(b"second"), None).unwrap();
    // A thread that went past the queue sent all but this.
    let rest = outbox.put_rest(b"first ");
    let last = outbox.add(&mut message(b" third"), None).unwrap();
    assert!(rest < first && first < last);
    assert!(outbox.sent() < rest, "nothing was sent yet");
    outbox.flush(&link, Patience::None).unwrap();
    assert_eq!(outbox.sent(), last);
    let mut came = [0; 18];
    let mut taken = 0;
    while taken < came.len() {
        taken += peer.receive(&mut came[taken..]).unwrap();
    }
    assert_eq!(&came, b"first second third");
}

#[test]
fn who_waits_for_the_peer_has_it_take_a_part_at_a_time() {
    const MESSAGE: usize = 3 << 20;
    let (link, peer) = pair();
    let outbox = Outbox::new(64 << 20);
    let mut expected = Vec::new();
    for value in 1..=4 {
        outbox.add(&mut message(&vec![value; MESSAGE]), None).unwrap();
        expected.resize(expected.len() + MESSAGE, value);
    }
    let mut came = vec![0; expected.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| outbox.flush(&link, Patience::Until(None)).unwrap());
        let mut taken = 0;
        while taken < came.len() {
            taken += peer.receive(&mut came[taken..]).unwrap();
            // But for the part under way, what was taken is known to be.
            let known = expected.len() - outbox.waiting();
            assert!(
                known + (256 << 10) >= taken,
                "{known} of {taken} octets are known to be taken"
            );
        }
    });
    assert!(came == expected, "other octets came than were put");
    assert_eq!((outbox.waiting(), outbox.moved()), (0, expected.len() as u64));
}

#[test]
fn what_was_sent_only_rises() {
    let (link, peer) = pair();
    let outbox = Outbox::new(1 << 20);
    outbox.add(&mut message(b"first"), None).unwrap();
    outbox.flush(&link, Patience::None).unwrap();
    let (sent, moved) = (outbox.sent(), outbox.moved());
    outbox.put_rest(b"rest!");
    assert!(outbox.sent() < sent);
    assert_eq!((outbox.moved(), moved), (5, 5));
    outbox.flush(&link, Patience::None).unwrap();
    assert_eq!((outbox.sent(), outbox.moved()), (sent, 10));
    drop(peer);
}

#[test]
fn a_full_queue_takes_what_is_small_where_that_is_bounded_otherwise() {
    let small = Outbox::new(1 << 10).always_taking(16);
    small.add(&mut message(&[0; 4 << 10]), None).unwrap();
    assert!(small.add(&mut message(&[0; 17]), None).is_err());
    small.add(&mut message(&[0; 16]), None).unwrap();
    assert_eq!(small.waiting(), (4 << 10) + 16);
    let strict = Outbox::new(1 << 10);
    strict.add(&mut message(&[0; 4 << 10]), None).unwrap();
    assert!(strict.add(&mut message(&[0; 16]), None).is_err());
}
