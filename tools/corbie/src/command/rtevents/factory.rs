//! `corbie rtevents create`, `list`, `stats` and `destroy`: the channels of a server, by its
//! factory.

use std::io::Write;

use clap::{ArgMatches, Command};
use corbie_rtevent::corbie_rt_events::channel_factory::{CreateChannelError, StatisticsError};
use corbie_rtevent::corbie_rt_events::{ChannelFactory, ConsumerCounters};
use serde_json::{Value as Json, json};

use super::super::events::{failed, is_nil, refused};
use super::{
    channel_argument, channel_name, no_channel, settings, settings_argument, the_channel,
    the_factory,
};
use crate::escapes::one_line;
use crate::failure::Failure;
use crate::session::Session;

pub(super) fn create() -> Command {
    Command::new("create")
        .about("Makes a channel, and prints its reference")
        .arg(channel_argument("The name of the new channel"))
        .arg(settings_argument())
}

pub(super) fn list() -> Command {
    Command::new("list").about("Shows the names of all channels, one a line")
}

pub(super) fn stats() -> Command {
    Command::new("stats")
        .about("Shows the counters of a channel and its consumers, and its settings, as JSON")
        .arg(channel_argument("The name of the channel [default: all]").required(false))
}

pub(super) fn destroy() -> Command {
    Command::new("destroy")
        .about("Ends a channel: those connected are told, and what waits is lost")
        .arg(channel_argument("The name of the channel, or its reference"))
}

pub(super) fn run_create(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let (factory, name) = (the_factory(&session, matches)?, channel_name(matches));
    let made = factory.create_channel(name, &settings(matches)).map_err(|error| match error {
        CreateChannelError::AlreadyExists(_) => refused(format!("there is a channel {name:?}")),
        CreateChannelError::BadSettings(bad) => refused(bad.why),
        CreateChannelError::System(exception) => failed("the factory", &exception),
    })?;
    let channel = made.ok_or_else(|| is_nil("the channel"))?;
    writeln!(output, "{}", channel.as_object())?;
    Ok(())
}

pub(super) fn run_list(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let names = the_factory(&session, matches)?.list().map_err(|e| failed("the factory", &e))?;
    for name in names {
        writeln!(output, "{}", one_line(&name))?;
    }
    Ok(())
}

pub(super) fn run_stats(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let factory = the_factory(&session, matches)?;
    let all = match matches.get_one::<String>("channel") {
        Some(name) => statistics(&factory, name)?,
        None => {
            let names = factory.list().map_err(|e| failed("the factory", &e))?;
            let each = |name: String| Ok((name.clone(), statistics(&factory, &name)?));
            Json::Object(names.into_iter().map(each).collect::<Result<_, Failure>>()?)
        }
    };
    writeln!(output, "{all:#}")?;
    Ok(())
}

fn statistics(factory: &ChannelFactory, name: &str) -> Result<Json, Failure> {
    let statistics = factory.statistics(name).map_err(|error| match error {
        StatisticsError::NotFound(_) => refused(no_channel(factory, name)),
        StatisticsError::System(exception) => failed("the factory", &exception),
    })?;
    let consumers: Vec<Json> = statistics.consumers.iter().map(counters).collect();
    Ok(json!({
        "received": statistics.received,
        "suppliers": statistics.suppliers,
        "observers": statistics.observers,
        "settings": statistics.settings,
        "consumers": consumers,
    }))
}

fn counters(consumer: &ConsumerCounters) -> Json {
    json!({
        "id": consumer.id,
        "is_suspended": consumer.is_suspended,
        "is_gateway": consumer.is_gateway,
        "queued": consumer.queued,
        "queued_octets": consumer.queued_octets,
        "delivered": consumer.delivered,
        "dropped": consumer.dropped,
        "refused": consumer.refused,
        "failed": consumer.failed,
    })
}

pub(super) fn run_destroy(matches: &ArgMatches) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    the_channel(&session, matches)?.destroy().map_err(|e| failed("the channel", &e))
}
