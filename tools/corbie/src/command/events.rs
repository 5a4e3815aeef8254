//! `corbie events`: serves event channels, and gives events to any channel and takes them from it
//! from the shell.
//!
//! One file for serving, one for the factory, one for each direction of events. What they do is in
//! `services/event`; here are arguments, sentences and lines of output.

mod consume;
mod factory;
pub(super) mod naming;
mod persistence;
mod pulled;
mod serve;
mod supply;
mod surroundings;
mod typed;

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use corbie::{Object, SystemException, SystemExceptionKind};
use corbie_event::EVENT_CHANNEL_FACTORY;
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::corbie_events::event_channel_factory::{FindError, FindTypedError};
use corbie_event::cos_event_channel_admin::EventChannel;

use crate::failure::{Failure, Report, USER_EXCEPTION};
use crate::session::{self, Session};
use persistence::{Patience, is_gone, is_passing};
pub(super) use surroundings::Plain;

pub(super) fn table() -> Command {
    Command::new("events")
        .about("Serves event channels, and pushes, pulls and watches events in any channel")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::table())
        .subcommand(client(factory::create()))
        .subcommand(client(factory::list()))
        .subcommand(client(factory::stats()))
        .subcommand(client(factory::destroy()))
        .subcommand(client(supply::table()))
        .subcommand(client(consume::pull()))
        .subcommand(client(consume::tail()))
        .after_help(
            "A channel is the name of one that --factory has, or a reference: IOR:…, corbaloc:…, \
             corbaname:…, file:…; of any ORB's event service.\n\n\
             Events are written in JSON: numbers, texts, true and false \
             as they are, anything else as corbie call writes an any: \
             {\"type\": TYPE, \"value\": VALUE}; typed events as \
             {\"operation\": NAME, \"arguments\": {NAME: VALUE, …}}.\n\n\
             Example: corbie events serve --listen localhost:2810 --channel prices\n         \
             corbie events tail prices -f localhost:2810\n         \
             corbie events push prices 42 -f localhost:2810",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("create", rest)) => factory::run_create(rest, output),
        Some(("list", rest)) => factory::run_list(rest, output),
        Some(("stats", rest)) => factory::run_stats(rest, output),
        Some(("destroy", rest)) => factory::run_destroy(rest),
        Some(("push", rest)) => supply::run(rest, output),
        Some(("pull", rest)) => {
            let count = rest.get_one::<u64>("count").copied().unwrap_or(1);
            consume::run(rest, output, count)
        }
        Some(("tail", rest)) => consume::run(rest, output, u64::MAX),
        _ => Err(Failure::usage("no subcommand was given; try `corbie events --help`")),
    }
}

const CHANNEL: &str = "The name of the channel, or its reference";

/// What all subcommands but `serve` take.
fn client(command: Command) -> Command {
    command
        .arg(Arg::new("factory").short('f').long("factory").value_name("REFERENCE").help(
            "The factory: HOST:PORT, corbaloc:…, corbaname:…, IOR:…, file:… \
                     [default: -ORBInitRef EventChannelFactory=…]",
        ))
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
    let object = match matches.get_one::<String>("factory") {
        Some(url) if !url.contains(':') => Err(Failure::usage(format!(
            "the factory `{url}` is no reference: give HOST:PORT, corbaloc:…, corbaname:…, IOR:… \
             or file:…"
        ))),
        Some(url) => session.resolve(&session::located(url, EVENT_CHANNEL_FACTORY)),
        None => session.orb().resolve_initial_references(EVENT_CHANNEL_FACTORY).map_err(|_| {
            Failure::usage(
                "which factory? Give --factory HOST:PORT, or \
                 -ORBInitRef EventChannelFactory=REFERENCE",
            )
        }),
    };
    Ok(EventChannelFactory::unchecked_narrow(object?))
}

/// The channel that the command line names.
fn the_channel(session: &Session, matches: &ArgMatches) -> Result<EventChannel, Failure> {
    let name = channel_name(matches);
    if !matches.contains_id("factory") && name.contains(':') {
        let object: Object = session.resolve(name)?;
        return Ok(EventChannel::unchecked_narrow(object));
    }
    let (factory, patience) = (the_factory(session, matches)?, Patience::of(matches)?);
    let found = patience.attempt(may_pass, || factory.find(name));
    let found = match found {
        Err(FindError::NotFound(_)) => typed_of(&factory, name)?,
        Err(FindError::System(exception)) => return Err(no_factory(&exception)),
        Ok(found) => found,
    };
    found.ok_or_else(|| is_nil("the channel"))
}

/// The typed channel of that name, as an untyped one: that has the same operations, which give
/// administrations that can more.
fn typed_of(factory: &EventChannelFactory, name: &str) -> Result<Option<EventChannel>, Failure> {
    match factory.find_typed(name) {
        Ok(found) => Ok(found.map(|typed| EventChannel::unchecked_narrow(typed.into_object()))),
        Err(FindTypedError::NotFound(_)) => Err(refused(no_channel(factory, name))),
        // Of a server that has no typed channels.
        Err(FindTypedError::System(exception))
            if exception.kind == SystemExceptionKind::BadOperation =>
        {
            Err(refused(no_channel(factory, name)))
        }
        Err(FindTypedError::System(exception)) => Err(no_factory(&exception)),
    }
}

/// A server that has just been started may not have its factory yet.
fn may_pass(error: &FindError) -> bool {
    match error {
        FindError::NotFound(_) => false,
        FindError::System(exception) => is_passing(exception) || is_gone(exception),
    }
}

/// Names what there is instead.
fn no_channel(factory: &EventChannelFactory, name: &str) -> String {
    match factory.list() {
        Ok(names) if names.is_empty() => {
            format!("there is no channel {name:?}; `corbie events create {name}` makes it")
        }
        Ok(names) => format!("there is no channel {name:?}; there is {}", names.join(", ")),
        Err(_) => format!("there is no channel {name:?}"),
    }
}

/// The server raised a user exception.
pub(super) fn refused(sentence: String) -> Failure {
    Failure { status: USER_EXCEPTION, report: Report::Sentence(sentence) }
}

/// The factory has not answered as one would.
fn no_factory(exception: &SystemException) -> Failure {
    let failure = failed("the factory", exception);
    match exception.kind {
        SystemExceptionKind::ObjectNotExist | SystemExceptionKind::BadOperation => failure
            .with_advice(
                "there is no factory of ours: is it the address of `corbie events serve`?",
            ),
        _ => failure,
    }
}

pub(super) fn failed(who: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("asking {who} failed: {why}"))
}

/// A server answered with a nil reference.
pub(super) fn is_nil(what: &str) -> Failure {
    Failure::new(format!("{what} is nil: the server gave no reference"))
}
