//! Responses that are due: how many requests were deferred, by connection and in all, and the back
//! pressure when they are too many (paper AMH §3; issue 3).
//!
//! A limit never refuses a request. It stops reading: requests then wait in the sockets, whose
//! windows fill, and the clients wait. Reading goes on when a quarter of the limit was answered. So
//! it is with a peer that sends more requests a second than it may (`peers`), until it has not.

use crate::Orb;
use crate::reactor::Turn;
use crate::server::{ServerConnection, peers};
use corbie_threads::lock::{Ranked, Signal, rank};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How often a thread that waits for responses looks whether its connection closes.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

const PAUSES: &str = "reading pauses: too many responses are due, or not taken";
const TOO_FAST: &str = "reading pauses: the peer sends more requests a second than it may";

/// The responses due of one ORB.
#[derive(Default)]
pub(crate) struct DueResponses {
    total: AtomicU32,
    paused: Ranked<rank::DueResponses, ()>,
    /// Signalled when reading may go on.
    eased: Signal,
    /// How often reading paused since a peer was too fast.
    hasty: AtomicU64,
}

impl DueResponses {
    /// How many are due.
    pub(crate) fn total(&self) -> u32 {
        self.total.load(Ordering::Relaxed)
    }

    /// How often reading paused since a peer was too fast.
    pub(crate) fn hasty(&self) -> u64 {
        self.hasty.load(Ordering::Relaxed)
    }
}

/// Below this many, reading goes on.
fn eased(limit: u32) -> u32 {
    limit - limit.div_ceil(4)
}

/// A request of `connection` was deferred.
#[inline]
pub(crate) fn begin(orb: &Orb, connection: &ServerConnection) {
    connection.life().keep();
    connection.state().accepted.deferred.fetch_add(1, Ordering::AcqRel);
    orb.server().due_responses.total.fetch_add(1, Ordering::AcqRel);
}

/// It was answered.
#[inline]
pub(crate) fn end(orb: &Orb, connection: &ServerConnection) {
    let due = &orb.server().due_responses;
    let settings = orb.settings();
    let of_connection = connection.state().accepted.deferred.fetch_sub(1, Ordering::AcqRel) - 1;
    let total = due.total.fetch_sub(1, Ordering::AcqRel) - 1;
    // The count passes through every number, so the threads that wait for room are woken.
    if of_connection == eased(settings.pending_responses_max)
        || total == eased(settings.pending_responses_total_max)
    {
        drop(due.paused.lock());
        due.eased.wake_all();
        resume(orb);
    }
    connection.end_request();
}

/// Whether a thread of its own waits until [`is_full`] does not hold any more.
pub(crate) fn is_pausing(connection: &ServerConnection) -> bool {
    connection.state().accepted.pausing.load(Ordering::Acquire) > 0
}

/// Whether so many responses are due, or so much waits for the peer to take it, that no more
/// requests of `connection` shall be read.
#[inline]
pub(crate) fn is_full(orb: &Orb, connection: &ServerConnection) -> bool {
    if connection.sender().is_over_half() || peers::is_too_fast(connection) {
        return true;
    }
    let of_connection = connection.state().accepted.deferred.load(Ordering::Acquire);
    // A connection without deferred answers of its own is not held back by those of others.
    of_connection > 0
        && (of_connection >= orb.settings().pending_responses_max
            || orb.server().due_responses.total.load(Ordering::Acquire)
                >= orb.settings().pending_responses_total_max
            || orb.server().held.is_full(orb))
}

/// Pauses reading, if [`is_full`], until enough was answered; whether it did.
#[inline]
pub(crate) fn pause_if_full(orb: &Orb, connection: &ServerConnection, turn: &Turn<'_>) -> bool {
    is_full(orb, connection) && !awaits_reply(connection) && pause(orb, connection, turn)
}

/// Whether a reply to a request of this end may be behind what the peer asks: it is read in any
/// case then, and requests beyond the limits are refused (`bidirectional`).
pub(crate) fn awaits_reply(connection: &ServerConnection) -> bool {
    connection.is_bidirectional() && connection.pending() > 0
}

/// Says why reading pauses, and with which setting.
fn say_why(orb: &Orb, connection: &ServerConnection) {
    let peer = connection.peer();
    if peers::is_too_fast(connection) {
        orb.server().due_responses.hasty.fetch_add(1, Ordering::Relaxed);
        tracing::info!(%peer, setting = "request_rate_per_peer", "{TOO_FAST}");
    } else {
        tracing::info!(%peer, setting = "pending_responses_max", "{PAUSES}");
    }
}

#[cold]
fn pause(orb: &Orb, connection: &ServerConnection, turn: &Turn<'_>) -> bool {
    say_why(orb, connection);
    connection.pause(|| turn.registration());
    // A thread that answers from here on sees the pause; what was answered before is seen now.
    (is_full(orb, connection) && !awaits_reply(connection)) || !connection.read_on()
}

/// Has `connection` read on if it was paused and may: its peer took octets.
#[inline]
pub(crate) fn resume_if_eased(orb: &Orb, connection: &ServerConnection) {
    if connection.is_paused() && !is_full(orb, connection) {
        resume(orb);
    }
}

/// Has the connections read on that were paused and may.
#[cold]
pub(crate) fn resume(orb: &Orb) {
    let is_due = |c: &ServerConnection| c.is_paused() && !is_full(orb, c);
    for connection in orb.server().registry.those(is_due) {
        connection.read_on();
    }
}

/// For the connection's own thread: waits, if [`is_full`], until reading may go on or the
/// connection closes. What waits for the peer this thread sends itself.
#[inline]
pub(crate) fn wait_for_room(orb: &Orb, connection: &Arc<ServerConnection>) {
    if may_be_full(connection) {
        wait_if_full(orb, connection);
    }
}

/// Whether [`is_full`] has to be asked: not where nothing waits, is due, or is counted.
#[inline]
fn may_be_full(connection: &ServerConnection) -> bool {
    let accepted = &connection.state().accepted;
    !connection.sender().is_idle()
        || accepted.requests_of.is_some()
        || accepted.deferred.load(Ordering::Acquire) > 0
}

#[inline(never)]
fn wait_if_full(orb: &Orb, connection: &ServerConnection) {
    if is_full(orb, connection) && !awaits_reply(connection) {
        wait(orb, connection);
    }
}

#[cold]
fn wait(orb: &Orb, connection: &ServerConnection) {
    connection.wait_until_taken();
    if !is_full(orb, connection) {
        return;
    }
    let due = &orb.server().due_responses;
    let settings = orb.settings();
    say_why(orb, connection);
    connection.activity().excuse_peer();
    let is_eased = || {
        connection.state().accepted.deferred.load(Ordering::Acquire)
            <= eased(settings.pending_responses_max)
            && !connection.sender().is_over_half()
            && !peers::is_too_fast(connection)
            && due.total.load(Ordering::Acquire) <= eased(settings.pending_responses_total_max)
    };
    // Another thread that read in the place of this one would have to wait as well.
    let pausing = &connection.state().accepted.pausing;
    pausing.fetch_add(1, Ordering::AcqRel);
    let mut guard = due.paused.lock();
    while !is_eased() && !connection.is_ending() && !awaits_reply(connection) {
        let mut time = peers::too_fast_for(connection).unwrap_or(LOOK_AGAIN);
        if connection.is_bidirectional() {
            time = time.min(LOOK_AGAIN);
        }
        guard = due.eased.wait_for(guard, time);
    }
    drop(guard);
    pausing.fetch_sub(1, Ordering::AcqRel);
}
