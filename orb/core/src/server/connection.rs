//! What the server half keeps with a connection that it accepted, and what it does with what comes
//! over it.

use crate::Orb;
use crate::connection::Connection;
use crate::reactor::Turn;
use crate::server::csi::Sessions;
use crate::server::peers::PeerRates;
use crate::server::{access, bidirectional, dispatch, due_responses, held, turn};
use corbie_connection::{Bounds, Limits};
use corbie_giop::{Incoming, OwnedMessage, Protocol};
use corbie_settings::ServerConcurrency;
use corbie_threads::connection_threads::ConnectionThreads;
use corbie_threads::reactor::Next;
use corbie_transport::{Link, Waiter};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

/// Answers of so many octets are queued whatever waits: as many as requests are due, at most
/// (`pending_responses_max`), since no more are read meanwhile.
const SMALL_OCTETS: usize = 1 << 10;

/// See the module.
#[derive(Default)]
pub(crate) struct Accepted {
    pub(crate) id: u64,
    /// The threads that serve it, where it has its own.
    pub(crate) threads: Option<Box<ConnectionThreads>>,
    /// Requests whose answer was deferred and is due; see `due_responses`.
    pub(crate) deferred: AtomicU32,
    /// Threads of its own that do not read for a while, whatever comes; see `due_responses`.
    pub(crate) pausing: AtomicU32,
    /// The places that its peer claimed, to be called there over it.
    pub(crate) taken: bidirectional::Taken,
    /// What the access rules say of its peer.
    pub(crate) access: access::OfConnection,
    /// Its peer, where there is a limit of how fast that may send requests.
    pub(crate) requests_of: Option<Arc<PeerRates>>,
    /// Its peer, for the rate of passwords.
    pub(super) peer: Option<Arc<PeerRates>>,
    /// The users of its requests, once one came.
    pub(super) sessions: OnceLock<Box<Sessions>>,
}

impl Accepted {
    /// The users of its requests.
    pub(crate) fn sessions(&self, orb: &Orb) -> &Sessions {
        self.sessions.get_or_init(|| Box::new(Sessions::new(orb)))
    }

    /// A password of the peer is to be checked; whether it may be.
    pub(crate) fn may_check_password(&self) -> bool {
        self.peer.as_ref().is_none_or(|peer| peer.may_check_password())
    }
}

/// Makes a connection of a link that was accepted.
///
/// # Errors
/// What the system says of a link that is lost.
pub(crate) fn accept(
    orb: &Orb,
    (id, peer): (u64, &Arc<PeerRates>),
    link: Link,
    protocol: Protocol,
) -> io::Result<Arc<Connection>> {
    let settings = orb.settings();
    // No receive time-out is set: the timer costs every call 0.2 µs. Silent connections are closed
    // by housekeeping, which wakes the thread that waits here.
    link.set_send_timeout(settings.message_timeout)?;
    let has_own_threads = has_own_threads(orb, &link);
    let bounds = Bounds {
        queue: Limits {
            queued_octets_max: settings.queued_octets_max,
            batch_octets: settings.batch_octets,
            small_octets: SMALL_OCTETS,
        },
        pending_requests_max: settings.pending_requests_max as usize,
    };
    let threads = has_own_threads.then(|| Box::new(ConnectionThreads::new(orb.stand_ins())));
    let requests_of = peer.requests();
    let peer = Some(Arc::clone(peer));
    let state = Accepted { id, threads, requests_of, peer, ..Accepted::default() }.into();
    let waiter = Waiter::new(orb.server_wait());
    let roles = (bidirectional::roles(orb, &link, protocol), protocol);
    let connection = Connection::new(orb, roles, link, waiter, &bounds, state);
    if has_own_threads {
        connection.note_own_threads();
    }
    Ok(connection)
}

/// Whether threads of its own serve a connection, or an event loop. What no event loop can watch
/// needs a thread, however others are served.
pub(super) fn has_own_threads(orb: &Orb, link: &Link) -> bool {
    match orb.settings().server_concurrency {
        ServerConcurrency::ThreadPerConnection => true,
        ServerConcurrency::Reactive => false,
        _ => !link.can_be_watched(),
    }
}

/// Whether this thread may read another request of `connection` now.
#[inline]
pub(crate) fn may_read(connection: &Connection, orb: &Orb, turn: &Turn<'_>) -> bool {
    if due_responses::pause_if_full(orb, connection, turn) {
        return false;
    }
    if turn::is_too_deep(orb) && !due_responses::awaits_reply(connection) {
        tracing::debug!("a request waits, as upcalls are nested nested_upcalls_max deep");
        turn.postpone();
        return false;
    }
    true
}

/// Serves what came.
#[inline]
pub(crate) fn request(
    connection: &Arc<Connection>,
    orb: &Orb,
    message: OwnedMessage,
    incoming: Incoming,
    in_hand: Option<(&mut Turn<'_>, bool)>,
) -> Next {
    let Some((in_hand, more)) = in_hand else {
        dispatch::message(orb, connection, &message, incoming, |_| {});
        drop(message);
        connection.flush_batch();
        return Next::Wait;
    };
    turn::serve(orb, connection, (message, incoming), more, in_hand)
}

/// The peer may take more.
pub(crate) fn has_room(connection: &Connection, orb: &Orb) {
    held::resume_if_eased(orb);
    due_responses::resume_if_eased(orb, connection);
}
