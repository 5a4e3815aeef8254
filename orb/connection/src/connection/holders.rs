//! What each peer holds of the memory budget, over all connections of the process with it: one
//! peer with a thousand small connections holds as much as one with a large one.

use corbie_cdr::budget::Holder;
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{PeerAddress, PeerOrigin};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

#[derive(Default)]
struct Holders {
    of_peers: HashMap<PeerOrigin, Weak<Holder>>,
    /// With so many, those of peers that are gone are taken out. It grows with those that stay, so
    /// that a peer which comes and goes does not have all looked at each time.
    sweep_at: usize,
}

static HOLDERS: LazyLock<Ranked<rank::Leaf, Holders>> = LazyLock::new(Ranked::default);

/// That of a peer.
pub(super) fn of(peer: &PeerAddress) -> Arc<Holder> {
    let mut holders = HOLDERS.lock();
    let origin = peer.origin();
    if let Some(holder) = holders.of_peers.get(&origin).and_then(Weak::upgrade) {
        return holder;
    }
    if holders.of_peers.len() >= holders.sweep_at {
        holders.of_peers.retain(|_, holder| holder.strong_count() > 0);
        holders.sweep_at = 2 * holders.of_peers.len() + 64;
    }
    let holder = Arc::default();
    holders.of_peers.insert(origin, Arc::downgrade(&holder));
    holder
}
