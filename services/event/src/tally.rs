//! What a server has so many of, and gives in parts to its clients: threads, time-outs, entries of
//! subscriptions.
//!
//! Used by `engine` for channels of other crates; what is in queues is counted in `budget`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are given away.
#[derive(Clone, Debug)]
pub struct Tally {
    used: Arc<AtomicUsize>,
    most: usize,
}

/// So many of them, until it is dropped.
#[derive(Debug)]
pub struct Allotment {
    used: Arc<AtomicUsize>,
    amount: usize,
}

impl Tally {
    /// Of so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { used: Arc::default(), most }
    }

    /// How many there are.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// So many of them, if they are left.
    #[must_use]
    pub fn take(&self, amount: usize) -> Option<Allotment> {
        let part = Allotment { used: Arc::clone(&self.used), amount };
        let before = self.used.fetch_add(amount, Ordering::Relaxed);
        before.checked_add(amount).is_some_and(|used| used <= self.most).then_some(part)
    }

    /// So many of them, if they are at most half of what is left, or at most `few`: one who asks
    /// for much leaves something to the next one.
    #[must_use]
    pub fn take_share(&self, amount: usize, few: usize) -> Option<Allotment> {
        let left = self.most.saturating_sub(self.used.load(Ordering::Relaxed));
        if amount > few.max(left / 2) { None } else { self.take(amount) }
    }
}

impl Drop for Allotment {
    fn drop(&mut self) {
        self.used.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_and_one_leaves_some_to_the_next() {
        let tally = Tally::new(100);
        assert!(tally.take(101).is_none());
        let all = tally.take(100).expect("there are");
        assert!(tally.take(1).is_none());
        drop(all);
        assert!(tally.take_share(51, 3).is_none());
        let half = tally.take_share(50, 3).expect("half");
        let quarter = tally.take_share(25, 3).expect("half of the rest");
        assert!(tally.take_share(13, 3).is_none());
        let few: Vec<_> = (0..20).filter_map(|_| tally.take_share(3, 3)).collect();
        assert_eq!(few.len(), 8);
        drop((half, quarter, few));
        assert!(tally.take(100).is_some());
    }
}
