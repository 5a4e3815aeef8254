//! `corbie rtevents serve`: a server of real-time channels, until a signal ends it.
//!
//! Its channels are those that are named here and those that clients have its factory make.

use std::io::Write;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use corbie_rtevent::{Configuration, RT_EVENT_CHANNEL_FACTORY, RtEventServer};

use super::super::channel_server::{self, Made, Number, cannot};
use super::{settings, settings_argument};
use crate::failure::Failure;
use crate::serving::{self, Log};

const DEFAULT: &str = "EventService";

/// The limits that only real-time channels have.
const NUMBERS: [Number; 2] = [
    Number {
        flag: "threads-max",
        help: "Most threads that give events to consumers, of all channels together",
        of: |limits| &mut limits.threads,
    },
    Number {
        flag: "time-outs-max",
        help: "Most time-outs in a second, of all consumers together",
        of: |limits| &mut limits.time_outs,
    },
];

pub(super) fn table() -> Command {
    channel_server::table(RT_EVENT_CHANNEL_FACTORY, &NUMBERS)
        .about("Serves real-time event channels")
        .arg(channel_server::channel_argument(
            "A channel to make; may be repeated [default: EventService]",
        ))
        .arg(settings_argument())
        .after_help(
            "Clients find a channel as corbaloc::HOST:PORT/CHANNEL, and the factory as \
             corbaloc::HOST:PORT/RtEventChannelFactory.\n\n\
             Example: corbie rtevents serve --listen localhost:2811 --channel vehicles \
             --set preset=throughput",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let configuration =
        Configuration::of(settings(matches)).map_err(|bad| Failure::usage(bad.0))?;
    let log = Log::start(matches)?;
    let (session, mut metrics) = serving::session(matches, &log)?;
    let server = RtEventServer::start(session.orb(), channel_server::limits(matches, &NUMBERS));
    let server = Arc::new(server.map_err(|e| cannot(&e))?);
    channel_server::watch(&server, &mut metrics)?;
    let given = matches.get_many::<String>("channel").into_iter().flatten();
    let mut names: Vec<&str> = given.map(String::as_str).collect();
    if names.is_empty() {
        names.push(DEFAULT);
    }
    let mut channels = vec![];
    for name in &names {
        let channel = server.create(name, configuration.clone()).map_err(|e| cannot(&e))?;
        channels.push((*name, channel.as_object().clone()));
    }
    channel_server::activate(&session)?;
    let factory = server.factory().as_object().clone();
    let made = Made { factory: (RT_EVENT_CHANNEL_FACTORY, &factory), channels };
    let around = (&session, log, metrics);
    channel_server::run(around, (matches, output), &made, &names, move |grace| {
        server.drain(grace);
        drop(server);
    })
}
