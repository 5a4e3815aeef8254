//! The process at the other end of a link, in the terms of its protocol.
//!
//! Shown by log lines, and handed to servants and interceptors (`ServerRequest::peer`). Where the
//! system tells which process connected, that is part of the address.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAddress {
    /// This process itself, without a connection.
    Here,
    /// Over TCP.
    Tcp(SocketAddr),
    /// Over a unix-domain socket.
    Unix(PeerProcess),
    /// Over shared memory.
    Shm(PeerProcess),
    /// Over a transport of the application: its scheme, and the address as it says it.
    Plugged(&'static str, Arc<str>),
}

/// All that is known of a peer: what rules of access go by.
///
/// The address and the process of a unix-domain socket are the system's word; the certificate was
/// proven in a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Where it is, or which process it is.
    pub address: PeerAddress,
    /// The certificate that it has proven to own.
    pub certificate: Option<Arc<PeerCertificate>>,
    /// The user that it has proven to be, by name (GSSUP, as CSIv2 carries it).
    pub user: Option<Arc<str>>,
}

/// What a certificate says of its owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject, in the form of RFC 4514: `CN=desk,O=Bank`.
    pub subject: String,
    /// The alternative names: of hosts, of mail, URIs and addresses, as text.
    pub names: Vec<String>,
}

/// The user that this process runs as.
#[must_use]
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

impl From<PeerAddress> for PeerIdentity {
    fn from(address: PeerAddress) -> Self {
        PeerIdentity { address, certificate: None, user: None }
    }
}

impl fmt::Display for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        if let Some(certificate) = &self.certificate {
            write!(f, ", certificate {:?}", certificate.subject)?;
        }
        match &self.user {
            Some(user) => write!(f, ", user {user:?}"),
            None => Ok(()),
        }
    }
}

/// Whose connection it is, where shares are given out: one client may have many of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerOrigin {
    /// This process itself.
    Here,
    /// An address without its port; of IPv6 the first 64 bits, as one client may have the rest.
    Network(IpAddr),
    /// A user of this machine.
    User(u32),
    /// Over a transport of the application: its scheme, and the address as it says it.
    Plugged(&'static str, Arc<str>),
}

/// A process of this machine, as the system vouches for it (`SO_PEERCRED`): what it was when the
/// connection was opened, or when it began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerProcess {
    /// Number of the process; 0 when it is not visible from here, as from another container.
    pub process: u32,
    /// Its effective user.
    pub user: u32,
    /// Its effective group.
    pub group: u32,
}

impl PeerAddress {
    /// The address and port, for TCP.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self {
            PeerAddress::Tcp(address) => Some(*address),
            _ => None,
        }
    }

    /// The address without the port, for TCP.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.socket_address().map(|address| address.ip())
    }

    /// Whose connection it is: the address without its port, or the user.
    #[must_use]
    pub fn origin(&self) -> PeerOrigin {
        match self {
            PeerAddress::Here => PeerOrigin::Here,
            PeerAddress::Tcp(address) => PeerOrigin::Network(match address.ip().to_canonical() {
                IpAddr::V6(ip) => IpAddr::from((ip.to_bits() >> 64 << 64).to_be_bytes()),
                ip => ip,
            }),
            PeerAddress::Unix(process) | PeerAddress::Shm(process) => {
                PeerOrigin::User(process.user)
            }
            PeerAddress::Plugged(scheme, address) => {
                PeerOrigin::Plugged(scheme, Arc::clone(address))
            }
        }
    }

    /// The process, where the system vouches for it.
    #[must_use]
    pub fn process(&self) -> Option<PeerProcess> {
        match self {
            PeerAddress::Unix(process) | PeerAddress::Shm(process) => Some(*process),
            _ => None,
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerAddress::Here => f.write_str("this process"),
            PeerAddress::Tcp(address) => address.fmt(f),
            PeerAddress::Unix(process) => write!(f, "unix {process}"),
            PeerAddress::Shm(process) => write!(f, "shared memory {process}"),
            PeerAddress::Plugged(scheme, address) => write!(f, "{scheme} {address}"),
        }
    }
}

impl fmt::Display for PeerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            0 => write!(f, "a process of user {} that cannot be seen from here", self.user),
            process => write!(f, "process {process} of user {}", self.user),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_an_address_without_its_port_or_a_user() {
        let of = |address: &str| PeerAddress::Tcp(address.parse().unwrap()).origin();
        assert_eq!(of("10.0.0.1:5"), of("10.0.0.1:6"));
        assert_eq!(of("[::ffff:10.0.0.1]:5"), of("10.0.0.1:6"));
        assert_ne!(of("10.0.0.1:5"), of("10.0.0.2:5"));
        assert_eq!(of("[2001:db8::1]:5"), of("[2001:db8::2:3:4:5]:6"));
        assert_ne!(of("[2001:db8::1]:5"), of("[2001:db8:0:1::1]:5"));
        let process = |process, user| PeerProcess { process, user, group: 0 };
        let unix = |number, user| PeerAddress::Unix(process(number, user)).origin();
        assert_eq!(unix(1, 7), unix(2, 7));
        assert_ne!(unix(1, 7), unix(1, 8));
    }

    #[test]
    fn a_process_of_another_container_has_no_number() {
        let process = PeerProcess { process: 0, user: 7, group: 7 };
        assert_eq!(
            PeerAddress::Unix(process).to_string(),
            "unix a process of user 7 that cannot be seen from here"
        );
    }
}
