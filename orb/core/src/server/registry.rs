//! The connections that peers have open to this server.
//!
//! `listener` asks for a place here for every connection that it accepts; `housekeeping` closes the
//! silent and the slow ones; `shutdown` closes all.

use crate::server::ServerConnection;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Open = HashMap<u64, Arc<ServerConnection>>;

/// The connections that are open.
#[derive(Default)]
pub(crate) struct Registry {
    connections: Ranked<rank::Registry, Open>,
    /// Signalled when a connection goes.
    removed: Signal,
    next_id: AtomicU64,
}

impl Registry {
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn insert(&self, connection: Arc<ServerConnection>) {
        let id = connection.state().accepted.id;
        self.lock().insert(id, connection);
    }

    pub(crate) fn remove(&self, id: u64) {
        let removed = self.lock().remove(&id);
        self.removed.wake_all();
        drop(removed);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Those for which `is_due` holds; allocates nothing when there are none.
    pub(crate) fn those(
        &self,
        is_due: impl Fn(&ServerConnection) -> bool,
    ) -> Vec<Arc<ServerConnection>> {
        self.lock().values().filter(|connection| is_due(connection)).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.lock().values().cloned().collect()
    }

    /// Waits until fewer than `most` are open or `timeout` has passed.
    pub(crate) fn wait_below(&self, most: usize, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let too_many = |connections: &mut Open| connections.len() >= most;
        self.removed.wait_while_until(self.lock(), deadline, too_many).len() < most
    }

    fn lock(&self) -> Guard<'_, rank::Registry, Open> {
        self.connections.lock()
    }
}
