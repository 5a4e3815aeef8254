//! `corbie rtevents serve`: a server of real-time channels, until a signal ends it.
//!
//! Its channels are those that are named here and those that clients have its factory make.

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie_event::Limits;
use corbie_rtevent::{Configuration, RT_EVENT_CHANNEL_FACTORY, RtEventServer};

use super::super::events::naming;
use super::{settings, settings_argument};
use crate::failure::Failure;
use crate::serving::{self, Log};
use crate::session;

pub(super) fn table() -> Command {
    Command::new("serve")
        .about("Serves real-time event channels")
        .arg(serving::listen())
        .arg(
            Arg::new("channel")
                .long("channel")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("A channel to make; may be repeated [default: EventService]"),
        )
        .arg(settings_argument())
        .arg(Arg::new("bind").long("name").value_name("CONTEXT").help(
            "Bind each --channel as CONTEXT/CHANNEL, and the factory as \
                     CONTEXT/RtEventChannelFactory, in the naming service",
        ))
        .arg(naming::argument())
        .arg(
            Arg::new("print-reference")
                .long("print-reference")
                .action(ArgAction::SetTrue)
                .help("Print the reference of the factory as first line"),
        )
        .args(serving::arguments())
        .args(session::arguments())
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
    let (session, metrics) = serving::session(matches, &log)?;
    let cannot = |why: &dyn std::fmt::Display| Failure::new(format!("cannot serve events: {why}"));
    let server = RtEventServer::start(session.orb(), Limits::default()).map_err(|e| cannot(&e))?;
    let given: Vec<&String> = matches.get_many("channel").into_iter().flatten().collect();
    let default = "EventService".to_owned();
    let names = if given.is_empty() { vec![&default] } else { given };
    let mut made = vec![];
    for name in names {
        let channel = server.create(name, configuration.clone()).map_err(|e| cannot(&e))?;
        made.push((name, channel));
    }
    // Requests for objects that were never here are refused, and do not wait for one.
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| Ok(poa.the_poa_manager().activate()?));
    active.map_err(|e| cannot(&e))?;
    if let Some(context) = matches.get_one::<String>("bind") {
        let factory = server.factory().as_object();
        let name = format!("{context}/{RT_EVENT_CHANNEL_FACTORY}");
        naming::bind(&session, matches, &name, factory)?;
        for (channel, reference) in &made {
            let name = format!("{context}/{channel}");
            naming::bind(&session, matches, &name, reference.as_object())?;
        }
    }
    let until = serving::until_signal(&session, log, metrics)?;
    if matches.get_flag("print-reference") {
        writeln!(output, "{}", server.factory().as_object())?;
    } else {
        for (channel, _) in &made {
            writeln!(output, "serving {}", session.place_of(matches, channel))?;
        }
        writeln!(output, "Ctrl-C ends it")?;
    }
    output.flush()?;
    serving::run(until.before_end(move |grace| {
        server.drain(grace);
        drop(server);
    }))
}
