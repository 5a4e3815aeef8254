//! What the advisor asks of daemons, without waiting for it: a daemon that hangs holds nobody back.
//! Answers come to the advisor's thread as work (`work.rs`).
//!
//! A daemon that does not answer for a while is silent, whatever it may report: it is given no
//! jobs, and is asked again, by a thread of its own, until it answers.

use super::{Shared, Work};
use crate::idl::{Accepted, JobId};
use crate::messages::{Done, Reply, Request, Role};
use crate::peers::{Address, is_stale};
use corbie::SystemException;
use std::collections::{BTreeSet, HashMap};
use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A question is repeated although the last one may still be answered.
const ASKED_ANEW: Duration = Duration::from_secs(60);

/// Between two questions to a daemon that did not answer.
const AGAIN_EVERY: Duration = Duration::from_secs(1);

/// A daemon that did not answer for so long is asked no more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// What a daemon said, or that it said nothing.
pub(super) struct Told {
    /// The job that it was asked about, as it was then; one without an id: whether it is there.
    pub(super) job: Accepted,
    /// When it was asked to start the job: how long this was to take, in seconds.
    pub(super) started: Option<f64>,
    pub(super) answer: Result<Reply, SystemException>,
}

/// See the module.
pub(super) struct Asking {
    answers: Weak<Sender<Work>>,
    silence: Duration,
    /// Jobs that a daemon was asked about and did not answer: the attempt, and since when.
    jobs: HashMap<String, (u32, Instant)>,
    /// Those that owe an answer, or did not give one.
    daemons: HashMap<String, Daemon>,
}

struct Daemon {
    /// Questions that are not answered.
    waiting: usize,
    /// The first question, after it was last heard of, that it did not answer.
    since: Option<Instant>,
    /// The last question.
    asked: Instant,
    /// Jobs that it is not to run any more, which it could not be told.
    stops: BTreeSet<String>,
}

impl Asking {
    pub(super) fn new(answers: Weak<Sender<Work>>, silence: Duration) -> Self {
        Self { answers, silence, jobs: HashMap::new(), daemons: HashMap::new() }
    }

    /// Asks the daemon of the job's machine about the job, or to start it.
    pub(super) fn ask(
        &mut self,
        shared: &Shared,
        job: Accepted,
        request: Request,
        started: Option<f64>,
    ) {
        let now = Instant::now();
        self.jobs.insert(job.what.id.clone(), (job.state.starts, now));
        let daemon = self.asked(&job.state.machine, now);
        if started.is_some() {
            // It ends the attempts before by itself.
            daemon.stops.remove(&job.what.id);
        }
        let to = Address::named(Role::Daemon, job.state.machine.clone());
        shared.daemons.start(&to, request, self.telling(job, started));
    }

    /// Has a job ended that has gone elsewhere; when the daemon is silent, as soon as it is back.
    pub(super) fn stop(&mut self, shared: &Shared, machine: &str, job: &str) {
        match self.daemons.get_mut(machine) {
            Some(daemon) if daemon.is_silent(self.silence) => {
                daemon.stops.insert(job.to_owned());
            }
            _ => stop(shared, machine, job),
        }
    }

    /// Whether a question about the job as it is may still be answered.
    pub(super) fn is_waited_for(&self, job: &Accepted) -> bool {
        self.jobs.get(&job.what.id).is_some_and(|(attempt, since)| {
            *attempt == job.state.starts && since.elapsed() < ASKED_ANEW
        })
    }

    /// Whether a daemon does not answer.
    pub(super) fn is_silent(&self, machine: &str) -> bool {
        self.daemons.get(machine).is_some_and(|daemon| daemon.is_silent(self.silence))
    }

    /// A daemon has answered, or will not.
    pub(super) fn heard(&mut self, shared: &Shared, told: &Told) {
        let (job, machine) = (&told.job.what.id, &told.job.state.machine);
        if self.jobs.get(job).is_some_and(|(attempt, _)| *attempt == told.job.state.starts) {
            self.jobs.remove(job);
        }
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        daemon.waiting = daemon.waiting.saturating_sub(1);
        if matches!(&told.answer, Err(exception) if is_stale(exception)) {
            return;
        }
        daemon.since = (daemon.waiting > 0).then(Instant::now);
        for job in std::mem::take(&mut daemon.stops) {
            stop(shared, machine, &job);
        }
        if daemon.waiting == 0 {
            self.daemons.remove(machine);
        }
    }

    /// Asks those that did not answer whether they are back. To connect to a host that is gone
    /// takes time, hence threads.
    pub(super) fn ask_again(&mut self, shared: &Shared) {
        let is_due = |daemon: &Daemon| {
            let pause = if daemon.waiting == 0 { AGAIN_EVERY } else { ASKED_ANEW };
            daemon.since.is_some() && daemon.asked.elapsed() >= pause
        };
        let is_kept = |daemon: &mut Daemon| {
            daemon.waiting > 0 || daemon.since.is_some_and(|at| at.elapsed() < FORGOTTEN_AFTER)
        };
        self.daemons.retain(|_, daemon| is_kept(daemon));
        let due = self.daemons.iter().filter(|(_, daemon)| is_due(daemon));
        let due: Vec<String> = due.map(|(machine, _)| machine.clone()).collect();
        for machine in due {
            self.asked(&machine, Instant::now());
            let mut nothing = Accepted::default();
            nothing.state.machine.clone_from(&machine);
            let done = self.telling(nothing, None);
            let daemons = shared.daemons.clone();
            let to = Address::named(Role::Daemon, machine);
            let request = Request::State(JobId::default());
            std::thread::spawn(move || daemons.start(&to, request, done));
        }
    }

    fn asked(&mut self, machine: &str, now: Instant) -> &mut Daemon {
        let daemon = self.daemons.entry(machine.to_owned()).or_insert_with(|| Daemon {
            waiting: 0,
            since: None,
            asked: now,
            stops: BTreeSet::new(),
        });
        daemon.waiting += 1;
        daemon.since.get_or_insert(now);
        daemon.asked = now;
        daemon
    }

    /// Brings an answer to the advisor's thread, if there still is one.
    fn telling(&self, job: Accepted, started: Option<f64>) -> Done {
        let answers = Weak::clone(&self.answers);
        Box::new(move |answer| {
            if let Some(answers) = answers.upgrade() {
                // The thread lives as long as the advisor does, which may end just now.
                let _ = answers.send(Work::Told(Box::new(Told { job, started, answer })));
            }
        })
    }
}

impl Daemon {
    fn is_silent(&self, silence: Duration) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= silence)
    }
}

/// Not told, it runs to an end that nobody takes for the job's.
fn stop(shared: &Shared, machine: &str, job: &str) {
    let request = Request::Stop(JobId { id: job.to_owned() });
    let to = Address::named(Role::Daemon, machine);
    shared.daemons.start(&to, request, Box::new(|_| ()));
}
