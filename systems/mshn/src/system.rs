//! A whole system on one machine: the naming service and every component as a process, watched, and
//! started again under its name and with its store when it ends.
//!
//! `corbie mshn up` and the tests that kill components use it.

mod process;

use corbie::Orb;
use corbie_naming::Naming;
use process::{Process, ProcessState};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::mechanism::MechanismName;
use crate::socket;

/// How often processes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a system is made of.
#[derive(Clone, Debug)]
pub struct SystemOptions {
    /// The program whose `mshn serve` serves a component: `corbie`.
    pub program: PathBuf,
    /// Where stores are.
    pub folder: PathBuf,
    /// How components talk.
    pub mechanism: MechanismName,
    /// Servers of channels, for mechanisms that need them.
    pub event_servers: usize,
    /// Machines, each with a daemon.
    pub machines: usize,
    /// Advisors, status servers and requirement databases, so many of each.
    pub replicas: usize,
    /// Proxies of status servers and of requirement databases, so many of each; none: updates go to
    /// all of those themselves.
    pub proxies: usize,
    /// Jobs at a time on one machine.
    pub slots: usize,
    /// A folder for what jobs print, standard error as well, in a file for each; none: it is thrown
    /// away.
    pub outputs: Option<PathBuf>,
    /// Further arguments of every process, for its log; none: it logs what needs a look.
    pub log: Vec<String>,
    /// The processes serve metrics at the ports behind this one; none: they serve none.
    pub metrics: Option<SocketAddr>,
}

/// A process of a system.
#[derive(Clone, Debug)]
pub struct SystemProcess {
    /// Such as `advisor a0`.
    pub name: String,
    /// The process id; another one when it was replaced.
    pub id: u32,
    /// Where it serves metrics.
    pub metrics: Option<SocketAddr>,
}

/// A running system; ended when it is dropped.
pub struct System {
    shared: Arc<SystemShared>,
    naming: String,
    metrics: Option<SocketAddr>,
    // Goes after the processes.
    _sockets: socket::Folder,
}

struct SystemShared {
    is_ending: AtomicBool,
    restarts: AtomicU32,
    /// Lock "processes": not held while a process is waited for.
    processes: Mutex<Vec<Process>>,
}

impl SystemShared {
    fn lock(&self) -> MutexGuard<'_, Vec<Process>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts those again that have ended. Waits for none of them: components that start wait for
    /// the naming service, the first of all, which may end meanwhile.
    fn look(&self) {
        for process in self.lock().iter_mut() {
            match process.look() {
                ProcessState::Ends if !process.is_due() => (),
                ProcessState::Ends => {
                    let (status, component) = (process.status(), &*process.name);
                    tracing::warn!(component, status, "it has ended and is replaced");
                    if let Err(error) = process.restart() {
                        // Tried again at the next look.
                        tracing::warn!(component = process.name, %error, "not replaced");
                    }
                }
                ProcessState::Begins => (),
                ProcessState::Serves { is_new } => {
                    self.restarts.fetch_add(is_new.into(), Ordering::Relaxed);
                }
            }
        }
    }
}

impl SystemOptions {
    /// The arguments by which the process of this number is watched.
    fn watched(&self, number: usize) -> io::Result<Vec<String>> {
        let mut arguments = self.log.clone();
        if let Some(first) = self.metrics {
            let text = format!("there is no port for metrics that far behind {first}");
            let place = behind(first, number).ok_or_else(|| io::Error::other(text))?;
            arguments.extend(["--metrics".to_owned(), place.to_string()]);
        }
        Ok(arguments)
    }
}

/// The place with the port that is so many behind the one after `first`.
fn behind(first: SocketAddr, number: usize) -> Option<SocketAddr> {
    let port = u16::try_from(number).ok()?.checked_add(first.port())?.checked_add(1)?;
    Some(SocketAddr::new(first.ip(), port))
}

/// Where a component keeps what must outlive its process.
fn store(options: &SystemOptions, name: &str) -> String {
    options.folder.join(format!("{name}.redb")).display().to_string()
}

/// All components but the naming service, in the order in which they are started: kind, name and
/// further arguments. Proxies are there before those who would go past them.
fn components(options: &SystemOptions) -> Vec<(&'static str, String, Vec<String>)> {
    let mut all = Vec::new();
    if options.mechanism.needs_channels() {
        all.extend((0..options.event_servers.max(1)).map(|n| ("events", format!("e{n}"), vec![])));
    }
    let stored = |kind, name: String| {
        let more = vec!["--store".to_owned(), store(options, &name)];
        (kind, name, more)
    };
    for replica in 0..options.replicas.max(1) {
        all.push(("status", format!("s{replica}"), vec![]));
        all.push(stored("requirements", format!("r{replica}")));
    }
    for proxy in 0..options.proxies {
        all.push(("status-proxy", format!("p{proxy}"), vec![]));
        all.push(("requirements-proxy", format!("p{proxy}"), vec![]));
    }
    all.extend((0..options.replicas.max(1)).map(|n| stored("advisor", format!("a{n}"))));
    let mut of_daemons = vec!["--slots".to_owned(), options.slots.to_string()];
    if let Some(folder) = &options.outputs {
        of_daemons.extend(["--outputs".to_owned(), folder.display().to_string()]);
    }
    let daemons = (1..=options.machines.max(1)).map(|n| format!("m{n}"));
    all.extend(daemons.map(|name| ("daemon", name, of_daemons.clone())));
    all
}

impl System {
    /// Starts everything, the naming service first; returns when all serve.
    ///
    /// # Errors
    /// When a process cannot be started or does not serve.
    pub fn start(options: &SystemOptions) -> io::Result<Self> {
        let words = |words: &[&str]| words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>();
        // A fixed place, so that references to names outlive the process that serves them.
        let sockets = socket::Folder::make()?;
        let place = sockets.path().join("naming.sock");
        let listen = format!("uiop://{}", place.display());
        let mut names = words(&[
            "mshn",
            "serve",
            "naming",
            "--name",
            "naming",
            "--until-eof",
            "--listen",
            &listen,
            "--store",
            &store(options, "naming"),
        ]);
        names.extend(options.watched(0)?);
        let (first, naming) = Process::start("naming", &options.program, names, sockets.path())?;
        let mut processes = vec![first];
        let mechanism = options.mechanism.to_string();
        let mut begin = |kind: &str, name: &str, more: &[&str]| -> io::Result<()> {
            let mut arguments = words(&[
                "mshn",
                "serve",
                kind,
                "--name",
                name,
                "--until-eof",
                "--name-service",
                &naming,
                "--mechanism",
                &mechanism,
            ]);
            arguments.extend(words(more));
            arguments.extend(options.watched(processes.len())?);
            let label = format!("{kind} {name}");
            let started = Process::start(&label, &options.program, arguments, sockets.path())?;
            processes.push(started.0);
            Ok(())
        };
        for (kind, name, more) in components(options) {
            let more: Vec<&str> = more.iter().map(String::as_str).collect();
            begin(kind, &name, &more)?;
        }
        let naming = format!("corbaloc:uiop:1.2@{}|NameService", place.display());
        let (is_ending, restarts) = (AtomicBool::new(false), AtomicU32::new(0));
        let shared =
            Arc::new(SystemShared { is_ending, restarts, processes: Mutex::new(processes) });
        let watched = Arc::clone(&shared);
        std::thread::spawn(move || {
            while !watched.is_ending.load(Ordering::Acquire) {
                watched.look();
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Ok(Self { shared, naming, metrics: options.metrics, _sockets: sockets })
    }

    /// A reference of the naming service that people can copy.
    #[must_use]
    pub fn naming_url(&self) -> &str {
        &self.naming
    }

    /// The naming service, for clients in this process.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn naming(&self, orb: &Orb) -> Result<Naming, corbie_naming::NamingError> {
        Naming::at(orb, &self.naming)
    }

    /// The processes, in the order in which they were started.
    #[must_use]
    pub fn processes(&self) -> Vec<SystemProcess> {
        let processes = self.shared.lock();
        let process = |(number, process): (usize, &Process)| SystemProcess {
            name: process.name.clone(),
            id: process.id(),
            metrics: self.metrics.and_then(|first| behind(first, number)),
        };
        processes.iter().enumerate().map(process).collect()
    }

    /// Ends a process with SIGKILL; it is replaced. Whether there is one of that name.
    pub fn kill(&self, name: &str) -> bool {
        let mut processes = self.shared.lock();
        let found = processes.iter_mut().find(|process| process.name == name);
        found.is_some_and(|process| process.kill().is_ok())
    }

    /// How often a process was replaced.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.shared.restarts.load(Ordering::Relaxed)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        self.shared.lock().clear();
    }
}
