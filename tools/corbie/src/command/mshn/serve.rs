//! `corbie mshn serve`: one component of MSHN, or the naming service of a system, as a process.
//!
//! `corbie mshn up` starts these; `--until-eof` has them end with it, however it ends.

use std::io::{Read as _, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie::Orb;
use corbie_mshn::channel_server::{self, ChannelServer};
use corbie_mshn::node::{self, Joined, Kind};
use corbie_mshn::schedule::HeuristicName;
use corbie_mshn::{AdvisorOptions, DaemonOptions, StatusOptions};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, NamingServer};

use crate::failure::Failure;
use crate::serving::{self, Log};
use crate::session;

const KINDS: [&str; 8] = [
    "advisor",
    "status",
    "status-proxy",
    "requirements",
    "requirements-proxy",
    "daemon",
    "events",
    "naming",
];

pub(super) fn table() -> Command {
    Command::new("serve")
        .about("Serves one component")
        .arg(
            Arg::new("component")
                .value_name("COMPONENT")
                .required(true)
                .value_parser(KINDS)
                .help("Which component"),
        )
        .arg(
            text("name", "NAME", "The component's name; a daemon's is its machine's")
                .required(true),
        )
        .arg(super::name_service())
        .arg(super::mechanism())
        .arg(text("store", "FILE", "Keeps what must outlive the process [default: in memory]"))
        .arg(text(
            "upstream",
            "NAME",
            "Of a proxy: whom it stands in front of [default: all of them]",
        ))
        .arg(text(
            "listen",
            "HOST:PORT",
            "Where to listen; over TCP an access file has to say which peers may call \
             [default: a unix-domain socket of the user]",
        ))
        .arg(number("slots", "Of a daemon: jobs at a time").default_value("2"))
        .arg(
            text("outputs", "FOLDER", "Of a daemon: keeps what jobs print [default: dropped]")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            number(
                "silence",
                "Of an advisor or a status server: a machine silent for N seconds is gone",
            )
            .default_value("5"),
        )
        .arg(
            Arg::new("heuristic")
                .long("heuristic")
                .value_name("NAME")
                .default_value("mct")
                .value_parser(value_parser!(HeuristicName))
                .help("Of an advisor: what schedules"),
        )
        .arg(
            Arg::new("until-eof")
                .long("until-eof")
                .action(ArgAction::SetTrue)
                .help("End when standard input does"),
        )
        .args(serving::arguments())
        .args(session::arguments())
        .after_help(
            "Example: corbie mshn serve daemon --name m1 -n \
             localhost:2809",
        )
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn number(name: &'static str, help: &'static str) -> Arg {
    text(name, "N", help).value_parser(value_parser!(u16).range(1..))
}

fn given<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start(matches)?;
    let listen = matches.get_one::<String>("listen").map(String::as_str);
    let session = super::session(matches, listen, serving::settings(matches))?;
    let metrics = serving::metrics(matches, &session, &log)?;
    let orb = session.orb();
    let store = matches.get_one::<String>("store").map(PathBuf::from);
    // Served as long as they are here.
    let (mut names, mut channels, mut joined) = (None, None, None);
    match given(matches, "component") {
        "naming" => names = Some(serve_names(orb, store)?),
        "events" => channels = Some(serve_channels(matches, orb)?),
        _ => joined = Some(join(matches, orb, store)?),
    }
    let until = serving::until_signal(&session, log, metrics)?;
    match &names {
        Some(names) => writeln!(output, "{}", names.root().as_object())?,
        None => writeln!(output, "ready")?,
    }
    output.flush()?;
    if matches.get_flag("until-eof") {
        end_with_input(orb);
    }
    serving::run(until.before_end(move |grace| {
        if let Some(channels) = channels {
            channels.drain(grace);
        }
    }))?;
    match joined.as_ref().and_then(Joined::failure) {
        Some(why) => Err(Failure::new(format!("it cannot go on: {why}"))),
        None => Ok(()),
    }
}

fn serve_channels(matches: &ArgMatches, orb: &Orb) -> Result<ChannelServer, Failure> {
    let naming = super::naming(orb, matches)?;
    channel_server::serve(orb, &naming, given(matches, "name"))
        .map_err(|error| Failure::new(error.to_string()))
}

fn serve_names(orb: &Orb, store: Option<PathBuf>) -> Result<NamingServer, Failure> {
    let opened = match &store {
        Some(path) => Embedded::open(path),
        None => Embedded::in_memory(),
    };
    let store = opened.map_err(|error| Failure::new(format!("cannot use the store: {error}")))?;
    let cannot = |exception| Failure::new(format!("cannot serve names: {exception}"));
    let server = NamingServer::start(orb, Arc::new(store), Limits::default()).map_err(cannot)?;
    let root = orb.root_poa().map_err(cannot)?;
    root.the_poa_manager().activate().map_err(|error| Failure::new(error.to_string()))?;
    Ok(server)
}

fn join(matches: &ArgMatches, orb: &Orb, store: Option<PathBuf>) -> Result<Joined, Failure> {
    let naming = super::naming(orb, matches)?;
    let mechanism = super::mechanism_of(matches);
    let peers = node::peers(orb, naming, mechanism);
    let name = given(matches, "name");
    let kind = kind(matches, name)?;
    node::join(orb, &peers, &kind, name, store.as_deref())
        .map_err(|error| Failure::new(error.to_string()))
}

fn kind(matches: &ArgMatches, name: &str) -> Result<Kind, Failure> {
    let upstream = matches.get_one::<String>("upstream").cloned();
    let silence_s = matches.get_one::<u16>("silence").copied().unwrap_or(5);
    let silence = Duration::from_secs(silence_s.into());
    Ok(match given(matches, "component") {
        "status" => Kind::StatusServer(StatusOptions { silence, ..StatusOptions::default() }),
        "status-proxy" => Kind::StatusProxy(upstream),
        "requirements" => Kind::RequirementDatabase,
        "requirements-proxy" => Kind::RequirementProxy(upstream),
        "daemon" => {
            let slots = matches.get_one::<u16>("slots").copied().unwrap_or(2).into();
            let outputs = matches.get_one::<PathBuf>("outputs").cloned();
            if let Some(folder) = &outputs {
                std::fs::create_dir_all(folder)
                    .map_err(|error| Failure::path("make the folder", folder, &error))?;
            }
            let wrapper = wrapper()?;
            Kind::Daemon(DaemonOptions { slots, wrapper, outputs, ..DaemonOptions::new(name) })
        }
        _ => {
            let chosen = matches.get_one::<HeuristicName>("heuristic").copied();
            let heuristic = chosen.unwrap_or(HeuristicName::Mct);
            Kind::Advisor(AdvisorOptions { heuristic, silence, ..AdvisorOptions::new(name) })
        }
    })
}

/// Jobs run under `corbie mshn run`, which ends them when the daemon ends.
fn wrapper() -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe();
    let program = program.map_err(|e| Failure::new(format!("cannot find this program: {e}")))?;
    let program = program.display().to_string();
    Ok([&program, "mshn", "run", "--for-daemon"].map(str::to_owned).to_vec())
}

/// The process that started this one holds the other end of its standard input.
fn end_with_input(orb: &Orb) {
    let orb = orb.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        // Nothing that was acknowledged is only in memory; no caller is left to wait for.
        orb.shutdown(false);
    });
}
