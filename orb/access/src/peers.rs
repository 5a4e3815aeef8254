//! Which peers a rule is about: by address, by user of this machine, by certificate, by user name.
//! Asked by `rules` once a connection, and once for each of its users.

use crate::Pattern;
use corbie_transport::{PeerAddress, PeerIdentity};
use ipnet::IpNet;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses: `10.0.0.0/8`, `192.168.1.7`, `2001:db8::/32`, `loopback` or `link-local`.
///
/// ```
/// # use corbie_access::AddressRange;
/// let range: AddressRange = "10.0.0.0/8".parse()?;
/// assert!(range.contains("10.1.2.3".parse().unwrap()));
/// let mapped: AddressRange = "::ffff:10.0.0.0/104".parse()?;
/// assert!(mapped.contains("10.1.2.3".parse().unwrap()));
/// assert!("loopback".parse::<AddressRange>()?.contains("::1".parse().unwrap()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRange(Vec<IpNet>);

impl AddressRange {
    /// Whether `address` is among them; an IPv4 address that is written as IPv6 is IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|net| net.contains(&address))
    }
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let nets = |all: &[&str]| all.iter().filter_map(|net| net.parse().ok()).collect();
        match text {
            "loopback" => return Ok(AddressRange(nets(&["127.0.0.0/8", "::1/128"]))),
            "link-local" => return Ok(AddressRange(nets(&["169.254.0.0/16", "fe80::/10"]))),
            _ => {}
        }
        let one = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
        let net = one.or_else(|_| text.parse::<IpNet>()).map(canonical);
        net.map(|net| AddressRange(vec![net])).map_err(|_| {
            format!(
                "`{text}` is no address range; write an address (192.168.1.7), a network \
                 (10.0.0.0/8, 2001:db8::/32), loopback or link-local"
            )
        })
    }
}

/// As an IPv4 network where it is one that is written as IPv6: addresses are compared as such.
fn canonical(net: IpNet) -> IpNet {
    let mapped = match net.addr() {
        IpAddr::V6(address) => address.to_ipv4_mapped(),
        IpAddr::V4(_) => None,
    };
    let prefix = net.prefix_len().checked_sub(96);
    let ipv4 =
        mapped.zip(prefix).and_then(|(address, prefix)| IpNet::new(address.into(), prefix).ok());
    ipv4.unwrap_or(net)
}

/// A user of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uid {
    /// The user that the server runs as.
    Own,
    Number(u32),
}

/// Some peers: those for which all that is said here holds. What nothing is said of, holds.
///
/// ```
/// # use corbie_access::Peers;
/// let desk = Peers::anyone().address("10.0.0.0/8".parse()?).certificate("CN=*.desk.example");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    addresses: Vec<AddressRange>,
    certificates: Vec<Pattern>,
    users: Vec<Pattern>,
    uids: Vec<Uid>,
}

impl Peers {
    /// All peers.
    #[must_use]
    pub fn anyone() -> Self {
        Peers::default()
    }

    /// Peers whose address is a loopback one: of this machine, whatever their user.
    #[must_use]
    pub fn loopback() -> Self {
        let net = |net: &str| net.parse().ok();
        let nets = ["127.0.0.0/8", "::1/128"].into_iter().filter_map(net).collect();
        Peers { addresses: vec![AddressRange(nets)], ..Peers::default() }
    }

    /// Peers that run as the server's own user, over a unix-domain socket or shared memory, where
    /// the system vouches for that.
    #[must_use]
    pub fn own_user() -> Self {
        Peers { uids: vec![Uid::Own], ..Peers::default() }
    }

    /// Only those with an address in `range`; called again: or in that.
    #[must_use]
    pub fn address(mut self, range: AddressRange) -> Self {
        self.addresses.push(range);
        self
    }

    /// Only those whose certificate has this subject (`CN=a,O=b`, RFC 4514) or alternative name;
    /// `*` stands for anything, upper and lower case are the same. Called again: or that.
    #[must_use]
    pub fn certificate(mut self, name: impl Into<Pattern>) -> Self {
        self.certificates.push(name.into());
        self
    }

    /// Only requests of this user, as CSIv2 says it: proven by a password (GSSUP), or asserted by
    /// a peer that is trusted to. Called again: or that. A LocateRequest has no user.
    #[must_use]
    pub fn user(mut self, name: impl Into<Pattern>) -> Self {
        self.users.push(name.into());
        self
    }

    /// Only processes of this user of this machine, over a unix-domain socket or shared memory.
    /// Called again: or that.
    #[must_use]
    pub fn uid(mut self, uid: u32) -> Self {
        self.uids.push(Uid::Number(uid));
        self
    }

    /// As [`Peers::uid`] for the user that the server runs as.
    #[cfg(feature = "file")]
    pub(crate) fn own_uid(mut self) -> Self {
        self.uids.push(Uid::Own);
        self
    }

    /// Whether it says nothing, and so means all peers.
    #[cfg(feature = "file")]
    pub(crate) fn is_anyone(&self) -> bool {
        *self == Peers::default()
    }

    /// Whether `peer` is one of them, for a server that runs as the user `own_user`.
    pub(crate) fn include(&self, peer: &PeerIdentity, own_user: u32) -> bool {
        let address = peer.address.ip();
        let uid = match &peer.address {
            PeerAddress::Unix(process) | PeerAddress::Shm(process) => Some(process.user),
            _ => None,
        };
        let is_named = |pattern: &Pattern| {
            peer.certificate.as_ref().is_some_and(|certificate| {
                let names = certificate.names.iter().map(String::as_str);
                names
                    .chain([&*certificate.subject])
                    .any(|name| pattern.matches_any_case(name.bytes()))
            })
        };
        let is_user =
            |pattern: &Pattern| peer.user.as_ref().is_some_and(|u| pattern.matches(u.bytes()));
        let is_uid = |wanted: &Uid| match *wanted {
            Uid::Own => uid == Some(own_user),
            Uid::Number(number) => uid == Some(number),
        };
        holds(&self.addresses, |range| address.is_some_and(|address| range.contains(address)))
            && holds(&self.certificates, is_named)
            && holds(&self.users, is_user)
            && holds(&self.uids, is_uid)
    }
}

/// Whether a line of a rule holds: one of its entries does, or it was left out.
pub(crate) fn holds<T>(line: &[T], entry: impl Fn(&T) -> bool) -> bool {
    line.is_empty() || line.iter().any(entry)
}
