//! One connection over TLS: a TCP link, and the state of `rustls` under a lock.
//!
//! The lock is held while octets are encrypted, decrypted, and given to the system without waiting;
//! never while a thread waits. What the system does not take stays in `rustls`, 64 KiB at most, and
//! counts as not sent until it was taken: so the sender knows that it is blocked, and comes back
//! with the same octets.

use crate::{identity, sentence};
use corbie_threads::lock::{Guard, Ranked, Taken, Token, rank};
use corbie_transport::{Handshakes, Link, PeerAddress, PeerCertificate, PluggedLink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustls::{ClientConnection, Connection, ServerConnection};
use std::cell::RefCell;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A record of TLS, whole.
const RECORD: usize = (16 << 10) + 256 + 5;

/// Octets that are encrypted at once: what `rustls` keeps at most.
const PIECE: usize = 60 << 10;

/// Nanoseconds of a time-out that there is not.
const FOREVER: u64 = u64::MAX;

thread_local! {
    /// What the thread receives, before it is decrypted: no connection keeps room for it.
    static ENCRYPTED: RefCell<Vec<u8>> = RefCell::new(vec![0; RECORD]);
}

/// A connection over TLS.
#[derive(Debug)]
pub(crate) struct TlsLink {
    tcp: Link,
    /// The host of a server as its reference names it, or the address of a client: for sentences.
    name: String,
    is_client: bool,
    /// The right to take octets from the socket: they have to be decrypted in their order.
    receiving: Token<()>,
    state: Ranked<rank::Leaf, State>,
    receive_timeout: AtomicU64,
    send_timeout: AtomicU64,
    /// Filled when the handshake is over and was asked for.
    certificate: OnceLock<Option<Arc<PeerCertificate>>>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct State {
    tls: Connection,
    /// Octets that were decrypted and not taken yet.
    decrypted: usize,
    /// Octets that came and cannot be decrypted before others were taken.
    encrypted: Vec<u8>,
    /// Octets that were encrypted, and reported as not sent: they will be offered again, and are
    /// passed over then. `0 <= owed <= PIECE`.
    owed: usize,
    /// What was wrong with a record that came behind good ones: for the next receive.
    fault: Option<rustls::Error>,
    /// The peer sends no more.
    has_ended: bool,
    /// Why nothing goes any more.
    broken: Option<(io::ErrorKind, String)>,
    /// The handshake has come to its end.
    is_established: bool,
}

/// Handshakes of one ORB.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    opened: AtomicU64,
    open_failures: AtomicU64,
    accepted: AtomicU64,
    accept_failures: AtomicU64,
}

impl Counts {
    fn ended(&self, is_client: bool, is_established: bool) {
        let count = match (is_client, is_established) {
            (true, true) => &self.opened,
            (true, false) => &self.open_failures,
            (false, true) => &self.accepted,
            (false, false) => &self.accept_failures,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn so_far(&self) -> Handshakes {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Handshakes {
            opened: count(&self.opened),
            open_failures: count(&self.open_failures),
            accepted: count(&self.accepted),
            accept_failures: count(&self.accept_failures),
        }
    }
}

/// A handshake that has not come to its end has failed when its link goes.
impl Drop for TlsLink {
    fn drop(&mut self) {
        if !self.lock().is_established {
            self.counts.ended(self.is_client, false);
        }
    }
}

impl TlsLink {
    /// The client's side. The handshake is still to be made.
    pub(crate) fn client(
        tcp: Link,
        tls: ClientConnection,
        host: &str,
        counts: &Arc<Counts>,
    ) -> Self {
        Self::new(tcp, tls.into(), host.to_owned(), true, counts)
    }

    /// The server's side. The thread that receives makes the handshake.
    pub(crate) fn server(tcp: Link, tls: ServerConnection, counts: &Arc<Counts>) -> Self {
        let name = tcp.peer().to_string();
        Self::new(tcp, tls.into(), name, false, counts)
    }

    fn new(
        tcp: Link,
        tls: Connection,
        name: String,
        is_client: bool,
        counts: &Arc<Counts>,
    ) -> Self {
        let state = State {
            tls,
            decrypted: 0,
            encrypted: Vec::new(),
            owed: 0,
            fault: None,
            has_ended: false,
            broken: None,
            is_established: false,
        };
        Self {
            tcp,
            name,
            is_client,
            receiving: Token::default(),
            state: Ranked::new(state),
            receive_timeout: AtomicU64::new(FOREVER),
            send_timeout: AtomicU64::new(FOREVER),
            certificate: OnceLock::new(),
            counts: Arc::clone(counts),
        }
    }

    /// Makes the handshake, until `deadline`. A client's part; what the server thinks of the
    /// client's certificate comes later, with the first receive.
    ///
    /// # Errors
    /// `PermissionDenied` when a side refuses the other, `TimedOut`, else what the system says.
    pub(crate) fn handshake(&self, deadline: Option<Instant>) -> io::Result<()> {
        loop {
            let (is_handshaking, is_flushed) = {
                let mut state = self.lock();
                let is_flushed = state.flush(&self.tcp)?;
                (state.tls.is_handshaking(), is_flushed)
            };
            match (is_handshaking, is_flushed) {
                (_, false) => self.wait(PollFlags::OUT, deadline)?,
                (false, true) => return Ok(()),
                (true, true) => {
                    self.wait(PollFlags::IN, deadline)?;
                    let right = self.receiving();
                    self.receive_now(&mut [])?;
                    drop(right);
                    if self.lock().has_ended {
                        return Err(io::Error::new(
                            io::ErrorKind::UnexpectedEof,
                            format!(
                                "{} closed the connection in the middle of the handshake of TLS; \
                                 its log may say why",
                                self.name
                            ),
                        ));
                    }
                }
            }
        }
    }

    fn lock(&self) -> Guard<'_, rank::Leaf, State> {
        self.state.lock()
    }

    /// One thread receives; another that only looks has the right for a moment.
    fn receiving(&self) -> Taken<'_, ()> {
        loop {
            if let Some(right) = self.receiving.try_take() {
                return right;
            }
            std::thread::yield_now();
        }
    }

    /// Waits until the socket is as wanted, or `deadline`.
    fn wait(&self, wanted: PollFlags, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            let what = if wanted == PollFlags::OUT { "took no octets" } else { "said nothing" };
            let why = format!("{} {what} over TLS in time", self.name);
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        let Some(socket) = self.tcp.descriptor() else { return Ok(()) };
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::from_borrowed_fd(socket, wanted)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()), // The caller looks at the clock.
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what is here: as many octets as `space` has room for. Without room it looks only until
    /// it finds octets for a receiver, so that no more of them are here than a record has. Called
    /// with the right to receive.
    fn receive_now(&self, space: &mut [u8]) -> io::Result<usize> {
        let mut filled = self.take(&[], space)?;
        while filled < space.len() || (space.is_empty() && !self.has_input()) {
            let came = ENCRYPTED.with_borrow_mut(|room| {
                let Some(octets) = self.tcp.try_receive(room)? else { return Ok(None) };
                let is_all = octets < room.len();
                self.open_records(&room[..octets], &mut space[filled..])
                    .map(|taken| Some((taken, is_all)))
            });
            match came {
                Ok(None) => break,
                Ok(Some((taken, is_all))) => {
                    filled += taken;
                    if is_all {
                        break;
                    }
                }
                // What came before is good; the next receive says what went wrong.
                Err(error) if filled == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(filled)
    }

    /// Decrypts `encrypted`, of which no octets mean that the peer has closed, into `space`.
    fn open_records(&self, encrypted: &[u8], space: &mut [u8]) -> io::Result<usize> {
        if encrypted.is_empty() {
            self.lock().has_ended = true;
            return Ok(0);
        }
        self.take(encrypted, space)
    }

    fn take(&self, encrypted: &[u8], space: &mut [u8]) -> io::Result<usize> {
        let mut state = self.lock();
        let taken = state.decrypt(encrypted, space);
        if !state.is_established && !state.tls.is_handshaking() {
            state.is_established = true;
            self.counts.ended(self.is_client, true);
        }
        // An answer of the handshake, or an alert. What is not taken goes with the next.
        let flushed = if state.tls.wants_write() { state.flush(&self.tcp) } else { Ok(true) };
        match (taken, flushed) {
            // A peer may have said why before it closed: that comes first.
            (Ok(taken), Ok(_)) => Ok(taken),
            (Ok(taken), Err(_)) if taken > 0 => Ok(taken),
            (Ok(_), Err(error)) => Err(error),
            (Err(error), _) => {
                let is_new = state.broken.is_none();
                let failed = state.fail(&error, &self.name, self.is_client, &self.tcp);
                // What writes the log is the application's.
                drop(state);
                if is_new && !self.is_client {
                    tracing::warn!(peer = %self.name, "connection refused: {failed}");
                }
                Err(failed)
            }
        }
    }

    /// Gives octets of `segments` to the peer, as many as go without waiting; how many.
    fn send_some(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.lock();
        let sent = state.encrypt(segments, &self.tcp);
        drop(state);
        sent.map_err(|error| self.alert_behind().unwrap_or(error))
    }

    /// What the peer said before it closed the connection to this thread's octets.
    #[cold]
    fn alert_behind(&self) -> Option<io::Error> {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let _right = self.receiving.try_take()?;
        self.receive_now(&mut []).err().filter(refused)
    }

    fn deadline(timeout: &AtomicU64) -> Option<Instant> {
        match timeout.load(Ordering::Relaxed) {
            FOREVER => None,
            time => Instant::now().checked_add(Duration::from_nanos(time)),
        }
    }
}

impl State {
    /// Decrypts into `space`; what has no room there stays. How many octets that were.
    fn decrypt(&mut self, encrypted: &[u8], space: &mut [u8]) -> Result<usize, rustls::Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let joined = match self.encrypted.is_empty() {
            true => None,
            false => {
                self.encrypted.extend_from_slice(encrypted);
                Some(std::mem::take(&mut self.encrypted))
            }
        };
        let mut rest = joined.as_deref().unwrap_or(encrypted);
        let mut filled = 0;
        loop {
            if self.decrypted > 0 {
                let read = self.tls.reader().read(&mut space[filled..]).unwrap_or_default();
                filled += read;
                self.decrypted -= read;
            }
            if self.decrypted > 0 || rest.is_empty() {
                break;
            }
            // Fails only when there is more than is taken here, which the loop prevents.
            if !matches!(self.tls.read_tls(&mut rest), Ok(1..)) {
                break;
            }
            let come = match self.tls.process_new_packets() {
                Ok(come) => come,
                Err(fault) if filled > 0 => {
                    self.fault = Some(fault);
                    return Ok(filled);
                }
                Err(fault) => return Err(fault),
            };
            self.decrypted = come.plaintext_bytes_to_read();
            self.has_ended |= come.peer_has_closed();
        }
        if !rest.is_empty() {
            self.encrypted = rest.to_vec();
        }
        Ok(filled)
    }

    /// Encrypts and sends what goes without waiting; how many octets of `segments` that were.
    fn encrypt(&mut self, segments: &[IoSlice<'_>], tcp: &Link) -> io::Result<usize> {
        self.check()?;
        if !self.flush(tcp)? || self.tls.is_handshaking() {
            return Ok(0);
        }
        let octets: usize = segments.iter().map(|segment| segment.len()).sum();
        if self.owed == 0 && octets <= PIECE {
            // What is a message in the usual case becomes one record.
            let taken = self.tls.writer().write_vectored(segments)?;
            return Ok(if self.flush(tcp)? { taken } else { self.owe(0, taken) });
        }
        let mut sent = 0;
        for segment in segments {
            let skipped = self.owed.min(segment.len());
            self.owed -= skipped;
            sent += skipped;
            let mut rest = &segment[skipped..];
            while !rest.is_empty() {
                let taken = self.tls.writer().write(&rest[..rest.len().min(PIECE)])?;
                if !self.flush(tcp)? {
                    return Ok(self.owe(sent, taken));
                }
                sent += taken;
                rest = &rest[taken..];
            }
        }
        Ok(sent)
    }

    /// After `sent` octets, a piece of so many was encrypted that the system did not take whole: it
    /// counts as not sent, but for the first octet of all, which says that the message has begun.
    fn owe(&mut self, sent: usize, piece: usize) -> usize {
        let begun = usize::from(sent == 0 && piece > 1);
        self.owed = piece - begun;
        sent + begun
    }

    /// Gives the system what was encrypted; whether it took all.
    fn flush(&mut self, tcp: &Link) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut WithoutWaiting(tcp)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn check(&self) -> io::Result<()> {
        match &self.broken {
            Some((kind, why)) => Err(io::Error::new(*kind, why.clone())),
            None => Ok(()),
        }
    }

    /// TLS has failed: nothing goes any more, and an event loop hears of it.
    #[cold]
    fn fail(
        &mut self,
        error: &rustls::Error,
        peer: &str,
        is_client: bool,
        tcp: &Link,
    ) -> io::Error {
        if let Some((kind, why)) = &self.broken {
            return io::Error::new(*kind, why.clone());
        }
        let why = sentence::of(error, peer, is_client);
        let kind = match self.tls.is_handshaking() || sentence::is_refusal(error) {
            true => io::ErrorKind::PermissionDenied,
            false => io::ErrorKind::InvalidData,
        };
        tcp.shutdown();
        self.broken = Some((kind, why.clone()));
        io::Error::new(kind, why)
    }
}

/// The TCP link as `rustls` writes to it.
struct WithoutWaiting<'l>(&'l Link);

impl Write for WithoutWaiting<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        taken(self.0.try_send(octets)?)
    }

    fn write_vectored(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        taken(self.0.try_send_gathered(segments)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn taken(octets: usize) -> io::Result<usize> {
    if octets == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(octets) }
}

impl PluggedLink for TlsLink {
    fn send(&self, mut segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        let mut deadline = None;
        loop {
            let sent = self.send_some(segments)?;
            IoSlice::advance_slices(&mut segments, sent);
            if segments.iter().all(|segment| segment.is_empty()) {
                return Ok(());
            }
            deadline = deadline.or_else(|| Self::deadline(&self.send_timeout));
            self.wait(PollFlags::OUT, deadline)?;
        }
    }

    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.send_some(&[IoSlice::new(octets)])
    }

    fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send_some(segments)
    }

    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        let _right = self.receiving();
        let mut filled = self.take(&[], space)?;
        let mut deadline = None;
        while filled == 0 {
            {
                let state = self.lock();
                state.check()?;
                if state.has_ended {
                    return Ok(0);
                }
            }
            // One receive in the usual case. More when records that carry no octets came, as those
            // of a handshake: then the time-out is for all of them together.
            filled = ENCRYPTED.with_borrow_mut(|room| {
                let octets = self.tcp.receive(room)?;
                self.open_records(&room[..octets], space)
            })?;
            if filled == 0 && deadline.is_some_and(|end| Instant::now() >= end) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came in time"));
            }
            deadline = deadline.or_else(|| Self::deadline(&self.receive_timeout));
        }
        Ok(filled)
    }

    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let _right = self.receiving();
        let filled = self.receive_now(space)?;
        if filled > 0 || space.is_empty() {
            return Ok(Some(filled));
        }
        let state = self.lock();
        state.check()?;
        Ok(state.has_ended.then_some(0))
    }

    fn is_stale(&self) -> bool {
        // A thread that receives would take what is here.
        let Some(_right) = self.receiving.try_take() else { return self.tcp.is_stale() };
        if self.receive_now(&mut []).is_err() {
            return true;
        }
        let state = self.lock();
        state.decrypted > 0 || state.has_ended || state.broken.is_some()
    }

    fn is_encrypted(&self) -> bool {
        true
    }

    fn has_input(&self) -> bool {
        let state = self.lock();
        state.decrypted > 0 || !state.encrypted.is_empty()
    }

    fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.receive_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        self.tcp.set_receive_timeout(timeout)
    }

    fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.send_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        Ok(())
    }

    fn shutdown(&self) {
        {
            let mut state = self.lock();
            state.tls.send_close_notify();
            // What cannot be said is not.
            let _ = state.flush(&self.tcp);
        }
        self.tcp.shutdown();
    }

    fn peer(&self) -> PeerAddress {
        self.tcp.peer()
    }

    fn certificate(&self) -> Option<Arc<PeerCertificate>> {
        if let Some(known) = self.certificate.get() {
            return known.clone();
        }
        let state = self.lock();
        if state.tls.is_handshaking() {
            return None;
        }
        let shown = state.tls.peer_certificates().and_then(|chain| identity::of(chain.first()?));
        self.certificate.get_or_init(|| shown.map(Arc::new)).clone()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.tcp.descriptor()
    }
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(FOREVER);
    timeout.map_or(FOREVER, nanoseconds)
}
