//! `corbie rtevents`: serves channels of the Real-time Event Service, and gives events to them and
//! takes events from them from the shell.
//!
//! What they do is in `services/rtevent`; here are arguments, sentences and lines of output.

mod factory;
mod flow;
mod serve;

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use corbie_rtevent::RT_EVENT_CHANNEL_FACTORY;
use corbie_rtevent::corbie_rt_events::ChannelFactory;
use corbie_rtevent::corbie_rt_events::channel_factory::FindError;
use corbie_rtevent::rtec_event_channel_admin::EventChannel;

use super::events::{failed, is_nil, refused};
use crate::failure::Failure;
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("rtevents")
        .about("Serves real-time event channels, and pushes, watches and counts their events")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::table())
        .subcommand(client(factory::create()))
        .subcommand(client(factory::list()))
        .subcommand(client(factory::stats()))
        .subcommand(client(factory::destroy()))
        .subcommand(client(flow::push()))
        .subcommand(client(flow::tail()))
        .after_help(
            "A channel is the name of one that --factory has, or a reference: IOR:…, corbaloc:…, \
             corbaname:…, file:…; also of TAO's event service.\n\n\
             Example: corbie rtevents serve --listen localhost:2811 --channel vehicles\n         \
             corbie rtevents tail vehicles --type 16 -f localhost:2811\n         \
             corbie rtevents push vehicles --type 16 --source 1 'here I am' -f localhost:2811",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("serve", rest)) => serve::run(rest, output),
        Some(("create", rest)) => factory::run_create(rest, output),
        Some(("list", rest)) => factory::run_list(rest, output),
        Some(("stats", rest)) => factory::run_stats(rest, output),
        Some(("destroy", rest)) => factory::run_destroy(rest),
        Some(("push", rest)) => flow::run_push(rest),
        Some(("tail", rest)) => flow::run_tail(rest, output),
        _ => Err(Failure::usage("no subcommand was given; try `corbie rtevents --help`")),
    }
}

/// What all subcommands but `serve` take.
fn client(command: Command) -> Command {
    command
        .arg(Arg::new("factory").short('f').long("factory").value_name("REFERENCE").help(
            "The factory: HOST:PORT, corbaloc:…, corbaname:…, IOR:…, file:… \
                     [default: -ORBInitRef RtEventChannelFactory=…]",
        ))
        .args(session::arguments())
}

fn channel_argument(what: &'static str) -> Arg {
    Arg::new("channel").value_name("CHANNEL").required(true).help(what)
}

fn channel_name(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("channel").map_or("", String::as_str)
}

fn settings_argument() -> Arg {
    Arg::new("set").long("set").value_name("NAME=VALUE").action(clap::ArgAction::Append).help(
        "A setting of the channel: preset=latency, throughput, predictable or small first, \
             then what is to be otherwise; may be repeated",
    )
}

fn settings(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("set").into_iter().flatten().cloned().collect()
}

fn the_factory(session: &Session, matches: &ArgMatches) -> Result<ChannelFactory, Failure> {
    let object = match matches.get_one::<String>("factory") {
        Some(url) => session.resolve(&session::located(url, RT_EVENT_CHANNEL_FACTORY)),
        None => session.orb().resolve_initial_references(RT_EVENT_CHANNEL_FACTORY).map_err(|_| {
            Failure::usage(
                "which factory? Give --factory HOST:PORT, or \
                 -ORBInitRef RtEventChannelFactory=REFERENCE",
            )
        }),
    };
    Ok(ChannelFactory::unchecked_narrow(object?))
}

/// The channel that the command line names.
fn the_channel(session: &Session, matches: &ArgMatches) -> Result<EventChannel, Failure> {
    let name = channel_name(matches);
    if !matches.contains_id("factory") && name.contains(':') {
        return Ok(EventChannel::unchecked_narrow(session.resolve(name)?));
    }
    let factory = the_factory(session, matches)?;
    let found = factory.find(name).map_err(|error| match error {
        FindError::NotFound(_) => refused(no_channel(&factory, name)),
        FindError::System(exception) => failed("the factory", &exception),
    })?;
    found.ok_or_else(|| is_nil("the channel"))
}

/// Names what there is instead.
fn no_channel(factory: &ChannelFactory, name: &str) -> String {
    match factory.list() {
        Ok(names) if names.is_empty() => {
            format!("there is no channel {name:?}; `corbie rtevents create {name}` makes it")
        }
        Ok(names) => format!("there is no channel {name:?}; there is {}", names.join(", ")),
        Err(_) => format!("there is no channel {name:?}"),
    }
}
