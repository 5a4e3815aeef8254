//! Order, bounds and memory over a real socket.

use super::super::means::QueueLock as _;
use super::super::{Put, Sender, Terms, When};
use super::{Limits, message};
use corbie_cdr::payload::SharedOctets;
use corbie_cdr::{ByteOrder, Encoder};
use corbie_threads::thread::Patience;
use corbie_transport::{Acceptor, Link};
use std::sync::Barrier;

fn pair() -> (Link, Link) {
    let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let link = Link::connect(&acceptor.endpoint(), None, None).unwrap();
    (link, acceptor.accept().unwrap())
}

fn sender(queued_octets_max: usize) -> Sender {
    Sender::new(Limits { queued_octets_max, batch_octets: 1 << 20, small_octets: 0 })
}

fn terms(when: When, patience: Patience) -> Terms {
    Terms { fragment_octets: None, when, patience, until: None }
}

#[test]
fn a_peer_that_is_always_behind_makes_nothing_grow() {
    const LIMIT: usize = 1 << 20;
    let (link, peer) = pair();
    let sender = sender(LIMIT);
    let octets = vec![7; 64 << 10];
    let mut space = vec![0; 64 << 10];
    // As much comes as goes, so the queue is hardly ever empty.
    for _ in 0..1_000 {
        while sender.waiting() < LIMIT {
            let now = terms(When::Now, Patience::Queue);
            sender.put(&link, &mut message(&octets), &now).unwrap();
        }
        let mut taken = 0;
        while taken < 64 << 10 {
            taken += peer.receive(&mut space[taken..]).unwrap();
        }
        sender.flush(&link, Patience::Queue).unwrap();
    }
    let kept = sender.lock.lock().memory_octets();
    assert!(kept <= 8 * LIMIT, "{kept} octets are kept for a queue of 1 MiB");
}

/// Small and large, copied, linked, borrowed and shared, to a peer that takes now nothing and
/// now a little: the octets come as they were written, whatever is sent from where.
#[test]
fn all_that_waits_is_sent_in_order_and_whole() {
    let (link, peer) = pair();
    let sender = sender(64 << 20);
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
        let when = if round % 3 == 0 { When::Later } else { When::Now };
        sender.put(&link, &mut message, &terms(when, Patience::Queue)).unwrap();
        if round % 7 == 0 {
            let most = space.len().min(round * 1000 + 1);
            let taken = peer.try_receive(&mut space[..most]).unwrap().unwrap_or(0);
            came.extend_from_slice(&space[..taken]);
        }
    }
    while came.len() < expected.len() {
        sender.flush(&link, Patience::Queue).unwrap();
        let taken = peer.try_receive(&mut space).unwrap().unwrap_or(0);
        came.extend_from_slice(&space[..taken]);
    }
    assert!(came == expected, "other octets came than were put");
    assert!(!sender.waits());
    sender.tick(&link);
    sender.tick(&link);
    assert_eq!(sender.lock.lock().memory_octets(), 0, "nothing is held for nothing");
}

#[test]
fn a_thread_that_waits_for_the_peer_has_it_take_a_part_at_a_time() {
    const MESSAGE: usize = 3 << 20;
    let (link, peer) = pair();
    let sender = sender(64 << 20);
    let mut expected = Vec::new();
    let mut end = None;
    for value in 1..=4 {
        let held = When::Held { octets: usize::MAX, messages: 0, until: super::Release::FlushAll };
        let put =
            sender.put(&link, &mut message(&vec![value; MESSAGE]), &terms(held, Patience::Queue));
        let Put::Kept { end: last, .. } = put.unwrap() else { panic!("it is held") };
        end = Some(last);
        expected.resize(expected.len() + MESSAGE, value);
    }
    let mut came = vec![0; expected.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| sender.wait_until_sent(&link, end.unwrap(), None).unwrap());
        let mut taken = 0;
        while taken < came.len() {
            taken += peer.receive(&mut came[taken..]).unwrap();
            // But for the part under way, what was taken is known to be.
            let known = expected.len() - sender.waiting();
            assert!(
                known + (256 << 10) >= taken,
                "{known} of {taken} octets are known to be taken"
            );
        }
    });
    assert!(came == expected, "other octets came than were put");
    assert_eq!((sender.waiting(), sender.moved()), (0, expected.len() as u64));
}

/// Threads that block and threads that do not, at once: messages do not interleave, those of one
/// thread keep their order, and none is stranded though no flusher runs.
#[test]
fn messages_of_many_threads_arrive_whole_and_in_order() {
    const THREADS: u32 = 4;
    const EACH: u32 = 400;
    let (link, peer) = pair();
    let sender = sender(256 << 10);
    let start = Barrier::new(THREADS as usize);
    let put_all = |thread: u32| {
        start.wait();
        let patience = if thread.is_multiple_of(2) { Patience::Block } else { Patience::Queue };
        for number in 0..EACH {
            let octets = 8 + (number * 7919 + thread * 104_729) % 6000;
            let mut message = Encoder::pooled(ByteOrder::NATIVE);
            for value in [octets, thread, number] {
                message.write_ulong(value);
            }
            (0..octets).for_each(|_| message.write_octet(thread as u8));
            let now = terms(When::Now, patience);
            while sender.put(&link, &mut message, &now).is_err() {
                std::thread::yield_now();
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || put_all(thread));
        }
        let mut next = [0; THREADS as usize];
        let receive = |space: &mut [u8]| {
            let mut taken = 0;
            while taken < space.len() {
                // What is blocked is sent on when there is room.
                sender.flush(&link, Patience::Queue).unwrap();
                match peer.try_receive(&mut space[taken..]).unwrap() {
                    Some(octets) => taken += octets,
                    None => std::thread::yield_now(),
                }
            }
        };
        for _ in 0..THREADS * EACH {
            let mut head = [0; 12];
            receive(&mut head);
            let [octets, thread, number] =
                [0, 4, 8].map(|at| u32::from_ne_bytes(head[at..at + 4].try_into().unwrap()));
            assert_eq!(number, next[thread as usize], "of thread {thread}");
            next[thread as usize] += 1;
            let mut body = vec![0; octets as usize];
            receive(&mut body);
            assert!(body.iter().all(|octet| u32::from(*octet) == thread));
        }
    });
    assert!(!sender.waits());
}
