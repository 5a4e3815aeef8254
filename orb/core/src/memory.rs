//! The memory that messages take: the limits of the pools of buffers, when they are trimmed, and
//! the application's allocator for what is received.
//!
//! The pools themselves are [`corbie_cdr::buffers`]; what is sent and received without a copy is
//! [`corbie_cdr::payload`] (paper POA §3.2).

use corbie_cdr::buffers::{self, BufferLimits};
use corbie_cdr::payload::PayloadAllocator;
use corbie_settings::Settings;
use corbie_threads::lock::{Ranked, RankedRw, rank};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The allocator of an ORB, if it has one.
#[derive(Default)]
pub(crate) struct AllocatorSlot(RankedRw<rank::Leaf, Option<Arc<dyn PayloadAllocator>>>);

impl fmt::Debug for AllocatorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorSlot").finish_non_exhaustive()
    }
}

/// The settings of this ORB hold for the pools of the process from now on.
pub(crate) fn set_limits(settings: &Settings) {
    buffers::set_limits(BufferLimits {
        thread_buffers: settings.thread_buffers_max as usize,
        thread_octets: settings.thread_buffer_octets_max,
        shared_octets: settings.shared_buffer_octets_max,
    });
}

/// When the pools were trimmed last.
static TRIMMED: Ranked<rank::Leaf, Option<Instant>> = Ranked::new(None);

/// Called with each tick, in seconds: frees what was not needed lately. Each ORB of the process
/// comes by, and the pools are of all of them: what rests between the trimming of one and that of
/// another, a moment later, is needed still.
pub(crate) fn trim_now_and_then(settings: &Settings, tick: u64) {
    if let Some(interval) = settings.buffer_trim_interval
        && tick.is_multiple_of(interval.as_secs().max(1))
        && is_due(&mut TRIMMED.lock(), interval)
    {
        buffers::trim();
    }
}

/// Whether what was done `last` is to be done now, which is noted. Ticks come late, so half of the
/// interval is enough.
fn is_due(last: &mut Option<Instant>, interval: Duration) -> bool {
    let now = Instant::now();
    let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= interval / 2);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl AllocatorSlot {
    /// Keeps `allocator` from now on.
    pub(crate) fn set(&self, allocator: Arc<dyn PayloadAllocator>) {
        *self.0.write() = Some(allocator);
    }

    /// The allocator, if there is one.
    pub(crate) fn get(&self) -> Option<Arc<dyn PayloadAllocator>> {
        self.0.read().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_orb_has_just_trimmed_no_other_trims() {
        let (mut last, long, none) = (None, Duration::from_secs(3600), Duration::ZERO);
        assert!(is_due(&mut last, long), "nobody has done it");
        assert!(!is_due(&mut last, long), "another ORB, a moment later");
        assert!(is_due(&mut last, none), "its interval is over");
    }
}
