//! What each peer holds of the memory budget, over all connections of the process with it: one
//! peer with a thousand small connections holds as much as one with a large one.

use corbie_cdr::budget::Holder;
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{PeerAddress, PeerOrigin};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

type Holders = HashMap<PeerOrigin, Weak<Holder>>;

static HOLDERS: LazyLock<Ranked<rank::Leaf, Holders>> = LazyLock::new(Ranked::default);

/// That of a peer.
pub(super) fn of(peer: &PeerAddress) -> Arc<Holder> {
    let mut holders = HOLDERS.lock();
    let origin = peer.origin();
    if let Some(holder) = holders.get(&origin).and_then(Weak::upgrade) {
        return holder;
    }
    // Those of peers that are gone make room, where there would be none otherwise.
    if holders.len() == holders.capacity() {
        holders.retain(|_, holder| holder.strong_count() > 0);
    }
    let holder = Arc::default();
    holders.insert(origin, Arc::downgrade(&holder));
    holder
}
