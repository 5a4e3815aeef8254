//! What everything that is measured within one process shares: the [`Task`], and [`count`], the
//! loop. There is no server and no connection, and one thread unless it says so.
//!
//! The harness starts `corbie-bench drive local NAME` as it starts any client, pinned and in turn
//! with the others, and sends [`Order::Local`](crate::orders::Order::Local); `measures.rs` answers.

use crate::driver::Failure;
use crate::orders::Answer;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// What is to be measured.
pub(crate) struct Task<'t> {
    /// What the experiment varies: levels, servants, octets.
    pub(crate) size: u64,
    /// How long it is done and counted.
    pub(crate) window: Duration,
    /// Words behind the measure's name: which of several ways.
    pub(crate) words: &'t [String],
}

impl Task<'_> {
    /// The word at this place.
    ///
    /// # Errors
    /// When there are fewer.
    pub(crate) fn word(&self, place: usize) -> Result<&str, Failure> {
        let word = self.words.get(place).map(String::as_str);
        word.ok_or_else(|| format!("word {place} is missing behind the measure").into())
    }
}

/// Operations between two looks at the clock.
pub(crate) const BATCH: u64 = 1_000;

/// Warms up for a fifth of the window, then counts how often `operation` runs in it. Its argument
/// counts upwards. Time is the thread's own: what others do on the machine meanwhile does not
/// count, as long as it leaves the caches alone.
///
/// # Errors
/// What `operation` says.
pub(crate) fn count(
    window: Duration,
    operation: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    count_by(processor_time, window, operation)
}

/// As [`count`], by the clock on the wall: for operations that wait.
///
/// # Errors
/// What `operation` says.
pub(crate) fn count_with_waits(
    window: Duration,
    operation: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let begin = Instant::now();
    count_by(|| begin.elapsed(), window, operation)
}

fn count_by(
    clock: impl Fn() -> Duration,
    window: Duration,
    mut operation: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let mut number = 0;
    for length in [window / 5, window] {
        let start = clock();
        let mut calls = 0;
        loop {
            for _ in 0..BATCH {
                operation(number)?;
                number += 1;
            }
            calls += BATCH;
            let elapsed = clock().saturating_sub(start);
            if elapsed >= length {
                if length == window {
                    return Ok(Answer::Rate { calls, nanoseconds: elapsed.as_nanos() as u64 });
                }
                break;
            }
        }
    }
    Err("no time to measure in".into())
}

/// What this thread has had of a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
