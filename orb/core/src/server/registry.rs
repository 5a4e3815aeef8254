//! The connections that peers have open to this server.
//!
//! `listener` asks for a place here for every connection that it accepts; `housekeeping` closes the
//! silent and the slow ones; `shutdown` closes all.

use crate::server::ServerConnection;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use corbie_transport::PeerOrigin;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Those that are open, and how many each peer has.
#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<ServerConnection>>,
    by_origin: HashMap<PeerOrigin, usize>,
}

impl Open {
    fn remove(&mut self, id: u64) -> Option<Arc<ServerConnection>> {
        let removed = self.connections.remove(&id)?;
        let origin = removed.peer().origin();
        if let Some(count) = self.by_origin.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                self.by_origin.remove(&origin);
            }
        }
        Some(removed)
    }
}

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
        let mut open = self.lock();
        *open.by_origin.entry(connection.peer().origin()).or_default() += 1;
        open.connections.insert(id, connection);
    }

    pub(crate) fn remove(&self, id: u64) {
        let removed = self.lock().remove(id);
        self.removed.wake_all();
        drop(removed);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().connections.len()
    }

    /// How many are open, and how many of them this peer has.
    pub(crate) fn count(&self, origin: &PeerOrigin) -> (usize, usize) {
        let open = self.lock();
        (open.connections.len(), open.by_origin.get(origin).copied().unwrap_or_default())
    }

    /// The peer that has most.
    pub(crate) fn largest(&self) -> Option<PeerOrigin> {
        let open = self.lock();
        open.by_origin.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| origin.clone())
    }

    /// Those for which `is_due` holds; allocates nothing when there are none.
    pub(crate) fn those(
        &self,
        is_due: impl Fn(&ServerConnection) -> bool,
    ) -> Vec<Arc<ServerConnection>> {
        self.lock().connections.values().filter(|connection| is_due(connection)).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.lock().connections.values().cloned().collect()
    }

    /// Waits until fewer than `most` are open or `timeout` has passed.
    pub(crate) fn wait_below(&self, most: usize, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let too_many = |open: &mut Open| open.connections.len() >= most;
        self.removed.wait_while_until(self.lock(), deadline, too_many).connections.len() < most
    }

    fn lock(&self) -> Guard<'_, rank::Registry, Open> {
        self.connections.lock()
    }
}
