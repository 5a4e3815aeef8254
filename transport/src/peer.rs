//! The process at the other end of a link, in the terms of its protocol.
//!
//! Shown by log lines, and handed to servants and interceptors (`ServerRequest::peer`). Where the
//! system tells which process connected, that is part of the address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAddress {
    /// This process itself, without a connection.
    Here,
    /// Over TCP.
    Tcp(SocketAddr),
    /// Over a unix-domain socket.
    Unix(PeerProcess),
    /// Over shared memory.
    Shm(PeerProcess),
    /// Over a transport of the application: its scheme, and the address as it says it.
    Plugged(&'static str, Arc<str>),
}

/// A process of this machine, as the system vouches for it (`SO_PEERCRED`): what it was when the
/// connection was opened, or when it began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerProcess {
    /// Number of the process; 0 when it is not visible from here, as from another container.
    pub process: u32,
    /// Its effective user.
    pub user: u32,
    /// Its effective group.
    pub group: u32,
}

impl PeerAddress {
    /// The address and port, for TCP.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self {
            PeerAddress::Tcp(address) => Some(*address),
            _ => None,
        }
    }

    /// The address without the port, for TCP.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.socket_address().map(|address| address.ip())
    }

    /// The process, where the system vouches for it.
    #[must_use]
    pub fn process(&self) -> Option<PeerProcess> {
        match self {
            PeerAddress::Unix(process) | PeerAddress::Shm(process) => Some(*process),
            _ => None,
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerAddress::Here => f.write_str("this process"),
            PeerAddress::Tcp(address) => address.fmt(f),
            PeerAddress::Unix(process) => write!(f, "unix {process}"),
            PeerAddress::Shm(process) => write!(f, "shared memory {process}"),
            PeerAddress::Plugged(scheme, address) => write!(f, "{scheme} {address}"),
        }
    }
}

impl fmt::Display for PeerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} of user {}", self.process, self.user)
    }
}
