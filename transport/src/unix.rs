//! UIOP's transport: unix-domain sockets, for processes of one machine (TAO's UIOP).
//!
//! A socket is a file with permissions, or an abstract name that goes with the process. A file left
//! behind by a server that died is replaced, one of a server that lives is not; our own is removed
//! when listening ends. What is open is a [`SocketLink`], whose peer is the process at the other
//! end, as the system vouches for it.

mod credentials;
mod file;
mod name;

pub use name::UnixName;

pub(crate) use credentials::peer_process;

use crate::PeerAddress;
use crate::socket::SocketLink;
use crate::tcp::BACKLOG;
use file::SocketFile;
use socket2::{Domain, Socket, Type};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How a unix-domain socket is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnixOptions {
    /// Which users may connect: the permissions of the socket's file; those to write count. An
    /// abstract name has none: every user of the machine may connect.
    pub mode: u32,
}

impl Default for UnixOptions {
    /// The user of the server alone.
    fn default() -> Self {
        UnixOptions { mode: 0o600 }
    }
}

pub(crate) fn connect(
    name: &UnixName,
    each: Option<Duration>,
    deadline: Option<Instant>,
) -> io::Result<SocketLink> {
    let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
    if left == Some(Duration::ZERO) {
        return Err(too_late());
    }
    let socket = open(name, left.into_iter().chain(each).min())?;
    link(socket)
}

/// A socket connected to `name`. A server that does not accept keeps us waiting when its queue is
/// full, at most for `timeout`.
fn open(name: &UnixName, timeout: Option<Duration>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // The system counts connecting as sending here.
    let least = Duration::from_micros(1);
    socket.set_write_timeout(timeout.map(|timeout| timeout.max(least)))?;
    socket.connect(&name.socket_address()?).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => too_late(),
        _ => error,
    })?;
    socket.set_write_timeout(None)?;
    Ok(socket)
}

/// Connects to `name` if the server's queue has a place now.
pub(crate) fn connect_now(name: &UnixName) -> io::Result<Option<SocketLink>> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&name.socket_address()?) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        connected => connected?,
    }
    socket.set_nonblocking(false)?;
    link(socket).map(Some)
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the server did not accept the connection in time")
}

fn link(socket: Socket) -> io::Result<SocketLink> {
    let peer = PeerAddress::Unix(peer_process(&socket)?);
    Ok(SocketLink::new(socket, peer))
}

/// A listening unix-domain socket.
#[derive(Debug)]
pub struct UnixAcceptor {
    listener: Socket,
    name: UnixName,
    /// Removed with this.
    file: Option<SocketFile>,
}

impl UnixAcceptor {
    pub(crate) fn bind(name: Option<&UnixName>, options: UnixOptions) -> io::Result<UnixAcceptor> {
        let name = match name {
            Some(name) => name.clone(),
            None => UnixName::unused()?,
        };
        let (socket, file) = if name.is_abstract() {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.bind(&name.socket_address()?)?;
            socket.listen(BACKLOG)?;
            (socket, None)
        } else {
            let (socket, file) = SocketFile::listen(&name, options)?;
            (socket, Some(file))
        };
        Ok(UnixAcceptor { listener: socket, name, file })
    }

    pub(crate) fn name(&self) -> &UnixName {
        &self.name
    }

    pub(crate) fn accept(&self) -> io::Result<SocketLink> {
        let (socket, _) = self.listener.accept()?;
        link(socket)
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.listener.set_nonblocking(true)
    }

    /// Takes no more connections: the socket's file goes, and a thread that accepts returns.
    pub(crate) fn close(&self) {
        self.remove_file();
        let _ = self.listener.shutdown(std::net::Shutdown::Both);
    }

    /// Clients do not find the socket from now on.
    pub(crate) fn remove_file(&self) {
        if let Some(file) = &self.file {
            file.remove();
        }
    }
}

impl AsFd for UnixAcceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
