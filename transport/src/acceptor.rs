//! The listening side: yields a [`Link`] for each connection that a peer opens.
//!
//! Used by `orb/core/server/listener`. An accept that fails for want of descriptors or memory is an
//! error of the moment: the caller pauses and goes on, as a server must outlive a flood.

use crate::shm::ShmAcceptor;
use crate::tcp::TcpAcceptor;
use crate::unix::UnixAcceptor;
use crate::{
    Endpoint, Link, PluggedAcceptor, PluggedEndpoint, ShmOptions, Transport, UnixName, UnixOptions,
};
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// What listens.
#[derive(Debug)]
pub enum Acceptor {
    /// On a TCP port.
    Tcp(TcpAcceptor),
    /// On a unix-domain socket.
    Unix(UnixAcceptor),
    /// For connections over shared memory.
    Shm(ShmAcceptor),
    /// By a transport of the application.
    Plugged(Arc<dyn Transport>, Box<dyn PluggedAcceptor>),
}

impl Acceptor {
    /// Listens on `address`; port 0 takes a free one. The port of a server that has just ended can
    /// be taken again at once (`SO_REUSEADDR`). A listener on `[::]` serves IPv4 as well.
    ///
    /// # Errors
    /// What the system says, for example `AddrInUse`.
    pub fn bind(address: SocketAddr) -> io::Result<Acceptor> {
        TcpAcceptor::bind(address).map(Acceptor::Tcp)
    }

    /// Listens on the first address of `host`, a name or an address without brackets, that can be
    /// had; without a host on every interface of IPv6 and IPv4, or where there is no IPv6, of IPv4.
    ///
    /// # Errors
    /// As [`Acceptor::bind`]; `NotFound` when the name has no address.
    pub fn bind_host(host: Option<&str>, port: u16) -> io::Result<Acceptor> {
        let Some(host) = host else {
            let ipv6 = SocketAddr::from(([0u16; 8], port));
            return Acceptor::bind(ipv6).or_else(|_| Acceptor::bind(([0, 0, 0, 0], port).into()));
        };
        let mut outcome = Err(io::Error::new(io::ErrorKind::NotFound, "no such host"));
        for address in (host, port).to_socket_addrs()? {
            outcome = Acceptor::bind(address);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Listens on a unix-domain socket; without a name on a free one. A socket that a dead
    /// server left behind is replaced.
    ///
    /// # Errors
    /// `AddrInUse` when a server listens there, `AlreadyExists` when it is no socket, else what the
    /// system says.
    pub fn bind_unix(name: Option<&UnixName>, options: UnixOptions) -> io::Result<Acceptor> {
        UnixAcceptor::bind(name, options).map(Acceptor::Unix)
    }

    /// Listens for connections over shared memory, which are agreed on over the unix-domain socket
    /// of this name, as [`Acceptor::bind_unix`].
    ///
    /// # Errors
    /// As [`Acceptor::bind_unix`].
    pub fn bind_shm(name: Option<&UnixName>, options: ShmOptions) -> io::Result<Acceptor> {
        ShmAcceptor::bind(name, options).map(Acceptor::Shm)
    }

    /// Listens on `endpoint`, whose address may be empty.
    ///
    /// # Errors
    /// What its transport says.
    pub fn bind_plugged(endpoint: &PluggedEndpoint) -> io::Result<Acceptor> {
        let transport = Arc::clone(endpoint.transport());
        let acceptor = transport.listen(endpoint.address())?;
        Ok(Acceptor::Plugged(transport, acceptor))
    }

    /// What is listened on, as it was really taken.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        match self {
            Acceptor::Tcp(tcp) => {
                let address = tcp.address();
                Endpoint::tcp(address.ip().to_string(), address.port())
            }
            Acceptor::Unix(unix) => Endpoint::Unix(unix.name().clone()),
            Acceptor::Shm(shm) => Endpoint::Shm(shm.name().clone()),
            Acceptor::Plugged(transport, plugged) => {
                Endpoint::Plugged(PluggedEndpoint::new(Arc::clone(transport), plugged.address()))
            }
        }
    }

    /// The address listened on, with the port that was really taken, for TCP.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self {
            Acceptor::Tcp(tcp) => Some(tcp.address()),
            _ => None,
        }
    }

    /// Blocks until a peer connects. After [`Acceptor::close`] it fails.
    ///
    /// # Errors
    /// What the system says.
    pub fn accept(&self) -> io::Result<Link> {
        match self {
            Acceptor::Tcp(tcp) => tcp.accept().map(Link::Tcp),
            Acceptor::Unix(unix) => unix.accept().map(Link::Unix),
            Acceptor::Shm(shm) => shm.accept().map(Link::Shm),
            Acceptor::Plugged(_, plugged) => plugged.accept().map(Link::Plugged),
        }
    }

    /// From now on [`Acceptor::try_accept`] is to be used.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Acceptor::Tcp(tcp) => tcp.set_nonblocking(),
            Acceptor::Unix(unix) => unix.set_nonblocking(),
            Acceptor::Shm(shm) => shm.set_nonblocking(),
            Acceptor::Plugged(_, plugged) => plugged.set_nonblocking(),
        }
    }

    /// Takes a connection that a peer has opened: `Ok(None)` when there is none.
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    pub fn try_accept(&self) -> io::Result<Option<Link>> {
        if let Acceptor::Plugged(_, plugged) = self {
            return Ok(plugged.try_accept()?.map(Link::Plugged));
        }
        match self.accept() {
            Ok(link) => Ok(Some(link)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes no more connections; a thread blocked in [`Acceptor::accept`] returns with an error.
    pub fn close(&self) {
        // On Linux, shutting a listening socket down wakes accept with EINVAL.
        let _ = match self {
            Acceptor::Tcp(tcp) => shutdown(tcp, Shutdown::Both),
            Acceptor::Unix(unix) => {
                unix.remove_file();
                shutdown(unix, Shutdown::Both)
            }
            Acceptor::Shm(shm) => return shm.close(),
            Acceptor::Plugged(_, plugged) => return plugged.close(),
        };
    }

    /// What an event loop watches; `None`: a thread has to wait in [`Acceptor::accept`].
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Acceptor::Tcp(tcp) => Some(tcp.as_fd()),
            Acceptor::Unix(unix) => Some(unix.as_fd()),
            Acceptor::Shm(shm) => Some(shm.descriptor()),
            Acceptor::Plugged(_, plugged) => plugged.descriptor(),
        }
    }
}
