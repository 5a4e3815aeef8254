//! The connections that peers have open to this server.
//!
//! `listener` asks for a place here for every connection that it accepts; `housekeeping` closes the
//! silent and the slow ones; `shutdown` closes all.

use crate::Orb;
use crate::server::ServerConnection;
use crate::server::peers::PeerRates;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use corbie_transport::PeerOrigin;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Peers without a connection that are remembered, at most: each costs some 200 octets.
const REMEMBERED: usize = 65_536;

/// Those that are open, and the peers that have them or had them a moment ago.
#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<ServerConnection>>,
    /// Connections that this ORB opened and offered: served as the others, and not counted.
    opened: HashMap<u64, Arc<ServerConnection>>,
    peers: HashMap<PeerOrigin, OfPeer>,
}

struct OfPeer {
    /// How many it has open.
    open: usize,
    peer: Arc<PeerRates>,
}

impl OfPeer {
    /// Whether it has connections, or a thread that takes one in holds its rates.
    fn is_asked(&self) -> bool {
        self.open > 0 || Arc::strong_count(&self.peer) > 1
    }
}

impl Open {
    fn all(&self) -> impl Iterator<Item = &Arc<ServerConnection>> {
        self.connections.values().chain(self.opened.values())
    }

    fn remove(&mut self, id: u64) -> Option<Arc<ServerConnection>> {
        if let Some(opened) = self.opened.remove(&id) {
            return Some(opened);
        }
        let removed = self.connections.remove(&id)?;
        let origin = removed.peer().origin();
        if let Some(of_peer) = self.peers.get_mut(&origin) {
            of_peer.open = of_peer.open.saturating_sub(1);
        }
        Some(removed)
    }

    fn peer(&mut self, orb: &Orb, origin: PeerOrigin) -> &mut OfPeer {
        let new = || OfPeer { open: 0, peer: PeerRates::new(orb.settings()) };
        self.peers.entry(origin).or_insert_with(new)
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

    pub(crate) fn insert(&self, orb: &Orb, connection: Arc<ServerConnection>) {
        let id = connection.state().accepted.id;
        let mut open = self.lock();
        open.peer(orb, connection.peer().origin()).open += 1;
        open.connections.insert(id, connection);
    }

    /// As [`Registry::insert`], for a connection that this ORB opened.
    pub(crate) fn insert_opened(&self, connection: Arc<ServerConnection>) {
        self.lock().opened.insert(connection.state().accepted.id, connection);
    }

    /// What is known of a peer.
    pub(crate) fn peer(&self, orb: &Orb, origin: &PeerOrigin) -> Arc<PeerRates> {
        let mut open = self.lock();
        if open.peers.len() >= REMEMBERED + open.connections.len() {
            open.peers.retain(|_, of_peer| of_peer.is_asked());
        }
        Arc::clone(&open.peer(orb, origin.clone()).peer)
    }

    /// Forgets the peers of which there is nothing to remember. Called with each tick.
    pub(crate) fn forget_peers(&self) {
        self.lock().peers.retain(|_, of_peer| of_peer.is_asked() || !of_peer.peer.rests());
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
        (open.connections.len(), open.peers.get(origin).map_or(0, |of_peer| of_peer.open))
    }

    /// The peer that has most.
    pub(crate) fn largest(&self) -> Option<PeerOrigin> {
        let open = self.lock();
        open.peers.iter().max_by_key(|(_, of_peer)| of_peer.open).map(|(origin, _)| origin.clone())
    }

    /// How many peers have connections, and how many the one has that has most.
    pub(crate) fn peers(&self) -> (usize, usize) {
        let open = self.lock();
        let counts = || open.peers.values().map(|of_peer| of_peer.open).filter(|open| *open > 0);
        (counts().count(), counts().max().unwrap_or(0))
    }

    /// Those for which `is_due` holds; allocates nothing when there are none.
    pub(crate) fn those(
        &self,
        is_due: impl Fn(&ServerConnection) -> bool,
    ) -> Vec<Arc<ServerConnection>> {
        self.lock().all().filter(|connection| is_due(connection)).cloned().collect()
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<ServerConnection>> {
        self.lock().connections.get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<ServerConnection>> {
        self.lock().all().cloned().collect()
    }

    /// Those that were accepted.
    pub(crate) fn accepted(&self) -> Vec<Arc<ServerConnection>> {
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
