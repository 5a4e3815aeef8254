//! IIOP's transport: TCP over IPv4 and IPv6 (CORBA 3.3 P2 §9.7).
//!
//! `TCP_NODELAY` is on, since a request is one send; keep-alive is on, so that a vanished peer is
//! noticed. Octets go through `recv` and `sendmsg` with `MSG_NOSIGNAL`, so a closed peer is an
//! error and never a signal.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Stands for "no time-out" in [`TcpLink::receive_timeout`].
const FOREVER: u64 = 0;

/// A TCP connection.
#[derive(Debug)]
pub struct TcpLink {
    stream: TcpStream,
    peer: SocketAddr,
    /// Nanoseconds of the socket's receive time-out now, or [`FOREVER`]: saves the system call
    /// when the next call wants the same.
    receive_timeout: AtomicU64,
}

impl TcpLink {
    pub(crate) fn connect(host: &str, port: u16, timeout: Duration) -> io::Result<TcpLink> {
        let deadline = Instant::now() + timeout;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, port).to_socket_addrs()? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no address answered in time"));
            }
            match open(address, left) {
                Ok(stream) => return TcpLink::new(stream, address),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<TcpLink> {
        stream.set_nodelay(true)?;
        socket2::SockRef::from(&stream).set_keepalive(true)?;
        Ok(TcpLink { stream, peer, receive_timeout: AtomicU64::new(FOREVER) })
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    #[inline]
    pub(crate) fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        let mut rest = octets;
        while !rest.is_empty() {
            match send(&self.stream, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(nothing_taken()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(crate) fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut rest = segments;
        IoSlice::advance_slices(&mut rest, 0); // drops empty segments at the front
        while !rest.is_empty() {
            let mut control = SendAncillaryBuffer::default();
            match sendmsg(&self.stream, rest, &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(nothing_taken()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(&self.stream, &mut *space, RecvFlags::empty()) {
                Ok((_, octets)) => return Ok(octets),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(nothing_came()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[inline]
    pub(crate) fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recv(&self.stream, &mut *space, RecvFlags::DONTWAIT) {
                Ok((_, octets)) => return Ok(Some(octets)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn wait_readable(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(nothing_came());
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn is_stale(&self) -> bool {
        let mut octet = [0u8; 1];
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        !matches!(recv(&self.stream, &mut octet[..], flags), Err(Errno::AGAIN))
    }

    #[inline]
    pub(crate) fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let wanted = timeout.map_or(FOREVER, nanoseconds);
        if self.receive_timeout.load(Ordering::Relaxed) == wanted {
            return Ok(());
        }
        // A zero time-out means "for ever" to the system, so the least is one microsecond.
        self.stream.set_read_timeout(timeout.map(|t| t.max(Duration::from_micros(1))))?;
        self.receive_timeout.store(wanted, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_write_timeout(timeout.map(|t| t.max(Duration::from_micros(1))))
    }

    pub(crate) fn shutdown(&self) {
        // Fails only when the peer was faster, which is what was wanted.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl AsFd for TcpLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn open(address: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.connect_timeout(&address.into(), timeout)?;
    Ok(socket.into())
}

fn nanoseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cold]
fn nothing_taken() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer took no octets within the send time-out")
}

#[cold]
fn nothing_came() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no octets came within the time-out")
}
