//! What `corbie events serve` and `corbie rtevents serve` have in common: arguments, limits, and
//! how channels are announced.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie::Object;
use corbie_event::Limits;

use super::events::naming;
use crate::failure::Failure;
use crate::serving::{self, ChannelServer, Log, Metrics};
use crate::session::{self, Session};

/// `serve` of a server whose factory has this name, and which has limits of its `own`.
pub(super) fn table(factory: &'static str, own: &[Number]) -> Command {
    Command::new("serve")
        .arg(serving::listen())
        .arg(Arg::new("bind").long("name").value_name("CONTEXT").help(format!(
            "Bind each --channel as CONTEXT/CHANNEL, and the factory as CONTEXT/{factory}, in \
                 the naming service"
        )))
        .arg(naming::argument())
        .args(NUMBERS.iter().chain(own).map(Number::argument))
        .arg(
            Arg::new("print-reference")
                .long("print-reference")
                .action(ArgAction::SetTrue)
                .help("Print the reference of the factory as first line"),
        )
        .args(serving::arguments())
        .args(session::arguments())
}

/// The argument that names channels to make.
pub(super) fn channel_argument(help: &'static str) -> Arg {
    Arg::new("channel").long("channel").value_name("NAME").action(ArgAction::Append).help(help)
}

/// A limit of the server that is a number.
pub(super) struct Number {
    pub(super) flag: &'static str,
    pub(super) help: &'static str,
    pub(super) of: fn(&mut Limits) -> &mut usize,
}

impl Number {
    fn argument(&self) -> Arg {
        let default = *(self.of)(&mut Limits::default());
        number_argument(self.flag, self.help, default as u64)
    }
}

/// The argument of a limit that is a number from 1 on.
pub(super) fn number_argument(flag: &'static str, help: &str, default: u64) -> Arg {
    Arg::new(flag)
        .long(flag)
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help(format!("{help} [default: {default}]"))
        .help_heading("Limits")
}

/// The limits of both servers. The log names them as the fields are named, without `-max`.
const NUMBERS: [Number; 4] = [
    Number {
        flag: "queue-events-max",
        help: "Most events that clients may have wait for one consumer",
        of: |limits| &mut limits.queue_events,
    },
    Number {
        flag: "queue-octets-max",
        help: "Most octets that clients may have wait for one consumer",
        of: |limits| &mut limits.queue_octets,
    },
    Number {
        flag: "queues-octets-max",
        help: "Most octets that wait for all consumers of all channels together",
        of: |limits| &mut limits.queues_octets,
    },
    Number {
        flag: "proxies-of-server-max",
        help: "Most proxies of all channels together",
        of: |limits| &mut limits.proxies_of_server,
    },
];

/// The limits that the command line gives: those of both servers, and `own` of this one.
pub(super) fn limits(matches: &ArgMatches, own: &[Number]) -> Limits {
    let mut limits = Limits::default();
    for number in NUMBERS.iter().chain(own) {
        if let Some(given) = matches.get_one::<u64>(number.flag) {
            *(number.of)(&mut limits) = usize::try_from(*given).unwrap_or(usize::MAX);
        }
    }
    limits
}

/// Has those watch `server` who are to.
pub(super) fn watch<S: ChannelServer + 'static>(
    server: &Arc<S>,
    metrics: &mut Option<Metrics>,
) -> Result<(), Failure> {
    if let Some(metrics) = metrics {
        metrics.add_events(server);
    }
    serving::watch_queues(server).map_err(|error| cannot(&error))
}

/// Takes requests: those for objects that were never here are refused from now on, and do not wait
/// for one.
pub(super) fn activate(session: &Session) -> Result<(), Failure> {
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| Ok(poa.the_poa_manager().activate()?));
    active.map_err(|error| cannot(&error))
}

/// What is announced.
pub(super) struct Made<'m> {
    pub(super) factory: (&'static str, &'m Object),
    /// Names and references.
    pub(super) channels: Vec<(&'m str, Object)>,
}

/// Announces and serves until a signal: `places` are said to be served, and `drain` is called when
/// the end begins.
pub(super) fn run(
    (session, log, metrics): (&Session, Log, Option<Metrics>),
    (matches, output): (&ArgMatches, &mut dyn Write),
    made: &Made<'_>,
    places: &[&str],
    drain: impl FnOnce(Duration) + Send + 'static,
) -> Result<(), Failure> {
    let (name, factory) = made.factory;
    if let Some(context) = matches.get_one::<String>("bind") {
        naming::bind(session, matches, &format!("{context}/{name}"), factory)?;
        for (channel, reference) in &made.channels {
            naming::bind(session, matches, &format!("{context}/{channel}"), reference)?;
        }
    }
    let until = serving::until_signal(session, log, metrics)?;
    if matches.get_flag("print-reference") {
        writeln!(output, "{factory}")?;
    } else {
        let places: Vec<String> =
            places.iter().map(|place| session.place_of(matches, place)).collect();
        writeln!(output, "serving {}; Ctrl-C ends it", places.join(", "))?;
    }
    output.flush()?;
    serving::run(until.before_end(drain))
}

pub(super) fn cannot(why: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("cannot serve events: {why}"))
}
