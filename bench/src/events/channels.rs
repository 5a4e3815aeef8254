//! The channels under test as servers, each with the command lines of its supplier and consumers.
//!
//! A server listens on a free port of loopback, keeps what it writes in a folder of its own, and
//! dies with the process that measures. Used by `events.rs`.

use crate::driver::Failure;
use crate::peers::{self, EventPeer};
use crate::process::Launch;
use corbie_testkit::servers::{ScratchFolder, Server, free_port};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A channel that is served, and how it is reached.
pub(super) struct System {
    program: PathBuf,
    /// Words before the role.
    words: Vec<String>,
    address: String,
    /// How the supplier and the consumers use it.
    supplier_mode: String,
    consumer_mode: String,
    _server: Server,
    _folder: ScratchFolder,
}

impl System {
    /// The command line of so many consumers in one process.
    pub(super) fn consumers(&self, count: u64) -> Launch {
        self.launch("consume", &count.to_string(), &self.consumer_mode)
    }

    /// The command line of a supplier of events of so many octets.
    pub(super) fn supplier(&self, octets: usize) -> Launch {
        self.launch("supply", &octets.to_string(), &self.supplier_mode)
    }

    fn launch(&self, role: &str, number: &str, mode: &str) -> Launch {
        let mut arguments = self.words.clone();
        arguments.extend([role, &self.address, number].map(str::to_owned));
        arguments.extend(mode.split_ascii_whitespace().map(str::to_owned));
        Launch { program: self.program.clone(), arguments }
    }
}

/// Starts a channel of this kind, to be used in this mode.
///
/// # Errors
/// When there is none of that kind, it is not installed, or does not start.
pub(super) fn start(kind: &str, mode: &str) -> Result<System, Failure> {
    match kind {
        "corbie" => corbie(mode),
        "nats" => nats(mode),
        "icestorm" => icestorm(mode),
        "omnievents" => omnievents(mode),
        other => Err(format!("no event channel `{other}`").into()),
    }
}

/// `program`, to be killed when this process ends, however it ends.
fn bound_to_us(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", program]);
    command
}

/// Starts a peer's server, which is to listen on `port`.
fn listening(command: &mut Command, port: u16, who: &str) -> Result<Server, Failure> {
    let mut server = Server::start(command).ok_or("`setpriv` is not installed")?;
    server.wait_for_port(port, who);
    Ok(server)
}

/// # Errors
/// When there is no such program.
fn installed(program: &str) -> Result<String, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    let found = found.ok_or_else(|| format!("`{program}` is not installed"))?;
    Ok(found.to_string_lossy().into_owned())
}

fn corbie(mode: &str) -> Result<System, Failure> {
    let program = std::env::current_exe()?;
    let mut process = bound_to_us(&program.to_string_lossy())
        .args(["serve", "events", mode])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = process.stdout.take().ok_or("the event server has no output")?;
    let server = Server::of(process);
    let mut address = String::new();
    BufReader::new(output).read_line(&mut address)?;
    Ok(System {
        program,
        words: vec!["events".to_owned()],
        address: address.trim().to_owned(),
        supplier_mode: mode.to_owned(),
        consumer_mode: mode.to_owned(),
        _server: server,
        _folder: ScratchFolder::new("bench-events"),
    })
}

/// What the server would hold for one client before it calls it slow and drops it is raised: the
/// publisher is faster than everybody else, and no event is to be lost.
fn nats(mode: &str) -> Result<System, Failure> {
    let (program, server) = (peers::events(EventPeer::Nats)?, installed("nats-server")?);
    let (folder, port) = (ScratchFolder::new("bench-nats"), free_port());
    let file = folder.path().join("nats.conf");
    let text =
        format!("host: 127.0.0.1\nport: {port}\nmax_pending: 4GB\nwrite_deadline: \"600s\"\n");
    std::fs::write(&file, text)?;
    let server = listening(bound_to_us(&server).arg("-c").arg(&file), port, "nats-server")?;
    let address = format!("nats://127.0.0.1:{port}");
    Ok(peer(program, address, (mode, mode), server, folder))
}

fn icestorm(mode: &str) -> Result<System, Failure> {
    let (program, server) = (peers::events(EventPeer::IceStorm)?, installed("icebox")?);
    let folder = ScratchFolder::new("bench-icestorm");
    let (manager, publish) = (free_port(), free_port());
    let service = folder.path().join("icestorm.cfg");
    // The shortest time that it waits before it sends a batch, and no database.
    let text = format!(
        "IceStorm.InstanceName=Bench\nIceStorm.Transient=1\nIceStorm.Flush.Timeout=100\n\
         IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p {manager}\n\
         IceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p {publish}\n\
         Ice.MessageSizeMax=65536\n"
    );
    std::fs::write(&service, text)?;
    let name = service.display();
    let entry = "IceBox.Service.IceStorm=IceStormService,37:createIceStorm";
    let file = folder.path().join("icebox.cfg");
    std::fs::write(&file, format!("{entry} --Ice.Config={name}\n"))?;
    let mut command = bound_to_us(&server);
    command.arg(format!("--Ice.Config={}", file.display()));
    let server = listening(&mut command, publish, "icebox")?;
    let address = format!("Bench/TopicManager:tcp -h 127.0.0.1 -p {manager}");
    Ok(peer(program, address, (mode, mode), server, folder))
}

/// The cycle after which it moves events to its consumers is 1 ms instead of 100 ms, and its queue
/// holds what comes, since it would drop the oldest.
fn omnievents(mode: &str) -> Result<System, Failure> {
    let (program, server) = (peers::events(EventPeer::OmniEvents)?, installed("omniEvents")?);
    let (folder, port) = (ScratchFolder::new("bench-omnievents"), free_port());
    let mut command = bound_to_us(&server);
    command.args(["-f", "-p", &port.to_string(), "-l"]).arg(folder.path());
    command.arg("-t").arg(folder.path().join("trace"));
    let server = listening(&mut command, port, "omniEvents")?;
    let made = Command::new("eventc")
        .args(["-i", "bench", "-c", "1000000", "-q", "1000000000"])
        .arg(format!("corbaloc::127.0.0.1:{port}/omniEvents"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !made.success() {
        return Err("eventc made no channel of omniEvents".into());
    }
    let address = format!("corbaloc::127.0.0.1:{port}/bench");
    let loopback = "-ORBendPoint giop:tcp:127.0.0.1:";
    let modes = (format!("{mode} {loopback}"), format!("consume {loopback}"));
    Ok(peer(program, address, (&modes.0, &modes.1), server, folder))
}

fn peer(
    program: PathBuf,
    address: String,
    (supplier, consumer): (&str, &str),
    server: Server,
    folder: ScratchFolder,
) -> System {
    let (supplier_mode, consumer_mode) = (supplier.to_owned(), consumer.to_owned());
    let words = Vec::new();
    System {
        program,
        words,
        address,
        supplier_mode,
        consumer_mode,
        _server: server,
        _folder: folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_there_is_not_is_named() {
        let failure = start("carrier-pigeon", "").err().unwrap();
        assert_eq!(failure.to_string(), "no event channel `carrier-pigeon`");
        let failure = installed("no-such-server-of-corbie").unwrap_err();
        assert!(failure.to_string().contains("is not installed"));
        assert!(Path::new(&installed("sh").unwrap()).is_file());
    }
}
