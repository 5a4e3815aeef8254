//! `corbie events serve`: a server of event channels, until a signal ends it.
//!
//! Its channels are those that are named here and those that clients have its factory make.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie::Object;
use corbie_event::corbie_events::event_channel_factory::CreateChannelError;
use corbie_event::interfaces::InterfaceRepository;
use corbie_event::{ChannelQos, EVENT_CHANNEL_FACTORY, EventServer, Limits, Retention};

use super::super::channel_server::{self, Made, Number, cannot};
use super::typed;
use crate::failure::Failure;
use crate::serving::{self, Log};
use crate::session;

/// The limits that real-time channels do not have.
const NUMBERS: [Number; 1] = [Number {
    flag: "waiting-clients-max",
    help: "Most clients whose pulls wait; each peer has a share",
    of: |limits| &mut limits.waiting_clients,
}];

pub(super) fn table() -> Command {
    channel_server::table(EVENT_CHANNEL_FACTORY, &NUMBERS)
        .about("Serves event channels")
        .arg(channel_server::channel_argument(
            "A channel to make, with the default quality of service; may be repeated",
        ))
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
        .args(limit_arguments())
        .arg(channel_server::number_argument(
            "retain-octets-max",
            "Most octets that clients may have a durable channel keep",
            Limits::default().retain_octets,
        ))
        .args(typed::idl_arguments())
        .arg(
            Arg::new("interface-repository")
                .long("interface-repository")
                .value_name("REFERENCE")
                .help("Which Interface Repository typed channels ask for interfaces, if any"),
        )
        .after_help(
            "Clients find it as corbaloc::HOST:PORT/EventChannelFactory.\n\n\
             Example: corbie events serve --listen localhost:2810 --channel prices\n         \
             corbie events serve --listen localhost:2810 --store events --durable-channel orders",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start(matches)?;
    let (session, mut metrics) = serving::session(matches, &log)?;
    let limits = limits(matches)?;
    let interfaces = typed::interfaces(matches)?;
    let server = match matches.get_one::<String>("store") {
        None => EventServer::start(session.orb(), limits.clone()),
        Some(folder) => EventServer::start_with_store(session.orb(), limits.clone(), folder),
    };
    let server = Arc::new(server.map_err(|e| cannot(&e))?);
    channel_server::watch(&server, &mut metrics)?;
    interfaces.into_iter().for_each(|interface| server.interfaces().add(interface));
    if let Some(url) = matches.get_one::<String>("interface-repository") {
        let repository =
            InterfaceRepository::new(&session.resolve(url)?).map_err(|e| cannot(&e))?;
        server.add_interfaces(Arc::new(repository));
    }
    let channels = make(&server, &limits, matches).map_err(|e| cannot(&e))?;
    channel_server::activate(&session)?;
    let factory = server.factory().as_object().clone();
    let made = Made { factory: (EVENT_CHANNEL_FACTORY, &factory), channels };
    let around = (&session, log, metrics);
    let places = [EVENT_CHANNEL_FACTORY];
    channel_server::run(around, (matches, output), &made, &places, move |grace| {
        server.drain(grace);
        // Pulls that wait are refused, and it is kept where consumers of durable channels are.
        drop(server);
    })
}

/// The channels that are named, by their names. One that is in the store is as it was made.
fn make<'m>(
    server: &EventServer,
    limits: &Limits,
    matches: &'m ArgMatches,
) -> Result<Vec<(&'m str, Object)>, CreateChannelError> {
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
            made.push((&**name, channel.as_object().clone()));
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

fn limits(matches: &ArgMatches) -> Result<Limits, Failure> {
    let given = |name: &str| matches.get_one::<Duration>(name).copied();
    let default = channel_server::limits(matches, &NUMBERS);
    let limits = Limits {
        idle_limit: given("idle-limit").unwrap_or(default.idle_limit),
        idle_nil_limit: given("idle-nil-limit"),
        unconnected_limit: given("unconnected-limit").unwrap_or(default.unconnected_limit),
        retain_octets: matches
            .get_one::<u64>("retain-octets-max")
            .copied()
            .unwrap_or(default.retain_octets),
        ..default
    };
    let shortest = limits.idle_limit.min(limits.unconnected_limit);
    if shortest.is_zero() || limits.idle_nil_limit.is_some_and(|limit| limit.is_zero()) {
        return Err(Failure::usage("a limit of no time would disconnect everybody"));
    }
    Ok(limits)
}
