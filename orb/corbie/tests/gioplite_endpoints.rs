//! GIOPlite as an operator meets it: endpoints, profiles, who prefers which protocol, peers that
//! speak the other one, and bad octets at a GIOPlite port. Paper POA §3.3.
//!
//! That calls of every kind work over it is tested by the suites in `gioplite.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{Ior, Orb, SystemExceptionKind};
use corbie_cdr::{ByteOrder, Encoder};
use corbie_giop::{
    MessageHeader, MessageKind, RequestHeader, ResponseFlags, ServiceContexts, Target, Version,
    finish_message, write_request,
};
use corbie_testkit::{Answered, CapturedLog, RawPeer, RawRequest, Seed, object_key_in};
use corbie_types::{IiopProfile, TaggedProfile, ior::profile_tag};
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread};
use std::net::SocketAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const BOTH: &str = "iiop://127.0.0.1:0,giopl://127.0.0.1:0";

/// A server on these endpoints, its object, and where it listens.
fn server(endpoints: &str, more: &[&str]) -> (Orb, Echo, Vec<SocketAddr>) {
    let alone = ["-ORBListenEndpoints", endpoints, "-ORBCollocation", "none"];
    let orb = Orb::init([&alone[..], more].concat()).unwrap();
    lend_a_thread(&orb);
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let addresses = orb.listen_addresses();
    (orb, echo, addresses)
}

fn ior(echo: &Echo) -> Ior {
    echo.0.to_string().parse().unwrap()
}

fn client(more: &[&str]) -> Orb {
    let alone = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBCollocation", "none"];
    Orb::init([&alone[..], more].concat()).unwrap()
}

fn echo_of(client: &Orb, ior: &Ior) -> Echo {
    Echo(client.string_to_object(&ior.to_string()).unwrap())
}

/// A reference to the same object with this one profile.
fn with_profile(echo: &Echo, profile: TaggedProfile) -> Ior {
    Ior { profiles: vec![profile], ..ior(echo) }
}

fn lite_profile(echo: &Echo) -> TaggedProfile {
    let is_lite = |p: &&TaggedProfile| p.tag == profile_tag::CORBIE_GIOPLITE;
    ior(echo).profiles.iter().find(is_lite).unwrap().clone()
}

/// The GIOPlite profile, but of this port.
fn lite_at(echo: &Echo, port: u16) -> Ior {
    let mut body = IiopProfile::decode(&lite_profile(echo).data).unwrap();
    body.port = port;
    let data = body.encode().unwrap();
    with_profile(echo, TaggedProfile { tag: profile_tag::CORBIE_GIOPLITE, data })
}

/// The profile as a server of the other byte order writes it, without components.
fn in_other_order(profile: &TaggedProfile) -> TaggedProfile {
    let IiopProfile { version, host, port, object_key, .. } =
        IiopProfile::decode(&profile.data).unwrap();
    let order = ByteOrder::NATIVE.opposite();
    let mut e = Encoder::new(Vec::new(), order);
    e.write_octets(&[order.flag(), version.major, version.minor]);
    e.write_string(&host).unwrap();
    e.write_ushort(port);
    e.write_octet_sequence(&object_key).unwrap();
    e.write_ulong(0);
    TaggedProfile { tag: profile.tag, data: e.to_vec() }
}

#[test]
fn references_carry_both_profiles_and_clients_choose() {
    let log = CapturedLog::install();
    let (server, echo, addresses) = server(BOTH, &[]);
    let tags: Vec<u32> = ior(&echo).profiles.iter().map(|profile| profile.tag).collect();
    assert_eq!(tags, [profile_tag::CORBIE_GIOPLITE, profile_tag::INTERNET_IOP]);
    for (options, port, protocol) in [
        (&[][..], addresses[0].port(), "protocol=GIOP"),
        (&["-ORBgioplite"][..], addresses[1].port(), "protocol=GIOPlite"),
    ] {
        let client = client(options);
        assert_eq!(as_client(&client, &echo).double(21).unwrap(), 42);
        let parts = ["connection opened", &format!("127.0.0.1:{port}"), protocol];
        assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with("opened"));
        client.shutdown(true);
    }
    server.shutdown(true);
}

#[test]
fn a_server_may_listen_for_gioplite_alone() {
    let (server, echo, _) = server("giopl://127.0.0.1:0", &[]);
    let lite = client(&["-ORBgioplite"]);
    assert_eq!(as_client(&lite, &echo).double(4).unwrap(), 8);
    let plain = client(&[]);
    let exception = echo_of(&plain, &ior(&echo)).double(4).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ImpLimit);
    assert!(exception.to_string().contains("-ORBgioplite"), "{exception}");
    for orb in [server, lite, plain] {
        orb.shutdown(true);
    }
}

#[test]
fn a_client_falls_back_to_iiop() {
    let (server, echo, _) = server(BOTH, &[]);
    let lite = client(&["-ORBgioplite"]);
    // No server listens there any more.
    let free = corbie_testkit::servers::free_port();
    let mut both = lite_at(&echo, free);
    both.profiles.extend(ior(&echo).profiles.into_iter().skip(1));
    assert_eq!(echo_of(&lite, &both).double(1).unwrap(), 2);
    // A server of the other byte order.
    let foreign = with_profile(&echo, in_other_order(&lite_profile(&echo)));
    let exception = echo_of(&lite, &foreign).double(1).unwrap_err();
    assert!(exception.to_string().contains("other byte order"), "{exception}");
    server.shutdown(true);
    lite.shutdown(true);
}

#[test]
fn the_profile_describes_itself() {
    let (server, echo, addresses) = server(BOTH, &[]);
    let text = format!("{:?}", ior(&echo).describe());
    assert!(text.contains("Corbie GIOPlite") && text.contains("endian"), "{text}");
    assert!(text.contains(&addresses[1].port().to_string()), "{text}");
    server.shutdown(true);
}

#[test]
fn a_giop_peer_at_a_gioplite_port_is_told_in_giop() {
    let log = CapturedLog::install();
    for strategy in STRATEGIES {
        let (server, echo, addresses) = server(BOTH, &["-ORBServerConcurrency", strategy]);
        let object_key = object_key_in(&echo.0.to_string());
        let request = RawRequest {
            object_key: &object_key,
            operation: "double",
            request_id: 1,
            arguments: &[],
        };
        let mut peer = RawPeer::connect(addresses[1]).unwrap();
        peer.send(&request.octets()).unwrap();
        assert_eq!(peer.answered(PATIENCE), Answered::MessageError, "{strategy}");
        let address = peer.local_address().unwrap().to_string();
        let parts = ["WARN", &address, "speaks GIOP where GIOPlite was agreed", "iiop://"];
        assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with(&address));
        assert_eq!(echo.double(2).unwrap(), 4);
        server.shutdown(true);
    }
}

#[test]
fn a_gioplite_client_at_an_iiop_port_learns_what_is_wrong() {
    let log = CapturedLog::install();
    let (server, echo, addresses) = server(BOTH, &[]);
    let lite = client(&["-ORBgioplite"]);
    let wrong = echo_of(&lite, &lite_at(&echo, addresses[0].port()));
    let exception = wrong.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::CommFailure, "{exception}");
    assert!(exception.to_string().contains("the peer speaks GIOP"), "{exception}");
    let parts = ["WARN", "bad octets", "it may be GIOPlite", "giopl://"];
    assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with("bad octets"));
    server.shutdown(true);
    lite.shutdown(true);
}

/// A whole GIOPlite request, as a good client sends it.
fn request(echo: &Echo, arguments: &[u8]) -> Vec<u8> {
    let object_key = object_key_in(&echo.0.to_string());
    let mut e = Encoder::native();
    e.set_version(Version::GIOP_LITE);
    let header = RequestHeader {
        request_id: 1,
        response: ResponseFlags::WithTarget,
        target: Target::Key(&object_key),
        operation: "double",
        service_contexts: ServiceContexts::EMPTY,
    };
    let start = write_request(&mut e, &header).unwrap();
    e.write_octets(arguments);
    finish_message(&mut e, start).unwrap();
    e.to_vec()
}

/// The server ends the connection with MessageError, in GIOPlite, and serves others.
#[track_caller]
fn refused(address: SocketAddr, echo: &Echo, octets: &[u8], words: &[&str]) {
    let mut peer = RawPeer::connect(address).unwrap();
    let _ = peer.send(octets);
    let answered = peer.answered(PATIENCE);
    assert_eq!(answered, Answered::Octets(vec![0, 0, 0, 0, 6]), "{words:?}");
    let address = peer.local_address().unwrap().to_string();
    let parts = [&["WARN", &address][..], words].concat();
    let log = CapturedLog::install();
    assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with(&address));
    assert_eq!(echo.double(21).unwrap(), 42);
}

#[test]
fn bad_octets_are_refused_and_others_are_served() {
    CapturedLog::install();
    for strategy in STRATEGIES {
        let options = ["-ORBServerConcurrency", strategy, "-ORBMessageOctetsMax", "1MiB"];
        let (server, echo, addresses) = server(BOTH, &options);
        let lite = client(&["-ORBgioplite"]);
        let good = as_client(&lite, &echo);
        let address = addresses[1];
        refused(address, &good, b"GET / HTTP/1.1\r\n\r\n", &["GIOPlite", "GET / HTTP"]);
        let claim = [&u32::to_ne_bytes(1 << 20)[..], &[0]].concat();
        refused(address, &good, &claim, &["larger than the limit", "1048576"]);
        refused(address, &good, &[0, 0, 0, 0, 9], &["message type is unknown"]);
        refused(address, &good, &[0, 0, 0, 0, 1], &["in its role", "Reply"]);
        let mut bad_key = request(&echo, &[0; 8]);
        bad_key[12..16].copy_from_slice(&0x00ff_ffff_u32.to_ne_bytes());
        refused(address, &good, &bad_key, &["object_key"]);
        halves(address, &good, &request(&echo, &[0; 8]));
        crowd(address, &good, &request(&echo, &[0; 8]));
        server.shutdown(true);
        lite.shutdown(true);
    }
}

/// Half a message, then the end.
fn halves(address: SocketAddr, good: &Echo, request: &[u8]) {
    for len in [1, 3, 4, 5, 11, 12, request.len() - 1] {
        let mut peer = RawPeer::connect(address).unwrap();
        peer.send(&request[..len]).unwrap();
        peer.finish().unwrap();
        assert!(peer.answered(PATIENCE).is_closed(), "{len} octets");
    }
    assert_eq!(good.double(3).unwrap(), 6);
}

/// Truncated, flipped, random and shifted requests.
fn crowd(address: SocketAddr, good: &Echo, request: &[u8]) {
    let mut seed = Seed::new(20);
    let mut peers = Vec::new();
    for round in 0..40 {
        let mut octets = request.to_vec();
        match round % 4 {
            0 => octets.truncate(seed.below(octets.len())),
            1 => {
                let at = seed.below(octets.len());
                octets[at] ^= 1 << seed.below(8);
            }
            2 => octets.iter_mut().for_each(|octet| *octet = seed.next_u64() as u8),
            _ => octets.splice(0..0, request[..seed.below(40)].to_vec()).for_each(drop),
        }
        let mut peer = RawPeer::connect(address).unwrap();
        let _ = peer.send(&octets);
        peers.push(peer);
        assert_eq!(good.double(round).unwrap(), round * 2);
    }
}

#[test]
fn a_slow_message_is_ended_by_the_message_timeout() {
    for strategy in ["thread-per-connection", "thread-pool"] {
        let options = ["-ORBServerConcurrency", strategy, "-ORBMessageTimeout", "500ms"];
        let (server, echo, addresses) = server(BOTH, &options);
        let mut peer = RawPeer::connect(addresses[1]).unwrap();
        let request = request(&echo, &[0; 8]);
        let sent = peer.send_slowly(&request, Duration::from_secs(1));
        assert!(sent < request.len(), "{strategy}: all of it was waited for");
        server.shutdown(true);
    }
}

/// What a call costs on the wire, with the keys of this object adapter: a request is 16 octets
/// shorter than in GIOP 1.2 and a reply 12, when the argument needs the same padding.
#[test]
fn the_octets_of_a_call() {
    let (server, echo, _) = server(BOTH, &[]);
    let lite = request(&echo, &[0; 8]).len();
    let object_key = object_key_in(&echo.0.to_string());
    let arguments = &[0; 8];
    let giop =
        RawRequest { object_key: &object_key, operation: "double", request_id: 1, arguments };
    assert_eq!(giop.octets().len() - lite, 16);
    assert_eq!(MessageHeader::OCTETS - MessageHeader::LITE_OCTETS, 7);
    assert!(!MessageKind::Request.may_be_fragmented(Version::GIOP_LITE));
    server.shutdown(true);
}
