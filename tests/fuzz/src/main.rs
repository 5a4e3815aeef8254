//! `corbie-fuzz`: runs the fuzz targets over mutations of their corpora for a while, without
//! libFuzzer.
//!
//! `corbie-fuzz [--seconds N] [--seed N] [--list] [--write-corpus] [TARGET…]`: N seconds for each
//! target (default 3). An input that makes a target panic is saved to `corpus/<target>/found-…` and
//! printed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use corbie_fuzz::{TARGETS, Target, corpus, mutation};
use corbie_testkit::Seed;

struct Arguments {
    seconds: u64,
    seed: u64,
    list: bool,
    write_corpus: bool,
    targets: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("corbie-fuzz: {message}");
            return ExitCode::from(2);
        }
    };
    let chosen = |target: &&Target| {
        arguments.targets.is_empty() || arguments.targets.iter().any(|name| name == target.name)
    };
    let mut failures = 0;
    for target in TARGETS.iter().filter(chosen) {
        if arguments.list {
            println!("{}", target.name);
        } else if arguments.write_corpus {
            if let Err(error) = corpus::write(target.name) {
                eprintln!("corbie-fuzz: {}: {error}", target.name);
                failures += 1;
            }
        } else {
            failures += u32::from(!run(*target, &arguments));
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut arguments = Arguments {
        seconds: 3,
        seed: now.as_secs(),
        list: false,
        write_corpus: false,
        targets: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("{word}: {value:?} is not a number"))
        };
        match word.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--seed" => arguments.seed = number()?,
            "--list" => arguments.list = true,
            "--write-corpus" => arguments.write_corpus = true,
            name if TARGETS.iter().any(|target| target.name == name) => {
                arguments.targets.push(word);
            }
            other => return Err(format!("{other:?} is no option and no target; see --list")),
        }
    }
    Ok(arguments)
}

/// Runs one target until the time is over; whether it stood.
fn run(target: Target, arguments: &Arguments) -> bool {
    let inputs: Vec<Vec<u8>> = match corpus::read(target.name) {
        Ok(inputs) if !inputs.is_empty() => inputs.into_iter().map(|(_, octets)| octets).collect(),
        _ => vec![Vec::new()],
    };
    let mut seed = Seed::new(arguments.seed);
    let deadline = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut runs = 0u64;
    while !runs.is_multiple_of(64) || Instant::now() < deadline {
        let input = &inputs[seed.below(inputs.len())];
        let other = &inputs[seed.below(inputs.len())];
        let mutant = mutation::mutate(input, other, &mut seed);
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&mutant))).is_err() {
            save(target, &mutant);
            return false;
        }
        runs += 1;
    }
    println!("{:24} {runs:>9} runs of {} inputs, nothing found", target.name, inputs.len());
    true
}

fn save(target: Target, input: &[u8]) {
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, octet| {
        (sum ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = corpus::folder(target.name).join(format!("found-{sum:016x}"));
    let hex: String = input.iter().map(|octet| format!("{octet:02x}")).collect();
    eprintln!("{}: panicked on {hex}", target.name);
    match std::fs::write(&path, input) {
        Ok(()) => eprintln!("saved to {}", path.display()),
        Err(error) => eprintln!("not saved to {}: {error}", path.display()),
    }
}
