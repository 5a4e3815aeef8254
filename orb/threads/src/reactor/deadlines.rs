//! The least deadline of all sources: a lower bound, kept in one word.
//!
//! A source that gets a deadline lowers it. When it has passed, every source is asked, and the
//! least of what they say is the next one; so a deadline costs its source one atomic operation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No source has a deadline.
const NONE: u64 = u64::MAX;

pub(super) struct Deadlines {
    begin: Instant,
    /// Nanoseconds since `begin`.
    least: AtomicU64,
}

impl Deadlines {
    pub(super) fn new() -> Self {
        Deadlines { begin: Instant::now(), least: AtomicU64::new(NONE) }
    }

    /// A source has this deadline; whether it is less than all others.
    pub(super) fn note(&self, deadline: Instant) -> bool {
        let since = deadline.saturating_duration_since(self.begin).as_nanos();
        let since = u64::try_from(since).unwrap_or(NONE - 1);
        since < self.least.fetch_min(since, Ordering::SeqCst)
    }

    /// All sources are about to be asked.
    pub(super) fn forget(&self) {
        self.least.store(NONE, Ordering::SeqCst);
    }

    /// The time until the least; `None` when there is none.
    pub(super) fn left(&self) -> Option<Duration> {
        let least = self.least.load(Ordering::SeqCst);
        let least = (least != NONE).then(|| Duration::from_nanos(least))?;
        Some(least.saturating_sub(self.begin.elapsed()))
    }

    /// Whether the least has passed.
    pub(super) fn have_passed(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::Deadlines;
    use std::time::{Duration, Instant};

    #[test]
    fn the_least_is_kept() {
        let deadlines = Deadlines::new();
        assert_eq!(deadlines.left(), None);
        assert!(!deadlines.have_passed());
        let now = Instant::now();
        assert!(deadlines.note(now + Duration::from_secs(60)));
        assert!(!deadlines.note(now + Duration::from_secs(90)), "is later");
        assert!(deadlines.note(now + Duration::from_secs(30)));
        assert!(deadlines.left().is_some_and(|left| left <= Duration::from_secs(30)));
        assert!(deadlines.note(now));
        assert!(deadlines.have_passed());
        deadlines.forget();
        assert_eq!(deadlines.left(), None);
    }
}
