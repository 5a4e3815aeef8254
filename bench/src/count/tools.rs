//! The tools that count, and what they write: `strace -c`, `valgrind`, `/proc`.
//!
//! Called by `count.rs`; every parser is tested on what the tool really printed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Names and how often.
pub(crate) type Counts = BTreeMap<String, f64>;

/// A tool that runs one side and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// System calls by name.
    Strace,
    /// Allocations.
    Memcheck,
    /// Instructions by the file that they were written in.
    Callgrind,
}

impl Tool {
    /// For file names and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Strace => "strace",
            Tool::Memcheck => "valgrind-memcheck",
            Tool::Callgrind => "valgrind-callgrind",
        }
    }

    /// What goes before the program.
    pub(crate) fn command_line(self, file: &Path) -> Vec<String> {
        let file = file.display();
        let words = match self {
            Tool::Strace => format!("strace -f -c -U name,calls -o {file}"),
            Tool::Memcheck => format!("valgrind --leak-check=no --log-file={file}"),
            Tool::Callgrind => format!(
                "valgrind --tool=callgrind --callgrind-out-file={file} --log-file=/dev/null"
            ),
        };
        words.split(' ').map(str::to_owned).collect()
    }

    /// The counts in what the tool wrote.
    pub(crate) fn read(self, text: &str) -> Option<Counts> {
        match self {
            Tool::Strace => system_calls(text),
            Tool::Memcheck => {
                let (_, rest) = text.split_once("total heap usage: ")?;
                number(rest.split(' ').next()?).map(|n| [("allocations".to_owned(), n)].into())
            }
            Tool::Callgrind => instructions(text),
        }
    }
}

fn number(word: &str) -> Option<f64> {
    word.replace(',', "").parse().ok()
}

/// Lines `sendto   6007` between two rules, then a total.
fn system_calls(text: &str) -> Option<Counts> {
    let mut counts = Counts::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(count)) = (words.next(), words.next()) else { continue };
        if let (true, Some(count)) = (name != "total", number(count)) {
            counts.insert(name.to_owned(), count);
        }
    }
    (!counts.is_empty()).then_some(counts)
}

/// Functions with which a client sorts and prints its samples: how many of them differ depends on
/// the machine's mood. They are no part of a call.
const OF_THE_ANSWER: [&str; 9] = [
    "alloc::fmt",
    "core::fmt",
    "core::num",
    "core::slice::memchr",
    "core::slice::sort",
    "corbie_bench::orders",
    "std::io::Write",
    "std::io::buffered",
    "std::io::stdio",
];

/// Cost lines `LINE COST`, each of the file in the last `fl=`, `fi=` or `fe=` line and of the
/// function in the last `fn=` line. These give a name once and then its number: `fl=(3) /a/b.rs`,
/// `fl=(3)`. The line after `calls=` has what the callee took, which stands at the callee as well.
fn instructions(text: &str) -> Option<Counts> {
    let (mut files, mut functions) = (BTreeMap::new(), BTreeMap::new());
    let mut counts = Counts::new();
    let (mut file, mut function) = ("", "");
    let mut is_of_callee = false;
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or(("", ""));
        match key {
            "fl" | "fi" | "fe" => file = named(&mut files, value)?,
            "cfi" | "cfl" => _ = named(&mut files, value)?,
            "fn" => function = named(&mut functions, value)?,
            "cfn" => _ = named(&mut functions, value)?,
            "calls" => is_of_callee = true,
            _ if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) => {
                let cost = number(line.split(' ').nth(1)?)?;
                let is_counted = !OF_THE_ANSWER.iter().any(|part| function.contains(part));
                if !std::mem::take(&mut is_of_callee) && is_counted {
                    *counts.entry(file.to_owned()).or_default() += cost;
                }
            }
            _ => {}
        }
    }
    (!counts.is_empty()).then_some(counts)
}

/// The name in `(3) name`, or that which the number had before.
fn named<'t>(names: &mut BTreeMap<&'t str, &'t str>, value: &'t str) -> Option<&'t str> {
    let (id, name) = value.split_once(' ').unwrap_or((value, ""));
    if !name.is_empty() {
        names.insert(id, name);
    }
    names.get(id).copied()
}

/// Voluntary and other context switches of all threads that a process has now.
///
/// # Errors
/// When the process is gone.
pub(crate) fn switches(process: u32) -> io::Result<(f64, f64)> {
    let (mut voluntary, mut other) = (0.0, 0.0);
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end while the folder is read.
        let Ok(status) = fs::read_to_string(task?.path().join("status")) else { continue };
        let of_thread = switches_in(&status);
        voluntary += of_thread.0;
        other += of_thread.1;
    }
    Ok((voluntary, other))
}

/// The same in the `status` file of one thread.
fn switches_in(status: &str) -> (f64, f64) {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| number(rest.trim())).unwrap_or(0.0)
    };
    (field("voluntary_ctxt_switches:"), field("nonvoluntary_ctxt_switches:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_table_of_strace_is_read() {
        let text = "syscall              calls\n---------------- ---------\n\
                    recvfrom              6107\nsendto                6107\nmmap   25\n\
                    ---------------- ---------\ntotal                12239\n";
        let counts = Tool::Strace.read(text).unwrap();
        assert_eq!(counts.len(), 3);
        assert_eq!(counts["recvfrom"], 6_107.0);
        assert_eq!(Tool::Strace.read("strace: not found"), None);
    }

    #[test]
    fn the_sums_of_valgrind_are_read() {
        let text = "==9== HEAP SUMMARY:\n==9==     in use at exit: 0 bytes in 0 blocks\n\
                    ==9==   total heap usage: 1,234 allocs, 1,234 frees, 5 bytes allocated\n";
        assert_eq!(Tool::Memcheck.read(text).unwrap()["allocations"], 1_234.0);
    }

    #[test]
    fn instructions_are_those_of_the_file_they_were_written_in() {
        let text = "version: 1\nevents: Ir\nsummary: 60\n\nob=(1) /x\nfl=(1) /w/a.rs\nfn=(1) a\n\
                    7 10\n+3 2\nfi=(2) /w/b.rs\n9 5\nfe=(1)\n* 1\ncfi=(3) /w/c.rs\ncfn=(2) c\n\
                    calls=4 9\n-1 40\n8 2\n\nfl=(3)\nfn=(2)\n9 40\n\nfl=(1)\n\
                    fn=(3) core::slice::sort::sort\n1 9\n\ntotals: 69\n";
        let counts = Tool::Callgrind.read(text).unwrap();
        let found: Vec<(&str, f64)> = counts.iter().map(|(file, n)| (&**file, *n)).collect();
        assert_eq!(found, [("/w/a.rs", 15.0), ("/w/b.rs", 5.0), ("/w/c.rs", 40.0)]);
        assert_eq!(Tool::Callgrind.read("killed"), None);
    }

    #[test]
    fn switches_are_counted() {
        // Of this thread: other tests' threads come and go.
        let of_this_thread =
            || switches_in(&fs::read_to_string("/proc/thread-self/status").unwrap()).0;
        let before = of_this_thread();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(1)); // tidy: sleep: gives up the core
        }
        assert!(of_this_thread() >= before + 15.0, "{before}");
        assert!(switches(std::process::id()).unwrap().0 > 0.0);
        assert!(switches(u32::MAX).is_err());
    }
}
