//! Ends serving: no new connections, requests under way finish, connections close in the orderly
//! way (CORBA 3.3 P1 §8.2.3, P2 §9.5.1). Also closes connections that were silent or slow too long.

use crate::Orb;
use crate::server::connection::COMPLETE;
use crate::server::{ServerConnection, listener};
use corbie_types::SystemException;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the wait for requests under way looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Starts listening; see `listener::start`.
///
/// # Errors
/// `INITIALIZE` (`COMPLETED_NO`).
pub(crate) fn start(orb: &Orb) -> Result<(), SystemException> {
    listener::start(orb)
}

/// Ends serving. With `wait_for_completion`, requests in servants are waited for, but at most for
/// `patience`.
pub(crate) fn stop(orb: &Orb, wait_for_completion: bool, patience: Duration) {
    let server = orb.server();
    if server.closing.swap(true, Ordering::AcqRel) {
        return;
    }
    server.listeners.close();
    let connections = server.registry.all();
    if wait_for_completion {
        wait_until_served(&connections, patience);
    }
    for connection in &connections {
        connection.close_orderly();
    }
    if let Some(pool) = server.pool.get() {
        pool.close();
    }
    if let Some(adapter) = server.adapter.get() {
        adapter.close();
    }
    server.object_keys.clear();
    for connection in connections {
        server.registry.remove(connection.id);
    }
}

fn wait_until_served(connections: &[Arc<ServerConnection>], patience: Duration) {
    let deadline = Instant::now() + patience;
    let busy = |c: &Arc<ServerConnection>| c.in_service.load(Ordering::Acquire) > 0;
    while connections.iter().any(busy) && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Closes connections that were silent or slow too long: called by the ORB's housekeeping once a
/// tick (a second), so the times are exact to about two.
pub(crate) fn close_silent(orb: &Orb) {
    let now = orb.tick();
    let settings = orb.settings();
    let passed = |since: u64, limit: Option<Duration>| {
        limit.is_some_and(|limit| now.saturating_sub(since) > limit.as_secs().max(1))
    };
    let is_slow = |connection: &ServerConnection| {
        let since = connection.incomplete_since.load(Ordering::Relaxed);
        since != COMPLETE && passed(since, settings.message_timeout)
    };
    let is_silent = |connection: &ServerConnection| {
        let since = connection.last_message.load(Ordering::Relaxed);
        let busy = connection.in_service.load(Ordering::Acquire) > 0;
        let has_begun = connection.has_begun.load(Ordering::Relaxed);
        let first = settings.first_octet_timeout;
        !busy && passed(since, if has_begun { settings.server_idle_timeout } else { first })
    };
    for connection in orb.server().registry.take_due(|c| is_slow(c) || is_silent(c)) {
        if is_slow(&connection) {
            tracing::warn!(peer = %connection.peer(), "connection closed: a message took too long");
            connection.close(None);
        } else {
            connection.close_orderly();
        }
    }
}
