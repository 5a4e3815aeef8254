//! `corbie events create` and `stats`: what a factory is asked for.
//!
//! A new channel can be bound in a naming service, where programs find it by name.

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser, value_parser};
use corbie::Object;
use corbie_event::corbie_events::event_channel_factory::{
    CreateChannelError, CreateTypedChannelError, StatisticsError,
};
use corbie_event::corbie_events::{
    ChannelQos, ConsumerCounters, EventChannelFactory, EventInterface, Overflow,
};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_typed_event_channel_admin::TypedEventChannel;
use serde_json::{Value as Json, json};

use super::{
    CHANNEL, channel_argument, channel_name, failed, is_nil, naming, no_channel, no_factory,
    refused, the_channel, the_factory, typed,
};
use crate::escapes::one_line;
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
            Arg::new("durable")
                .long("durable")
                .action(ArgAction::SetTrue)
                .help("Events, and who is connected, outlive the server (which has a --store)"),
        )
        .arg(
            number("retain-seconds", "SECONDS", "How long a durable channel keeps events")
                .requires("durable"),
        )
        .arg(
            Arg::new("retain-octets")
                .long("retain-octets")
                .value_name("OCTETS")
                .value_parser(value_parser!(u64))
                .requires("durable")
                .help("How many octets of events a durable channel keeps"),
        )
        .arg(
            Arg::new("bind")
                .long("name")
                .alias("bind")
                .value_name("NAME")
                .help("Bind the channel to this name, where it is found as corbaname:…#NAME"),
        )
        .arg(naming::argument())
        .arg(
            typed::argument("Make a channel for typed events: calls of this interface")
                .requires("idl"),
        )
        .args(typed::idl_arguments())
}

pub(super) fn stats() -> Command {
    Command::new("stats")
        .about("Shows the counters of a channel and its consumers, as JSON")
        .arg(channel_argument("The name of the channel [default: all]").required(false))
}

pub(super) fn list() -> Command {
    Command::new("list").about("Shows the names of all channels, one a line")
}

pub(super) fn destroy() -> Command {
    Command::new("destroy")
        .about("Ends a channel: everybody connected is told, and what waits is lost")
        .arg(channel_argument(CHANNEL))
}

pub(super) fn run_create(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let name = channel_name(matches);
    let factory = the_factory(&session, matches)?;
    let channel: Object = match typed::wanted(matches)? {
        None => create_untyped(&factory, name, &qos(matches))?.into_object(),
        Some(interfaces) => {
            let interfaces: Vec<_> = interfaces.iter().map(Into::into).collect();
            create_typed(&factory, name, &qos(matches), &interfaces)?.into_object()
        }
    };
    if let Some(bound) = matches.get_one::<String>("bind") {
        naming::bind(&session, matches, bound, &channel)?;
    }
    writeln!(output, "{channel}")?;
    Ok(())
}

fn create_untyped(
    factory: &EventChannelFactory,
    name: &str,
    qos: &ChannelQos,
) -> Result<EventChannel, Failure> {
    let created = factory.create_channel(name, qos).map_err(|error| match error {
        CreateChannelError::AlreadyExists(_) => refused(other_channel(name)),
        CreateChannelError::BadQos(bad) => refused(bad.why),
        CreateChannelError::System(exception) => no_factory(&exception),
    })?;
    created.ok_or_else(|| is_nil("the channel"))
}

fn create_typed(
    factory: &EventChannelFactory,
    name: &str,
    qos: &ChannelQos,
    interfaces: &[EventInterface],
) -> Result<TypedEventChannel, Failure> {
    let created = factory.create_typed_channel(name, qos, interfaces);
    let created = created.map_err(|error| match error {
        CreateTypedChannelError::AlreadyExists(_) => refused(other_channel(name)),
        CreateTypedChannelError::BadQos(bad) => refused(bad.why),
        CreateTypedChannelError::BadInterface(bad) => refused(format!("{}: {}", bad.id, bad.why)),
        CreateTypedChannelError::System(exception) => no_factory(&exception),
    })?;
    created.ok_or_else(|| is_nil("the channel"))
}

fn other_channel(name: &str) -> String {
    format!("there is a channel {name:?} of another kind, or with another quality of service")
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
        is_durable: matches.get_flag("durable"),
        retain_seconds: number("retain-seconds"),
        retain_octets: matches.get_one::<u64>("retain-octets").copied().unwrap_or(0),
    }
}

pub(super) fn run_stats(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let factory = the_factory(&session, matches)?;
    let all = match matches.get_one::<String>("channel") {
        Some(name) => statistics(&factory, name)?,
        None => {
            let names = factory.list().map_err(|e| no_factory(&e))?;
            let mut all = serde_json::Map::new();
            for name in names {
                let of_one = statistics(&factory, &name)?;
                all.insert(name, of_one);
            }
            Json::Object(all)
        }
    };
    writeln!(output, "{all:#}")?;
    Ok(())
}

fn statistics(factory: &EventChannelFactory, name: &str) -> Result<Json, Failure> {
    let statistics = factory.statistics(name).map_err(|error| match error {
        StatisticsError::NotFound(_) => refused(no_channel(factory, name)),
        StatisticsError::System(exception) => no_factory(&exception),
    })?;
    let consumers: Vec<Json> = statistics.consumers.iter().map(counters).collect();
    let mut shown = json!({
        "received": statistics.received,
        "suppliers": statistics.suppliers,
        "consumers": consumers,
    });
    if statistics.is_durable {
        shown["is_durable"] = true.into();
        shown["kept_events"] = statistics.kept_events.into();
        shown["kept_octets"] = statistics.kept_octets.into();
    }
    Ok(shown)
}

pub(super) fn run_list(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let names = the_factory(&session, matches)?.list().map_err(|e| no_factory(&e))?;
    for name in names {
        writeln!(output, "{}", one_line(&name))?;
    }
    Ok(())
}

pub(super) fn run_destroy(matches: &ArgMatches) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    the_channel(&session, matches)?.destroy().map_err(|e| failed("the channel", &e))
}

fn counters(consumer: &ConsumerCounters) -> Json {
    let mut shown = json!({
        "id": consumer.id,
        "is_pulling": consumer.is_pulling,
        "queued": consumer.queued,
        "queued_octets": consumer.queued_octets,
        "delivered": consumer.delivered,
        "dropped": consumer.dropped,
        "refused": consumer.refused,
        "failed": consumer.failed,
    });
    if !consumer.trouble.is_empty() {
        shown["trouble"] = consumer.trouble.as_str().into();
    }
    shown
}
