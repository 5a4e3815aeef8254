//! Counts requests and answers: how many of each, how long each took, and whether the answer was
//! the right one.
//!
//! `mshn.rs` shares one between the thread that asks and those that bring answers.

use crate::driver::{self, Failure};
use crate::orders::{Answered, Shares};
use corbie::SystemException;
use corbie_mshn::idl::Placement;
use corbie_mshn::messages::Reply;
use hdrhistogram::Histogram;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two words on how far it is.
const SHOW_EVERY: Duration = Duration::from_secs(1);
/// Answers may stay out for so long before the rest is taken for lost.
const PATIENCE: Duration = Duration::from_secs(45);

/// See the module. Clones count together.
#[derive(Clone)]
pub(super) struct ScheduleTally(Arc<(Mutex<ScheduleCounts>, Condvar)>);

struct ScheduleCounts {
    begin: Instant,
    last_answer: Instant,
    shown: Instant,
    asked: u64,
    answered: u64,
    /// Requests whose outcome was something else.
    failed: u64,
    /// Whether the request of this number was answered: a second answer does not count.
    is_answered: Vec<bool>,
    histogram: Histogram<u64>,
    /// What came first instead of a placement.
    failure: Option<String>,
}

impl ScheduleCounts {
    #[cold]
    fn fail(&mut self, why: impl FnOnce() -> String) {
        self.failed += 1;
        self.failure.get_or_insert_with(why);
    }
}

impl ScheduleTally {
    /// For so many requests.
    ///
    /// # Errors
    /// None in practice: the bounds of the histogram are sound.
    pub(super) fn new(count: u64) -> Result<Self, Failure> {
        let now = Instant::now();
        let counts = ScheduleCounts {
            begin: now,
            last_answer: now,
            shown: now,
            asked: 0,
            answered: 0,
            failed: 0,
            is_answered: vec![false; count as usize],
            // From 1 µs to 1,000 s.
            histogram: Histogram::new_with_bounds(1_000, 1_000_000_000_000, 3)?,
            failure: None,
        };
        Ok(Self(Arc::new((Mutex::new(counts), Condvar::new()))))
    }

    fn lock(&self) -> MutexGuard<'_, ScheduleCounts> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is made now.
    pub(super) fn ask(&self) -> Instant {
        self.lock().asked += 1;
        Instant::now()
    }

    /// What came for the request of this number, which was made then.
    pub(super) fn take(
        &self,
        number: u64,
        id: &str,
        asked: Instant,
        outcome: Result<Reply, SystemException>,
    ) {
        let now = Instant::now();
        let mut counts = self.lock();
        counts.last_answer = now;
        match outcome.and_then(Placement::try_from) {
            Ok(placement) if placement.job == id && placement.machine == super::MACHINE => {
                if std::mem::replace(&mut counts.is_answered[number as usize], true) {
                    counts.fail(|| format!("{id} was answered twice"));
                } else {
                    counts.answered += 1;
                    counts.histogram.saturating_record((now - asked).as_nanos() as u64);
                }
            }
            Ok(other) => counts.fail(|| format!("{id} was answered by {other:?}")),
            Err(exception) => counts.fail(|| format!("{id}: {exception}")),
        }
        let is_last = counts.answered + counts.failed == counts.is_answered.len() as u64;
        drop(counts);
        if is_last {
            self.0.1.notify_all();
        }
    }

    /// Says how far it is, once a second.
    pub(super) fn show(&self, count: u64) -> Result<(), Failure> {
        let mut counts = self.lock();
        if counts.shown.elapsed() >= SHOW_EVERY {
            counts.shown = Instant::now();
            let text = format!("{} asked, {} answered of {count}", counts.asked, counts.answered);
            drop(counts);
            driver::progress(&text)?;
        }
        Ok(())
    }

    /// Waits until all were answered, or nothing has come for long.
    pub(super) fn wait(&self, count: u64) -> Result<(), Failure> {
        let mut counts = self.lock();
        counts.last_answer = Instant::now();
        while counts.answered + counts.failed < count && counts.last_answer.elapsed() < PATIENCE {
            let (woken, _) =
                self.0.1.wait_timeout(counts, SHOW_EVERY).unwrap_or_else(PoisonError::into_inner);
            drop(woken);
            self.show(count)?;
            counts = self.lock();
        }
        Ok(())
    }

    /// The counts.
    ///
    /// # Errors
    /// When nothing was answered: why.
    pub(super) fn answered(&self) -> Result<Answered, Failure> {
        let counts = self.lock();
        if let (0, Some(failure)) = (counts.answered, &counts.failure) {
            return Err(failure.clone().into());
        }
        if let Some(failure) = &counts.failure {
            // Counted as not answered; the log says why.
            writeln!(io::stderr(), "first failure of {}: {failure}", counts.failed)?;
        }
        Ok(Answered {
            asked: counts.asked,
            answered: counts.answered,
            nanoseconds: (counts.last_answer - counts.begin).as_nanos() as u64,
            processor_ns: 0,
            p50_ns: counts.histogram.value_at_quantile(0.5),
            p99_ns: counts.histogram.value_at_quantile(0.99),
            shares: Shares::default(),
        })
    }
}
