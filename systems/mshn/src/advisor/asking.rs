//! What the advisor asks of daemons, without waiting for it: a daemon that hangs holds no job back.
//! Answers come to the advisor's thread as work (`work.rs`).
//!
//! A daemon that does not answer for a while is silent, whatever it may report: it is given no
//! jobs, and is asked again, by a thread of its own, until it answers.

use super::{AdvisorShared, Work};
use crate::address::Address;
use crate::idl::{Accepted, JobId};
use crate::messages::{Done, Reply, Request, Role};
use crate::peers::is_stale;
use corbie::SystemException;
use std::collections::{BTreeMap, HashMap};
use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A question is repeated although the last one may still be answered.
const ASKED_ANEW: Duration = Duration::from_secs(60);

/// Between two questions to a daemon that did not answer.
const AGAIN_EVERY: Duration = Duration::from_secs(1);

/// A daemon that did not answer for so long is asked no more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// What a daemon is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Question {
    /// To start the job, which is to be done in so many seconds.
    Start(f64),
    /// How the job is.
    State,
    /// To run the job no more: it is another machine's.
    Stop,
    /// Whether it is there.
    Presence,
}

/// What a daemon said, or that it said nothing.
pub(super) struct ToldOrder {
    /// The job that it was asked about, as it was then.
    pub(super) job: Accepted,
    pub(super) question: Question,
    pub(super) answer: Result<Reply, SystemException>,
}

/// See the module.
pub(super) struct Asking {
    answers: Weak<Sender<Work>>,
    silence: Duration,
    /// Jobs that a daemon was asked about and did not answer: the attempt, and since when.
    jobs: HashMap<String, (u32, Instant)>,
    /// Those that owe an answer, or did not give one.
    daemons: HashMap<String, AskedDaemon>,
}

struct AskedDaemon {
    /// Questions that are not answered.
    waiting: usize,
    /// The first question, after it was last heard of, that it did not answer.
    since: Option<Instant>,
    /// The last question.
    asked: Instant,
    /// Whether the last question that came to an end came to nothing.
    has_failed: bool,
    /// Jobs whose attempts until then it is not to run any more and did not hear so.
    stops: BTreeMap<String, Stop>,
}

/// What becomes of such attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    /// The daemon is to be told when it answers anything.
    Owed,
    /// It is being told.
    ToldOrder,
    /// It is being told to start this attempt, which ends those before.
    Replaced(u32),
}

impl Asking {
    pub(super) fn new(answers: Weak<Sender<Work>>, silence: Duration) -> Self {
        Self { answers, silence, jobs: HashMap::new(), daemons: HashMap::new() }
    }

    /// Asks the daemon of the job's machine about the job, or to start it.
    pub(super) fn ask(
        &mut self,
        shared: &AdvisorShared,
        job: Accepted,
        request: Request,
        question: Question,
    ) {
        let now = Instant::now();
        self.jobs.insert(job.what.id.clone(), (job.state.starts, now));
        let daemon = self.asked(&job.state.machine, now);
        if matches!(question, Question::Start(_))
            && let Some(stop) = daemon.stops.get_mut(&job.what.id)
        {
            *stop = Stop::Replaced(job.state.starts);
        }
        let to = Address::named(Role::Daemon, job.state.machine.clone());
        shared.daemons.start(&to, request, self.telling(job, question));
    }

    /// Has a job ended that is not the daemon's any more; when it is silent, as soon as it is back.
    /// Not told, it runs to an end that is not taken for the job's.
    pub(super) fn stop(&mut self, shared: &AdvisorShared, machine: &str, job: &str) {
        if self.is_silent(machine) {
            return self.stop_when_reached(machine, job);
        }
        self.asked(machine, Instant::now()).stops.insert(job.to_owned(), Stop::ToldOrder);
        let mut stopped = Accepted::default();
        stopped.what.id = job.to_owned();
        stopped.state.machine = machine.to_owned();
        let request = Request::Stop(JobId { id: job.to_owned() });
        let to = Address::named(Role::Daemon, machine);
        shared.daemons.start(&to, request, self.telling(stopped, Question::Stop));
    }

    /// The same when the daemon does not answer just now: as soon as it answers anything, unless
    /// it is to start the job again by then.
    pub(super) fn stop_when_reached(&mut self, machine: &str, job: &str) {
        let now = Instant::now();
        let daemon = self.daemon(machine, now);
        daemon.since.get_or_insert(now);
        daemon.stops.insert(job.to_owned(), Stop::Owed);
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

    /// Whether a daemon may not be there: its last answer did not come, or one is owed for long.
    /// Whether it is back is asked by a thread of its own.
    pub(super) fn is_doubtful(&self, machine: &str) -> bool {
        self.daemons
            .get(machine)
            .is_some_and(|daemon| daemon.has_failed || daemon.is_silent(AGAIN_EVERY))
    }

    /// A daemon has answered, or will not.
    pub(super) fn heard(&mut self, shared: &AdvisorShared, told: &ToldOrder) {
        let (job, machine) = (&told.job.what.id, &told.job.state.machine);
        let is_asked = matches!(told.question, Question::Start(_) | Question::State);
        let attempt = self.jobs.get(job).map(|(attempt, _)| *attempt);
        if is_asked && attempt == Some(told.job.state.starts) {
            self.jobs.remove(job);
        }
        let Some(daemon) = self.daemons.get_mut(machine) else { return };
        daemon.waiting = daemon.waiting.saturating_sub(1);
        daemon.has_failed = matches!(&told.answer, Err(exception) if is_stale(exception));
        let of_job = daemon.stops.get(job).copied();
        let ends_runs = match (told.question, of_job) {
            (Question::Stop, Some(Stop::ToldOrder)) => Some(!daemon.has_failed),
            (Question::Start(_), Some(Stop::Replaced(by))) if by == told.job.state.starts => {
                let answer = &told.answer;
                Some(matches!(answer, Ok(Reply::Receipt(receipt)) if receipt.accepted))
            }
            _ => None,
        };
        match ends_runs {
            Some(true) => drop(daemon.stops.remove(job)),
            Some(false) => drop(daemon.stops.insert(job.clone(), Stop::Owed)),
            None => {}
        }
        if daemon.has_failed {
            return;
        }
        daemon.since = (daemon.waiting > 0).then(Instant::now);
        let unheard = daemon.stops.iter().filter(|(_, stop)| **stop == Stop::Owed);
        let unheard: Vec<String> = unheard.map(|(job, _)| job.clone()).collect();
        if daemon.waiting == 0 && unheard.is_empty() {
            self.daemons.remove(machine);
        }
        unheard.iter().for_each(|job| self.stop(shared, machine, job));
    }

    /// Asks those that did not answer whether they are back. To connect to a host that is gone
    /// takes time, hence threads.
    pub(super) fn ask_again(&mut self, shared: &AdvisorShared) {
        let is_due = |daemon: &AskedDaemon| {
            let pause = if daemon.waiting == 0 { AGAIN_EVERY } else { ASKED_ANEW };
            daemon.since.is_some() && daemon.asked.elapsed() >= pause
        };
        let is_kept = |daemon: &mut AskedDaemon| {
            daemon.waiting > 0 || daemon.since.is_some_and(|at| at.elapsed() < FORGOTTEN_AFTER)
        };
        self.daemons.retain(|_, daemon| is_kept(daemon));
        let due = self.daemons.iter().filter(|(_, daemon)| is_due(daemon));
        let due: Vec<String> = due.map(|(machine, _)| machine.clone()).collect();
        for machine in due {
            self.asked(&machine, Instant::now());
            let mut nothing = Accepted::default();
            nothing.state.machine.clone_from(&machine);
            let done = self.telling(nothing, Question::Presence);
            let daemons = shared.daemons.clone();
            let to = Address::named(Role::Daemon, machine.clone());
            let request = Request::State(JobId::default());
            let ask = move || daemons.start(&to, request, done);
            if let Err(error) = std::thread::Builder::new().spawn(ask) {
                tracing::warn!(%error, machine, "the daemon is not asked whether it is back yet");
                let daemon = self.daemon(&machine, Instant::now());
                daemon.waiting = daemon.waiting.saturating_sub(1);
            }
        }
    }

    fn daemon(&mut self, machine: &str, now: Instant) -> &mut AskedDaemon {
        self.daemons.entry(machine.to_owned()).or_insert_with(|| AskedDaemon {
            waiting: 0,
            since: None,
            asked: now,
            has_failed: false,
            stops: BTreeMap::new(),
        })
    }

    fn asked(&mut self, machine: &str, now: Instant) -> &mut AskedDaemon {
        let daemon = self.daemon(machine, now);
        daemon.waiting += 1;
        daemon.since.get_or_insert(now);
        daemon.asked = now;
        daemon
    }

    /// Brings an answer to the advisor's thread, if there still is one.
    fn telling(&self, job: Accepted, question: Question) -> Done {
        let answers = Weak::clone(&self.answers);
        Box::new(move |answer| {
            if let Some(answers) = answers.upgrade() {
                // The thread lives as long as the advisor does, which may end just now.
                let _ = answers.send(Work::Told(Box::new(ToldOrder { job, question, answer })));
            }
        })
    }
}

impl AskedDaemon {
    fn is_silent(&self, silence: Duration) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= silence)
    }
}
