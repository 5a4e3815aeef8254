//! The connections that peers have open to this server.
//!
//! `listener` asks for a place here for every connection that it accepts; `housekeeping` closes the
//! silent and the slow ones; `shutdown` closes all.

use crate::server::ServerConnection;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lock "connections".
#[derive(Default)]
pub(crate) struct Registry {
    connections: Mutex<HashMap<u64, Arc<ServerConnection>>>,
    /// Signalled when a connection goes.
    removed: Condvar,
    next_id: AtomicU64,
}

impl Registry {
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn insert(&self, connection: Arc<ServerConnection>) {
        self.lock().insert(connection.id, connection);
    }

    pub(crate) fn remove(&self, id: u64) {
        let removed = self.lock().remove(&id);
        self.removed.notify_all();
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
        let guard = self.lock();
        let (guard, _) = self
            .removed
            .wait_timeout_while(guard, timeout, |connections| connections.len() >= most)
            .unwrap_or_else(PoisonError::into_inner);
        guard.len() < most
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<ServerConnection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
