//! `corbie mshn`: MSHN, the resource management system (paper MSHN).
//!
//! One file per subcommand; the work is done by `corbie_mshn`.

mod generate;
mod schedule;

use std::io::Write;

use clap::{ArgMatches, Command};

use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("mshn")
        .about("Manages resources: maps tasks to machines")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(schedule::table())
        .subcommand(generate::table())
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("schedule", rest)) => schedule::run(rest, output),
        Some(("generate", rest)) => generate::run(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie mshn --help`")),
    }
}
