//! Pulls that wait for events: shares of the clients and pulls that may wait, by peer.
//!
//! A client that waits keeps its connection, which the ORB cannot close for another one. So a peer
//! (an address of the network, or a user of this machine) may have more clients wait only while it
//! has fewer than are left: one alone has half of the places, and there is room for the next.

use corbie::transport::{PeerAddress, PeerOrigin};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What waits.
#[derive(Debug)]
pub(crate) struct Waiters {
    clients_max: usize,
    pulls_max: usize,
    /// Lock "waiters".
    state: Mutex<Seats>,
    refusals: AtomicU64,
}

#[derive(Debug, Default)]
struct Seats {
    clients: usize,
    pulls: usize,
    peers: HashMap<PeerOrigin, OfPeer>,
}

#[derive(Debug, Default)]
struct OfPeer {
    pulls: usize,
    /// How many pulls of each client.
    clients: HashMap<PeerAddress, usize>,
}

/// The place of one pull that waits.
#[derive(Debug)]
pub(crate) struct Seat {
    waiters: Arc<Waiters>,
    client: PeerAddress,
}

impl Waiters {
    pub(crate) fn new(clients_max: usize, pulls_max: usize) -> Arc<Self> {
        let (state, refusals) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { clients_max, pulls_max, state, refusals })
    }

    /// A place for a pull of `client`, if its peer may have one more.
    pub(crate) fn place(self: &Arc<Self>, client: PeerAddress) -> Option<Seat> {
        let mut state = self.lock();
        let Seats { clients, pulls, peers } = &mut *state;
        let (clients_left, pulls_left) =
            (self.clients_max.saturating_sub(*clients), self.pulls_max.saturating_sub(*pulls));
        let peer = client.origin();
        let of_peer = peers.entry(peer.clone()).or_default();
        let is_new = !of_peer.clients.contains_key(&client);
        let is_too_much =
            (is_new && of_peer.clients.len() >= clients_left) || of_peer.pulls >= pulls_left;
        if is_too_much {
            let (clients, pulls) = (of_peer.clients.len(), of_peer.pulls);
            if pulls == 0 {
                peers.remove(&peer);
            }
            drop(state);
            self.refusals.fetch_add(1, Ordering::Relaxed);
            let (peer, setting) = (client, "waiting_clients");
            tracing::warn!(%peer, clients, pulls, setting, "a pull may not wait: too many do");
            return None;
        }
        *of_peer.clients.entry(client.clone()).or_default() += 1;
        of_peer.pulls += 1;
        *pulls += 1;
        *clients += usize::from(is_new);
        drop(state);
        Some(Seat { waiters: Arc::clone(self), client })
    }

    /// How many pulls wait, and how many were refused a place.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.lock().pulls as u64, self.refusals.load(Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, Seats> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.waiters.lock();
        let Seats { clients, pulls, peers } = &mut *state;
        let Entry::Occupied(mut peer) = peers.entry(self.client.origin()) else { return };
        let of_peer = peer.get_mut();
        if let Entry::Occupied(mut client) = of_peer.clients.entry(self.client.clone()) {
            *client.get_mut() -= 1;
            if *client.get() == 0 {
                client.remove();
                *clients -= 1;
            }
        }
        of_peer.pulls -= 1;
        *pulls -= 1;
        if of_peer.pulls == 0 {
            peer.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(host: u8, port: u16) -> PeerAddress {
        PeerAddress::Tcp(([10, 0, 0, host], port).into())
    }

    #[test]
    fn a_peer_with_many_clients_leaves_room_for_others() {
        let waiters = Waiters::new(100, 1000);
        let greedy: Vec<_> = (1..=1000).filter_map(|port| waiters.place(client(1, port))).collect();
        assert_eq!(greedy.len(), 50);
        let second: Vec<_> = (1..=1000).filter_map(|port| waiters.place(client(2, port))).collect();
        assert_eq!(second.len(), 25);
        assert!(waiters.place(client(3, 1)).is_some());
        // A client that waits already may wait for more.
        assert!(waiters.place(client(1, 1)).is_some());
        drop((greedy, second));
        let state = waiters.lock();
        assert_eq!((state.clients, state.pulls, state.peers.len()), (0, 0, 0));
    }

    #[test]
    fn one_client_with_many_pulls_leaves_room_for_others() {
        let waiters = Waiters::new(100, 1000);
        let greedy: Vec<_> = (0..1000).filter_map(|_| waiters.place(client(1, 1))).collect();
        assert_eq!(greedy.len(), 500);
        assert!(waiters.place(client(2, 1)).is_some());
    }
}
