//! What all commands that serve have in common: a log, and an end in peace.
//!
//! The log begins before the ORB does, so that it has what is said of settings and listening;
//! [`until_signal`] catches signals before the command says that it serves.

mod channels;
mod few_lines;
mod interruption;
mod log;
mod metrics;
mod queues;

use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches};
use corbie::UntilSignal;

use crate::failure::Failure;
use crate::session::{self, Session};
pub(crate) use channels::ChannelServer;
use few_lines::FewLines;
pub(crate) use interruption::Interruption;
pub(crate) use log::{Log, arguments_of as log_arguments};
pub(crate) use metrics::{Metrics, argument as metrics_argument};
pub(crate) use queues::watch as watch_queues;

/// The arguments of every command that serves.
pub(crate) fn arguments() -> Vec<Arg> {
    let grace = Arg::new("grace")
        .long("grace")
        .value_name("SECONDS")
        .value_parser(session::seconds)
        .help(
            "How long an end by SIGTERM or Ctrl-C may take [default: the setting \
             -ORBShutdownGrace, 10]",
        )
        .help_heading("Operation");
    [grace, metrics::argument()].into_iter().chain(log::arguments()).collect()
}

/// The argument that says where the server listens.
pub(crate) fn listen() -> Arg {
    Arg::new("listen").long("listen").value_name("HOST:PORT").help(
        "Where to listen, or an endpoint as ssliop://HOST:PORT [default: the setting \
             -ORBListenEndpoints, or loopback]",
    )
}

/// The endpoint that `--listen` means: plain IIOP, unless it says something else.
pub(crate) fn endpoint(listen: &str) -> String {
    if listen.contains("://") { listen.to_owned() } else { format!("iiop://{listen}") }
}

/// An ORB that listens where the command line says; and its metrics, if there are to be some.
pub(crate) fn session(
    matches: &ArgMatches,
    log: &Log,
) -> Result<(Session, Option<Metrics>), Failure> {
    let mut own = settings(matches);
    if let Some(address) = matches.get_one::<String>("listen") {
        own.extend(["-ORBListenEndpoints".to_owned(), endpoint(address)]);
    }
    let session = Session::start_with(matches, &own)?;
    let metrics = metrics(matches, &session, log)?;
    Ok((session, metrics))
}

/// The metrics of a server, if there are to be some.
pub(crate) fn metrics(
    matches: &ArgMatches,
    session: &Session,
    log: &Log,
) -> Result<Option<Metrics>, Failure> {
    Metrics::of(matches, session.orb(), &log.limits)
}

/// The `-ORB…` arguments that [`arguments`] stand for.
pub(crate) fn settings(matches: &ArgMatches) -> Vec<String> {
    let grace = matches.get_one::<std::time::Duration>("grace");
    let grace = grace.map(|grace| ["-ORBShutdownGrace".into(), format!("{}ms", grace.as_millis())]);
    grace.into_iter().flatten().collect()
}

/// Catches signals from now on, and says in `metrics` that it serves: the command may say so, too.
/// Says which ports others than this machine can reach.
pub(crate) fn until_signal(
    session: &Session,
    log: Log,
    metrics: Option<Metrics>,
) -> Result<Serving, Failure> {
    session.say_open_ports();
    metrics.iter().for_each(Metrics::tell_ready);
    let lines = Arc::clone(&log.lines);
    lines.limit_peers(session.orb().settings().log_lines_per_peer);
    let cannot = |exception| Failure::new(format!("cannot catch signals: {exception}"));
    let orb = session.orb().clone();
    let read_again = move || {
        log.reload();
        match orb.reload_access() {
            Ok(true) => tracing::info!("SIGHUP: the access file was read"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "SIGHUP: access stays as it was"),
        }
        match orb.reload_certificates() {
            Ok(true) => tracing::info!("SIGHUP: the files of certificates were read"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "SIGHUP: certificates stay as they were"),
        }
    };
    let caught = session.orb().until_signal();
    let until = caught.and_then(|until| until.on_hangup(read_again)).map_err(cannot)?;
    Ok(Serving { until, lines })
}

/// A server that is ready.
pub(crate) struct Serving {
    until: UntilSignal,
    lines: Arc<FewLines>,
}

impl Serving {
    /// Has `end` called when the server is told to end, with the time that it has.
    pub(crate) fn before_end(mut self, end: impl FnOnce(Duration) + Send + 'static) -> Self {
        self.until = self.until.before_end(end);
        self
    }
}

/// Serves until a signal, or the end of the ORB. Lines that were left out are told then.
pub(crate) fn run(serving: Serving) -> Result<(), Failure> {
    let ended = serving.until.run();
    serving.lines.tell(true);
    ended.map_err(|exception| Failure::new(format!("cannot serve: {exception}")))
}
