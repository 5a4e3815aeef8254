//! A connected stream socket: what TCP and unix-domain links have in common.
//!
//! Octets go through `recv` and `sendmsg` with `MSG_NOSIGNAL`, so a closed peer is an error and
//! never a signal. `tcp` and `unix` open and accept them; shared memory keeps one to notice that
//! its peer has gone.

use crate::PeerAddress;
use crate::readiness::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use socket2::Socket;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Stands for "no time-out" in [`SocketLink::receive_timeout`] and [`SocketLink::send_timeout`].
const FOREVER: u64 = 0;

/// A connected stream socket.
#[derive(Debug)]
pub struct SocketLink {
    socket: Socket,
    peer: PeerAddress,
    /// Nanoseconds of the socket's receive time-out now, or [`FOREVER`]: saves the system call
    /// when the next call wants the same.
    receive_timeout: AtomicU64,
    /// As above, for sending.
    send_timeout: AtomicU64,
    /// How octets are sent: to a unix-domain socket without waiting, see [`SocketLink::room`].
    flags: SendFlags,
}

impl SocketLink {
    pub(crate) fn new(socket: Socket, peer: PeerAddress) -> SocketLink {
        let (receive_timeout, send_timeout) = (AtomicU64::new(FOREVER), AtomicU64::new(FOREVER));
        let waits = matches!(peer, PeerAddress::Tcp(_));
        let flags = if waits { SendFlags::empty() } else { SendFlags::DONTWAIT };
        let flags = flags | SendFlags::NOSIGNAL;
        SocketLink { socket, peer, receive_timeout, send_timeout, flags }
    }

    /// The same socket, of a peer that is called otherwise.
    pub(crate) fn with_peer(self, peer: PeerAddress) -> SocketLink {
        SocketLink { peer, ..self }
    }

    pub(crate) fn peer(&self) -> &PeerAddress {
        &self.peer
    }

    #[inline]
    pub(crate) fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        match send(&self.socket, octets, self.flags | SendFlags::DONTWAIT) {
            Ok(sent) if sent == octets.len() => Ok(()),
            outcome => self.send_rest(&mut [IoSlice::new(octets)], outcome),
        }
    }

    /// The first attempt does not wait, so that the send time-out of what the peer does not take at
    /// once begins before the first wait, without a look at the clock for all other messages.
    pub(crate) fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut control = SendAncillaryBuffer::default();
        let flags = self.flags | SendFlags::DONTWAIT;
        let outcome = sendmsg(&self.socket, segments, &mut control, flags);
        self.send_rest(segments, outcome)
    }

    /// The first attempt at sending ended thus. The rest takes at most the send time-out: one
    /// system call waits no longer, and returns early only by a signal or an error.
    fn send_rest(
        &self,
        segments: &mut [IoSlice<'_>],
        mut outcome: Result<usize, Errno>,
    ) -> io::Result<()> {
        let mut rest = segments;
        let mut deadline = None;
        loop {
            match outcome {
                Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            if rest.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let timeout = self.send_timeout.load(Ordering::Relaxed);
            let is_first = deadline.is_none();
            let end = *deadline.get_or_insert_with(|| {
                (timeout != FOREVER).then(|| now + Duration::from_nanos(timeout))
            });
            if end.is_some_and(|end| now >= end) {
                return Err(not_taken());
            }
            // The first wait is one of the system's, which knows the time-out.
            let mut flags = self.flags;
            if !is_first || self.never_waits() {
                self.room(end.map(|end| end.saturating_duration_since(now)))?;
                flags |= SendFlags::DONTWAIT;
            }
            let mut control = SendAncillaryBuffer::default();
            outcome = sendmsg(&self.socket, rest, &mut control, flags);
        }
    }

    fn never_waits(&self) -> bool {
        self.flags.contains(SendFlags::DONTWAIT)
    }

    /// Waits for room, at most for `left`. A unix-domain socket counts its send time-out anew for
    /// each piece of a large message, so a peer that reads slowly would hold a sender for ever.
    #[cold]
    fn room(&self, left: Option<Duration>) -> io::Result<()> {
        let timeout = left.map(timespec);
        let mut watched = [PollFd::new(&self.socket, PollFlags::OUT)];
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()), // The caller looks at the clock.
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn send_now(&self, octets: &[u8]) {
        // What cannot be said is not said.
        let _ = send(&self.socket, octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    pub(crate) fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        loop {
            match send(&self.socket, octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => return Ok(sent),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            let mut control = SendAncillaryBuffer::default();
            match sendmsg(&self.socket, segments, &mut control, flags) {
                Ok(sent) => return Ok(sent),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[inline]
    pub(crate) fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        self.receive_with(space, RecvFlags::empty())
    }

    pub(crate) fn receive_all(&self, space: &mut [u8]) -> io::Result<usize> {
        self.receive_with(space, RecvFlags::WAITALL)
    }

    #[inline]
    fn receive_with(&self, space: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        let mut deadline = None;
        loop {
            match recv(&self.socket, &mut *space, flags) {
                Ok((_, octets)) => return Ok(octets),
                Err(Errno::INTR) => self.wait_on(&mut deadline)?,
                Err(Errno::AGAIN) => return Err(nothing_came()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A signal has ended a wait for octets: waits for what is left of the time-out. The system
    /// counts it anew in each call, so it would never be over while signals keep coming.
    #[cold]
    fn wait_on(&self, deadline: &mut Option<Instant>) -> io::Result<()> {
        let timeout = self.receive_timeout.load(Ordering::Relaxed);
        if timeout == FOREVER {
            return Ok(());
        }
        let end = *deadline.get_or_insert_with(|| Instant::now() + Duration::from_nanos(timeout));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut watched, Some(&timespec(left))) {
                Ok(0) => return Err(nothing_came()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[inline]
    pub(crate) fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recv(&self.socket, &mut *space, RecvFlags::DONTWAIT) {
                Ok((_, octets)) => return Ok(Some(octets)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(crate) fn is_stale(&self) -> bool {
        let mut octet = [0u8; 1];
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        !matches!(recv(&self.socket, &mut octet[..], flags), Err(Errno::AGAIN))
    }

    #[inline]
    pub(crate) fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        change(&self.receive_timeout, timeout, |timeout| self.socket.set_read_timeout(timeout))
    }

    #[inline]
    pub(crate) fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        change(&self.send_timeout, timeout, |timeout| match self.never_waits() {
            true => Ok(()),
            false => self.socket.set_write_timeout(timeout),
        })
    }

    pub(crate) fn shutdown(&self) {
        // Fails only when the peer was faster, which is what was wanted.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl AsFd for SocketLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets a time-out of the socket unless it is `now` already.
#[inline]
fn change(
    now: &AtomicU64,
    timeout: Option<Duration>,
    set: impl FnOnce(Option<Duration>) -> io::Result<()>,
) -> io::Result<()> {
    let wanted = timeout.map_or(FOREVER, nanoseconds);
    if now.load(Ordering::Relaxed) == wanted {
        return Ok(());
    }
    // A zero time-out means "for ever" to the system, so the least is one microsecond.
    set(timeout.map(|timeout| timeout.max(Duration::from_micros(1))))?;
    now.store(wanted, Ordering::Relaxed);
    Ok(())
}

fn nanoseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1)
}

#[cold]
fn not_taken() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer did not take the octets in time")
}

#[cold]
fn nothing_came() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no octets came within the time-out")
}
