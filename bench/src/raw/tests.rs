//! Run by `cargo test`.
//! The raw contenders over real sockets, in one process.

use super::*;
use crate::driver::Client;

const SIZES: Sizes = Sizes { request: 92, reply: 32 };

/// A server in threads; they end with the test's process.
fn client(over: StreamKind, spin: bool, pipelined: bool) -> RawClient {
    let listener = Listener::bind(over).unwrap();
    let address = Address(listener.address().unwrap());
    std::thread::spawn(move || {
        while let Ok(stream) = listener.accept() {
            std::thread::spawn(move || serve_connection(stream, spin, SIZES));
        }
    });
    RawClient { address, spin, pipelined, sizes: SIZES }
}

#[test]
fn values_come_back_over_every_stream() {
    for (over, spin) in [
        (StreamKind::Tcp, false),
        (StreamKind::Unix, false),
        (StreamKind::Tcp, true),
        (StreamKind::Tls, false),
    ] {
        let client = client(over, spin, false);
        let mut echo = client.echo().unwrap();
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(echo(value).unwrap(), value, "{over:?} spin {spin}");
        }
    }
}

#[test]
fn octets_come_back_whole() {
    for over in [StreamKind::Tcp, StreamKind::Tls] {
        let client = client(over, false, false);
        let mut echo = client.octets().unwrap();
        for size in [0, 1, 1_000, 70_000, 1_000_000] {
            echo(&vec![7; size], true).unwrap();
        }
    }
}

#[test]
fn pipelined_and_oneway_messages_are_counted() {
    let window = Duration::from_millis(20);
    let answers = [
        client(StreamKind::Tcp, false, true).threads(1, Duration::from_millis(5), window).unwrap(),
        client(StreamKind::Tcp, false, false).oneways(window).unwrap(),
    ];
    for answer in answers {
        assert!(matches!(answer, Answer::Rate { calls: 1.., nanoseconds: 1.. }), "{answer}");
    }
}
