//! `corbie events create` and `stats`: what a factory is asked for.
//!
//! A new channel can be bound in a naming service, where programs find it by name.

use std::io::Write;

use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use corbie_event::corbie_events::event_channel_factory::{CreateChannelError, StatisticsError};
use corbie_event::corbie_events::{ChannelQos, ConsumerCounters, Overflow};
use corbie_naming::Naming;
use serde_json::{Value as Json, json};

use super::{channel_argument, channel_name, failed, is_nil, refused, the_factory};
use crate::failure::Failure;
use crate::session::Session;

const POLICIES: [&str; 4] = ["drop-oldest", "drop-newest", "block-supplier", "disconnect"];

pub(super) fn create() -> Command {
    let number = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(u32)).help(help)
    };
    Command::new("create")
        .about("Makes a channel, and prints its reference")
        .arg(channel_argument("The name of the new channel"))
        .arg(
            Arg::new("when-full")
                .long("when-full")
                .value_name("POLICY")
                .value_parser(PossibleValuesParser::new(POLICIES))
                .default_value(POLICIES[0])
                .help("What becomes of an event that finds a consumer's queue full"),
        )
        .arg(number("queue-events", "N", "Events that may wait for one consumer"))
        .arg(number("window", "N", "Pushes to one consumer on their way at once"))
        .arg(number("push-timeout", "MILLISECONDS", "How long a consumer may take for a push"))
        .arg(number("give-up-after", "MILLISECONDS", "When unreachable peers are disconnected"))
        .arg(
            Arg::new("bind")
                .long("bind")
                .value_name("NAME")
                .requires("name-service")
                .help("Bind the channel to this name"),
        )
        .arg(
            Arg::new("name-service")
                .short('n')
                .long("name-service")
                .value_name("REFERENCE")
                .help("The naming service to bind it in"),
        )
}

pub(super) fn stats() -> Command {
    Command::new("stats")
        .about("Shows the counters of a channel and its consumers, as JSON")
        .arg(channel_argument("The name of the channel"))
}

pub(super) fn run_create(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let name = channel_name(matches);
    let created = the_factory(&session, matches)?.create_channel(name, &qos(matches));
    let channel = created.map_err(|error| match error {
        CreateChannelError::AlreadyExists(_) => {
            refused(format!("there is a channel {name:?} with another quality of service"))
        }
        CreateChannelError::BadQos(bad) => refused(bad.why),
        CreateChannelError::System(exception) => failed("the factory", &exception),
    })?;
    let channel = channel.ok_or_else(|| is_nil("the channel"))?;
    if let (Some(bound), Some(url)) =
        (matches.get_one::<String>("bind"), matches.get_one::<String>("name-service"))
    {
        let naming = Naming::at(session.orb(), url).map_err(|e| failed("naming", &e))?;
        naming.rebind(bound, channel.as_object()).map_err(|e| failed("naming", &e))?;
    }
    writeln!(output, "{}", channel.as_object())?;
    Ok(())
}

fn qos(matches: &ArgMatches) -> ChannelQos {
    let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or(0);
    let when_full = match matches.get_one::<String>("when-full").map_or("", String::as_str) {
        "drop-newest" => Overflow::DropNewest,
        "block-supplier" => Overflow::BlockSupplier,
        "disconnect" => Overflow::Disconnect,
        _ => Overflow::DropOldest,
    };
    ChannelQos {
        when_full,
        queue_events: number("queue-events"),
        queue_octets: 0,
        window: number("window"),
        push_timeout: number("push-timeout"),
        give_up_after: number("give-up-after"),
        is_durable: false,
        retain_seconds: 0,
        retain_octets: 0,
    }
}

pub(super) fn run_stats(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let name = channel_name(matches);
    let statistics =
        the_factory(&session, matches)?.statistics(name).map_err(|error| match error {
            StatisticsError::NotFound(_) => refused(format!("there is no channel {name:?}")),
            StatisticsError::System(exception) => failed("the factory", &exception),
        })?;
    let consumers: Vec<Json> = statistics.consumers.iter().map(counters).collect();
    let all = json!({
        "received": statistics.received,
        "suppliers": statistics.suppliers,
        "consumers": consumers,
    });
    writeln!(output, "{all:#}")?;
    Ok(())
}

fn counters(consumer: &ConsumerCounters) -> Json {
    json!({
        "id": consumer.id,
        "is_pulling": consumer.is_pulling,
        "queued": consumer.queued,
        "queued_octets": consumer.queued_octets,
        "delivered": consumer.delivered,
        "dropped": consumer.dropped,
        "refused": consumer.refused,
        "failed": consumer.failed,
    })
}
