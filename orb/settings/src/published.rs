//! Which addresses are written into references: never a wildcard, never an unasked loopback.
//!
//! Called by the ORB when it makes its first reference, with what it listens on and the
//! addresses of this machine. The rule is omniORB's, made stricter: an address that was named
//! is published as it was named; for a wildcard the first address that peers can reach.

use std::net::IpAddr;

use crate::choice::AddressFamily;
use crate::listen::ListenHost;
use crate::settings::Settings;

/// The outcome: what to write into references, and what to tell the administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedHosts {
    /// Host (an IPv6 address without brackets) and port; the first goes into the profile, the
    /// others become alternate addresses (TAG_ALTERNATE_IIOP_ADDRESS). Empty only if nothing is
    /// listened on.
    pub addresses: Vec<(String, u16)>,
    /// Sentences to log, for example that only this machine can use the references.
    pub warnings: Vec<String>,
}

/// Chooses the addresses to publish.
///
/// `bound` is each host of one protocol listened on with the port that it got; `interfaces`
/// are the addresses of this machine in the system's order.
#[must_use]
pub fn published_hosts(
    settings: &Settings,
    bound: &[(ListenHost, u16)],
    interfaces: &[IpAddr],
) -> PublishedHosts {
    let mut published = PublishedHosts { addresses: Vec::new(), warnings: Vec::new() };
    if let Some((_, first_port)) = bound.first()
        && !settings.published_addresses.is_empty()
    {
        for address in &settings.published_addresses {
            published.add(address.host.clone(), address.port.unwrap_or(*first_port));
        }
        return published;
    }
    for (endpoint, port) in bound {
        if !endpoint.is_wildcard() {
            published.add(endpoint.host.clone().unwrap_or_default(), *port);
            continue;
        }
        let candidates = reachable(endpoint, interfaces, settings.address_family);
        let taken = if settings.publish_all_addresses { candidates.len() } else { 1 };
        if candidates.is_empty() {
            published.only_loopback(endpoint, *port, interfaces);
        }
        for address in candidates.into_iter().take(taken) {
            published.add(address.to_string(), *port);
        }
    }
    published
}

impl PublishedHosts {
    fn add(&mut self, host: String, port: u16) {
        if !self.addresses.contains(&(host.clone(), port)) {
            self.addresses.push((host, port));
        }
    }

    fn only_loopback(&mut self, endpoint: &ListenHost, port: u16, interfaces: &[IpAddr]) {
        let loopback = interfaces.iter().find(|a| a.is_loopback() && heard(endpoint, a));
        let host = match loopback {
            Some(address) => address.to_string(),
            None if hears_ipv4(endpoint) => "127.0.0.1".to_owned(),
            None => "::1".to_owned(),
        };
        self.warnings.push(format!(
            "this machine has no address but loopback, so references carry {host} and only \
             processes of this machine can use them; name an address with published_addresses \
             (-ORBPublishedAddress) or listen_endpoints (-ORBListenHosts)"
        ));
        self.add(host, port);
    }
}

/// The addresses that peers can reach, the best first.
fn reachable(
    endpoint: &ListenHost,
    interfaces: &[IpAddr],
    preferred: AddressFamily,
) -> Vec<IpAddr> {
    let mut candidates: Vec<IpAddr> = interfaces
        .iter()
        .copied()
        .filter(|a| !a.is_loopback() && !a.is_unspecified() && !a.is_multicast())
        .filter(|a| heard(endpoint, a) && !needs_scope(a))
        .collect();
    let other_family = |a: &IpAddr| a.is_ipv4() != (preferred == AddressFamily::Ipv4);
    // Stable: within a group the system's order stays. Self-assigned addresses are a last resort.
    candidates.sort_by_key(|a| (is_self_assigned(a), other_family(a)));
    candidates
}

/// Whether a connection to `address` reaches what listens on the wildcard `endpoint`.
fn heard(endpoint: &ListenHost, address: &IpAddr) -> bool {
    match endpoint.host.as_deref() {
        None => true,
        Some(_) => address.is_ipv4() == hears_ipv4(endpoint),
    }
}

fn hears_ipv4(endpoint: &ListenHost) -> bool {
    endpoint.host.as_deref().is_none_or(|host| !host.contains(':'))
}

/// IPv6 link-local addresses mean nothing without an interface, which a reference cannot carry.
fn needs_scope(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn is_self_assigned(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.is_link_local())
}
