//! Requests that are larger than their server takes: refused before they are sent where the client
//! knows the server's limit, and never sent again after MessageError.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::types::IiopProfile;
use corbie::{CompletionStatus, Interface, Ior, Object, SystemExceptionKind, Version, minor};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, as_client, loopback_orb, serve};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_request_that_the_server_would_refuse_is_not_sent_and_both_sizes_are_said() {
    let (server, echo, _noted) = serve(&["-ORBMessageOctetsMax", "100000"]);
    for multiplexing in ["exclusive", "muxed"] {
        let client = loopback_orb(&["-ORBTransportMultiplexing", multiplexing]);
        let echo = as_client(&client, &echo);
        assert_eq!(echo.octets(&vec![7; 90_000]).unwrap().len(), 90_000);
        let exception = echo.octets(&vec![7; 200_000]).unwrap_err();
        assert_eq!(exception.minor, minor::IMP_LIMIT_MESSAGE_SIZE, "{exception}");
        assert_eq!(exception.completed, CompletionStatus::No);
        let text = exception.to_string();
        assert!(text.contains("2000") && text.contains("100000"), "{text}");
        // The connection goes on.
        assert_eq!(echo.double(2).unwrap(), 4);
    }
    server.shutdown(true);
}

#[test]
fn a_server_with_the_default_limit_need_not_say_so() {
    let (server, echo, _noted) = serve(&[]);
    let echo = as_client(&loopback_orb(&[]), &echo);
    let exception = echo.octets(&vec![7; (64 << 20) + 1]).unwrap_err();
    assert_eq!(exception.minor, minor::IMP_LIMIT_MESSAGE_SIZE, "{exception}");
    assert!(exception.to_string().contains("67108864"), "{exception}");
    server.shutdown(true);
}

#[test]
fn a_request_that_was_answered_by_message_error_is_not_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    // Another ORB's server: it reads a header, says MessageError and closes.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut header = [0; 12];
            stream.read_exact(&mut header).unwrap();
            stream.write_all(&message_header(MessageKind::MessageError, false, 0)).unwrap();
        }
    });
    let profile = IiopProfile::new(Version::V1_2, "127.0.0.1", port, *b"Echo");
    let ior = Ior::from_iiop(Echo::REPOSITORY_ID, &profile).unwrap();
    let client = loopback_orb(&[]);
    let echo = Echo(Object::new(&client, ior));
    for attempt in 1..5 {
        let exception = echo.octets(&vec![7; 20 << 20]).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::CommFailure, "{exception}");
        assert_eq!(exception.minor, minor::COMM_FAILURE_MESSAGE_ERROR, "{exception}");
        assert_eq!(exception.completed, CompletionStatus::No);
        assert!(exception.to_string().contains("209715"), "{exception}");
        assert_eq!(accepted.load(Ordering::SeqCst), attempt, "sent more than once");
    }
}
