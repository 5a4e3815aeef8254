//! The rules of a connection: what a message is to each end, which ids are whose, and what bad octets
//! are answered with. `Life` and `ReplyTable` have tests of their own, and whole conversations are
//! simulated in `tests/testkit`. CORBA 3.3 P2 §9.4.1, §9.4.8, §9.5.1, §9.8.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, Version};
use corbie_giop::{
    GiopError, GiopErrorKind, Incoming, MessageKind, MessageReader, ReaderLimits, Roles,
    cancel_request, close_connection, message_error,
};
use corbie_types::{CompletionStatus, minor};
use samples::*;

const V: Version = Version::V1_2;
const O: ByteOrder = ByteOrder::LittleEndian;

/// What one message is to an end.
fn incoming(roles: Roles, octets: &[u8]) -> Result<Incoming, GiopError> {
    let mut reader = MessageReader::new(ReaderLimits::default(), roles);
    assert_eq!(reader.receive_from(octets), octets.len());
    let message = reader.next()?.unwrap();
    roles.incoming(&message)
}

#[test]
fn each_end_gets_what_its_roles_say() {
    use Incoming as I;
    let to_server = [
        (request(V, O, 2, b""), I::Request),
        (locate_request(V, O, 2), I::LocateRequest),
        (cancel_request(V, O, 2).to_vec(), I::CancelRequest),
    ];
    let to_client = [(reply(V, O, 1, b""), I::Reply), (locate_reply(V, O, 1), I::LocateReply)];
    let closes = close_connection(V, O).to_vec();
    for (octets, meaning) in &to_server {
        assert_eq!(incoming(Roles::SERVER, octets), Ok(*meaning));
        assert_eq!(incoming(Roles::both(false), octets), Ok(*meaning));
        let refused = incoming(Roles::CLIENT, octets).unwrap_err();
        assert_eq!(refused.kind(), GiopErrorKind::WrongRole);
    }
    for (octets, meaning) in &to_client {
        assert_eq!(incoming(Roles::CLIENT, octets), Ok(*meaning));
        assert_eq!(incoming(Roles::both(false), octets), Ok(*meaning));
        let refused = incoming(Roles::SERVER, octets).unwrap_err();
        assert_eq!(refused.kind(), GiopErrorKind::WrongRole);
    }
    for roles in [Roles::CLIENT, Roles::SERVER, Roles::both(true)] {
        assert_eq!(incoming(roles, &closes), Ok(I::CloseConnection));
        let told = incoming(roles, &message_error(V, O)).unwrap_err();
        assert_eq!(told.kind(), GiopErrorKind::PeerReportedError);
        let exception = told.to_system_exception(CompletionStatus::Maybe);
        assert_eq!(exception.minor, minor::COMM_FAILURE_MESSAGE_ERROR);
        assert!(roles.last_words(&told, V).is_none(), "a MessageError is not answered");
    }
}

#[test]
fn where_both_ends_ask_an_answer_has_an_id_of_this_end() {
    for (opened, own, of_peer) in [(true, 4, 5), (false, 5, 4)] {
        let roles = Roles::both(opened);
        // A client that has not offered its connection gives all ids.
        for id in [own, of_peer] {
            assert_eq!(incoming(roles, &request(V, O, id, b"")), Ok(Incoming::Request));
        }
        assert_eq!(incoming(roles, &reply(V, O, own, b"")), Ok(Incoming::Reply));
        let foreign = incoming(roles, &reply(V, O, of_peer, b"")).unwrap_err();
        assert_eq!(foreign.kind(), GiopErrorKind::WrongRole);
        for number in [0, 1, 77, u32::MAX >> 1] {
            let id = roles.ids.id(number);
            assert_eq!(roles.ids.number(id), Some(number));
            assert_eq!(Roles::both(!opened).ids.number(id), None);
        }
    }
}

#[test]
fn garbage_is_answered_in_the_dialect_of_the_connection() {
    let error = incoming(Roles::SERVER, b"what is this").unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::BadMagic);
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        let word = Roles::SERVER.last_words(&error, version).unwrap();
        assert_eq!(word, message_error(version, ByteOrder::NATIVE));
    }
}

#[test]
fn a_header_that_cannot_be_decoded_is_answered_too() {
    // The number of service contexts stands in front of the id.
    let mut octets = request(Version::V1_1, O, 1, b"");
    octets[12] = 0xff;
    octets[15] = 0xff;
    let mut reader = MessageReader::new(ReaderLimits::default(), Roles::SERVER);
    reader.receive_from(&octets);
    let message = reader.next().unwrap().unwrap();
    assert_eq!((message.kind(), message.header.version), (MessageKind::Request, Version::V1_1));
    let error = message.request().unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::Malformed);
    assert!(Roles::SERVER.last_words(&error, message.header.version).is_some());
}

#[test]
fn an_end_in_the_middle_of_a_message_is_truncated() {
    let mut reader = MessageReader::new(ReaderLimits::default(), Roles::SERVER);
    reader.check_end_of_stream().unwrap();
    reader.receive_from(&request(V, O, 1, b"")[..20]);
    assert!(reader.next().unwrap().is_none());
    let error = reader.check_end_of_stream().unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::Truncated);
    assert!(Roles::SERVER.last_words(&error, V).is_none(), "the peer is gone");
}
