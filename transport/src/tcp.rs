//! IIOP's transport: TCP over IPv4 and IPv6 (CORBA 3.3 P2 §9.7).
//!
//! `TCP_NODELAY` is on, since a request is one send; keep-alive is on, so that a vanished peer is
//! noticed. What is open is a [`SocketLink`].

use crate::socket::SocketLink;
use crate::{AddressFilter, PeerAddress};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Connections that may wait for `accept`; more are refused or retried by the peer's system.
pub(crate) const BACKLOG: i32 = 1024;

pub(crate) fn connect(
    host: &str,
    port: u16,
    filter: Option<&AddressFilter>,
    each: Option<Duration>,
    deadline: Option<Instant>,
) -> io::Result<SocketLink> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        if let Some(Err(refused)) = filter.map(|filter| filter.check(host, address)) {
            last = refused;
            continue;
        }
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no address answered in time"));
        }
        match open(address, left.into_iter().chain(each).min()) {
            Ok(socket) => return link(socket, address),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn open(address: SocketAddr, timeout: Option<Duration>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    match timeout {
        Some(timeout) => socket.connect_timeout(&address.into(), timeout)?,
        None => socket.connect(&address.into())?,
    }
    Ok(socket)
}

/// Begins to connect to `address`, without waiting.
pub(crate) fn begin(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket),
    }
}

/// The link over `socket`, which is connected to `peer`.
pub(crate) fn link(socket: Socket, peer: SocketAddr) -> io::Result<SocketLink> {
    socket.set_tcp_nodelay(true)?;
    socket.set_keepalive(true)?;
    Ok(SocketLink::new(socket, PeerAddress::Tcp(peer)))
}

/// A listening TCP socket.
#[derive(Debug)]
pub struct TcpAcceptor {
    listener: TcpListener,
    address: SocketAddr,
}

impl TcpAcceptor {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpAcceptor> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() && address.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        let listener: TcpListener = socket.into();
        let address = listener.local_addr()?;
        Ok(TcpAcceptor { listener, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn accept(&self) -> io::Result<SocketLink> {
        let (stream, peer) = self.listener.accept()?;
        link(stream.into(), peer)
    }
}

impl TcpAcceptor {
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)
    }
}

impl AsFd for TcpAcceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
