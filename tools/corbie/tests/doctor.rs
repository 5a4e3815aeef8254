//! `corbie doctor` names what is wrong with a reference, for each way in which one can be wrong, and
//! says what to try.

mod process;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use corbie::types::ior::TaggedComponent;
use corbie::types::{IiopProfile, Ior};
use corbie_testkit::servers::free_port;
use process::corbie;
use server::Server;

/// What the doctor says of a reference that does not work.
fn complaint(reference: &str) -> String {
    let outcome = corbie(&["doctor", "--timeout", "1", reference]);
    assert_eq!((outcome.status, &*outcome.stderr), (1, ""), "{outcome:?}");
    outcome.stdout
}

/// A server that answers its first message with these octets, or not at all.
fn answering(answer: Option<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("corbaloc::{}/Key", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            if let Some(answer) = answer {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer);
            } else {
                kept.push(stream);
            }
        }
    });
    url
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn an_object_that_answers_is_well() {
    let server = Server::start();
    let outcome = corbie(&["doctor", &server.reference]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    says(
        &outcome.stdout,
        &["name     ok", "connect  ok", "object   ok    the server has it", "call     ok"],
    );
    assert!(!outcome.stdout.contains("WRONG"), "{}", outcome.stdout);
}

#[test]
fn a_forward_is_followed() {
    let server = Server::start();
    server.bind_plain_key();
    let outcome = corbie(&["doctor", &format!("corbaloc::127.0.0.1:{}/Echo", server.port())]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    says(
        &outcome.stdout,
        &["sends clients on to another reference", "the server has it", "call     ok"],
    );
}

#[test]
fn an_object_that_is_gone_is_told_from_a_server_that_is() {
    let server = Server::start();
    let said = complaint(&format!("corbaloc::127.0.0.1:{}/Nothing", server.port()));
    says(&said, &["object   WRONG the server has no such object", "try   take a new reference"]);
    let said = complaint(&format!("corbaloc::127.0.0.1:{}/Nothing", free_port()));
    says(
        &said,
        &["connect  WRONG connection refused: no process listens there", "try   start the server"],
    );
}

#[test]
fn a_name_that_is_not_known_is_said() {
    let said = complaint("corbaloc::no-such-host.invalid:2809/Key");
    says(&said, &["name     WRONG `no-such-host.invalid` is not known here", "published_address"]);
}

#[test]
fn a_host_that_answers_nothing_is_said() {
    // As many connections as it holds wait to be accepted: the next is not answered.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = listener.local_addr().expect("an address");
    let wait = std::time::Duration::from_millis(200);
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&place, wait) {
        waiting.push(stream);
    }
    let said = complaint(&format!("corbaloc::{place}/Key"));
    says(&said, &["connect  WRONG no answer at all", "try   look at firewalls"]);
}

#[test]
fn what_is_no_orb_is_quoted() {
    let said = complaint(&answering(Some(b"HTTP/1.1 400 Bad Request\r\n\r\n")));
    says(&said, &["does not speak GIOP: it says \"HTTP/1.1 400\"", "another program has it"]);
    let said = complaint(&answering(Some(b"\x15\x03\x03\0\x02\x02\x0a and more")));
    says(&said, &["the server speaks TLS there, and this connection is plain"]);
    let said = complaint(&answering(Some(b"")));
    says(&said, &["closed the connection without a word"]);
    let said = complaint(&answering(None));
    says(&said, &["takes the connection and says nothing"]);
}

#[test]
fn a_message_error_and_a_closing_server_are_told_apart() {
    let said = complaint(&answering(Some(b"GIOP\x01\0\0\x06\0\0\0\0")));
    says(&said, &["the server answers MessageError"]);
    let said = complaint(&answering(Some(b"GIOP\x01\0\0\x05\0\0\0\0")));
    says(&said, &["the server takes no requests now"]);
}

#[test]
fn an_object_that_takes_tls_only_is_said() {
    let mut profile = IiopProfile::new(corbie::Version::V1_2, "127.0.0.1", 0, *b"Key");
    let tls = TaggedComponent { tag: 20, data: vec![0, 0, 0, 0x66, 0, 0x66, 0x0b, 0x23] };
    profile.components.push(tls);
    let ior = Ior::from_iiop("IDL:Test:1.0", &profile).expect("a reference");
    let said = complaint(&ior.to_string());
    says(&said, &["connect  WRONG the object takes TLS only, at port 2851"]);
}
