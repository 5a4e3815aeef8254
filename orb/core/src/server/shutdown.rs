//! Ends serving: no new connections, requests under way finish, connections close in the orderly
//! way (CORBA 3.3 P1 §8.2.3, P2 §9.5.1). Also closes connections that were silent or slow too long.

use crate::Orb;
use crate::neighbours;
use crate::server::held::Reason;
use crate::server::{Server, ServerConnection, due_responses};
use corbie_connection::Heard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the wait for requests under way looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// After so many looks, a second of them at least, clients that take nothing of the answers that
/// wait for them are cut off; and after so long at the latest.
const VAIN_LOOKS: u32 = 1_000;
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Clients have so long to take their last answers when all patience went by in waiting for those.
const FAREWELL: Duration = Duration::from_millis(100);

/// Ends serving. Requests in servants are waited for, but at most for `patience`, if there is any.
/// Those that remain are finished all the same, and their connections close with the last reply.
pub(crate) fn stop(orb: &Orb, patience: Option<Duration>) {
    let server = orb.server();
    if server.closing.swap(true, Ordering::AcqRel) {
        return;
    }
    neighbours::leave(orb);
    // References of this ORB look again before each call: what is closed raises an exception.
    orb.policies().note_change();
    server.listeners.close();
    server.held_queues.give_up(Reason::UntilActive);
    let connections = server.registry.all();
    let begin = Instant::now();
    let mut last_answers = begin + LAST_ANSWERS;
    if let Some(patience) = patience {
        let deadline = begin + patience;
        close_idle(orb, &connections, deadline);
        wait_for_upcalls(server, deadline);
        last_answers = deadline.max(Instant::now() + FAREWELL).min(Instant::now() + LAST_ANSWERS);
    }
    server.held_queues.give_up_all();
    for connection in &connections {
        connection.close_when_served();
    }
    let_clients_take(&connections, last_answers);
    server.loops.close();
    if let Some(stand_ins) = server.stand_ins.get() {
        stand_ins.close();
    }
    // Reply handlers of this ORB learn that no reply will come while their objects are still there.
    orb.connections().close();
    if let Some(adapter) = server.adapter.get() {
        adapter.close();
    }
    server.object_keys.clear();
    for connection in connections {
        connection.end_sending();
        server.forget(connection.state().accepted.id);
    }
}

/// Closes each connection when it has no request in service. Those with one go on until then, as
/// servants that are waited for may be called back over them.
fn close_idle(orb: &Orb, connections: &[Arc<ServerConnection>], deadline: Instant) {
    let mut open: Vec<_> = connections.iter().collect();
    loop {
        open.retain(|connection| !connection.close_if_idle());
        if open.is_empty() || Instant::now() >= deadline {
            return;
        }
        if orb.serve_as_main_thread() {
            continue;
        }
        // Of a reactive server this may be the only thread there is.
        let reactor = orb.reactor().ok().filter(|_| orb.is_driven_by_application());
        if !reactor.is_some_and(|reactor| reactor.run_once(orb, Some(LOOK_AGAIN))) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Sends what waits for clients, to those who take it.
fn let_clients_take(connections: &[Arc<ServerConnection>], end: Instant) {
    let mut open: Vec<_> = connections.iter().collect();
    let mut before = (0, 0);
    let mut vain_looks = 0;
    loop {
        let mut sent = 0_u64;
        open.retain(|connection| {
            let more = connection.send_more();
            sent = sent.wrapping_add(more.unwrap_or(0));
            more.is_some()
        });
        let now = (open.len(), sent);
        vain_looks = if now == before { vain_looks + 1 } else { 0 };
        before = now;
        if open.is_empty() || vain_looks == VAIN_LOOKS || Instant::now() >= end {
            return;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Calls of this process come over no connection.
fn wait_for_upcalls(server: &Server, deadline: Instant) {
    let is_busy = || server.adapter.get().is_some_and(|adapter| adapter.is_busy());
    while is_busy() && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Closes connections that were silent or slow too long: called by the ORB's housekeeping once a
/// tick (a second), so the times are exact to about two.
pub(crate) fn close_silent(orb: &Orb) {
    let now = orb.tick();
    let settings = orb.settings();
    let passed = |since: u64, limit: Option<Duration>| {
        // So many ticks are at least the limit, and at most two seconds more.
        let ticks = |limit: Duration| limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
        limit.is_some_and(|limit| now.saturating_sub(since) > ticks(limit))
    };
    let is_slow = |connection: &ServerConnection| {
        let activity = connection.activity();
        activity.heard() == Heard::Part && passed(activity.since(), settings.message_timeout)
    };
    let is_silent = |connection: &ServerConnection| {
        let activity = connection.activity();
        let limit = match activity.heard() {
            Heard::Nothing => settings.first_octet_timeout,
            Heard::Message => settings.server_idle_timeout,
            Heard::Part => None,
        };
        // The objects of a client may not be reached without it.
        let is_way_back = connection.has_offered() && activity.heard() == Heard::Message;
        !is_way_back
            && connection.life().in_service() == 0
            && !connection.sender().waits()
            && passed(activity.since(), limit)
    };
    let registry = &orb.server().registry;
    orb.server().held_queues.drop_orphans();
    registry.forget_peers();
    due_responses::resume(orb);
    for connection in registry.those(|c| is_slow(c) || is_silent(c)) {
        let (peer, setting) = (connection.peer(), "message_timeout");
        if is_slow(&connection) {
            tracing::warn!(%peer, setting, "connection closed: a message took too long");
            connection.cut();
        } else if !connection.close_if_idle() {
            continue; // A request came just now.
        }
        orb.server().forget(connection.state().accepted.id);
    }
}
