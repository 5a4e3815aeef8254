//! One job of a daemon, from its start to its end: by the Client Library in this process or in one
//! of its own. Called by `daemon.rs` on a thread of the job's.

use super::DaemonOptions;
use crate::client_library::{self, Used};
use crate::idl::{Phase, StartOrder, Usage};
use crate::peers::Peers;
use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

/// How a job ended.
pub(super) struct End {
    pub(super) state: Phase,
    pub(super) exit_status: i32,
    pub(super) why: String,
    pub(super) is_stopped: bool,
}

/// Runs a job in the format of its placement, and records what it used.
pub(super) fn run(
    options: &DaemonOptions,
    peers: &Peers,
    order: &StartOrder,
    stop: &AtomicBool,
) -> End {
    let Some(format) = order.what.formats.get(order.place.format as usize) else {
        return failed(format!("the job has no format {}", order.place.format));
    };
    let usage = Usage {
        application: order.what.application.clone(),
        format: format.name.clone(),
        machine: options.machine.clone(),
        ..Usage::default()
    };
    let outcome = if options.wrapper.is_empty() {
        client_library::ClientLibrary::run(peers, usage, &format.command, stop)
    } else {
        wrapped(&options.wrapper, &usage, &format.command, stop)
    };
    match outcome {
        Ok(used) => ended(&used),
        Err(error) => failed(error.to_string()),
    }
}

/// By the Client Library in a process of its own, which records by itself.
fn wrapped(
    wrapper: &[String],
    usage: &Usage,
    command: &[String],
    stop: &AtomicBool,
) -> io::Result<Used> {
    let (program, arguments) = wrapper
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the wrapper is empty"))?;
    let child = Command::new(program)
        .args(arguments)
        .args(["--application", &usage.application, "--format", &usage.format])
        .args(["--machine", &usage.machine, "--"])
        .args(command)
        .stdin(Stdio::piped())
        .spawn()?;
    client_library::watch(child, stop)
}

fn ended(used: &Used) -> End {
    let is_stopped = used.is_stopped;
    match used.exit_status {
        Some(0) => End { state: Phase::Done, exit_status: 0, why: String::new(), is_stopped },
        Some(status) => {
            let why = match status {
                127 => ": a command was not found",
                126 => ": a command cannot be run",
                _ => "",
            };
            let why = format!("it exited with status {status}{why}");
            End { state: Phase::Failed, exit_status: status, why, is_stopped }
        }
        None => End { is_stopped, ..failed("a signal ended it".to_owned()) },
    }
}

fn failed(why: String) -> End {
    End { state: Phase::Failed, exit_status: -1, why, is_stopped: false }
}
