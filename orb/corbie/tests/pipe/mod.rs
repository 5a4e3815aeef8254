//! The smallest transport that there is: pairs of streams of the standard library, which tell no
//! event loop anything. Each link waits for its own octets and nothing else.
#![allow(clippy::unwrap_used)] // of locks

use corbie::transport::{PeerAddress, PluggedAcceptor, PluggedLink, Transport};
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Pipe;

#[derive(Debug)]
struct PipeLink {
    stream: UnixStream,
    /// Octets that a look took, and their end.
    ahead: Mutex<Option<Option<u8>>>,
    timeout: Mutex<Option<Duration>>,
}

#[derive(Debug)]
struct PipeAcceptor {
    listener: UnixListener,
    path: String,
    is_closed: AtomicBool,
}

/// Addresses that begin with this take no connection, until [`end_deafness`].
pub(crate) const DEAF: &str = "deaf";

static WAITING_FOR: (Mutex<bool>, Condvar) = (Mutex::new(true), Condvar::new());

/// From now on connects to deaf addresses fail.
pub(crate) fn end_deafness() {
    *WAITING_FOR.0.lock().unwrap() = false;
    WAITING_FOR.1.notify_all();
}

impl Transport for Pipe {
    fn scheme(&self) -> &'static str {
        "pipe"
    }

    fn profile_tag(&self) -> u32 {
        0x5049_5045
    }

    fn is_of_one_machine(&self) -> bool {
        true
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if address.contains(' ') { Err(format!("{address:?} is no path")) } else { Ok(()) }
    }

    fn connect(
        &self,
        address: &str,
        _each: Option<Duration>,
        _deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        if address.starts_with(DEAF) {
            let deaf = || WAITING_FOR.0.lock().unwrap();
            drop(WAITING_FOR.1.wait_while(deaf(), |is_deaf| *is_deaf).unwrap());
        }
        Ok(Box::new(PipeLink::new(UnixStream::connect(address)?)))
    }

    fn listen(&self, address: &str) -> io::Result<Box<dyn PluggedAcceptor>> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = match address {
            "" => {
                let file = format!("corbie-pipe-{}-{number}", std::process::id());
                std::env::temp_dir().join(file).to_str().unwrap().to_owned()
            }
            path => path.to_owned(),
        };
        let listener = UnixListener::bind(&path)?;
        Ok(Box::new(PipeAcceptor { listener, path, is_closed: AtomicBool::new(false) }))
    }
}

impl PipeLink {
    fn new(stream: UnixStream) -> Self {
        PipeLink { stream, ahead: Mutex::new(None), timeout: Mutex::new(None) }
    }

    /// Reads within `timeout`; `None`: nothing came.
    fn read(&self, space: &mut [u8], timeout: Option<Duration>) -> io::Result<Option<usize>> {
        self.stream.set_read_timeout(timeout)?;
        match (&self.stream).read(space) {
            Ok(octets) => Ok(Some(octets)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn take_ahead(&self, space: &mut [u8]) -> Option<usize> {
        let ahead = self.ahead.lock().unwrap().take()?;
        if let Some(octet) = ahead {
            space[0] = octet;
        }
        Some(usize::from(ahead.is_some()))
    }
}

const AT_ONCE: Option<Duration> = Some(Duration::from_micros(1));

impl PluggedLink for PipeLink {
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        segments.iter().try_for_each(|segment| (&self.stream).write_all(segment))
    }

    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        (&self.stream).write(octets)
    }

    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        if let Some(octets) = self.take_ahead(space) {
            return Ok(octets);
        }
        let timeout = *self.timeout.lock().unwrap();
        self.read(space, timeout)?.ok_or_else(|| ErrorKind::TimedOut.into())
    }

    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self.take_ahead(space) {
            Some(octets) => Ok(Some(octets)),
            None => self.read(space, AT_ONCE),
        }
    }

    fn is_stale(&self) -> bool {
        let mut octet = [0];
        let mut ahead = self.ahead.lock().unwrap();
        if ahead.is_none() {
            *ahead = match self.read(&mut octet, AT_ONCE) {
                Ok(None) => None,
                Ok(Some(octets)) => Some((octets > 0).then_some(octet[0])),
                Err(_) => Some(None),
            };
        }
        ahead.is_some()
    }

    fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.timeout.lock().unwrap() = timeout;
        Ok(())
    }

    fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_write_timeout(timeout)
    }

    fn shutdown(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn peer(&self) -> PeerAddress {
        PeerAddress::Plugged("pipe", "somewhere".into())
    }
}

impl PluggedAcceptor for PipeAcceptor {
    fn address(&self) -> String {
        self.path.clone()
    }

    fn accept(&self) -> io::Result<Box<dyn PluggedLink>> {
        let (stream, _) = self.listener.accept()?;
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(ErrorKind::NotConnected.into());
        }
        Ok(Box::new(PipeLink::new(stream)))
    }

    fn try_accept(&self) -> io::Result<Option<Box<dyn PluggedLink>>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // A last connection wakes the thread that accepts.
        let _ = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}
