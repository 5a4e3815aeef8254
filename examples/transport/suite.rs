//! The example's transport: it passes the conformance suite of transports, and an ORB with it makes
//! calls over it in every way.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test fails by panicking")]

mod veil;

use corbie::transport::{Endpoint, PeerAddress, PluggedEndpoint, Transport};
use corbie_testkit::transport_suite;
use corbie_testkit::transport_suite::TransportSubject;
use corbie_transport::Acceptor;
use std::sync::Arc;
use veil::Veil;

struct Subject;

fn transport() -> Arc<dyn Transport> {
    Arc::new(Veil::new(0x005E_C2E7))
}

impl TransportSubject for Subject {
    fn listen(&self) -> Acceptor {
        Acceptor::bind_plugged(&PluggedEndpoint::new(transport(), "")).unwrap()
    }

    fn write(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Plugged(plugged) => plugged.address().to_owned(),
            other => panic!("{other}"),
        }
    }

    fn read(&self, text: &str) -> Endpoint {
        Endpoint::Plugged(PluggedEndpoint::new(transport(), text))
    }
}

transport_suite!(veil_suite, Subject);

#[test]
fn peers_are_known_by_what_the_transport_says() {
    let (_ours, theirs) = Subject.pair();
    assert!(matches!(theirs.peer(), PeerAddress::Plugged("veil", _)));
}
