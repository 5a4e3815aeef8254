//! `corbie events serve --store` as a process of its own, to be killed and started again.
//!
//! Used by the tests of durable channels.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corbie::Orb;
use corbie_event::corbie_events::EventChannelFactory;
use corbie_testkit::servers::{ScratchFolder, free_port};

/// Nothing here takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// A process that serves durable channels, always at the same port.
pub(crate) struct Served {
    pub(crate) process: Child,
    pub(crate) listen: String,
    pub(crate) store: ScratchFolder,
}

pub(crate) fn command(listen: &str, store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corbie"));
    command.args(["events", "serve", "--print-reference", "--listen", listen, "--store"]);
    command.arg(store).env_remove("CORBIE_CONFIG_FILE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The process, once it serves; or what it said when it ended instead.
pub(crate) fn start(command: &mut Command) -> Result<Child, String> {
    let mut process = command.spawn().expect("the binary was built with the test");
    let output = process.stdout.take().expect("its output is piped");
    let mut first = String::new();
    BufReader::new(output).read_line(&mut first).expect("it writes UTF-8");
    if first.starts_with("IOR:") {
        return Ok(process);
    }
    let mut said = String::new();
    let mut errors = process.stderr.take().expect("its errors are piped");
    errors.read_to_string(&mut said).expect("it writes UTF-8");
    assert!(!process.wait().expect("it ends").success(), "{said}");
    Err(said)
}

impl Served {
    pub(crate) fn new() -> Self {
        let store = ScratchFolder::new("durable");
        let listen = format!("127.0.0.1:{}", free_port());
        let process = Self::process(&listen, store.path());
        Self { process, listen, store }
    }

    /// Another process may have the port for a moment.
    fn process(listen: &str, store: &Path) -> Child {
        let end = Instant::now() + PATIENCE;
        loop {
            match start(&mut command(listen, store)) {
                Ok(process) => return process,
                Err(said) => assert!(said.contains("listen") && Instant::now() < end, "{said}"),
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    pub(crate) fn start(&mut self) {
        self.process = Self::process(&self.listen, self.store.path());
    }

    pub(crate) fn factory(&self, orb: &Orb) -> EventChannelFactory {
        let url = format!("corbaloc::{}/EventChannelFactory", self.listen);
        EventChannelFactory::unchecked_narrow(orb.string_to_object(&url).expect("a reference"))
    }

    /// The files of the log of the first channel, in order.
    pub(crate) fn log(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.store.path().join("channel-1")).expect("a folder");
        let mut files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        files
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
