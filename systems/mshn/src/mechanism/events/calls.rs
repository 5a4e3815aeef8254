//! Requests whose answers are to come as events, by correlation; and the ways that they went, of
//! which one knows when they were last heard of.
//!
//! An answer that finds no caller waiting came late, or twice: it is counted and dropped. A request
//! that who should answer does not know of was lost, or its answer was: it fails.

use crate::messages::{Done, Reply, sent};
use crate::unique::unique;
use corbie::{CompletionStatus, SystemException, minor};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What became of requests and answers that went as events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Requests made.
    pub asked: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed: not taken by a channel, no sign of life from who should answer, or
    /// lost.
    pub failed: u64,
    /// Of these, those that were lost, or whose answer was, while both sides live.
    pub lost: u64,
    /// Requests that failed since their answer did not come in the time that they had.
    pub timed_out: u64,
    /// Answers that came when no caller waited for them any more.
    pub late: u64,
    /// Requests that came a second time while they were served, and were left out.
    pub duplicates: u64,
    /// Answers that could not be pushed: who asked was gone.
    pub unanswered: u64,
}

/// Where requests go and answers come from.
#[derive(Debug)]
pub(super) struct Way {
    began: Instant,
    waiting: AtomicUsize,
    /// Milliseconds since `began`: something was heard, or asked when nothing was waited for.
    heard: AtomicU64,
    probed: AtomicU64,
    /// Requests that the channel has taken, and when, in that order; perhaps answered since.
    /// Lock "taken": the innermost.
    taken: Mutex<VecDeque<(Instant, u64)>>,
}

impl Way {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            waiting: AtomicUsize::new(0),
            heard: AtomicU64::new(0),
            probed: AtomicU64::new(0),
            taken: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn begins(&self) {
        if self.waiting.fetch_add(1, Ordering::AcqRel) == 0 {
            self.hears();
        }
    }

    pub(super) fn hears(&self) {
        self.heard.store(self.now(), Ordering::Release);
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// For how long nothing was heard.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_millis(self.now().saturating_sub(self.heard.load(Ordering::Acquire)))
    }

    /// Whether the last probe was so long ago.
    pub(super) fn was_probed_before(&self, pause: Duration) -> bool {
        let since = self.now().saturating_sub(self.probed.load(Ordering::Acquire));
        u128::from(since) >= pause.as_millis()
    }

    /// A probe is sent.
    pub(super) fn is_probed(&self) {
        self.probed.store(self.now(), Ordering::Release);
    }

    fn taken(&self) -> MutexGuard<'_, VecDeque<(Instant, u64)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Pending {
    done: Done,
    way: Arc<Way>,
    is_answered: bool,
    /// When it was first said not to be known.
    denied: Option<Instant>,
}

/// Requests that one probe asks about.
const ASKED_MAX: usize = 256;

/// Entries of requests that have ended are kept up to so many, and up to as many again as there
/// are of those that have not.
const ENDED_MAX: usize = 64;

#[derive(Default)]
struct Table {
    pending: HashMap<u64, Pending>,
    /// When they are given up, in that order.
    ends: VecDeque<(Instant, u64)>,
}

/// See the module.
pub(super) struct PendingCalls {
    next: AtomicU64,
    time_limit: Duration,
    /// Lock "calls": not held while an answer is handed on.
    table: Mutex<Table>,
    counts: Mutex<EventCounts>,
}

impl PendingCalls {
    pub(super) fn new(time_limit: Duration) -> Self {
        // Numbers of two callers, or of two lives of one, do not meet.
        let next = AtomicU64::new(unique());
        Self { next, time_limit, table: Mutex::default(), counts: Mutex::default() }
    }

    /// A request is about to be made: its correlation. Is it not answered, it ends when it is
    /// [`PendingCalls::taken`].
    pub(super) fn begin(&self, way: &Arc<Way>, is_answered: bool, done: Done) -> u64 {
        let mut correlation = self.next.fetch_add(1, Ordering::Relaxed);
        if correlation == 0 {
            correlation = self.next.fetch_add(1, Ordering::Relaxed);
        }
        way.begins();
        let ends = Instant::now() + self.time_limit;
        let pending = Pending { done, way: Arc::clone(way), is_answered, denied: None };
        let mut table = self.lock();
        table.pending.insert(correlation, pending);
        table.ends.push_back((ends, correlation));
        let Table { pending, ends } = &mut *table;
        if ends.len() > ENDED_MAX + 2 * pending.len() {
            ends.retain(|(_, correlation)| pending.contains_key(correlation));
        }
        drop(table);
        self.count(|counts| counts.asked += 1);
        correlation
    }

    /// Whatever ends a request: counts it, then hands it on. Whether anybody waited.
    fn end(
        &self,
        correlation: u64,
        outcome: Result<Reply, SystemException>,
        count: impl FnOnce(&mut EventCounts),
    ) -> bool {
        let taken = {
            let mut table = self.lock();
            let taken = table.pending.remove(&correlation);
            while table.ends.front().is_some_and(|(_, oldest)| !table.pending.contains_key(oldest))
            {
                table.ends.pop_front();
            }
            taken
        };
        let Some(Pending { done, way, .. }) = taken else { return false };
        way.waiting.fetch_sub(1, Ordering::AcqRel);
        self.count(count);
        done(outcome);
        true
    }

    /// An answer came.
    pub(super) fn answered(&self, correlation: u64, outcome: Result<Reply, SystemException>) {
        let way = self.lock().pending.get(&correlation).map(|pending| Arc::clone(&pending.way));
        if let Some(way) = way {
            way.hears();
        }
        if !self.end(correlation, outcome, |counts| counts.answered += 1) {
            tracing::debug!(correlation, "an answer came late, or twice");
            self.count(|counts| counts.late += 1);
        }
    }

    /// The channel has taken the request.
    pub(super) fn taken(&self, correlation: u64) {
        let table = self.lock();
        let Some(pending) = table.pending.get(&correlation) else { return };
        if !pending.is_answered {
            drop(table);
            self.end(correlation, Ok(sent()), |_| {});
            return;
        }
        let mut taken = pending.way.taken();
        taken.push_back((Instant::now(), correlation));
        if taken.len() > ENDED_MAX + 2 * pending.way.waiting.load(Ordering::Acquire) {
            taken.retain(|(_, correlation)| table.pending.contains_key(correlation));
        }
    }

    /// The oldest requests that a channel took that long ago, and that are not answered.
    pub(super) fn awaited(&self, way: &Way, at_least: Duration) -> Vec<u64> {
        let table = self.lock();
        let mut taken = way.taken();
        let is_pending =
            |(_, correlation): &(Instant, u64)| table.pending.contains_key(correlation);
        while taken.front().is_some_and(|first| !is_pending(first)) {
            taken.pop_front();
        }
        let old = taken.iter().take_while(|(at, _)| at.elapsed() >= at_least);
        let pending = old.filter(|entry| is_pending(entry)).map(|(_, correlation)| *correlation);
        pending.take(ASKED_MAX).collect()
    }

    /// The one that should answer knows nothing of these requests of that way. Said twice, so long
    /// apart, it holds: what was on its way at the first time has come since.
    pub(super) fn denied(&self, way: &Arc<Way>, unknown: &[u64], apart: Duration) {
        let now = Instant::now();
        let lost: Vec<u64> = {
            let mut table = self.lock();
            let mut is_lost = |correlation: &&u64| {
                let pending = table.pending.get_mut(correlation);
                pending.filter(|pending| Arc::ptr_eq(&pending.way, way)).is_some_and(|pending| {
                    now.saturating_duration_since(*pending.denied.get_or_insert(now)) >= apart
                })
            };
            unknown.iter().filter(|correlation| is_lost(correlation)).copied().collect()
        };
        for correlation in lost {
            let text = "the request or its answer was lost: who should answer knows nothing of it";
            let exception =
                SystemException::comm_failure(minor::COMM_FAILURE_CHANNEL, CompletionStatus::Maybe);
            let lost = |counts: &mut EventCounts| {
                (counts.failed, counts.lost) = (counts.failed + 1, counts.lost + 1);
            };
            if self.end(correlation, Err(exception.with_detail(text)), lost) {
                tracing::info!(correlation, "a request, or its answer, was lost as an event");
            }
        }
    }

    /// The request could not be made.
    pub(super) fn failed(&self, correlation: u64, exception: SystemException) {
        self.end(correlation, Err(exception), |counts| counts.failed += 1);
    }

    /// Nothing will be heard from `way` any more; no way: from any.
    pub(super) fn broken(&self, way: Option<&Arc<Way>>, exception: &SystemException) {
        let goes = |pending: &Pending| way.is_none_or(|way| Arc::ptr_eq(&pending.way, way));
        let lost: Vec<u64> = {
            let table = self.lock();
            let lost = table.pending.iter().filter(|(_, pending)| goes(pending));
            lost.map(|(correlation, _)| *correlation).collect()
        };
        for correlation in lost {
            self.failed(correlation, exception.clone());
        }
    }

    /// Gives up those whose time is over.
    pub(super) fn give_up(&self, now: Instant) {
        loop {
            let first = self.lock().ends.front().copied();
            let Some((_, correlation)) = first.filter(|(ends, _)| *ends <= now) else { return };
            let text = format!("no answer came as an event within {:?}", self.time_limit);
            let exception = SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::Maybe)
                .with_detail(text);
            self.end(correlation, Err(exception), |counts| counts.timed_out += 1);
        }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut EventCounts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Correlations of those that wait.
    #[cfg(test)]
    pub(super) fn pending(&self) -> Vec<u64> {
        self.lock().pending.keys().copied().collect()
    }

    pub(super) fn counts(&self) -> EventCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
