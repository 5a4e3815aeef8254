//! Servers that follow a script, over real sockets: what they read is checked, what they answer is
//! made by hand. Shared by the tests of what clients do.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)] // a part of each test

use super::echo::{Echo, loopback_orb};
use corbie::{CompletionStatus, Orb, SystemException, SystemExceptionKind};
use corbie_testkit::{MessageKind, message_header};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Far more than any of the times waited for here.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose connections are served by `script`, one after the other.
pub fn scripted<T: Send + 'static>(
    script: impl FnOnce(&TcpListener) -> T + Send + 'static,
) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("corbaloc:iiop:1.2@{}/Echo", listener.local_addr().unwrap());
    (url, thread::spawn(move || script(&listener)))
}

pub fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn client(url: &str, more: &[&str]) -> (Orb, Echo) {
    let orb = loopback_orb(more);
    let echo = Echo(orb.string_to_object(url).unwrap());
    (orb, echo)
}

/// The next message of the client; `None` when it has closed.
pub fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut octets = vec![0; 12];
    if stream.read(&mut octets[..1]).unwrap() == 0 {
        return None;
    }
    stream.read_exact(&mut octets[1..]).unwrap();
    let size = *octets.last_chunk().unwrap();
    let little = octets[6] & 1 == 1;
    let size = if little { u32::from_le_bytes(size) } else { u32::from_be_bytes(size) };
    octets.resize(12 + size as usize, 0);
    stream.read_exact(&mut octets[12..]).unwrap();
    Some(octets)
}

/// The id of a request in the client's order, as a big-endian number.
pub fn id_of(request: &[u8]) -> u32 {
    let id = *request[12..].first_chunk().unwrap();
    if request[6] & 1 == 1 { u32::from_le_bytes(id) } else { u32::from_be_bytes(id) }
}

pub fn reply(id: u32, status: u32, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(12 + body.len()).unwrap();
    let header = message_header(MessageKind::Reply, false, size);
    [&header[..], &id.to_be_bytes(), &status.to_be_bytes(), &[0; 4], body].concat()
}

/// Answers requests with 42 until the client closes; how many there were.
pub fn answer_all(stream: &mut TcpStream) -> u32 {
    let mut answered = 0;
    while let Some(request) = message(stream) {
        stream.write_all(&reply(id_of(&request), 0, &42i64.to_be_bytes())).unwrap();
        answered += 1;
    }
    answered
}

#[track_caller]
pub fn is(exception: &SystemException, kind: SystemExceptionKind, completed: CompletionStatus) {
    assert_eq!((exception.kind, exception.completed), (kind, completed), "{exception}");
}
