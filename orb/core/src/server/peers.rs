//! What a server knows of a peer whatever connections it has: how many are open, and how fast it
//! opens connections and sends requests.
//!
//! `registry` keeps [`PeerRates`] for each origin (an address, a user of this machine); `listener`
//! asks them before a connection is taken in, and `due_responses` before a message is read.

use crate::server::ServerConnection;
use corbie_settings::Settings;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A peer may be this far ahead of its rate, in nanoseconds: after a quiet second it may do at once
/// what it may do in a second.
const AHEAD: u64 = 1_000_000_000;

/// What times count from.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

fn now() -> u64 {
    u64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(u64::MAX >> 1)
}

/// So many times a second.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Nanoseconds that each time takes of a second.
    each: u64,
    /// When what was done would be over, if it were done evenly.
    until: AtomicU64,
}

impl Rate {
    fn new(times_a_second: u32) -> Self {
        Rate { each: AHEAD / u64::from(times_a_second.max(1)), until: AtomicU64::new(0) }
    }

    /// It is done once more, however often it was.
    fn note(&self, now: u64) {
        let later = |until: u64| Some(until.max(now).saturating_add(self.each));
        let _ = self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// It is done once more, if it may be; whether it was.
    fn note_if_within(&self, now: u64) -> bool {
        let later = |until: u64| {
            let later = until.max(now).saturating_add(self.each);
            (later <= now.saturating_add(AHEAD)).then_some(later)
        };
        self.until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later).is_ok()
    }

    /// Whether it was done more often than it may be.
    fn is_beyond(&self, now: u64) -> bool {
        self.beyond(now) > 0
    }

    /// For how many nanoseconds it was done too often.
    fn beyond(&self, now: u64) -> u64 {
        self.until.load(Ordering::Relaxed).saturating_sub(now.saturating_add(AHEAD))
    }

    /// Whether nothing is remembered of it.
    fn rests(&self, now: u64) -> bool {
        self.until.load(Ordering::Relaxed) <= now
    }
}

/// One peer.
#[derive(Debug)]
pub(crate) struct PeerRates {
    connections: Option<Rate>,
    requests: Option<Rate>,
    passwords: Option<Rate>,
}

impl PeerRates {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(PeerRates {
            connections: settings.connection_rate_per_peer.map(Rate::new),
            requests: settings.request_rate_per_peer.map(Rate::new),
            passwords: settings.csi_checks_per_peer.map(Rate::new),
        })
    }

    /// It opens a connection; whether it may.
    pub(crate) fn may_connect(&self) -> bool {
        self.connections.as_ref().is_none_or(|rate| rate.note_if_within(now()))
    }

    /// A password of it is to be checked; whether it may be.
    pub(crate) fn may_check_password(&self) -> bool {
        self.passwords.as_ref().is_none_or(|rate| rate.note_if_within(now()))
    }

    /// Whether it is remembered only for the connections that it has open.
    pub(crate) fn rests(&self) -> bool {
        let now = now();
        let rates = [&self.connections, &self.requests, &self.passwords];
        rates.into_iter().flatten().all(|rate| rate.rests(now))
    }

    /// What its connections keep of it: nothing, where no rate is asked of its requests.
    pub(crate) fn requests(self: &Arc<Self>) -> Option<Arc<Self>> {
        self.requests.is_some().then(|| Arc::clone(self))
    }
}

/// A message of a client was read.
#[inline]
pub(crate) fn note_request(connection: &ServerConnection) {
    if let Some(peer) = &connection.state().accepted.requests_of {
        note(peer);
    }
}

#[cold]
fn note(peer: &PeerRates) {
    peer.requests.iter().for_each(|rate| rate.note(now()));
}

/// Whether the peer of `connection` has sent more than it may: no more is read until it has not.
#[inline]
pub(crate) fn is_too_fast(connection: &ServerConnection) -> bool {
    connection.state().accepted.requests_of.as_ref().is_some_and(|peer| is_beyond(peer))
}

/// How long it takes until the peer of `connection` has not sent more than it may, if it has.
pub(crate) fn too_fast_for(connection: &ServerConnection) -> Option<Duration> {
    let peer = connection.state().accepted.requests_of.as_ref()?;
    let beyond = peer.requests.as_ref().map(|rate| rate.beyond(now()))?;
    (beyond > 0).then(|| Duration::from_nanos(beyond))
}

#[cold]
fn is_beyond(peer: &PeerRates) -> bool {
    peer.requests.as_ref().is_some_and(|rate| rate.is_beyond(now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_it_may_be_done_at_once_and_then_as_much_as_time_goes_by() {
        let (rate, second) = (Rate::new(10), AHEAD);
        let begin = 5 * second;
        assert_eq!((0..50).filter(|_| rate.note_if_within(begin)).count(), 10);
        assert!(!rate.rests(begin) && rate.rests(begin + second));
        let half = begin + second / 2;
        assert_eq!((0..50).filter(|_| rate.note_if_within(half)).count(), 5);
        // What is not refused is owed.
        let owing = Rate::new(10);
        (0..30).for_each(|_| owing.note(begin));
        assert!(owing.is_beyond(begin + 2 * second - 1));
        assert!(!owing.is_beyond(begin + 2 * second));
        assert_eq!((owing.beyond(begin), owing.beyond(begin + 3 * second)), (2 * second, 0));
    }
}
