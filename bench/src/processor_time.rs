//! How much of a core client, middle tier and server used: a load generator that is itself the
//! limit measures nothing.
//!
//! Read from `/proc/PID/stat` around every order (`experiment.rs`); the kernel counts in ticks of
//! 10 ms, so short orders give coarse numbers and those below 100 ms none.

use crate::statistics::Metric;
use std::fs;
use std::time::{Duration, Instant};

/// The kernel's unit in `/proc/PID/stat` (`USER_HZ`, 100 on every Linux that this runs on).
const TICK: Duration = Duration::from_millis(10);

/// The metric for a process, and its ticks.
type Used = (&'static str, Option<u64>);

/// Ticks used so far by each process, and when that was read.
#[derive(Clone)]
pub(crate) struct ProcessorTime {
    ticks: Vec<Used>,
    when: Instant,
}

impl ProcessorTime {
    /// Reads processes, each with the name of the metric for its share.
    pub(crate) fn of(processes: &[(&'static str, u32)]) -> ProcessorTime {
        let read = |&(name, process): &(&'static str, u32)| (name, ticks(process));
        ProcessorTime { ticks: processes.iter().map(read).collect(), when: Instant::now() }
    }

    /// Shares of one core since then, in percent (200: two cores).
    pub(crate) fn since(&self, before: &ProcessorTime) -> Vec<Metric> {
        let elapsed = self.when - before.when;
        if elapsed < 10 * TICK {
            return Vec::new();
        }
        let share = |(now, then): (&Used, &Used)| {
            let ticks = now.1?.saturating_sub(then.1?) as f64;
            Some((now.0, 100.0 * ticks * TICK.as_secs_f64() / elapsed.as_secs_f64()))
        };
        self.ticks.iter().zip(&before.ticks).filter_map(share).collect()
    }
}

/// User and system time of a process with all its threads, ended ones too.
fn ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    parse_ticks(&stat)
}

/// Fields 14 and 15; the name in field 2 may hold anything, so counting starts behind its closing
/// parenthesis.
fn parse_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_and_parentheses_do_not_shift_the_fields() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 70 8 0 0 20 0 1";
        assert_eq!(parse_ticks(stat), Some(78));
        assert_eq!(parse_ticks("nonsense"), None);
    }

    #[test]
    fn a_busy_process_has_its_share() {
        let processes = [("client_cpu_pct", std::process::id()), ("server_cpu_pct", u32::MAX)];
        let before = ProcessorTime::of(&processes);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(150) {
            std::hint::black_box(start);
        }
        let shares = ProcessorTime::of(&processes).since(&before);
        assert_eq!(shares.len(), 1, "there is no process {}", u32::MAX);
        assert!(shares[0].1 > 5.0, "{shares:?}");
    }
}
