//! `corbie doctor` names what is wrong with a reference, for each way in which one can be wrong, and
//! says what to try.

mod process;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod server;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use corbie::types::ior::TaggedComponent;
use corbie::types::{IiopProfile, Ior};
use corbie_testkit::certificates::{Authority, Folder, Validity};
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

/// A server that takes TLS only, and the reference of its object.
fn tls_server(own: &[String]) -> (Server, String) {
    let mut settings = vec!["-ORBListenEndpoints", "ssliop://127.0.0.1:0"];
    settings.extend(own.iter().map(String::as_str));
    let server = Server::start_with(&settings);
    let reference = server.reference.clone();
    (server, reference)
}

/// What the doctor says of `reference` with these settings, and whether the object is well.
fn examined(reference: &str, tls: &[String]) -> (i32, String) {
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    let outcome = corbie(&[&["doctor", "--timeout", "5", reference], &tls[..]].concat());
    assert_eq!(outcome.stderr, "", "{outcome:?}");
    (outcome.status, outcome.stdout)
}

#[test]
fn the_handshake_of_tls_is_a_step_of_its_own() {
    let folder = Folder::default();
    let (authority, others) = (Authority::new("ours"), Authority::new("others"));
    let well = authority.issue("server", &["127.0.0.1"]);
    let (server, reference) = tls_server(&folder.arguments("server", &well, &authority));
    let client = authority.issue("client", &["127.0.0.1"]);
    let trusting = folder.arguments("client", &client, &authority);
    let (status, said) = examined(&reference, &trusting);
    assert_eq!(status, 0, "{said}");
    let steps =
        ["(TLS)", "connect  ok", "tls      ok    both sides trust", "object   ok", "call     ok"];
    says(&said, &steps);
    let wrong = |tls: &[String], parts: &[&str]| {
        let (status, said) = examined(&reference, tls);
        assert_eq!(status, 1, "{said}");
        says(&said, &["tls      WRONG"]);
        says(&said, parts);
    };
    wrong(&[], &["tls_trust"]);
    let stranger = folder.arguments("stranger", &client, &others);
    wrong(&stranger, &["authority that tls_trust (-ORBTlsTrust) does not name"]);
    wrong(&trusting[4..], &["wants a certificate of this process"]);
    let unknown = others.issue("unknown", &["127.0.0.1"]);
    wrong(&folder.arguments("unknown", &unknown, &authority), &["does not trust the authority"]);
    let port = server.port();
    let nothing = format!("corbaloc:ssliop:127.0.0.1:{port}/Nothing");
    let (status, said) = examined(&nothing, &trusting);
    assert_eq!(status, 1, "{said}");
    says(&said, &["tls      ok", "object   WRONG the server has no such object"]);
    drop(server);
    let gone = examined(&reference, &trusting).1;
    says(&gone, &["connect  WRONG connection refused", "try   start the server"]);
    for (certificate, why) in [
        (authority.issue_for("old", &["127.0.0.1"], Validity::Over), "has expired"),
        (authority.issue("elsewhere", &["192.0.2.1"]), "does not name this host"),
    ] {
        let own = folder.arguments("server", &certificate, &authority);
        let (_server, reference) = tls_server(&own);
        let (_, said) = examined(&reference, &trusting);
        says(&said, &["tls      WRONG", why]);
    }
}

#[test]
fn a_reference_with_very_many_addresses_is_not_followed_for_ever() {
    let mut profile = IiopProfile::new(corbie::Version::V1_2, "127.0.0.1", 1, *b"Key");
    for port in 1..=200 {
        // TAG_ALTERNATE_IIOP_ADDRESS: byte order, host, port.
        let mut data = b"\0\0\0\0\0\0\0\x0a127.0.0.1\0".to_vec();
        data.extend(u16::to_be_bytes(port));
        profile.components.push(TaggedComponent { tag: 3, data });
    }
    let ior = Ior::from_iiop("IDL:Test:1.0", &profile).expect("a reference");
    let said = complaint(&ior.to_string());
    says(&said, &["32 addresses were tried; there are more"]);
    assert_eq!(said.matches("connect  ").count(), 32, "{said}");
}
