//! References with profiles of several protocols: what they carry, in which order they are tried,
//! and what happens when one cannot be used (paper POA §3.3, CORBA 3.3 P2 §7.6.2).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
mod pipe;

use corbie::transport::{Endpoint, PeerAddress, Transport, UiopProfile};
use corbie::types::TaggedComponent;
use corbie::types::ior::{component_tag, profile_tag};
use corbie::{
    Ior, Object, Operation, Orb, Reply, ReplySink, Servant, ServerRequest, SystemException,
    SystemExceptionKind, TypedServant, Version, minor,
};
use echo::{Echo, lend_a_thread};
use pipe::{DEAF, Pipe, end_deafness};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Says over what its callers come.
struct Whence;

impl Servant for Whence {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let over = match request.peer() {
            PeerAddress::Tcp(_) => "tcp",
            PeerAddress::Unix(peer) if peer.process == std::process::id() => "unix",
            PeerAddress::Shm(peer) if peer.process == std::process::id() => "shm",
            PeerAddress::Plugged(scheme, _) => scheme,
            _ => "?",
        };
        request.reply(&|e| e.write_string(over))
    }
}

impl TypedServant for Whence {
    type Reference = Echo;
}

/// An ORB with a transport of its own, which calls do not get around.
fn orb(more: &[&str]) -> Orb {
    let mut arguments: Vec<_> =
        ["-ORBCollocation", "none"].iter().chain(more).map(ToString::to_string).collect();
    let builder = Orb::builder().transport(Arc::new(Pipe) as Arc<dyn Transport>);
    let builder = builder.message_protocol(&echo::crc::Crc);
    builder.arguments(&mut arguments).build().unwrap()
}

/// A server on these endpoints, and its object.
fn serve(endpoints: &str, more: &[&str]) -> (Orb, Ior) {
    let server = orb(&[&["-ORBListenEndpoints", endpoints], more].concat());
    lend_a_thread(&server);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let ior = poa.activate(Whence).unwrap().0.ior().clone();
    (server, ior)
}

fn whence(client: &Orb, ior: &Ior) -> Result<String, SystemException> {
    const WHENCE: Operation = Operation::twoway("whence");
    let object = Object::new(client, ior.clone());
    let mut reply = object.invoke(&WHENCE, &|_| Ok(()))?;
    reply.results_only(|d| Ok(d.read_string()?.into_owned()))
}

fn tags(ior: &Ior) -> Vec<u32> {
    ior.profiles.iter().map(|profile| profile.tag).collect()
}

const ALL: &str = "iiop://127.0.0.1:0,uiop://,pipe://,iiop://127.0.0.1:0";

#[test]
fn a_reference_has_a_profile_for_each_protocol() {
    let (server, ior) = serve(ALL, &[]);
    let pipe = Pipe.profile_tag();
    assert_eq!(tags(&ior), [profile_tag::UIOP, pipe, profile_tag::INTERNET_IOP]);
    let tcp = ior.iiop_profiles().unwrap().remove(0);
    assert_eq!(tcp.addresses().len(), 2, "TCP endpoints are alternates of one another");
    let keys = ior.profiles.iter().filter_map(|profile| profile.uiop().unwrap());
    assert!(keys.map(|profile| profile.object_key).all(|key| key == tcp.object_key));
    assert_eq!(server.listen_addresses().len(), 2);
    assert_eq!(server.listen_endpoints().len(), 4);
    // In the form of TAO's: version, path, key, components.
    let unix = ior.profiles[0].uiop().unwrap().unwrap();
    assert_eq!(unix.version, Version::V1_2);
    assert!(server.listen_endpoints().contains(&Endpoint::Unix(unix.address.parse().unwrap())));
    assert_eq!(ior.profiles[0].data[1..3], [1, 2]);
    server.shutdown(true);
    let (server, ior) = serve(ALL, &["-ORBProtocolPreference", "iiop,pipe"]);
    assert_eq!(tags(&ior), [profile_tag::INTERNET_IOP, pipe, profile_tag::UIOP]);
    server.shutdown(true);
}

#[test]
fn the_preferred_protocol_is_used() {
    let (server, ior) = serve(ALL, &[]);
    for (preference, expected) in [
        (&[][..], "unix"),
        (&["-ORBProtocolPreference", "iiop"], "tcp"),
        (&["-ORBProtocolPreference", "*,uiop,iiop"], "pipe"),
        (&["-ORBProtocolPreference", "shmiop,uiop"], "unix"),
    ] {
        let client = orb(preference);
        assert_eq!(whence(&client, &ior).unwrap(), expected, "{preference:?}");
        client.shutdown(true);
    }
    // One that does not know the transport passes its profile over.
    let plain = Orb::init(["-ORBCollocation", "none", "-ORBProtocolPreference", "*,iiop"]).unwrap();
    assert_eq!(whence(&plain, &ior).unwrap(), "unix");
    plain.shutdown(true);
    server.shutdown(true);
}

#[test]
fn message_protocols_go_over_every_transport() {
    for (name, tcp) in
        [("giopl", profile_tag::CORBIE_GIOPLITE), ("crc", profile_tag::CORBIE_MESSAGES)]
    {
        let over = |transport: &str| format!("{name}+{transport}");
        let all = ["iiop://127.0.0.1:0", "uiop://", "shmiop://", "pipe://"].map(over).join(",");
        let (server, ior) = serve(&format!("iiop://127.0.0.1:0,{all}"), &[]);
        let tcp = [tcp, profile_tag::INTERNET_IOP];
        assert_eq!(tags(&ior), [[profile_tag::CORBIE_MESSAGES; 3].to_vec(), tcp.to_vec()].concat());
        for (preferred, expected) in [
            (over("shmiop"), "shm"),
            (over("uiop"), "unix"),
            (over("pipe"), "pipe"),
            (over("iiop"), "tcp"),
            ("iiop".to_owned(), "tcp"),
        ] {
            let client = orb(&["-ORBgioplite", "-ORBProtocolPreference", &preferred]);
            assert_eq!(whence(&client, &ior).unwrap(), expected, "{preferred}");
            client.shutdown(true);
        }
        // One after the other, as the servers of the preferred ones go.
        let preference = ["shmiop", "uiop", "pipe", "iiop"].map(over).join(",");
        let client = orb(&["-ORBgioplite", "-ORBProtocolPreference", &preference]);
        for (profiles, expected) in [(0, "shm"), (1, "unix"), (2, "pipe"), (3, "tcp")] {
            let rest = Ior { profiles: ior.profiles[profiles..].to_vec(), ..ior.clone() };
            assert_eq!(whence(&client, &rest).unwrap(), expected);
        }
        let text = format!("{:?}", ior.describe());
        for part in ["message protocol", name, "SHMIOP", "rendezvous point"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        server.shutdown(true);
        client.shutdown(true);
    }
}

#[test]
fn a_client_without_gioplite_says_what_it_passed_over() {
    let endpoints = "iiop://127.0.0.1:0,giopl://127.0.0.1:0,giopl+uiop://,giopl+pipe://";
    let (server, ior) = serve(endpoints, &[]);
    let plain = orb(&[]);
    assert_eq!(whence(&plain, &ior).unwrap(), "tcp");
    let lite = Ior { profiles: ior.profiles[..3].to_vec(), ..ior.clone() };
    let exception = whence(&plain, &lite).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
    assert!(exception.to_string().contains("-ORBgioplite"), "{exception}");
    server.shutdown(true);
    plain.shutdown(true);
}

#[test]
fn an_object_url_names_the_message_protocol() {
    for name in ["giopl", "crc"] {
        object_urls(name);
    }
}

fn object_urls(name: &str) {
    let over = |transport: &str| format!("{name}+{transport}");
    let endpoints = ["uiop://", "pipe://", "iiop://127.0.0.1:0"].map(over).join(",");
    let (server, ior) = serve(&endpoints, &[]);
    let key = corbie_testkit::object_key_in(&Object::new(&server, ior).to_string());
    let key: String = key.iter().map(|octet| format!("%{octet:02x}")).collect();
    let client = orb(&["-ORBgioplite"]);
    for endpoint in server.listen_endpoints() {
        let (url, expected) = match &endpoint {
            Endpoint::Unix(path) => (format!("uiop:1.2@{path}|{key}"), "unix"),
            Endpoint::Plugged(pipe) => (format!("pipe:1.2@{}|{key}", pipe.address()), "pipe"),
            Endpoint::Tcp { port, .. } => (format!("iiop:1.2@127.0.0.1:{port}/{key}"), "tcp"),
            other => panic!("{other}"),
        };
        let url = format!("corbaloc:{name}+{url}");
        let ior = client.string_to_object(&url).unwrap().ior().clone();
        assert_eq!(whence(&client, &ior).unwrap(), expected, "{url}");
    }
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn the_next_profile_is_tried_when_one_cannot_be_reached() {
    let (server, mut ior) = serve(ALL, &[]);
    let client = orb(&[]);
    let body = ior.profiles[0].uiop().unwrap().unwrap();
    let address = "/nowhere/that/anybody/listens".to_owned();
    ior.profiles[0] = UiopProfile { address, ..body }.to_tagged().unwrap();
    assert_eq!(whence(&client, &ior).unwrap(), "pipe");
    ior.profiles.remove(1);
    assert_eq!(whence(&client, &ior).unwrap(), "tcp");
    ior.profiles.truncate(1);
    let exception = whence(&client, &ior).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Transient, "{exception}");
    assert!(exception.to_string().contains("unix /nowhere"), "{exception}");
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_profile_of_another_machine_is_passed_over() {
    let (server, mut ior) = serve(ALL, &[]);
    let client = orb(&[]);
    let mut unix = ior.profiles[0].uiop().unwrap().unwrap();
    let tag = component_tag::CORBIE_MACHINE;
    assert!(unix.components.iter().any(|component| component.tag == tag));
    unix.components.retain(|component| component.tag != tag);
    // TAO says nothing of machines.
    ior.profiles[0] = unix.to_tagged().unwrap();
    assert_eq!(whence(&client, &ior).unwrap(), "unix");
    unix.components.push(TaggedComponent { tag, data: b"another".to_vec() });
    ior.profiles[0] = unix.to_tagged().unwrap();
    ior.profiles.remove(1);
    assert_eq!(whence(&client, &ior).unwrap(), "tcp");
    ior.profiles.truncate(1);
    let exception = whence(&client, &ior).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_profile_that_cannot_be_read_does_not_spoil_the_others() {
    let (server, mut ior) = serve(ALL, &[]);
    let client = orb(&[]);
    for data in [vec![], vec![0], vec![1, 1, 2, 0xff, 0xff, 0xff, 0xff, 0xff]] {
        ior.profiles[0].data = data;
        assert_eq!(whence(&client, &ior).unwrap(), "pipe");
    }
    ior.profiles.truncate(1);
    let exception = whence(&client, &ior).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::InvObjref, "{exception}");
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn urls_lead_to_objects_over_every_protocol() {
    let (server, ior) = serve(ALL, &[]);
    server.bind_object_key("Whence", &Object::new(&server, ior.clone()));
    for (preference, over) in [("uiop", "unix"), ("pipe", "pipe"), ("iiop", "tcp")] {
        let client = orb(&["-ORBProtocolPreference", preference]);
        let endpoints = server.listen_endpoints();
        let url = endpoints.iter().find_map(|endpoint| match (endpoint, over) {
            (Endpoint::Tcp { port, .. }, "tcp") => Some(format!("iiop:127.0.0.1:{port}/Whence")),
            (Endpoint::Unix(name), "unix") => Some(format!("uiop:{name}|Whence")),
            (Endpoint::Plugged(p), "pipe") => Some(format!("pipe:1.2@{}|Whence", p.address())),
            _ => None,
        });
        let object = client.string_to_object(&format!("corbaloc:{}", url.unwrap())).unwrap();
        assert!(!object.non_existent().unwrap());
        assert_eq!(whence(&client, &ior).unwrap(), over);
        client.shutdown(true);
    }
    let client = orb(&[]);
    let exception = client.string_to_object("corbaloc:carrier:pigeon|Whence").unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::BadParam, "{exception}");
    assert!(exception.to_string().contains("\"carrier\""), "{exception}");
    server.shutdown(true);
}

/// More than there are threads that connect where a thread has to wait.
const DEAF_ADDRESSES: usize = 70;

#[test]
fn connects_that_keep_threads_delay_neither_names_nor_numeric_addresses() {
    let (server, _) = serve("iiop://localhost:0", &[]);
    let ior = server.root_poa().unwrap().activate(Whence).unwrap().0.ior().clone();
    server.bind_object_key("Whence", &Object::new(&server, ior));
    let port = server.listen_addresses()[0].port();
    let client = orb(&[]);
    let begin = |url: String| {
        let (ends, ended) = mpsc::channel();
        let sink = ReplySink::function(move |reply: Result<Reply, SystemException>| {
            let _ = ends.send(reply.map(drop));
        });
        let object = client.string_to_object(&format!("corbaloc:{url}")).unwrap();
        object.invoke_async(&Operation::twoway("whence"), &|_| Ok(()), sink).unwrap();
        ended
    };
    let deaf: Vec<_> = (0..DEAF_ADDRESSES)
        .map(|number| begin(format!("pipe:1.2@{DEAF}{number}|Whence")))
        .collect();
    for host in ["127.0.0.1", "localhost"] {
        let ended = begin(format!("iiop:{host}:{port}/Whence"));
        ended.recv_timeout(Duration::from_secs(30)).unwrap().unwrap();
    }
    assert!(deaf.iter().all(|ended| ended.try_recv().is_err()), "they wait still");
    end_deafness();
    for ended in deaf {
        let exception = ended.recv_timeout(Duration::from_secs(30)).unwrap().unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::Transient, "{exception}");
    }
    client.shutdown(true);
    server.shutdown(true);
}

/// A pipe cannot be watched: each connection gets a thread, and what needs an event loop says so.
#[test]
fn what_cannot_be_watched_is_served_by_threads() {
    for concurrency in ["thread-per-connection", "thread-pool", "thread-per-request"] {
        let (server, ior) = serve("pipe://", &["-ORBServerConcurrency", concurrency]);
        let client = orb(&[]);
        for _ in 0..3 {
            assert_eq!(whence(&client, &ior).unwrap(), "pipe", "{concurrency}");
        }
        let muxed = orb(&["-ORBTransportMultiplexing", "muxed"]);
        let exception = whence(&muxed, &ior).unwrap_err();
        assert_eq!(exception.minor, minor::IMP_LIMIT_TRANSPORT, "{exception}");
        assert!(exception.to_string().contains("has no descriptor"), "{exception}");
        for orb in [client, muxed, server] {
            orb.shutdown(true);
        }
    }
    let reactive = orb(&["-ORBListenEndpoints", "pipe://", "-ORBServerConcurrency", "reactive"]);
    let exception = reactive.root_poa().map(drop).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Initialize, "{exception}");
    // With a profile that can be watched, that one is taken.
    let (server, ior) = serve(ALL, &["-ORBProtocolPreference", "pipe"]);
    let muxed = orb(&["-ORBTransportMultiplexing", "muxed", "-ORBProtocolPreference", "pipe,uiop"]);
    assert_eq!(whence(&muxed, &ior).unwrap(), "unix");
    muxed.shutdown(true);
    server.shutdown(true);
}

#[test]
fn transports_are_registered_once_and_by_names_of_their_own() {
    let build = |arguments: &[&str], transports: Vec<Pipe>| {
        let mut arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let builder = transports
            .into_iter()
            .fold(Orb::builder(), |builder, pipe| builder.transport(Arc::new(pipe)));
        builder.arguments(&mut arguments).build().map(drop)
    };
    for (arguments, transports, sentence) in [
        (
            &["-ORBListenEndpoints", "pipe://"][..],
            vec![],
            "there are iiop, giopl, uiop, shmiop, ssliop;",
        ),
        (&["-ORBListenEndpoints", "pipe://x y"], vec![Pipe], "is no path"),
        (&[], vec![Pipe, Pipe], "have the same scheme or profile tag"),
    ] {
        let exception = build(arguments, transports).unwrap_err();
        assert_eq!(exception.minor, minor::BAD_PARAM_TRANSPORT, "{exception}");
        assert!(exception.to_string().contains(sentence), "{exception}");
    }
}
