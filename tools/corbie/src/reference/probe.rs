//! One address of a reference, by hand and without the ORB, so that each step fails on its own: is
//! the name known, does a process listen, does it speak GIOP, has it the object.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use corbie::types::Ior;
use corbie::{ByteOrder, Decoder, Marshal as _};

/// A LocateReply with a reference is not longer.
const ANSWER_MAX: usize = 1 << 20;
/// Octets that are waited for at a time.
const PIECE: usize = 4 << 10;
const HEADER: usize = 12;
const LOCATE_REPLY: u8 = 4;
const CLOSE_CONNECTION: u8 = 5;
const MESSAGE_ERROR: u8 = 6;

/// What a server says of an object.
pub(crate) enum Located {
    Here,
    Unknown,
    Forward(Box<Ior>),
}

/// Why there is no answer.
pub(crate) enum Trouble {
    /// No process listens.
    Refused,
    /// Nothing came back.
    BlackHole,
    /// Another failure of the network.
    Network(io::Error),
    /// It took the connection and closed it.
    Closed,
    /// It says nothing.
    Silent,
    /// What it said instead.
    NotGiop(Vec<u8>),
    MessageError,
    /// CloseConnection: it takes no requests now.
    Closing,
    /// An answer that cannot be read.
    Malformed(String),
}

impl Trouble {
    /// What is wrong, and what to try.
    pub(crate) fn words(&self) -> (String, String) {
        let (what, advice) = match self {
            Trouble::Refused => (
                "connection refused: no process listens there".to_owned(),
                "start the server, or compare its port with that of the reference",
            ),
            Trouble::BlackHole => (
                "no answer at all: packets are dropped, or the machine is gone".to_owned(),
                "look at firewalls between here and there, and whether the machine runs; a server \
                 behind address translation needs the setting published_address",
            ),
            Trouble::Network(error) => {
                (error.to_string(), "look at the route to that network, from this machine")
            }
            Trouble::Closed => (
                "the server closed the connection without a word".to_owned(),
                "it may be full (server_connections_max), may not let this address in, or may \
                 take TLS only: its log says which",
            ),
            Trouble::Silent => (
                "the server takes the connection and says nothing".to_owned(),
                "it hangs, or all its threads are in servants: look at it with a debugger, or at \
                 pool_threads_max",
            ),
            Trouble::NotGiop(octets) => not_giop(octets),
            Trouble::MessageError => (
                "the server answers MessageError: it does not understand GIOP 1.0".to_owned(),
                "look at its log for what it did not like; it may be a server of another protocol \
                 that begins like GIOP",
            ),
            Trouble::Closing => (
                "the server takes no requests now: it closes its connections".to_owned(),
                "it ends, or is full: try again, or look at its log",
            ),
            Trouble::Malformed(why) => {
                (format!("the answer cannot be read: {why}"), "report it to the server's makers")
            }
        };
        (what, advice.to_owned())
    }
}

fn not_giop(octets: &[u8]) -> (String, &'static str) {
    let text = String::from_utf8_lossy(octets.get(..40.min(octets.len())).unwrap_or_default());
    match octets {
        [0x15, 3, ..] => (
            "the server speaks TLS there, and this connection is plain".to_owned(),
            "use the reference of the server, which has its TLS port in a component, or ssliop:// \
             in a corbaloc",
        ),
        _ => (
            format!("what listens there does not speak GIOP: it says {text:?}"),
            "compare the port with that of the server: another program has it",
        ),
    }
}

/// The addresses of a host.
pub(crate) fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<_> = (host, port).to_socket_addrs()?.collect();
    if found.is_empty() { Err(io::Error::other("it has no address")) } else { Ok(found) }
}

/// A connection.
///
/// # Errors
/// Why there is none.
pub(crate) fn connect(place: SocketAddr, timeout: Duration) -> Result<TcpStream, Trouble> {
    TcpStream::connect_timeout(&place, timeout).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Trouble::Refused,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Trouble::BlackHole,
        _ => Trouble::Network(error),
    })
}

/// Asks for the object with this key: a LocateRequest of GIOP 1.0, which every server reads.
///
/// # Errors
/// What came instead of an answer.
pub(crate) fn locate(
    mut stream: TcpStream,
    key: &[u8],
    timeout: Duration,
) -> Result<Located, Trouble> {
    let key_octets = u32::try_from(key.len()).map_err(|_| Trouble::Malformed("its key".into()))?;
    let mut request = b"GIOP\x01\0\0\x03".to_vec();
    request.extend((8 + key_octets).to_be_bytes());
    request.extend(1_u32.to_be_bytes());
    request.extend(key_octets.to_be_bytes());
    request.extend(key);
    let deadline = Instant::now() + timeout;
    stream.set_write_timeout(Some(timeout)).map_err(Trouble::Network)?;
    stream.write_all(&request).map_err(of_receiving)?;
    let mut header = [0; HEADER];
    let count = receive(&mut stream, &mut header, deadline)?;
    let [b'G', b'I', b'O', b'P', _, _, flags, kind, size @ ..] = header else {
        return Err(Trouble::NotGiop(header.get(..count).unwrap_or_default().to_vec()));
    };
    if count < HEADER {
        return Err(Trouble::Closed);
    }
    let is_little = flags & 1 == 1;
    let size = if is_little { u32::from_le_bytes(size) } else { u32::from_be_bytes(size) };
    match kind {
        LOCATE_REPLY => {}
        MESSAGE_ERROR => return Err(Trouble::MessageError),
        CLOSE_CONNECTION => return Err(Trouble::Closing),
        other => return Err(Trouble::Malformed(format!("it is a message of type {other}"))),
    }
    let size = usize::try_from(size).ok().filter(|size| *size <= ANSWER_MAX);
    let Some(size) = size else { return Err(Trouble::Malformed("it is too long".to_owned())) };
    // As much room as octets come, whatever the header claims.
    let mut body = Vec::new();
    while body.len() < size {
        let begin = body.len();
        body.resize(size.min(begin + PIECE), 0);
        let wanted = body.len() - begin;
        let room = body.get_mut(begin..).unwrap_or_default();
        if receive(&mut stream, room, deadline)? < wanted {
            return Err(Trouble::Closed);
        }
    }
    let order = if is_little { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
    answer(Decoder::new(&body, order)).map_err(|error| Trouble::Malformed(error.to_string()))
}

fn answer(mut body: Decoder<'_>) -> Result<Located, corbie::codegen::Error> {
    let _request = body.read_ulong()?;
    Ok(match body.read_ulong()? {
        0 => Located::Unknown,
        1 => Located::Here,
        _ => Located::Forward(Box::new(Ior::decode(&mut body)?)),
    })
}

/// Fills `octets`, or as much of it as comes before the end or `deadline`; nothing at all is an
/// error.
fn receive(stream: &mut TcpStream, octets: &mut [u8], deadline: Instant) -> Result<usize, Trouble> {
    let mut count = 0;
    while let Some(rest) = octets.get_mut(count..).filter(|rest| !rest.is_empty()) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return if count > 0 { Ok(count) } else { Err(Trouble::Silent) };
        }
        stream.set_read_timeout(Some(left)).map_err(Trouble::Network)?;
        match stream.read(rest) {
            Ok(0) if count == 0 => return Err(Trouble::Closed),
            Ok(0) => break,
            Ok(more) => count += more,
            Err(_) if count > 0 => break,
            Err(error) => return Err(of_receiving(error)),
        }
    }
    Ok(count)
}

fn of_receiving(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Trouble::Silent,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Trouble::Closed,
        _ => Trouble::Network(error),
    }
}
