//! What a server listens on, and what it writes into references about that.
//!
//! Opened by `listener`, all endpoints or none; asked by `orb/publish` and `locality`.

use crate::Orb;
use crate::neighbours::Listened;
use crate::profile::{Carrier, Protocol, is_tls};
use corbie_giop as giop;
use corbie_settings::{
    ListenAt, ListenEndpoint, ListenHost, PublishedAddress, Settings, published_hosts,
};
use corbie_threads::lock::{Guard, Ranked, rank};
use corbie_transport::{Acceptor, Endpoint, PluggedEndpoint, SSLIOP, ShmOptions};
use corbie_types::{Address, SystemException, minor};
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// An endpoint that is listened on.
pub(crate) struct Listening {
    pub(crate) acceptor: Acceptor,
    pub(crate) protocol: Protocol,
    /// As it was configured: its options.
    pub(crate) configured: ListenEndpoint,
}

/// What references carry of one protocol.
#[derive(Clone, Debug)]
pub(crate) struct PublishedProfile {
    pub(crate) protocol: Protocol,
    /// Of TCP: the first goes into the profile, the others become alternate addresses; those of TLS
    /// go into components. Of others: one.
    pub(crate) endpoints: Vec<Endpoint>,
}

#[derive(Default)]
pub(crate) struct Listeners {
    listening: Ranked<rank::Listening, Vec<Arc<Listening>>>,
    /// What references carry; settled when listening begins.
    published: OnceLock<Vec<PublishedProfile>>,
}

impl Listeners {
    pub(crate) fn published(&self) -> Option<&[PublishedProfile]> {
        self.published.get().map(Vec::as_slice)
    }

    pub(super) fn publish(&self, published: Vec<PublishedProfile>) {
        self.published.get_or_init(|| published);
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.lock().iter().filter_map(|listening| listening.acceptor.socket_address()).collect()
    }

    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        self.lock().iter().map(|listening| listening.acceptor.endpoint()).collect()
    }

    pub(crate) fn close(&self) {
        for listening in self.lock().drain(..) {
            listening.acceptor.close();
        }
    }

    pub(super) fn lock(&self) -> Guard<'_, rank::Listening, Vec<Arc<Listening>>> {
        self.listening.lock()
    }
}

/// Opens every configured endpoint, or none.
///
/// # Errors
/// `INITIALIZE` (`COMPLETED_NO`) when one cannot be listened on.
pub(super) fn open_all(orb: &Orb) -> Result<Vec<Arc<Listening>>, SystemException> {
    let endpoints = orb.settings().listen_endpoints.iter();
    endpoints.map(|configured| open(orb, configured).map(Arc::new)).collect()
}

fn open(orb: &Orb, configured: &ListenEndpoint) -> Result<Listening, SystemException> {
    let failed = |error: io::Error| {
        minor::INITIALIZE_LISTEN.no(format!(
            "cannot listen on {configured}: {error}; choose another with -ORBListenEndpoints"
        ))
    };
    let protocol = Protocol::of_listener(orb.known(), configured)
        .map_err(|why| failed(io::Error::new(io::ErrorKind::Unsupported, why)))?;
    let acceptor = bind(orb, configured).map_err(failed)?;
    Ok(Listening { acceptor, protocol, configured: configured.clone() })
}

fn bind(orb: &Orb, configured: &ListenEndpoint) -> io::Result<Acceptor> {
    let options = configured.options.unix();
    match &configured.at {
        ListenAt::Iiop(host) => Acceptor::bind_host(host.host.as_deref(), host.port),
        ListenAt::Ssliop(host) => {
            let endpoint = orb.transports().endpoint(SSLIOP, &host.to_string());
            Acceptor::bind_plugged(&endpoint.ok_or(io::ErrorKind::Unsupported)?)
        }
        ListenAt::Uiop(name) => Acceptor::bind_unix(name.as_ref(), options),
        ListenAt::Shmiop(name) => {
            let ring_octets = u32::try_from(orb.settings().shm_ring_octets).unwrap_or(u32::MAX);
            Acceptor::bind_shm(name.as_ref(), ShmOptions { socket: options, ring_octets })
        }
        ListenAt::Plugged { scheme, address } => {
            let endpoint = orb.transports().endpoint(scheme, address);
            Acceptor::bind_plugged(&endpoint.ok_or(io::ErrorKind::Unsupported)?)
        }
    }
}

/// What references carry: a profile for each protocol, and for each endpoint that is none of TCP,
/// in the order of `protocol_preference`; and what to tell the administrator.
pub(super) fn to_publish(
    settings: &Settings,
    all: &[Arc<Listening>],
) -> (Vec<PublishedProfile>, Vec<String>) {
    let mut profiles = Vec::new();
    let mut warnings = Vec::new();
    let interfaces = interface_addresses();
    for messages in spoken_over_iiop(all) {
        let mut endpoints = Vec::new();
        for is_wanted in [is_plain, is_of_tls] {
            let of = all.iter().filter(|one| is_wanted(one) && one.protocol.messages == messages);
            let bound: Vec<_> = of.clone().filter_map(|one| bound_host(one)).collect();
            let hosts = match (messages, of.clone().all(|one| is_plain(one))) {
                (giop::Protocol::Giop, true) => published_hosts(settings, &bound, &interfaces),
                _ => published_hosts(&without_ports(settings), &bound, &interfaces),
            };
            warnings.extend(hosts.warnings);
            let found = of.clone().next().map(|one| one.acceptor.endpoint());
            let to_endpoint = |(host, port)| at(found.as_ref()?, host, port);
            endpoints.extend(hosts.addresses.into_iter().filter_map(to_endpoint));
        }
        if !endpoints.is_empty() {
            let protocol = Protocol { messages, carrier: Carrier::Iiop };
            profiles.push(PublishedProfile { protocol, endpoints });
        }
    }
    for one in all.iter().filter(|one| one.protocol.carrier != Carrier::Iiop) {
        let (protocol, endpoints) = (one.protocol.clone(), vec![one.acceptor.endpoint()]);
        profiles.push(PublishedProfile { protocol, endpoints });
    }
    let preference = &settings.protocol_preference;
    let rank = |one: &PublishedProfile| {
        one.endpoints.iter().map(|endpoint| one.protocol.rank(preference, endpoint)).min()
    };
    profiles.sort_by_key(rank);
    (profiles, warnings)
}

/// What the collocation table is told: every endpoint that references carry, and who may make use
/// of it.
pub(super) fn listened(
    settings: &Settings,
    published: &[PublishedProfile],
    all: &[Arc<Listening>],
) -> Vec<Listened> {
    let port = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp { port, .. } => Some(*port),
        Endpoint::Plugged(plugged) if is_tls(endpoint) => port_of(plugged.address()),
        _ => None,
    };
    let group = |endpoint: &Endpoint| {
        let behind = all.iter().find(|one| match port(endpoint) {
            Some(_) => port(&one.acceptor.endpoint()) == port(endpoint),
            None => one.acceptor.endpoint() == *endpoint,
        });
        behind?.configured.options.priority_group
    };
    let listened = |endpoint: &Endpoint| Listened {
        endpoint: endpoint.clone(),
        group: group(endpoint),
        is_shared_address: port(endpoint).is_some() && !settings.published_addresses.is_empty(),
    };
    published.iter().flat_map(|profile| &profile.endpoints).map(listened).collect()
}

/// The message protocols of endpoints that stand in IIOP profiles, each once.
fn spoken_over_iiop(all: &[Arc<Listening>]) -> BTreeSet<giop::Protocol> {
    let is_iiop = |one: &&Arc<Listening>| one.protocol.carrier == Carrier::Iiop;
    all.iter().filter(is_iiop).map(|one| one.protocol.messages).collect()
}

fn is_plain(one: &Listening) -> bool {
    matches!(one.configured.at, ListenAt::Iiop(_))
}

fn is_of_tls(one: &Listening) -> bool {
    matches!(one.configured.at, ListenAt::Ssliop(_))
}

/// Where `one` listens, with the port that was really taken.
fn bound_host(one: &Listening) -> Option<(ListenHost, u16)> {
    let (ListenAt::Iiop(host) | ListenAt::Ssliop(host)) = &one.configured.at else { return None };
    let port = match one.acceptor.endpoint() {
        Endpoint::Tcp { port, .. } => port,
        Endpoint::Plugged(plugged) => port_of(plugged.address())?,
        _ => return None,
    };
    Some((host.clone(), port))
}

fn port_of(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// An endpoint of the same transport as `other`, at this host and port.
fn at(other: &Endpoint, host: String, port: u16) -> Option<Endpoint> {
    match other {
        Endpoint::Plugged(plugged) => {
            let address = Address::new(host, port).to_string();
            let transport = Arc::clone(plugged.transport());
            Some(Endpoint::Plugged(PluggedEndpoint::new(transport, address)))
        }
        _ => Some(Endpoint::tcp(host, port)),
    }
}

/// The ports of published addresses are those of plain IIOP.
fn without_ports(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let hosts = settings.published_addresses.iter();
    let hosts = hosts.map(|address| PublishedAddress { host: address.host.clone(), port: None });
    settings.published_addresses = hosts.collect();
    settings
}

/// The addresses of this machine; none when the system does not tell.
fn interface_addresses() -> Vec<std::net::IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    interfaces.iter().map(if_addrs::Interface::ip).collect()
}
