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
use crate::name_service;
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
             corbie naming tree --name-service localhost:2809",
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
    command.arg(name_service::argument("The naming service")).args(session::arguments())
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
    let naming = name_service::find(session.orb(), matches).ok_or_else(name_service::not_given)?;
    let naming = naming.map_err(|error| name_service::unusable(matches, &error))?;
    Ok((session, naming))
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
