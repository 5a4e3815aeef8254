//! A TCP, TLS or unix stream, blocking or spinning, under one type for the raw contenders
//! (`raw.rs`).
//!
//! TCP streams have TCP_NODELAY set on both sides, as every ORB here has.

use crate::raw_tls::{self, Secured};
use rustls::ServerConfig;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;

/// StreamKind which kind of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// TCP on loopback.
    Tcp,
    /// TLS over that.
    Tls,
    /// A unix-domain socket.
    Unix,
}

/// What the address of a server of TLS begins with.
const TLS: &str = "tls:";

/// Where a raw server is: `127.0.0.1:PORT`, `tls:127.0.0.1:PORT`, or `@NAME` of an abstract unix
/// socket (which leaves no file behind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) String);

impl Address {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn connect(&self) -> io::Result<Stream> {
        if let Some(name) = self.0.strip_prefix('@') {
            let address = SocketAddr::from_abstract_name(name)?;
            return UnixStream::connect_addr(&address).map(Stream::Unix);
        }
        let secured = self.0.strip_prefix(TLS);
        let stream = TcpStream::connect(secured.unwrap_or(&self.0))?;
        stream.set_nodelay(true)?;
        match secured {
            Some(_) => raw_tls::client(stream).map(Stream::Tls),
            None => Ok(Stream::Tcp(stream)),
        }
    }
}

/// What a raw server listens on.
pub(crate) enum Listener {
    /// TCP on loopback.
    Tcp(TcpListener),
    /// TLS over that.
    Tls(TcpListener, Arc<ServerConfig>),
    /// A unix socket and its name.
    Unix(UnixListener, String),
}

impl Listener {
    /// Listens at a fresh port of 127.0.0.1, or at a name made of the process id.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn bind(over: StreamKind) -> io::Result<Listener> {
        let tcp = || TcpListener::bind("127.0.0.1:0");
        match over {
            StreamKind::Tcp => return tcp().map(Listener::Tcp),
            StreamKind::Tls => return Ok(Listener::Tls(tcp()?, raw_tls::server_config()?)),
            StreamKind::Unix => {}
        }
        let name = format!("corbie-bench-{}", std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Listener::Unix(listener, name))
    }

    /// The address in the form that [`Address`] takes.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn address(&self) -> io::Result<String> {
        match self {
            Listener::Tcp(listener) => Ok(listener.local_addr()?.to_string()),
            Listener::Tls(listener, _) => Ok(format!("{TLS}{}", listener.local_addr()?)),
            Listener::Unix(_, name) => Ok(format!("@{name}")),
        }
    }

    /// The next connection.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Listener::Tls(listener, config) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                raw_tls::server(stream, config).map(Stream::Tls)
            }
            Listener::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| Stream::Unix(stream))
            }
        }
    }
}

/// A connection.
pub(crate) enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// TLS over TCP.
    Tls(Box<dyn Secured>),
    /// Unix.
    Unix(UnixStream),
}

impl Stream {
    /// A second handle on the connection, for another thread.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
            Stream::Tls(_) => Err(unsupported()),
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
        }
    }

    /// Tells the other side that nothing more will be sent.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn finish(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tls(_) => Err(unsupported()),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(octets),
            Stream::Tls(stream) => stream.write(octets),
            Stream::Unix(stream) => stream.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// TLS is measured one call at a time, by threads that sleep.
fn unsupported() -> io::Error {
    io::Error::new(ErrorKind::Unsupported, "the raw contender of TLS does ping-pong alone")
}

/// A connection that is asked again and again instead of putting the thread to sleep.
pub(crate) struct Spinning(Stream);

impl Spinning {
    /// Makes the connection non-blocking.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(stream: Stream) -> io::Result<Spinning> {
        match &stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true)?,
            Stream::Tls(_) => return Err(unsupported()),
            Stream::Unix(stream) => stream.set_nonblocking(true)?,
        }
        Ok(Spinning(stream))
    }
}

/// Tries until it need not wait.
fn spin(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match attempt() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            done => return done,
        }
    }
}

impl Read for Spinning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        spin(|| self.0.read(buffer))
    }
}

impl Write for Spinning {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        spin(|| self.0.write(octets))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
