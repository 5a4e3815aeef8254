//! `corbie events push`, `pull` and `tail`: events from the command line and to standard output.
//!
//! `pull` and `tail` pull, so that nothing has to be listened on here.

use std::io::Write;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie::Interface;
use corbie::policy::{Policy, SetOverrideType};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier};

use super::surroundings::Plain;
use super::{channel_argument, failed, is_nil, the_channel};
use crate::failure::Failure;
use crate::json::Place;
use crate::json::text::load;
use crate::session::Session;

const CHANNEL: &str = "The name of the channel, or its reference";

/// An event may be long in coming.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);

pub(super) fn push() -> Command {
    Command::new("push").about("Pushes events").arg(channel_argument(CHANNEL)).arg(
        Arg::new("event")
            .value_name("JSON")
            .required(true)
            .action(ArgAction::Append)
            .help("The events, in this order; @FILE reads one from a file"),
    )
}

pub(super) fn pull() -> Command {
    Command::new("pull")
        .about("Waits for events from now on and shows them, one a line")
        .arg(channel_argument(CHANNEL))
        .arg(
            Arg::new("count")
                .short('c')
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .default_value("1")
                .help("How many events"),
        )
}

pub(super) fn tail() -> Command {
    Command::new("tail")
        .about("Shows the events from now on, one a line, until it is interrupted")
        .arg(channel_argument(CHANNEL))
}

pub(super) fn run_push(matches: &ArgMatches) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let plain = Plain { orb: session.orb() };
    let given = matches.get_many::<String>("event").into_iter().flatten();
    let events = given.enumerate().map(|(index, given)| {
        let name = format!("events[{index}]");
        plain.event(&load(given, &name)?, &Place::Whole(&name))
    });
    let events = events.collect::<Result<Vec<_>, Failure>>()?;
    let channel = the_channel(&session, matches)?;
    let why = |e| failed("the channel", &e);
    let suppliers = channel.for_suppliers().map_err(why)?.ok_or_else(|| is_nil("the channel"))?;
    let proxy = suppliers.obtain_push_consumer().map_err(why)?;
    let proxy = proxy.ok_or_else(|| is_nil("the proxy"))?;
    proxy.connect_push_supplier(None).map_err(|e| failed("the channel", &e))?;
    for event in &events {
        proxy.push(event).map_err(|e| failed("the channel", &e))?;
    }
    proxy.disconnect_push_consumer().map_err(why)
}

pub(super) fn run_pull(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    show(matches, output, matches.get_one::<u64>("count").copied().unwrap_or(1))
}

pub(super) fn run_tail(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    show(matches, output, u64::MAX)
}

fn show(matches: &ArgMatches, output: &mut dyn Write, count: u64) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let plain = Plain { orb: session.orb() };
    let proxy = connect(&the_channel(&session, matches)?)?;
    for _ in 0..count {
        let event = proxy.pull().map_err(|e| failed("the channel", &e))?;
        writeln!(output, "{}", plain.json(&event))?;
        output.flush()?;
    }
    proxy.disconnect_pull_supplier().map_err(|e| failed("the channel", &e))
}

/// A connected proxy whose pulls may take long.
fn connect(channel: &EventChannel) -> Result<ProxyPullSupplier, Failure> {
    let why = |e| failed("the channel", &e);
    let consumers = channel.for_consumers().map_err(why)?.ok_or_else(|| is_nil("the channel"))?;
    let proxy = consumers.obtain_pull_supplier().map_err(why)?;
    let proxy = proxy.ok_or_else(|| is_nil("the proxy"))?;
    proxy.connect_pull_consumer(None).map_err(|e| failed("the channel", &e))?;
    let patience = Policy::RelativeReplyTimeout(PATIENCE);
    proxy.set_policy_overrides(&[patience], SetOverrideType::Add).map_err(|e| failed("the ORB", &e))
}
