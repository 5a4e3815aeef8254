//! The other components of MSHN, each in a process as in the paper's tests, or all in this one; and
//! what they know when requests come.
//!
//! `mshn.rs` starts one before it asks. The daemon, which reports what the machine has to give, is
//! in the Client Library's process: the paper's tests had four processes and no daemon.

use super::component;
use super::local::LocalComponents;
use super::options::{LoadOptions, Over};
use super::work::{Done, Work, time_of_process};
use crate::driver::Failure;
use crate::placement;
use crate::process::{Launch, Process};
use corbie::Orb;
use corbie_mshn::idl::{Receipt, Scope, StatusReport, Usage};
use corbie_mshn::messages::{Request, Role};
use corbie_mshn::node::{self, Kind};
use corbie_mshn::{Address, DaemonOptions, MechanismName, Peers};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// How long components may take to know each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running system; its processes end when it is dropped.
pub(super) struct LoadedSystem {
    peers: Peers,
    processes: Vec<ComponentProcess>,
    _home: Home,
}

/// A component's process.
struct ComponentProcess {
    kind: &'static str,
    process: Process,
}

/// Where the client's own part is.
enum Home {
    Local(
        #[allow(dead_code, reason = "components are known as long as they live")] LocalComponents,
    ),
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

impl LoadedSystem {
    /// Starts everything and returns when a request can be made. Computing a schedule takes the
    /// advisor so long, as the paper emulates it.
    ///
    /// # Errors
    /// When a component does not start or the machine is not known in time.
    pub(super) fn start(options: &LoadOptions, pause: Duration) -> Result<Self, Failure> {
        let system = match options.mechanism {
            None => {
                let local = LocalComponents::start(options, pause)?;
                let peers = local.peers().clone();
                Self { peers, processes: Vec::new(), _home: Home::Local(local) }
            }
            Some(mechanism) => Self::of_processes(options, mechanism, pause)?,
        };
        system.prepare(options)?;
        Ok(system)
    }

    fn of_processes(
        options: &LoadOptions,
        mechanism: MechanismName,
        pause: Duration,
    ) -> Result<Self, Failure> {
        let place = options.place;
        let naming = ["naming", "--name", "naming"];
        let naming = start_process(options, place.servers(), &naming)?;
        let url = naming.address()?;
        let mut processes: Vec<ComponentProcess> = Vec::new();
        let pause_us = pause.as_micros().to_string();
        let mechanism_name = mechanism.to_string();
        let begin = |kind: &'static str, name: &str, core| -> Result<ComponentProcess, Failure> {
            let words = [kind, "--name", name, "--naming", &url, "--mechanism"];
            let rest = [mechanism_name.as_str(), "--pause-us", &pause_us];
            let process = start_process(options, core, &[&words[..], &rest].concat())?;
            Ok(ComponentProcess { kind, process })
        };
        let channels = if mechanism.needs_channels() { options.channels } else { 0 };
        for (number, name) in names('e', channels).iter().enumerate() {
            processes.push(begin("events", name, place.channels(number))?);
        }
        // The others need the channels, and find each other when the first request comes.
        await_all(&processes)?;
        for name in names('s', options.servers) {
            processes.push(begin("status", &name, place.servers())?);
        }
        for name in names('r', options.servers) {
            processes.push(begin("requirements", &name, place.servers())?);
        }
        for name in names('a', options.advisors) {
            processes.push(begin("advisor", &name, place.advisors())?);
        }
        await_all(&processes[channels..])?;
        processes.push(ComponentProcess { kind: "naming", process: naming });
        // The threads of the client's ORB stay where they are begun.
        let home = placement::on_core(place.advisors(), || Ok(client(options, mechanism, &url)))?;
        let (orb, peers) = home?;
        Ok(Self { peers, processes, _home: Home::Orb(orb) })
    }

    /// The requirement databases know the application, and the status servers the machine.
    fn prepare(&self, options: &LoadOptions) -> Result<(), Failure> {
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

    /// How many processes the other components are.
    pub(super) fn size(&self) -> usize {
        self.processes.len()
    }

    /// What all processes, this one too, have done so far.
    ///
    /// # Errors
    /// When a process has ended.
    pub(super) fn work(&mut self) -> Result<Work, Failure> {
        let own = Done { kind: "client", requests: 0, time: time_of_process(std::process::id())? };
        let mut work = Work(vec![own]);
        for ComponentProcess { kind, process } in &mut self.processes {
            let requests = match *kind {
                "naming" | "events" => 0,
                _ => {
                    process.say("count")?;
                    process.line()?.parse()?
                }
            };
            work.0.push(Done { kind, requests, time: time_of_process(process.id())? });
        }
        Ok(work)
    }
}

/// The Client Library's own ORB, with the daemon that reports the machine.
fn client(
    options: &LoadOptions,
    mechanism: MechanismName,
    naming: &str,
) -> Result<(Orb, Peers), Failure> {
    let orb = component::orb(options.over, "client")?;
    // The daemon has its own way: its reports do not wait behind a burst of requests.
    let peers = component::peers(&orb, naming, mechanism)?;
    let daemon = Kind::Daemon(DaemonOptions::new(super::MACHINE));
    node::join(&orb, &peers, &daemon, super::MACHINE, None)?;
    let peers = component::peers(&orb, naming, mechanism)?;
    Ok((orb, peers))
}

/// Waits until each has said that it serves.
fn await_all(parts: &[ComponentProcess]) -> io::Result<()> {
    parts.iter().try_for_each(|part| part.process.address().map(drop))
}

/// Starts `corbie-bench serve mshn …`, whose complaints go where those of this process go.
fn start_process(
    options: &LoadOptions,
    core: Option<usize>,
    words: &[&str],
) -> Result<Process, Failure> {
    let mut arguments: Vec<String> =
        ["serve", "mshn"].iter().chain(words).map(|&word| word.to_owned()).collect();
    if options.over == Over::Unix {
        arguments.push("--unix".to_owned());
    }
    let launch = Launch { program: std::env::current_exe()?, arguments };
    let log = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    Ok(Process::start(&launch, core, &log)?)
}
