//! One process of a system on one machine: started, looked at, and started again. Used by
//! `system.rs`, which watches them all on one thread; so nothing here waits but the first start.
//!
//! What it prints is read as long as it lives: a process whose standard output is closed would end
//! at its next line.

use crate::socket;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// How long a process may take until it serves.
const BEGINS_MAX: Duration = Duration::from_secs(60);

/// A process that has lived so long is started again at once; others after a pause that doubles.
const STEADY: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What the log of a process says.
const LOG: &str = "CORBIE_LOG";

/// See the module.
pub(super) struct Process {
    pub(super) name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// Where it makes its socket.
    sockets: PathBuf,
    started: Started,
    /// Between the last start and the next one at least: one that ends again and again is not to
    /// keep the machine busy.
    pause: Duration,
}

struct Started {
    child: Child,
    /// The process ends when this does.
    _input: Option<ChildStdin>,
    /// Its first line, which it prints once it serves; none when that was seen.
    first: Option<Receiver<String>>,
    since: Instant,
}

/// How a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// It does not serve yet.
    Begins,
    /// Whether this was not known before.
    Serves { is_new: bool },
    /// It has ended, or has not served for so long that it is ended.
    Ends,
}

impl Process {
    /// Starts it, waits until it serves, and gives its first line.
    pub(super) fn start(
        name: &str,
        program: &Path,
        arguments: Vec<String>,
        sockets: &Path,
    ) -> io::Result<(Self, String)> {
        let mut started = Started::new(program, &arguments, sockets)?;
        let first = started.first.take();
        let line = first.map(|first| first.recv_timeout(BEGINS_MAX));
        let (name, program) = (name.to_owned(), program.to_owned());
        let (sockets, pause) = (sockets.to_owned(), Duration::ZERO);
        let mut process = Self { name, program, arguments, sockets, started, pause };
        let line = match line {
            Some(Ok(line)) => line,
            _ => {
                process.kill()?;
                String::new()
            }
        };
        if line.is_empty() {
            let status = process.started.child.wait()?;
            let what = format!("{} ended before it served: {status}", process.name);
            return Err(io::Error::other(what));
        }
        Ok((process, line))
    }

    /// Whether it may be started again by now.
    pub(super) fn is_due(&self) -> bool {
        self.started.since.elapsed() >= self.pause
    }

    /// Starts it again, once the one before is gone, and does not wait until it serves.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.started.end();
        self.pause = if self.started.since.elapsed() < STEADY {
            (2 * self.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE)
        } else {
            Duration::ZERO
        };
        self.started.since = Instant::now();
        self.started = Started::new(&self.program, &self.arguments, &self.sockets)?;
        Ok(())
    }

    pub(super) fn look(&mut self) -> ProcessState {
        if matches!(self.started.child.try_wait(), Ok(Some(_))) {
            return ProcessState::Ends;
        }
        let Some(first) = &self.started.first else {
            return ProcessState::Serves { is_new: false };
        };
        match first.try_recv() {
            Ok(line) if !line.is_empty() => {
                self.started.first = None;
                ProcessState::Serves { is_new: true }
            }
            Err(TryRecvError::Empty) if self.started.since.elapsed() < BEGINS_MAX => {
                ProcessState::Begins
            }
            _ => ProcessState::Ends,
        }
    }

    /// How it has ended; empty while it runs.
    pub(super) fn status(&mut self) -> String {
        let status = self.started.child.try_wait().ok().flatten();
        status.map_or_else(String::new, |status| status.to_string())
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.started.child.kill()
    }

    pub(super) fn id(&self) -> u32 {
        self.started.child.id()
    }
}

impl Started {
    fn new(program: &Path, arguments: &[String], sockets: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env(socket::FOLDER, sockets);
        // All write to one place: only what needs a look, unless more is asked for.
        if std::env::var_os(LOG).is_none() {
            command.env(LOG, "warn");
        }
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let first = output.map(lines);
        Ok(Self { child, _input: input, first, since: Instant::now() })
    }

    fn end(&mut self) {
        // An error here means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

/// The first line, and a thread that reads all others.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut output, mut line) = (BufReader::new(output), String::new());
        if let Err(error) = output.read_line(&mut line) {
            tracing::warn!(%error, "the first line of a process");
        }
        // Perhaps no thread waits any more.
        let _ = sender.send(line.trim().to_owned());
        // Ends with the process, however that ends.
        let _ = io::copy(&mut output, &mut io::sink());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::super::SystemShared;
    use super::*;
    use corbie_testkit::servers::ScratchFolder;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn shell(name: &str, script: &str) -> Process {
        let arguments = ["-c", script].map(str::to_owned).to_vec();
        let (process, line) =
            Process::start(name, Path::new("/bin/sh"), arguments, Path::new("/")).unwrap();
        assert_eq!(line, "ready");
        process
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let ends = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < ends, "{what} did not happen");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_a_process_prints_is_read_to_its_end() {
        let folder = ScratchFolder::new("mshn-process");
        let file = folder.path().join("printed");
        let script = format!("echo ready; seq 1 100000 && touch {}; cat", file.display());
        let mut process = shell("prints", &script);
        until("all is read", || file.exists());
        assert_eq!(process.look(), ProcessState::Serves { is_new: false });
        process.kill().unwrap();
        until("it ends", || process.look() == ProcessState::Ends);
    }

    #[test]
    fn one_that_does_not_say_that_it_serves_keeps_no_other_from_being_replaced() {
        let folder = ScratchFolder::new("mshn-hangs");
        let marker = folder.path().join("started").display().to_string();
        // Serves the first time only.
        let hangs = format!("test -e {marker} && exec sleep 1000; touch {marker}; echo ready; cat");
        let mut processes = vec![shell("hangs", &hangs), shell("well", "echo ready; cat")];
        for process in &mut processes {
            process.kill().unwrap();
        }
        let (is_ending, restarts) = (AtomicBool::new(false), AtomicU32::new(0));
        let shared = SystemShared { is_ending, restarts, processes: Mutex::new(processes) };
        until("the other is replaced", || {
            shared.look();
            shared.restarts.load(Ordering::Relaxed) > 0
        });
        let mut processes = shared.lock();
        assert_eq!(processes[0].look(), ProcessState::Begins);
        assert_eq!(processes[1].look(), ProcessState::Serves { is_new: false });
    }

    #[test]
    fn one_that_ends_again_and_again_is_started_after_ever_longer_pauses() {
        let began = Instant::now();
        let processes = Mutex::new(vec![shell("crashes", "echo ready")]);
        let (is_ending, restarts) = (AtomicBool::new(false), AtomicU32::new(0));
        let shared = SystemShared { is_ending, restarts, processes };
        until("the longest pause", || {
            shared.look();
            shared.lock()[0].pause == LONGEST_PAUSE
        });
        // From 20 ms to 640 ms, doubled each time.
        assert!(began.elapsed() >= Duration::from_millis(1260), "{:?}", began.elapsed());
    }

    #[test]
    fn one_that_ends_before_it_serves_is_an_error() {
        let ends = ["-c", "exit 3"].map(str::to_owned).to_vec();
        let error =
            Process::start("advisor a", Path::new("/bin/sh"), ends, Path::new("/")).err().unwrap();
        assert!(error.to_string().starts_with("advisor a ended before it served"), "{error}");
    }
}
