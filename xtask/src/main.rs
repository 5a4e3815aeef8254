//! `cargo xtask`: the project's own chores, one command each, in Rust so that a checkout and a
//! tool chain are all they need. Called by people and by `.ci/run`; CONTRIBUTING.md says when.
//! Compiled before everything else, so it has few dependencies and uses no other crate of ours.

// The task runner is a program: printing is its job.
#![allow(clippy::print_stdout, clippy::print_stderr)]

// layers: process terminal < tidy < delegate lines package quick_start test_programs tools <
// tutorial < test
mod delegate;
mod lines;
mod package;
mod process;
mod quick_start;
mod terminal;
mod test;
mod test_programs;
mod tidy;
mod tools;
mod tutorial;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terminal::say;

/// One command of the task runner.
struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    /// Takes the repository's root and the arguments after the name; gives one line for a
    /// summary, or the sentence that says why it failed.
    run: fn(&Path, &[String]) -> Result<String, String>,
}

/// The commands: the only list of them, for dispatch and help; `tidy` reads it for the check of the
/// documentation.
const COMMANDS: [Command; 16] = [
    Command {
        name: "tidy",
        arguments: "[--list | --shrink]",
        about: "check the rules that no compiler checks (layers, sizes, docs, unsafe, …)",
        run: tidy::run,
    },
    Command {
        name: "test",
        arguments: "[--strict] [--only STEP]… [--skip STEP]… [--list]",
        about: "everything: format, lints, tidy, tests, docs, book, licences, interop",
        run: test::run,
    },
    Command {
        name: "interop",
        arguments: "[ARGS…]",
        about: "run the peers' matrix (omniORB, JacORB) and print it",
        run: delegate::interop,
    },
    Command {
        name: "bench",
        arguments: "EXPERIMENT [--quick] [--out DIR] | --list",
        about: "run one of the papers' experiments in release",
        run: delegate::bench,
    },
    Command {
        name: "codegen",
        arguments: "[--check]",
        about: "regenerate the committed generated code, or say what is stale",
        run: delegate::codegen,
    },
    Command {
        name: "captures",
        arguments: "",
        about: "take the screens of `corbie top` in the book again (needs tmux)",
        run: delegate::captures,
    },
    Command {
        name: "fuzz",
        arguments: "[ARGS…]",
        about: "run every fuzz target for a short while over its corpus",
        run: delegate::fuzz,
    },
    Command {
        name: "soak",
        arguments: "[--minutes N] [--seed N] [--durable] [--out DIR]",
        about: "kill suppliers, consumers and channels for ten minutes, and account for all events",
        run: delegate::soak,
    },
    Command {
        name: "simulate",
        arguments: "[--seeds N] [--first N] [--seed N]",
        about: "run a million seeds of the simulated network, with their faults, or one again",
        run: delegate::simulate,
    },
    Command {
        name: "quick-start",
        arguments: "",
        about: "run the README's example, and the `corbie call` command that it prints",
        run: quick_start::run,
    },
    Command {
        name: "package",
        arguments: "",
        about: "package the crates that users need, and unpack them into target/packaged",
        run: package::run,
    },
    Command {
        name: "tutorial",
        arguments: "",
        about: "follow the book's tutorial in an empty folder, with the packaged crates",
        run: tutorial::run,
    },
    Command {
        name: "lines",
        arguments: "[--root DIR] [FOLDER]…",
        about: "lines of each crate without its tests, here or in another checkout",
        run: lines::run,
    },
    Command {
        name: "spec",
        arguments: "",
        about: "write docs/SPEC.md from the citations in the code",
        run: tidy::write_specification_page,
    },
    Command {
        name: "tools",
        arguments: "",
        about: "install what `test` needs beside the tool chain (peers as root, cargo tools)",
        run: tools::run,
    },
    Command { name: "help", arguments: "", about: "print this list", run: help },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.trim_start_matches("--"), rest),
        None => ("help", &[][..]),
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("there is no command `{name}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    };
    match (command.run)(&root(), rest) {
        Ok(summary) => {
            if !summary.is_empty() {
                say(&format!("{name}: {summary}"));
            }
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            if !sentence.is_empty() {
                eprintln!("{name} failed: {sentence}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the folder above this crate. Cargo says where that is when it runs us;
/// what it said when we were built may be another checkout that shares the target folder.
fn root() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(built, PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

fn help(_: &Path, _: &[String]) -> Result<String, String> {
    say("cargo xtask COMMAND\n");
    for Command { name, arguments, about, .. } in &COMMANDS {
        say(&format!("  {name} {arguments}\n      {about}"));
    }
    Ok(String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_are_distinct() {
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("ARCHITECTURE.md").is_file());
    }
}
