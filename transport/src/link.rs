//! One open connection to a peer, whatever carries it.
//!
//! A [`Link`] is an enum and not a trait object, so that the call path has no dynamic lookup
//! (invariant 6 of `ARCHITECTURE.md`). All methods take `&self`: one thread may send while another
//! receives.

use crate::Endpoint;
use crate::tcp::TcpLink;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// An open connection.
#[derive(Debug)]
pub enum Link {
    /// A TCP connection.
    Tcp(TcpLink),
}

impl Link {
    /// Opens a connection to `endpoint`, trying each address that its name resolves to.
    ///
    /// # Errors
    /// The error of the last address tried, or `NotFound` when the name has no address.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<Link> {
        match endpoint {
            Endpoint::Tcp { host, port } => TcpLink::connect(host, *port, timeout).map(Link::Tcp),
        }
    }

    /// Sends all octets of `segments` in order; in the usual case with one system call.
    ///
    /// # Errors
    /// `TimedOut` when the peer took nothing for the send time-out, else what the system says.
    pub fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        match self {
            Link::Tcp(link) => link.send(segments),
        }
    }

    /// Sends `octets`; in the usual case with one system call.
    ///
    /// # Errors
    /// As [`Link::send`].
    #[inline]
    pub fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        match self {
            Link::Tcp(link) => link.send_one(octets),
        }
    }

    /// Blocks until some octets arrive, at most for the receive time-out (see
    /// [`Link::set_receive_timeout`]). `Ok(0)` means that the peer has closed its side.
    ///
    /// # Errors
    /// `TimedOut` when nothing arrived in time, else what the system says.
    #[inline]
    pub fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) => link.receive(space),
        }
    }

    /// Takes what has arrived already: `Ok(None)` when nothing has.
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    #[inline]
    pub fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Link::Tcp(link) => link.try_receive(space),
        }
    }

    /// Waits until octets can be received or `deadline` has passed, then takes them.
    ///
    /// # Errors
    /// `TimedOut` when the deadline passed, else what the system says.
    pub fn receive_until(&self, space: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            if let Some(octets) = self.try_receive(space)? {
                return Ok(octets);
            }
            self.wait_readable(deadline)?;
        }
    }

    /// Whether the peer has closed or sent something, without taking it.
    /// A connection that waits idle in the cache has nothing to read unless the peer closed it.
    pub fn is_stale(&self) -> bool {
        match self {
            Link::Tcp(link) => link.is_stale(),
        }
    }

    /// How long [`Link::receive`] blocks at most; `None`: for ever. One system call, and none when
    /// the value is what it was.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Link::Tcp(link) => link.set_receive_timeout(timeout),
        }
    }

    /// How long a send may make no progress; `None`: for ever.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Link::Tcp(link) => link.set_send_timeout(timeout),
        }
    }

    /// Ends both directions; a thread blocked in [`Link::receive`] returns.
    pub fn shutdown(&self) {
        match self {
            Link::Tcp(link) => link.shutdown(),
        }
    }

    /// The peer's address, for messages to people.
    pub fn peer(&self) -> SocketAddr {
        match self {
            Link::Tcp(link) => link.peer(),
        }
    }

    fn wait_readable(&self, deadline: Instant) -> io::Result<()> {
        match self {
            Link::Tcp(link) => link.wait_readable(deadline),
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Link::Tcp(link) => link.as_fd(),
        }
    }
}
