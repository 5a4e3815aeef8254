//! A peer as a process: its standard output is read by a thread, so that waiting has an end.
//! Called by `runner` and `capture`.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A running peer. It is killed when this is dropped.
pub(crate) struct Child {
    name: String,
    child: std::process::Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    lines: Vec<String>,
}

impl Child {
    /// Starts it; what it says on standard error goes to `errors`.
    pub(crate) fn start(name: &str, mut command: Command, errors: Stdio) -> Result<Child, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child =
            command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        let input = child.stdin.take();
        let (send, output) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Child { name: name.to_owned(), child, input, output, lines: Vec::new() })
    }

    /// Waits for a line.
    pub(crate) fn wait_for(&mut self, line: &str, at_most: Duration) -> Result<(), String> {
        let end = Instant::now() + at_most;
        loop {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(got) => {
                    let found = got == line;
                    self.lines.push(got);
                    if found {
                        return Ok(());
                    }
                }
                Err(error) => return Err(self.no_line(line, error, at_most)),
            }
        }
    }

    fn no_line(&self, line: &str, error: RecvTimeoutError, at_most: Duration) -> String {
        let why = match error {
            RecvTimeoutError::Timeout => format!("within {} s", at_most.as_secs()),
            RecvTimeoutError::Disconnected => "before it ended".to_owned(),
        };
        let last = self.lines.last().map_or("", String::as_str);
        format!("{} did not say `{line}` {why}; the last it said: {last}", self.name)
    }

    /// The rest of the first line so far that begins so.
    pub(crate) fn line_after(&self, begin: &str) -> Option<String> {
        self.lines.iter().find_map(|line| line.strip_prefix(begin)).map(str::to_owned)
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("its standard input is closed")?;
        writeln!(input, "{line}").map_err(|error| format!("{}: {error}", self.name))
    }

    /// Waits for its end; everything that it said.
    pub(crate) fn finish(mut self, at_most: Duration) -> Result<Vec<String>, String> {
        let end = Instant::now() + at_most;
        loop {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.lines.push(format!("FATAL not done within {} s", at_most.as_secs()));
                    break;
                }
            }
        }
        let lines = std::mem::take(&mut self.lines);
        match lines.iter().find(|line| line.starts_with("FATAL")) {
            Some(fatal) if !lines.iter().any(|line| line.starts_with("ok ")) => {
                Err(format!("{}: {fatal}", self.name))
            }
            _ => Ok(lines),
        }
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        // It may have ended already: then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}
