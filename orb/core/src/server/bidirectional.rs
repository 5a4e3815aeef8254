//! Bidirectional GIOP: requests over a connection from the end that did not open it (CORBA 3.3 P2
//! §9.8).
//!
//! A client whose ORB has the `BidirectionalPolicy` `BOTH`, and a POA with it, *offers* the
//! connections that it opens: the first request names the places where its references say that it
//! listens. A server with that policy *takes* an offer: calls to those places go over the
//! connection, and none is opened. Both ends decide when a connection is made whether it may become
//! so ([`roles`], [`Orb::offer_connections`]); what comes over one passes [`admit`].
//!
//! A client could name the place of another and be sent its call-backs. So a place is taken only
//! when it is the client's own ([`check`]), and none that an open connection of another peer has.

use crate::Orb;
use crate::connection::Connection;
use crate::profile::{Carrier, Protocol, is_plain, is_tls};
use crate::server::listening::PublishedProfile;
use crate::server::peers::PeerRates;
use crate::server::{Accepted, ServerRequest, due_responses, turn};
use corbie_cdr::{ByteOrder, CodeSets, Version};
use corbie_connection::Place;
use corbie_giop::{self as giop, ListenPoint, ListenPoints, Roles};
use corbie_settings::{Bidirectional, TlsProtection};
use corbie_threads::connection_threads::ConnectionThreads;
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{Endpoint, Link, PeerIdentity, SSLIOP};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Hosts that are no address of any machine (RFC 6761): what a client names that listens nowhere.
const NOWHERE: &str = ".invalid";

/// So many names that are nowhere are remembered with their owners.
const REMEMBERED: usize = 16_384;

/// So many times `queued_octets_max` may wait for a peer that asks while a reply of it is awaited.
const REFUSALS: usize = 4;

/// What an ORB offers.
#[derive(Default)]
pub(crate) struct Offers {
    /// There is, or was, a POA with the policy.
    are_made: AtomicBool,
    /// Where this ORB listens, for connections over TCP.
    plain: OnceLock<Option<ListenPoints>>,
    /// The same for connections over TLS.
    tls: OnceLock<Option<ListenPoints>>,
    /// Which address a name that is nowhere belongs to.
    owners: Ranked<rank::Leaf, HashMap<String, IpAddr>>,
}

/// What is taken of the offers that came over one connection.
#[derive(Default)]
pub(crate) struct Taken {
    places: Ranked<rank::Leaf, Vec<Place>>,
    /// The log has a line of a place that was not taken.
    is_told: AtomicBool,
}

impl Orb {
    /// From now on this ORB offers the connections that it opens, if its `BidirectionalPolicy` is
    /// `BOTH`. Called by the object adapter before it serves an object that is called back so.
    pub fn offer_connections(&self) {
        let offers = &self.server().offers;
        let is_on = self.settings().bidirectional == Bidirectional::Both;
        if is_on && !offers.are_made.swap(true, Ordering::AcqRel) {
            self.connections().offer();
        }
    }
}

/// What this end does over a connection that it accepted.
pub(crate) fn roles(orb: &Orb, link: &Link, protocol: giop::Protocol) -> Roles {
    let is_on = orb.settings().bidirectional == Bidirectional::Both;
    let is_iiop = protocol == giop::Protocol::Giop && (link.is_plain() || link.is_encrypted());
    if is_on && is_iiop { Roles::both(false) } else { Roles::SERVER }
}

/// What the first request of GIOP 1.2 over `connection` tells the server: where this ORB listens.
/// `None`: it was told, or the connection is not offered.
#[inline]
pub(crate) fn to_offer<'o>(
    orb: &'o Orb,
    connection: &Connection,
    version: Version,
) -> Option<&'o ListenPoints> {
    if !connection.is_bidirectional() { None } else { points(orb, connection, version) }
}

#[cold]
fn points<'o>(orb: &'o Orb, connection: &Connection, version: Version) -> Option<&'o ListenPoints> {
    let is_ours = connection.state().endpoint.is_some();
    if !is_ours || version < Version::V1_2 || connection.has_offered() {
        return None;
    }
    // Not before it is known where.
    let published = orb.server().published()?;
    let offers = &orb.server().offers;
    let (points, is_wanted): (_, fn(&Endpoint) -> bool) = match connection.link().is_encrypted() {
        true => (&offers.tls, is_tls),
        false => (&offers.plain, is_plain),
    };
    points.get_or_init(|| listen_points(published, is_wanted)).as_ref()
}

fn listen_points(
    published: &[PublishedProfile],
    is_wanted: fn(&Endpoint) -> bool,
) -> Option<ListenPoints> {
    let iiop = Protocol { messages: giop::Protocol::Giop, carrier: Carrier::Iiop };
    let profiles = published.iter().filter(|profile| profile.protocol == iiop);
    let endpoints = profiles.flat_map(|profile| &profile.endpoints).filter(|one| is_wanted(one));
    let points: Vec<_> = endpoints
        .filter_map(Place::of)
        .map(|place| ListenPoint { host: place.host().to_owned(), port: place.port() })
        .collect();
    // A host that cannot be written stands in no reference, either.
    if points.is_empty() { None } else { ListenPoints::new(&points, ByteOrder::NATIVE).ok() }
}

/// What references carry of an ORB that listens nowhere: a place that is never connected to, and
/// that no other process has.
pub(crate) fn nowhere(orb: &Orb) -> PublishedProfile {
    let number = || RandomState::new().hash_one(std::process::id());
    let host = format!("{:016x}{:016x}{NOWHERE}", number(), number());
    let tls = || orb.transports().endpoint(SSLIOP, &format!("{host}:1")).map(Endpoint::Plugged);
    let protection = orb.settings().tls_protection;
    let plain = (protection != TlsProtection::Required).then(|| Endpoint::tcp(&*host, 1));
    // A server whose connections are of TLS calls back over TLS, if this process can use that.
    let speaks_tls =
        orb.transports().by_scheme(SSLIOP).is_some_and(|tls| tls.check_client().is_ok());
    let is_wanted = speaks_tls && protection != TlsProtection::Forbidden;
    let tls = is_wanted.then(tls).flatten();
    let protocol = Protocol { messages: giop::Protocol::Giop, carrier: Carrier::Iiop };
    PublishedProfile { protocol, endpoints: plain.into_iter().chain(tls).collect() }
}

/// Whether an endpoint is one that [`nowhere`] made, here or in another process.
pub(crate) fn is_nowhere(endpoint: &Endpoint) -> bool {
    Place::of(endpoint).is_some_and(|place| place.host().ends_with(NOWHERE))
}

/// What the server half keeps with a connection that this ORB opened and offers.
pub(crate) fn opened(orb: &Orb, link: &Link) -> Accepted {
    let has_own_threads = super::connection::has_own_threads(orb, link);
    let threads = has_own_threads.then(|| Box::new(ConnectionThreads::new(orb.stand_ins())));
    let (id, peer) = (orb.server().registry.next_id(), Some(PeerRates::new(orb.settings())));
    Accepted { id, threads, peer, ..Accepted::default() }
}

/// Has a connection that this ORB opened and offers served as those that it accepted.
///
/// # Errors
/// What the system says when there is no event loop for it.
pub(crate) fn serve(orb: &Orb, connection: &Arc<Connection>) -> io::Result<()> {
    if connection.state().accepted.threads.is_some() {
        connection.note_own_threads();
    }
    orb.server().registry.insert_opened(Arc::clone(connection));
    if orb.server().closing.load(Ordering::Acquire) {
        orb.server().forget(connection.state().accepted.id);
        return Err(io::ErrorKind::NotConnected.into());
    }
    if turn::begin(orb, connection) {
        return Ok(());
    }
    let read = orb.server().loops.next(orb).and_then(|reactor| connection.read_by(&reactor));
    read.inspect_err(|_| orb.server().forget(connection.state().accepted.id))
}

/// The client has told the code sets of `connection`, which are those of both ways. An end that has
/// told its own goes on with these.
pub(crate) fn note_code_sets(connection: &Connection, code_sets: CodeSets) {
    if connection.is_bidirectional() {
        if connection.state().endpoint.is_some() && connection.has_announced() {
            return;
        }
        connection.note_announced();
    }
    connection.state().code_sets.set(code_sets);
}

/// Whether a request may come over a connection whose ends both ask.
///
/// # Errors
/// `OBJ_ADAPTER` (`COMPLETED_NO`) when this ORB opened the connection and the object is not called
/// back; `TRANSIENT` (`COMPLETED_NO`) when it was read only because a reply had to be.
#[cold]
pub(crate) fn admit(
    orb: &Orb,
    connection: &Arc<Connection>,
    request: &ServerRequest<'_>,
) -> Result<(), SystemException> {
    check_target(orb, connection, request.object_key())
}

/// Takes the offer that came with a request, which its peer may make.
///
/// # Errors
/// `MARSHAL` (`COMPLETED_NO`) when it cannot be read.
#[cold]
pub(crate) fn take_offer(
    orb: &Orb,
    connection: &Arc<Connection>,
    request: &ServerRequest<'_>,
) -> Result<(), SystemException> {
    if connection.state().endpoint.is_none() && request.arguments().version() >= Version::V1_2 {
        let most = orb.settings().reference_addresses_max as usize;
        let points = request.request_contexts().listen_points(most);
        let points = points.map_err(|error| error.to_system_exception(CompletionStatus::No))?;
        if let Some((points, named)) = points {
            take(orb, connection, points, named);
        }
    }
    Ok(())
}

/// What is due bounds what is read, except while a reply of this end may be behind it: what comes
/// beyond the limits is refused then.
///
/// # Errors
/// `TRANSIENT` (`COMPLETED_NO`).
fn check_limits(orb: &Orb, connection: &Connection) -> Result<(), SystemException> {
    let is_beyond = || due_responses::is_full(orb, connection) || turn::is_too_deep(orb);
    if connection.pending() == 0 || !is_beyond() {
        return Ok(());
    }
    cut_if_flooded(orb, connection);
    Err(minor::TRANSIENT_OVERLOAD.no(
        "as many responses are due over this connection as may be, as much waits to be taken, the \
         peer asks too fast, or upcalls are nested too deep (pending_responses_max, \
         queued_octets_max, request_rate_per_peer, nested_upcalls_max)",
    ))
}

/// Even refusals wait for a peer that takes nothing: one that goes on asking is cut.
fn cut_if_flooded(orb: &Orb, connection: &Connection) {
    let most = orb.settings().queued_octets_max.saturating_mul(REFUSALS);
    if connection.sender().waiting() > most {
        let (peer, setting) = (connection.peer(), "queued_octets_max");
        tracing::warn!(%peer, setting, "connection closed: the peer asks, and takes no answers");
        connection.cut();
    }
}

/// Whether the object with this key may be asked for over `connection`, and now.
///
/// # Errors
/// `TRANSIENT` (`COMPLETED_NO`) beyond the limits of a connection that is read for its replies;
/// `OBJ_ADAPTER` (`COMPLETED_NO`) when this ORB opened it and the object is not called back.
pub(crate) fn check_target(
    orb: &Orb,
    connection: &Connection,
    object_key: &[u8],
) -> Result<(), SystemException> {
    if connection.is_bidirectional() {
        check_limits(orb, connection)?;
    }
    if connection.state().endpoint.is_none() {
        return Ok(());
    }
    let adapter = orb.server().adapter.get();
    if adapter.is_some_and(|adapter| adapter.takes_call_backs(object_key)) {
        return Ok(());
    }
    Err(minor::OBJ_ADAPTER_NOT_BIDIRECTIONAL.no(
        "the request came over a connection that this process opened, and the POA of its object, \
         if there is one, has not the BidirectionalPolicy BOTH",
    ))
}

/// Has calls to the places that the client names go over `connection`.
fn take(orb: &Orb, connection: &Arc<Connection>, points: Vec<ListenPoint>, named: usize) {
    let (taken, offers) = (&connection.state().accepted.taken, &orb.server().offers);
    let most = orb.settings().reference_addresses_max as usize;
    let peer = connection.link().identity();
    let address = peer.address.ip();
    let is_encrypted = connection.link().is_encrypted();
    if named > points.len() {
        not_taken(connection, &format!("{named} places"), "there are too many", TOO_MANY);
    }
    for ListenPoint { host, port } in points {
        let place = Place::new(&host, port, is_encrypted);
        if taken.places.lock().contains(&place) {
            continue;
        }
        let shown = || format!("{}:{port}", host.escape_debug().take(128).collect::<String>());
        if taken.places.lock().len() >= most {
            return not_taken(connection, &shown(), "there are too many", TOO_MANY);
        }
        let checked = check(orb, &peer, &place, is_encrypted);
        if let Err(why) = checked.and_then(|()| offers.keep_name(orb, &place, address)) {
            not_taken(connection, &shown(), why, "");
            continue;
        }
        let may_replace = |other: &Connection| other.peer().ip() == address;
        if orb.connections().go_back(&place, connection, may_replace) {
            tracing::debug!(peer = %peer.address, host = place.host(), port, "calls go back");
            connection.note_offered();
            taken.places.lock().push(place);
        } else {
            let why = "another peer, or this server itself, has a connection there";
            not_taken(connection, &shown(), why, "");
        }
    }
}

/// The setting that bounds how many places are taken over one connection.
const TOO_MANY: &str = "reference_addresses_max";

/// Says so, once for each connection.
fn not_taken(connection: &Connection, place: &str, why: &str, setting: &str) {
    if !connection.state().accepted.taken.is_told.swap(true, Ordering::Relaxed) {
        let peer = connection.peer();
        tracing::warn!(
            %peer,
            place,
            setting,
            "calls do not go over the connection of a client to a place that it names: {why}"
        );
    }
}

impl Offers {
    /// A name that is nowhere belongs to the address that claims it first, also when its connection
    /// has gone.
    ///
    /// # Errors
    /// It belongs to another one.
    fn keep_name(
        &self,
        orb: &Orb,
        place: &Place,
        address: Option<IpAddr>,
    ) -> Result<(), &'static str> {
        let Some(address) = address.filter(|_| place.host().ends_with(NOWHERE)) else {
            return Ok(());
        };
        let mut owners = self.owners.lock();
        if let Some(owner) = owners.get(place.host()) {
            let is_own = *owner == address;
            return is_own.then_some(()).ok_or("another peer has claimed this name");
        }
        if owners.len() >= REMEMBERED {
            drop(owners);
            let names: Vec<String> = self.owners.lock().keys().cloned().collect();
            let is_gone = |name: &String| {
                let is_open = |tls| orb.connections().back(&Place::new(name, 1, tls)).is_some();
                !is_open(false) && !is_open(true)
            };
            let gone: Vec<String> = names.into_iter().filter(is_gone).collect();
            owners = self.owners.lock();
            owners.retain(|name, _| !gone.contains(name));
        }
        if owners.len() >= REMEMBERED {
            return Err("too many names are claimed");
        }
        owners.insert(place.host().to_owned(), address);
        Ok(())
    }
}

/// Whether `place` is one that this peer may claim: its own address; of this machine, if it is on
/// it; a place that is nowhere. Over TLS its certificate names the host, as for a connection that
/// this process opens.
///
/// # Errors
/// Why not.
fn check(
    orb: &Orb,
    peer: &PeerIdentity,
    place: &Place,
    is_encrypted: bool,
) -> Result<(), &'static str> {
    if is_encrypted && !orb.settings().tls_any_host {
        let names = peer.certificate.as_ref().map(|certificate| &certificate.names);
        let Some(names) = names else { return Err("the client has shown no certificate") };
        let is_named = |name: &String| name.eq_ignore_ascii_case(place.host());
        if !place.host().ends_with(NOWHERE) && !names.iter().any(is_named) {
            return Err("the certificate of the client does not name the host");
        }
    }
    let Some(own) = peer.address.ip().map(|address| address.to_canonical()) else {
        return Err("the address of the client is not known");
    };
    let published = orb.server().published().unwrap_or_default();
    let mut endpoints = published.iter().flat_map(|profile| &profile.endpoints);
    if endpoints.any(|one| Place::of(one).as_ref() == Some(place)) {
        return Err("this server itself listens there");
    }
    if place.port() == 0 {
        return Err("0 is no port");
    }
    let Ok(address) = place.host().parse::<IpAddr>() else {
        let is_here = own.is_loopback() && place.host() == "localhost";
        let is_own = is_here || place.host().ends_with(NOWHERE);
        return is_own.then_some(()).ok_or("names are not looked up: let it publish its address");
    };
    let is_own = address == own || (address.is_loopback() && own.is_loopback());
    is_own.then_some(()).ok_or("it is not the address that the client comes from")
}
