//! TLS end to end: which certificates are refused and in which words, that no call falls back to
//! plain text, what references say, and that new files are taken without a restart.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::access::{EgressRules, Otherwise};
use corbie::policy::{Policy, PolicyError, SetOverrideType};
use corbie::types::{Component, SystemException, SystemExceptionKind, minor};
use corbie::{CompletionStatus, Lifespan, Object, Orb, PoaError, PoaPolicy, TlsProtection};
use corbie_testkit::CapturedLog;
use corbie_testkit::certificates::{Authority, Folder, Issued, Validity};
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

/// Far more than any of the times waited for.
const PATIENCE: Duration = Duration::from_secs(60);

struct Site {
    folder: Folder,
    authority: Authority,
    server: Issued,
    client: Issued,
}

impl Site {
    fn new() -> Self {
        let authority = Authority::new("the authority");
        let server = authority.issue("a server", &["127.0.0.1", "localhost"]);
        let client = authority.issue("a client", &["desk.example"]);
        Self { folder: Folder::default(), authority, server, client }
    }

    /// A server with `certificate`, and further arguments.
    fn serve(&self, certificate: &Issued, more: &[&str]) -> (Orb, Echo) {
        let mut arguments = self.folder.arguments("server", certificate, &self.authority);
        if !more.contains(&"-ORBListenEndpoints") {
            arguments.extend(["-ORBListenEndpoints", "ssliop://127.0.0.1:0"].map(str::to_owned));
        }
        let orb = orb(&arguments, more);
        lend_a_thread(&orb);
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(EchoServant::new().0).unwrap();
        (orb, echo)
    }

    /// A client with a certificate that the servers trust.
    fn client(&self, more: &[&str]) -> Orb {
        orb(&self.folder.arguments("client", &self.client, &self.authority), more)
    }

    /// What a call of a server with `certificate` ends with.
    fn refusal(&self, certificate: &Issued, client: &Orb) -> SystemException {
        let (server, echo) = self.serve(certificate, &[]);
        let refused = as_client(client, &echo).double(2).unwrap_err();
        server.shutdown(true);
        refused
    }
}

fn orb(arguments: &[String], more: &[&str]) -> Orb {
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    all.extend(["-ORBCollocation", "none"]);
    all.extend(more);
    echo::orb(&all)
}

/// `NO_PERMISSION`, the call not begun, in words that have all of `parts`.
#[track_caller]
fn assert_refused(refused: &SystemException, parts: &[&str]) {
    assert_eq!(refused.minor, minor::NO_PERMISSION_TLS, "{refused}");
    assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
    for part in parts {
        assert!(refused.to_string().contains(part), "{part:?} is not in: {refused}");
    }
}

#[test]
fn servers_that_cannot_prove_what_they_are_are_refused_in_words() {
    let site = Site::new();
    let client = site.client(&[]);
    let hosts = ["127.0.0.1"];
    let of = |validity| site.authority.issue_for("a server", &hosts, validity);
    assert_refused(&site.refusal(&of(Validity::Over), &client), &["127.0.0.1 has expired"]);
    assert_refused(&site.refusal(&of(Validity::ToCome), &client), &["is not valid yet"]);
    let elsewhere = site.authority.issue("a server", &["localhost", "127.0.0.2"]);
    let refused = site.refusal(&elsewhere, &client);
    assert_refused(&refused, &["does not name this host", "127.0.0.1", "alternative names"]);
    let other = Authority::new("another authority").issue("a server", &hosts);
    let refused = site.refusal(&other, &client);
    assert_refused(&refused, &["tls_trust (-ORBTlsTrust) does not name"]);
    let revoked = of(Validity::Long);
    let list = site.folder.write("revoked.pem", site.authority.revoking(&[&revoked]));
    let careful = site.client(&["-ORBTlsRevocation", &list]);
    assert_refused(&site.refusal(&revoked, &careful), &["was revoked"]);
    let (server, echo) = site.serve(&site.server, &[]);
    assert_eq!(as_client(&careful, &echo).double(2).unwrap(), 4, "of the others none is");
    server.shutdown(true);
    // Of any host that the authority vouches for, where the operator says so.
    let lenient = site.client(&["-ORBTlsAnyHost"]);
    let (server, echo) = site.serve(&elsewhere, &[]);
    assert_eq!(as_client(&lenient, &echo).double(2).unwrap(), 4);
    server.shutdown(true);
}

#[test]
fn clients_that_cannot_prove_what_they_are_are_refused_in_words() {
    let site = Site::new();
    let revoked = site.authority.issue("a client", &["desk.example"]);
    let list = site.folder.write("revoked.pem", site.authority.revoking(&[&revoked]));
    let (server, echo) = site.serve(&site.server, &["-ORBTlsRevocation", &list]);
    let of = |validity| site.authority.issue_for("a client", &["desk.example"], validity);
    let stranger = Authority::new("another authority").issue("a client", &["desk.example"]);
    for (certificate, parts) in [
        (&of(Validity::Over), ["has expired", "renew"]),
        (&stranger, ["does not trust the authority", "certificate"]),
        (&revoked, ["was revoked", "get another"]),
        (
            &site.authority.issue_unreadable("a client"),
            ["does not take this process", "its log says why"],
        ),
    ] {
        let arguments = site.folder.arguments("client", certificate, &site.authority);
        let client = orb(&arguments, &[]);
        assert_refused(&as_client(&client, &echo).double(2).unwrap_err(), &parts);
    }
    let trust = site.folder.write("trust.pem", site.authority.pem());
    let nobody = orb(&["-ORBTlsTrust".to_owned(), trust], &[]);
    let refused = as_client(&nobody, &echo).double(2).unwrap_err();
    assert_refused(&refused, &["wants a certificate", "-ORBTlsCertificate"]);
    assert_eq!(as_client(&site.client(&[]), &echo).double(2).unwrap(), 4);
    server.shutdown(true);
    // Asked for, not required: none is as good, a bad one is not.
    let (server, echo) = site.serve(&site.server, &["-ORBTlsClients", "requested"]);
    assert_eq!(as_client(&nobody, &echo).double(2).unwrap(), 4);
    let arguments = site.folder.arguments("client", &stranger, &site.authority);
    let refused = as_client(&orb(&arguments, &[]), &echo).double(2).unwrap_err();
    assert_refused(&refused, &["does not trust the authority"]);
    server.shutdown(true);
}

#[test]
fn no_call_falls_back_to_plain_text() {
    let site = Site::new();
    let both = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,ssliop://127.0.0.1:0"];
    // The server's certificate is no good: its plain port is not tried, though it is there.
    let bad = site.authority.issue_for("a server", &["127.0.0.1"], Validity::Over);
    let (server, echo) = site.serve(&bad, &both);
    let profile = &server.string_to_object(&echo.0.to_string()).unwrap().ior().iiop_profiles();
    let profile = &profile.as_ref().unwrap()[0];
    assert!(profile.port != 0 && !profile.tls_addresses().is_empty());
    assert_refused(&as_client(&site.client(&[]), &echo).double(2).unwrap_err(), &["has expired"]);
    // It works for one that was told to go without.
    let plain = site.client(&["-ORBTlsProtection", "forbidden"]);
    assert_eq!(as_client(&plain, &echo).double(2).unwrap(), 4);
    server.shutdown(true);
    // A reference without TLS, a client that requires it.
    let (server, echo) = site.serve(&site.server, &["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let strict = site.client(&["-ORBTlsProtection", "required"]);
    let refused = as_client(&strict, &echo).double(2).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_TLS_NEEDED, "{refused}");
    assert!(refused.to_string().contains("tls_protection is required"), "{refused}");
    // The same of a name in a reference that a peer handed over.
    strict.set_egress(EgressRules::otherwise(Otherwise::Allow));
    let named = format!("corbaloc:iiop:1.2@localhost:{}/key", server.listen_addresses()[0].port());
    let named = strict.string_to_object(&named).unwrap();
    let handed = Echo(Object::kept(&strict, named.ior().clone()));
    let refused = handed.double(2).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_TLS_NEEDED, "{refused}");
    server.shutdown(true);
    // A reference with TLS alone, clients that cannot or must not use it.
    let (server, echo) = site.serve(&site.server, &["-ORBTlsProtection", "required"]);
    for (client, part) in [(orb(&[], &[]), "tls_trust (-ORBTlsTrust)"), (plain, "is forbidden")] {
        let refused = as_client(&client, &echo).double(2).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::NoPermission);
        assert!(refused.to_string().contains(part), "{refused}");
    }
    server.shutdown(true);
}

#[test]
fn references_say_where_tls_is_spoken_and_alternate_addresses_are_none_of_it() {
    let site = Site::new();
    let listen = "iiop://127.0.0.1:0,iiop://localhost:0,ssliop://127.0.0.1:0,ssliop://localhost:0";
    let (server, echo) = site.serve(&site.server, &["-ORBListenEndpoints", listen]);
    let profiles = echo.0.ior().iiop_profiles().unwrap();
    let [profile] = &profiles[..] else { panic!("one profile: {profiles:?}") };
    let tls = profile.tls_addresses();
    let hosts: Vec<&str> = tls.iter().map(|address| &*address.host).collect();
    assert_eq!(hosts, ["127.0.0.1", "localhost"]);
    assert_eq!(profile.addresses().len(), 2, "plain ones");
    assert!(tls.iter().all(|secure| !profile.addresses().contains(secure)));
    let ssl = profile.components.iter().find_map(|component| match component.parse().unwrap() {
        Component::SslSecTrans(ssl) => Some(ssl),
        _ => None,
    });
    assert_eq!(ssl.unwrap().port, tls[0].port);
    // The plain ports are dead; the client does not care, as it uses TLS.
    let client = site.client(&["-ORBTlsProtection", "required"]);
    assert_eq!(as_client(&client, &echo).double(2).unwrap(), 4);
    let key = "by-name";
    server.bind_object_key(key, &echo.0);
    let url = format!("corbaloc:ssliop:1.2@{}/{key}", tls[1]);
    let object = client.string_to_object(&url).unwrap();
    assert_eq!(Echo(object).double(21).unwrap(), 42);
    server.shutdown(true);
}

#[test]
fn a_server_that_requires_tls_has_no_plain_port() {
    let site = Site::new();
    let mut arguments = site.folder.arguments("server", &site.server, &site.authority);
    arguments.extend(["-ORBTlsProtection", "required"].map(str::to_owned));
    let server = orb(&arguments, &[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    assert!(server.listen_addresses().is_empty());
    let profiles = echo.0.ior().iiop_profiles().unwrap();
    assert!(profiles.iter().all(|profile| profile.port == 0 && profile.addresses().len() == 1));
    server.shutdown(true);
}

#[test]
fn new_files_are_taken_without_a_restart_and_bad_ones_are_not() {
    let site = Site::new();
    let old = site.authority.issue_for("a server", &["127.0.0.1"], Validity::Over);
    let (server, echo) = site.serve(&old, &[]);
    let client = site.client(&[]);
    let echo = as_client(&client, &echo);
    assert_refused(&echo.double(1).unwrap_err(), &["has expired"]);
    // Certificate first, then key: between the two they do not fit, and the old ones stay.
    site.folder.write("server.pem", &site.server.certificate);
    assert_refused(&echo.double(1).unwrap_err(), &["has expired"]);
    site.folder.write("server.key", &site.server.key);
    assert_eq!(echo.double(1).unwrap(), 2);
    // Connections that are open go on.
    site.folder.write("server.pem", "no certificate at all");
    assert_eq!(echo.double(2).unwrap(), 4);
    server.shutdown(true);
}

#[test]
fn peers_that_stall_in_the_handshake_are_cut_and_hold_up_no_others() {
    let site = Site::new();
    for strategy in STRATEGIES {
        let more = ["-ORBServerConcurrency", strategy, "-ORBFirstOctetTimeout", "300ms"];
        let (server, echo) = site.serve(&site.server, &more);
        let address = echo.0.ior().iiop_profiles().unwrap()[0].tls_addresses()[0].to_string();
        // The first octets of a ClientHello, and no more.
        let stalled: Vec<TcpStream> = (0..4)
            .map(|_| {
                let mut peer = TcpStream::connect(&address).unwrap();
                peer.write_all(&[0x16, 3, 1, 2, 0, 1, 0]).unwrap();
                peer.set_read_timeout(Some(PATIENCE)).unwrap();
                peer
            })
            .collect();
        let client = site.client(&[]);
        assert_eq!(as_client(&client, &echo).double(2).unwrap(), 4, "{strategy}");
        let begun = Instant::now();
        for mut peer in stalled {
            let mut rest = Vec::new();
            let _ = peer.read_to_end(&mut rest);
        }
        assert!(begun.elapsed() < PATIENCE, "{strategy}: cut by the server");
        server.shutdown(true);
    }
}

#[test]
fn a_peer_that_opens_connections_too_fast_is_refused_before_any_handshake() {
    let site = Site::new();
    let (server, echo) = site.serve(&site.server, &["-ORBConnectionRatePerPeer", "5"]);
    let address = echo.0.ior().iiop_profiles().unwrap()[0].tls_addresses()[0].to_string();
    let (deadline, mut peers) = (Instant::now() + PATIENCE, Vec::new());
    while server.statistics().hasty_connections == 0 {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
        peers = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
    }
    drop(peers);
    // Its time comes again.
    let client = site.client(&[]);
    while as_client(&client, &echo).double(2).is_err() {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
    }
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn plain_text_at_a_port_of_tls_is_refused_and_so_is_tls_at_a_plain_one() {
    let site = Site::new();
    let (server, echo) = site.serve(&site.server, &[]);
    let address = echo.0.ior().iiop_profiles().unwrap()[0].tls_addresses()[0].clone();
    let url = format!("corbaloc:iiop:1.2@{address}/key");
    let client = site.client(&[]);
    let plain = Echo(client.string_to_object(&url).unwrap());
    assert_eq!(plain.double(1).unwrap_err().kind, SystemExceptionKind::CommFailure);
    server.shutdown(true);
    let (server, _) = site.serve(&site.server, &["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let url = format!("corbaloc:ssliop:1.2@{}/key", server.listen_addresses()[0]);
    let tls = Echo(client.string_to_object(&url).unwrap());
    assert_refused(&tls.double(1).unwrap_err(), &["TLS"]);
    server.shutdown(true);
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let site = Site::new();
    let key = site.folder.write("other.key", &site.client.key);
    let trust = site.folder.write("trust.pem", site.authority.pem());
    let pem = site.folder.write("server.pem", &site.server.certificate);
    for (arguments, parts) in [
        (["-ORBTlsTrust", "/nowhere.pem"].as_slice(), ["tls_trust", "/nowhere.pem"]),
        (&["-ORBTlsTrust", &key], ["tls_trust", "no certificate in PEM"]),
        (&["-ORBTlsCertificate", &pem], ["tls_key", "no private key"]),
        (&["-ORBTlsCertificate", &pem, "-ORBTlsKey", &key], ["tls_key", "is not that of"]),
        (&["-ORBTlsTrust", &trust, "-ORBTlsRevocation", &pem], ["tls_revocation", "no list"]),
    ] {
        let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let refused = Orb::builder().arguments(&mut arguments).build().unwrap_err();
        assert_eq!(refused.minor, minor::INITIALIZE_TLS, "{refused}");
        for part in parts {
            assert!(refused.to_string().contains(part), "{part:?} is not in: {refused}");
        }
    }
}

#[test]
fn a_certificate_may_come_with_its_key_in_a_key_store() {
    let site = Site::new();
    let store = site.folder.write("own.p12", site.authority.pkcs12(&site.server, "open it"));
    let trust = site.folder.write("trust.pem", site.authority.pem());
    let password = site.folder.write("password", "open it\n");
    let arguments = |password: &str| {
        let password = format!("file:{password}");
        let named = ["-ORBTlsCertificate", &store, "-ORBTlsPassword", &password, "-ORBTlsTrust"];
        named.into_iter().chain([&*trust]).map(str::to_owned).collect::<Vec<_>>()
    };
    let server = orb(&arguments(&password), &["-ORBListenEndpoints", "ssliop://127.0.0.1:0"]);
    lend_a_thread(&server);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let client = orb(&arguments(&password), &[]);
    assert_eq!(as_client(&client, &echo).double(21).unwrap(), 42);
    server.shutdown(true);
    let wrong = site.folder.write("wrong", "something else\n");
    let refused = Orb::builder().arguments(&mut arguments(&wrong)).build().unwrap_err();
    assert_eq!(refused.minor, minor::INITIALIZE_TLS, "{refused}");
    assert!(refused.to_string().contains("tls_password (-ORBTlsPassword)"), "{refused}");
}

#[test]
fn an_orb_knows_until_when_its_certificate_is_good() {
    let log = CapturedLog::install();
    let site = Site::new();
    assert_eq!(orb(&[], &[]).certificate_expiry(), None);
    assert!(!orb(&[], &[]).reload_certificates().unwrap(), "there are no files");
    let days = |days| site.authority.issue_for(&format!("{days} days"), &[], Validity::Days(days));
    let now = SystemTime::now();
    let left = |orb: &Orb| orb.certificate_expiry().unwrap().duration_since(now).unwrap();
    let day = Duration::from_secs(24 * 3600);
    let of = |issued: &Issued| orb(&site.folder.arguments("own", issued, &site.authority), &[]);
    let server = of(&days(31));
    assert!(left(&server) > 30 * day && left(&server) < 32 * day, "{:?}", left(&server));
    let none: [String; 0] = [];
    assert_eq!(log.lines_with("31 days"), none, "31 days are long enough");
    // New ones are taken when it is told to, and bad ones are not.
    site.folder.arguments("own", &days(20), &site.authority);
    assert!(server.reload_certificates().unwrap());
    assert!(left(&server) < 21 * day, "{:?}", left(&server));
    let line = log.line_with(&["20 days", "expires in 19 days", "renew it"], PATIENCE);
    assert!(line.unwrap().starts_with("WARN"));
    site.folder.write("own.key", "no key");
    let refused = server.reload_certificates().unwrap_err();
    assert_eq!(refused.minor, minor::INITIALIZE_TLS, "{refused}");
    assert!(refused.to_string().contains("tls_key"), "{refused}");
    assert!(left(&server) > 19 * day, "the last ones stay");
    let over = site.authority.issue_for("no more", &[], Validity::Over);
    assert!(of(&over).certificate_expiry().unwrap() < now);
    assert!(log.line_with(&["no more", "has expired", "renew it"], PATIENCE).is_some());
}

/// The object that `reference` leads to, at another address of the server of the same ORB.
fn at(client: &Orb, reference: &Echo, protocol: &str, address: &str) -> Echo {
    let key = reference.0.object_key().unwrap();
    let key: String = key.iter().map(|octet| format!("%{octet:02x}")).collect();
    let url = format!("corbaloc:{protocol}:1.2@{address}/{key}");
    Echo(client.string_to_object(&url).unwrap())
}

#[test]
fn a_poa_requires_tls_or_forbids_it_whatever_the_reference_says() {
    let site = Site::new();
    let both = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,ssliop://127.0.0.1:0"];
    let (server, offered) = site.serve(&site.server, &both);
    let addresses = offered.0.ior().iiop_profiles().unwrap().remove(0);
    let (plain, secure) = (addresses.addresses().remove(0), addresses.tls_addresses().remove(0));
    let (plain, secure) = (plain.to_string(), secure.to_string());
    let root = server.root_poa().unwrap();
    let client = site.client(&[]);
    let under = |name: &str, policies: &[PoaPolicy]| {
        let poa = root.create_poa(name, Some(&root.the_poa_manager()), policies).unwrap();
        poa.activate(EchoServant::new().0).unwrap()
    };
    let required = under("safe", &[TlsProtection::Required.into()]);
    let profile = required.0.ior().iiop_profiles().unwrap().remove(0);
    assert_eq!((profile.port, profile.addresses().len()), (0, 1), "no plain address");
    assert_eq!(profile.tls_addresses().len(), 1);
    assert_eq!(as_client(&client, &required).double(2).unwrap(), 4);
    assert_eq!(at(&client, &required, "ssliop", &secure).double(2).unwrap(), 4);
    let refused = at(&client, &required, "iiop", &plain).double(2).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_TLS_NEEDED, "{refused}");
    assert_eq!(refused.completed, CompletionStatus::No);
    let unsaid = at(&client, &required, "iiop", &plain).0.locate().unwrap_err();
    assert_eq!(unsaid.minor, minor::NO_PERMISSION_TLS_NEEDED, "nor is it said whether it is there");
    at(&client, &required, "ssliop", &secure).0.locate().unwrap();
    let forbidden = under("plain", &[TlsProtection::Forbidden.into()]);
    let profile = forbidden.0.ior().iiop_profiles().unwrap().remove(0);
    assert!(profile.tls_addresses().is_empty() && profile.port != 0);
    assert_eq!(as_client(&client, &forbidden).double(2).unwrap(), 4);
    let refused = at(&client, &forbidden, "ssliop", &secure).double(2).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_TLS_NEEDED, "{refused}");
    for address in [("iiop", &plain), ("ssliop", &secure)] {
        assert_eq!(at(&client, &offered, address.0, address.1).double(2).unwrap(), 4);
    }
    server.shutdown(true);
    // What cannot be is refused when the POA is made.
    let (server, _) = site.serve(&site.server, &["-ORBListenEndpoints", "iiop://127.0.0.1:0"]);
    let root = server.root_poa().unwrap();
    let policies = [Lifespan::Persistent.into(), TlsProtection::Required.into()];
    let refused = root.create_poa("safe", None, &policies).unwrap_err();
    assert!(matches!(refused, PoaError::InvalidPolicy { index: 1, .. }), "{refused}");
    server.shutdown(true);
}

#[test]
fn a_reference_requires_tls_or_forbids_it_by_policy() {
    let site = Site::new();
    let both = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,ssliop://127.0.0.1:0"];
    let (server, echo) = site.serve(&site.server, &both);
    let root = server.root_poa().unwrap();
    let safe = [TlsProtection::Required.into()];
    let safe = root.create_poa("safe", Some(&root.the_poa_manager()), &safe).unwrap();
    let safe = safe.activate(EchoServant::new().0).unwrap();
    // A client without certificates calls in plain text; not where its policy is another.
    let bare = as_client(&orb(&[], &[]), &echo);
    assert_eq!(bare.double(2).unwrap(), 4);
    let by = |echo: &Echo, protection| {
        let policy = [Policy::TlsProtection(protection)];
        Echo(echo.0.set_policy_overrides(&policy, SetOverrideType::Add).unwrap())
    };
    let refused = by(&bare, TlsProtection::Required).double(2).unwrap_err();
    assert_refused(&refused, &["tls_trust (-ORBTlsTrust)"]);
    assert_eq!(bare.double(2).unwrap(), 4, "the other reference is as it was");
    // Forwards do not lead out of it: a plain name sends the client on to what requires TLS.
    let client = site.client(&[]);
    server.bind_object_key("safe", &safe.0);
    let plain = server.listen_addresses()[0];
    let named = client.string_to_object(&format!("corbaloc::{plain}/safe")).unwrap();
    assert_eq!(Echo(named.clone()).double(2).unwrap(), 4, "sent on from a plain port");
    let forbidden = by(&Echo(named), TlsProtection::Forbidden).double(2).unwrap_err();
    assert_eq!(forbidden.minor, minor::NO_PERMISSION_TLS_NEEDED, "{forbidden}");
    // For an ORB and for a thread it is refused: they would change what is bound already.
    let policy = [Policy::TlsProtection(TlsProtection::Required)];
    let refused = client.policy_manager().set_policy_overrides(&policy, SetOverrideType::Add);
    assert!(matches!(refused, Err(PolicyError::InvalidPolicies { .. })), "{refused:?}");
    let refused = client.policy_current().set_policy_overrides(&policy, SetOverrideType::Add);
    assert!(matches!(refused, Err(PolicyError::InvalidPolicies { .. })), "{refused:?}");
    server.shutdown(true);
}
