//! The MSHN Daemon: one a machine. Starts the jobs that advisors send, as many at a time as the
//! machine has slots, watches them, tells advisors how they end, and reports the machine's status.
//!
//! A job runs wrapped by the Client Library: in the daemon, or in a process of its own that ends
//! with the daemon ([`DaemonOptions::wrapper`]), so that a daemon that is killed leaves nothing
//! running that its advisors would start again.

mod running;

use crate::address::Address;
use crate::host::Host;
use crate::idl::{Outcome, Phase, Receipt, StartOrder};
use crate::messages::{Component, Done, Request, Role, accepted, not_mine, refused};
use crate::peers::Peers;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How a daemon works.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The name of the machine.
    pub machine: String,
    /// Jobs at a time.
    pub slots: usize,
    /// Between two reports of the machine's status.
    pub interval: Duration,
    /// Jobs that may wait for a slot; more are refused.
    pub queue_max: usize,
    /// A command that runs the command behind `--` and says at its end what that used, as
    /// [`Used`](crate::client_library::Used) is written; it ends with its process group when its
    /// standard input does. None: jobs run under the daemon itself, and live on when that is
    /// killed.
    pub wrapper: Vec<String>,
    /// A folder for what jobs print, standard error as well, in a file for each; none: it is thrown
    /// away.
    pub outputs: Option<PathBuf>,
}

impl DaemonOptions {
    /// For a machine of this name: two jobs at a time, a report every half second.
    #[must_use]
    pub fn new(machine: impl Into<String>) -> Self {
        let (machine, wrapper) = (machine.into(), Vec::new());
        let interval = Duration::from_millis(500);
        Self { machine, slots: 2, interval, queue_max: 200_000, wrapper, outputs: None }
    }
}

/// Ended jobs whose outcome is kept for advisors that ask.
const ENDED_MAX: usize = 10_000;

/// See the module.
pub struct Daemon {
    options: DaemonOptions,
    peers: Peers,
    /// Lock "daemon": not held in calls.
    state: Mutex<DaemonState>,
}

#[derive(Default)]
struct DaemonState {
    jobs: HashMap<String, KnownRun>,
    waiting: VecDeque<StartOrder>,
    running: usize,
    /// In the order of their end; the oldest are forgotten.
    ended: VecDeque<String>,
}

struct KnownRun {
    attempt: u32,
    outcome: Outcome,
    stop: Arc<AtomicBool>,
}

impl Daemon {
    /// A daemon, which begins to report.
    #[must_use]
    pub fn new(options: DaemonOptions, peers: Peers) -> Arc<Self> {
        let daemon = Arc::new(Self { options, peers, state: Mutex::default() });
        let (weak, interval) = (Arc::downgrade(&daemon), daemon.options.interval);
        std::thread::spawn(move || report(&weak, interval));
        daemon
    }

    fn lock(&self) -> MutexGuard<'_, DaemonState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, order: StartOrder) -> Receipt {
        {
            let mut state = self.lock();
            if let Some(known) = state.jobs.get(&order.what.id)
                && known.attempt >= order.attempt
            {
                return accepted();
            }
            if state.waiting.len() >= self.options.queue_max {
                return refused(format!("{} jobs wait already", state.waiting.len()));
            }
            let outcome = outcome_of(&order, &self.options.machine);
            let known = KnownRun { attempt: order.attempt, outcome, stop: Arc::default() };
            if let Some(before) = state.jobs.insert(order.what.id.clone(), known) {
                before.stop.store(true, Ordering::Release);
            }
            state.waiting.push_back(order);
        }
        self.fill_slots();
        accepted()
    }

    /// Starts what waits as long as there are slots.
    fn fill_slots(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            if state.running >= self.options.slots {
                return;
            }
            let Some(order) = state.waiting.pop_front() else { return };
            let Some(known) = state.jobs.get_mut(&order.what.id) else { continue };
            if known.attempt != order.attempt || known.stop.load(Ordering::Acquire) {
                continue;
            }
            known.outcome.state = Phase::Running;
            let stop = Arc::clone(&known.stop);
            state.running += 1;
            drop(state);
            let (daemon, given) = (Arc::clone(self), order.clone());
            let run = move || {
                let end = running::run(&daemon.options, &daemon.peers, &given, &stop);
                daemon.ended(&given, end);
            };
            if let Err(error) = std::thread::Builder::new().spawn(run) {
                tracing::warn!(%error, job = order.what.id, "no thread for the job; it waits on");
                return self.put_back(order);
            }
        }
    }

    /// A job that could not be started; the next report tries again.
    fn put_back(&self, order: StartOrder) {
        let mut state = self.lock();
        state.running -= 1;
        if let Some(known) = state.jobs.get_mut(&order.what.id)
            && known.attempt == order.attempt
        {
            known.outcome.state = Phase::Waiting;
            state.waiting.push_front(order);
        }
    }

    fn ended(self: &Arc<Self>, order: &StartOrder, end: running::End) {
        let mut told = None;
        {
            let mut state = self.lock();
            state.running -= 1;
            if let Some(known) = state.jobs.get_mut(&order.what.id)
                && known.attempt == order.attempt
                && !end.is_stopped
            {
                known.outcome.state = end.state;
                known.outcome.exit_status = end.exit_status;
                known.outcome.why = end.why;
                told = Some(known.outcome.clone());
                state.ended.push_back(order.what.id.clone());
            }
            while state.ended.len() > ENDED_MAX {
                let Some(oldest) = state.ended.pop_front() else { break };
                // It may have been started again since.
                let has_ended = state.jobs.get(&oldest).is_some_and(|known| {
                    matches!(known.outcome.state, Phase::Done | Phase::Failed)
                });
                if has_ended {
                    state.jobs.remove(&oldest);
                }
            }
        }
        if let Some(outcome) = told {
            let to = Address::named(Role::Advisor, order.advisor.clone());
            // Lost, the advisor asks by itself.
            self.peers.start(&to, Request::Finished(outcome), Box::new(|_| ()));
        }
        self.fill_slots();
    }

    fn stop(&self, job: &str) -> Receipt {
        let mut state = self.lock();
        state.waiting.retain(|order| order.what.id != job);
        match state.jobs.remove(job) {
            Some(known) => {
                known.stop.store(true, Ordering::Release);
                accepted()
            }
            None => refused("no such job here"),
        }
    }

    fn outcome(&self, job: &str) -> Outcome {
        let known = self.lock().jobs.get(job).map(|known| known.outcome.clone());
        known.unwrap_or_else(|| Outcome {
            job: job.to_owned(),
            machine: self.options.machine.clone(),
            ..Outcome::default()
        })
    }

    fn running(&self) -> u32 {
        u32::try_from(self.lock().running).unwrap_or(u32::MAX)
    }
}

fn outcome_of(order: &StartOrder, machine: &str) -> Outcome {
    let format = order.what.formats.get(order.place.format as usize);
    Outcome {
        job: order.what.id.clone(),
        state: Phase::Waiting,
        machine: machine.to_owned(),
        format: format.map(|format| format.name.clone()).unwrap_or_default(),
        exit_status: 0,
        late_by_s: 0.0,
        starts: order.attempt,
        why: String::new(),
    }
}

fn report(daemon: &Weak<Daemon>, interval: Duration) {
    let mut host = Host::default();
    while let Some(daemon) = daemon.upgrade() {
        daemon.fill_slots();
        match host.measure(&daemon.options.machine) {
            Ok(mut status) => {
                status.running = daemon.running();
                daemon.peers.update_all(Role::StatusServer, &Request::Report(status));
            }
            Err(error) => tracing::warn!(%error, "the machine cannot be measured"),
        }
        drop(daemon);
        std::thread::sleep(interval);
    }
}

/// A daemon as a component.
pub struct DaemonComponent(pub Arc<Daemon>);

impl Component for DaemonComponent {
    fn serve(&self, request: Request, done: Done) {
        let reply = match request {
            Request::Start(order) => self.0.start(order).into(),
            Request::Stop(which) => self.0.stop(&which.id).into(),
            Request::State(which) => self.0.outcome(&which.id).into(),
            other => return done(Err(not_mine(&other))),
        };
        done(Ok(reply));
    }
}
