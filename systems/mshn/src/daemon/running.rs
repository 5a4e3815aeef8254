//! One job of a daemon, from its start to its end: by the Client Library in this process or in one
//! of its own. Called by `daemon.rs` on a thread of the job's.

use super::DaemonOptions;
use crate::client_library::{self, Ends, Used};
use crate::idl::{Phase, Receipt, StartOrder, Usage};
use crate::messages::{Reply, Request, Role};
use crate::peers::Peers;
use corbie::SystemException;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a job's end waits for what it used to be recorded.
const RECORD_PATIENCE: Duration = Duration::from_millis(500);

/// Octets that a wrapper says.
const LINE_MAX: u64 = 1024;

/// Octets of a job's id in the name of its file, about: file systems take 255.
const NAME_MAX: usize = 200;

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
    let output = options.outputs.as_ref().map(|folder| folder.join(file_of(&order.what.id)));
    let outcome = if options.wrapper.is_empty() {
        client_library::run_job(&format.command, output.as_deref(), stop)
    } else {
        wrapped(&options.wrapper, &format.command, output.as_deref(), stop)
    };
    let used = match outcome {
        Ok(used) => used,
        Err(error) => return failed(error.to_string()),
    };
    if used.is_success() {
        let application = order.what.application.clone();
        record(peers, used.as_usage(application, format.name.clone(), options.machine.clone()));
    }
    ended(&used)
}

/// A file's name for what a job prints: clients choose ids as they like.
fn file_of(id: &str) -> String {
    let mut name = String::new();
    for octet in id.bytes() {
        let is_plain = octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
        if name.len() > NAME_MAX {
            break;
        } else if is_plain || (octet == b'.' && !name.is_empty()) {
            name.push(octet.into());
        } else {
            name.push_str(&format!("%{octet:02X}"));
        }
    }
    name + ".out"
}

/// In a process of its own, which says at its end what was used and ends with this one.
fn wrapped(
    wrapper: &[String],
    command: &[String],
    output: Option<&Path>,
    stop: &AtomicBool,
) -> io::Result<Used> {
    let mut wrapping = client_library::prepare(wrapper)?;
    if let Some(output) = output {
        wrapping.arg("--output").arg(output);
    }
    wrapping.arg("--").args(command).process_group(0);
    let mut child = wrapping.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // It ends when the first of them is closed, at the end of this function or of this process.
    let (_alive, said) = (child.stdin.take(), child.stdout.take());
    let used = client_library::watch(child, Ends::Group, stop)?;
    let mut line = String::new();
    if let Some(said) = said {
        said.take(LINE_MAX).read_to_string(&mut line)?;
    }
    // One that could not run the command says nothing; its exit status does.
    let of_job = line.trim().parse().unwrap_or_else(|_| used.clone());
    Ok(Used { is_stopped: used.is_stopped, ..of_job })
}

/// Records what a run used. That is waited for, so that what advisors were told is recorded,
/// whichever process is killed then; but not for long: it goes on when the job's end is told.
fn record(peers: &Peers, usage: Usage) {
    let (sender, recorded) = channel();
    let done = move |outcome: Result<Reply, SystemException>| {
        match outcome.and_then(Receipt::try_from) {
            Ok(receipt) if receipt.accepted => (),
            Ok(receipt) => tracing::warn!(why = receipt.why, "what a run used was not recorded"),
            Err(exception) => tracing::warn!(%exception, "what a run used was not recorded"),
        }
        // Perhaps no thread waits any more.
        let _ = sender.send(());
    };
    let update = Arc::new(Mutex::new(Some((usage, done))));
    let peers = peers.clone();
    let tell = move || {
        let update = update.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((usage, done)) = update {
            peers.update_one(Role::RequirementDatabase, Request::Record(usage), Box::new(done));
        }
    };
    // Finding a database may take as long as being answered.
    if std::thread::Builder::new().spawn(tell.clone()).is_err() {
        tell();
    }
    let _ = recorded.recv_timeout(RECORD_PATIENCE);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_its_folder_whatever_the_job_is_called() {
        assert_eq!(file_of("uname-1.2_3"), "uname-1.2_3.out");
        assert_eq!(file_of("../up a"), "%2E.%2Fup%20a.out");
        assert!(file_of(&"/".repeat(1000)).len() < 255);
    }
}
