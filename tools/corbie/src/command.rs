//! The table of subcommands: help, man pages and completions are all made from [`table`].
//!
//! One file per subcommand, each with `table()` (its arguments and texts) and `run()`.

mod call;
mod channel_server;
mod completions;
mod doctor;
mod events;
mod hash_password;
mod idl;
mod ior;
mod man;
mod mshn;
mod naming;
mod ping;
mod rtevents;
mod settings;
mod top;

use std::io::Write;

use clap::{ArgMatches, Command};

use crate::failure::Failure;

/// The whole command line.
pub(crate) fn table() -> Command {
    Command::new("corbie")
        .version(clap::crate_version!())
        .about(
            "Compiles IDL, explains references, pings and calls CORBA objects, serves names and \
             events, schedules and runs jobs",
        )
        .after_help(EXIT_STATUS)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommand(idl::table())
        .subcommand(ior::table())
        .subcommand(ping::table())
        .subcommand(doctor::table())
        .subcommand(call::table())
        .subcommand(naming::table())
        .subcommand(events::table())
        .subcommand(rtevents::table())
        .subcommand(mshn::table())
        .subcommand(top::table())
        .subcommand(hash_password::table())
        .subcommand(settings::table())
        .subcommand(man::table())
        .subcommand(completions::table())
}

const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 failed, with a sentence on standard error; 2 the operation called raised a \
user exception; 64 the command line is wrong.

ping, doctor, top, call, naming, events, rtevents, mshn and ior dump take every setting of the ORB \
as -ORB argument: see corbie settings.

Example: corbie call corbaloc::localhost:2809/Quoter --idl stock.idl Stock::Quoter.get_quote \
             '\"IBM\"'";

/// Runs the subcommand that was asked for.
pub(crate) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("idl", rest)) => idl::run(rest, output),
        Some(("ior", rest)) => ior::run(rest, output),
        Some(("ping", rest)) => ping::run(rest, output),
        Some(("doctor", rest)) => doctor::run(rest, output),
        Some(("call", rest)) => call::run(rest, output),
        Some(("naming", rest)) => naming::run(rest, output),
        Some(("events", rest)) => events::run(rest, output),
        Some(("rtevents", rest)) => rtevents::run(rest, output),
        Some(("mshn", rest)) => mshn::run(rest, output),
        Some(("top", rest)) => top::run(rest, output),
        Some(("hash-password", rest)) => hash_password::run(rest, output),
        Some(("settings", rest)) => settings::run(rest, output),
        Some(("man", rest)) => man::run(rest),
        Some(("completions", rest)) => completions::run(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie --help`")),
    }
}
