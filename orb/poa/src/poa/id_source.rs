//! The ids that a POA gives under `SYSTEM_ID`: numbers, and with [`SystemIds::Secret`] a keyed hash
//! of each behind it.
//!
//! Used by `activation` and `references`.

use crate::id_secret::IdSecret;
use crate::object_id::ObjectId;
use crate::policies::{Lifespan, PoaPolicies, SystemIds};
use corbie_types::SystemException;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where ids of the POA's choice come from.
pub(super) struct IdSource {
    next: AtomicU64,
    secret: Option<IdSecret>,
}

impl IdSource {
    pub(super) fn new(policies: &PoaPolicies) -> Result<Self, SystemException> {
        let secret = match policies.system_ids {
            SystemIds::Counted => None,
            SystemIds::Secret => Some(IdSecret::random()?),
        };
        Ok(Self { next: AtomicU64::new(first(policies.lifespan)), secret })
    }

    pub(super) fn next(&self) -> ObjectId {
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        match &self.secret {
            None => ObjectId::new(&number),
            Some(secret) => ObjectId::new(&[&number[..], &secret.hash(&number)].concat()),
        }
    }

    /// Whether [`Self::next`] gave it.
    pub(super) fn gave(&self, id: &[u8]) -> bool {
        let Some((number, rest)) = id.split_first_chunk() else { return false };
        let is_whole = match &self.secret {
            None => rest.is_empty(),
            Some(secret) => rest == secret.hash(number),
        };
        is_whole && u64::from_be_bytes(*number) < self.next.load(Ordering::Relaxed)
    }
}

/// Ids of transient POAs count from zero. A persistent one must not give an id that it gave in a
/// former life, which nothing remembers: the time in nanoseconds is ahead of all former ids as
/// long as fewer than one object a nanosecond was activated.
fn first(lifespan: Lifespan) -> u64 {
    match lifespan {
        Lifespan::Transient => 0,
        Lifespan::Persistent => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)),
    }
}
