//! Everything that can be measured within one process, by name: the table that `local.rs` does not
//! know. [`find`] makes a client of a name; the harness drives it like any other.

use crate::driver::{Client, Failure};
use crate::local::{Task, count};
use crate::orders::Answer;
use crate::{buffers, collocation, demultiplexing, events, naming};
use std::hint::black_box;
use std::time::Duration;

/// Does one thing again and again for a while.
pub(crate) type Measure = fn(&Task<'_>) -> Result<Answer, Failure>;

/// Everything that can be measured locally, by name.
const MEASURES: &[(&str, Measure)] = &[
    ("nothing", nothing),
    ("buffers-pool-alone", buffers::pool_alone),
    ("buffers-heap-alone", buffers::heap_alone),
    ("buffers-pool-interfered", buffers::pool_interfered),
    ("buffers-heap-interfered", buffers::heap_interfered),
    ("depth", demultiplexing::depth::measure),
    ("servants", demultiplexing::servants::measure),
    ("operations", demultiplexing::operations::measure),
    ("reverse", demultiplexing::reverse::measure),
    ("naming", naming::measure),
    ("events", no_events),
    ("collocation", collocation::measure),
];

/// One of [`MEASURES`], and the words behind its name.
pub(crate) struct Local {
    measure: Measure,
    words: Vec<String>,
}

/// The measure that the first word names.
///
/// # Errors
/// When there is none.
pub(crate) fn find(mut words: Vec<String>) -> Result<Local, Failure> {
    if words.is_empty() {
        return Err("what is to be measured is missing".into());
    }
    let what = words.remove(0);
    let found = MEASURES.iter().find(|(name, _)| *name == what);
    let (_, measure) = found.ok_or_else(|| format!("no measure `{what}`"))?;
    Ok(Local { measure: *measure, words })
}

impl Client for Local {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        Err::<fn(i64) -> Result<i64, Failure>, _>(
            "there is no server: all is in one process".into(),
        )
    }

    fn oneways(&self, _window: Duration) -> Result<Answer, Failure> {
        Err("there is no server: all is in one process".into())
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        Err::<fn(&[u8], bool) -> Result<(), Failure>, _>("there is no server".into())
    }

    fn events(&self, consumers: u64, octets: usize, window: Duration) -> Result<Answer, Failure> {
        events::measure(&Task { size: consumers, window, words: &self.words }, octets)
    }

    fn local(&self, size: u64, window: Duration) -> Result<Answer, Failure> {
        (self.measure)(&Task { size, window, words: &self.words })
    }
}

/// Events have an order of their own, [`Order::Events`](crate::orders::Order::Events).
fn no_events(_task: &Task<'_>) -> Result<Answer, Failure> {
    Err("events are measured by the order `events`".into())
}

/// What the loop itself costs.
fn nothing(task: &Task<'_>) -> Result<Answer, Failure> {
    count(task.window, |number| {
        black_box(number);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::BATCH;

    #[test]
    fn operations_are_counted_for_the_window() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let client = find(words("nothing")).unwrap();
        let window = Duration::from_millis(2);
        let Ok(Answer::Rate { calls, nanoseconds }) = client.local(1, window) else {
            panic!("no rate");
        };
        assert!(calls >= BATCH && nanoseconds >= 2_000_000);
        assert!(find(words("something")).is_err() && find(vec![]).is_err());
        for way in [
            "depth active transient",
            "depth active persistent",
            "depth entered transient",
            "depth entered persistent",
            "depth per-level persistent",
            "servants active hot",
            "servants active random",
            "servants active sequential",
            "servants dynamic-hash random",
            "servants linear random",
            "servants full hot",
            "operations perfect hot",
            "operations perfect random",
            "operations binary random",
            "operations linear random",
            "operations dynamic-hash random",
            "reverse map",
            "reverse search",
            "reverse poa",
            "collocation dyn",
            "collocation direct",
            "collocation poa",
            "collocation none",
        ] {
            for size in [1, 100] {
                let Ok(Answer::Rate { calls, .. }) = find(words(way)).unwrap().local(size, window)
                else {
                    panic!("{way}: no rate");
                };
                assert!(calls >= BATCH, "{way}");
            }
        }
        for wrong in [
            "depth",
            "depth sideways",
            "servants active",
            "operations perfect upwards",
            "collocation far",
        ] {
            assert!(find(words(wrong)).unwrap().local(1, window).is_err(), "{wrong}");
        }
        assert!(client.echo().is_err() && client.oneways(window).is_err());
        assert!(count(window, |_| Err("broken".into())).is_err());
    }
}
