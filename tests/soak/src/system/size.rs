//! How large the server was: while it had clients, and after the last. It is compared with itself
//! within one life, as another process has another size.

use super::System;
use crate::participant::PATIENCE;
use crate::vitals::{Vitals, peaks, thirds};
use std::time::{Duration, Instant};

/// How many threads and descriptors may be more at the end than before the first client.
const SPARE: Vitals = Vitals { memory_kib: 0, threads: 8, descriptors: 16 };
/// What may be more in the last third of a life than in the first: caches of allocators, queues
/// that are full at one time and not at another; clients that are there at one time and not at
/// another. A leak of one with each kill is more in some minutes.
const GROWTH: Vitals = Vitals { memory_kib: 16 << 10, threads: 16, descriptors: 32 };
/// A life has to be so long for more than memory to be compared, and its beginning does not count.
const LONG: Duration = Duration::from_secs(30);
const WARM: Duration = Duration::from_secs(5);

/// What is compared: its name, how to take it, how to show it.
type Compared<'f> = (&'static str, fn(Vitals) -> u64, &'f dyn Fn(u64) -> String);

impl System {
    /// Threads and descriptors are given back, and memory does not grow.
    pub(super) fn judge_size(&mut self) {
        let process = self.server.process();
        let deadline = Instant::now() + PATIENCE;
        let idle = self.idle;
        let is_small = |now: &Vitals| {
            now.threads <= idle.threads + SPARE.threads
                && now.descriptors <= idle.descriptors + SPARE.descriptors
        };
        let last = loop {
            let now = Vitals::of(process).unwrap_or_default();
            if is_small(&now) || Instant::now() > deadline {
                break now;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        };
        self.report.samples = self.sampler.finish();
        self.report.check(is_small(&last), || {
            format!("without clients the server keeps {last:?}; before the first it had {idle:?}")
        });
        self.compare_thirds();
        let most = peaks(&self.report.samples);
        let before_and_after = [
            ("threads", idle.threads, most.threads, last.threads),
            ("descriptors", idle.descriptors, most.descriptors, last.descriptors),
        ];
        for (what, idle, most, last) in before_and_after {
            let what = format!("{what} of the server: before the first client, most, at the end");
            self.report.row(&what, format!("{idle}, {most}, {last}"));
        }
    }

    /// The last life of the server, while it was under load: its first third against its last.
    fn compare_thirds(&mut self) {
        let report = &mut self.report;
        let (Some((end, _)), Some((begin, _))) =
            (report.phases.last().copied(), report.phases.iter().rev().nth(1).copied())
        else {
            return;
        };
        let warm = (end.saturating_sub(begin) / 10).max(WARM);
        let is_long = end.saturating_sub(begin) >= LONG;
        let begin = if is_long { begin + warm } else { Duration::ZERO };
        let of_life = |(at, _): &&(Duration, Vitals)| (begin..end).contains(at);
        let life: Vec<_> = report.samples.iter().filter(of_life).copied().collect();
        let (first, last) = thirds(&life);
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        let number = |number: u64| number.to_string();
        let kinds: [Compared<'_>; 3] = [
            ("memory", |v| v.memory_kib, &mib),
            ("threads", |v| v.threads, &number),
            ("descriptors", |v| v.descriptors, &number),
        ];
        // Of a short one there are too few kills to compare more.
        for (what, of, show) in kinds.into_iter().take(if is_long { 3 } else { 1 }) {
            let (first, last, growth) = (of(first), of(last), of(GROWTH));
            report.check(last <= first + growth, || {
                let (first, last) = (show(first), show(last));
                format!("{what} of the server grew from {first} to {last} in one life")
            });
            let what = format!(
                "{what} of the server, {:.0} s: highest of the first, of the last third",
                end.saturating_sub(begin).as_secs_f64()
            );
            let found = format!("{}, {} (may grow by {})", show(first), show(last), show(growth));
            report.row(&what, found);
        }
    }
}
