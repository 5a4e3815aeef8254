//! A tap in a TCP connection: passes on what two peers say to each other and keeps it. Used by
//! `capture`, for the golden streams.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What was said over one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) from_client: Vec<u8>,
    pub(crate) from_server: Vec<u8>,
}

/// Listens on a port and passes every connection on.
pub(crate) struct Tap {
    port: u16,
    streams: Arc<Mutex<Vec<Stream>>>,
}

impl Tap {
    /// Passes connections on to this port of loopback.
    pub(crate) fn to(server_port: u16) -> Result<Tap, String> {
        let fail = |error: std::io::Error| format!("the tap cannot listen: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        let streams: Arc<Mutex<Vec<Stream>>> = Arc::default();
        let kept = streams.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) {
                    join(client, server, &kept);
                }
            }
        });
        Ok(Tap { port, streams })
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What was said so far, connection by connection.
    pub(crate) fn streams(&self) -> Vec<Stream> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn join(client: TcpStream, server: TcpStream, streams: &Arc<Mutex<Vec<Stream>>>) {
    let index = {
        let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.push(Stream::default());
        streams.len() - 1
    };
    let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let kept = streams.clone();
    std::thread::spawn(move || {
        pass_on(client, server, &|octets| {
            let mut streams = kept.lock().unwrap_or_else(PoisonError::into_inner);
            streams[index].from_client.extend_from_slice(octets);
        });
    });
    let kept = streams.clone();
    std::thread::spawn(move || {
        pass_on(server_too, client_too, &|octets| {
            let mut streams = kept.lock().unwrap_or_else(PoisonError::into_inner);
            streams[index].from_server.extend_from_slice(octets);
        });
    });
}

/// Until one side closes.
fn pass_on(mut from: TcpStream, mut to: TcpStream, keep: &dyn Fn(&[u8])) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            break;
        }
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The other side may have closed already.
    let _ = to.shutdown(Shutdown::Both);
}

/// Whether a stream of GIOP messages ends between two messages (CORBA 3.3 P2 §9.4.1).
pub(crate) fn ends_between_messages(stream: &[u8]) -> bool {
    let mut rest = stream;
    while let Some((header, behind)) = rest.split_first_chunk::<12>() {
        let size = [header[8], header[9], header[10], header[11]];
        let little = header[6] & 1 == 1;
        let size = if little { u32::from_le_bytes(size) } else { u32::from_be_bytes(size) };
        match behind.get(size as usize..) {
            Some(next) if header.starts_with(b"GIOP") => rest = next,
            _ => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_passes_on_and_keeps() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let tap = Tap::to(server.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", tap.port())).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        client.write_all(b"question").unwrap();
        let mut got = [0; 8];
        accepted.read_exact(&mut got).unwrap();
        accepted.write_all(b"answer!!").unwrap();
        client.read_exact(&mut got).unwrap();
        let streams = tap.streams();
        assert_eq!(streams.len(), 1);
        assert_eq!(streams[0].from_client, b"question");
        assert_eq!(streams[0].from_server, b"answer!!");
    }

    #[test]
    fn the_end_of_a_message_is_known() {
        let whole = b"GIOP\x01\x02\x01\x03\x02\0\0\0abGIOP\x01\x02\0\x05\0\0\0\0";
        assert!(ends_between_messages(whole));
        assert!(!ends_between_messages(&whole[..whole.len() - 1]));
        assert!(!ends_between_messages(&whole[..13]));
    }
}
