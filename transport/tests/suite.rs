//! The conformance suite of transports (`tests/testkit`), on each that is built in.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_testkit::transport_suite;
use corbie_testkit::transport_suite::TransportSubject;
use corbie_transport::{Acceptor, Endpoint, Link, ShmOptions, UnixOptions};
use rustix::net::{Shutdown, shutdown};
use std::sync::atomic::{AtomicU32, Ordering};

struct Tcp;

impl TransportSubject for Tcp {
    fn listen(&self) -> Acceptor {
        Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap()
    }

    fn write(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Tcp { port, .. } => port.to_string(),
            other => panic!("{other}"),
        }
    }

    fn read(&self, text: &str) -> Endpoint {
        Endpoint::tcp("127.0.0.1", text.parse().unwrap())
    }

    fn end_sending(&self, link: &Link) -> bool {
        shutdown(link.descriptor().unwrap(), Shutdown::Write).unwrap();
        true
    }
}

/// A socket that is a file, or an abstract one.
struct Unix {
    is_abstract: bool,
}

impl TransportSubject for Unix {
    fn listen(&self) -> Acceptor {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("@corbie-suite-{}-{number}", std::process::id()).parse().unwrap();
        let name = self.is_abstract.then_some(&name);
        Acceptor::bind_unix(name, UnixOptions::default()).unwrap()
    }

    fn write(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Unix(name) => name.to_string(),
            other => panic!("{other}"),
        }
    }

    fn read(&self, text: &str) -> Endpoint {
        Endpoint::Unix(text.parse().unwrap())
    }

    fn end_sending(&self, link: &Link) -> bool {
        Tcp.end_sending(link)
    }
}

struct Shm;

impl TransportSubject for Shm {
    fn listen(&self) -> Acceptor {
        Acceptor::bind_shm(None, ShmOptions::default()).unwrap()
    }

    fn write(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Shm(name) => name.to_string(),
            other => panic!("{other}"),
        }
    }

    fn read(&self, text: &str) -> Endpoint {
        Endpoint::Shm(text.parse().unwrap())
    }

    fn tells_of_more(&self) -> bool {
        false
    }
}

transport_suite!(tcp, Tcp);
transport_suite!(shm, Shm);
transport_suite!(unix_path, Unix { is_abstract: false });
transport_suite!(unix_abstract, Unix { is_abstract: true });
