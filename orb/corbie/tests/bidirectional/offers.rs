//! What a server makes of offers: a peer that sends octets by hand claims places that are its own,
//! and of others; too many, and none that can be read; and goes away.

use super::echo::Echo;
use super::{PATIENCE, client, server};
use corbie::access::{EgressRule, EgressRules, Otherwise, Peers};
use corbie::protocol::ByteOrder;
use corbie::{CompletionStatus, Orb, minor};
use corbie_giop::{ListenPoint, ListenPoints, ServiceContext};
use corbie_testkit::{
    CapturedLog, MessageKind, RawPeer, RawRequest, message_header, object_key_in,
};
use std::thread::{self, JoinHandle};

/// A peer with a connection to a server, by which it calls the server's object.
struct Offering {
    peer: RawPeer,
    key: Vec<u8>,
    next: u32,
}

impl Offering {
    /// From the address 127.0.0.`host`.
    fn from(host: u8, server: &Orb, echo: &Echo) -> Self {
        let peer = RawPeer::connect_from(host, server.listen_addresses()[0]).unwrap();
        Offering { peer, key: object_key_in(&echo.0.to_string()), next: 0 }
    }

    /// Calls the server with a context of these octets; the octets of its answer.
    fn tell(&mut self, data: &[u8]) -> Vec<u8> {
        self.next += 2;
        let request = RawRequest {
            object_key: &self.key,
            operation: "double",
            request_id: self.next,
            arguments: &4_i64.to_be_bytes(),
        };
        let context = ServiceContext { tag: 5, data };
        self.peer.send(&request.octets_with(&[context])).unwrap();
        self.peer.receive_message(PATIENCE).unwrap()
    }

    /// Claims places; the server answers its call all the same.
    fn claim(&mut self, places: &[(&str, u16)]) {
        let point =
            |(host, port): &(&str, u16)| ListenPoint { host: (*host).to_owned(), port: *port };
        let points: Vec<_> = places.iter().map(point).collect();
        let points = ListenPoints::new(&points, ByteOrder::LittleEndian).unwrap();
        assert_eq!(status(&self.tell(points.as_context().data)), 0);
    }

    /// Answers one call of the server with 42, in a thread of its own; the id of that call.
    fn answers(mut self) -> JoinHandle<(Self, u32)> {
        thread::spawn(move || {
            let request = self.peer.receive_message(PATIENCE).unwrap();
            assert_eq!(request[7], MessageKind::Request as u8);
            let id = u32::from_ne_bytes(*request[12..].first_chunk().unwrap());
            let header = message_header(MessageKind::Reply, false, 20);
            let reply = [&header[..], &id.to_be_bytes(), &[0; 8], &42_i64.to_be_bytes()].concat();
            self.peer.send(&reply).unwrap();
            (self, id)
        })
    }
}

/// The status of a Reply without service contexts.
fn status(reply: &[u8]) -> u8 {
    assert_eq!(reply[7], MessageKind::Reply as u8);
    let order = usize::from(reply[6] & 1);
    [reply[19], reply[16]][order]
}

/// A reference to an object at a place, as the server has it.
fn at(server: &Orb, place: &str) -> Echo {
    Echo(server.string_to_object(&format!("corbaloc:iiop:1.2@{place}/Echo")).unwrap())
}

#[test]
fn a_place_of_its_own_is_called_over_its_connection_with_odd_ids_until_that_has_gone() {
    let (server, echo) = server(&[]);
    let (there, own) = super::server(&[]);
    let port = there.listen_addresses()[0].port();
    let mut peer = Offering::from(1, &server, &echo);
    peer.claim(&[("127.0.0.1", port), ("ours.invalid", 9)]);
    let back = at(&server, "ours.invalid:9");
    let answering = peer.answers();
    assert_eq!(back.double(1).unwrap(), 42, "the peer answered, and no server");
    let (peer, id) = answering.join().unwrap();
    assert_eq!(id % 2, 1, "the peer opened the connection, so its ids are even");
    let theirs = super::as_client(&server, &own);
    let answering = peer.answers();
    assert_eq!(theirs.double(1).unwrap(), 42, "as long as the connection is open");
    let (mut peer, _) = answering.join().unwrap();
    let leaving = thread::spawn(move || peer.peer.receive_message(PATIENCE).map(drop));
    let lost = theirs.double(1).unwrap_err();
    assert_eq!(lost.minor, minor::COMM_FAILURE_CLOSED, "{lost}");
    assert_eq!(lost.completed, CompletionStatus::Maybe);
    leaving.join().unwrap().unwrap();
    assert_eq!(theirs.double(4).unwrap(), 8, "a connection to the place is opened");
    let gone = back.double(1).unwrap_err();
    assert_eq!(gone.minor, minor::TRANSIENT_NO_WAY_BACK, "{gone}");
    assert_eq!(gone.completed, CompletionStatus::No);
    let mut again = Offering::from(1, &server, &echo);
    again.claim(&[("ours.invalid", 9)]);
    let answering = again.answers();
    assert_eq!(back.double(1).unwrap(), 42, "the client has come again");
    drop(answering.join().unwrap());
    there.shutdown(true);
    server.shutdown(true);
}

#[test]
fn places_of_others_are_not_taken_and_the_log_says_which_peer_claimed_them() {
    let log = CapturedLog::install();
    let (server, echo) = server(&[]);
    let (client, own, _noted) = client(&[]);
    let theirs = super::as_client(&client, &echo);
    assert_eq!(theirs.call_back(&own, 1).unwrap(), 2);
    let place = own.0.ior().profiles[0].iiop().unwrap().unwrap().host;
    let itself = server.listen_addresses()[0].port();
    for (host, port, why) in [
        ("192.0.2.77", 683, "not the address that the client comes from"),
        ("127.0.0.1", itself, "this server itself listens there"),
        ("some.host.of.others", 683, "names are not looked up"),
        ("127.0.0.9", 0, "0 is no port"),
        (&*place, 1, "another peer has claimed this name"),
    ] {
        let mut thief = Offering::from(66, &server, &echo);
        thief.claim(&[(host, port)]);
        let name = thief.peer.name();
        assert!(log.line_with(&[host, name, why], PATIENCE).is_some(), "{host}");
        assert_eq!(theirs.call_back(&own, 7).unwrap(), 14, "{host}: the client has it still");
    }
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_rule_of_egress_makes_no_peer_another_one() {
    let log = CapturedLog::install();
    let (server, echo) = server(&[]);
    let routed = EgressRule::of([Peers::anyone().address("127.0.0.7/32".parse().unwrap())]);
    let inner = routed.address("192.0.2.0/24".parse().unwrap());
    server.set_egress(EgressRules::otherwise(Otherwise::Refuse).allow(inner));
    let mut peer = Offering::from(7, &server, &echo);
    peer.claim(&[("192.0.2.8", 683)]);
    let parts = ["192.0.2.8", peer.peer.name(), "not the address"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    server.shutdown(true);
}

#[test]
fn a_name_belongs_to_its_first_address_also_when_the_client_has_gone() {
    let log = CapturedLog::install();
    let (server, echo) = server(&[]);
    let mut owner = Offering::from(1, &server, &echo);
    owner.claim(&[("kept.invalid", 9)]);
    drop(owner);
    let mut thief = Offering::from(67, &server, &echo);
    thief.claim(&[("kept.invalid", 9)]);
    let parts = ["kept.invalid", thief.peer.name(), "another peer has claimed this name"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    let mut again = Offering::from(1, &server, &echo);
    again.claim(&[("kept.invalid", 9)]);
    let answering = again.answers();
    assert_eq!(at(&server, "kept.invalid:9").double(1).unwrap(), 42);
    drop(answering.join().unwrap());
    server.shutdown(true);
}

#[test]
fn a_second_connection_that_ends_leaves_the_first() {
    let (server, echo) = server(&[]);
    let mut first = Offering::from(1, &server, &echo);
    first.claim(&[("twice.invalid", 9)]);
    let mut second = Offering::from(1, &server, &echo);
    second.claim(&[("twice.invalid", 9)]);
    let back = at(&server, "twice.invalid:9");
    let answering = second.answers();
    assert_eq!(back.double(1).unwrap(), 42);
    let (mut second, _) = answering.join().unwrap();
    // It goes with a request that it has taken.
    let leaving = thread::spawn(move || second.peer.receive_message(PATIENCE).map(drop));
    back.double(1).unwrap_err();
    leaving.join().unwrap().unwrap();
    let answering = first.answers();
    assert_eq!(back.double(1).unwrap(), 42, "over the first");
    drop(answering.join().unwrap());
    server.shutdown(true);
}

#[test]
fn a_peer_that_offers_nothing_has_the_limits_of_idle_connections() {
    let (server, _echo) = server(&["-ORBFirstOctetTimeout", "1s"]);
    let mut silent = RawPeer::connect(server.listen_addresses()[0]).unwrap();
    assert!(silent.answered(PATIENCE).is_closed());
    server.shutdown(true);
}

#[test]
fn thousands_of_places_and_unreadable_ones_cost_the_peer_only_itself() {
    let log = CapturedLog::install();
    let (server, echo) = server(&[]);
    let mut peer = Offering::from(1, &server, &echo);
    let hosts: Vec<String> = (0..5_000).map(|number| format!("n{number}.invalid")).collect();
    let all: Vec<_> = hosts.iter().map(|host| (&**host, 1)).collect();
    peer.claim(&all);
    let parts = [peer.peer.name(), "5000 places", "reference_addresses_max"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    // In each request some more.
    all.chunks(50).for_each(|some| peer.claim(some));
    let last = at(&server, "n64.invalid:1").double(1).unwrap_err();
    assert_eq!(last.minor, minor::TRANSIENT_NO_WAY_BACK, "{last}");
    let lines = log.lines_with(peer.peer.name());
    let told = lines.iter().filter(|line| line.contains("reference_addresses_max"));
    assert_eq!(told.count(), 1, "one line a connection");
    for data in [&[][..], &[1, 0, 0, 0, 255, 255, 255, 255], &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9]]
    {
        assert_eq!(status(&peer.tell(data)), 2, "{data:?}: a system exception");
    }
    let answering = peer.answers();
    assert_eq!(at(&server, "n63.invalid:1").double(1).unwrap(), 42, "those before the limit");
    drop(answering.join().unwrap());
    server.shutdown(true);
}

/// A peer without TLS claims the place of TLS where `own` is, to which the server goes over TLS.
pub(super) fn does_not_get_calls_that_go_over_tls(
    server: &Orb,
    echo: &Echo,
    place: &str,
    own: &Echo,
) {
    let (host, port) = place.rsplit_once(':').unwrap();
    let mut peer = Offering::from(1, server, echo);
    peer.claim(&[(host, port.parse().unwrap())]);
    assert_eq!(super::as_client(server, own).double(4).unwrap(), 8, "not 42");
}

#[test]
fn a_peer_that_asks_without_end_while_it_owes_a_reply_is_cut() {
    let log = CapturedLog::install();
    let (server, echo) =
        server(&["-ORBQueuedOctetsMax", "64KiB", "-ORBServerConcurrency", "thread-pool"]);
    let mut peer = Offering::from(1, &server, &echo);
    peer.claim(&[("floods.invalid", 1)]);
    let back = at(&server, "floods.invalid:1");
    let called = thread::spawn(move || back.double(1));
    // From now on the server waits for this reply.
    assert_eq!(peer.peer.receive_message(PATIENCE).unwrap()[7], MessageKind::Request as u8);
    let Offering { key, .. } = &peer;
    let (operation, arguments) = ("double", &4_i64.to_be_bytes()[..]);
    let request = RawRequest { object_key: key, operation, request_id: 2, arguments }.octets();
    let some = request.repeat(1_000);
    let flooded = (0..10_000).find(|_| peer.peer.send(&some).is_err());
    assert!(flooded.is_some(), "the connection is cut, long before ten million requests");
    let parts = [peer.peer.name(), "takes no answers", "queued_octets_max"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    assert_eq!(called.join().unwrap().unwrap_err().completed, CompletionStatus::Maybe);
    server.shutdown(true);
}
