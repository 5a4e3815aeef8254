//! The pluggable transport interface: what an application implements to have its ORB speak GIOP
//! over something that this crate does not know (paper POA §3.3).
//!
//! A [`Transport`] opens and accepts links under a scheme (`fifo://…` in endpoints) and a profile
//! tag (in references). It moves octets, reliably and in order, and knows no GIOP. The built-in
//! transports do not come through here: `Link` and `Acceptor` are enums, and only their last
//! variant is a trait object. `tests/testkit` has the suite that each transport has to pass.

use crate::{AddressFilter, PeerAddress, PeerCertificate};
use corbie_types::{SystemException, UiopProfile};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A way to carry octets between processes. Registered with an ORB's builder.
pub trait Transport: Send + Sync + fmt::Debug {
    /// What endpoints of it begin with, without `://`: lower-case letters and digits, as `fifo`.
    fn scheme(&self) -> &'static str;

    /// The tag of its profiles in references. To be had from the OMG, or of a vendor's range;
    /// a client that does not know the tag passes the profile over.
    fn profile_tag(&self) -> u32;

    /// Whether only processes of the same machine can be reached. Profiles of such a transport say
    /// which machine they are for, and are passed over everywhere else.
    fn is_of_one_machine(&self) -> bool {
        false
    }

    /// Whether `address`, what follows `scheme://` in an endpoint, can be one. Nothing is opened.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    fn check_address(&self, address: &str) -> Result<(), String> {
        let _ = address;
        Ok(())
    }

    /// Whether links can be opened at all, with what the transport was given.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    fn check_client(&self) -> Result<(), String> {
        Ok(())
    }

    /// Reads again what links are opened and accepted with, as the files of certificates; open
    /// links go on. Whether there is any such thing.
    ///
    /// # Errors
    /// Why what was read cannot be used: then everything stays as it was.
    fn reload(&self) -> Result<bool, String> {
        Ok(false)
    }

    /// When the first of the certificates that the transport shows to peers ends; `None`: it shows
    /// none.
    fn certificate_expiry(&self) -> Option<SystemTime> {
        None
    }

    /// How many handshakes there were; all zero where links need none.
    fn handshakes(&self) -> Handshakes {
        Handshakes::default()
    }

    /// Called once a second by the thread of the ORB that closes unused connections, for what is
    /// due by the clock. It must not wait.
    fn on_tick(&self) {}

    /// Opens a link to `address`: in one attempt of at most `each`, or several until `deadline`.
    ///
    /// # Errors
    /// Why not: `ConnectionRefused` when no server listens, `TimedOut` when the time is over.
    fn connect(
        &self,
        address: &str,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>>;

    /// As [`Transport::connect`], where only those addresses of a host may be connected to that
    /// `filter` permits: for references that were handed to a server with rules of egress. A
    /// transport that resolves no names needs nothing else than this.
    ///
    /// # Errors
    /// As there; `PermissionDenied` when all addresses are forbidden.
    fn connect_within(
        &self,
        address: &str,
        filter: &AddressFilter,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        let _ = filter;
        self.connect(address, each, deadline)
    }

    /// Listens on `address`; an empty one leaves the choice to the transport.
    ///
    /// # Errors
    /// Why not, for example `AddrInUse`.
    fn listen(&self, address: &str) -> io::Result<Box<dyn PluggedAcceptor>>;

    /// The data of a profile: by default in the form of UIOP, which is that of IIOP with one string
    /// instead of host and port.
    ///
    /// # Errors
    /// When the address cannot be written.
    fn encode_profile(&self, profile: &UiopProfile) -> Result<Vec<u8>, SystemException> {
        Ok(profile.encode()?)
    }

    /// What the data of a profile says. The data is from outside, and may be anything.
    ///
    /// # Errors
    /// When it is no such profile.
    fn decode_profile(&self, data: &[u8]) -> Result<UiopProfile, SystemException> {
        Ok(UiopProfile::decode(data)?)
    }
}

/// Handshakes of a transport that proves to each side which peer the other one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// With servers, that came to their end.
    pub opened: u64,
    /// With servers, that did not: a side refused the other, or went away.
    pub open_failures: u64,
    /// With clients, that came to their end.
    pub accepted: u64,
    /// With clients, that did not.
    pub accept_failures: u64,
}

impl std::ops::Add for Handshakes {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Handshakes {
            opened: self.opened + more.opened,
            open_failures: self.open_failures + more.open_failures,
            accepted: self.accepted + more.accepted,
            accept_failures: self.accept_failures + more.accept_failures,
        }
    }
}

/// An open connection of a third-party transport. See `Link` for what the methods promise: those
/// of the same name say exactly this. One thread may send while another receives.
pub trait PluggedLink: Send + Sync + fmt::Debug {
    /// As `Link::send`: all octets, or an error.
    ///
    /// # Errors
    /// `TimedOut` when the peer did not take them within the send time-out.
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()>;

    /// As `Link::try_send`: what goes without waiting, perhaps nothing.
    ///
    /// # Errors
    /// Why nothing can be sent any more; never `WouldBlock`.
    fn try_send(&self, octets: &[u8]) -> io::Result<usize>;

    /// As `Link::try_send_gathered`.
    ///
    /// # Errors
    /// As [`PluggedLink::try_send`].
    fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut sent = 0;
        for segment in segments {
            let now = self.try_send(segment)?;
            sent += now;
            if now < segment.len() {
                break;
            }
        }
        Ok(sent)
    }

    /// As `Link::receive`: waits for some octets; 0 when the peer has closed.
    ///
    /// # Errors
    /// `TimedOut` when nothing arrived within the receive time-out.
    fn receive(&self, space: &mut [u8]) -> io::Result<usize>;

    /// As `Link::try_receive`: what is there already, `None` when nothing is.
    ///
    /// # Errors
    /// Why nothing can be received any more; never `WouldBlock`.
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>>;

    /// As `Link::receive_all`.
    ///
    /// # Errors
    /// `TimedOut` when nothing arrived in time; a part that did is no error.
    fn receive_all(&self, space: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < space.len() {
            match self.receive(&mut space[filled..]) {
                Ok(0) => break,
                Ok(octets) => filled += octets,
                Err(error) if filled > 0 && error.kind() == io::ErrorKind::TimedOut => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// As `Link::is_stale`: whether octets or the end can be received, without taking them.
    fn is_stale(&self) -> bool;

    /// Whether octets are encrypted on their way.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// As `Link::has_input`: whether octets were taken from the descriptor that `receive` has not
    /// given out yet.
    fn has_input(&self) -> bool {
        false
    }

    /// As `Link::set_receive_timeout`.
    ///
    /// # Errors
    /// What the system says.
    fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// As `Link::set_send_timeout`.
    ///
    /// # Errors
    /// What the system says.
    fn set_send_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;

    /// As `Link::shutdown`: ends both directions, and the wait of a thread that receives.
    fn shutdown(&self);

    /// The process at the other end, for messages to people.
    fn peer(&self) -> PeerAddress;

    /// The certificate that the peer has proven to own, where the transport knows of any. Asked
    /// when the first request has come, not before.
    fn certificate(&self) -> Option<Arc<PeerCertificate>> {
        None
    }

    /// What an event loop watches: a descriptor that becomes readable when octets or the end come
    /// (each arrival being an event of its own, as the loop watches for edges) and writable when
    /// there is room. `None`: there is no such thing; then a thread has to wait for each link, so
    /// that neither asynchronous calls nor event-driven servers can use the transport.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// The listening side of a third-party transport.
pub trait PluggedAcceptor: Send + Sync + fmt::Debug {
    /// The address that peers connect to: what references carry. Complete, also when the address
    /// listened on left something open.
    fn address(&self) -> String;

    /// Blocks until a peer connects. After [`PluggedAcceptor::close`] it fails.
    ///
    /// # Errors
    /// What the system says. The caller pauses and goes on.
    fn accept(&self) -> io::Result<Box<dyn PluggedLink>>;

    /// Takes a connection that a peer has opened: `None` when there is none. Only called after
    /// [`PluggedAcceptor::set_nonblocking`].
    ///
    /// # Errors
    /// What the system says; never `WouldBlock`.
    fn try_accept(&self) -> io::Result<Option<Box<dyn PluggedLink>>>;

    /// From now on [`PluggedAcceptor::try_accept`] is used, and waited for with
    /// [`PluggedAcceptor::descriptor`].
    ///
    /// # Errors
    /// What the system says; `Unsupported` when there is no descriptor.
    fn set_nonblocking(&self) -> io::Result<()>;

    /// Takes no more connections: a thread blocked in [`PluggedAcceptor::accept`] returns.
    fn close(&self);

    /// As [`PluggedLink::descriptor`]: readable when a peer connects.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// An address of a third-party transport.
#[derive(Clone, Debug)]
pub struct PluggedEndpoint {
    transport: Arc<dyn Transport>,
    address: Arc<str>,
    filter: Option<AddressFilter>,
}

impl PluggedEndpoint {
    /// The endpoint `address` of `transport`.
    pub fn new(transport: Arc<dyn Transport>, address: impl Into<Arc<str>>) -> Self {
        PluggedEndpoint { transport, address: address.into(), filter: None }
    }

    /// The same, where only those addresses of its host are connected to that `filter` permits.
    #[must_use]
    pub(crate) fn within(self, filter: AddressFilter) -> Self {
        PluggedEndpoint { filter: Some(filter), ..self }
    }

    /// What it is reached with.
    #[must_use]
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// What follows `scheme://`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn connect(
        &self,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        match &self.filter {
            None => self.transport.connect(&self.address, each, deadline),
            Some(filter) => self.transport.connect_within(&self.address, filter, each, deadline),
        }
    }
}

impl PartialEq for PluggedEndpoint {
    fn eq(&self, other: &Self) -> bool {
        self.transport.scheme() == other.transport.scheme()
            && self.address == other.address
            && self.filter == other.filter
    }
}

impl Eq for PluggedEndpoint {}

impl Hash for PluggedEndpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.transport.scheme().hash(state);
        self.address.hash(state);
        self.filter.hash(state);
    }
}

impl fmt::Display for PluggedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.transport.scheme(), self.address)
    }
}
