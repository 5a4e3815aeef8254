//! A connection that is being opened while no thread waits for it.
//!
//! An event loop watches it: when it becomes writable, or fails, the attempt is over. What cannot
//! begin without waiting is for a thread and [`Link::connect`]: names that have to be resolved,
//! shared memory, a server whose queue is full, and transports of the application.

use crate::{Endpoint, Link, tcp, unix};
use rustix::io::Errno;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// See the module.
#[derive(Debug)]
pub struct Connecting {
    socket: Socket,
    peer: SocketAddr,
}

/// How an attempt begins.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "matched at once where it is made")]
pub enum Begun {
    /// It is over already.
    Open(Link),
    /// It goes on; to be watched.
    Waits(Connecting),
    /// It cannot begin without waiting.
    WouldWait,
}

impl Connecting {
    /// Begins to connect to `endpoint`.
    ///
    /// # Errors
    /// What the system says, for example that there are no descriptors left.
    pub fn begin(endpoint: &Endpoint) -> io::Result<Begun> {
        match endpoint {
            Endpoint::Tcp { host, port } => match host.parse::<IpAddr>() {
                Ok(address) => Self::begin_tcp((address, *port).into()),
                Err(_) => Ok(Begun::WouldWait),
            },
            Endpoint::Unix(name) => {
                let link = unix::connect_now(name)?.map(Link::Unix);
                Ok(link.map_or(Begun::WouldWait, Begun::Open))
            }
            Endpoint::TcpWithin { .. } | Endpoint::Shm(_) | Endpoint::Plugged(_) => {
                Ok(Begun::WouldWait)
            }
        }
    }

    fn begin_tcp(peer: SocketAddr) -> io::Result<Begun> {
        let connecting = Connecting { socket: tcp::begin(peer)?, peer };
        Ok(connecting.finish()?.map_or(Begun::Waits(connecting), Begun::Open))
    }

    /// The link once it is open; `None`: it is not yet.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn finish(&self) -> io::Result<Option<Link>> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error()) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        self.socket.set_nonblocking(false)?;
        tcp::link(self.socket.try_clone()?, self.peer).map(|link| Some(Link::Tcp(link)))
    }
}

impl AsFd for Connecting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
