//! The step `tests` of `cargo xtask test`: builds every test program, then runs several of them at
//! once, since most of a test's time goes by in waiting. The output of a program is shown in one
//! piece when it ends. Programs that assert on times run afterwards, one at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::process::Program;

/// Test programs that measure latencies under load, and need the machine to themselves.
const ALONE: [&str; 6] =
    ["at_once", "hostile_hosts", "memory_budget", "peer_shares", "soak", "whole_run"];
const SLOWEST_SHOWN: usize = 12;

/// Sums of the lines `test result:`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

impl Counts {
    fn see(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<usize>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// A program to run, and what to call it.
struct Job {
    name: String,
    program: Program,
    alone: bool,
}

/// What the programs gave so far.
#[derive(Default)]
struct Results {
    counts: Counts,
    /// The names of the programs that failed.
    failures: Vec<String>,
    seconds: Vec<(f64, String)>,
}

/// Builds and runs all tests, the examples in the documentation among them.
///
/// # Errors
/// The counts, and which programs failed.
pub(crate) fn run(root: &Path) -> (Counts, Result<(), String>) {
    let jobs = match jobs(root) {
        Ok(jobs) => jobs,
        Err(why) => return (Counts::default(), Err(why)),
    };
    let (alone, together): (VecDeque<Job>, VecDeque<Job>) = jobs.into_iter().partition(|j| j.alone);
    let results = Mutex::new(Results::default());
    // One more than there are processors, since tests wait for each other's processes.
    let workers = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    run_jobs(together, workers, &results);
    run_jobs(alone, 1, &results);
    let Results { counts, failures, seconds } =
        results.into_inner().unwrap_or_else(PoisonError::into_inner);
    print_slowest(seconds);
    let result = match failures.as_slice() {
        [] => Ok(()),
        _ => Err(format!("failed: {}", failures.join(", "))),
    };
    (counts, result)
}

/// The test programs as cargo built them, and the examples in the documentation as one more job.
fn jobs(root: &Path) -> Result<VecDeque<Job>, String> {
    let build = "cargo test --quiet --workspace --no-run --message-format=json-render-diagnostics";
    let mut jobs = VecDeque::new();
    let built = Program::new(root, build).run_reading(|line| jobs.extend(job(root, line)));
    built?;
    if jobs.is_empty() {
        return Err("cargo built no test program".to_string());
    }
    // Cargo builds the commands and systems last, and their tests take longest: they begin first.
    let mut jobs: VecDeque<Job> = jobs.into_iter().rev().collect();
    let program = Program::new(root, "cargo test --quiet --workspace --doc --no-fail-fast");
    jobs.push_front(Job { name: "documentation".to_string(), program, alone: false });
    Ok(jobs)
}

/// The job in a line of cargo's, when it announces a test program.
fn job(root: &Path, line: &str) -> Option<Job> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let executable = message["executable"].as_str()?.to_string();
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let source = Path::new(message["target"]["src_path"].as_str()?);
    let folder = manifest.parent()?;
    // As cargo does it: `path+file:///checkout/orb/core#corbie-core@0.1.0`.
    let (_, package) = message["package_id"].as_str()?.rsplit_once('#')?;
    let (package, version) = package.split_once('@').unwrap_or(("", package));
    let program = Program::new(folder, "")
        .arguments(&[executable, "--quiet".to_string()])
        .variable("CARGO_MANIFEST_DIR", folder)
        .variable("CARGO_MANIFEST_PATH", &manifest)
        .variable("CARGO_PKG_NAME", package)
        .variable("CARGO_PKG_VERSION", version);
    let name = source.strip_prefix(root).unwrap_or(source).display().to_string();
    let alone = message["target"]["name"].as_str().is_some_and(|name| ALONE.contains(&name));
    Some(Job { name, program, alone })
}

fn run_jobs(jobs: VecDeque<Job>, workers: usize, results: &Mutex<Results>) {
    let jobs = Mutex::new(jobs);
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    run_job(&job, results);
                }
            });
        }
    });
}

fn run_job(job: &Job, results: &Mutex<Results>) {
    let begun = Instant::now();
    let (text, succeeded) = job.program.capture().unwrap_or_else(|why| (why, false));
    let seconds = begun.elapsed().as_secs_f64();
    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
    println!("\n     Running {} ({seconds:.1} s)\n{}", job.name, text.trim());
    text.lines().for_each(|line| results.counts.see(line));
    if !succeeded {
        results.failures.push(job.name.clone());
    }
    results.seconds.push((seconds, job.name.clone()));
}

fn print_slowest(mut seconds: Vec<(f64, String)>) {
    seconds.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("\nThe slowest test programs:");
    for (seconds, name) in seconds.iter().take(SLOWEST_SHOWN) {
        println!("{seconds:7.1} s  {name}");
    }
}

#[cfg(test)]
mod tests_of_test_programs {
    use super::*;

    #[test]
    fn cargo_results_are_summed() {
        let mut counts = Counts::default();
        counts.see("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        counts.see("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; finished");
        counts.see("a line of the test's own: 9 passed; 9 failed");
        assert_eq!(counts, Counts { passed: 15, failed: 2, ignored: 1 });
    }

    #[test]
    fn only_test_programs_are_run_and_those_that_measure_alone() {
        let root = Path::new("/checkout");
        let line = |name: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///checkout/a#b@0.1.0",
                "manifest_path":"/checkout/a/Cargo.toml","profile":{{"test":{test}}},
                "target":{{"name":"{name}","src_path":"/checkout/a/tests/{name}.rs"}},
                "executable":"/target/{name}"}}"#
            )
        };
        let found = job(root, &line("calls", true)).unwrap();
        assert_eq!((found.name.as_str(), found.alone), ("a/tests/calls.rs", false));
        assert!(job(root, &line("soak", true)).unwrap().alone);
        assert!(job(root, &line("calls", false)).is_none());
        assert!(job(root, "not JSON").is_none());
        assert!(job(root, r#"{"reason":"build-finished"}"#).is_none());
    }
}
