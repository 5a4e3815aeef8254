//! The watch: looks every 20 ms for connections with threads of their own where requests wait
//! behind upcalls, and sees to it that another thread reads them. It sleeps while no requests come.

use super::per_connection;
use crate::Orb;
use crate::server::{ServerConnection, due_responses};
use corbie_threads::connection_threads::{Finding, StandIns};
use corbie_threads::lookout::{Duty, Lookout};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The watch sleeps when no upcall was seen for a second.
const DUTY: Duty = Duty { thread: "corbie-watch", tick: Duration::from_millis(20), idle_ticks: 50 };

impl Orb {
    /// The stand-ins of this ORB, and their watch.
    pub(in crate::server) fn stand_ins(&self) -> Arc<StandIns> {
        let made = || {
            let weak = self.downgrade();
            let look = move || Orb::upgrade(&weak).is_some_and(|orb| look(&orb));
            Arc::new(StandIns::new(self.settings().pool_threads_max, Lookout::new(DUTY, look)))
        };
        Arc::clone(self.server().stand_ins.get_or_init(made))
    }
}

/// Whether upcalls are under way.
fn look(orb: &Orb) -> bool {
    let in_upcalls = Cell::new(false);
    let is_behind = |connection: &ServerConnection| {
        let finding = look_at(orb, connection);
        in_upcalls.set(in_upcalls.get() || finding != Finding::Quiet);
        finding == Finding::Behind
    };
    for connection in orb.server().registry.those(is_behind) {
        let (peer, setting) = (connection.peer(), "pool_threads_max");
        tracing::info!(%peer, setting, "requests wait behind a long upcall: another thread reads");
        if let Some(threads) =
            connection.state().accepted.threads.as_ref().filter(|threads| threads.call())
        {
            per_connection::start(orb, &connection, threads);
        }
    }
    in_upcalls.get()
}

fn look_at(orb: &Orb, connection: &ServerConnection) -> Finding {
    let threads = connection.state().accepted.threads.as_ref().filter(|_| !connection.is_ending());
    let Some(threads) = threads else { return Finding::Quiet };
    threads.look(connection.reading(), || {
        let comes = connection.is_batching() || connection.link().is_stale();
        comes && !due_responses::is_full(orb, connection)
    })
}
