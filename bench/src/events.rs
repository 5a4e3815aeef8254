//! `event-throughput`: one supplier, a channel, and consumers, each a process of its own on
//! loopback; how many events a second come all the way to every consumer.
//!
//! `measures.rs` calls [`measure`], which starts the three processes (`events/channels.rs`), has
//! the supplier publish ever more events until a run takes the time asked for, and checks that
//! every consumer got each event of each run, in order. The processes of ours are in
//! `events/corbie.rs`, those of the peers in `bench/peers/events`; all count as [`Tally`] does.

mod channels;
pub(crate) mod corbie;
mod typed;

/// What `build.rs` made of `idl/ticks.idl`.
mod typed_idl {
    corbie::include_idl!("ticks");
}

use crate::driver::Failure;
use crate::local::Task;
use crate::orders::Answer;
use crate::process::Process;
use rustix::time::{ClockId, clock_gettime};
use std::fs::OpenOptions;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Octets of the smallest event: its number, and whether it is the last of a run.
pub(crate) const EVENT_OCTETS: usize = 9;

/// Events of the first run.
const FIRST_RUN: u64 = 200;

/// Has events of so many octets published through the channel that the words name, as they say it
/// is to be used, to so many consumers.
///
/// # Errors
/// When a process does not start or fails, or an event is lost or comes out of its order.
pub(crate) fn measure(task: &Task<'_>, octets: usize) -> Result<Answer, Failure> {
    if octets < EVENT_OCTETS {
        return Err(format!("an event has at least {EVENT_OCTETS} octets").into());
    }
    let system = channels::start(task.word(0)?, task.word(1)?)?;
    // What the processes have to say is for the process that started this one.
    let log = OpenOptions::new().write(true).open("/dev/stderr")?;
    let mut consumers = Process::start(&system.consumers(task.size), None, &log)?;
    expect_ready(&consumers)?;
    let mut supplier = Process::start(&system.supplier(octets), None, &log)?;
    expect_ready(&supplier)?;
    let mut events = FIRST_RUN;
    loop {
        let took = run(&mut supplier, &mut consumers, events, task.size)?;
        if took >= task.window * 3 / 4 {
            return Ok(Answer::Rate { calls: events, nanoseconds: took.as_nanos() as u64 });
        }
        let scale = task.window.as_secs_f64() / took.as_secs_f64().max(1e-6);
        events = (events as f64 * scale.min(20.0)).ceil() as u64;
    }
}

fn expect_ready(process: &Process) -> Result<(), Failure> {
    match process.line()?.as_str() {
        "ready" => Ok(()),
        other => Err(format!("`{other}` instead of `ready`").into()),
    }
}

/// Has so many events published, and waits until each consumer has the last; how long it took.
fn run(
    supplier: &mut Process,
    consumers: &mut Process,
    events: u64,
    count: u64,
) -> Result<Duration, Failure> {
    supplier.say(&format!("publish {events}"))?;
    let sent = numbers(&supplier.line()?, "sent")?;
    let took = numbers(&consumers.line().map_err(|e| format!("the last event: {e}"))?, "took")?;
    let (&[sent, began], &[taken, wrong, ended]) = (sent.as_slice(), took.as_slice()) else {
        return Err(format!("{sent:?} and {took:?} are no account of a run").into());
    };
    if sent != events || taken != events * count || wrong != 0 {
        let due = events * count;
        return Err(format!(
            "of {due} events for {count} consumers {taken} came, {wrong} of them not in order"
        )
        .into());
    }
    Ok(Duration::from_nanos(ended.saturating_sub(began)))
}

fn numbers(line: &str, verb: &str) -> Result<Vec<u64>, Failure> {
    let mut words = line.split(' ');
    if words.next() != Some(verb) {
        return Err(format!("`{line}` instead of `{verb} …`").into());
    }
    Ok(words.map(str::parse).collect::<Result<_, _>>()?)
}

/// The clock that all processes of the machine have in common, in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Writes an event's number, and whether it is the last of its run.
pub(crate) fn number_event(octets: &mut [u8], number: u64, is_last: bool) {
    if let Some((first, rest)) = octets.split_first_chunk_mut::<8>() {
        *first = number.to_le_bytes();
        if let Some(flag) = rest.first_mut() {
            *flag = u8::from(is_last);
        }
    }
}

/// Counts what each consumer of a process gets in a run.
pub(crate) struct Tally {
    consumers: Vec<Count>,
    left: AtomicUsize,
}

/// In a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Count {
    taken: AtomicU64,
    wrong: AtomicU64,
}

impl Tally {
    pub(crate) fn new(consumers: usize) -> Self {
        let counts = std::iter::repeat_with(Count::default).take(consumers).collect();
        Self { consumers: counts, left: AtomicUsize::new(consumers) }
    }

    /// A consumer got an event; when that was the last of the run for all of them, what is to be
    /// said of the run. A consumer's events come one after the other.
    pub(crate) fn took(&self, consumer: usize, octets: &[u8]) -> Option<String> {
        let count = self.consumers.get(consumer)?;
        let number = octets.first_chunk::<8>().map(|first| u64::from_le_bytes(*first));
        let taken = count.taken.load(Ordering::Relaxed);
        if number != Some(taken) {
            count.wrong.fetch_add(1, Ordering::Relaxed);
        }
        count.taken.store(taken + 1, Ordering::Relaxed);
        let is_last = octets.get(8).is_some_and(|flag| *flag != 0);
        (is_last && self.left.fetch_sub(1, Ordering::AcqRel) == 1).then(|| self.conclude())
    }

    #[cold]
    fn conclude(&self) -> String {
        let at = now();
        let sum = |of: fn(&Count) -> &AtomicU64| {
            self.consumers.iter().map(|count| of(count).swap(0, Ordering::Relaxed)).sum::<u64>()
        };
        let (taken, wrong) = (sum(|count| &count.taken), sum(|count| &count.wrong));
        self.left.store(self.consumers.len(), Ordering::Release);
        format!("took {taken} {wrong} {at}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64, is_last: bool) -> Vec<u8> {
        let mut octets = vec![0; 64];
        number_event(&mut octets, number, is_last);
        octets
    }

    #[test]
    fn a_run_ends_with_the_last_event_of_the_last_consumer() {
        let tally = Tally::new(2);
        for run in 0..2 {
            assert_eq!(tally.took(0, &event(0, false)), None);
            assert_eq!(tally.took(0, &event(1, true)), None, "run {run}");
            assert_eq!(tally.took(1, &event(0, false)), None);
            let text = tally.took(1, &event(1, true)).unwrap();
            assert_eq!(numbers(&text, "took").unwrap()[..2], [4, 0]);
        }
        let text = [event(1, false), event(0, true)].map(|e| (tally.took(0, &e), e));
        assert!(text.iter().all(|(said, _)| said.is_none()));
        let text = tally.took(1, &event(0, true)).unwrap();
        assert_eq!(numbers(&text, "took").unwrap()[..2], [3, 2], "two came in the wrong place");
    }

    #[test]
    fn an_account_that_is_none_is_refused() {
        assert!(numbers("sent 5 x", "sent").is_err());
        assert!(numbers("error 5", "sent").is_err());
    }
}
