//! Messages of each kind, with every form that their heads have, written and read as the ORB does.
//! Used by all checks of the suite.

use corbie_cdr::{ByteOrder, Encoder};
use corbie_giop::{
    LocateReplyHeader, LocateRequestHeader, LocateStatus, Message, MessageKind, MessageProtocol,
    MessageReader, Plugged, Protocol, ReaderLimits, ReplyHeader, ReplyStatus, RequestHeader,
    ResponseFlags, Roles, ServiceContexts, Tagged, TaggedList, Target, finish_message,
    write_locate_reply, write_locate_request, write_reply, write_request,
};

/// A message as it is written: its head, and its body.
#[derive(Clone, Copy, Debug)]
pub enum Sample<'a> {
    /// An invocation.
    Request(RequestHeader<'a>, &'a [u8]),
    /// An answer.
    Reply(ReplyHeader<'a>, &'a [u8]),
    /// A question.
    LocateRequest(LocateRequestHeader<'a>),
    /// Its answer.
    LocateReply(LocateReplyHeader, &'a [u8]),
}

/// The protocol of an application, for the suite.
///
/// # Panics
/// When it cannot be registered.
#[must_use]
pub fn plugged(protocol: &'static dyn MessageProtocol) -> Protocol {
    let plugged = Plugged::register(protocol).expect("a protocol that can be registered");
    assert_eq!(Plugged::register(protocol), Ok(plugged), "the same again");
    Protocol::Plugged(plugged)
}

const CONTEXTS: [Tagged<'static>; 2] =
    [Tagged { tag: 1, data: b"\x01\0\0\0code" }, Tagged { tag: 0x4342_0001, data: b"x" }];
const PROFILES: [Tagged<'static>; 2] =
    [Tagged { tag: 0, data: b"\x01\x01\x02" }, Tagged { tag: 7, data: b"" }];
const BODIES: [&[u8]; 4] = [b"", b"1", b"12345678", &[0xa5; 300]];

/// Messages of each kind, with a body of each length and a head of each form.
pub(super) fn samples() -> Vec<Sample<'static>> {
    let mut all = Vec::new();
    let contexts = [ServiceContexts::EMPTY, TaggedList::new(&CONTEXTS)];
    let reference = Target::Reference {
        selected_profile: 1,
        type_id: b"IDL:Test/Echo:1.0",
        profiles: TaggedList::new(&PROFILES),
    };
    let keys: [&[u8]; 5] = [b"", b"k", b"key", b"key of 8", &[0xff; 33]];
    let targets =
        keys.map(Target::Key).into_iter().chain([Target::Profile(PROFILES[0]), reference]);
    let flags = [ResponseFlags::None, ResponseFlags::WithServer, ResponseFlags::WithTarget];
    let replies = [
        ReplyStatus::NoException,
        ReplyStatus::UserException,
        ReplyStatus::SystemException,
        ReplyStatus::LocationForward,
        ReplyStatus::LocationForwardPerm,
        ReplyStatus::NeedsAddressingMode,
    ];
    let located = [
        LocateStatus::UnknownObject,
        LocateStatus::ObjectHere,
        LocateStatus::ObjectForward,
        LocateStatus::ObjectForwardPerm,
        LocateStatus::SystemException,
        LocateStatus::NeedsAddressingMode,
    ];
    let mut request_id = 0x00ff_0100_u32;
    let mut next = || {
        request_id = request_id.wrapping_mul(2_654_435_761);
        request_id
    };
    for body in BODIES {
        for (number, target) in targets.clone().enumerate() {
            for service_contexts in contexts {
                let operation = ["a", "ab", "abc", "_get_quotes_served"][number % 4];
                let (request_id, response) = (next(), flags[number % 3]);
                let head =
                    RequestHeader { request_id, response, target, operation, service_contexts };
                all.push(Sample::Request(head, body));
            }
        }
        for status in replies {
            for service_contexts in contexts {
                let head = ReplyHeader { request_id: next(), status, service_contexts };
                all.push(Sample::Reply(head, body));
            }
        }
        for status in located {
            all.push(Sample::LocateReply(LocateReplyHeader { request_id: next(), status }, body));
        }
    }
    for target in targets {
        all.push(Sample::LocateRequest(LocateRequestHeader { request_id: next(), target }));
    }
    all
}

/// A Request and a Reply with this body.
pub(super) fn large(body: &[u8]) -> [Sample<'_>; 2] {
    let service_contexts = ServiceContexts::EMPTY;
    let request = RequestHeader {
        request_id: 5,
        response: ResponseFlags::WithTarget,
        target: Target::Key(b"key"),
        operation: "push",
        service_contexts,
    };
    let reply = ReplyHeader { request_id: 5, status: ReplyStatus::NoException, service_contexts };
    [Sample::Request(request, body), Sample::Reply(reply, body)]
}

impl<'a> Sample<'a> {
    pub(super) fn kind(&self) -> MessageKind {
        match self {
            Self::Request(..) => MessageKind::Request,
            Self::Reply(..) => MessageKind::Reply,
            Self::LocateRequest(_) => MessageKind::LocateRequest,
            Self::LocateReply(..) => MessageKind::LocateReply,
        }
    }

    /// Whether it goes in the direction of `kind`, Request or Reply.
    pub(super) fn is_between(&self, kind: MessageKind) -> bool {
        self.roles().accepts(kind)
    }

    /// Which end receives it.
    pub(super) fn roles(&self) -> Roles {
        match self {
            Self::Request(..) | Self::LocateRequest(_) => Roles::SERVER,
            Self::Reply(..) | Self::LocateReply(..) => Roles::CLIENT,
        }
    }

    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Request(header, _) => header.request_id,
            Self::Reply(header, _) => header.request_id,
            Self::LocateRequest(header) => header.request_id,
            Self::LocateReply(header, _) => header.request_id,
        }
    }

    pub(super) fn body(&self) -> &'a [u8] {
        match self {
            Self::Request(_, body) | Self::Reply(_, body) | Self::LocateReply(_, body) => body,
            Self::LocateRequest(_) => b"",
        }
    }

    /// Compares a message with it.
    #[track_caller]
    pub(super) fn check(&self, message: &Message<'_>) {
        assert_eq!(message.kind(), self.kind());
        let decoded = "the message that was written decodes";
        let rest = match self {
            Self::Request(expected, _) => {
                let (header, body) = message.request().expect(decoded);
                assert_eq!(
                    (header.request_id, header.response),
                    (expected.request_id, expected.response)
                );
                assert_eq!(header.operation, expected.operation);
                assert!(is_same_target(&header.target, &expected.target), "{header:?}");
                assert!(header.service_contexts.iter().eq(expected.service_contexts.iter()));
                body.rest()
            }
            Self::Reply(expected, _) => {
                let (header, body) = message.reply().expect(decoded);
                assert_eq!(
                    (header.request_id, header.status),
                    (expected.request_id, expected.status)
                );
                assert!(header.service_contexts.iter().eq(expected.service_contexts.iter()));
                body.rest()
            }
            Self::LocateRequest(expected) => {
                let header = message.locate_request().expect(decoded);
                assert_eq!(header.request_id, expected.request_id);
                assert!(is_same_target(&header.target, &expected.target), "{header:?}");
                b""
            }
            Self::LocateReply(expected, _) => {
                let (header, body) = message.locate_reply().expect(decoded);
                assert_eq!(header, *expected);
                body.rest()
            }
        };
        assert!(rest == self.body(), "the body of {:?} is another", self.kind());
    }
}

/// Lists that were read and lists that were given are not the same value.
fn is_same_target(one: &Target<'_>, other: &Target<'_>) -> bool {
    let profiles = |target: &Target<'_>| match *target {
        Target::Reference { profiles, .. } => profiles.iter().map(|p| p.tag).collect(),
        _ => Vec::new(),
    };
    one.disposition() == other.disposition()
        && one.object_key() == other.object_key()
        && one.profile() == other.profile()
        && profiles(one) == profiles(other)
}

/// The octets of `sample`.
pub(super) fn written(protocol: Protocol, order: ByteOrder, sample: &Sample<'_>) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order);
    e.set_version(protocol.version());
    let start = match sample {
        Sample::Request(header, _) => write_request(&mut e, header),
        Sample::Reply(header, _) => write_reply(&mut e, header),
        Sample::LocateRequest(header) => write_locate_request(&mut e, header),
        Sample::LocateReply(header, _) => write_locate_reply(&mut e, header),
    };
    e.write_octets(sample.body());
    let start = start.expect("a small header");
    finish_message(&mut e, start).expect("a message of less than 1 GiB");
    e.to_vec()
}

/// What receives `sample`.
pub(super) fn reader(protocol: Protocol, order: ByteOrder, sample: &Sample<'_>) -> MessageReader {
    let reader = MessageReader::new(ReaderLimits::DEFAULT, sample.roles());
    reader.with_protocol(protocol, order)
}

/// Receives `octets`, and gives the messages that are whole to `each`.
#[track_caller]
pub(super) fn read_all(
    reader: &mut MessageReader,
    mut octets: &[u8],
    mut each: impl FnMut(&Message<'_>),
) {
    while !octets.is_empty() {
        let taken = reader.receive_from(octets);
        assert!(taken > 0, "the reader takes no octets");
        octets = &octets[taken..];
        while let Some(message) = reader.next().expect("octets that were written are good") {
            each(&message);
        }
    }
}
