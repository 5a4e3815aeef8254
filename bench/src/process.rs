//! Starts the server and client processes of a contender, talks to them in lines, and ends them.
//!
//! Every process gets its standard input as a pipe and ends when that pipe closes, so that nothing
//! is left running when the harness dies; whatever it prints on standard error goes to one log
//! file. An answer that does not come in time ends the process and is an error of that cell alone.

use crate::driver::PROGRESS;
use crate::orders::{Answer, Order};
use crate::placement;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a process may take to start, or to answer beyond the time that the order itself takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command line to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program.
    pub(crate) program: PathBuf,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
}

impl Launch {
    /// The same under a tool (`strace -c …`): the tool becomes the program.
    pub(crate) fn under(&self, tool: &[String]) -> Launch {
        let Some((program, options)) = tool.split_first() else { return self.clone() };
        let mut arguments = options.to_vec();
        arguments.push(self.program.display().to_string());
        arguments.extend_from_slice(&self.arguments);
        Launch { program: PathBuf::from(program), arguments }
    }
}

/// A process that answers in lines.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    name: String,
}

impl Process {
    /// Starts `launch` on a core (index among those allowed), with standard error appended to
    /// `log`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(launch: &Launch, core: Option<usize>, log: &File) -> io::Result<Process> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.try_clone()?);
        let name = launch.program.display().to_string();
        let mut child = placement::on_core(core, || command.spawn())
            .map_err(|e| io::Error::new(e.kind(), format!("{name} does not start: {e}")))?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Process { child, lines, name })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The address in the `ready ADDRESS` that a server prints when it can be called.
    ///
    /// # Errors
    /// When the server ends, or says something else, or nothing in time.
    pub(crate) fn address(&self) -> io::Result<String> {
        let line = self.line()?;
        match line.split_once(' ') {
            Some(("ready", address)) => Ok(address.to_owned()),
            _ => Err(io::Error::other(format!("{}: `{line}` instead of `ready …`", self.name))),
        }
    }

    /// Gives an order and waits for the answer.
    ///
    /// # Errors
    /// When the client ends, reports a failure, or does not answer in time.
    pub(crate) fn obey(&mut self, order: &Order) -> io::Result<Answer> {
        self.obey_showing(order, |_| Ok(()))
    }

    /// The same, with `show` called for every word on how far it is, each of which gives the client
    /// its time anew.
    ///
    /// # Errors
    /// As [`Process::obey`], and what `show` says.
    pub(crate) fn obey_showing(
        &mut self,
        order: &Order,
        mut show: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Answer> {
        self.say(&order.to_string())?;
        loop {
            let line = self.line()?;
            match line.strip_prefix(PROGRESS) {
                Some(text) => show(text)?,
                None => {
                    let answer = line.parse();
                    return answer.map_err(|e| io::Error::other(format!("{}: {e}", self.name)));
                }
            }
        }
    }

    /// Writes a line to its input.
    ///
    /// # Errors
    /// When the process has ended.
    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.child.stdin.as_mut().ok_or_else(|| io::Error::other("input closed"))?;
        writeln!(input, "{line}")?;
        input.flush()
    }

    /// Waits for its next line.
    ///
    /// # Errors
    /// When it ends, or says nothing in time.
    pub(crate) fn line(&self) -> io::Result<String> {
        self.line_within(PATIENCE)
    }

    fn line_within(&self, patience: Duration) -> io::Result<String> {
        self.lines.recv_timeout(patience).map_err(|e| match e {
            RecvTimeoutError::Timeout => io::Error::other(format!(
                "{} gave no answer within {} s",
                self.name,
                patience.as_secs()
            )),
            RecvTimeoutError::Disconnected => {
                io::Error::other(format!("{} ended without an answer (see its log)", self.name))
            }
        })
    }

    /// Closes the input and waits until the process ends of itself (tools print their counts then),
    /// or kills it after `patience`.
    pub(crate) fn end(mut self, patience: Duration) -> io::Result<()> {
        drop(self.child.stdin.take());
        let deadline = std::time::Instant::now() + patience;
        while std::time::Instant::now() < deadline {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error here means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let launch =
            Launch { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        Process::start(&launch, None, &File::create("/dev/null").unwrap()).unwrap()
    }

    #[test]
    fn server_and_client_lines_are_understood() {
        let mut process = shell("echo ready 127.0.0.1:5; read order; echo rate 7 9");
        assert_eq!(process.address().unwrap(), "127.0.0.1:5");
        let answer = process.obey(&Order::Oneways { window_ms: 1 }).unwrap();
        assert_eq!(answer, Answer::Rate { calls: 7, nanoseconds: 9 });
    }

    #[test]
    fn what_is_said_on_the_way_is_shown_and_is_no_answer() {
        let mut process = shell("read order; echo progress 1 of 2; echo rate 7 9");
        let mut shown = Vec::new();
        let show = |text: &str| {
            shown.push(text.to_owned());
            Ok(())
        };
        let answer = process.obey_showing(&Order::Oneways { window_ms: 1 }, show).unwrap();
        assert_eq!(answer, Answer::Rate { calls: 7, nanoseconds: 9 });
        assert_eq!(shown, ["1 of 2"]);
    }

    #[test]
    fn a_process_that_fails_is_an_error_and_not_a_wait() {
        let error = shell("exit 3").address().unwrap_err();
        assert!(error.to_string().contains("ended without an answer"), "{error}");
        let error = shell("echo hello").address().unwrap_err();
        assert!(error.to_string().contains("instead of `ready"), "{error}");
        let error = shell("read order; echo error COMM_FAILURE")
            .obey(&Order::Oneways { window_ms: 1 })
            .unwrap_err();
        assert!(error.to_string().ends_with("COMM_FAILURE"), "{error}");
    }

    #[test]
    fn a_tool_goes_before_the_program() {
        let launch = Launch { program: "/bin/echo".into(), arguments: vec!["hello".into()] };
        let under = launch.under(&["strace".into(), "-c".into()]);
        assert_eq!(under.program, PathBuf::from("strace"));
        assert_eq!(under.arguments, ["-c", "/bin/echo", "hello"]);
        assert_eq!(launch.under(&[]), launch);
    }
}
