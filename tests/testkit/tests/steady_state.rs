//! The reader and the writers allocate nothing per message once they have their buffers.
//! Invariant 4 of `ARCHITECTURE.md`, for the wire part of the data path.

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    Fragments, Incoming, Life, MessageReader, ReaderLimits, Replied, ReplyHeader, ReplyStatus,
    ReplyTable, RequestHeader, ResponseFlags, Roles, ServiceContexts, Target, finish_message,
    write_reply, write_request,
};
use corbie_testkit::CountingAllocator;
use std::sync::atomic::AtomicU32;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Runs the body often and returns the allocations of this thread, the first runs not counted.
fn allocations(mut body: impl FnMut(u32)) -> u64 {
    for id in 0..600 {
        body(id);
    }
    let before = CountingAllocator::of_this_thread();
    for id in 600..2000 {
        body(id);
    }
    CountingAllocator::of_this_thread().since(before).allocations
}

fn write_a_request(e: &mut Encoder<'_>, id: u32) {
    let header = RequestHeader {
        request_id: id,
        response: ResponseFlags::WithTarget,
        target: Target::Key(b"an object key"),
        operation: "get_quote",
        service_contexts: ServiceContexts::EMPTY,
    };
    let start = write_request(e, &header).expect("small");
    e.write_string("ACME").expect("ASCII");
    finish_message(e, start).expect("small");
}

fn write_a_reply(e: &mut Encoder<'_>, id: u32, octets: usize) {
    let (status, service_contexts) = (ReplyStatus::NoException, ServiceContexts::EMPTY);
    let header = ReplyHeader { request_id: id, status, service_contexts };
    let start = write_reply(e, &header).expect("small");
    for _ in 0..octets / 8 {
        e.write_ulonglong(0x0102_0304_0506_0708);
    }
    finish_message(e, start).expect("small");
}

#[test]
fn the_allocator_counts() {
    let before = CountingAllocator::of_this_thread();
    let all = CountingAllocator::of_all_threads();
    let octets: Vec<u8> = std::hint::black_box(Vec::with_capacity(1000));
    let counted = CountingAllocator::of_this_thread().since(before);
    assert_eq!((counted.allocations, counted.octets, counted.freed_octets), (1, 1000, 0));
    assert_eq!(counted.held_octets(), 1000);
    drop(octets);
    assert_eq!(CountingAllocator::of_this_thread().since(before).held_octets(), 0);
    assert!(CountingAllocator::of_all_threads().since(all).allocations >= 1);
}

#[test]
fn requests_and_replies_allocate_nothing() {
    let mut client = MessageReader::new(ReaderLimits::default(), Roles::CLIENT);
    let mut server = MessageReader::new(ReaderLimits::default(), Roles::SERVER);
    let (mut waiting, life) = (ReplyTable::<u32>::default(), Life::<AtomicU32>::new());
    let mut buffer = Vec::new();
    let count = allocations(|number| {
        let mut e = Encoder::new(std::mem::take(&mut buffer), ByteOrder::NATIVE);
        let id = waiting.begin(number, ReplyTable::<u32>::NEVER, 1).expect("room").id;
        write_a_request(&mut e, id);
        server.receive_from(e.own_octets());
        let message = server.next().expect("a good request").expect("a whole one");
        assert_eq!(Roles::SERVER.incoming(&message), Ok(Incoming::Request));
        let (header, mut arguments) = message.request().expect("a good header");
        assert!(life.begin());
        assert_eq!(arguments.read_string().expect("ASCII"), "ACME");
        let mut e = Encoder::new(e.into_buffer(), ByteOrder::NATIVE);
        write_a_reply(&mut e, header.request_id, 64);
        assert!(!life.finish());
        client.receive_from(e.own_octets());
        let message = client.next().expect("a good reply").expect("a whole one");
        assert_eq!(Roles::CLIENT.incoming(&message), Ok(Incoming::Reply));
        let (header, _) = message.reply().expect("a good header");
        assert_eq!(waiting.replied(header.request_id), Replied::To(number));
        buffer = e.into_buffer();
    });
    assert_eq!(count, 0);
}

#[test]
fn taken_messages_and_large_ones_allocate_nothing() {
    for octets in [64, 20_000, 300_000] {
        let mut reader = MessageReader::new(ReaderLimits::default(), Roles::CLIENT);
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE);
        write_a_reply(&mut e, 1, octets);
        let message = e.into_buffer();
        let count = allocations(|_| {
            let mut rest = &message[..];
            while !rest.is_empty() {
                assert!(reader.next().expect("good").is_none());
                rest = &rest[reader.receive_from(rest)..];
            }
            assert!(reader.next().expect("good").is_some());
            let taken = reader.take_message().expect("current");
            assert_eq!(taken.as_message().octets.len(), message.len());
        });
        assert_eq!(count, 0, "{octets} octets");
    }
}

#[test]
fn cutting_into_fragments_allocates_nothing_and_joining_them_neither() {
    let mut reader = MessageReader::new(ReaderLimits::default(), Roles::CLIENT);
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE);
    e.set_version(Version::V1_2);
    write_a_reply(&mut e, 1, 20_000);
    let count = allocations(|_| {
        for fragment in Fragments::of(&e, 4096).expect("larger than 4096") {
            reader.receive_from(fragment.head());
            for piece in fragment.pieces(e.segments()) {
                reader.receive_from(piece);
            }
            if let Some(message) = reader.next().expect("good") {
                assert_eq!(message.octets, e.own_octets());
            }
        }
    });
    assert_eq!(count, 0);
}
