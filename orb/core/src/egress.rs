//! Where calls of references may go that peers handed to this ORB: where its rules of egress are
//! enforced.
//!
//! While an ORB has such rules, a reference that is read from a request remembers the peer that
//! sent it, its *giver* (`interface`); what a call of such a reference answers, and where its
//! server sends on, is of the same giver. `client/bind` asks [`restrict`] once, when a reference is
//! called first: addresses that may not be connected to are as if they were not there. Names are
//! resolved later; then the transport asks the filter that stands in the endpoint, so that it does
//! not matter what the name led to before.
//!
//! Services that keep references keep the giver with them ([`Object::kept_ior`]).

use crate::handles::{Giver, Part};
use crate::profile::{Profile, is_tls};
use crate::{Object, Orb};
use corbie_access::{EgressRules, Reach};
use corbie_connection::Place;
use corbie_threads::lock::{Ranked, RankedRw, rank};
use corbie_transport::{
    AddressFilter, Endpoint, PeerAddress, PeerIdentity, PeerProcess, PluggedEndpoint, own_user,
};
use corbie_types::ior::profile_tag;
use corbie_types::{Ior, SystemException, TaggedProfile, minor};
use std::net::IpAddr;
use std::sync::Arc;

/// The note of a reference that is of the application itself.
const OWN: &str = "own";

/// So many filters are remembered, so that references of alike peers share connections.
const FILTERS_MAX: usize = 64;

/// The rules of an ORB.
#[derive(Default)]
pub(crate) struct Egress {
    rules: RankedRw<rank::Leaf, Option<Arc<EgressRules>>>,
    filters: Ranked<rank::Leaf, Vec<(Arc<Reach>, AddressFilter)>>,
}

impl Part for Egress {}

impl Egress {
    /// From now on these rules hold, for references that are called for the first time.
    pub(crate) fn set(&self, rules: EgressRules) {
        *self.rules.write() = Some(Arc::new(rules));
    }

    /// Whether there are rules.
    pub(crate) fn has_rules(&self) -> bool {
        self.rules.read().is_some()
    }

    fn reach(&self, giver: &PeerIdentity) -> Option<Arc<Reach>> {
        let rules = self.rules.read().clone()?;
        Some(Arc::new(rules.for_peer(giver, own_user())))
    }

    /// The filter of names for `reach`: the same for equal ones.
    fn filter(&self, reach: &Arc<Reach>) -> AddressFilter {
        let mut filters = self.filters.lock();
        if let Some((_, filter)) = filters.iter().find(|(known, _)| known == reach) {
            return filter.clone();
        }
        if filters.len() >= FILTERS_MAX {
            filters.clear();
        }
        let within = Arc::clone(reach);
        let filter = AddressFilter::new(move |address| within.permits_address(address));
        filters.push((Arc::clone(reach), filter.clone()));
        filter
    }
}

/// Takes out of the profiles of a reference of `type_id` what is not connected to on behalf of its
/// `giver`. What may not be connected to, and where the giver itself is called over a connection
/// that it opened, stays in and is returned.
///
/// # Errors
/// `NO_PERMISSION` (`COMPLETED_NO`) when the reference has addresses, and none is left.
pub(crate) fn restrict<'p>(
    orb: &Orb,
    giver: Option<&Giver>,
    type_id: &str,
    profiles: impl Iterator<Item = &'p mut Profile>,
) -> Result<Vec<Endpoint>, SystemException> {
    let mut only_back = Vec::new();
    let Some(giver) = giver else { return Ok(only_back) };
    let egress: &Egress = orb.extensions().egress.get();
    let Some(reach) = egress.reach(giver) else { return Ok(only_back) };
    let (mut refused, mut is_any_left) = (None, false);
    for profile in profiles {
        for endpoint in std::mem::take(&mut profile.endpoints) {
            match permitted(egress, &reach, endpoint) {
                Ok(endpoint) => profile.endpoints.push(endpoint),
                Err(endpoint) if is_called_back(orb, giver, &endpoint) => {
                    profile.endpoints.push(endpoint.clone());
                    only_back.push(endpoint);
                }
                Err(endpoint) => refused = Some(endpoint),
            }
        }
        is_any_left |= !profile.endpoints.is_empty();
    }
    match refused {
        Some(endpoint) if !is_any_left => Err(not_permitted(giver, type_id, &endpoint)),
        Some(endpoint) => {
            tracing::debug!(%giver, %endpoint, "an address of a handed reference is passed over");
            Ok(only_back)
        }
        None => Ok(only_back),
    }
}

/// Whether calls to `endpoint` go over a connection that `giver` opened.
fn is_called_back(orb: &Orb, giver: &Giver, endpoint: &Endpoint) -> bool {
    let back = Place::of(endpoint).and_then(|place| orb.connections().back(&place));
    back.is_some_and(|back| back.peer().origin() == giver.address.origin())
}

/// The endpoint as it may be connected to; the error is one that may not be.
fn permitted(
    egress: &Egress,
    reach: &Arc<Reach>,
    endpoint: Endpoint,
) -> Result<Endpoint, Endpoint> {
    let of_host = |host: &str| match host.parse::<IpAddr>() {
        Ok(address) => reach.permits_address(address).then_some(None),
        Err(_) => Some(Some(egress.filter(reach))),
    };
    let filter = match &endpoint {
        Endpoint::Tcp { host, .. } => of_host(host),
        Endpoint::Plugged(plugged) if is_tls(&endpoint) => of_host(host_of(plugged)),
        Endpoint::Plugged(plugged) => {
            reach.permits_transport(plugged.transport().scheme()).then_some(None)
        }
        Endpoint::Unix(name) | Endpoint::Shm(name) => {
            reach.permits_socket(&name.to_string()).then_some(None)
        }
        _ => None,
    };
    match filter {
        None => Err(endpoint),
        Some(None) => Ok(endpoint),
        Some(Some(filter)) => Ok(endpoint.within(&filter)),
    }
}

fn host_of(endpoint: &PluggedEndpoint) -> &str {
    let address = endpoint.address();
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cold]
fn not_permitted(giver: &Giver, type_id: &str, endpoint: &Endpoint) -> SystemException {
    let type_id: String = type_id.escape_debug().take(128).collect();
    tracing::warn!(
        peer = %giver,
        %endpoint,
        type_id,
        setting = "access_file",
        "a reference that a peer handed over is not called: no rule of egress lets this server \
         connect there"
    );
    minor::NO_PERMISSION_EGRESS.no(format!(
        "this server does not connect to {endpoint} on behalf of {giver}, which handed over the \
         reference of type \"{type_id}\""
    ))
}

impl Orb {
    /// The rules of egress of this ORB.
    pub(crate) fn egress(&self) -> &Egress {
        self.extensions().egress.get()
    }
}

impl Object {
    /// The reference `ior` as an answer of this object, or what this object handed over: rules of
    /// egress that hold for this one hold for it. What stubs read is made so.
    #[must_use]
    pub fn related(&self, ior: Ior) -> Object {
        Object::given(self.orb(), ior, self.giver().cloned())
    }

    /// The same reference, handed over by the same peer, used through another ORB of the process.
    #[must_use]
    pub fn through(&self, orb: &Orb) -> Object {
        Object::given(orb, self.ior().clone(), self.giver().cloned())
    }

    /// The reference for a store, with a note of the peer that handed it over: for
    /// [`Object::kept`] alone, and not for other ORBs.
    #[must_use]
    pub fn kept_ior(&self) -> Ior {
        let mut ior = self.ior().clone();
        // A peer may have written such a note itself.
        ior.profiles.retain(|profile| profile.tag != profile_tag::CORBIE_GIVER);
        let note = match self.giver() {
            Some(giver) => note_of(&giver.address),
            None if self.orb().egress().has_rules() => OWN.to_owned(),
            None => return ior,
        };
        let (tag, data) = (profile_tag::CORBIE_GIVER, note.into_bytes());
        ior.profiles.push(TaggedProfile { tag, data });
        ior
    }

    /// A reference that was kept as [`Object::kept_ior`] gave it. Of one without a note, from a
    /// server that had no rules of egress, it is not known which peer handed it over.
    #[must_use]
    pub fn kept(orb: &Orb, mut ior: Ior) -> Object {
        let is_note = |profile: &mut TaggedProfile| profile.tag == profile_tag::CORBIE_GIVER;
        let note = ior.profiles.extract_if(.., is_note).last();
        let note = note.and_then(|note| String::from_utf8(note.data).ok()).unwrap_or_default();
        let is_handed = note != OWN && orb.egress().has_rules();
        let giver = is_handed.then(|| {
            let unknown = || PeerAddress::Plugged("a peer that was not noted", "".into());
            Arc::new(PeerIdentity::from(address_of(&note).unwrap_or_else(unknown)))
        });
        Object::given(orb, ior, giver)
    }
}

fn note_of(address: &PeerAddress) -> String {
    match address {
        PeerAddress::Tcp(address) => format!("tcp {}", address.ip()),
        PeerAddress::Unix(process) => format!("unix {} {}", process.user, process.group),
        PeerAddress::Shm(process) => format!("shm {} {}", process.user, process.group),
        _ => String::new(),
    }
}

/// What [`note_of`] wrote; ports and processes come and go, and are not noted.
fn address_of(note: &str) -> Option<PeerAddress> {
    let (kind, rest) = note.split_once(' ')?;
    let process = || {
        let (user, group) = rest.split_once(' ')?;
        Some(PeerProcess { process: 0, user: user.parse().ok()?, group: group.parse().ok()? })
    };
    match kind {
        "tcp" => Some(PeerAddress::Tcp((rest.parse::<IpAddr>().ok()?, 0).into())),
        "unix" => Some(PeerAddress::Unix(process()?)),
        "shm" => Some(PeerAddress::Shm(process()?)),
        _ => None,
    }
}
