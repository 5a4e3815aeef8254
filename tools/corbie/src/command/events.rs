//! `corbie events`: serves event channels, and gives events to any channel and takes them from it
//! from the shell.
//!
//! One file for serving, one for the factory, one for events. What they do is in
//! `services/event`; here are arguments, sentences and lines of output.

mod factory;
mod flow;
mod serve;
mod surroundings;

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use corbie::Object;
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::corbie_events::event_channel_factory::FindError;
use corbie_event::cos_event_channel_admin::EventChannel;

use crate::failure::{Failure, Report, USER_EXCEPTION};
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("events")
        .about("Serves event channels, and pushes, pulls and watches events in any channel")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::table())
        .subcommand(client(factory::create()))
        .subcommand(client(factory::stats()))
        .subcommand(client(flow::push()))
        .subcommand(client(flow::pull()))
        .subcommand(client(flow::tail()))
        .after_help(
            "A channel is the name of one that --factory has, or a reference: IOR:…, corbaloc:…, \
             corbaname:…, file:….\n\nEvents are written in JSON: numbers, texts, true and false \
             as they are, anything else as corbie call writes an any: \
             {\"type\": TYPE, \"value\": VALUE}.\n\n\
             Example: corbie events serve --listen localhost:2810 --channel prices\n         \
             corbie events push prices 42 -f corbaloc::localhost:2810/EventChannelFactory",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("create", rest)) => factory::run_create(rest, output),
        Some(("stats", rest)) => factory::run_stats(rest, output),
        Some(("push", rest)) => flow::run_push(rest),
        Some(("pull", rest)) => flow::run_pull(rest, output),
        Some(("tail", rest)) => flow::run_tail(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie events --help`")),
    }
}

/// What all subcommands but `serve` take.
fn client(command: Command) -> Command {
    command
        .arg(
            Arg::new("factory")
                .short('f')
                .long("factory")
                .value_name("REFERENCE")
                .help("The factory: corbaloc::HOST:PORT/EventChannelFactory, IOR:…, file:…"),
        )
        .args(session::arguments())
}

/// The channel, first argument of all subcommands but `serve`.
fn channel_argument(what: &'static str) -> Arg {
    Arg::new("channel").value_name("CHANNEL").required(true).help(what)
}

fn channel_name(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("channel").map_or("", String::as_str)
}

fn the_factory(session: &Session, matches: &ArgMatches) -> Result<EventChannelFactory, Failure> {
    let Some(url) = matches.get_one::<String>("factory") else {
        return Err(Failure::usage(
            "which factory? Give --factory corbaloc::HOST:PORT/EventChannelFactory",
        ));
    };
    Ok(EventChannelFactory::unchecked_narrow(session.resolve(url)?))
}

/// The channel that the command line names.
fn the_channel(session: &Session, matches: &ArgMatches) -> Result<EventChannel, Failure> {
    let name = channel_name(matches);
    if !matches.contains_id("factory") && name.contains(':') {
        let object: Object = session.resolve(name)?;
        return Ok(EventChannel::unchecked_narrow(object));
    }
    let found = the_factory(session, matches)?.find(name).map_err(|error| match error {
        FindError::NotFound(_) => refused(format!("there is no channel {name:?}")),
        FindError::System(exception) => failed("the factory", &exception),
    })?;
    found.ok_or_else(|| is_nil("the channel"))
}

/// The server raised a user exception.
fn refused(sentence: String) -> Failure {
    Failure { status: USER_EXCEPTION, report: Report::Sentence(sentence) }
}

fn failed(who: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{who} did not do it: {why}"))
}

/// A server answered with a nil reference.
fn is_nil(what: &str) -> Failure {
    Failure::new(format!("{what} is nil: the server gave no reference"))
}
