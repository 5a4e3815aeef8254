//! The Scheduling Advisor: answers requests for schedules, accepts jobs and sees them through, and
//! moves those that would be late (paper MSHN §2, figures 5 and 6).
//!
//! One thread does it all, in the order of arrival: requests that came while it was busy are
//! scheduled together. It does not wait for daemons: what they say is work like all else. What it
//! accepted is in its journal, so that the one in its place goes on.

mod asking;
mod failure;
mod journal;
mod known;
mod planning;
mod retention;
mod work;

use crate::bounds;
use crate::idl::{Accepted, Job, Outcome, Phase, Violation};
use crate::messages::{Component, Done, Request, accepted, not_kept, not_mine, refused};
use crate::peers::Peers;
use crate::schedule::HeuristicName;
use asking::{Asking, ToldOrder};
use corbie_store::StoreFailure;
use failure::Failure;
use journal::Journal;
use known::KnownJobs;
use planning::nowhere;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How an advisor works.
#[derive(Clone, Debug)]
pub struct AdvisorOptions {
    /// Its name, by which daemons and status servers call it back.
    pub name: String,
    /// What schedules.
    pub heuristic: HeuristicName,
    /// For heuristics that are random.
    pub seed: u64,
    /// Requests that are scheduled together at most; 1: each by itself, as in the paper.
    pub batch_max: usize,
    /// Paper MSHN §4.2: how long computing one schedule is made to take.
    pub pause: Duration,
    /// How often it looks after jobs, besides when something happens.
    pub interval: Duration,
    /// How often a job is moved or started again at most.
    pub starts_max: u32,
    /// How long the outcome of a job that has ended is kept, here and in the journal.
    pub keep_ended: Duration,
    /// Outcomes kept at most; the oldest go first.
    pub keep_ended_max: usize,
    /// Jobs that wait or run at most, and their octets; of those that have ended as many octets are
    /// kept. More are refused.
    pub jobs_max: usize,
    /// See `jobs_max`.
    pub jobs_octets_max: usize,
    /// Octets of requests for schedules that wait at most; more are answered that they cannot.
    pub requests_octets_max: usize,
    /// A machine whose last report is older takes no jobs, nor does one whose daemon did not
    /// answer for so long; its jobs go elsewhere.
    pub silence: Duration,
}

impl AdvisorOptions {
    /// An advisor of this name: MCT, no pause.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            heuristic: HeuristicName::Mct,
            seed: 0,
            batch_max: 64,
            pause: Duration::ZERO,
            interval: Duration::from_millis(200),
            starts_max: 20,
            keep_ended: Duration::from_secs(24 * 3600),
            keep_ended_max: 10_000,
            jobs_max: 100_000,
            jobs_octets_max: 64 << 20,
            requests_octets_max: 128 << 20,
            silence: Duration::from_secs(5),
        }
    }
}

/// See the module.
pub struct Advisor {
    shared: Arc<AdvisorShared>,
    work: Arc<Sender<Work>>,
}

/// How long a daemon is tried before its jobs wait for the next round.
const DAEMON_PATIENCE: Duration = Duration::from_millis(500);

/// What the thread is given to do.
enum Work {
    Schedule(Job, Done),
    /// There is a new job.
    Submitted,
    Violated(Violation),
    /// An answer of a daemon.
    Told(Box<ToldOrder>),
}

struct AdvisorShared {
    options: AdvisorOptions,
    peers: Peers,
    /// The same with little patience: a daemon that is gone must not keep the others waiting.
    daemons: Peers,
    journal: Journal,
    /// Lock "changes": taken before "jobs", held from looking at a job until its change is in the
    /// journal and known, so that none is undone by another thread's.
    changes: Mutex<()>,
    /// Lock "jobs": not held in calls or the journal is written.
    jobs: Mutex<KnownJobs>,
    /// Octets of the requests for schedules that wait for the thread.
    requests_octets: AtomicUsize,
    failure: Failure,
    /// Jobs with a violation that the thread has not looked at yet: one of each at most. Lock
    /// "complaints".
    complaints: Mutex<BTreeSet<String>>,
}

impl AdvisorShared {
    fn lock(&self) -> MutexGuard<'_, KnownJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a new job down. Submitted twice at once, it is one job.
    fn accept(&self, job: Accepted) -> Result<(), StoreFailure> {
        let job = self.journal.add(&job)?;
        let mut jobs = self.lock();
        if !jobs.contains_key(&job.what.id) {
            jobs.insert(job);
        }
        Ok(())
    }

    /// Why no such job is accepted now, if it is not.
    fn refusal_of(&self, job: &Job) -> Option<String> {
        let (most, most_octets) = (self.options.jobs_max, self.options.jobs_octets_max);
        let (open, octets) = self.lock().open();
        bounds::refusal_of(job).or_else(|| {
            let is_full =
                open >= most || octets.saturating_add(bounds::octets_of(job)) > most_octets;
            let bound = format!("of {most} at most and {most_octets} octets; try again later");
            is_full.then(|| format!("{open} jobs with {octets} octets wait or run, {bound}"))
        })
    }

    /// Why no schedule is made for such a job now, if none is; else it waits for the thread.
    fn take_request(&self, job: &Job) -> Result<(), String> {
        bounds::refusal_of(job).map_or(Ok(()), Err)?;
        let (octets, most) = (bounds::octets_of(job), self.options.requests_octets_max);
        let within = |waiting: usize| waiting.checked_add(octets).filter(|all| *all <= most);
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        let taken = self.requests_octets.fetch_update(set, get, within);
        let full = |waiting| format!("requests of {waiting} octets wait, of {most} at most");
        taken.map(drop).map_err(full)
    }

    /// The thread has taken a request.
    fn request_taken(&self, job: &Job) {
        self.requests_octets.fetch_sub(bounds::octets_of(job), Ordering::AcqRel);
    }

    fn changes(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the thread is to look at a violation: it is of a job that runs there, and none of
    /// that job waits.
    fn is_new(&self, violation: &Violation) -> bool {
        let is_there = self.lock().get(&violation.job).is_some_and(|job| {
            job.state.state == Phase::Running && job.state.machine == violation.machine
        });
        is_there && self.complaints().insert(violation.job.clone())
    }

    fn complaints(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing became of the job since `seen`. Under the lock "changes".
    fn is_as(&self, seen: &Accepted) -> bool {
        let now = self.lock().get(&seen.what.id).map(|job| (job.state.state, job.state.starts));
        now == Some((seen.state.state, seen.state.starts))
    }

    /// Writes a job down and then changes what is known of it.
    fn change(&self, job: Accepted) -> Result<(), StoreFailure> {
        self.journal.write(std::slice::from_ref(&job))?;
        self.lock().insert(job);
        Ok(())
    }
}

impl Advisor {
    /// An advisor with the journal in `path`, or in memory. It goes on with the jobs that are
    /// there.
    ///
    /// # Errors
    /// When the journal cannot be used.
    pub fn new(
        options: AdvisorOptions,
        path: Option<&Path>,
        peers: Peers,
    ) -> Result<Self, StoreFailure> {
        let journal = Journal::open(path)?;
        let jobs = journal.read()?.into_iter().collect();
        let daemons = peers.clone().with_patience(DAEMON_PATIENCE);
        let (changes, jobs) = (Mutex::default(), Mutex::new(jobs));
        let failure = Failure::default();
        let complaints = Mutex::default();
        let shared = Arc::new(AdvisorShared {
            options,
            peers,
            daemons,
            journal,
            changes,
            jobs,
            requests_octets: AtomicUsize::new(0),
            failure,
            complaints,
        });
        let (work, todo) = channel();
        let work = Arc::new(work);
        let worker = Arc::clone(&shared);
        let asking = Asking::new(Arc::downgrade(&work), shared.options.silence);
        std::thread::spawn(move || {
            let working = AssertUnwindSafe(|| work::work(&worker, asking, &todo));
            // Requests that it had are dropped, which their callers hear.
            if let Err(panic) = catch_unwind(working) {
                worker.failure.happened(&*panic);
            }
        });
        Ok(Self { shared, work })
    }

    fn submit(&self, job: Job, done: Done) {
        if job.id.is_empty() || job.formats.is_empty() {
            return done(Ok(refused("a job needs an id and a format").into()));
        }
        if self.shared.lock().contains_key(&job.id) {
            return done(Ok(accepted().into()));
        }
        if let Some(why) = self.shared.refusal_of(&job) {
            return done(Ok(refused(why).into()));
        }
        let state = Outcome { job: job.id.clone(), state: Phase::Waiting, ..Outcome::default() };
        let accepted_at = now_s();
        let entry = Accepted { what: job, state, accepted_at, ..Accepted::default() };
        if let Err(error) = self.shared.accept(entry) {
            return done(Err(not_kept("the advisor's journal", &error)));
        }
        self.todo(Work::Submitted);
        done(Ok(accepted().into()));
    }

    fn outcome(&self, job: &str) -> Outcome {
        let known = self.shared.lock().get(job).map(|job| job.state.clone());
        known.unwrap_or_else(|| Outcome { job: job.to_owned(), ..Outcome::default() })
    }

    /// The thread lives as long as this does.
    fn todo(&self, work: Work) {
        let _ = self.work.send(work);
    }
}

impl Component for Advisor {
    fn serve(&self, request: Request, done: Done) {
        if let Some(why) = self.shared.failure.why() {
            return done(Err(failure::refusal(&why)));
        }
        match request {
            Request::Schedule(job) => match self.shared.take_request(&job) {
                Ok(()) => self.todo(Work::Schedule(job, done)),
                Err(why) => done(Ok(nowhere(&job, &why).into())),
            },
            Request::Submit(job) => self.submit(job, done),
            Request::OutcomeOf(which) => done(Ok(self.outcome(&which.id).into())),
            Request::Violated(violation) => {
                if self.shared.is_new(&violation) {
                    self.todo(Work::Violated(violation));
                }
                done(Ok(accepted().into()));
            }
            Request::Finished(end) => {
                work::finished(&self.shared, &end);
                done(Ok(accepted().into()));
            }
            other => done(Err(not_mine(&other))),
        }
    }

    fn on_failure(&self, then: Box<dyn FnOnce(&str) + Send>) {
        self.shared.failure.then(then);
    }
}

/// Seconds since 1970.
fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
