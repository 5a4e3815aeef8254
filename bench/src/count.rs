//! `corbie-bench count`: what one call costs besides time: system calls, context switches,
//! allocations, instructions and the source files that it runs through, on each side by itself.
//!
//! Every number is a difference: the side is run under a tool (`strace`, `valgrind`) with few calls
//! and again with many, and the difference of the two counts is divided by the difference of the
//! calls. Whatever starting and connecting cost falls out, and what remains is the steady state.

mod files;
mod tools;

use crate::contender::{Contender, Roster};
use crate::experiments::ami_latency;
use crate::orders::Order;
use crate::placement::Pin;
use crate::process::Process;
use crate::table::number;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tools::{Counts, Tool};

/// Calls of the short run and of the long one.
const CALLS: [u64; 2] = [10_000, 20_000];
/// How long a side may take to end; `valgrind` is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is counted, and how it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where the tools write.
    pub(crate) out: PathBuf,
    /// Part of a contender's name.
    pub(crate) only: Option<String>,
    /// The `corbie-bench` whose calls are counted, perhaps of another checkout; this one without.
    pub(crate) program: Option<PathBuf>,
    /// Whether the files of a call are listed.
    pub(crate) lists_files: bool,
}

/// The two processes of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Counts for every contender whose name contains `only`, as Markdown.
///
/// # Errors
/// When nothing can be started at all; a tool or contender that is missing is named in the table.
pub(crate) fn count(roster: &Roster, options: &Options, log: &File) -> io::Result<String> {
    let mut page = String::from(
        "# What a call costs (one thread; both processes on one core, those that spin on two)\n\n\
         | series | side | system calls per call | allocations | instructions | files | \
         context switches (voluntary, other) |\n|---|---|---|---:|---:|---:|---:|\n",
    );
    let mut lists = String::new();
    let only = options.only.as_deref();
    for contender in ami_latency::contenders() {
        let awaited = roster.server(&contender).is_err();
        if awaited
            || contender.stays_warm()
            || only.is_some_and(|only| !contender.series.contains(only))
        {
            continue; // a JVM compiles while it runs: differences say nothing
        }
        for side in [Side::Client, Side::Server] {
            let found = one_side(roster, &contender, side, &options.out, log);
            let name = format!("{} {}", contender.series, contender.config);
            let name = format!("{} | {}", name.trim_end(), format!("{side:?}").to_lowercase());
            let _ = match found {
                Ok((line, files)) => {
                    let files: Vec<String> = files.into_iter().collect();
                    let _ = writeln!(lists, "\n## {name}\n\n{}", files.join("\n"));
                    writeln!(page, "| {name} | {line} |")
                }
                Err(reason) => writeln!(page, "| {name} | missing: {reason} |||||"),
            };
        }
    }
    if options.lists_files {
        page.push_str(&lists);
    }
    Ok(page)
}

fn one_side(
    roster: &Roster,
    contender: &Contender,
    side: Side,
    out: &Path,
    log: &File,
) -> Result<(String, BTreeSet<String>), String> {
    let per_call = |tool| difference(roster, contender, side, tool, out, log);
    let calls = per_call(Tool::Strace).map(|counts| words(&counts));
    let sum = |counts: &Counts| number(counts.values().sum());
    let (calls, allocations) = (calls?, per_call(Tool::Memcheck));
    let allocations = allocations.as_ref().map_or_else(Clone::clone, sum);
    let instructions = per_call(Tool::Callgrind);
    let files = instructions.as_ref().map(files::of_a_call).unwrap_or_default();
    let instructions = instructions.as_ref().map_or_else(Clone::clone, sum);
    let switches = switches(roster, contender, side, log).map_err(|e| e.to_string())?;
    let count = files.len();
    Ok((format!("{calls} | {allocations} | {instructions} | {count} | {switches}"), files))
}

/// `sendto 1.00, recvfrom 1.00`: what happens at least once in a hundred calls.
fn words(counts: &Counts) -> String {
    let often = counts.iter().filter(|(_, count)| **count >= 0.01);
    let words: Vec<String> = often.map(|(name, count)| format!("{name} {count:.2}")).collect();
    words.join(", ")
}

/// What one call adds to a tool's counts.
fn difference(
    roster: &Roster,
    contender: &Contender,
    side: Side,
    tool: Tool,
    out: &Path,
    log: &File,
) -> Result<Counts, String> {
    let mut runs = Vec::new();
    for calls in CALLS {
        let file = out.join(format!("count-{}.txt", tool.name()));
        let _ = fs::remove_file(&file); // of the run before
        session(roster, contender, side, Some((tool, &file)), calls, log, |_| ())
            .map_err(|e| e.to_string())?;
        let text =
            fs::read_to_string(&file).map_err(|e| format!("{} wrote nothing: {e}", tool.name()))?;
        runs.push(tool.read(&text).ok_or_else(|| format!("{}: no counts", tool.name()))?);
    }
    Ok(per_call(&runs[0], &runs[1], (CALLS[1] - CALLS[0]) as f64))
}

fn per_call(short: &Counts, long: &Counts, calls: f64) -> Counts {
    let added = |(name, count): (&String, &f64)| {
        let count = (count - short.get(name).unwrap_or(&0.0)) / calls;
        (name.clone(), count)
    };
    long.iter().map(added).collect()
}

/// Starts both sides, one of them under a tool, makes the calls, looks, and ends them.
fn session<T>(
    roster: &Roster,
    contender: &Contender,
    side: Side,
    tool: Option<(Tool, &Path)>,
    calls: u64,
    log: &File,
    look: impl FnOnce((&Process, &Process)) -> T,
) -> io::Result<T> {
    let under = |this: Side| match tool {
        Some((tool, file)) if this == side => tool.command_line(file),
        _ => Vec::new(),
    };
    let launch = roster.server(contender).map_err(io::Error::other)?.under(&under(Side::Server));
    // Two that spin on one core would take it from each other for whole time slices.
    let pin = if contender.series.contains("spin") { Pin::TwoCores } else { Pin::SameCore };
    let server = Process::start(&launch, pin.server(), log)?;
    let address = server.address()?;
    let launch =
        roster.client(contender, &address).map_err(io::Error::other)?.under(&under(Side::Client));
    let mut client = Process::start(&launch, pin.client(), log)?;
    client.obey(&Order::Latency { warm_up: 100, calls })?;
    let seen = look((&client, &server));
    client.end(PATIENCE)?;
    server.end(PATIENCE)?;
    Ok(seen)
}

/// Context switches a call, from `/proc`: threads that wait give the core up themselves.
fn switches(roster: &Roster, contender: &Contender, side: Side, log: &File) -> io::Result<String> {
    let mut runs = Vec::new();
    for calls in CALLS {
        let look = |(client, server): (&Process, &Process)| {
            tools::switches(if side == Side::Client { client.id() } else { server.id() })
        };
        runs.push(session(roster, contender, side, None, calls, log, look)??);
    }
    let calls = (CALLS[1] - CALLS[0]) as f64;
    let (voluntary, other) = (runs[1].0 - runs[0].0, runs[1].1 - runs[0].1);
    Ok(format!("{}, {}", number(voluntary / calls), number(other / calls)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starting_costs_falls_out() {
        let counts = |pairs: &[(&str, f64)]| -> Counts {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let short = counts(&[("sendto", 1_007.0), ("mmap", 30.0)]);
        let long = counts(&[("sendto", 6_007.0), ("mmap", 30.0), ("poll", 2_500.0)]);
        let found = per_call(&short, &long, 5_000.0);
        assert_eq!(found, counts(&[("sendto", 1.0), ("mmap", 0.0), ("poll", 0.5)]));
        assert_eq!(words(&found), "poll 0.50, sendto 1.00");
    }
}
