//! `corbie mshn run`: the Client Library around any program: runs it, measures it, and tells the
//! requirement database. Daemons start every job with it.

use std::io::{ErrorKind, Read as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie_mshn::idl::Usage;
use corbie_mshn::{client_library, node};

use crate::failure::{Failure, Report};
use crate::session::{self, Session};

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

pub(super) fn run(matches: &ArgMatches, _output: &mut dyn Write) -> Result<(), Failure> {
    let command: Vec<String> = matches.get_many("command").into_iter().flatten().cloned().collect();
    let stop = Arc::new(AtomicBool::new(false));
    if matches.get_flag("until-eof") {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::Release);
        });
    }
    let used = client_library::run(&command, &stop).map_err(|error| not_run(&error))?;
    if used.exit_status == Some(0) && !used.is_stopped {
        let text = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
        let usage = Usage {
            application: text("application"),
            format: text("format"),
            machine: text("machine"),
            wall_s: used.wall_s,
            processor_s: used.processor_s,
            memory_kib: used.memory_kib,
            io_kib: used.io_kib,
            samples: 1,
        };
        // The run counts, whether or not it could be recorded.
        if let Err(failure) = record(matches, usage) {
            let sentence = format!("cannot record what it used: {failure}");
            crate::terminal::report(&Failure::new(sentence));
        }
        return Ok(());
    }
    let status = used.exit_status.and_then(|status| u8::try_from(status).ok());
    let status = status.filter(|status| *status > 0).unwrap_or(crate::failure::FAILED);
    Err(Failure { status, report: Report::Silent })
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
    let session = Session::start_with(matches, &super::local_endpoint())?;
    let naming = super::naming(session.orb(), matches)?;
    let peers = node::peers(session.orb(), naming, super::mechanism_of(matches));
    let receipt = client_library::record(&peers, usage).map_err(|e| Failure::new(e.to_string()))?;
    if receipt.accepted { Ok(()) } else { Err(Failure::new(receipt.why)) }
}
