//! `cargo xtask test`: every check of the project in one go, as CI runs it. Steps run one after
//! another, each timed; a step that fails does not stop the others. At the end stand a table and
//! one line with the totals. A step whose tool is missing is named as missing, and counts as
//! failed with `--strict` (which `.ci/run` uses).

use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::Program;
use crate::terminal::say;
use crate::test_programs::Counts;
use crate::{delegate, quick_start, test_programs, tidy, tools, tutorial};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// With the number of tests that passed, when the step counts any.
    Passed {
        tests: usize,
        note: String,
    },
    Failed {
        tests: usize,
        passed: usize,
        why: String,
    },
    /// A tool is not there and could not be installed.
    Missing(String),
}

impl Outcome {
    fn of(result: Result<String, String>) -> Outcome {
        match result {
            Ok(note) => Outcome::Passed { tests: 0, note },
            Err(why) => Outcome::Failed { tests: 0, passed: 0, why },
        }
    }
}

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Path) -> Outcome,
}

const STEPS: [Step; 15] = [
    Step { name: "fmt", about: "rustfmt finds nothing to change", run: fmt },
    Step { name: "lock", about: "Cargo.lock agrees with the manifests", run: lock },
    Step { name: "tidy", about: "the rules that no compiler checks", run: run_tidy },
    Step { name: "clippy", about: "no warning in any target", run: clippy },
    Step { name: "minimum", about: "each feature of corbie builds alone, and none", run: minimum },
    Step { name: "codegen", about: "committed generated code is current", run: codegen },
    Step { name: "build", about: "programs and examples build", run: build },
    Step { name: "tests", about: "unit, integration and documentation tests", run: tests },
    Step { name: "doc", about: "the API documentation builds without warnings", run: doc },
    Step { name: "quick-start", about: "the examples, and the README's command", run: quick_start },
    Step {
        name: "tutorial",
        about: "the tutorial in an empty folder, by the packaged crates",
        run: tutorial,
    },
    Step { name: "book", about: "the book builds", run: book },
    Step { name: "deny", about: "licences, sources, bans, advisories", run: deny },
    Step { name: "fuzz", about: "every fuzz target, briefly", run: fuzz },
    Step { name: "interop", about: "omniORB and JacORB, both roles", run: interop },
];

#[derive(Default)]
struct Options {
    strict: bool,
    list: bool,
    only: Vec<String>,
    skip: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--strict" => options.strict = true,
                "--list" => options.list = true,
                "--only" | "--skip" => {
                    let name = arguments.next().map_or("", String::as_str);
                    if !STEPS.iter().any(|step| step.name == name) {
                        return Err(format!("`{argument}` needs a step's name, not `{name}`"));
                    }
                    let only = argument == "--only";
                    let names = if only { &mut options.only } else { &mut options.skip };
                    names.push(name.to_string());
                }
                other => return Err(format!("`test` does not know the option `{other}`")),
            }
        }
        Ok(options)
    }

    fn includes(&self, step: &Step) -> bool {
        let named = |names: &[String]| names.iter().any(|name| name == step.name);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

/// Runs the steps.
///
/// # Errors
/// When a step failed, or (with `--strict`) a tool was missing; without a sentence, since the table
/// has said it.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let options = Options::parse(arguments)?;
    let steps: Vec<&Step> = STEPS.iter().filter(|step| options.includes(step)).collect();
    if options.list {
        for step in &steps {
            say(&format!("{:11} {}", step.name, step.about));
        }
        return Ok(format!("{} steps", steps.len()));
    }
    let mut results = vec![];
    for (i, step) in steps.iter().enumerate() {
        println!("\n==> [{}/{}] {}: {}", i + 1, steps.len(), step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(root);
        let time = start.elapsed();
        println!("<== {} {}, {:.1} s", step.name, word(&outcome), time.as_secs_f64());
        results.push((*step, outcome, time));
    }
    print_summary(&results);
    let (passed, failed) = totals(results.iter().map(|(_, outcome, _)| outcome), options.strict);
    println!("\n{passed} passed, {failed} failed");
    if failed == 0 { Ok(String::new()) } else { Err(String::new()) }
}

fn print_summary(results: &[(&Step, Outcome, Duration)]) {
    println!("\n| step | result | time | |\n|---|---|---|---|");
    for (step, outcome, time) in results {
        let note = match outcome {
            Outcome::Passed { tests: 0, note } => note.clone(),
            Outcome::Passed { tests, note } => format!("{tests} tests {note}"),
            Outcome::Failed { why: note, .. } | Outcome::Missing(note) => note.clone(),
        };
        let seconds = time.as_secs_f64();
        println!("| {} | {} | {seconds:.1} s | {} |", step.name, word(outcome), note.trim());
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed { .. } => "passed",
        Outcome::Failed { .. } => "FAILED",
        Outcome::Missing(_) => "MISSING",
    }
}

/// What passed and what failed: a step counts as many as it has tests, or one.
fn totals<'a>(outcomes: impl Iterator<Item = &'a Outcome>, strict: bool) -> (usize, usize) {
    let (mut passed, mut failed) = (0, 0);
    for outcome in outcomes {
        match outcome {
            Outcome::Passed { tests, .. } => passed += tests.max(&1),
            Outcome::Failed { tests, passed: good, .. } => {
                passed += good;
                failed += tests.max(&1);
            }
            Outcome::Missing(_) if strict => failed += 1,
            Outcome::Missing(_) => {}
        }
    }
    (passed, failed)
}

fn cargo(root: &Path, line: &str) -> Outcome {
    Outcome::of(Program::new(root, line).run().map(|()| String::new()))
}

fn fmt(root: &Path) -> Outcome {
    cargo(root, "cargo fmt --all --check")
}

/// By now cargo has corrected a stale lock file, so what tells is that it differs from the commit
/// while no manifest does.
fn lock(root: &Path) -> Outcome {
    let changed = Program::new(root, "git diff --name-only HEAD").capture();
    let Ok((changed, true)) = changed else {
        let note = "no git here to compare with".to_string();
        return Outcome::Passed { tests: 0, note };
    };
    if lock_is_stale(&changed) {
        let why = "run `cargo fetch` and commit Cargo.lock".to_string();
        return Outcome::Failed { tests: 0, passed: 0, why };
    }
    Outcome::Passed { tests: 0, note: String::new() }
}

fn lock_is_stale(changed: &str) -> bool {
    let mut files = changed.lines();
    let manifest_changed = changed.lines().any(|file| file.ends_with("Cargo.toml"));
    files.any(|file| file == "Cargo.lock") && !manifest_changed
}

fn run_tidy(root: &Path) -> Outcome {
    Outcome::of(tidy::run(root, &[]))
}

fn clippy(root: &Path) -> Outcome {
    cargo(root, "cargo clippy --quiet --workspace --all-targets --keep-going -- -D warnings")
}

/// Features only add, so each has to do without the others (paper POA §2.5.3).
fn minimum(root: &Path) -> Outcome {
    const FEATURES: [&str; 7] = [
        "adapter-activators",
        "config-file",
        "dynamic",
        "interceptors",
        "messaging",
        "servant-managers",
        "signals",
    ];
    let none = "cargo clippy --quiet --package corbie-footprint --no-default-features";
    let mut lines = vec![format!("{none} -- -D warnings")];
    lines.extend(FEATURES.map(|feature| {
        format!(
            "cargo clippy --quiet --package corbie --no-default-features --features {feature} -- \
             -D warnings"
        )
    }));
    for line in lines {
        let outcome = cargo(root, &line);
        if !matches!(outcome, Outcome::Passed { .. }) {
            return outcome;
        }
    }
    Outcome::of(Ok("none, and each alone".to_string()))
}

fn codegen(root: &Path) -> Outcome {
    Outcome::of(delegate::codegen(root, &["--check".to_string()]))
}

fn build(root: &Path) -> Outcome {
    cargo(root, "cargo build --quiet --workspace --bins --examples --keep-going")
}

fn tests(root: &Path) -> Outcome {
    // Tests pass over what is missing, and name it; the step `interop` counts it.
    for sentence in tools::peers_missing(root) {
        println!("{sentence}");
    }
    let (Counts { passed, failed, ignored }, result) = test_programs::run(root);
    let note = if ignored == 0 { String::new() } else { format!("({ignored} ignored)") };
    match result {
        Ok(()) => Outcome::Passed { tests: passed, note },
        Err(why) => Outcome::Failed { tests: failed, passed, why },
    }
}

fn doc(root: &Path) -> Outcome {
    let program = Program::new(root, "cargo doc --quiet --workspace --no-deps --keep-going");
    let program = program.variable("RUSTDOCFLAGS", "-D warnings");
    Outcome::of(program.run().map(|()| String::new()))
}

fn quick_start(root: &Path) -> Outcome {
    Outcome::of(quick_start::run(root, &[]))
}

fn tutorial(root: &Path) -> Outcome {
    Outcome::of(tutorial::run(root, &[]))
}

fn book(root: &Path) -> Outcome {
    let mdbook = match tools::cargo_tool(root, "mdbook") {
        Ok(path) => path,
        Err(why) => return Outcome::Missing(why),
    };
    let line = format!("{} build docs --dest-dir ../target/book", mdbook.display());
    let note = "target/book/index.html".to_string();
    Outcome::of(Program::new(root, &line).run().map(|()| note))
}

/// Licences, sources and bans need nothing from outside. Advisories need RustSec's database,
/// which is a git repository on GitHub: where that cannot be reached, the step says so.
fn deny(root: &Path) -> Outcome {
    let deny = match tools::cargo_tool(root, "cargo-deny") {
        Ok(path) => path,
        Err(why) => return Outcome::Missing(why),
    };
    let deny = deny.display();
    let line = format!("{deny} --workspace --locked check bans licenses sources");
    if let Err(why) = Program::new(root, &line).run() {
        return Outcome::Failed { tests: 0, passed: 0, why };
    }
    let line = format!("timeout 120 {deny} --workspace --locked check advisories");
    let checked = "bans, licences, sources".to_string();
    match Program::new(root, &line).capture() {
        Ok((_, true)) => Outcome::Passed { tests: 0, note: format!("{checked}, advisories") },
        Ok((text, false)) if database_unreachable(&text) => {
            println!("the advisory database cannot be fetched from here; advisories not checked");
            let note = format!("{checked}; advisories NOT checked: database unreachable");
            Outcome::Passed { tests: 0, note }
        }
        Ok((text, false)) => {
            println!("{text}");
            Outcome::Failed { tests: 0, passed: 0, why: "an advisory applies".to_string() }
        }
        Err(why) => Outcome::Missing(why),
    }
}

/// Told apart from an advisory that applies.
fn database_unreachable(text: &str) -> bool {
    text.contains("failed to fetch advisory database")
}

fn fuzz(root: &Path) -> Outcome {
    Outcome::of(delegate::fuzz(root, &[]))
}

fn interop(root: &Path) -> Outcome {
    let missing = tools::peers_missing(root);
    for sentence in &missing {
        println!("{sentence}");
    }
    if missing.is_empty() {
        return Outcome::of(delegate::interop(root, &[]));
    }
    // What is there is run all the same.
    match delegate::interop(root, &["--allow-missing".to_string()]) {
        Ok(_) => Outcome::Missing(missing.join("; ")),
        Err(why) => Outcome::Failed { tests: 0, passed: 0, why },
    }
}

#[cfg(test)]
mod tests_of_test {
    use super::*;

    #[test]
    fn totals_count_steps_without_tests_as_one_and_missing_only_when_strict() {
        let outcomes = [
            Outcome::Passed { tests: 0, note: String::new() },
            Outcome::Passed { tests: 5, note: String::new() },
            Outcome::Failed { tests: 2, passed: 3, why: String::new() },
            Outcome::Missing(String::new()),
        ];
        assert_eq!(totals(outcomes.iter(), false), (9, 2));
        assert_eq!(totals(outcomes.iter(), true), (9, 3));
    }

    #[test]
    fn options_choose_steps() {
        let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let options = Options::parse(&words("--only fmt --only tidy --skip tidy")).unwrap();
        let chosen: Vec<_> = STEPS.iter().filter(|s| options.includes(s)).map(|s| s.name).collect();
        assert_eq!(chosen, ["fmt"]);
        assert!(Options::parse(&words("--only nothing")).is_err());
        assert!(Options::parse(&words("--fast")).is_err());
    }

    #[test]
    fn a_lock_that_changed_by_itself_is_stale() {
        assert!(lock_is_stale("Cargo.lock\nREADME.md\n"));
        assert!(!lock_is_stale("Cargo.lock\nwire/cdr/Cargo.toml\n"));
        assert!(!lock_is_stale("README.md\n"));
    }

    #[test]
    fn an_advisory_is_told_from_a_missing_database() {
        assert!(database_unreachable("error: failed to fetch advisory database"));
        assert!(!database_unreachable("error[vulnerability]: overflow in x"));
    }
}
