//! The rules of a connection, one test each; whole conversations are in `tests/testkit`.
//! CORBA 3.3 P2 §9.4.4, §9.4.7, §9.4.8, §9.5.1.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use corbie_cdr::{ByteOrder, Version};
use corbie_giop::{
    Answer, Connection, ConnectionState, Event, GiopErrorKind, Outstanding, ReaderLimits, Roles,
    cancel_request, close_connection, message_error,
};
use corbie_types::{CompletionStatus, SystemExceptionKind};
use proptest::prelude::*;
use samples::*;
use std::collections::BTreeSet;

const V: Version = Version::V1_2;
const O: ByteOrder = ByteOrder::LittleEndian;

fn connection(role: Roles) -> Connection {
    Connection::new(ReaderLimits::default(), role)
}

fn receive(connection: &mut Connection, octets: &[u8]) {
    let space = connection.space();
    space[..octets.len()].copy_from_slice(octets);
    connection.handle_received(octets.len());
}

/// The events in short, until the connection wants more octets.
fn events(connection: &mut Connection) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(event) = connection.poll_event().unwrap() {
        events.push(match event {
            Event::Request { header, .. } => format!("request {}", header.request_id),
            Event::LocateRequest { header, .. } => format!("locate {}", header.request_id),
            Event::CancelRequest { request_id } => format!("cancel {request_id}"),
            Event::Reply { header, .. } => format!("reply {}", header.request_id),
            Event::LocateReply { header, .. } => format!("located {}", header.request_id),
            Event::CloseConnection => "close".to_owned(),
        });
    }
    events
}

#[test]
fn replies_reach_only_those_who_wait() {
    let mut client = connection(Roles::CLIENT);
    client.begin_request(1).unwrap();
    client.begin_request(2).unwrap();
    assert_eq!(client.begin_request(2).unwrap_err().kind(), GiopErrorKind::DuplicateRequestId);
    receive(&mut client, &reply(V, O, 2, b"two"));
    receive(&mut client, &reply(V, O, 2, b"again"));
    receive(&mut client, &locate_reply(V, O, 1));
    assert_eq!(events(&mut client), ["reply 2", "located 1"]);
    assert_eq!(client.late_replies(), 1);
    assert!(client.outstanding().is_empty());
}

#[test]
fn a_cancelled_request_gets_no_reply() {
    let mut client = connection(Roles::CLIENT);
    client.begin_request(1).unwrap();
    let cancel = client.cancel_request(1).unwrap();
    assert_eq!(cancel, cancel_request(V, ByteOrder::NATIVE, 1));
    assert!(client.cancel_request(1).is_none(), "once is enough");
    receive(&mut client, &reply(V, O, 1, b""));
    assert!(events(&mut client).is_empty());
    assert_eq!(client.late_replies(), 1);
}

#[test]
fn a_server_hears_of_a_cancel_as_long_as_it_owes_the_reply() {
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &request(V, O, 1, b""));
    receive(&mut server, &cancel_request(V, O, 1));
    receive(&mut server, &cancel_request(V, O, 99));
    assert_eq!(events(&mut server), ["request 1", "cancel 1"]);
    assert!(server.reply_sent(1));
    assert!(!server.reply_sent(1));
    receive(&mut server, &cancel_request(V, O, 1));
    assert!(events(&mut server).is_empty());
}

#[test]
fn a_server_closes_after_its_last_reply() {
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &[request(V, O, 1, b""), locate_request(V, O, 2)].concat());
    assert_eq!(events(&mut server), ["request 1", "locate 2"]);
    server.close();
    assert_eq!(server.state(), ConnectionState::Closing);
    receive(&mut server, &request(V, O, 3, b""));
    assert!(events(&mut server).is_empty(), "not begun");
    assert!(server.reply_sent(1));
    assert!(server.poll_transmit().is_none(), "owes a reply");
    assert!(server.reply_sent(2));
    assert_eq!(server.state(), ConnectionState::Closed);
    assert_eq!(server.poll_transmit().unwrap(), close_connection(V, O));
    assert!(server.poll_transmit().is_none());
}

#[test]
fn an_idle_server_closes_at_once() {
    let mut server = connection(Roles::SERVER);
    server.set_version(Version::V1_0);
    server.close();
    server.close();
    assert_eq!(server.state(), ConnectionState::Closed);
    let expected = close_connection(Version::V1_0, ByteOrder::NATIVE);
    assert_eq!(server.poll_transmit().unwrap(), expected);
}

#[test]
fn after_close_connection_a_client_may_send_again_elsewhere() {
    let mut client = connection(Roles::CLIENT);
    client.begin_request(1).unwrap();
    client.begin_request(2).unwrap();
    receive(&mut client, &[&reply(V, O, 1, b"")[..], &close_connection(V, O)].concat());
    assert_eq!(events(&mut client), ["reply 1", "close"]);
    assert_eq!(client.state(), ConnectionState::Closed);
    assert_eq!(client.outstanding().iter().collect::<Vec<_>>(), [2]);
    let error = client.begin_request(3).unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::Closed);
    let exception = error.to_system_exception(CompletionStatus::No);
    assert_eq!(exception.kind, SystemExceptionKind::Transient);
    client.handle_end_of_stream().unwrap();
    assert!(client.cancel_request(2).is_none(), "nothing may be sent");
}

#[test]
fn an_end_without_close_connection_leaves_requests_in_doubt() {
    let mut client = connection(Roles::CLIENT);
    client.handle_end_of_stream().unwrap();
    let mut client = connection(Roles::CLIENT);
    client.begin_request(1).unwrap();
    let error = client.handle_end_of_stream().unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::Lost);
    let exception = error.to_system_exception(CompletionStatus::Maybe);
    assert_eq!(exception.kind, SystemExceptionKind::CommFailure);
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &request(V, O, 1, b"")[..20]);
    assert!(events(&mut server).is_empty());
    assert_eq!(server.handle_end_of_stream().unwrap_err().kind(), GiopErrorKind::Truncated);
}

#[test]
fn garbage_is_answered_in_the_highest_version_and_the_connection_ends() {
    let mut server = connection(Roles::SERVER);
    receive(&mut server, b"what is this");
    let error = server.poll_event().unwrap_err();
    assert_eq!((error.kind(), error.answer()), (GiopErrorKind::BadMagic, Answer::MessageError));
    assert_eq!(server.state(), ConnectionState::Closed);
    let farewell = server.poll_transmit().unwrap();
    assert_eq!(farewell, message_error(V, ByteOrder::NATIVE));
    assert!(server.poll_event().unwrap().is_none());
}

#[test]
fn a_header_that_cannot_be_decoded_ends_the_connection_too() {
    let mut octets = request(Version::V1_1, O, 1, b"");
    octets[12] = 0xff;
    octets[15] = 0xff;
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &octets);
    assert_eq!(server.poll_event().unwrap_err().kind(), GiopErrorKind::Malformed);
    let farewell = server.poll_transmit().unwrap();
    assert_eq!(farewell, message_error(Version::V1_1, O), "in the client's dialect");
    // A key beyond the message is found behind the request id.
    let mut octets = request(V, O, 1, b"");
    octets[27] = 0x10;
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &octets);
    assert_eq!(server.poll_event().unwrap_err().kind(), GiopErrorKind::Malformed);
    assert_eq!(server.state(), ConnectionState::Closed);
    assert!(server.poll_transmit().is_some());
}

#[test]
fn message_error_from_the_peer_is_not_answered() {
    for role in [Roles::CLIENT, Roles::SERVER] {
        let mut connection = connection(role);
        receive(&mut connection, &message_error(V, O));
        let error = connection.poll_event().unwrap_err();
        assert_eq!(error.kind(), GiopErrorKind::PeerReportedError);
        assert!(connection.poll_transmit().is_none());
        assert_eq!(connection.state(), ConnectionState::Closed);
    }
}

#[test]
fn a_request_id_in_use_is_refused_but_not_for_oneways() {
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &request(V, O, 1, b""));
    receive(&mut server, &request(V, O, 1, b""));
    assert!(server.poll_event().unwrap().is_some());
    assert_eq!(server.poll_event().unwrap_err().kind(), GiopErrorKind::DuplicateRequestId);

    let mut oneway = request(V, O, 1, b"");
    oneway[16] = 0;
    let mut server = connection(Roles::SERVER);
    receive(&mut server, &[&oneway[..], &oneway].concat());
    assert_eq!(events(&mut server), ["request 1", "request 1"]);
    assert!(server.outstanding().is_empty());
}

#[test]
fn too_many_unanswered_requests_close_the_connection() {
    let mut server = connection(Roles::SERVER);
    server.set_outstanding_max(2);
    for id in 1..=3 {
        receive(&mut server, &request(V, O, id, b""));
    }
    assert!(server.poll_event().unwrap().is_some());
    assert!(server.poll_event().unwrap().is_some());
    let error = server.poll_event().unwrap_err();
    assert_eq!(error.kind(), GiopErrorKind::TooManyRequests);
    assert_eq!(server.poll_transmit().unwrap(), close_connection(V, O));
}

#[test]
fn a_closed_client_reads_nothing_more() {
    let mut client = connection(Roles::CLIENT);
    client.begin_request(1).unwrap();
    receive(&mut client, &reply(V, O, 1, b""));
    client.close();
    assert!(events(&mut client).is_empty());
    assert!(client.poll_transmit().is_none(), "a client just closes");
    assert_eq!(client.outstanding().len(), 1);
}

proptest! {
    /// The flat table agrees with a set of the standard library.
    #[test]
    fn outstanding_is_a_set(
        steps in prop::collection::vec((any::<bool>(), 0..u32::MAX, 0..40u32), 0..600),
        few in any::<bool>(),
        stride in prop_oneof![Just(1u32), Just(0x1000), any::<u32>()],
    ) {
        let mut model = BTreeSet::new();
        let mut set = Outstanding::new();
        for (insert, any, one_of_few) in steps {
            let id = if few { one_of_few } else { any }.wrapping_mul(stride);
            if insert {
                prop_assert_eq!(set.insert(id).is_ok(), model.insert(id));
            } else {
                prop_assert_eq!(set.remove(id), model.remove(&id));
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert_eq!(set.contains(id), model.contains(&id));
        }
        prop_assert_eq!(set.iter().collect::<BTreeSet<_>>(), model);
    }
}
