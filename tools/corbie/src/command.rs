//! The table of subcommands: help, man pages and completions are all made from [`table`].
//!
//! One file per subcommand, each with `table()` (its arguments and texts) and `run()`.

mod completions;
mod idl;
mod man;

use std::io::Write;

use clap::{ArgMatches, Command};

use crate::failure::Failure;

/// The whole command line.
pub(crate) fn table() -> Command {
    Command::new("corbie")
        .version(clap::crate_version!())
        .about("Compiles IDL, explains object references, pings and calls CORBA objects")
        .after_help(EXIT_STATUS)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommand(idl::table())
        .subcommand(man::table())
        .subcommand(completions::table())
}

const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 failed, with a sentence on standard error; 2 the operation called raised a \
user exception; 64 the command line is wrong.

Example: corbie idl check stock.idl";

/// Runs the subcommand that was asked for.
pub(crate) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("idl", rest)) => idl::run(rest),
        Some(("man", rest)) => man::run(rest),
        Some(("completions", rest)) => completions::run(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie --help`")),
    }
}
