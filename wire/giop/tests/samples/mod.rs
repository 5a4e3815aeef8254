//! Messages for the tests of this crate: one of every type in every version and byte order,
//! written by the crate's own writers, and random ones for the property tests.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test crate uses its own part"
)]

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    LocateReplyHeader, LocateRequestHeader, LocateStatus, Message, MessageHeader, MessageKind,
    MessageReader, Protocol, ReaderLimits, ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags,
    Roles, ServiceContext, ServiceContexts, Tagged, TaggedList, Target, cancel_request,
    close_connection, finish_message, message_error, write_locate_reply, write_locate_request,
    write_reply, write_request,
};
use proptest::prelude::*;

pub const VERSIONS: [Version; 3] = [Version::V1_0, Version::V1_1, Version::V1_2];
pub const LITE: Version = Version::GIOP_LITE;
pub const ORDERS: [ByteOrder; 2] = [ByteOrder::BigEndian, ByteOrder::LittleEndian];

/// Every dialect, GIOPlite too.
pub fn all_dialects() -> impl Iterator<Item = (Version, ByteOrder)> {
    dialects().chain(ORDERS.map(|order| (LITE, order)))
}

/// Every version of GIOP with every byte order.
pub fn dialects() -> impl Iterator<Item = (Version, ByteOrder)> {
    VERSIONS.into_iter().flat_map(|version| ORDERS.into_iter().map(move |order| (version, order)))
}

pub fn encoder<'a>(version: Version, order: ByteOrder) -> Encoder<'a> {
    let mut e = Encoder::new(Vec::new(), order);
    e.set_version(version);
    e
}

/// A request with a body of raw octets.
pub fn request(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = RequestHeader {
        request_id: id,
        response: ResponseFlags::WithTarget,
        target: Target::Key(b"the key"),
        operation: "get_quote",
        service_contexts: ServiceContexts::new(&[
            ServiceContext { tag: 1, data: &[0, 0, 0, 0, 5, 1, 0, 1, 0, 1, 1, 9] },
            ServiceContext { tag: 0x1234_5678, data: b"unknown" },
        ]),
    };
    let start = write_request(&mut e, &header).unwrap();
    e.write_octets(body);
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

/// A reply with a body of raw octets.
pub fn reply(version: Version, order: ByteOrder, id: u32, body: &[u8]) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = ReplyHeader {
        request_id: id,
        status: ReplyStatus::NoException,
        service_contexts: ServiceContexts::EMPTY,
    };
    let start = write_reply(&mut e, &header).unwrap();
    e.write_octets(body);
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

pub fn locate_request(version: Version, order: ByteOrder, id: u32) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = LocateRequestHeader { request_id: id, target: Target::Key(b"key") };
    let start = write_locate_request(&mut e, &header).unwrap();
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

pub fn locate_reply(version: Version, order: ByteOrder, id: u32) -> Vec<u8> {
    let mut e = encoder(version, order);
    let header = LocateReplyHeader { request_id: id, status: LocateStatus::ObjectHere };
    let start = write_locate_reply(&mut e, &header).unwrap();
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

/// What a peer may send to this role: the octets of each message, which are of different types.
pub fn messages_to(role: Roles, version: Version, order: ByteOrder) -> Vec<(MessageKind, Vec<u8>)> {
    match role.answers {
        false => vec![
            (MessageKind::Reply, reply(version, order, 7, b"12345678901")),
            (MessageKind::Reply, reply(version, order, 8, b"")),
            (MessageKind::LocateReply, locate_reply(version, order, 9)),
        ],
        true => vec![
            (MessageKind::Request, request(version, order, 7, b"arguments")),
            (MessageKind::Request, request(version, order, 8, b"")),
            (MessageKind::LocateRequest, locate_request(version, order, 9)),
            (MessageKind::CancelRequest, cancel_request(version, order, 7).to_vec()),
        ],
    }
}

/// The two messages after which nothing is read.
pub fn last_messages(version: Version, order: ByteOrder) -> [(MessageKind, Vec<u8>); 2] {
    [
        (MessageKind::CloseConnection, close_connection(version, order).to_vec()),
        (MessageKind::MessageError, message_error(version, order).to_vec()),
    ]
}

pub fn reader(role: Roles) -> MessageReader {
    MessageReader::new(ReaderLimits::default(), role)
}

/// A reader of the protocol of this version.
pub fn reader_of(role: Roles, version: Version, order: ByteOrder) -> MessageReader {
    reader(role).with_protocol(Protocol::of(version), order)
}

/// A whole message of this dialect.
pub fn message_in(version: Version, order: ByteOrder, octets: &[u8]) -> Message<'_> {
    let header = if version.is_lite() {
        MessageHeader::decode_lite(octets, order).unwrap().unwrap()
    } else {
        MessageHeader::decode(octets.first_chunk().unwrap()).unwrap()
    };
    assert_eq!(header.total(), octets.len());
    Message { header, octets }
}

/// Feeds the octets in chunks of the given sizes (the last size repeats) and returns what comes
/// out.
pub fn read_in_chunks(
    reader: &mut MessageReader,
    octets: &[u8],
    chunks: &[usize],
) -> Result<Vec<Vec<u8>>, corbie_giop::GiopError> {
    let mut messages = Vec::new();
    let mut rest = octets;
    let mut sizes = chunks.iter().copied();
    let mut size = usize::MAX;
    while !rest.is_empty() {
        size = sizes.next().unwrap_or(size).max(1);
        let (mut chunk, behind) = rest.split_at(size.min(rest.len()));
        rest = behind;
        while !chunk.is_empty() {
            let taken = reader.receive_from(chunk);
            chunk = &chunk[taken..];
            while let Some(message) = reader.next()? {
                messages.push(message.octets.to_vec());
            }
        }
    }
    Ok(messages)
}

/// What a random request is made of; borrowed by [`RandomRequest::header`].
#[derive(Clone, Debug)]
pub struct RandomRequest {
    pub request_id: u32,
    pub response: ResponseFlags,
    pub target: RandomTarget,
    pub operation: String,
    pub contexts: Vec<(u32, Vec<u8>)>,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub enum RandomTarget {
    Key(Vec<u8>),
    Profile(u32, Vec<u8>),
    Reference(u32, Vec<u8>, Vec<(u32, Vec<u8>)>),
}

pub fn tagged(items: &[(u32, Vec<u8>)]) -> Vec<Tagged<'_>> {
    items.iter().map(|(tag, data)| Tagged { tag: *tag, data }).collect()
}

impl RandomTarget {
    /// The profiles of the form `Reference`, to be borrowed by [`Self::target`].
    pub fn profiles(&self) -> Vec<Tagged<'_>> {
        match self {
            Self::Reference(_, _, profiles) => tagged(profiles),
            Self::Key(_) | Self::Profile(..) => Vec::new(),
        }
    }

    pub fn target<'a>(&'a self, profiles: &'a [Tagged<'a>]) -> Target<'a> {
        match self {
            Self::Key(key) => Target::Key(key),
            Self::Profile(tag, data) => Target::Profile(Tagged { tag: *tag, data }),
            Self::Reference(selected_profile, type_id, _) => Target::Reference {
                selected_profile: *selected_profile,
                type_id,
                profiles: TaggedList::new(profiles),
            },
        }
    }
}

fn octets(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..max)
}

pub fn any_contexts() -> impl Strategy<Value = Vec<(u32, Vec<u8>)>> {
    prop::collection::vec((any::<u32>(), octets(20)), 0..4)
}

fn any_target() -> impl Strategy<Value = RandomTarget> {
    let reference = (prop::collection::vec((any::<u32>(), octets(30)), 1..4), "[ -~]{0,20}")
        .prop_flat_map(|(profiles, type_id)| {
            let last = u32::try_from(profiles.len()).unwrap();
            (0..last, Just(type_id.into_bytes()), Just(profiles))
        });
    prop_oneof![
        octets(40).prop_map(RandomTarget::Key),
        (any::<u32>(), octets(30)).prop_map(|(tag, data)| RandomTarget::Profile(tag, data)),
        reference.prop_map(|(index, id, profiles)| RandomTarget::Reference(index, id, profiles)),
    ]
}

pub fn any_request() -> impl Strategy<Value = RandomRequest> {
    let response = prop_oneof![
        Just(ResponseFlags::None),
        Just(ResponseFlags::WithServer),
        Just(ResponseFlags::WithTarget)
    ];
    (
        any::<u32>(),
        response,
        any_target(),
        "[A-Za-z_][A-Za-z0-9_]{0,20}",
        any_contexts(),
        octets(90),
    )
        .prop_map(|(request_id, response, target, operation, contexts, body)| RandomRequest {
            request_id,
            response,
            target,
            operation,
            contexts,
            body,
        })
}

pub fn any_dialect() -> impl Strategy<Value = (Version, ByteOrder)> {
    let versions = [&VERSIONS[..], &[LITE]].concat();
    (0..4usize, 0..2usize).prop_map(move |(version, order)| (versions[version], ORDERS[order]))
}
