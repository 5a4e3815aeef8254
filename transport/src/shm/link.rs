//! A connection over shared memory: two rings, and a socket for everything that is not an octet.
//!
//! The socket is the one over which the memory was agreed on. An octet on it (the doorbell) wakes
//! a peer that has said it sleeps; its end tells that the peer has closed or died; an event loop
//! watches it. Nothing that a peer can do to it blocks us: unlike an `eventfd`, of which both sides
//! share the flags. Methods promise what those of [`crate::Link`] do.

use super::mapping::{Mapping, SharedOctets};
use super::ring::{Consumer, Control, Octets, Producer, Wish};
use crate::PeerAddress;
use crate::socket::SocketLink;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::futex;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Which of the two processes this is: each writes one ring and reads the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It has connected, and writes ring 0.
    Client,
    /// It has accepted, and writes ring 1.
    Server,
}

/// States of a link: it only ever goes up.
const OPEN: u8 = 0;
/// The peer's end of the socket is closed: what is in the ring is the last.
const GONE: u8 = 1;
/// [`ShmLink::shutdown`] was called here.
const SHUT: u8 = 2;

/// Doorbell octets taken by one system call, and after how many requests for one they are taken.
const DOORBELLS: usize = 64;
const ARMS_PER_DRAIN: u32 = 32;
const DRAIN_ROUNDS: usize = 8;
/// Looks at an empty ring between two at the socket, for a thread that spins.
const LOOKS_PER_POLL: u32 = 4_096;
/// Looks at a full ring, or at the rest of a message, before sleeping.
const SHORT_SPIN: u32 = 100;
/// How often a thread that sleeps until there is room looks whether its peer lives: the room is
/// told by a futex, the end by the socket.
const ROOM_SLICE: Duration = Duration::from_millis(20);

/// A connection over shared memory.
#[derive(Debug)]
pub struct ShmLink {
    socket: SocketLink,
    mapping: Mapping,
    side: Side,
    producer: Producer,
    consumer: Consumer,
    state: AtomicU8,
    /// An event loop watches the socket: whenever nothing is left to take, the peer has to ring.
    is_watched: AtomicBool,
    /// How often the peer was asked to ring.
    arms: AtomicU32,
    /// How often nothing was there for a thread that spins.
    looks: AtomicU32,
    /// Nanoseconds; 0 stands for ever.
    receive_timeout: AtomicU64,
    send_timeout: AtomicU64,
}

impl ShmLink {
    pub(super) fn new(socket: SocketLink, mapping: Mapping, side: Side) -> ShmLink {
        ShmLink {
            socket,
            mapping,
            side,
            producer: Producer::default(),
            consumer: Consumer::default(),
            state: AtomicU8::new(OPEN),
            is_watched: AtomicBool::new(false),
            arms: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            receive_timeout: AtomicU64::new(0),
            send_timeout: AtomicU64::new(0),
        }
    }

    #[inline]
    fn outgoing(&self) -> (&Control<AtomicU32>, SharedOctets<'_>) {
        let index = usize::from(self.side == Side::Server);
        (self.mapping.control(index), self.mapping.octets(index))
    }

    #[inline]
    fn incoming(&self) -> (&Control<AtomicU32>, SharedOctets<'_>) {
        let index = usize::from(self.side == Side::Client);
        (self.mapping.control(index), self.mapping.octets(index))
    }

    #[inline]
    pub(crate) fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        self.check_open()?;
        let (control, area) = self.outgoing();
        if octets.len() <= portion(&area) {
            let sent = self.producer.write(control, &area, octets)?;
            if self.producer.publish(control) {
                self.ring()?;
            }
            if sent == octets.len() {
                return Ok(());
            }
            return self.send_rest(&[IoSlice::new(&octets[sent..])]);
        }
        self.send_rest(&[IoSlice::new(octets)])
    }

    pub(crate) fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        self.check_open()?;
        self.send_rest(segments)
    }

    /// Sends `segments`, waiting for room at most for the send time-out.
    fn send_rest(&self, segments: &[IoSlice<'_>]) -> io::Result<()> {
        let (control, area) = self.outgoing();
        let mut deadline = None;
        let mut unpublished = 0;
        for piece in segments.iter().flat_map(|segment| segment.chunks(portion(&area))) {
            let mut rest = piece;
            loop {
                let written = self.producer.write(control, &area, rest)?;
                unpublished += written;
                rest = &rest[written..];
                // The peer begins while we go on.
                if (!rest.is_empty() || unpublished >= portion(&area))
                    && std::mem::take(&mut unpublished) > 0
                    && self.producer.publish(control)
                {
                    self.ring()?;
                }
                if rest.is_empty() {
                    break;
                }
                self.wait_for_room(&mut deadline)?;
            }
        }
        if unpublished > 0 && self.producer.publish(control) {
            self.ring()?;
        }
        Ok(())
    }

    /// Waits until there is room in the ring; `deadline` is set by the first wait of a message.
    #[cold]
    fn wait_for_room(&self, deadline: &mut Option<Instant>) -> io::Result<()> {
        let (control, area) = self.outgoing();
        for _ in 0..SHORT_SPIN {
            if self.producer.has_room(control, &area)? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let timeout = from_nanoseconds(self.send_timeout.load(Ordering::Relaxed));
        if let (None, Some(timeout)) = (&deadline, timeout) {
            *deadline = Instant::now().checked_add(timeout);
        }
        while !self.producer.has_room_or_wish(control, &area, Wish::Wake)? {
            if self.has_hung_up() {
                self.raise_state(GONE);
            }
            self.check_open()?;
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(not_taken());
            }
            let slice = timespec(left.map_or(ROOM_SLICE, |left| left.min(ROOM_SLICE)));
            // Woken, interrupted, or the word has changed: the loop looks.
            let word = control.room_word();
            let _ = futex::wait(word, futex::Flags::empty(), Wish::Wake as u32, Some(&slice));
        }
        Ok(())
    }

    pub(crate) fn send_now(&self, octets: &[u8]) {
        // What cannot be said is not said.
        let _ = self.try_send(octets);
    }

    pub(crate) fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.check_open()?;
        let (control, area) = self.outgoing();
        let mut sent = 0;
        loop {
            let written = self.producer.write(control, &area, &octets[sent..])?;
            sent += written;
            if written > 0 && self.producer.publish(control) {
                self.ring()?;
            }
            if sent == octets.len()
                || !self.producer.has_room_or_wish(control, &area, Wish::Doorbell)?
            {
                return Ok(sent);
            }
        }
    }

    #[inline]
    pub(crate) fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        match self.take(space)? {
            Some(octets) => Ok(octets),
            None => {
                let timeout = from_nanoseconds(self.receive_timeout.load(Ordering::Relaxed));
                let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                self.wait_and_take(space, timeout, until)
            }
        }
    }

    pub(crate) fn receive_all(&self, space: &mut [u8]) -> io::Result<usize> {
        let timeout = from_nanoseconds(self.receive_timeout.load(Ordering::Relaxed));
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut filled = 0;
        while filled < space.len() {
            let rest = &mut space[filled..];
            let received = match self.take_soon(rest)? {
                Some(octets) => Ok(octets),
                None => self.wait_and_take(rest, timeout, until),
            };
            match received {
                Ok(0) => break,
                Ok(octets) => filled += octets,
                Err(error) if filled > 0 && error.kind() == io::ErrorKind::TimedOut => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Takes what is there, or will be in a moment.
    fn take_soon(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        for _ in 0..SHORT_SPIN {
            if let Some(octets) = self.take(space)? {
                return Ok(Some(octets));
            }
            std::hint::spin_loop();
        }
        Ok(None)
    }

    /// Sleeps until something is there, at most until `until`, which is `timeout` from now.
    #[cold]
    fn wait_and_take(
        &self,
        space: &mut [u8],
        timeout: Option<Duration>,
        until: Option<Instant>,
    ) -> io::Result<usize> {
        let mut left = timeout;
        loop {
            // In this order: the peer's last octets were there before its end was.
            let is_over = self.state() != OPEN;
            self.arm()?;
            if let Some(octets) = self.take(space)? {
                self.disarm();
                return Ok(octets);
            }
            if is_over || space.is_empty() {
                return Ok(0);
            }
            if left == Some(Duration::ZERO) {
                self.disarm();
                return Err(nothing_came());
            }
            self.sleep(left)?;
            left = until.map(|until| until.saturating_duration_since(Instant::now()));
        }
    }

    /// Waits for the doorbell.
    fn sleep(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_receive_timeout(timeout)?;
        match self.socket.receive(&mut [0; DOORBELLS]) {
            Ok(0) => self.raise_state(GONE),
            Ok(_) => {}
            Err(error) => self.note_failure(error)?,
        }
        Ok(())
    }

    /// Asks the peer to ring when it sends; the caller looks afterwards.
    #[inline]
    fn arm(&self) -> io::Result<()> {
        let (control, _) = self.incoming();
        if !self.consumer.is_armed(control) {
            let arms = self.arms.load(Ordering::Relaxed).wrapping_add(1);
            self.arms.store(arms, Ordering::Relaxed);
            // Before, and not after: the octet of a peer that rings from now on is an event that an
            // event loop has still to see.
            if arms.is_multiple_of(ARMS_PER_DRAIN) {
                self.drain()?;
            }
            self.consumer.arm(control);
        }
        Ok(())
    }

    /// This thread is awake: the peer need not ring.
    fn disarm(&self) {
        if !self.is_watched.load(Ordering::Relaxed) {
            self.consumer.disarm(self.incoming().0);
        }
    }

    /// Takes the doorbell octets that are there, so that there is always room for one more, and
    /// notes when the end is behind them.
    #[cold]
    fn drain(&self) -> io::Result<()> {
        // A peer rings seldom enough for two rounds; one that does not is not waited for.
        for _ in 0..DRAIN_ROUNDS {
            match self.socket.try_receive(&mut [0; DOORBELLS]) {
                Ok(None) => break,
                Ok(Some(0)) => {
                    self.raise_state(GONE);
                    break;
                }
                Ok(Some(_)) => {}
                Err(error) => return self.note_failure(error),
            }
        }
        Ok(())
    }

    /// Takes what is there of octets: `None` when nothing is.
    #[inline]
    fn take(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        if self.is_watched.load(Ordering::Relaxed) {
            // What comes after this is an event of its own.
            self.arm()?;
        }
        let (control, area) = self.incoming();
        let octets = self.consumer.available(control, &area)? as usize;
        let octets = octets.min(space.len());
        if octets == 0 {
            return Ok(None);
        }
        // The peer goes on while we take the rest.
        for piece in space[..octets].chunks_mut(portion(&area)) {
            self.consumer.take(control, &area, piece);
            if let Some(wish) = self.consumer.room_wish(control, &area) {
                self.tell_of_room(wish);
            }
        }
        Ok(Some(octets))
    }

    #[cold]
    fn tell_of_room(&self, wish: Wish) {
        let word = self.incoming().0.room_word();
        // A peer that cannot be told has gone; the thread that receives learns of it.
        let _ = match wish {
            Wish::Doorbell => self.ring(),
            Wish::Wake => futex::wake(word, futex::Flags::empty(), 1).map(drop).map_err(Into::into),
        };
    }

    #[inline]
    pub(crate) fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self.take(space)? {
            Some(octets) => Ok(Some(octets)),
            None => {
                self.drain()?;
                self.take_last(space)
            }
        }
    }

    /// As [`ShmLink::try_receive`], for a thread that asks again at once: costs no system call, and
    /// notices the end a little later.
    #[inline]
    pub(crate) fn spin_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let (control, area) = self.incoming();
        if self.consumer.available(control, &area)? > 0 {
            return self.take(space);
        }
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        if self.is_watched.load(Ordering::Relaxed) {
            // This thread is awake: it arms again when it ends spinning.
            self.consumer.disarm(control);
        }
        if looks.is_multiple_of(LOOKS_PER_POLL) && self.has_hung_up() {
            self.raise_state(GONE);
        }
        if self.state() == OPEN { Ok(None) } else { self.take_last(space) }
    }

    /// Takes what is there; `Some(0)` when nothing is and nothing will come.
    fn take_last(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let is_over = self.state() != OPEN;
        Ok(self.take(space)?.or_else(|| is_over.then_some(0)))
    }

    /// Whether something is there to take, of which no event may tell: see
    /// [`ShmLink::spin_receive`].
    pub(crate) fn has_input(&self) -> bool {
        let (control, area) = self.incoming();
        self.consumer.available(control, &area) != Ok(0)
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.state() != OPEN || self.has_input() || self.has_hung_up()
    }

    #[inline]
    pub(crate) fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.receive_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    pub(crate) fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.send_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn shutdown(&self) {
        self.raise_state(SHUT);
        self.socket.shutdown();
        // A thread of ours that waits for room.
        let _ = futex::wake(self.outgoing().0.room_word(), futex::Flags::empty(), u32::MAX);
    }

    pub(crate) fn peer(&self) -> PeerAddress {
        self.socket.peer().clone()
    }

    /// What an event loop watches. From now on the peer rings for whatever comes after nothing was
    /// left to take. What is there already makes no event, unless nothing was ever received.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        if !self.is_watched.swap(true, Ordering::Relaxed) {
            self.consumer.arm(self.incoming().0);
        }
        self.socket.as_fd()
    }

    #[inline]
    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    fn raise_state(&self, state: u8) {
        self.state.fetch_max(state, Ordering::AcqRel);
    }

    #[inline]
    fn check_open(&self) -> io::Result<()> {
        if self.state() == OPEN { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    /// Wakes the peer, which sleeps. When there is no room for one octet more, it has plenty to
    /// wake for.
    #[cold]
    fn ring(&self) -> io::Result<()> {
        match self.socket.try_send(&[1]) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.note_failure(error)?;
                self.check_open()
            }
        }
    }

    /// Whether the peer's end of the socket is closed, without taking anything.
    fn has_hung_up(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let came = poll(&mut polled, Some(&timespec(Duration::ZERO)));
        came.is_ok_and(|count| count > 0)
    }

    /// A socket that was reset is one whose peer has gone.
    ///
    /// # Errors
    /// Any other failure but a time-out, of which the caller knows.
    fn note_failure(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::TimedOut => Ok(()),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                self.raise_state(GONE);
                Ok(())
            }
            _ => Err(error),
        }
    }
}

/// How much of a long message is shown to the other side at once.
#[inline]
fn portion(area: &impl Octets) -> usize {
    area.capacity() as usize / 4
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(0, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX).max(1))
}

fn from_nanoseconds(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cold]
fn not_taken() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer did not take the octets in time")
}

#[cold]
fn nothing_came() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no octets came within the time-out")
}
