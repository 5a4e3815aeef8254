//! Which addresses may be connected to, asked after a name was resolved.
//!
//! A reference that a peer handed over may have a name for its host, and who answers for that name
//! may say another address each time. So the address is looked at that is then connected to
//! (`tcp`, and `orb/tls`); numeric addresses were looked at before, by `orb/core`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

type Permits = dyn Fn(IpAddr) -> bool + Send + Sync;

/// See the module. Clones are equal; connections through filters that are not are kept apart.
#[derive(Clone)]
pub struct AddressFilter(Arc<Permits>);

impl AddressFilter {
    /// Only addresses of which `permits` says so.
    pub fn new(permits: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        AddressFilter(Arc::new(permits))
    }

    /// Whether a connection to `address` may be opened.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        (self.0)(address)
    }

    /// The same as an answer to an attempt to connect to `host`.
    ///
    /// # Errors
    /// `PermissionDenied`, of a [`NotPermitted`].
    pub(crate) fn check(&self, host: &str, address: SocketAddr) -> io::Result<()> {
        if self.permits(address.ip()) {
            return Ok(());
        }
        let refused = NotPermitted { host: host.to_owned(), address: address.ip() };
        Err(io::Error::new(io::ErrorKind::PermissionDenied, refused))
    }
}

/// A name leads to an address that may not be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPermitted {
    /// The name.
    pub host: String,
    /// What it leads to.
    pub address: IpAddr,
}

impl fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotPermitted { host, address } = self;
        write!(
            f,
            "the name {host} leads to {address}, where this server does not connect on behalf of \
             the peer that handed the reference over"
        )
    }
}

impl std::error::Error for NotPermitted {}

impl PartialEq for AddressFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AddressFilter {}

impl Hash for AddressFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}

impl fmt::Debug for AddressFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressFilter")
    }
}
