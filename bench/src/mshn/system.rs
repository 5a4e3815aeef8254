//! The other components of MSHN, each in a process as in the paper's tests, or all in this one; and
//! what they know when requests come.
//!
//! `mshn.rs` starts one before it asks. The daemon, which reports what the machine has to give, is
//! in the Client Library's process: the paper's tests had four processes and no daemon.

use super::component;
use super::local::Local;
use super::options::{Options, Over};
use crate::driver::Failure;
use crate::process::{Launch, Process};
use corbie::Orb;
use corbie_mshn::idl::{Receipt, Scope, StatusReport, Usage};
use corbie_mshn::messages::{Request, Role};
use corbie_mshn::node::{self, Kind};
use corbie_mshn::{Address, DaemonOptions, MechanismName, Peers};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// How long components may take to know each other.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running system; its processes end when it is dropped.
pub(super) struct System {
    peers: Peers,
    advisors: Vec<String>,
    processes: Vec<Process>,
    _home: Home,
}

/// Where the client's own part is.
enum Home {
    Local(#[allow(dead_code, reason = "components are known as long as they live")] Local),
    Orb(Orb),
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Home::Orb(orb) = self {
            orb.shutdown(false);
        }
    }
}

/// Names of so many components: `a0`, `a1`, …
pub(super) fn names(letter: char, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number}")).collect()
}

impl System {
    /// Starts everything and returns when a request can be made. Computing a schedule takes the
    /// advisor so long, as the paper emulates it.
    ///
    /// # Errors
    /// When a component does not start or the machine is not known in time.
    pub(super) fn start(options: &Options, pause: Duration) -> Result<Self, Failure> {
        let advisors = names('a', options.advisors);
        let system = match options.mechanism {
            None => {
                let local = Local::start(options, pause)?;
                let peers = local.peers().clone();
                Self { peers, advisors, processes: Vec::new(), _home: Home::Local(local) }
            }
            Some(mechanism) => Self::of_processes(options, mechanism, pause, advisors)?,
        };
        system.prepare(options)?;
        Ok(system)
    }

    fn of_processes(
        options: &Options,
        mechanism: MechanismName,
        pause: Duration,
        advisors: Vec<String>,
    ) -> Result<Self, Failure> {
        let (naming, url) = start_process(options, &["naming", "--name", "naming"])?;
        let mut processes = vec![naming];
        let pause_us = pause.as_micros().to_string();
        let mechanism_name = mechanism.to_string();
        let mut begin = |kind: &str, names: &[String]| -> Result<(), Failure> {
            for name in names {
                let words = [kind, "--name", name, "--naming", &url, "--mechanism"];
                let rest = [mechanism_name.as_str(), "--pause-us", &pause_us];
                processes.push(start_process(options, &[&words[..], &rest].concat())?.0);
            }
            Ok(())
        };
        if mechanism.needs_channels() {
            begin("events", &names('e', options.channels))?;
        }
        begin("status", &names('s', options.servers))?;
        begin("requirements", &names('r', options.servers))?;
        begin("advisor", &advisors)?;
        let orb = component::orb(options.over, "client")?;
        let peers = component::peers(&orb, &url, mechanism)?;
        let home = Home::Orb(orb.clone());
        let daemon = Kind::Daemon(DaemonOptions::new(super::MACHINE));
        node::join(&orb, &peers, &daemon, super::MACHINE, None)?;
        Ok(Self { peers, advisors, processes, _home: home })
    }

    /// The requirement databases know the application, and the status servers the machine.
    fn prepare(&self, options: &Options) -> Result<(), Failure> {
        let usage = |format: &str, wall_s: f64| Usage {
            application: super::APPLICATION.to_owned(),
            format: format.to_owned(),
            machine: super::MACHINE.to_owned(),
            wall_s,
            samples: 1,
            ..Usage::default()
        };
        for name in names('r', options.servers) {
            let to = Address::named(Role::RequirementDatabase, name);
            for used in [usage("fine", 2.0), usage("coarse", 0.5)] {
                let receipt: Receipt = self.peers.ask(&to, &Request::Record(used))?;
                if !receipt.accepted {
                    return Err(receipt.why.into());
                }
            }
        }
        let ends = Instant::now() + PATIENCE;
        for name in names('s', options.servers) {
            let to = Address::named(Role::StatusServer, name);
            loop {
                let scope = Request::Status(Scope::default());
                let report: StatusReport = self.peers.ask(&to, &scope)?;
                if !report.machines.is_empty() {
                    break;
                }
                if Instant::now() >= ends {
                    return Err("the machine's report does not arrive".into());
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// The others, as the Client Library sees them.
    pub(super) fn peers(&self) -> &Peers {
        &self.peers
    }

    /// The names of the advisors.
    pub(super) fn advisors(&self) -> &[String] {
        &self.advisors
    }

    /// The processes of the other components.
    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// What all processes, this one too, have used of processors so far.
    ///
    /// # Errors
    /// When a process has ended.
    pub(super) fn processor_time(&self) -> io::Result<Duration> {
        let own = std::process::id();
        self.processes.iter().map(Process::id).chain([own]).map(time_of_process).sum()
    }
}

/// What the threads of a process have run, which the kernel keeps in nanoseconds (ticks of 10 ms
/// would be too coarse). Threads that ended meanwhile are lost; MSHN's live on.
fn time_of_process(process: u32) -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end while the folder is read.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let first = text.split_ascii_whitespace().next();
        nanoseconds += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// Starts `corbie-bench serve mshn …`, whose complaints go where those of this process go, and
/// gives what it says once it serves.
fn start_process(options: &Options, words: &[&str]) -> Result<(Process, String), Failure> {
    let mut arguments: Vec<String> =
        ["serve", "mshn"].iter().chain(words).map(|&word| word.to_owned()).collect();
    if options.over == Over::Unix {
        arguments.push("--unix".to_owned());
    }
    let launch = Launch { program: std::env::current_exe()?, arguments };
    let log = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let process = Process::start(&launch, None, &log)?;
    let ready = process.address()?;
    Ok((process, ready))
}
