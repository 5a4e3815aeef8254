//! A timer wheel: thousands of pending delays at the cost of a push and a pop each.
//!
//! The sink (`sink.rs`) holds every reply back with it. A slot is a hundred microseconds: all that
//! is due within one leaves together, in the order of arrival, and never too early.

use std::time::{Duration, Instant};

/// How long a slot is: far below the shortest delay in an experiment (10 ms), far above what a
/// system call takes.
const SLOT: Duration = Duration::from_micros(100);

/// Things that wait for their time.
pub(crate) struct TimerWheel<T> {
    /// One for each span of [`SLOT`], used round and round.
    slots: Vec<Vec<T>>,
    /// When slot 0 was the current one for the first time.
    start: Instant,
    /// Slots that have been emptied, since the start.
    emptied: u64,
    pending: usize,
}

impl<T> TimerWheel<T> {
    /// A wheel for delays of at most `longest`.
    pub(crate) fn new(longest: Duration, now: Instant) -> TimerWheel<T> {
        // One slot is being emptied, one is rounded up to.
        let count = longest.as_nanos() / SLOT.as_nanos() + 3;
        let slots = (0..count).map(|_| Vec::new()).collect();
        TimerWheel { slots, start: now, emptied: 0, pending: 0 }
    }

    /// Adds what is due at `due`; a longer delay than the longest is shortened to it, and what is
    /// overdue already leaves with the next [`TimerWheel::expire`].
    pub(crate) fn insert(&mut self, due: Instant, thing: T) {
        let since = due.saturating_duration_since(self.start);
        // Rounded up: a slot ends before whatever is in it may go.
        let slot = since.as_nanos().div_ceil(SLOT.as_nanos()) as u64;
        let last = self.emptied + self.slots.len() as u64 - 1;
        let at = self.index(slot.clamp(self.emptied, last));
        self.slots[at].push(thing);
        self.pending += 1;
    }

    /// Hands out everything that is due at `now`.
    pub(crate) fn expire(&mut self, now: Instant, mut each: impl FnMut(T)) {
        let due = (now.saturating_duration_since(self.start).as_nanos() / SLOT.as_nanos()) as u64;
        while self.emptied <= due && self.pending > 0 {
            let at = self.index(self.emptied);
            self.pending -= self.slots[at].len();
            self.slots[at].drain(..).for_each(&mut each);
            self.emptied += 1;
        }
        self.emptied = self.emptied.max(due + 1);
    }

    /// When to call [`TimerWheel::expire`] next; `None` when nothing waits.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        if self.pending == 0 {
            return None;
        }
        let slots = self.emptied..self.emptied + self.slots.len() as u64;
        let slot = slots.into_iter().find(|&slot| !self.slots[self.index(slot)].is_empty())?;
        Some(self.start + Duration::from_nanos(slot * SLOT.as_nanos() as u64))
    }

    fn index(&self, slot: u64) -> usize {
        (slot % self.slots.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn expired(wheel: &mut TimerWheel<u32>, now: Instant) -> Vec<u32> {
        let mut out = Vec::new();
        wheel.expire(now, |thing| out.push(thing));
        out
    }

    #[test]
    fn nothing_leaves_early_and_everything_in_order() {
        let start = Instant::now();
        let mut wheel = TimerWheel::new(50 * MS, start);
        assert_eq!(wheel.next_due(), None);
        // Several turns of the wheel, a delay of 40 ms each.
        for at in 0..400_u32 {
            let now = start + at * MS;
            let due = expired(&mut wheel, now);
            let expected: Vec<u32> = at.checked_sub(40).into_iter().collect();
            assert_eq!(due, expected, "at {at} ms");
            wheel.insert(now + 40 * MS, at);
            assert!(wheel.next_due() > Some(now));
        }
        assert_eq!(wheel.next_due(), Some(start + 400 * MS));
    }

    #[test]
    fn a_slot_is_late_by_less_than_its_length() {
        let start = Instant::now();
        let mut wheel = TimerWheel::new(50 * MS, start);
        let due = start + Duration::from_nanos(1_234_567);
        wheel.insert(due, 1);
        let next = wheel.next_due().unwrap();
        assert!(due <= next && next < due + SLOT);
        assert!(expired(&mut wheel, due - SLOT).is_empty());
        assert_eq!(expired(&mut wheel, next), [1]);
    }

    #[test]
    fn no_delay_and_too_long_a_delay_are_both_served() {
        let start = Instant::now();
        let mut wheel = TimerWheel::new(10 * MS, start);
        assert!(expired(&mut wheel, start + 3 * MS).is_empty());
        wheel.insert(start + 3 * MS, 1);
        wheel.insert(start, 2);
        wheel.insert(start + 60_000 * MS, 3);
        assert_eq!(expired(&mut wheel, start + 3 * MS + SLOT), [1, 2]);
        assert_eq!(expired(&mut wheel, start + 20 * MS), [3]);
    }
}
