//! Numbers that are unlike all others: for names of channels, of answers and of records, which
//! several processes choose by themselves.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that is unlike all others, here and in other processes.
pub(crate) fn unique() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Its seed is the system's random number.
    RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}
