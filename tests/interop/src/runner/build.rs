//! Builds the peers, once for each state of their sources, and knows how to start them.
//! Called by `runner` and `capture`.

use super::Child;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The peers that are there.
pub(crate) struct Peers {
    folders: BTreeMap<&'static str, PathBuf>,
    missing: Vec<(String, String)>,
}

/// Name, and what has to be on the path to build and run it.
const FOREIGN: [(&str, &[&str], &str); 2] = [
    ("omniorb", &["omniidl", "g++"], "Debian: omniidl omniorb-idl libomniorb4-dev g++"),
    ("jacorb", &["java", "javac", "mvn"], "Java 17 with javac, Maven, and Maven Central in reach"),
];

/// `target/interop`, where peers are built and their logs lie.
pub(crate) fn output_folder() -> PathBuf {
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => source_folder().join("../../target"),
    };
    target.join("interop")
}

fn source_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl Peers {
    /// Builds those that `wanted` names; what cannot be built is missing.
    #[allow(clippy::print_stderr)]
    pub(crate) fn build(wanted: &dyn Fn(&str) -> bool) -> Peers {
        let mut peers = Peers { folders: BTreeMap::new(), missing: Vec::new() };
        // A filter for Corbie alone still shows it with every peer.
        let all = wanted("corbie");
        for (name, programs, needs) in FOREIGN {
            if !all && !wanted(name) {
                continue;
            }
            match build(name, programs) {
                Ok(folder) => {
                    peers.folders.insert(name, folder);
                }
                Err(why) => {
                    eprintln!("{name} is missing: {why} (needs {needs})");
                    peers.missing.push((name.to_owned(), format!("{why}; needs {needs}")));
                }
            }
        }
        peers
    }

    /// Which are missing, and why.
    pub(crate) fn missing(&self) -> &[(String, String)] {
        &self.missing
    }

    /// Whether it can be started.
    pub(crate) fn is_there(&self, peer: &str) -> bool {
        peer == "corbie" || self.folders.contains_key(peer)
    }

    fn command(&self, peer: &str) -> Result<Command, String> {
        if peer == "corbie" {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            let mut command = Command::new(program);
            // nested call-backs need a connection each
            command.arg("peer").env_remove("RUST_BACKTRACE");
            return Ok(command);
        }
        let folder = self.folders.get(peer).ok_or(format!("there is no peer {peer}"))?;
        if peer == "omniorb" {
            return Ok(Command::new(folder.join("omni_peer")));
        }
        let mut command = Command::new("java");
        let path = format!("{0}/classes:{0}/lib/*", folder.display());
        command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", &path, "Peer"]);
        Ok(command)
    }

    /// Starts a server that listens on, and publishes, this port of loopback.
    pub(crate) fn server(
        &self,
        peer: &str,
        giop: &str,
        port: u16,
        more: &[String],
    ) -> Result<Child, String> {
        self.server_in(peer, giop, &Manner::plain(peer, port), more)
    }

    /// Starts a server that listens as `manner` says.
    pub(super) fn server_in(
        &self,
        peer: &str,
        giop: &str,
        manner: &Manner,
        more: &[String],
    ) -> Result<Child, String> {
        let mut command = self.command(peer)?;
        command.arg("server").args(settings(peer, giop)).args(&manner.arguments).args(more);
        command.envs(manner.environment.iter().cloned());
        Child::start(&format!("the {peer} server"), command, log(peer, "server"))
    }

    /// Starts a process that is Corbie's client and server at once.
    pub(crate) fn both(&self, giop: &str, more: &[String]) -> Result<Child, String> {
        let mut command = self.command("corbie")?;
        let manner = Manner::plain("corbie", 0);
        command.arg("both").args(settings("corbie", giop)).args(manner.arguments).args(more);
        Child::start("the corbie client and server", command, log("corbie", "both"))
    }

    /// Starts a client.
    pub(crate) fn client(
        &self,
        peer: &str,
        giop: &str,
        reference: &str,
        more: &[String],
    ) -> Result<Child, String> {
        self.client_in(peer, giop, reference, &Manner::plain(peer, 0), more)
    }

    /// Starts a client that listens and calls as `manner` says.
    pub(super) fn client_in(
        &self,
        peer: &str,
        giop: &str,
        reference: &str,
        manner: &Manner,
        more: &[String],
    ) -> Result<Child, String> {
        let mut command = self.command(peer)?;
        command.args(["client", reference]).args(settings(peer, giop)).args(&manner.arguments);
        command.args(more).envs(manner.environment.iter().cloned());
        Child::start(&format!("the {peer} client"), command, log(peer, "client"))
    }
}

/// Where a peer listens, and what it is told of security.
pub(super) struct Manner {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Manner {
    pub(super) fn new(arguments: Vec<String>) -> Self {
        Self { arguments, environment: Vec::new() }
    }

    /// In plain text at this port of loopback; 0: any.
    pub(super) fn plain(peer: &str, port: u16) -> Self {
        Self::new(endpoint(peer, port))
    }

    /// The same with more arguments.
    pub(super) fn and(mut self, more: &[&str]) -> Self {
        self.arguments.extend(more.iter().map(ToString::to_string));
        self
    }

    /// The same in an environment with this variable.
    pub(super) fn within(mut self, name: &str, value: String) -> Self {
        self.environment.push((name.to_owned(), value));
        self
    }
}

fn log(peer: &str, role: &str) -> Stdio {
    let path = output_folder().join(format!("{peer}-{role}.log"));
    File::options().create(true).append(true).open(path).map_or(Stdio::null(), Stdio::from)
}

/// The arguments that set the highest GIOP version.
fn settings(peer: &str, giop: &str) -> Vec<String> {
    match peer {
        "omniorb" => vec!["-ORBmaxGIOPVersion".to_owned(), giop.to_owned()],
        "jacorb" => vec![format!("jacorb.giop_minor_version={}", giop.trim_start_matches("1."))],
        _ => vec!["-ORBGIOPVersion".to_owned(), giop.to_owned()],
    }
}

/// The arguments that say where to listen; port 0: anywhere.
fn endpoint(peer: &str, port: u16) -> Vec<String> {
    let any = port == 0;
    match peer {
        "omniorb" if any => vec!["-ORBendPoint".to_owned(), "giop:tcp:127.0.0.1:".to_owned()],
        "omniorb" => vec!["-ORBendPoint".to_owned(), format!("giop:tcp:127.0.0.1:{port}")],
        "jacorb" if any => Vec::new(),
        "jacorb" => vec![format!("OAPort={port}")],
        _ => vec!["-ORBListenEndpoints".to_owned(), format!("iiop://127.0.0.1:{port}")],
    }
}

/// Builds one peer unless it was built from these sources before.
#[allow(clippy::print_stderr)]
fn build(name: &str, programs: &[&str]) -> Result<PathBuf, String> {
    if let Some(program) = programs.iter().find(|program| !is_on_path(program)) {
        return Err(format!("there is no {program} on the path"));
    }
    let sources = source_folder().join("peers").join(name);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    hash_folder(&sources, &mut hash)?;
    hash_folder(&source_folder().join("idl"), &mut hash)?;
    let folder = output_folder().join(format!("{name}-{hash:016x}"));
    let done = folder.join("complete");
    if done.exists() {
        return Ok(folder);
    }
    eprintln!("building {name} in {}", folder.display());
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let output = Command::new(sources.join("build.sh"))
        .arg(&folder)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let told = String::from_utf8_lossy(&output.stdout);
        return Err(format!("build.sh failed: {} {}", last_lines(&told), last_lines(&errors)));
    }
    File::create(&done).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join(" / ")
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// FNV-1a over names and contents, in a fixed order.
fn hash_folder(folder: &Path, hash: &mut u64) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(fail)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(fail)?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            hash_folder(&path, hash)?;
            continue;
        }
        let content = fs::read(&path).map_err(fail)?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        for octet in name.iter().chain(&content) {
            *hash = (*hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(())
}
