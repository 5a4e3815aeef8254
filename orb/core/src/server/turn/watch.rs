//! The watch: looks every 20 ms for connections with threads of their own where requests wait
//! behind upcalls, and sees to it that another thread reads them. It sleeps while no requests come,
//! and looks at connections only that have upcalls, or had some a moment ago.
//!
//! Each connection that is behind at a look counts in `Orb::statistics`; the log has a line of each
//! kind once a minute.

use super::per_connection;
use crate::Orb;
use crate::server::{ServerConnection, due_responses};
use corbie_threads::connection_threads::{Finding, StandIns};
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::lookout::{Duty, Lookout};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The watch sleeps when no upcall was seen for a second.
const DUTY: Duty = Duty { thread: "corbie-watch", tick: Duration::from_millis(20), idle_ticks: 50 };

impl Orb {
    /// The stand-ins of this ORB, and their watch.
    pub(in crate::server) fn stand_ins(&self) -> Arc<StandIns> {
        let made = || {
            let (weak, said) = (self.downgrade(), Said::default());
            let look = move || Orb::upgrade(&weak).is_some_and(|orb| look(&orb, &said));
            Arc::new(StandIns::new(self.settings().pool_threads_max, Lookout::new(DUTY, look)))
        };
        Arc::clone(self.server().stand_ins.get_or_init(made))
    }
}

/// Between two lines of one kind.
const BETWEEN: Duration = Duration::from_secs(60);

/// When the watch said something last: that another thread reads, and that none may.
#[derive(Default)]
struct Said {
    relieved: Ranked<rank::Leaf, Option<Instant>>,
    stuck: Ranked<rank::Leaf, Option<Instant>>,
}

/// Whether it was not said within the minute; it is said now.
fn is_news(said: &Ranked<rank::Leaf, Option<Instant>>, now: Instant) -> bool {
    let mut said = said.lock();
    let is_news = said.is_none_or(|last| now.saturating_duration_since(last) >= BETWEEN);
    if is_news {
        *said = Some(now);
    }
    is_news
}

impl Said {
    /// Says that requests of `connection` wait, and which setting lets more threads serve them.
    fn say(&self, connection: &ServerConnection, may_start: bool) {
        let (setting, now) = ("pool_threads_max", Instant::now());
        if may_start && is_news(&self.relieved, now) {
            let peer = connection.peer();
            let why = "requests wait behind a long upcall: another thread reads";
            tracing::info!(%peer, setting, "{why}");
        } else if !may_start && is_news(&self.stuck, now) {
            let peer = connection.peer();
            let why = "requests wait behind long upcalls: as many threads serve as may be";
            tracing::warn!(%peer, setting, "{why}");
        }
    }
}

/// The connections that the watch looks at: those that began an upcall since it last found nothing
/// there. So a look costs what is running, however many connections rest.
#[derive(Default)]
pub(crate) struct InUpcalls(Ranked<rank::Leaf, Lists>);

#[derive(Default)]
struct Lists {
    listed: Vec<Arc<ServerConnection>>,
    /// Empty: memory for the next look.
    spare: Vec<Arc<ServerConnection>>,
}

impl InUpcalls {
    /// Takes the list out, to look without the lock.
    fn take(&self) -> Vec<Arc<ServerConnection>> {
        let mut lists = self.0.lock();
        let spare = std::mem::take(&mut lists.spare);
        std::mem::replace(&mut lists.listed, spare)
    }

    /// Puts it back, with those that were listed meanwhile.
    fn put_back(&self, mut watched: Vec<Arc<ServerConnection>>) {
        let mut lists = self.0.lock();
        watched.append(&mut lists.listed);
        lists.spare = std::mem::replace(&mut lists.listed, watched);
    }
}

/// The watch looks at `connection` from now on.
pub(super) fn list(orb: &Orb, connection: &Arc<ServerConnection>) {
    orb.server().in_upcalls.0.lock().listed.push(Arc::clone(connection));
}

/// Whether upcalls are under way.
fn look(orb: &Orb, said: &Said) -> bool {
    let mut watched = orb.server().in_upcalls.take();
    watched.retain(|connection| match look_at(orb, connection) {
        Finding::Quiet => !rests(orb, connection),
        Finding::InUpcall => true,
        Finding::Behind => {
            call_another(orb, connection, said);
            true
        }
    });
    let are_upcalls = !watched.is_empty();
    orb.server().in_upcalls.put_back(watched);
    are_upcalls
}

/// Nothing was found at `connection`: whether the watch looks there no more.
fn rests(orb: &Orb, connection: &ServerConnection) -> bool {
    let finds = || look_at(orb, connection) != Finding::Quiet;
    connection.state().accepted.threads.as_ref().is_none_or(|threads| threads.unlist(finds))
}

/// Requests wait behind upcalls: another thread reads, if one may.
fn call_another(orb: &Orb, connection: &Arc<ServerConnection>, said: &Said) {
    orb.server().requests_behind.fetch_add(1, Ordering::Relaxed);
    said.say(connection, orb.stand_ins().has_place());
    if let Some(threads) =
        connection.state().accepted.threads.as_ref().filter(|threads| threads.call())
    {
        per_connection::start(orb, connection, threads);
    }
}

fn look_at(orb: &Orb, connection: &ServerConnection) -> Finding {
    let threads = connection.state().accepted.threads.as_ref().filter(|_| !connection.is_ending());
    let Some(threads) = threads else { return Finding::Quiet };
    threads.look(connection.reading(), || {
        // A thread that pauses reading is in no upcall.
        !due_responses::is_pausing(connection)
            && (connection.is_batching() || connection.link().is_stale())
            && (due_responses::awaits_reply(connection) || !due_responses::is_full(orb, connection))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_all_the_time_is_said_once_a_minute() {
        let (said, begin) = (Ranked::default(), Instant::now());
        let news = (0..6000).filter(|tick| is_news(&said, begin + *tick * DUTY.tick)).count();
        assert_eq!(news, 2, "in two minutes");
    }
}
