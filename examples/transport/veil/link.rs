//! One open connection: a TCP socket, and a place in the key stream for each direction.
//!
//! One thread may send while another receives, so each direction has a lock of its own. `try_send`
//! never waits, not even for that lock: it is also how the ORB says a last word to a peer that may
//! not listen.

use super::Keystream;
use corbie::transport::{PeerAddress, PluggedLink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Octets that are veiled at once.
const PIECE: usize = 16 << 10;

/// A connection of the transport `veil`.
#[derive(Debug)]
pub(super) struct VeilLink {
    stream: TcpStream,
    peer: SocketAddr,
    sending: Mutex<Sending>,
    receiving: Mutex<Keystream>,
    send_timeout: Mutex<Option<Duration>>,
}

#[derive(Debug)]
struct Sending {
    keystream: Keystream,
    /// Room for a veiled piece, kept so that sending allocates nothing.
    veiled: Vec<u8>,
}

impl Sending {
    /// Sends what goes without waiting of `octets`, of which a piece is looked at.
    fn send_some(&mut self, stream: &TcpStream, octets: &[u8]) -> Result<usize, Errno> {
        self.veiled.clear();
        self.veiled.extend_from_slice(&octets[..octets.len().min(PIECE)]);
        self.keystream.combine(&mut self.veiled);
        let sent = send(stream, &self.veiled, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        self.keystream.advance(sent);
        Ok(sent)
    }
}

impl VeilLink {
    pub(super) fn new(
        stream: TcpStream,
        sending: Keystream,
        receiving: Keystream,
    ) -> io::Result<Self> {
        let peer = stream.peer_addr()?;
        let sending = Sending { keystream: sending, veiled: Vec::with_capacity(PIECE) };
        Ok(VeilLink {
            stream,
            peer,
            sending: Mutex::new(sending),
            receiving: Mutex::new(receiving),
            send_timeout: Mutex::new(None),
        })
    }

    /// Waits until there is room, or `deadline`.
    fn wait_for_room(&self, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            let why = "the peer did not take the octets in time";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()), // The caller tries again.
            Err(error) => Err(error.into()),
        }
    }

    /// Receives into `space`; `None`: there was nothing, in the time given.
    fn receive_with(&self, space: &mut [u8], flags: RecvFlags) -> io::Result<Option<usize>> {
        let mut keystream = self.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match recv(&self.stream, &mut *space, flags) {
                Ok((_, octets)) => {
                    keystream.combine(&mut space[..octets]);
                    keystream.advance(octets);
                    return Ok(Some(octets));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl PluggedLink for VeilLink {
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        let timeout = *self.send_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        for segment in segments {
            let mut rest = &segment[..];
            while !rest.is_empty() {
                match sending.send_some(&self.stream, rest) {
                    Ok(sent) => rest = &rest[sent..],
                    Err(Errno::AGAIN) => self.wait_for_room(deadline)?,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                // Also when a slow peer makes room again and again.
                if !rest.is_empty() && deadline.is_some_and(|end| Instant::now() >= end) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
        Ok(())
    }

    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        let Ok(mut sending) = self.sending.try_lock() else { return Ok(0) };
        let mut sent = 0;
        while sent < octets.len() {
            match sending.send_some(&self.stream, &octets[sent..]) {
                Ok(some) => sent += some,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) if sent == 0 => return Err(error.into()),
                Err(_) => break, // The next attempt says so.
            }
        }
        Ok(sent)
    }

    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        let nothing = || io::Error::new(io::ErrorKind::TimedOut, "no octets came in time");
        self.receive_with(space, RecvFlags::empty())?.ok_or_else(nothing)
    }

    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        self.receive_with(space, RecvFlags::DONTWAIT)
    }

    fn is_stale(&self) -> bool {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        !matches!(recv(&self.stream, &mut [0u8; 1][..], flags), Err(Errno::AGAIN))
    }

    fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        // The system takes zero for "for ever".
        self.stream.set_read_timeout(timeout.map(|time| time.max(Duration::from_micros(1))))
    }

    fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.send_timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        Ok(())
    }

    fn shutdown(&self) {
        // Fails only when the peer was faster.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn peer(&self) -> PeerAddress {
        PeerAddress::Plugged("veil", self.peer.to_string().into())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}
