//! `corbie-simulate`: runs many seeds of the simulated network and says how far it is; stops at the
//! first that fails, with its plan and how to run it again. `cargo xtask simulate` starts it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use corbie_testkit::{Counts, simulate};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Seeds that a thread takes at a time.
const BATCH: u64 = 1_000;

struct Arguments {
    first: u64,
    seeds: u64,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments { first: 0, seeds: 1_000_000 };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{name} needs a number"))?;
        match &*name {
            "--seeds" => parsed.seeds = value,
            "--first" => parsed.first = value,
            "--seed" => parsed = Arguments { first: value, seeds: 1 },
            _ => return Err(format!("{name} is unknown: --seeds N, --first N, --seed N")),
        }
    }
    Ok(parsed)
}

/// Runs all seeds on all processors; what happened, or the first failure.
fn run(arguments: &Arguments) -> Result<Counts, String> {
    let end = arguments.first.saturating_add(arguments.seeds);
    let next = AtomicU64::new(arguments.first);
    let outcome = Mutex::new(Ok(Counts::default()));
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= end {
                return;
            }
            let mut counts = Counts::default();
            for seed in first..end.min(first + BATCH) {
                match simulate(seed) {
                    Ok(of_one) => counts.add(&of_one),
                    Err(what) => {
                        next.store(end, Ordering::Relaxed);
                        if let Ok(mut outcome) = outcome.lock() {
                            *outcome = Err(what);
                        }
                        return;
                    }
                }
            }
            if let Ok(mut outcome) = outcome.lock()
                && let Ok(total) = &mut *outcome
            {
                total.add(&counts);
            }
            let done = first + BATCH - arguments.first;
            if done.is_multiple_of(50 * BATCH) {
                let seconds = started.elapsed().as_secs();
                eprintln!("{done} of {} seeds in {seconds} s", arguments.seeds);
            }
        }
    };
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    outcome.into_inner().unwrap_or_else(|broken| broken.into_inner())
}

fn main() -> ExitCode {
    let started = Instant::now();
    let outcome = arguments().and_then(|arguments| Ok((run(&arguments)?, arguments.seeds)));
    match outcome {
        Ok((counts, seeds)) => {
            println!("{seeds} seeds in {:.1} s: {counts:?}", started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
