//! The listening side: yields a [`Link`] for each connection that a peer opens.
//!
//! Used by `orb/core/server/listener`. An accept that fails for want of descriptors or memory is an
//! error of the moment: the caller pauses and goes on, as a server must outlive a flood.

use crate::Link;
use crate::tcp::TcpLink;
use rustix::net::{Shutdown, shutdown};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

/// Connections that may wait for `accept`; more are refused or retried by the peer's system.
const BACKLOG: i32 = 1024;

/// A listening socket.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    address: SocketAddr,
}

impl Acceptor {
    /// Listens on `address`; port 0 takes a free one. The port of a server that has just ended can
    /// be taken again at once (`SO_REUSEADDR`). A listener on `[::]` serves IPv4 as well.
    ///
    /// # Errors
    /// What the system says, for example `AddrInUse`.
    pub fn bind(address: SocketAddr) -> io::Result<Acceptor> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() && address.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        let listener: TcpListener = socket.into();
        let address = listener.local_addr()?;
        Ok(Acceptor { listener, address })
    }

    /// The address listened on, with the port that was really taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Blocks until a peer connects. After [`Acceptor::close`] it fails.
    ///
    /// # Errors
    /// What the system says.
    pub fn accept(&self) -> io::Result<Link> {
        let (stream, peer) = self.listener.accept()?;
        TcpLink::new(stream, peer).map(Link::Tcp)
    }

    /// From now on [`Acceptor::try_accept`] is to be used.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)
    }

    /// Takes a connection that a peer has opened: `Ok(None)` when there is none.
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    pub fn try_accept(&self) -> io::Result<Option<Link>> {
        match self.accept() {
            Ok(link) => Ok(Some(link)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes no more connections; a thread blocked in [`Acceptor::accept`] returns with an error.
    pub fn close(&self) {
        // On Linux, shutting a listening socket down wakes accept with EINVAL.
        let _ = shutdown(&self.listener, Shutdown::Both);
    }
}

impl AsFd for Acceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
