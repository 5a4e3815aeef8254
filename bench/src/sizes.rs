//! How many octets a request and a reply of Corbie's `echo` have: what the raw contenders send.
//!
//! Measured once a run, and not computed: a relay between a real client and a real server counts
//! the messages of a few calls. `main.rs` hands the result to the roster.

use crate::contender::Roster;
use crate::corbie_contender;
use crate::driver::Failure;
use crate::orders::Order;
use crate::process::Process;
use crate::raw::Sizes;
use corbie::Ior;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Octets of a GIOP header; the size of what follows stands in its last four
/// (CORBA 3.3 P2 §9.4.1).
const HEADER_OCTETS: usize = 12;
/// The bit of the flags octet that says that the sender is little-endian.
const LITTLE_ENDIAN: u8 = 1;

/// Calls through a relay and counts the octets of the last request and reply: by then, whatever a
/// connection says only once has been said.
///
/// # Errors
/// When server or client do not run, or what they send is not GIOP.
pub(crate) fn measure(roster: &Roster, log: &File) -> Result<Sizes, Failure> {
    let contender = corbie_contender::smi("corbie-smi");
    let server = Process::start(&roster.server(&contender)?, None, log)?;
    let ior: Ior = server.address()?.parse()?;
    let profile = ior.iiop_profiles()?.into_iter().next().ok_or("a reference without IIOP")?;
    let relay = TcpListener::bind("127.0.0.1:0")?;
    let address = url(relay.local_addr()?.port(), &profile.object_key);
    let (host, port) = (profile.host, profile.port);
    let counting = std::thread::spawn(move || -> io::Result<Sizes> {
        let (client, _) = relay.accept()?;
        count(client, TcpStream::connect((host.as_str(), port))?)
    });
    let mut client = Process::start(&roster.client(&contender, &address)?, None, log)?;
    client.obey(&Order::Latency { warm_up: 2, calls: 2 })?;
    drop(client);
    Ok(counting.join().map_err(|_| "the relay panicked")??)
}

/// An object of another process by its key, at the relay (CORBA 3.3 P2 §7.6.10.1).
fn url(port: u16, key: &[u8]) -> String {
    let mut url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/");
    for octet in key {
        let _ = write!(url, "%{octet:02x}");
    }
    url
}

/// Passes requests on and replies back until the client closes.
fn count(mut client: TcpStream, mut server: TcpStream) -> io::Result<Sizes> {
    let mut sizes = Sizes { request: 0, reply: 0 };
    loop {
        let request = match message(&mut client) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && sizes.reply > 0 => {
                return Ok(sizes);
            }
            // A client that is killed instead of closing has made its calls as well.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset && sizes.reply > 0 => {
                return Ok(sizes);
            }
            request => request?,
        };
        server.write_all(&request)?;
        let reply = message(&mut server)?;
        client.write_all(&reply)?;
        sizes = Sizes { request: request.len(), reply: reply.len() };
    }
}

/// One whole GIOP message.
fn message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut message = vec![0; HEADER_OCTETS];
    stream.read_exact(&mut message)?;
    if !message.starts_with(b"GIOP") {
        return Err(io::Error::other("not a GIOP message"));
    }
    let mut size = [0; 4];
    size.copy_from_slice(&message[8..HEADER_OCTETS]);
    let little = message[6] & LITTLE_ENDIAN != 0;
    let size = if little { u32::from_le_bytes(size) } else { u32::from_be_bytes(size) };
    stream.take(size.into()).read_to_end(&mut message)?;
    if message.len() != HEADER_OCTETS + size as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_byte_orders_are_taken_whole() {
        let little = b"GIOP\x01\x02\x01\x00\x03\x00\x00\x00abcrest";
        let big = b"GIOP\x01\x02\x00\x00\x00\x00\x00\x03abcrest";
        for octets in [little, big] {
            assert_eq!(message(&mut &octets[..]).unwrap().len(), 15);
        }
        assert!(message(&mut &b"HTTP/1.1 200 OK\r\n"[..]).is_err());
        assert!(message(&mut &little[..14]).is_err());
    }

    #[test]
    fn keys_are_escaped_octet_by_octet() {
        assert_eq!(url(5, &[0, b'a', 0xff]), "corbaloc:iiop:1.2@127.0.0.1:5/%00%61%ff");
    }
}
