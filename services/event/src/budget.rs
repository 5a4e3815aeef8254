//! What may wait in the queues of all channels of a server, in octets of memory.
//!
//! A queue grows only while it holds less than what is free: one alone may take half of the budget,
//! a hundred greedy ones a hundredth each, and there is always as much left for the next. So those
//! that hold most are refused first, and nothing that was taken is dropped for another queue. What
//! was given to a client that pulls counts until the transport has it, since it comes back when the
//! connection breaks. A sixteenth is for queues that hold little. All of it is drawn from the
//! memory budget of the process (`memory_max`), of which services take half at most: where that is
//! less than the server's limit, it is what is divided.

use corbie::budget::{self, Account, Draw, Service};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a queue may hold while others have used up all but the last sixteenth.
const LITTLE: usize = 16 << 10;
/// As much is drawn at a time, and given back when so much more than that is not needed.
const STEP: usize = 1 << 20;

/// Octets that may be held, and are.
#[derive(Debug)]
pub(crate) struct Budget {
    /// By the server's limit.
    most: usize,
    used: AtomicUsize,
    /// What may be used before more has to be drawn.
    drawn: AtomicUsize,
    /// Lock "memory": held for a look.
    memory: Mutex<Draw<Service>>,
    refusals: AtomicU64,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
            drawn: AtomicUsize::new(0),
            memory: Mutex::new(Draw::of(&Account::new())),
            refusals: AtomicU64::new(0),
        })
    }

    /// What may be held: by the server's limit, or by the memory that services may hold.
    fn most(&self) -> usize {
        self.most.min(budget::of_services())
    }

    /// The setting that says so.
    fn setting(&self) -> &'static str {
        if self.most <= budget::of_services() { "queues_octets" } else { "memory_max" }
    }

    /// Whether the process has memory for `octets` to be used.
    fn has_memory(&self, octets: usize) -> bool {
        octets <= self.drawn.load(Ordering::Relaxed) || self.draw(octets)
    }

    #[cold]
    fn draw(&self, octets: usize) -> bool {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        // Others may have taken more, or given back, since the caller looked.
        let octets = octets.max(self.used());
        let wanted = octets.next_multiple_of(STEP).min(budget::of_services()).max(octets);
        let is_drawn = memory.resize(wanted).is_ok();
        if is_drawn {
            self.drawn.store(wanted, Ordering::Relaxed);
        }
        is_drawn
    }

    fn give_back(&self, octets: usize) {
        let used = self.used.fetch_sub(octets, Ordering::Relaxed) - octets;
        if self.drawn.load(Ordering::Relaxed) > used.saturating_add(2 * STEP) {
            self.draw(used);
        }
    }

    /// Octets that are held.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// How often a queue was refused room.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }
}

/// What one queue holds of a budget; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    /// What waits in the queue.
    held: usize,
    /// What was taken out of it, and may come back.
    away: Arc<AtomicUsize>,
}

/// What was taken out of a queue and is on its way: it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct OnItsWay {
    budget: Arc<Budget>,
    away: Arc<AtomicUsize>,
    octets: usize,
}

impl Default for Share {
    /// Of a budget without a bound.
    fn default() -> Self {
        Self::new(&Budget::new(usize::MAX))
    }
}

impl Share {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), held: 0, away: Arc::default() }
    }

    /// Whether the queue may hold so many octets more.
    pub(crate) fn has_room(&self, octets: usize) -> bool {
        let most = self.budget.most();
        let (used, away) = (self.budget.used(), self.away());
        let grown = self.held.saturating_add(away).saturating_add(octets);
        let for_all = most - most / 16;
        let all = used.saturating_add(octets);
        let is_within = grown <= for_all.saturating_sub(used) || (grown <= LITTLE && all <= most);
        is_within && self.budget.has_memory(all)
    }

    /// What was taken out, and may come back.
    pub(crate) fn away(&self) -> usize {
        self.away.load(Ordering::Relaxed)
    }

    /// Says that the queue was refused so many octets.
    #[cold]
    pub(crate) fn refuse(&self, octets: usize) {
        self.budget.refusals.fetch_add(1, Ordering::Relaxed);
        let (used, most, held) = (self.budget.used(), self.budget.most(), self.held);
        let setting = self.budget.setting();
        let why =
            "the queue of a consumer may not grow: events wait in too many or too large queues";
        tracing::warn!(octets, held, used, most, setting, "{why}");
    }

    /// What waits.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn take(&mut self, octets: usize) {
        self.held += octets;
        self.budget.used.fetch_add(octets, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&mut self, octets: usize) {
        debug_assert!(octets <= self.held, "{octets} of {}", self.held);
        let octets = octets.min(self.held);
        self.held -= octets;
        self.budget.give_back(octets);
    }
}

impl Share {
    /// So much more is held outside the queue.
    pub(crate) fn take_away(&self, octets: usize) -> OnItsWay {
        self.budget.used.fetch_add(octets, Ordering::Relaxed);
        self.on_its_way(octets)
    }

    /// So much of what waits is taken out, and on its way.
    pub(crate) fn send(&mut self, octets: usize) -> OnItsWay {
        debug_assert!(octets <= self.held, "{octets} of {}", self.held);
        self.held -= octets.min(self.held);
        self.on_its_way(octets)
    }

    /// What is held already, outside the queue from now on.
    fn on_its_way(&self, octets: usize) -> OnItsWay {
        self.away.fetch_add(octets, Ordering::Relaxed);
        OnItsWay { budget: Arc::clone(&self.budget), away: Arc::clone(&self.away), octets }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.away.fetch_sub(self.octets, Ordering::Relaxed);
        self.budget.give_back(self.octets);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_queues_leave_room_for_one_more() {
        let budget = Budget::new(100_000_000);
        let mut greedy: Vec<_> = (0..99).map(|_| Share::new(&budget)).collect();
        let mut grows = true;
        while grows {
            grows = false;
            for share in &mut greedy {
                if share.has_room(1_000) {
                    share.take(1_000);
                    grows = true;
                }
            }
        }
        assert!(budget.used() <= 93_000_000, "{}", budget.used());
        assert!(greedy.iter().all(|share| share.held >= 930_000), "each has its share");
        let mut honest = Share::new(&budget);
        assert!(honest.has_room(930_000));
        // What is on its way counts, for its queue and for all, until it has arrived.
        let on_its_way = greedy[0].send(900_000);
        assert!(!greedy[0].has_room(930_000) && greedy[0].away() == 900_000);
        // The last sixteenth is for those that hold little.
        greedy[1].take(2_000_000);
        assert!(!greedy[2].has_room(10) && honest.has_room(LITTLE));
        honest.take(LITTLE);
        assert!(!honest.has_room(1));
        let services = || corbie::budget::statistics().services;
        assert!(services() >= 90_000_000, "{} drawn of the process's memory", services());
        drop((greedy, honest));
        assert_eq!(budget.used(), 900_000);
        assert!(services() <= 4 * STEP, "{} drawn for less than one", services());
        drop(on_its_way);
        let alone = Share::new(&budget);
        // What was on its way goes back to the process by itself.
        assert!(alone.has_room(50 * STEP));
        let away = alone.take_away(50 * STEP);
        assert!(services() >= 49 * STEP, "{} drawn", services());
        drop(away);
        assert!(services() <= 4 * STEP, "{} drawn for nothing", services());
        assert!(alone.has_room(93_750_000) && !alone.has_room(93_750_001));
    }
}
