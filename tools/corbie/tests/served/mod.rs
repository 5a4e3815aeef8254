//! A server of `corbie` as a process: its first line, its log line by line, signals, its end.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub(crate) use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

/// Nothing here takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed when it is dropped.
pub(crate) struct Served {
    process: Child,
    /// Its first line on standard output.
    pub(crate) first: String,
    log: Receiver<String>,
    seen: Vec<String>,
}

/// `corbie` with these arguments, and no settings from outside.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corbie"));
    command.args(arguments).env_remove("CORBIE_CONFIG_FILE").env_remove("CORBIE_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(&mut command(arguments))
    }

    /// The process, once it serves.
    pub(crate) fn of(command: &mut Command) -> Self {
        let (mut served, mut output) = Self::spawn(command);
        let first = output.next().map_or_else(String::new, |line| line.expect("UTF-8"));
        std::thread::spawn(move || output.for_each(drop));
        served.first = first;
        if served.first.is_empty() {
            let _ = served.process.wait();
            panic!("it does not serve: {:?}", served.log.iter().collect::<Vec<_>>());
        }
        served
    }

    /// The process, and its lines up to the one that begins with `last`.
    pub(crate) fn showing(command: &mut Command, last: &str) -> (Self, Vec<String>) {
        let (served, mut output) = Self::spawn(command);
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.starts_with(last)) {
            let line = output.next().and_then(Result::ok);
            lines.push(line.unwrap_or_else(|| panic!("it does not serve: {lines:?}")));
        }
        std::thread::spawn(move || output.for_each(drop));
        (served, lines)
    }

    /// The process, which may not get as far as to serve.
    pub(crate) fn beginning(arguments: &[&str]) -> Self {
        let (served, output) = Self::spawn(&mut command(arguments));
        std::thread::spawn(move || output.for_each(drop));
        served
    }

    fn spawn(command: &mut Command) -> (Self, Lines<BufReader<ChildStdout>>) {
        let mut process = command.spawn().expect("the binary was built with the test");
        let errors = BufReader::new(process.stderr.take().expect("piped"));
        let (tell, log) = channel();
        std::thread::spawn(move || {
            errors.lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let output = BufReader::new(process.stdout.take().expect("piped")).lines();
        (Self { process, first: String::new(), log, seen: Vec::new() }, output)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The first line of the log from here on with all these parts.
    pub(crate) fn says(&mut self, parts: &[&str]) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let line = self.log.recv_timeout(end.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("no line with {parts:?}: {:?}", self.seen));
            self.seen.push(line.clone());
            if parts.iter().all(|part| line.contains(part)) {
                return line;
            }
        }
    }

    /// The first line of the whole log with all these parts.
    pub(crate) fn has_said(&mut self, parts: &[&str]) -> String {
        let is_it = |line: &&String| parts.iter().all(|part| line.contains(part));
        let seen = self.seen.iter().find(is_it).cloned();
        seen.unwrap_or_else(|| self.says(parts))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_child(&self.process);
        kill_process(id, signal).expect("it runs");
    }

    /// Waits for its end; and all lines of its log.
    pub(crate) fn ends(mut self) -> (ExitStatus, Vec<String>) {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match self.process.try_wait().expect("a child") {
                Some(status) => break status,
                None => assert!(Instant::now() < end, "it does not end: {:?}", self.seen),
            }
            // tidy: sleep: a process ends; nothing tells when.
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut seen = std::mem::take(&mut self.seen);
        seen.extend(self.log.iter());
        (status, seen)
    }

    /// Ends it by SIGTERM: with status 0, and nothing but peace in its log.
    pub(crate) fn ends_in_peace(self) {
        self.signal(Signal::TERM);
        let (status, log) = self.ends();
        assert_eq!(status.code(), Some(0), "{log:?}");
        assert!(log.iter().any(|line| line.contains("ending in peace")), "{log:?}");
        let panicked = log.iter().any(|line| line.contains("panicked"));
        assert!(!panicked, "{log:?}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
