//! `corbie mshn`: MSHN, the resource management system (paper MSHN).
//!
//! One file per subcommand; the work is done by `corbie_mshn`.

mod emulate;
mod generate;
mod run;
mod schedule;
mod serve;
mod up;

use std::io::Write;

use clap::{Arg, ArgMatches, Command, value_parser};
use corbie_mshn::MechanismName;

use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("mshn")
        .about("Manages resources: schedules, runs and watches jobs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(schedule::table())
        .subcommand(generate::table())
        .subcommand(up::table())
        .subcommand(serve::table())
        .subcommand(run::table())
        .subcommand(emulate::table())
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("schedule", rest)) => schedule::run(rest, output),
        Some(("generate", rest)) => generate::run(rest, output),
        Some(("up", rest)) => up::run(rest, output),
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("run", rest)) => run::run(rest, output),
        Some(("emulate", rest)) => emulate::run(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie mshn --help`")),
    }
}

fn name_service() -> Arg {
    Arg::new("name-service")
        .short('n')
        .long("name-service")
        .value_name("REFERENCE")
        .help("The naming service of the system")
}

fn mechanism() -> Arg {
    Arg::new("mechanism")
        .long("mechanism")
        .value_name("NAME")
        .default_value("sii")
        .value_parser(value_parser!(MechanismName))
        .help("How components talk: sii, dii, ami, or by untyped or typed events")
}

/// For ORBs that are called back on the same machine.
fn local_endpoint() -> [String; 2] {
    ["-ORBListenEndpoints", "iiop://127.0.0.1:0"].map(str::to_owned)
}

fn mechanism_of(matches: &ArgMatches) -> MechanismName {
    matches.get_one::<MechanismName>("mechanism").copied().unwrap_or(MechanismName::Static)
}
