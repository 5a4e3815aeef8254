//! `corbie mshn run`: the Client Library around any program: runs it, measures it, and tells the
//! requirement database. Daemons start every job with it, and record by themselves.

use std::io::{ErrorKind, Read as _, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie_mshn::client_library::{self, Ends, Used};
use corbie_mshn::idl::Usage;
use corbie_mshn::node;

use crate::failure::{Failure, Report};
use crate::session;

pub(super) fn table() -> Command {
    let text = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NAME").default_value(default).help(help)
    };
    Command::new("run")
        .about("Runs a command, measures what it uses, and records it")
        .arg(text("application", "unnamed", "The application's name"))
        .arg(text("format", "default", "The format's name"))
        .arg(text("machine", "here", "The machine's name"))
        .arg(super::name_service())
        .arg(super::mechanism())
        .arg(
            Arg::new("until-eof")
                .long("until-eof")
                .action(ArgAction::SetTrue)
                .help("End the command when standard input ends"),
        )
        .arg(Arg::new("for-daemon").long("for-daemon").action(ArgAction::SetTrue).help(
            "Say what it used instead of recording it; when standard input ends, end the whole \
             process group",
        ))
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Where it prints to [default: where this does; nowhere for a daemon]"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(1..)
                .required(true)
                .last(true)
                .help("What to run"),
        )
        .args(session::arguments())
        .after_help(
            "Its exit status is the command's; 127 when there is no such command, 126 when it \
             cannot be run.\n\nExample: corbie mshn run -n localhost:2809 -- gzip big.tar",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let command: Vec<String> = matches.get_many("command").into_iter().flatten().cloned().collect();
    let is_for_daemon = matches.get_flag("for-daemon");
    let stop = Arc::new(AtomicBool::new(false));
    if is_for_daemon || matches.get_flag("until-eof") {
        end_with_input(is_for_daemon, Arc::clone(&stop));
    }
    let used = measure(matches, &command, &stop).map_err(|error| not_run(&error))?;
    if is_for_daemon {
        writeln!(output, "{used}")?;
        output.flush()?;
        // The daemon does, too, but may be killed before that.
        client_library::end_own_group();
    } else if used.is_success() {
        let text = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
        let usage = used.as_usage(text("application"), text("format"), text("machine"));
        // The run counts, whether or not it could be recorded.
        if let Err(failure) = record(matches, usage) {
            let sentence = format!("cannot record what it used: {failure}");
            crate::terminal::report(&Failure::new(sentence));
        }
    }
    if used.is_success() {
        return Ok(());
    }
    let status = used.exit_status.and_then(|status| u8::try_from(status).ok());
    let status = status.filter(|status| *status > 0).unwrap_or(crate::failure::FAILED);
    Err(Failure { status, report: Report::Silent })
}

/// The process that started this one holds the other end of its standard input.
fn end_with_input(is_for_daemon: bool, stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        if is_for_daemon {
            client_library::end_own_group();
        }
        stop.store(true, Ordering::Release);
    });
}

fn measure(matches: &ArgMatches, command: &[String], stop: &AtomicBool) -> std::io::Result<Used> {
    let mut prepared = client_library::prepare(command)?;
    let path = matches.get_one::<PathBuf>("output");
    if path.is_some() || matches.get_flag("for-daemon") {
        client_library::print_to(&mut prepared, path.map(PathBuf::as_path))?;
    }
    client_library::watch(client_library::start(prepared)?, Ends::Process, stop)
}

/// The exit statuses of shells (POSIX 2.8.2).
fn not_run(error: &std::io::Error) -> Failure {
    let status = match error.kind() {
        ErrorKind::NotFound => 127,
        _ => 126,
    };
    Failure { status, report: Report::Sentence(error.to_string()) }
}

fn record(matches: &ArgMatches, usage: Usage) -> Result<(), Failure> {
    let session = super::session(matches, None, vec![])?;
    let naming = super::naming(session.orb(), matches)?;
    let peers = node::peers(session.orb(), naming, super::mechanism_of(matches));
    let receipt = client_library::record(&peers, usage).map_err(|e| Failure::new(e.to_string()))?;
    if receipt.accepted { Ok(()) } else { Err(Failure::new(receipt.why)) }
}
