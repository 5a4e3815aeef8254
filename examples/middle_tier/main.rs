//! Sources, a middle tier and a sink, three processes (paper AMH §4.1), in one command:
//! `cargo run --release --example middle_tier`. The sink takes 40 ms for each quote; the middle
//! tier holds many requests at once in one thread, by AMH and AMI, or with `-- --async` as an
//! `async fn`. The program starts itself again as sink and as middle tier.

// An example is a program: printing is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod executor;
mod progress;
mod sink;
mod sources;
mod tier;
mod tier_async;

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

/// The types made of `quotes.idl` by `build.rs`.
mod idl {
    corbie::include_idl!("quotes");
}

const HELP: &str = "\
usage: middle_tier [--async] [--clients N] [--calls N] [--delay MS] [-ORB...]
  --async      the middle tier as `async fn` instead of AMH and AMI callbacks
  --clients N  source clients, each with one call under way (50)
  --calls N    calls of each client (40)
  --delay MS   how long the sink takes for a quote (40)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((word, rest)) if word == "sink" => sink::run(rest),
        Some((word, rest)) if word == "tier" => tier::run(rest),
        Some((word, rest)) if word == "tier-async" => tier_async::run(rest),
        _ => demonstrate(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("middle_tier: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line says.
struct Plan {
    tier: &'static str,
    clients: usize,
    calls: usize,
    delay: Duration,
    /// For every ORB.
    orb: Vec<String>,
}

impl Plan {
    fn read(arguments: &[String]) -> Result<Plan, Box<dyn Error>> {
        let delay = Duration::from_millis(40);
        let mut plan = Plan { tier: "tier", clients: 50, calls: 40, delay, orb: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<usize, Box<dyn Error>> {
                let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                value.parse().map_err(|_| format!("`{word} {value}` is no number").into())
            };
            match word.as_str() {
                "--async" => plan.tier = "tier-async",
                "--clients" => plan.clients = number()?,
                "--calls" => plan.calls = number()?,
                "--delay" => plan.delay = Duration::from_millis(number()? as u64),
                _ if word.starts_with("-ORB") => plan.orb = arguments_from(arguments, word),
                _ => return Err(format!("what is `{word}`?\n{HELP}").into()),
            }
            if !plan.orb.is_empty() {
                break; // the ORB says itself what it does not know
            }
        }
        Ok(plan)
    }
}

fn arguments_from(arguments: &[String], word: &String) -> Vec<String> {
    arguments.iter().skip_while(|argument| *argument != word).cloned().collect()
}

/// Starts sink and middle tier, and is the sources.
fn demonstrate(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let plan = Plan::read(arguments)?;
    let delay = plan.delay.as_millis().to_string();
    let (sink, sink_reference) = start(&["sink", &delay], &plan.orb)?;
    let (tier, tier_reference) = start(&[plan.tier, &sink_reference], &plan.orb)?;
    println!(
        "{} clients make {} calls each; the sink takes {} ms for each",
        plan.clients,
        plan.calls,
        plan.delay.as_millis()
    );
    let outcome = sources::run(&tier_reference, &plan);
    for (mut process, name) in [(tier, "middle tier"), (sink, "sink")] {
        // Ends with its standard input, which `wait` closes.
        let status = process.wait()?;
        if !status.success() {
            return Err(format!("the {name} ended with {status}").into());
        }
    }
    outcome
}

/// Starts this program in a role; its first line is the reference of its object.
fn start(role: &[&str], orb: &[String]) -> Result<(Child, String), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(role).args(orb).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn()?;
    let output = process.stdout.take().ok_or("no standard output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    match line.trim() {
        "" => Err(format!("the {} ended before it had a reference", role[0]).into()),
        reference => Ok((process, reference.to_string())),
    }
}

/// What both servers add to the arguments for the ORB: loopback is for this example only, and one
/// thread in `Orb::run` does all the work.
fn server_arguments(arguments: &[String]) -> Vec<String> {
    let defaults =
        ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBServerConcurrency", "reactive"];
    defaults.iter().map(ToString::to_string).chain(arguments.iter().cloned()).collect()
}

/// Prints the reference and serves in this thread until standard input ends.
fn serve(orb: &corbie::Orb, reference: &str) {
    println!("{reference}");
    let ending = orb.clone();
    std::thread::spawn(move || {
        // An input that cannot be read has ended as well.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ending.shutdown(false);
    });
    orb.run();
}
