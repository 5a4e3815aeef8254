//! What is measured within one process: no server, no connection, one thread unless it says so.
//!
//! The harness starts `corbie-bench drive local NAME` as it starts any client, pinned and in turn
//! with the others, and sends [`Order::Local`](crate::orders::Order::Local); the functions in
//! [`MEASURES`] answer. [`count`] is the loop that they share.

use crate::buffers;
use crate::driver::{Client, Failure};
use crate::orders::Answer;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Does one thing again and again for a while; the first argument is what the experiment varies.
pub(crate) type Measure = fn(u64, Duration) -> Result<Answer, Failure>;

/// Everything that can be measured locally, by name.
const MEASURES: &[(&str, Measure)] = &[
    ("nothing", nothing),
    ("buffers-pool-alone", buffers::pool_alone),
    ("buffers-heap-alone", buffers::heap_alone),
    ("buffers-pool-interfered", buffers::pool_interfered),
    ("buffers-heap-interfered", buffers::heap_interfered),
];

/// One of [`MEASURES`].
pub(crate) struct Local(Measure);

/// The measure of this name.
///
/// # Errors
/// When there is none.
pub(crate) fn find(what: &str) -> Result<Local, Failure> {
    let found = MEASURES.iter().find(|(name, _)| *name == what);
    found.map(|(_, measure)| Local(*measure)).ok_or_else(|| format!("no measure `{what}`").into())
}

impl Client for Local {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        Err::<fn(i64) -> Result<i64, Failure>, _>("nobody is called: all is in one process".into())
    }

    fn oneways(&self, _window: Duration) -> Result<Answer, Failure> {
        Err("nobody is called: all is in one process".into())
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        Err::<fn(&[u8], bool) -> Result<(), Failure>, _>("nobody is called".into())
    }

    fn local(&self, size: u64, window: Duration) -> Result<Answer, Failure> {
        (self.0)(size, window)
    }
}

/// Operations between two looks at the clock.
const BATCH: u64 = 1_000;

/// Warms up for a fifth of the window, then counts how often `operation` runs in it. Its argument
/// counts upwards.
///
/// # Errors
/// What `operation` says.
pub(crate) fn count(
    window: Duration,
    mut operation: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let mut number = 0;
    for length in [window / 5, window] {
        let start = Instant::now();
        let mut calls = 0;
        loop {
            for _ in 0..BATCH {
                operation(number)?;
                number += 1;
            }
            calls += BATCH;
            let elapsed = start.elapsed();
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

/// What the loop itself costs.
fn nothing(_size: u64, window: Duration) -> Result<Answer, Failure> {
    count(window, |number| {
        black_box(number);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_for_the_window() {
        let client = find("nothing").unwrap();
        let window = Duration::from_millis(2);
        let Ok(Answer::Rate { calls, nanoseconds }) = client.local(1, window) else {
            panic!("no rate");
        };
        assert!(calls >= BATCH && nanoseconds >= 2_000_000);
        assert!(find("something").is_err());
        assert!(client.echo().is_err() && client.oneways(window).is_err());
        assert!(count(window, |_| Err("broken".into())).is_err());
    }
}
