//! What the processes of a system have done, and how it spread over the replicas of a component:
//! requests, and time of processors.
//!
//! Read by `system.rs` before and after the requests that count.

use crate::orders::Shares;
use std::fs;
use std::io;
use std::time::Duration;

/// What one process has done.
#[derive(Clone, Debug)]
pub(super) struct Done {
    /// Its component.
    pub(super) kind: &'static str,
    /// Requests of the flow that reached it.
    pub(super) requests: u64,
    /// What it used of processors.
    pub(super) time: Duration,
}

/// What every process has done.
#[derive(Clone, Debug)]
pub(super) struct Work(pub(super) Vec<Done>);

impl Work {
    /// What was done since then.
    pub(super) fn since(&self, before: &Work) -> Work {
        let less = |(now, then): (&Done, &Done)| Done {
            kind: now.kind,
            requests: now.requests.saturating_sub(then.requests),
            time: now.time.saturating_sub(then.time),
        };
        Work(self.0.iter().zip(&before.0).map(less).collect())
    }

    /// Of all processes.
    pub(super) fn processor_time(&self) -> Duration {
        self.0.iter().map(|done| done.time).sum()
    }

    /// The part of the busiest among several.
    pub(super) fn shares(&self) -> Shares {
        let requests = |done: &Done| done.requests;
        let time = |done: &Done| done.time.as_nanos() as u64;
        let server = self.share("status", requests).max(self.share("requirements", requests));
        let advisor = self.share("advisor", requests);
        Shares { advisor, server, channel: self.share("events", time) }
    }

    /// In millionths; 0 where there is one, or none.
    fn share(&self, kind: &str, of: impl Fn(&Done) -> u64) -> u64 {
        let parts: Vec<u64> = self.0.iter().filter(|d| d.kind == kind).map(of).collect();
        let all: u64 = parts.iter().sum();
        let most = parts.iter().copied().max().unwrap_or(0);
        if parts.len() < 2 || all == 0 {
            return 0;
        }
        most.saturating_mul(1_000_000) / all
    }
}

/// What the threads of a process have run, which the kernel keeps in nanoseconds (ticks of 10 ms
/// would be too coarse). Threads that ended meanwhile are lost; MSHN's live on.
///
/// # Errors
/// When the process has ended.
pub(super) fn time_of_process(process: u32) -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end while the folder is read.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let first = text.split_ascii_whitespace().next();
        nanoseconds += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    fn done(kind: &'static str, requests: u64, ms: u64) -> Done {
        Done { kind, requests, time: Duration::from_millis(ms) }
    }

    #[test]
    fn the_busiest_replica_has_its_share() {
        let before = Work(vec![done("advisor", 5, 1), done("advisor", 5, 1), done("status", 9, 9)]);
        let now = Work(vec![done("advisor", 35, 2), done("advisor", 15, 3), done("status", 49, 9)]);
        let work = now.since(&before);
        assert_eq!(work.processor_time(), Duration::from_millis(3));
        let shares = work.shares();
        assert_eq!(shares, Shares { advisor: 750_000, server: 0, channel: 0 });
    }

    #[test]
    fn a_process_that_computes_has_time() {
        // A process of its own: threads of other tests end meanwhile, and their time with them.
        let mut shell = Command::new("sh");
        let mut child = shell.args(["-c", "while :; do :; done"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut time = Duration::ZERO;
        while time < Duration::from_millis(20) && Instant::now() < deadline {
            std::thread::yield_now();
            time = time_of_process(child.id()).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(time >= Duration::from_millis(20), "{time:?}");
        assert!(time_of_process(u32::MAX).is_err());
    }
}
