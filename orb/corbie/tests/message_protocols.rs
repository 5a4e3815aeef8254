//! A message protocol that an application brings along (`examples/protocol/crc.rs`), as operators
//! and peers meet it: which profile is taken, what a client without it says, object URLs,
//! CancelRequest, octets that change on the way, peers that speak something else.
//!
//! That calls of every kind work in it is tested by the suites in `plugged_tcp.rs` and
//! `plugged_unix.rs`, that it goes over every transport in `protocols.rs`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::policy::{Policy, SetOverrideType};
use corbie::protocol::{Cut, Frame, MessageKind, MessageProtocol as _};
use corbie::types::ior::{MessagesProfile, profile_tag};
use corbie::types::{IiopProfile, TaggedProfile};
use corbie::{Interface, Ior, Orb, SystemExceptionKind};
use corbie_testkit::{Answered, CapturedLog, RawPeer, RawRequest, object_key_in};
use echo::crc::Crc;
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread, orb};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const BOTH: &str = "iiop://127.0.0.1:0,crc+iiop://127.0.0.1:0";

/// A server on these endpoints, its object, where it listens, and what oneways told it.
struct Server {
    orb: Orb,
    echo: Echo,
    addresses: Vec<SocketAddr>,
    notes: mpsc::Receiver<i64>,
}

fn server(endpoints: &str, more: &[&str]) -> Server {
    let alone = ["-ORBListenEndpoints", endpoints, "-ORBCollocation", "none"];
    let orb = orb(&[&alone[..], more].concat());
    lend_a_thread(&orb);
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let (servant, notes) = EchoServant::new();
    let echo = poa.activate(servant).unwrap();
    let addresses = orb.listen_addresses();
    Server { orb, echo, addresses, notes }
}

fn client(more: &[&str]) -> Orb {
    orb(&[&["-ORBCollocation", "none"][..], more].concat())
}

/// An ORB without the protocol.
fn plain() -> Orb {
    Orb::init(["-ORBCollocation", "none"]).unwrap()
}

fn echo_of(client: &Orb, ior: &Ior) -> Echo {
    Echo(client.string_to_object(&ior.to_string()).unwrap())
}

fn ior(echo: &Echo) -> Ior {
    echo.0.ior().clone()
}

/// A reference to the same object in the protocol, at another address.
fn at(echo: &Echo, address: SocketAddr) -> Ior {
    let object_key = object_key_in(&echo.0.to_string());
    let body = IiopProfile::new(
        corbie::Version::V1_2,
        address.ip().to_string(),
        address.port(),
        object_key,
    );
    let profile = MessagesProfile::around("crc", body.to_tagged().unwrap()).unwrap();
    Ior { profiles: vec![profile], ..ior(echo) }
}

#[test]
fn references_carry_both_profiles_and_clients_choose() {
    let log = CapturedLog::install();
    let server = server(BOTH, &[]);
    let tags: Vec<u32> = ior(&server.echo).profiles.iter().map(|profile| profile.tag).collect();
    assert_eq!(tags, [profile_tag::CORBIE_MESSAGES, profile_tag::INTERNET_IOP]);
    let (knows, plain) = (client(&[]), plain());
    let prefers_giop = client(&["-ORBProtocolPreference", "iiop,crc+iiop"]);
    for (client, port, protocol) in [
        (&knows, server.addresses[1].port(), "protocol=crc"),
        (&plain, server.addresses[0].port(), "protocol=GIOP"),
        (&prefers_giop, server.addresses[0].port(), "protocol=GIOP"),
    ] {
        let echo = as_client(client, &server.echo);
        echo.0.locate().unwrap();
        assert_eq!(echo.double(21).unwrap(), 42);
        let parts = ["connection opened", &format!("127.0.0.1:{port}"), protocol];
        assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with("opened"));
    }
    // Nothing is left for an ORB that does not know it, which says what would help.
    let exception = echo_of(&plain, &at(&server.echo, server.addresses[1])).double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
    for part in ["\"crc\"", "message_protocol"] {
        assert!(exception.to_string().contains(part), "{exception}");
    }
    for orb in [server.orb, knows, plain, prefers_giop] {
        orb.shutdown(true);
    }
}

#[test]
fn protocols_are_registered_once_and_by_names_of_their_own() {
    #[derive(Debug)]
    struct Named(&'static str);
    impl corbie::protocol::MessageProtocol for Named {
        fn name(&self) -> &'static str {
            self.0
        }
        fn cut(&self, octets: &[u8]) -> Result<Cut, corbie::protocol::GiopError> {
            Crc.cut(octets)
        }
        fn read<'a>(
            &self,
            kind: MessageKind,
            d: &mut corbie::protocol::Decoder<'a>,
        ) -> Result<corbie::protocol::Head<'a>, corbie::protocol::GiopError> {
            Crc.read(kind, d)
        }
        fn write(
            &self,
            head: &corbie::protocol::Head<'_>,
            e: &mut corbie::protocol::Encoder<'_>,
        ) -> Result<(), corbie::cdr::Error> {
            // Too long without a body, whatever it is.
            let written = Crc.write(head, e);
            e.write_octets(&[0; 64]);
            written
        }
        fn finish(&self, e: &mut corbie::protocol::Encoder<'_>) {
            Crc.finish(e);
        }
        fn set_request_id(&self, e: &mut corbie::protocol::Encoder<'_>, request_id: u32) {
            Crc.set_request_id(e, request_id);
        }
    }
    static GIOPL: Named = Named("giopl");
    static SIGNS: Named = Named("a+b");
    static LONG: Named = Named("long");
    let build = |arguments: &[&str],
                 protocols: &[&'static dyn corbie::protocol::MessageProtocol]| {
        let mut arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let builder =
            protocols.iter().fold(Orb::builder(), |builder, one| builder.message_protocol(*one));
        builder.arguments(&mut arguments).build().map(drop)
    };
    let crc_alone = &["-ORBListenEndpoints", "crc+iiop://127.0.0.1:0"][..];
    let crc_over_none = &["-ORBListenEndpoints", "crc+pipe://x"][..];
    build(crc_alone, &[&Crc]).unwrap();
    for (arguments, protocols, sentence) in [
        (crc_alone, &[][..], "there are giopl; others"),
        (crc_over_none, &[&Crc as _], "the transport of `crc+pipe://x` is not known"),
        (&[], &[&Crc as _, &Crc as _], "two message protocols have the name \"crc\""),
        (&[], &[&GIOPL as _], "a name of the ORB's own"),
        (&[], &[&SIGNS as _], "lower-case letters and digits"),
        (&[], &[&LONG as _], "CancelRequest of \"long\" has 80 octets, not 1 to 64"),
    ] {
        let exception = build(arguments, protocols).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::BadParam, "{exception}");
        assert!(exception.to_string().contains(sentence), "{exception}");
    }
}

/// One message from the stream; `None`: the stream ended.
fn message(stream: &mut TcpStream) -> Option<(Frame, Vec<u8>)> {
    let mut octets = vec![0; 8];
    stream.read_exact(&mut octets).ok()?;
    let Ok(Cut::Message(frame)) = Crc.cut(&octets) else { panic!("{octets:02x?}") };
    octets.resize(frame.octets, 0);
    stream.read_exact(&mut octets[8..]).ok()?;
    Some((frame, octets))
}

fn id_of(message: &[u8]) -> u32 {
    u32::from_ne_bytes(message[12..16].try_into().unwrap())
}

/// Stands between one client and the server at `address`: `each` sees every message of the client,
/// and may change it.
fn relay(
    address: SocketAddr,
    mut each: impl FnMut(&Frame, &mut Vec<u8>) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(address).unwrap();
        let (mut to, mut from) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let back = std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        while let Some((frame, mut octets)) = message(&mut client) {
            Crc.check(&octets).unwrap();
            each(&frame, &mut octets);
            if server.write_all(&octets).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
        back.join().unwrap();
    });
    own
}

#[test]
fn a_call_that_is_given_up_is_cancelled_and_its_late_reply_passed_over() {
    let one = &["-ORBConnectionsPerEndpoint", "1"][..];
    let muxed = &["-ORBTransportMultiplexing", "muxed"][..];
    for (options, is_asynchronous) in [(one, false), (muxed, false), (muxed, true)] {
        let server = server(BOTH, &[]);
        let (seen, sees) = mpsc::channel();
        let relay = relay(server.addresses[1], move |frame, octets| {
            seen.send((frame.kind, id_of(octets))).unwrap();
        });
        let client = client(options);
        let echo = echo_of(&client, &at(&server.echo, relay));
        assert_eq!(echo.double(1).unwrap(), 2);
        assert_eq!(sees.recv_timeout(PATIENCE).unwrap().0, MessageKind::Request);
        // The server holds requests until its manager is active; this one's client does not wait.
        let manager = server.orb.root_poa().unwrap().the_poa_manager();
        manager.hold_requests(false).unwrap();
        let soon = Policy::RelativeRoundtripTimeout(Duration::from_millis(50));
        let impatient = echo.set_policy_overrides(&[soon], SetOverrideType::Add).unwrap();
        const NOTE: corbie::Operation = corbie::Operation::twoway("note");
        let arguments = |e: &mut corbie::protocol::Encoder<'_>| {
            e.write_longlong(7);
            Ok(())
        };
        let exception = match is_asynchronous {
            false => impatient.0.invoke(&NOTE, &arguments).map(drop).unwrap_err(),
            true => {
                let pending = impatient.0.invoke_deferred(&NOTE, &arguments).unwrap();
                assert!(pending.wait(None));
                pending.take().map(drop).unwrap_err()
            }
        };
        assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
        let request = sees.recv_timeout(PATIENCE).unwrap();
        let cancel = sees.recv_timeout(PATIENCE).unwrap();
        assert_eq!((request.0, cancel.0), (MessageKind::Request, MessageKind::CancelRequest));
        assert_eq!(request.1, cancel.1, "the id of what is cancelled");
        manager.activate().unwrap();
        assert_eq!(echo.double(2).unwrap(), 4);
        // CancelRequest is advice: the server answers all the same.
        assert_eq!(server.notes.recv_timeout(PATIENCE).unwrap(), 7);
        for orb in [server.orb, client] {
            orb.shutdown(true);
        }
    }
}

#[test]
fn octets_that_change_on_the_way_are_noticed() {
    let log = CapturedLog::install();
    let server = server(BOTH, &[]);
    let client = client(&[]);
    let mut left = 2;
    let relay = relay(server.addresses[1], move |_, octets| {
        left -= 1;
        if left == 0 {
            let last = octets.len() - 1;
            octets[last] ^= 0x10;
        }
    });
    let echo = echo_of(&client, &at(&server.echo, relay));
    assert_eq!(echo.length("as it was").unwrap(), 9);
    let exception = echo.length("as it was").unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::CommFailure, "{exception}");
    let parts = ["WARN", "changed on its way", "CRC-32"];
    assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with("WARN"));
    for orb in [server.orb, client] {
        orb.shutdown(true);
    }
}

/// The server ends the connection with MessageError, in its protocol, and serves others.
#[track_caller]
fn refused(server: &Server, good: &Echo, octets: &[u8], words: &[&str]) {
    let log = CapturedLog::install();
    let mut peer = RawPeer::connect(server.addresses[1]).unwrap();
    let _ = peer.send(octets);
    let Answered::Octets(answer) = peer.answered(PATIENCE) else { panic!("{words:?}") };
    Crc.check(&answer).unwrap();
    let Ok(Cut::Message(frame)) = Crc.cut(&answer) else { panic!("{answer:02x?}") };
    assert_eq!((frame.kind, frame.octets), (MessageKind::MessageError, answer.len()));
    let address = peer.local_address().unwrap().to_string();
    let parts = [&["WARN", &address][..], words].concat();
    assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with(&address));
    assert_eq!(good.double(21).unwrap(), 42);
}

#[test]
fn bad_octets_are_refused_and_others_are_served() {
    CapturedLog::install();
    for strategy in STRATEGIES {
        let more = ["-ORBServerConcurrency", strategy, "-ORBMessageOctetsMax", "1MiB"];
        let server = server(BOTH, &more);
        let client = client(&[]);
        let good = as_client(&client, &server.echo);
        let object_key = object_key_in(&server.echo.0.to_string());
        let (operation, arguments) = ("double", &[0; 8][..]);
        let giop = RawRequest { object_key: &object_key, operation, request_id: 1, arguments };
        refused(&server, &good, &giop.octets(), &["no message of the protocol", "GIOP"]);
        refused(&server, &good, b"CK\x00\0\x7f\0\0\0", &["larger than the limit", "1048576"]);
        refused(&server, &good, b"CK\x09\0\0\0\0\x10", &["message type is unknown"]);
        refused(&server, &good, b"CK\x07\0\0\0\0\x10", &["message type is unknown"]);
        refused(&server, &good, b"CK\x01\0\0\0\0\x10", &["in its role", "Reply"]);
        refused(&server, &good, b"CK\0\0\0\0\0\x01", &["message size", "less than the header"]);
        for orb in [server.orb, client] {
            orb.shutdown(true);
        }
    }
}

#[test]
fn a_client_at_a_port_of_giop_learns_that_it_is_wrong() {
    let log = CapturedLog::install();
    let server = server(BOTH, &[]);
    let client = client(&[]);
    let exception = echo_of(&client, &at(&server.echo, server.addresses[0])).double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::CommFailure, "{exception}");
    assert!(exception.to_string().contains("no message of the protocol"), "{exception}");
    assert!(log.line_with(&["WARN", "not a GIOP message", "CK"], PATIENCE).is_some());
    for orb in [server.orb, client] {
        orb.shutdown(true);
    }
}

#[test]
fn a_profile_with_a_profile_that_cannot_be_read_does_not_spoil_the_others() {
    let server = server(BOTH, &[]);
    let client = client(&[]);
    let carrier = TaggedProfile { tag: profile_tag::INTERNET_IOP, data: vec![1, 2, 3] };
    let bad = MessagesProfile::around("crc", carrier).unwrap();
    let nested = MessagesProfile::around("crc", ior(&server.echo).profiles[0].clone()).unwrap();
    let tag = profile_tag::CORBIE_MESSAGES;
    let empty = TaggedProfile { tag, data: Vec::new() };
    let profiles = [vec![bad, nested, empty], ior(&server.echo).profiles].concat();
    let all = Ior { profiles, ..ior(&server.echo) };
    assert_eq!(echo_of(&client, &all).double(4).unwrap(), 8);
    let none = Ior { profiles: all.profiles[..3].to_vec(), ..all };
    let exception = echo_of(&client, &none).double(4).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::InvObjref, "{exception}");
    for orb in [server.orb, client] {
        orb.shutdown(true);
    }
}
