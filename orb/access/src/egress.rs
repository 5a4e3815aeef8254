//! Where a server may connect to on behalf of references that peers handed it: event consumers,
//! naming contexts of other servers, call-backs.
//!
//! Without this a peer could have the server connect to what only the server reaches: services on
//! its loopback interface, sockets of its machine, the metadata service of a cloud at a link-local
//! address. `orb/core` asks [`EgressRules::for_peer`] when a handed reference is called first.

use crate::Pattern;
use crate::peers::{AddressRange, Peers, holds};
use corbie_transport::{PeerAddress, PeerIdentity};
use std::net::IpAddr;
use std::sync::Arc;

/// What holds where no rule says anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// Addresses other than of loopback and link-local; these two as far as the peer came from such
    /// a one itself, or over a socket of this machine. Unix-domain sockets and shared memory as far
    /// as the peer came over one, as the server's own user. Transports of applications as far as
    /// the peer came over the same.
    #[default]
    Careful,
    /// Everywhere.
    Allow,
    /// Nowhere.
    Refuse,
}

/// Where a rule says that connections may be opened to, and for references of which peers. What
/// nothing is said of, holds; a rule with addresses and sockets is about both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressRule {
    peers: Vec<Peers>,
    addresses: Vec<AddressRange>,
    own_address: bool,
    sockets: Vec<Pattern>,
}

impl EgressRule {
    /// For references that one of these `peers` handed over.
    #[must_use]
    pub fn of(peers: impl IntoIterator<Item = Peers>) -> Self {
        let peers = peers.into_iter().collect();
        EgressRule { peers, addresses: Vec::new(), own_address: false, sockets: Vec::new() }
    }

    /// Addresses in `range`; called again: or in that.
    #[must_use]
    pub fn address(mut self, range: AddressRange) -> Self {
        self.addresses.push(range);
        self
    }

    /// The address that the peer came from.
    #[must_use]
    pub fn own_address(mut self) -> Self {
        self.own_address = true;
        self
    }

    /// Unix-domain sockets, also of shared memory, with these names.
    #[must_use]
    pub fn socket(mut self, name: impl Into<Pattern>) -> Self {
        self.sockets.push(name.into());
        self
    }

    fn is_about_all(&self) -> bool {
        self.addresses.is_empty() && !self.own_address && self.sockets.is_empty()
    }

    fn has_address(&self, address: IpAddr, own: Option<IpAddr>) -> bool {
        self.is_about_all()
            || (self.own_address && own == Some(address))
            || self.addresses.iter().any(|range| range.contains(address))
    }

    fn has_socket(&self, name: &str) -> bool {
        let is_it = |pattern: &Pattern| pattern.matches(name.bytes());
        self.is_about_all() || self.sockets.iter().any(is_it)
    }
}

/// Where an ORB connects to on behalf of handed references: everywhere that [`Otherwise`] says or a
/// rule allows, and no rule refuses.
///
/// ```
/// # use corbie_access::{EgressRule, EgressRules, Peers};
/// let rules = EgressRules::careful()
///     .allow(EgressRule::of([Peers::anyone().certificate("CN=feed")]).address("loopback".parse()?))
///     .refuse(EgressRule::of([Peers::anyone()]).address("10.6.6.0/24".parse()?));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressRules {
    otherwise: Otherwise,
    allow: Vec<Arc<EgressRule>>,
    refuse: Vec<Arc<EgressRule>>,
}

impl EgressRules {
    /// [`Otherwise::Careful`]: what the shipped servers start with.
    #[must_use]
    pub fn careful() -> Self {
        Self::default()
    }

    /// No rule, and this where none says anything.
    #[must_use]
    pub fn otherwise(otherwise: Otherwise) -> Self {
        EgressRules { otherwise, ..Self::default() }
    }

    /// Where `rule` holds is connected to, unless one that refuses holds as well.
    #[must_use]
    pub fn allow(mut self, rule: EgressRule) -> Self {
        self.allow.push(Arc::new(rule));
        self
    }

    /// Where `rule` holds is not connected to.
    #[must_use]
    pub fn refuse(mut self, rule: EgressRule) -> Self {
        self.refuse.push(Arc::new(rule));
        self
    }

    /// What the rules say of references of `peer`, for a server that runs as the user `own_user`.
    #[must_use]
    pub fn for_peer(&self, peer: &PeerIdentity, own_user: u32) -> Reach {
        let of = |rules: &[Arc<EgressRule>]| {
            let is_of =
                |rule: &&Arc<EgressRule>| holds(&rule.peers, |peers| peers.include(peer, own_user));
            rules.iter().filter(is_of).cloned().collect()
        };
        let own = peer.address.ip().map(|address| address.to_canonical());
        let process = peer.address.process();
        let is_here = process.is_some() || peer.address == PeerAddress::Here;
        let came_over = match &peer.address {
            PeerAddress::Plugged(scheme, _) => Some(*scheme),
            _ => None,
        };
        Reach {
            otherwise: self.otherwise,
            own,
            loopback: is_here || own.is_some_and(is_loopback),
            link_local: own.is_some_and(is_link_local),
            sockets: peer.address == PeerAddress::Here
                || process.is_some_and(|process| process.user == own_user),
            came_over,
            allow: of(&self.allow),
            refuse: of(&self.refuse),
        }
    }
}

/// Where references of one peer may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    otherwise: Otherwise,
    own: Option<IpAddr>,
    loopback: bool,
    link_local: bool,
    sockets: bool,
    came_over: Option<&'static str>,
    allow: Vec<Arc<EgressRule>>,
    refuse: Vec<Arc<EgressRule>>,
}

impl Reach {
    /// Whether to this address, whatever the port.
    #[must_use]
    pub fn permits_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let careful = || match address {
            _ if is_loopback(address) => self.loopback,
            _ if is_link_local(address) => self.link_local,
            _ => true,
        };
        self.permits(careful, |rule| rule.has_address(address, self.own))
    }

    /// Whether to the unix-domain socket of this name, or to shared memory that is agreed on there.
    #[must_use]
    pub fn permits_socket(&self, name: &str) -> bool {
        self.permits(|| self.sockets, |rule| rule.has_socket(name))
    }

    /// Whether over the application's transport with this scheme, of which no address is known.
    #[must_use]
    pub fn permits_transport(&self, scheme: &str) -> bool {
        self.permits(|| self.came_over == Some(scheme), EgressRule::is_about_all)
    }

    fn permits(&self, careful: impl Fn() -> bool, is_about: impl Fn(&EgressRule) -> bool) -> bool {
        let by_default = match self.otherwise {
            Otherwise::Careful => careful(),
            Otherwise::Allow => true,
            Otherwise::Refuse => false,
        };
        let any = |rules: &[Arc<EgressRule>]| rules.iter().any(|rule| is_about(rule));
        (by_default || any(&self.allow)) && !any(&self.refuse)
    }
}

/// Whether it leads to this machine itself: Linux connects `0.0.0.0` and `::` to it, too.
fn is_loopback(address: IpAddr) -> bool {
    let leads_here = match address {
        IpAddr::V4(address) => address.octets()[0] == 0,
        IpAddr::V6(address) => address.is_unspecified(),
    };
    leads_here || address.is_loopback()
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}
