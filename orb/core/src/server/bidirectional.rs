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
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Hosts that are no address of any machine (RFC 6761): what a client names that listens nowhere.
const NOWHERE: &str = ".invalid";

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
    let over_tls = orb.settings().tls_protection == TlsProtection::Required;
    let endpoint = over_tls.then(tls).flatten().unwrap_or_else(|| Endpoint::tcp(&*host, 1));
    let protocol = Protocol { messages: giop::Protocol::Giop, carrier: Carrier::Iiop };
    PublishedProfile { protocol, endpoints: vec![endpoint] }
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
    connection.read_by(&*orb.server().loops.next(orb)?)
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

/// What is settled of a request that came over a connection whose ends both ask: its offer is
/// taken, if it makes one, and it is refused where it may not come so.
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
    check_target(orb, connection, request.object_key())?;
    // What is due bounds what is read, except while a reply of this end may be behind it.
    if connection.pending() > 0 && due_responses::is_full(orb, connection) {
        cut_if_flooded(orb, connection);
        return Err(minor::TRANSIENT_OVERLOAD.no(
            "as many responses are due over this connection as may be, or as much waits to be \
             taken (pending_responses_max, queued_octets_max)",
        ));
    }
    if connection.state().endpoint.is_none() && request.version() >= Version::V1_2 {
        let most = orb.settings().reference_addresses_max as usize;
        let points = request.request_contexts().listen_points(most);
        let points = points.map_err(|error| error.to_system_exception(CompletionStatus::No))?;
        if let Some((points, named)) = points {
            take(orb, connection, points, named);
        }
    }
    Ok(())
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

/// Whether the object with this key may be asked for over `connection`.
///
/// # Errors
/// `OBJ_ADAPTER` (`COMPLETED_NO`) when this ORB opened it and the object is not called back.
pub(crate) fn check_target(
    orb: &Orb,
    connection: &Connection,
    object_key: &[u8],
) -> Result<(), SystemException> {
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
    let taken = &connection.state().accepted.taken;
    let most = orb.settings().reference_addresses_max as usize;
    let peer = connection.link().identity();
    let origin = peer.address.origin();
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
        if let Err(why) = check(orb, &peer, &place) {
            not_taken(connection, &shown(), why, "access_file");
            continue;
        }
        let may_replace = |other: &Connection| other.peer().origin() == origin;
        if orb.connections().go_back(&place, connection, may_replace) {
            tracing::debug!(peer = %peer.address, host = place.host(), port, "calls go back");
            taken.places.lock().push(place);
        } else {
            not_taken(connection, &shown(), "another peer has a connection there", "");
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

/// Whether `place` is one that this peer may claim: its own address; of this machine, if it is on
/// it; what a rule of egress names for it; a place that is nowhere.
///
/// # Errors
/// Why not.
fn check(orb: &Orb, peer: &PeerIdentity, place: &Place) -> Result<(), &'static str> {
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
    if is_own || orb.egress().names(peer, address) {
        return Ok(());
    }
    Err("it is not the address that the client comes from, and no rule of egress names it")
}
