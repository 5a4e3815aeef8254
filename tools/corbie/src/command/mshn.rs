//! `corbie mshn`: MSHN, the resource management system (paper MSHN).
//!
//! One file per subcommand; the work is done by `corbie_mshn`.

mod client;
mod emulate;
mod generate;
mod job;
mod machines;
mod run;
mod schedule;
mod serve;
mod submit;
mod up;

use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};
use corbie::{Orb, SystemException};
use corbie_mshn::{MechanismName, socket};
use corbie_naming::{Naming, NamingError};

use crate::failure::Failure;
use crate::name_service;
use crate::serving;
use crate::session::Session;

pub(super) fn table() -> Command {
    Command::new("mshn")
        .about("Manages resources: schedules, runs and watches jobs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(schedule::table())
        .subcommand(generate::table())
        .subcommand(up::table())
        .subcommand(submit::table())
        .subcommand(job::table())
        .subcommand(machines::table())
        .subcommand(serve::table())
        .subcommand(run::table())
        .subcommand(emulate::table())
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("schedule", rest)) => schedule::run(rest, output),
        Some(("generate", rest)) => generate::run(rest, output),
        Some(("up", rest)) => up::run(rest, output),
        Some(("submit", rest)) => submit::run(rest, output),
        Some(("job", rest)) => job::run(rest, output),
        Some(("machines", rest)) => machines::run(rest, output),
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("run", rest)) => run::run(rest, output),
        Some(("emulate", rest)) => emulate::run(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie mshn --help`")),
    }
}

fn name_service() -> Arg {
    name_service::argument("The naming service of the system")
}

fn mechanism() -> Arg {
    Arg::new("mechanism")
        .long("mechanism")
        .value_name("NAME")
        .default_value("sii")
        .value_parser(value_parser!(MechanismName))
        .help("How components talk: sii, dii, ami, or by untyped or typed events")
}

/// The naming service that the command line names. One that is being replaced is waited for.
fn naming(orb: &Orb, matches: &ArgMatches) -> Result<Naming, Failure> {
    let ends = Instant::now() + NAMING_PATIENCE;
    loop {
        match name_service::find(orb, matches).ok_or_else(name_service::not_given)? {
            Err(NamingError::System { exception, .. })
                if is_away(&exception) && Instant::now() < ends =>
            {
                std::thread::sleep(Duration::from_millis(100));
            }
            outcome => return outcome.map_err(|error| name_service::unusable(matches, &error)),
        }
    }
}

fn is_away(exception: &SystemException) -> bool {
    use corbie::SystemExceptionKind as Kind;
    matches!(exception.kind, Kind::Transient | Kind::CommFailure)
}

/// How long a naming service may be away.
const NAMING_PATIENCE: Duration = Duration::from_secs(5);

/// An ORB that listens at `listen`, or where only processes of this user can connect. Only they may
/// call it, unless an access file says otherwise.
fn session(
    matches: &ArgMatches,
    listen: Option<&str>,
    mut own: Vec<String>,
) -> Result<Session, Failure> {
    let endpoint = match listen {
        Some(address) => serving::endpoint(address),
        None => socket::endpoint("component")
            .map_err(|error| Failure::new(format!("cannot listen: {error}")))?,
    };
    own.extend(["-ORBListenEndpoints".to_owned(), endpoint]);
    Session::start_for_own_user(matches, &own)
}

fn mechanism_of(matches: &ArgMatches) -> MechanismName {
    matches.get_one::<MechanismName>("mechanism").copied().unwrap_or(MechanismName::Static)
}
