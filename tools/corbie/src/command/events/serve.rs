//! `corbie events serve`: a server of event channels, until a signal ends it.
//!
//! Its channels are those that are named here and those that clients have its factory make.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie_event::corbie_events::event_channel_factory::CreateChannelError;
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::interfaces::InterfaceRepository;
use corbie_event::{ChannelQos, EVENT_CHANNEL_FACTORY, EventServer, Limits, Retention};

use super::{naming, typed};
use crate::failure::Failure;
use crate::serving::{self, Log};
use crate::session;

pub(super) fn table() -> Command {
    Command::new("serve")
        .about("Serves event channels")
        .arg(serving::listen())
        .arg(
            Arg::new("channel")
                .long("channel")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("A channel to make, with the default quality of service; may be repeated"),
        )
        .arg(Arg::new("store").long("store").value_name("FOLDER").help(
            "Where durable channels are kept, made if need be; a fixed port lets references to \
                     them survive a restart",
        ))
        .arg(
            Arg::new("durable-channel")
                .long("durable-channel")
                .value_name("NAME")
                .action(ArgAction::Append)
                .requires("store")
                .help("A durable channel to make, unless it is in the store; may be repeated"),
        )
        .arg(Arg::new("bind").long("name").value_name("CONTEXT").help(
            "Bind each --channel as CONTEXT/CHANNEL, and the factory as \
                     CONTEXT/EventChannelFactory, in the naming service",
        ))
        .arg(naming::argument())
        .args(limit_arguments())
        .args(numbers().map(|(name, default, help)| number_argument(name, default, help)))
        .args(typed::idl_arguments())
        .arg(
            Arg::new("interface-repository")
                .long("interface-repository")
                .value_name("REFERENCE")
                .help("Which Interface Repository typed channels ask for interfaces, if any"),
        )
        .arg(
            Arg::new("print-reference")
                .long("print-reference")
                .action(ArgAction::SetTrue)
                .help("Print the reference of the factory as first line"),
        )
        .args(serving::arguments())
        .args(session::arguments())
        .after_help(
            "Clients find it as corbaloc::HOST:PORT/EventChannelFactory.\n\n\
             Example: corbie events serve --listen localhost:2810 --channel prices\n         \
             corbie events serve --listen localhost:2810 --store events --durable-channel orders",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start(matches)?;
    let (session, mut metrics) = serving::session(matches, &log)?;
    let cannot = |why: &dyn std::fmt::Display| Failure::new(format!("cannot serve events: {why}"));
    let limits = limits(matches)?;
    let interfaces = typed::interfaces(matches)?;
    let server = match matches.get_one::<String>("store") {
        None => EventServer::start(session.orb(), limits.clone()),
        Some(folder) => EventServer::start_with_store(session.orb(), limits.clone(), folder),
    };
    let server = Arc::new(server.map_err(|e| cannot(&e))?);
    if let Some(metrics) = &mut metrics {
        metrics.add_events(&server);
    }
    serving::watch_queues(&server).map_err(|e| cannot(&e))?;
    interfaces.into_iter().for_each(|interface| server.interfaces().add(interface));
    if let Some(url) = matches.get_one::<String>("interface-repository") {
        let repository =
            InterfaceRepository::new(&session.resolve(url)?).map_err(|e| cannot(&e))?;
        server.add_interfaces(Arc::new(repository));
    }
    let made = make(&server, &limits, matches).map_err(|e| cannot(&e))?;
    // Requests for objects that were never here are refused, and do not wait for one.
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| Ok(poa.the_poa_manager().activate()?));
    active.map_err(|e| cannot(&e))?;
    session.warn_of_open_ports();
    if let Some(name) = matches.get_one::<String>("bind") {
        naming::bind(
            &session,
            matches,
            &format!("{name}/{EVENT_CHANNEL_FACTORY}"),
            server.factory().as_object(),
        )?;
        for (channel, reference) in &made {
            naming::bind(&session, matches, &format!("{name}/{channel}"), reference.as_object())?;
        }
    }
    let until = serving::until_signal(&session, log, metrics)?;
    if matches.get_flag("print-reference") {
        writeln!(output, "{}", server.factory().as_object())?;
    } else {
        let place = session.place_of(matches, EVENT_CHANNEL_FACTORY);
        writeln!(output, "serving {place}; Ctrl-C ends it")?;
    }
    output.flush()?;
    serving::run(until.before_end(move |grace| {
        server.drain(grace);
        // Pulls that wait are refused, and it is kept where consumers of durable channels are.
        drop(server);
    }))
}

/// The channels that are named, by their names. One that is in the store is as it was made.
fn make<'m>(
    server: &EventServer,
    limits: &Limits,
    matches: &'m ArgMatches,
) -> Result<Vec<(&'m String, EventChannel)>, CreateChannelError> {
    let durable = ChannelQos { durable: Some(Retention::default()), ..ChannelQos::default() };
    let kinds = [("channel", ChannelQos::default()), ("durable-channel", durable)];
    let mut made = vec![];
    for (flag, qos) in kinds {
        for name in matches.get_many::<String>(flag).into_iter().flatten() {
            let known = server.find(name).filter(|_| qos.durable.is_some());
            let channel = match known {
                Some(channel) => channel,
                None => server.create(name, qos.clone().within(limits))?,
            };
            made.push((name, channel));
        }
    }
    Ok(made)
}

fn limit_arguments() -> [Arg; 3] {
    let limit = |name: &'static str, help: String| {
        Arg::new(name)
            .long(name)
            .value_name("SECONDS")
            .value_parser(session::seconds)
            .help(help)
            .help_heading("Limits")
    };
    let default = Limits::default();
    let with = |help: &str, limit: Duration| format!("{help} [default: {}]", limit.as_secs());
    [
        limit(
            "idle-limit",
            with("When who is idle is asked whether it exists", default.idle_limit),
        ),
        limit(
            "idle-nil-limit",
            "When who is idle and gave no reference is disconnected [default: never]".to_owned(),
        ),
        limit(
            "unconnected-limit",
            with("When a proxy without a connection ends", default.unconnected_limit),
        ),
    ]
}

/// The limits that are numbers, with their defaults.
fn numbers() -> [(&'static str, u64, &'static str); 4] {
    let default = Limits::default();
    [
        (
            "queue-events-max",
            default.queue_events as u64,
            "Most events that clients may have wait for one consumer",
        ),
        (
            "queue-octets-max",
            default.queue_octets as u64,
            "Most octets that clients may have wait for one consumer",
        ),
        (
            "queues-octets-max",
            default.queues_octets as u64,
            "Most octets that wait for all consumers of all channels together",
        ),
        (
            "retain-octets-max",
            default.retain_octets,
            "Most octets that clients may have a durable channel keep",
        ),
    ]
}

fn number_argument(name: &'static str, default: u64, help: &str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help(format!("{help} [default: {default}]"))
        .help_heading("Limits")
}

fn limits(matches: &ArgMatches) -> Result<Limits, Failure> {
    let given = |name: &str| matches.get_one::<Duration>(name).copied();
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let count = |name: &str, default| {
        number(name).map_or(default, |given| usize::try_from(given).unwrap_or(usize::MAX))
    };
    let default = Limits::default();
    let limits = Limits {
        idle_limit: given("idle-limit").unwrap_or(default.idle_limit),
        idle_nil_limit: given("idle-nil-limit"),
        unconnected_limit: given("unconnected-limit").unwrap_or(default.unconnected_limit),
        queue_events: count("queue-events-max", default.queue_events),
        queue_octets: count("queue-octets-max", default.queue_octets),
        queues_octets: count("queues-octets-max", default.queues_octets),
        retain_octets: number("retain-octets-max").unwrap_or(default.retain_octets),
        ..default
    };
    let shortest = limits.idle_limit.min(limits.unconnected_limit);
    if shortest.is_zero() || limits.idle_nil_limit.is_some_and(|limit| limit.is_zero()) {
        return Err(Failure::usage("a limit of no time would disconnect everybody"));
    }
    Ok(limits)
}
