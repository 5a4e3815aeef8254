//! What all commands that serve have in common: a log, and an end in peace.
//!
//! The log begins before the ORB does, so that it has what is said of settings and listening;
//! [`until_signal`] catches signals before the command says that it serves.

mod few_lines;
mod log;

use clap::{Arg, ArgMatches};
use corbie::UntilSignal;

use crate::failure::Failure;
use crate::session::{self, Session};
pub(crate) use log::Log;

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
    [grace].into_iter().chain(log::arguments()).collect()
}

/// The argument that says where the server listens.
pub(crate) fn listen() -> Arg {
    Arg::new("listen")
        .long("listen")
        .value_name("HOST:PORT")
        .help("Where to listen [default: the setting -ORBListenEndpoints, or loopback]")
}

/// An ORB that listens where the command line says.
pub(crate) fn session(matches: &ArgMatches) -> Result<Session, Failure> {
    let mut own = settings(matches);
    if let Some(address) = matches.get_one::<String>("listen") {
        own.extend(["-ORBListenEndpoints".to_owned(), format!("iiop://{address}")]);
    }
    Session::start_with(matches, &own)
}

/// The `-ORB…` arguments that [`arguments`] stand for.
pub(crate) fn settings(matches: &ArgMatches) -> Vec<String> {
    let grace = matches.get_one::<std::time::Duration>("grace");
    let grace = grace.map(|grace| ["-ORBShutdownGrace".into(), format!("{}ms", grace.as_millis())]);
    grace.into_iter().flatten().collect()
}

/// Catches signals from now on: the command may say that it serves. Warns of ports that others
/// than this machine can reach.
pub(crate) fn until_signal(session: &Session, log: Log) -> Result<UntilSignal, Failure> {
    session.warn_of_open_ports();
    let cannot = |exception| Failure::new(format!("cannot catch signals: {exception}"));
    let orb = session.orb().clone();
    let read_again = move || {
        log.reload();
        match orb.reload_access() {
            Ok(true) => tracing::info!("SIGHUP: the access file was read"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "SIGHUP: access stays as it was"),
        }
    };
    let caught = session.orb().until_signal();
    caught.and_then(|until| until.on_hangup(read_again)).map_err(cannot)
}

/// Serves until a signal, or the end of the ORB.
pub(crate) fn run(until: UntilSignal) -> Result<(), Failure> {
    until.run().map_err(|exception| Failure::new(format!("cannot serve: {exception}")))
}
