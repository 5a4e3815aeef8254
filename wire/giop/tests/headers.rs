//! Round trips of every header in every version and byte order, and the body's alignment.
//! CORBA 3.3 P2 §9.4.1 to §9.4.6.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Version};
use corbie_giop::{
    AddressingDisposition, CodeSetContext, GiopErrorKind, ListenPoint, ListenPoints,
    LocateReplyHeader, LocateRequestHeader, LocateStatus, Message, MessageHeader, MessageKind,
    ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, Roles, ServiceContext, ServiceContexts,
    Target, finish_message, write_locate_reply, write_locate_request, write_reply, write_request,
};
use proptest::prelude::*;
use samples::*;

fn message(octets: &[u8]) -> Message<'_> {
    message_in(Version::V1_2, ByteOrder::NATIVE, octets)
}

/// What 1.0 and 1.1 can express of a header.
fn in_version<'a>(header: RequestHeader<'a>, version: Version) -> RequestHeader<'a> {
    if version >= Version::V1_2 {
        return header;
    }
    let response = match header.response {
        ResponseFlags::None => ResponseFlags::None,
        ResponseFlags::WithServer | ResponseFlags::WithTarget => ResponseFlags::WithTarget,
    };
    RequestHeader {
        response,
        target: Target::Key(header.target.object_key().unwrap_or_default()),
        ..header
    }
}

proptest! {
    #[test]
    fn request_comes_back(random in any_request(), (version, order) in any_dialect()) {
        let contexts = tagged(&random.contexts);
        let profiles = random.target.profiles();
        let header = RequestHeader {
            request_id: random.request_id,
            response: random.response,
            target: random.target.target(&profiles),
            operation: &random.operation,
            service_contexts: ServiceContexts::new(&contexts),
        };
        let mut e = encoder(version, order);
        let start = write_request(&mut e, &header).unwrap();
        e.write_octets(&random.body);
        finish_message(&mut e, start).unwrap();
        let octets = e.to_vec();

        let message = message_in(version, order, &octets);
        let (decoded, body) = message.request().unwrap();
        prop_assert_eq!(decoded, in_version(header, version));
        prop_assert_eq!(body.rest(), &random.body[..]);
        if version >= Version::V1_2 && !random.body.is_empty() {
            prop_assert_eq!(body.position() % 8, 0);
        }
        prop_assert_eq!(message.request_id().unwrap(), Some(random.request_id));
        prop_assert_eq!(
            message.response_expected().unwrap(),
            random.response.response_expected()
        );
    }

    #[test]
    fn reply_comes_back(
        request_id in any::<u32>(),
        status in 0..6u32,
        contexts in any_contexts(),
        body in prop::collection::vec(any::<u8>(), 0..40),
        (version, order) in any_dialect(),
    ) {
        let Some(status) = ReplyStatus::from_ulong(status, version) else {
            prop_assert!(version < Version::V1_2 && status > 3);
            return Ok(());
        };
        let contexts = tagged(&contexts);
        let service_contexts = ServiceContexts::new(&contexts);
        let header = ReplyHeader { request_id, status, service_contexts };
        let mut e = encoder(version, order);
        let start = write_reply(&mut e, &header).unwrap();
        e.write_octets(&body);
        finish_message(&mut e, start).unwrap();
        let octets = e.to_vec();

        let message = message_in(version, order, &octets);
        let (decoded, rest) = message.reply().unwrap();
        prop_assert_eq!(decoded, header);
        prop_assert_eq!(rest.rest(), &body[..]);
        prop_assert_eq!(message.request_id().unwrap(), Some(request_id));
    }

    #[test]
    fn locate_messages_come_back(
        random in any_request(),
        status in 0..6u32,
        (version, order) in any_dialect(),
    ) {
        let profiles = random.target.profiles();
        let target = random.target.target(&profiles);
        let header = LocateRequestHeader { request_id: random.request_id, target };
        let mut e = encoder(version, order);
        let start = write_locate_request(&mut e, &header).unwrap();
        finish_message(&mut e, start).unwrap();
        let octets = e.to_vec();
        let decoded = message_in(version, order, &octets).locate_request().unwrap();
        if version >= Version::V1_2 {
            prop_assert_eq!(decoded, header);
        } else {
            prop_assert_eq!(decoded.target.object_key(), Some(target.object_key().unwrap_or(&[])));
        }

        let Some(status) = LocateStatus::from_ulong(status, version) else { return Ok(()) };
        let header = LocateReplyHeader { request_id: random.request_id, status };
        let mut e = encoder(version, order);
        let start = write_locate_reply(&mut e, &header).unwrap();
        e.write_octets(&random.body);
        finish_message(&mut e, start).unwrap();
        let octets = e.to_vec();
        let (decoded, body) = message_in(version, order, &octets).locate_reply().unwrap();
        prop_assert_eq!(decoded, header);
        prop_assert_eq!(body.rest(), &random.body[..]);
    }

    #[test]
    fn any_octets_decode_or_fail_with_a_sentence(
        octets in prop::collection::vec(any::<u8>(), 0..80),
        (version, order) in any_dialect(),
        kind in 0..8u8,
    ) {
        let kind = MessageKind::from_octet(kind).unwrap();
        let size = u32::try_from(octets.len()).unwrap();
        let header = MessageHeader { version, order, more_fragments: false, kind, size };
        let octets = match version.is_lite() {
            true => [&header.encode_lite()[..], &octets].concat(),
            false => [&header.encode()[..], &octets].concat(),
        };
        let message = Message { header, octets: &octets };
        let errors = [
            message.request().err(),
            message.reply().err(),
            message.locate_request().err(),
            message.locate_reply().err(),
            message.cancel_request().err(),
            message.request_id().err(),
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(error.offset() <= octets.len());
            prop_assert!(error.to_string().contains(error.what()));
        }
    }
}

#[test]
fn message_header_comes_back_for_every_kind() {
    for (version, order) in dialects() {
        for kind in MessageKind::ALL {
            for more_fragments in [false, true] {
                let header =
                    MessageHeader { version, order, more_fragments, kind, size: 0x0102_0304 };
                let decoded = MessageHeader::decode(&header.encode());
                let is_fragment = more_fragments || kind == MessageKind::Fragment;
                if is_fragment && !kind.may_be_fragmented(version) {
                    assert_eq!(decoded.unwrap_err().kind(), GiopErrorKind::BadFlags);
                } else {
                    assert_eq!(decoded.unwrap(), header);
                }
            }
        }
    }
}

#[test]
fn body_of_1_2_is_aligned_and_padding_is_taken_back_without_one() {
    for order in ORDERS {
        let empty = request(Version::V1_2, order, 1, b"");
        let full = request(Version::V1_2, order, 1, b"x");
        // Header 12, id 4, flags 4, target 2+2+4+7, operation 1+4+10, contexts 2+4+8+12+8+7 = 91.
        assert_eq!(empty.len(), 91);
        assert_eq!(full.len(), 97);
        assert_eq!(full[91..], [0, 0, 0, 0, 0, b'x']);
    }
    let unaligned = reply(Version::V1_1, ByteOrder::BigEndian, 1, b"x");
    assert_eq!(unaligned.len(), 12 + 12 + 1);
}

#[test]
fn padding_that_ends_the_message_is_no_body() {
    // Some ORBs pad behind the header although no body follows.
    let mut octets = request(Version::V1_2, ByteOrder::LittleEndian, 1, b"");
    for padding in 0..=3u8 {
        octets[8] = u8::try_from(octets.len()).unwrap() - 12;
        let (_, body) = message(&octets).request().unwrap();
        assert_eq!(body.remaining(), 0, "{padding} octets of padding");
        octets.push(0);
    }
}

#[test]
fn code_sets_context_comes_back_in_both_byte_orders() {
    let code_sets = CodeSets { char_data: CodeSet(0x0501_0001), wchar_data: CodeSet(0x0001_0109) };
    for order in ORDERS {
        let context = CodeSetContext::new(code_sets, order);
        let unknown = ServiceContext { tag: 77, data: &[1, 2, 3] };
        let list = [unknown, context.as_context()];
        let contexts = ServiceContexts::new(&list);
        assert_eq!(contexts.code_sets().unwrap(), Some(code_sets));
    }
    assert_eq!(ServiceContexts::EMPTY.code_sets().unwrap(), None);
    let short = [ServiceContext { tag: 1, data: &[0, 0, 0, 0, 5] }];
    let error = ServiceContexts::new(&short).code_sets().unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::Malformed);
}

#[test]
fn addressing_disposition_comes_back_and_rejects_others() {
    for order in ORDERS {
        for value in -1..4i16 {
            let mut e = encoder(Version::V1_2, order);
            e.write_short(value);
            let octets = e.to_vec();
            let mut d = corbie_cdr::Decoder::new(&octets, order);
            match (AddressingDisposition::decode(&mut d), value) {
                (Ok(disposition), 0..=2) => {
                    let mut e = encoder(Version::V1_2, order);
                    disposition.encode(&mut e);
                    assert_eq!(e.to_vec(), octets);
                }
                (Err(error), -1 | 3) => assert_eq!(error.kind(), GiopErrorKind::BadValue),
                (other, _) => panic!("{value} became {other:?}"),
            }
        }
    }
}

#[test]
fn reserved_response_flags_are_ignored() {
    for octet in 0..=255u8 {
        let flags = ResponseFlags::from_header_octet(octet, Version::V1_2);
        assert_eq!(flags.response_expected(), octet & 1 == 1);
        let flags = ResponseFlags::from_header_octet(octet, Version::V1_0);
        assert_eq!(flags.response_expected(), octet != 0);
    }
}

#[test]
fn every_sample_is_read_back_as_what_it_is() {
    for (version, order) in all_dialects() {
        for role in [Roles::CLIENT, Roles::SERVER] {
            for (kind, octets) in messages_to(role, version, order) {
                let message = message_in(version, order, &octets);
                assert_eq!(message.kind(), kind);
                assert!(message.request_id().unwrap().is_some());
            }
        }
    }
}

/// Octets by hand: CORBA 3.3 P2 §9.8.1, the encapsulation of a BiDirIIOPServiceContext.
#[test]
fn listen_points_have_the_octets_of_the_specification() {
    let points = [
        ListenPoint { host: "h".to_owned(), port: 0x1234 },
        ListenPoint { host: "10.1".to_owned(), port: 683 },
    ];
    let context = ListenPoints::new(&points, ByteOrder::BigEndian).unwrap();
    let expected = [
        &[0, 0, 0, 0, 0, 0, 0, 2][..],
        &[0, 0, 0, 2, b'h', 0, 0x12, 0x34],
        &[0, 0, 0, 5, b'1', b'0', b'.', b'1', 0, 0, 0x02, 0xab],
    ]
    .concat();
    assert_eq!(context.as_context(), ServiceContext { tag: 5, data: &expected });
    assert_eq!(ListenPoints::decode(&expected, 1).unwrap(), (points[..1].to_vec(), 2));
    for shorter in 0..expected.len() {
        let malformed = ListenPoints::decode(&expected[..shorter], 9).unwrap_err();
        assert_eq!(malformed.kind(), GiopErrorKind::Malformed, "{shorter} octets");
    }
}

proptest! {
    #[test]
    fn listen_points_come_back(
        all in proptest::collection::vec(("[a-z0-9.:]{0,20}", any::<u16>()), 0..9),
        little: bool,
        most in 0..12_usize,
    ) {
        let points: Vec<_> =
            all.into_iter().map(|(host, port)| ListenPoint { host, port }).collect();
        let order = if little { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
        let context = ListenPoints::new(&points, order).unwrap();
        let contexts = [context.as_context()];
        let (found, named) = ServiceContexts::new(&contexts).listen_points(most).unwrap().unwrap();
        prop_assert_eq!(named, points.len());
        prop_assert_eq!(&found[..], &points[..most.min(points.len())]);
    }

    #[test]
    fn octets_that_are_no_listen_points_are_refused_or_read(
        octets in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let _ = ListenPoints::decode(&octets, 64);
    }
}
