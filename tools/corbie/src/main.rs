//! The `corbie` command: compiles IDL, explains references, pings and calls objects.
//!
//! `command` is the one table of subcommands, arguments and texts; help, man pages and shell
//! completions are made from it. Each subcommand writes its results to standard output and
//! returns a [`Failure`] with a sentence and an exit status, which only this file prints.

#![forbid(unsafe_code)]

// layers: escapes failure near_names < tree < idl_files json session terminal <
//    call name_service reference serving < command
mod call;
mod command;
mod escapes;
mod failure;
mod idl_files;
mod json;
mod name_service;
mod near_names;
mod reference;
mod serving;
mod session;
mod terminal;
mod tree;

use std::io::Write as _;
use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(failure) => {
            terminal::report(&failure);
            return ExitCode::from(failure.status);
        }
    };
    let matches = match command::table().arg(session::carrier()).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no errors; clap knows which stream each belongs to. If that
            // stream is closed no reader is left.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(failure::WRONG_USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let output = escapes::Escaping::new(std::io::stdout().lock());
    let mut output = std::io::BufWriter::new(output);
    let outcome = command::run(&matches, &mut output);
    let outcome = outcome.and_then(|()| output.flush().map_err(Failure::from));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // What was found before the failure still counts.
            let _ = output.flush();
            terminal::report(&failure);
            ExitCode::from(failure.status)
        }
    }
}

/// The command line in UTF-8, `-ORB…` arguments wrapped.
fn arguments() -> Result<Vec<String>, Failure> {
    let arguments: Result<Vec<String>, _> =
        std::env::args_os().map(std::ffi::OsString::into_string).collect();
    let arguments = arguments.map_err(|wrong| {
        Failure::usage(format!("the argument `{}` is not UTF-8", wrong.display()))
    })?;
    Ok(session::carry(arguments.into_iter()))
}
