//! One open connection to a peer, whatever carries it.
//!
//! A [`Link`] is an enum and not a trait object, so that the call path has no dynamic lookup
//! (invariant 6 of `ARCHITECTURE.md`); only transports of the application are behind a
//! pointer. All methods take `&self`: one thread may send while another receives.

use crate::shm::{self, ShmLink};
use crate::socket::SocketLink;
use crate::{Endpoint, PeerAddress, PeerIdentity, PluggedLink, tcp, unix};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// An open connection.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a connection, which is in a box itself")]
pub enum Link {
    /// A TCP connection.
    Tcp(SocketLink),
    /// A unix-domain socket.
    Unix(SocketLink),
    /// Shared memory.
    Shm(ShmLink),
    /// A connection of a transport that the application brought along.
    Plugged(Box<dyn PluggedLink>),
}

impl Link {
    /// Opens a connection to `endpoint`, trying each address that its name resolves to: each for
    /// `each` at most, and all until `deadline`. Asking the system for the addresses of a name
    /// cannot be bounded; its resolver has time-outs of its own.
    ///
    /// # Errors
    /// The error of the last address tried, or `NotFound` when the name has no address;
    /// `PermissionDenied` when the endpoint permits none of them.
    pub fn connect(
        endpoint: &Endpoint,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Link> {
        match endpoint {
            Endpoint::Tcp { host, port } => {
                tcp::connect(host, *port, None, each, deadline).map(Link::Tcp)
            }
            Endpoint::TcpWithin { host, port, filter } => {
                tcp::connect(host, *port, Some(filter), each, deadline).map(Link::Tcp)
            }
            Endpoint::Unix(name) => unix::connect(name, each, deadline).map(Link::Unix),
            Endpoint::Shm(name) => shm::connect(name, each, deadline).map(Link::Shm),
            Endpoint::Plugged(plugged) => plugged.connect(each, deadline).map(Link::Plugged),
        }
    }

    /// Sends all octets of `segments` in order; in the usual case with one system call.
    ///
    /// # Errors
    /// `TimedOut` when the peer did not take them all within the send time-out (see
    /// [`Link::set_send_timeout`]; where it takes a part in that time, within twice of it), else
    /// what the system says.
    pub fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.send(segments),
            Link::Shm(link) => link.send(segments),
            Link::Plugged(link) => link.send(segments),
        }
    }

    /// Sends `octets`; in the usual case with one system call.
    ///
    /// # Errors
    /// As [`Link::send`].
    #[inline]
    pub fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.send_one(octets),
            Link::Shm(link) => link.send_one(octets),
            Link::Plugged(link) => link.send(&mut [IoSlice::new(octets)]),
        }
    }

    /// Sends `octets` if that needs no waiting: for a last word to a peer that may not listen.
    pub fn send_now(&self, octets: &[u8]) {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.send_now(octets),
            Link::Shm(link) => link.send_now(octets),
            Link::Plugged(link) => drop(link.try_send(octets)), // What cannot be said is not.
        }
    }

    /// Sends what of `octets` can be sent without waiting; how many that were.
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    pub fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.try_send(octets),
            Link::Shm(link) => link.try_send(octets),
            Link::Plugged(link) => link.try_send(octets),
        }
    }

    /// Sends what of `segments` can be sent without waiting, in order; how many octets that were.
    ///
    /// # Errors
    /// As [`Link::try_send`].
    pub fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.try_send_gathered(segments),
            Link::Plugged(link) => link.try_send_gathered(segments),
            Link::Shm(link) => {
                let mut sent = 0;
                for segment in segments {
                    let now = link.try_send(segment)?;
                    sent += now;
                    if now < segment.len() {
                        break;
                    }
                }
                Ok(sent)
            }
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
            Link::Tcp(link) | Link::Unix(link) => link.receive(space),
            Link::Shm(link) => link.receive(space),
            Link::Plugged(link) => link.receive(space),
        }
    }

    /// Takes what has arrived already: `Ok(None)` when nothing has.
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    #[inline]
    pub fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.try_receive(space),
            Link::Shm(link) => link.try_receive(space),
            Link::Plugged(link) => link.try_receive(space),
        }
    }

    /// As [`Link::try_receive`], for a thread that asks again at once: where that needs no system
    /// call it makes none, and notices a little later that the peer has closed.
    ///
    /// # Errors
    /// As [`Link::try_receive`].
    #[inline]
    pub fn spin_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Link::Shm(link) => link.spin_receive(space),
            _ => self.try_receive(space),
        }
    }

    /// Whether octets are there that no event tells of: they came while a thread was spinning, or
    /// with others that were taken.
    #[inline]
    pub fn has_input(&self) -> bool {
        match self {
            Link::Tcp(_) | Link::Unix(_) => false,
            Link::Shm(link) => link.has_input(),
            Link::Plugged(link) => link.has_input(),
        }
    }

    /// Blocks until `space` is full, the peer has closed, or the receive time-out has passed with
    /// only a part of it there; how many octets came. `Ok(0)` means that the peer has closed.
    ///
    /// # Errors
    /// `TimedOut` when nothing arrived in time, else what the system says.
    pub fn receive_all(&self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.receive_all(space),
            Link::Shm(link) => link.receive_all(space),
            Link::Plugged(link) => link.receive_all(space),
        }
    }

    /// Whether the peer has closed or sent something, without taking it.
    /// A connection that waits idle in the cache has nothing to read unless the peer closed it.
    pub fn is_stale(&self) -> bool {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.is_stale(),
            Link::Shm(link) => link.is_stale(),
            Link::Plugged(link) => link.is_stale(),
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
            Link::Tcp(link) | Link::Unix(link) => link.set_receive_timeout(timeout),
            Link::Shm(link) => link.set_receive_timeout(timeout),
            Link::Plugged(link) => link.set_receive_timeout(timeout),
        }
    }

    /// How long sending may take, as [`Link::set_receive_timeout`] says for receiving.
    ///
    /// # Errors
    /// What the system says.
    #[inline]
    pub fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.set_send_timeout(timeout),
            Link::Shm(link) => link.set_send_timeout(timeout),
            Link::Plugged(link) => link.set_send_timeout(timeout),
        }
    }

    /// Ends both directions; a thread blocked in [`Link::receive`] returns.
    pub fn shutdown(&self) {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.shutdown(),
            Link::Shm(link) => link.shutdown(),
            Link::Plugged(link) => link.shutdown(),
        }
    }

    /// The peer's address, for messages to people and for servants.
    pub fn peer(&self) -> PeerAddress {
        match self {
            Link::Tcp(link) | Link::Unix(link) => link.peer().clone(),
            Link::Shm(link) => link.peer(),
            Link::Plugged(link) => link.peer(),
        }
    }

    /// Whether octets leave the machine as they are. Of a transport of an application, the
    /// application knows.
    pub fn is_plain(&self) -> bool {
        matches!(self, Link::Tcp(_))
    }

    /// Whether octets are encrypted on their way.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Link::Plugged(link) if link.is_encrypted())
    }

    /// All that is known of the peer; of a certificate nothing before the first octet came.
    pub fn identity(&self) -> PeerIdentity {
        let certificate = match self {
            Link::Plugged(link) => link.certificate(),
            Link::Tcp(_) | Link::Unix(_) | Link::Shm(_) => None,
        };
        PeerIdentity { certificate, ..PeerIdentity::from(self.peer()) }
    }

    /// Whether [`Link::descriptor`] gives something to watch.
    pub fn can_be_watched(&self) -> bool {
        match self {
            Link::Tcp(_) | Link::Unix(_) | Link::Shm(_) => true,
            Link::Plugged(link) => link.descriptor().is_some(),
        }
    }

    /// What an event loop watches; `None`: a thread has to wait for this link alone.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Link::Tcp(link) | Link::Unix(link) => Some(link.as_fd()),
            Link::Shm(link) => Some(link.descriptor()),
            Link::Plugged(link) => link.descriptor(),
        }
    }
}
