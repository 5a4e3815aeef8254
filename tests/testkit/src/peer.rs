//! A peer that sends whatever octets a test wants over a real socket, at any pace, and sees how it
//! is answered. For tests of bad input against a running server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use corbie_giop::{MessageHeader, MessageKind};
use corbie_transport::Endpoint;
use socket2::{Domain, Socket, Type};

/// How a server ended a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It sent MessageError and closed.
    MessageError,
    /// It sent CloseConnection and closed.
    CloseConnection,
    /// It closed without a word, or broke the connection off.
    Closed,
    /// It sent something else first: the octets.
    Octets(Vec<u8>),
    /// It did nothing in the time given; the octets it sent by then.
    StillOpen(Vec<u8>),
}

impl Answered {
    /// Whether the connection is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::MessageError | Self::CloseConnection | Self::Closed)
    }
}

/// A connection without any protocol, over TCP or a unix-domain socket.
#[derive(Debug)]
pub struct RawPeer {
    /// Whatever socket it is: reading, writing and their time-outs are alike.
    stream: TcpStream,
    name: String,
}

impl RawPeer {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let name = stream.local_addr()?.to_string();
        Self::new(stream, name)
    }

    /// Connects from the address 127.0.0.`host` of this machine, as from another machine.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect_from(host: u8, to: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&SocketAddr::from(([127, 0, 0, host], 0)).into())?;
        socket.connect(&to.into())?;
        let stream = TcpStream::from(socket);
        let name = stream.local_addr()?.to_string();
        Self::new(stream, name)
    }

    /// Connects to whatever a server listens on first.
    ///
    /// # Errors
    /// What the system says; `Unsupported` for what is no socket.
    pub fn connect_to(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp { host, port } => Self::connect((&**host, *port)),
            Endpoint::Unix(name) => {
                let path = name.path().ok_or(ErrorKind::Unsupported)?;
                let stream = OwnedFd::from(UnixStream::connect(path)?);
                Self::new(stream.into(), format!("unix process {}", std::process::id()))
            }
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    fn new(stream: TcpStream, name: String) -> io::Result<Self> {
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream, name })
    }

    /// What the server's log has to call this peer.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This end's own address, for TCP.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Sends octets at once.
    ///
    /// # Errors
    /// What the system says; a server may close while a peer is still sending.
    pub fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        self.stream.write_all(octets)
    }

    /// Sends one octet after the other with a pause behind each; how many were taken before the
    /// server closed.
    pub fn send_slowly(&mut self, octets: &[u8], pause: Duration) -> usize {
        for (sent, octet) in octets.iter().enumerate() {
            if self.stream.write_all(&[*octet]).is_err() || self.has_closed() {
                return sent;
            }
            std::thread::sleep(pause); // tidy: sleep: a slow peer is what this simulates
        }
        octets.len()
    }

    /// Whether the server has closed, as far as is known without waiting.
    #[must_use]
    pub fn has_closed(&self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let mut octet = [0];
        let closed = match self.stream.peek(&mut octet) {
            Ok(octets) => octets == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        closed || self.stream.set_nonblocking(false).is_err()
    }

    /// Receives one whole GIOP message.
    ///
    /// # Errors
    /// What the system says, `TimedOut`, `UnexpectedEof`, or `InvalidData` when it is no GIOP.
    pub fn receive_message(&mut self, within: Duration) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + within;
        let mut octets = vec![0; MessageHeader::OCTETS];
        self.read_until(&mut octets, deadline)?;
        let first = octets.first_chunk().ok_or(ErrorKind::InvalidData)?;
        let header = MessageHeader::decode(first).map_err(io::Error::other)?;
        let mut body = vec![0; header.total() - MessageHeader::OCTETS];
        self.read_until(&mut body, deadline)?;
        octets.append(&mut body);
        Ok(octets)
    }

    fn read_until(&mut self, mut octets: &mut [u8], deadline: Instant) -> io::Result<()> {
        while !octets.is_empty() {
            match self.read_some(octets, deadline)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => octets = &mut octets[read..],
            }
        }
        Ok(())
    }

    fn read_some(&mut self, octets: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(octets) {
                // A process that was stopped and goes on.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(ErrorKind::TimedOut.into());
                }
                outcome => return outcome,
            }
        }
    }

    /// Reads until the server closes, and says how it took leave.
    pub fn answered(&mut self, within: Duration) -> Answered {
        let deadline = Instant::now() + within;
        let mut received = Vec::new();
        let mut octets = [0; 4096];
        loop {
            match self.read_some(&mut octets, deadline) {
                Ok(0) => break,
                Ok(read) => received.extend_from_slice(&octets[..read]),
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Answered::StillOpen(received);
                }
                // Reset: the server closed with octets of ours unread.
                Err(_) => break,
            }
        }
        if received.is_empty() {
            return Answered::Closed;
        }
        let header = received.first_chunk().map(MessageHeader::decode);
        match header {
            Some(Ok(MessageHeader { kind: MessageKind::MessageError, .. })) => {
                Answered::MessageError
            }
            Some(Ok(MessageHeader { kind: MessageKind::CloseConnection, .. })) => {
                Answered::CloseConnection
            }
            _ => Answered::Octets(received),
        }
    }

    /// Closes the sending half; the server sees the end of the stream.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}
