//! Where a peer can be reached: the part of a profile that the transport needs.
//!
//! A value of any protocol. Made by `orb/core/profile` from the profiles of a reference (CORBA 3.3
//! P2 §9.7.2), by acceptors for what they listen on, and the key of the connection cache.

use crate::{AddressFilter, PluggedEndpoint, UnixName};
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// An address that a [`crate::Link`] can be opened to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// IIOP over TCP. `host` is a name or a numeric IPv4 or IPv6 address (without brackets).
    Tcp {
        /// Host name or numeric address.
        host: String,
        /// Port, 1 to 65535.
        port: u16,
    },
    /// IIOP over TCP to a name of which some addresses may not be connected to.
    TcpWithin {
        /// Host name.
        host: String,
        /// Port, 1 to 65535.
        port: u16,
        /// Which of its addresses may be.
        filter: AddressFilter,
    },
    /// UIOP: a unix-domain socket.
    Unix(UnixName),
    /// Shared memory, agreed on over the unix-domain socket of this name.
    Shm(UnixName),
    /// A transport that the application brought along.
    Plugged(PluggedEndpoint),
}

impl Endpoint {
    /// The TCP endpoint `host`, `port`.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Endpoint::Tcp { host: host.into(), port }
    }

    /// The endpoints of the numeric addresses of a host name, in the order of the system's
    /// resolver, which may take as long as its own time-outs say; of those that have a filter, the
    /// ones that it permits. An endpoint without a name stands for itself.
    ///
    /// # Errors
    /// What the resolver says; `PermissionDenied` when there are addresses and none is permitted.
    pub fn resolve(&self) -> io::Result<Vec<Endpoint>> {
        let (host, port, filter) = match self {
            Endpoint::Tcp { host, port } => (host, *port, None),
            Endpoint::TcpWithin { host, port, filter } => (host, *port, Some(filter)),
            other => return Ok(vec![other.clone()]),
        };
        let numeric = |address: SocketAddr| match address {
            SocketAddr::V6(address) if address.scope_id() != 0 => {
                Endpoint::tcp(format!("{}%{}", address.ip(), address.scope_id()), port)
            }
            address => Endpoint::tcp(address.ip().to_string(), port),
        };
        let (mut found, mut refused) = (Vec::new(), None);
        for address in (host.as_str(), port).to_socket_addrs()? {
            match filter.map_or(Ok(()), |filter| filter.check(host, address)) {
                Ok(()) => found.push(numeric(address)),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// The same place, where of a host's addresses only those that `filter` permits are connected
    /// to. Sockets of this machine stay as they are.
    #[must_use]
    pub fn within(self, filter: &AddressFilter) -> Self {
        let filter = filter.clone();
        match self {
            Endpoint::Tcp { host, port } => Endpoint::TcpWithin { host, port, filter },
            Endpoint::Plugged(plugged) => Endpoint::Plugged(plugged.within(filter)),
            other => other,
        }
    }

    /// Whether only processes of the same machine can reach it.
    #[must_use]
    pub fn is_of_one_machine(&self) -> bool {
        match self {
            Endpoint::Tcp { .. } | Endpoint::TcpWithin { .. } => false,
            Endpoint::Unix(_) | Endpoint::Shm(_) => true,
            Endpoint::Plugged(plugged) => plugged.transport().is_of_one_machine(),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } | Endpoint::TcpWithin { host, port, .. } => {
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "tcp {open}{host}{close}:{port}")
            }
            Endpoint::Unix(name) => write!(f, "unix {name}"),
            Endpoint::Shm(name) => write!(f, "shared memory {name}"),
            Endpoint::Plugged(plugged) => plugged.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_people_write_them() {
        assert_eq!(Endpoint::tcp("example.org", 2809).to_string(), "tcp example.org:2809");
        assert_eq!(Endpoint::tcp("::1", 2809).to_string(), "tcp [::1]:2809");
        let unix = |name: &str| Endpoint::Unix(name.parse().unwrap()).to_string();
        assert_eq!(unix("/run/stock"), "unix /run/stock");
        assert_eq!(unix("@stock"), "unix @stock");
    }

    #[test]
    fn a_name_becomes_its_numeric_addresses() {
        let found = Endpoint::tcp("localhost", 2809).resolve().unwrap();
        assert!(found.contains(&Endpoint::tcp("127.0.0.1", 2809)), "{found:?}");
        let numeric = Endpoint::tcp("::1", 2809);
        assert_eq!(numeric.resolve().unwrap(), [numeric]);
        let none = AddressFilter::new(|_| false);
        let refused = Endpoint::tcp("localhost", 2809).within(&none).resolve().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        let ipv4 = AddressFilter::new(|address| address.is_ipv4());
        let found = Endpoint::tcp("localhost", 2809).within(&ipv4).resolve().unwrap();
        assert!(!found.contains(&Endpoint::tcp("::1", 2809)), "{found:?}");
        assert!(found.contains(&Endpoint::tcp("127.0.0.1", 2809)), "{found:?}");
    }
}
