//! Where a peer can be reached: the part of a profile that the transport needs.
//!
//! Made by `orb/core/client/bind` from the profiles of a reference (CORBA 3.3 P2 §9.7.2), and the
//! key of the connection cache.

use std::fmt;

/// An address that a [`crate::Link`] can be opened to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// IIOP over TCP. `host` is a name or a numeric IPv4 or IPv6 address (without brackets).
    Tcp {
        /// Host name or numeric address.
        host: String,
        /// Port, 1 to 65535.
        port: u16,
    },
}

impl Endpoint {
    /// The TCP endpoint `host`, `port`.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Endpoint::Tcp { host: host.into(), port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "tcp [{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "tcp {host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn addresses_print_as_people_write_them() {
        assert_eq!(Endpoint::tcp("example.org", 2809).to_string(), "tcp example.org:2809");
        assert_eq!(Endpoint::tcp("::1", 2809).to_string(), "tcp [::1]:2809");
    }
}
