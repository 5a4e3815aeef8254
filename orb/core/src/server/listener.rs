//! Accepts connections, within the limit, and gives each to the concurrency strategy.
//!
//! One thread for each endpoint listened on. A lack of descriptors is a thing of the moment: the
//! thread pauses and goes on (invariant 9 of `ARCHITECTURE.md`).

use crate::Orb;
use crate::neighbours;
use crate::server::connection::accept;
use crate::server::listening::{self, Listening};
use crate::server::{Adapter, ServerConnection, bidirectional, panic, turn};
use corbie_giop::Protocol;
use corbie_settings::{ServerConcurrency, WhenFull};
use corbie_transport::{Link, PeerOrigin};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The pause after an accept that failed for want of something.
const PAUSE: Duration = Duration::from_millis(50);
/// How often a listener that has no place for a connection looks again whether it is closing.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Listens on every configured endpoint for requests to `adapter`, and starts accepting.
///
/// # Errors
/// `INITIALIZE` (`COMPLETED_NO`) when an endpoint cannot be listened on, `BAD_INV_ORDER` when there
/// is an adapter already.
pub(crate) fn start(orb: &Orb, adapter: Arc<dyn Adapter>) -> Result<(), SystemException> {
    let listeners = &orb.server().listeners;
    let mut listening = listeners.lock();
    if listeners.published().is_some() {
        let text = "the ORB has an object adapter already";
        return Err(minor::BAD_INV_ORDER_ADAPTER_EXISTS.no(text));
    }
    // Shutdown closes the acceptors that it finds under this lock.
    if orb.server().closing.load(Ordering::Acquire) {
        return Err(orb.already_shut_down("listening"));
    }
    panic::note_places();
    // All or none: a later attempt finds nothing half done.
    let opened = listening::open_all(orb)?;
    let _ = orb.server().adapter.set(adapter);
    let (mut published, warnings) = listening::to_publish(orb.settings(), &opened);
    if opened.is_empty() {
        published.push(bidirectional::nowhere(orb));
    }
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    listening.extend(opened);
    let listened = listening::listened(orb.settings(), &published, &listening);
    listeners.publish(published);
    turn::start(orb).map_err(|error| cannot_start(&"with the threads it needs", &error))?;
    neighbours::enter(orb, listened);
    listening.iter().try_for_each(|one| listen(orb, one))
}

/// Accepts what comes to `one`, in a thread or in the event loop.
fn listen(orb: &Orb, one: &Arc<Listening>) -> Result<(), SystemException> {
    let settings = orb.settings();
    let (orb_id, server_id) = (&*settings.orb_id, &*settings.server_id);
    let endpoint = one.acceptor.endpoint();
    tracing::info!(%endpoint, orb_id, server_id, "listening");
    if settings.server_concurrency == ServerConcurrency::Reactive {
        return turn::listen(orb, one);
    }
    let thread = std::thread::Builder::new().name("corbie-listener".to_owned());
    let (orb, one) = (orb.clone(), Arc::clone(one));
    let started = thread.spawn(move || accept_all(&orb, &one));
    started.map(drop).map_err(|error| cannot_start(&endpoint, &error))
}

pub(crate) fn cannot_start(
    what: &dyn std::fmt::Display,
    error: &std::io::Error,
) -> SystemException {
    SystemException::initialize(minor::INITIALIZE_LISTEN, CompletionStatus::No)
        .with_detail(format!("cannot start serving {what}: {error}"))
}

fn accept_all(orb: &Orb, one: &Listening) {
    let closing = || orb.server().closing.load(Ordering::Acquire);
    while !closing() {
        if orb.settings().when_full == WhenFull::Wait && !wait_for_a_place(orb) {
            continue;
        }
        match one.acceptor.accept() {
            Ok(link) => {
                // The place may have gone to a connection of another endpoint meanwhile.
                while orb.settings().when_full == WhenFull::Wait && !closing() {
                    if wait_for_a_place(orb) {
                        break;
                    }
                }
                admit(orb, link, one.protocol.messages);
            }
            Err(_) if closing() => {}
            Err(error) => {
                tracing::warn!(endpoint = %one.acceptor.endpoint(), %error, "accept failed");
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Whether one more connection may be open.
pub(crate) fn has_place(orb: &Orb) -> bool {
    orb.server().registry.len() < orb.settings().server_connections_max as usize
}

fn wait_for_a_place(orb: &Orb) -> bool {
    let most = orb.settings().server_connections_max as usize;
    orb.server().registry.wait_below(most, LOOK_AGAIN)
}

/// Takes the connection in, if there is a place for it.
pub(crate) fn admit(orb: &Orb, link: Link, protocol: Protocol) {
    let registry = &orb.server().registry;
    let peer = link.peer();
    let known = registry.peer(orb, &peer.origin());
    if !known.may_connect() {
        orb.server().hasty_connections.fetch_add(1, Ordering::Relaxed);
        let setting = "connection_rate_per_peer";
        tracing::warn!(%peer, setting, "connection refused: the peer opens too many a second");
        link.shutdown();
        return;
    }
    if let Err(setting) = make_place(orb, &peer.origin()) {
        orb.server().refused_connections.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%peer, setting, "connection refused: as many are open as may be");
        link.shutdown();
        return;
    }
    let connection = match accept(orb, (registry.next_id(), &known), link, protocol) {
        Ok(connection) => connection,
        Err(error) => return tracing::debug!(%peer, %error, "connection lost at once"),
    };
    tracing::debug!(%peer, "connection accepted");
    registry.insert(orb, Arc::clone(&connection));
    // Shutdown closes what it finds in the registry; what came later sees that it came too late.
    if orb.server().closing.load(Ordering::Acquire) {
        connection.close_when_served();
        return orb.server().forget(connection.state().accepted.id);
    }
    if let Err(error) = serve(orb, &connection) {
        tracing::warn!(%peer, %error, "connection cannot be watched");
        orb.server().forget(connection.state().accepted.id);
    }
}

/// Has `connection` served: by threads of its own, or in an event loop.
fn serve(orb: &Orb, connection: &Arc<ServerConnection>) -> std::io::Result<()> {
    if turn::begin(orb, connection) {
        return Ok(());
    }
    connection.read_by(&*orb.server().loops.next(orb)?)
}

/// Has a place for one more connection of this peer, if one can be had: else the setting that has
/// none.
fn make_place(orb: &Orb, origin: &PeerOrigin) -> Result<(), &'static str> {
    let settings = orb.settings();
    let (open, own) = orb.server().registry.count(origin);
    let may_close = settings.when_full == WhenFull::CloseIdle;
    if own >= settings.connections_per_peer_max as usize {
        let setting = "connections_per_peer_max";
        let has_place = may_close && evict(orb, Some(origin), setting);
        return has_place.then_some(()).ok_or(setting);
    }
    let most = settings.server_connections_max as usize;
    // The last places are for peers that have none yet.
    let has_others = own > 0 && settings.when_full != WhenFull::Wait;
    let reserve = if has_others { most / 16 } else { 0 };
    let setting = "server_connections_max";
    let has_place = open < most - reserve || (may_close && evict(orb, None, setting));
    has_place.then_some(()).ok_or(setting)
}

/// Closes a connection of the peer `of`, or of the one that has most: the one that was silent
/// longest of those with nothing under way, else of those that only wait for deferred answers. Of
/// other peers one with nothing under way is closed, if there is no other. `setting` is the limit
/// that is reached. Whether there was one.
fn evict(orb: &Orb, of: Option<&PeerOrigin>, setting: &'static str) -> bool {
    let registry = &orb.server().registry;
    let peer = of.cloned().or_else(|| registry.largest());
    let is_of = |c: &&Arc<ServerConnection>| Some(c.peer().origin()) == peer;
    let mut connections = registry.accepted();
    // Of those that were last heard of in the same second, the one opened first.
    connections.sort_by_cached_key(|c| (c.activity().since(), c.state().accepted.id));
    let own = || connections.iter().filter(is_of);
    let idle = own().find(|c| c.close_if_idle());
    let found = idle.or_else(|| own().find(|c| close_if_waiting(c))).or_else(|| {
        let mut others = connections.iter().filter(|_| of.is_none());
        others.find(|c| c.close_if_idle())
    });
    let Some(found) = found else { return false };
    orb.server().evicted_connections.fetch_add(1, Ordering::Relaxed);
    tracing::info!(peer = %found.peer(), setting, "connection closed to make room for another");
    orb.server().forget(found.state().accepted.id);
    true
}

/// Closes a connection whose requests were all deferred, and none is answered; whether it did. The
/// client is told that they were not served.
fn close_if_waiting(connection: &ServerConnection) -> bool {
    let deferred = connection.state().accepted.deferred.load(Ordering::Acquire);
    let waits = deferred > 0 && deferred == connection.life().in_service();
    if waits && !connection.sender().waits() {
        connection.close_unserved();
        return true;
    }
    false
}
