//! Peers that take nothing of what waits for them are cut when `message_timeout` is over: not
//! sooner, and no later than the thread of the housekeeping gets a processor.
//!
//! A connection comes in here when something begins to wait for its peer, and is looked at when the
//! time of that is over. If the peer has taken something meanwhile, the time begins anew then. The
//! thread that waits here sleeps no longer than `message_timeout`, so what comes in while it sleeps
//! is due after it has woken, and no thread has to wake it.

use crate::Orb;
use crate::server::ServerConnection;
use corbie_connection::Taking;
use corbie_threads::lock::{Ranked, rank};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The connections whose peers have to take something, by when they are looked at. Only their
/// numbers are kept, so a connection that has gone leaves no more than its number until then.
#[derive(Default)]
pub(crate) struct Untaken(Ranked<rank::Leaf, Agenda<u64>>);

/// What is to be done when, in the order of the times.
struct Agenda<T> {
    due: BTreeMap<(Instant, u64), T>,
    /// Tells apart what is due at the same time.
    count: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { due: BTreeMap::new(), count: 0 }
    }
}

impl<T> Agenda<T> {
    fn add(&mut self, at: Instant, what: T) {
        self.count += 1;
        self.due.insert((at, self.count), what);
    }

    fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    fn take_due(&mut self, now: Instant) -> Option<T> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= now);
        first.map(|first| first.remove())
    }
}

/// What becomes of a connection that was looked at.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Cut,
    LookAgain(Instant),
    Forget,
}

fn judge(taking: Taking, now: Instant, timeout: Duration) -> Verdict {
    match taking {
        Taking::Freely => Verdict::Forget,
        // If it is not taken, its time begins after this look.
        Taking::Soon => Verdict::LookAgain(now + timeout),
        Taking::NothingSince(since) if since + timeout <= now => Verdict::Cut,
        Taking::NothingSince(since) => Verdict::LookAgain(since + timeout),
    }
}

/// Until when a thread sleeps that looks `now` and whose sleep ends at `end`.
fn sleep_until(now: Instant, end: Instant, timeout: Duration, next: Option<Instant>) -> Instant {
    next.into_iter().fold(end.min(now + timeout), Instant::min)
}

/// Something begins to wait for the peer of `connection`.
#[cold]
pub(crate) fn has_to_take(connection: &ServerConnection, orb: &Orb) {
    let Some(timeout) = orb.settings().message_timeout else { return };
    let at = Instant::now() + timeout;
    orb.server().untaken.0.lock().add(at, connection.state().accepted.id);
}

/// Cuts peers whose time is over, until `end`; `false` when the ORB is shut down before.
pub(crate) fn cut_those_that_take_nothing(orb: &Orb, end: Instant) -> bool {
    let Some(timeout) = orb.settings().message_timeout else {
        return !orb.wait_for_shutdown(end.saturating_duration_since(Instant::now()));
    };
    let agenda = &orb.server().untaken.0;
    loop {
        let now = Instant::now();
        if now >= end {
            return true;
        }
        let until = sleep_until(now, end, timeout, agenda.lock().next());
        if orb.wait_for_shutdown(until.saturating_duration_since(now)) {
            return false;
        }
        let now = Instant::now();
        loop {
            let due = agenda.lock().take_due(now);
            let Some(due) = due else { break };
            let Some(connection) = orb.server().registry.get(due) else { continue };
            match judge(connection.taking(), now, timeout) {
                Verdict::Cut => cut(orb, &connection),
                Verdict::LookAgain(at) => agenda.lock().add(at, due),
                Verdict::Forget => {}
            }
        }
    }
}

fn cut(orb: &Orb, connection: &ServerConnection) {
    let (peer, setting) = (connection.peer(), "message_timeout");
    let why = "connection closed: replies could not be sent, the peer took none";
    tracing::warn!(%peer, setting, "{why}");
    connection.cut();
    orb.server().forget(connection.state().accepted.id);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A peer in virtual time: when something begins to wait for it, and when it takes a part.
    struct Peer {
        waits_from: Instant,
        takes: Vec<Instant>,
        ends: Option<Instant>,
    }

    impl Peer {
        fn taking(&self, now: Instant) -> Taking {
            if now < self.waits_from || self.ends.is_some_and(|end| end <= now) {
                return Taking::Freely;
            }
            let last = self.takes.iter().filter(|at| **at <= now).max();
            Taking::NothingSince(*last.unwrap_or(&self.waits_from))
        }
    }

    /// When the peer is cut, with ticks of a second, if the threads run when they are to.
    fn cut_at(begin: Instant, peer: &Peer, timeout: Duration) -> Option<Instant> {
        let mut agenda = Agenda::default();
        let (mut now, mut is_known) = (begin, false);
        let last = begin + 3 * timeout + 60_000 * MS;
        while now < last {
            let end = now + 1000 * MS;
            while now < end {
                let until = sleep_until(now, end, timeout, agenda.next());
                // What begins while the thread sleeps comes in without waking it.
                if !is_known && peer.waits_from <= until {
                    agenda.add(peer.waits_from + timeout, ());
                    is_known = true;
                }
                now = until;
                while agenda.take_due(now).is_some() {
                    match judge(peer.taking(now), now, timeout) {
                        Verdict::Cut => return Some(now),
                        Verdict::LookAgain(at) => agenda.add(at, ()),
                        Verdict::Forget => {}
                    }
                }
            }
        }
        None
    }

    #[test]
    fn a_peer_that_takes_nothing_is_cut_when_its_time_is_over_whatever_that_is() {
        let begin = Instant::now();
        for timeout in [1, 20, 500, 999, 1000, 1001, 4000, 60_000].map(|ms| ms * MS) {
            for offset in [0, 1, 333, 700, 999, 1000, 1234, 5678].map(|ms| ms * MS) {
                let waits_from = begin + offset;
                let mut peer = Peer { waits_from, takes: Vec::new(), ends: None };
                assert_eq!(cut_at(begin, &peer, timeout), Some(waits_from + timeout));
                // Its time begins anew with each octet.
                peer.takes = (1..4).map(|n| waits_from + n * timeout / 2).collect();
                let last = waits_from + 3 * timeout / 2;
                assert_eq!(cut_at(begin, &peer, timeout), Some(last + timeout));
                peer.ends = Some(last + timeout / 2);
                assert_eq!(cut_at(begin, &peer, timeout), None);
            }
        }
    }

    #[test]
    fn what_a_thread_sends_now_has_its_time_from_then_on() {
        let (now, timeout) = (Instant::now(), 500 * MS);
        assert_eq!(judge(Taking::Soon, now, timeout), Verdict::LookAgain(now + timeout));
    }
}
