//! `corbie naming`: serves names, and uses any naming service from the shell.
//!
//! One file for serving, one for changes, one for looking. What they do is in `services/naming`;
//! here are arguments, sentences and lines of output.

mod change;
mod look;
mod serve;

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie_naming::{Naming, NamingError};

use crate::failure::{Failure, Report, USER_EXCEPTION};
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("naming")
        .about("Serves names, and lists, binds and resolves them in any naming service")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::table())
        .subcommand(client(look::list()))
        .subcommand(client(look::tree()))
        .subcommand(client(look::watch()))
        .subcommand(client(look::resolve()))
        .subcommand(client(change::bind()))
        .subcommand(client(change::bind_context()))
        .subcommand(client(change::unbind()))
        .subcommand(client(change::destroy()))
        .after_help(
            "Names are written id.kind/id.kind; a backslash before a slash, dot or backslash makes \
             it part of the name.\n\n\
             The naming service is the one of --name-service, or of \
             -ORBInitRef NameService=REFERENCE.\n\n\
             Example: corbie naming serve --listen localhost:2809 --store names.redb\n         \
             corbie naming tree --name-service corbaloc::localhost:2809/NameService",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("list", rest)) => look::run_list(rest, output),
        Some(("tree", rest)) => look::run_tree(rest, output),
        Some(("watch", rest)) => look::run_watch(rest, output),
        Some(("resolve", rest)) => look::run_resolve(rest, output),
        Some(("bind", rest)) => change::run_bind(rest),
        Some(("bind-context", rest)) => change::run_bind_context(rest, output),
        Some(("unbind", rest)) => change::run_unbind(rest),
        Some(("destroy", rest)) => change::run_destroy(rest),
        _ => Err(Failure::usage("no subcommand was given; try `corbie naming --help`")),
    }
}

/// What all subcommands but `serve` take.
fn client(command: Command) -> Command {
    command
        .arg(
            Arg::new("name-service")
                .short('n')
                .long("name-service")
                .value_name("REFERENCE")
                .help("The naming service: corbaloc::HOST:PORT/NameService, IOR:…, file:…"),
        )
        .args(session::arguments())
}

/// The name, which `what` explains.
fn name(what: &'static str) -> Arg {
    Arg::new("name").value_name("NAME").help(what)
}

fn name_of(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("name").map_or("", String::as_str)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// The ORB and the naming service that the command line chooses.
fn connect(matches: &ArgMatches) -> Result<(Session, Naming), Failure> {
    let session = Session::start(matches)?;
    let naming = match matches.get_one::<String>("name-service") {
        Some(url) => Naming::at(session.orb(), url),
        None if is_configured(&session) => Naming::of(session.orb()),
        None => {
            return Err(Failure::usage(
                "which naming service? Give --name-service corbaloc::HOST:PORT/NameService, or \
                 -ORBInitRef NameService=REFERENCE",
            ));
        }
    };
    Ok((session, naming.map_err(failure)?))
}

fn is_configured(session: &Session) -> bool {
    let settings = session.orb().settings();
    settings.default_init_ref.is_some()
        || session.orb().list_initial_services().iter().any(|name| name == "NameService")
}

/// A user exception of the naming service has an exit status of its own, as in `corbie call`.
fn failure(error: NamingError) -> Failure {
    let status = match &error {
        NamingError::NotFound { .. }
        | NamingError::CannotProceed { .. }
        | NamingError::AlreadyBound { .. }
        | NamingError::NotEmpty { .. } => USER_EXCEPTION,
        _ => crate::failure::FAILED,
    };
    Failure { status, report: Report::Sentence(error.to_string()) }
}
