//! A transport of our own: TCP whose octets are veiled, so that no box on the way takes them for
//! GIOP and meddles with them. Each octet is combined with one of a stream that both ends make of a
//! common secret. This hides the protocol from the careless, and nothing from an enemy.
//!
//! What a third-party transport consists of is all here: [`Veil`] opens and listens, [`VeilLink`]
//! moves octets, [`VeilAcceptor`] accepts. The sockets never wait when they send, so that a full
//! one holds no thread beyond the time-out; they are watched by event loops as they are.

mod keystream;
mod link;

use corbie::transport::{PluggedAcceptor, PluggedLink, Transport};
use keystream::Keystream;
use link::VeilLink;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The transport `veil`: endpoints are `veil://host:port`.
#[derive(Debug)]
pub(crate) struct Veil {
    secret: u64,
}

impl Veil {
    /// Both sides need the same secret.
    pub(crate) fn new(secret: u64) -> Self {
        Veil { secret }
    }

    fn link(&self, stream: TcpStream, is_server: bool) -> io::Result<Box<dyn PluggedLink>> {
        stream.set_nodelay(true)?;
        let [to_server, to_client] = Keystream::both(self.secret);
        let (sending, receiving) =
            if is_server { (to_client, to_server) } else { (to_server, to_client) };
        Ok(Box::new(VeilLink::new(stream, sending, receiving)?))
    }
}

impl Transport for Veil {
    fn scheme(&self) -> &'static str {
        "veil"
    }

    /// "VEIL". A transport for others than ourselves would have its tag registered with the OMG.
    fn profile_tag(&self) -> u32 {
        u32::from_be_bytes(*b"VEIL")
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(()),
            _ => Err(format!("{address:?} is not `host:port`")),
        }
    }

    fn connect(
        &self,
        address: &str,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in address.to_socket_addrs()? {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let connected = match left.into_iter().chain(each).min() {
                Some(Duration::ZERO) => return Err(io::ErrorKind::TimedOut.into()),
                Some(time) => TcpStream::connect_timeout(&address, time),
                None => TcpStream::connect(address),
            };
            match connected {
                Ok(stream) => return self.link(stream, false),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn listen(&self, address: &str) -> io::Result<Box<dyn PluggedAcceptor>> {
        let address = if address.is_empty() { "127.0.0.1:0" } else { address };
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Box::new(VeilAcceptor { listener, address, veil: Veil { ..*self } }))
    }
}

/// The listening side.
#[derive(Debug)]
struct VeilAcceptor {
    listener: TcpListener,
    address: SocketAddr,
    veil: Veil,
}

impl PluggedAcceptor for VeilAcceptor {
    fn address(&self) -> String {
        self.address.to_string()
    }

    fn accept(&self) -> io::Result<Box<dyn PluggedLink>> {
        let (stream, _) = self.listener.accept()?;
        self.veil.link(stream, true)
    }

    fn try_accept(&self) -> io::Result<Option<Box<dyn PluggedLink>>> {
        match self.accept() {
            Ok(link) => Ok(Some(link)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)
    }

    fn close(&self) {
        // Wakes a thread in `accept`, on Linux. There is nothing to be done if it fails.
        let _ = shutdown(&self.listener, Shutdown::Both);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.listener.as_fd())
    }
}
