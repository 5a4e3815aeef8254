//! The server of the channels, `corbie events serve`, and what its factory is asked for by the
//! command.

use crate::participant::PATIENCE;
use corbie_testkit::servers::{ScratchFolder, free_port};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The settings of every process: loopback only, and a process that hangs is noticed.
const SETTINGS: [&str; 2] = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];

/// `corbie events serve`.
pub(crate) struct Server {
    corbie: PathBuf,
    /// Where it listens, so that it is found again after it was killed.
    port: u16,
    store: Option<ScratchFolder>,
    process: Child,
    _output: BufReader<ChildStdout>,
}

impl Server {
    /// # Errors
    /// It does not serve.
    pub(crate) fn start(corbie: &Path, is_durable: bool) -> Result<Self, String> {
        let store = is_durable.then(|| ScratchFolder::new("soak"));
        let port = free_port();
        let (process, output) = serve(corbie, port, store.as_ref())?;
        Ok(Self { corbie: corbie.to_owned(), port, store, process, _output: output })
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Ends it with SIGKILL and starts it again at the same place.
    ///
    /// # Errors
    /// It does not serve.
    pub(crate) fn kill_and_restart(&mut self) -> Result<(), String> {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Its port may be taken for a moment.
            match serve(&self.corbie, self.port, self.store.as_ref()) {
                Ok((process, output)) => {
                    (self.process, self._output) = (process, output);
                    return Ok(());
                }
                Err(why) if Instant::now() > deadline => return Err(why),
                Err(_) => std::thread::park_timeout(std::time::Duration::from_millis(50)),
            }
        }
    }

    /// `corbie events SUBCOMMAND …` at this server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.corbie);
        command
            .arg("events")
            .args(arguments)
            .args(["-f", &format!("127.0.0.1:{}", self.port)])
            .env_remove("CORBIE_CONFIG_FILE");
        if !arguments.contains(&"--listen") {
            command.args(SETTINGS);
        }
        command
    }

    /// What such a command prints.
    ///
    /// # Errors
    /// It fails.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command(arguments);
        let output = command.output().map_err(|e| format!("{command:?} cannot be run: {e}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("corbie events {}: {}", arguments.join(" "), why.trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The counters of a channel.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn statistics(&self, channel: &str) -> Result<serde_json::Value, String> {
        let text = self.ask(&["stats", channel])?;
        serde_json::from_str(&text).map_err(|e| format!("the counters are no JSON: {e}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve(
    corbie: &Path,
    port: u16,
    store: Option<&ScratchFolder>,
) -> Result<(Child, BufReader<ChildStdout>), String> {
    let mut command = Command::new(corbie);
    command
        .args(["events", "serve", "--print-reference", "--idle-limit", "1"])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(store) = store {
        command.arg("--store").arg(store.path());
    }
    let mut process = command.spawn().map_err(|e| format!("{command:?} cannot be run: {e}"))?;
    let output = process.stdout.take().ok_or("it has no standard output")?;
    let (mut output, mut first) = (BufReader::new(output), String::new());
    let _ = output.read_line(&mut first);
    if first.starts_with("IOR:") {
        return Ok((process, output));
    }
    let _ = process.kill();
    let _ = process.wait();
    Err(format!("the server of the channels did not start: it printed {first:?}"))
}
