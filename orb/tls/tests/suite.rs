//! TLS passes the conformance suite of transports, in which both sides show certificates.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test fails by panicking")]

use corbie_settings::{PartialSettings, Settings};
use corbie_testkit::CapturedLog;
use corbie_testkit::certificates::{Authority, Folder, Validity};
use corbie_testkit::transport_suite;
use corbie_testkit::transport_suite::TransportSubject;
use corbie_tls::Tls;
use corbie_transport::{Acceptor, Endpoint, Link, PeerAddress, PluggedEndpoint, Transport};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant, SystemTime};

struct Subject;

/// The files of the process that started this one, whose authority is to be trusted.
static FILES_THERE: OnceLock<Vec<String>> = OnceLock::new();

struct Files {
    folder: Folder,
    /// Of certificate, key and authority.
    paths: [String; 3],
}

static FILES_HERE: LazyLock<Files> = LazyLock::new(|| {
    let folder = Folder::default();
    let authority = Authority::new("the suite");
    let own = authority.issue("a peer", &["127.0.0.1", "localhost"]);
    let paths = [
        folder.write("own.pem", &own.certificate),
        folder.write("own.key", &own.key),
        folder.write("trust.pem", authority.pem()),
    ];
    Files { folder, paths }
});

static TLS: LazyLock<Arc<dyn Transport>> = LazyLock::new(|| {
    let paths = FILES_THERE.get().cloned().unwrap_or_else(|| FILES_HERE.paths.to_vec());
    let [certificate, key, trust] = paths.try_into().unwrap();
    let settings = PartialSettings::new()
        .tls_certificate(Some(certificate))
        .tls_key(Some(key))
        .tls_trust(Some(trust));
    Arc::new(Tls::new(&Settings::from_process(settings, &mut Vec::new()).unwrap()).unwrap())
});

fn transport() -> Arc<dyn Transport> {
    Arc::clone(&TLS)
}

impl TransportSubject for Subject {
    fn listen(&self) -> Acceptor {
        Acceptor::bind_plugged(&PluggedEndpoint::new(transport(), "127.0.0.1:0")).unwrap()
    }

    fn write(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Plugged(plugged) => {
                format!("{} {}", plugged.address(), FILES_HERE.paths.join(" "))
            }
            other => panic!("{other}"),
        }
    }

    fn read(&self, text: &str) -> Endpoint {
        let mut parts = text.split(' ').map(str::to_owned);
        let address = parts.next().unwrap();
        FILES_THERE.set(parts.collect()).unwrap();
        Endpoint::Plugged(PluggedEndpoint::new(transport(), address))
    }

    /// The server's handshake is made by the thread that receives: here until it is over.
    fn pair(&self) -> (Link, Link) {
        let acceptor = self.listen();
        let endpoint = acceptor.endpoint();
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| {
                let link = acceptor.accept().unwrap();
                while !is_shaken(&link) {
                    assert!(!link.is_stale(), "the handshake failed");
                    std::thread::yield_now();
                }
                link
            });
            let ours = Link::connect(&endpoint, Some(Duration::from_secs(60)), None).unwrap();
            (ours, accepted.join().unwrap())
        })
    }
}

fn is_shaken(link: &Link) -> bool {
    matches!(link, Link::Plugged(tls) if tls.certificate().is_some())
}

transport_suite!(tls_suite, Subject);

#[test]
fn both_sides_know_what_the_other_has_proven() {
    let (ours, theirs) = Subject.pair();
    for link in [&ours, &theirs] {
        assert!(matches!(link.peer(), PeerAddress::Tcp(_)));
        let Link::Plugged(tls) = link else { panic!("{link:?}") };
        let certificate = tls.certificate().unwrap();
        assert_eq!(certificate.subject, "O=Corbie,CN=a peer");
        assert_eq!(certificate.names, ["127.0.0.1", "localhost"]);
    }
}

/// A pair of links, both made of a key store that another program wrote.
fn shakes_hands_with(store: &str) -> Result<(), String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pkcs12");
    let password = FILES_HERE.folder.write("password", "corbie\n");
    let settings = PartialSettings::new()
        .tls_certificate(Some(format!("{folder}/{store}")))
        .tls_password(Some(format!("file:{password}")))
        .tls_trust(Some(format!("{folder}/authority.pem")));
    let settings = Settings::from_process(settings, &mut Vec::new()).unwrap();
    let tls: Arc<dyn Transport> = Arc::new(Tls::new(&settings).map_err(|why| why.to_string())?);
    let listen = PluggedEndpoint::new(Arc::clone(&tls), "127.0.0.1:0");
    let acceptor = Acceptor::bind_plugged(&listen).unwrap();
    let endpoint = acceptor.endpoint();
    std::thread::scope(|scope| {
        let accepted = scope.spawn(|| acceptor.accept().unwrap().receive(&mut [0; 8]).unwrap());
        let ours = Link::connect(&endpoint, Some(Duration::from_secs(60)), None).unwrap();
        let Link::Plugged(link) = &ours else { panic!("{ours:?}") };
        assert_eq!(link.certificate().unwrap().subject, "CN=fixture");
        ours.send(&mut [std::io::IoSlice::new(b"octets")]).unwrap();
        assert_eq!(accepted.join().unwrap(), 6);
    });
    Ok(())
}

#[test]
fn key_stores_of_openssl_and_java_are_read() {
    for store in ["openssl.p12", "openssl-legacy.p12", "keytool.p12"] {
        shakes_hands_with(store).unwrap_or_else(|why| panic!("{store}: {why}"));
    }
}

#[test]
fn the_own_certificate_is_warned_of_while_no_connection_comes() {
    let log = CapturedLog::install();
    let folder = Folder::default();
    let authority = Authority::new("the clock");
    let own = authority.issue_for("soon over", &["localhost"], Validity::Days(20));
    let paths = [
        folder.write("own.pem", &own.certificate),
        folder.write("own.key", &own.key),
        folder.write("trust.pem", authority.pem()),
    ];
    let [certificate, key, trust] = paths;
    let settings = PartialSettings::new()
        .tls_certificate(Some(certificate))
        .tls_key(Some(key))
        .tls_trust(Some(trust));
    let settings = Settings::from_process(settings, &mut Vec::new()).unwrap();
    let tls = Tls::new(&settings).unwrap();
    let warnings = || log.lines_with("soon over").len();
    assert_eq!(warnings(), 1, "at the start");
    let (start, hour) = (Instant::now(), Duration::from_secs(3600));
    for hours in 1..=48 {
        tls.look(start + hour * hours);
    }
    assert_eq!(warnings(), 3, "once a day: {:?}", log.lines_with("soon over"));
    // The new one is found by the clock, and is good for long.
    let new = authority.issue("soon over", &["localhost"]);
    folder.write("own.pem", &new.certificate);
    folder.write("own.key", &new.key);
    tls.look(start + hour * 49);
    tls.look(start + hour * 73);
    assert_eq!(warnings(), 3, "{:?}", log.lines_with("soon over"));
    let left = tls.certificate_expiry().unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left > hour * 24 * 365, "{left:?}");
}
