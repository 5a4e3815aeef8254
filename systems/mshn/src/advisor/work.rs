//! What the advisor's thread does: batches of schedules, starts, moves, and looking after jobs
//! (paper MSHN §2). Started by `Advisor::new`; ends with the advisor.

use super::asking::{Asking, Question, ToldOrder};
use super::planning::{Knowledge, limited_s, nowhere};
use super::retention;
use super::{AdvisorShared, Work, now_s};
use crate::address::Address;
use crate::idl::{
    Accepted, Application, Job, JobId, Outcome, Phase, Placement, Receipt, Requirements, Scope,
    StartOrder, StatusReport, Violation, WatchOrder,
};
use crate::messages::{Done, Request, Role};
use corbie::{CompletionStatus, SystemException, SystemExceptionKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Jobs that are asked after in one round.
const ASKED_AT_A_TIME: usize = 256;

/// Between two looks at what is to be forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(1);

/// What is done in a row before requests for schedules, and the rounds, have their turn.
const DONE_IN_A_ROW: usize = 1024;

/// Jobs of silent machines that are moved in one round, and between two such rounds.
const MOVED_AT_A_TIME: usize = 64;
const MOVE_EVERY: Duration = Duration::from_secs(1);

/// Violations that are looked at between requests for schedules: what they need is asked together.
const VIOLATIONS_AT_A_TIME: usize = 16;

/// Status servers are told again so often what to watch.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// What the rounds remember.
struct Rounds {
    next: Instant,
    forget: Instant,
    /// Jobs that could not be placed although others could: the others have their turn first.
    put_off: BTreeSet<String>,
    /// Jobs up to this one were asked after.
    asked_until: String,
    /// When status servers were last told to watch a job.
    watched: HashMap<String, Instant>,
    /// When jobs of machines whose daemons are silent are moved next.
    moves: Instant,
    /// Jobs up to this one were moved.
    moved_until: String,
    /// Violations to be looked at, one a job.
    violations: VecDeque<Violation>,
    asking: Asking,
}

/// Until the advisor is dropped.
pub(super) fn work(shared: &AdvisorShared, asking: Asking, todo: &Receiver<Work>) {
    let now = Instant::now();
    let (asked_until, moved_until, watched) = (String::new(), String::new(), HashMap::new());
    let mut rounds = Rounds {
        next: now,
        forget: now,
        put_off: BTreeSet::new(),
        asked_until,
        watched,
        moves: now,
        moved_until,
        violations: VecDeque::new(),
        asking,
    };
    loop {
        let mut left = rounds.next.saturating_duration_since(Instant::now());
        if !rounds.violations.is_empty() {
            left = Duration::ZERO;
        }
        let mut schedules: Vec<(Job, Done)> = Vec::new();
        match todo.recv_timeout(left) {
            Ok(first) => {
                let all = std::iter::once(first).chain(todo.try_iter());
                for work in all.take(DONE_IN_A_ROW) {
                    match work {
                        Work::Schedule(job, done) => {
                            shared.request_taken(&job);
                            schedules.push((job, done));
                        }
                        Work::Submitted => rounds.next = Instant::now(),
                        Work::Violated(violation) => rounds.violations.push_back(violation),
                        Work::Told(what) => told(shared, &mut rounds, *what),
                    }
                    if schedules.len() >= shared.options.batch_max {
                        break;
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if !schedules.is_empty() {
            answer(shared, &rounds.asking, schedules);
        }
        rescue(shared, &mut rounds);
        if Instant::now() >= rounds.next {
            start_waiting(shared, &mut rounds);
            look_after(shared, &mut rounds);
            leave_silent(shared, &mut rounds);
            rounds.asking.ask_again(shared);
            rounds.next = Instant::now() + shared.options.interval;
        }
        if Instant::now() >= rounds.forget {
            retention::forget(shared);
            rounds.watched.retain(|_, at| at.elapsed() < 2 * WATCH_EVERY);
            rounds.forget = Instant::now() + FORGET_EVERY;
        }
    }
}

/// Answers requests for schedules.
fn answer(shared: &AdvisorShared, asking: &Asking, requests: Vec<(Job, Done)>) {
    let (jobs, answers): (Vec<Job>, Vec<Done>) = requests.into_iter().unzip();
    for (placement, done) in place(shared, asking, &jobs).0.into_iter().zip(answers) {
        done(Ok(placement.into()));
    }
}

/// Asks both servers at once (figure 5, arrows 2 to 5) and schedules. Whether there were machines,
/// so that it is the job's own matter when it is placed nowhere.
fn place(shared: &AdvisorShared, asking: &Asking, jobs: &[Job]) -> (Vec<Placement>, bool) {
    match learn(shared, asking, jobs) {
        Ok(knowledge) => {
            let pause = shared.options.pause.saturating_mul(jobs.len() as u32);
            if pause > Duration::ZERO {
                std::thread::sleep(pause);
            }
            let heuristic = shared.options.heuristic.heuristic(shared.options.seed);
            (knowledge.place(jobs, &*heuristic), !knowledge.machines.is_empty())
        }
        Err(why) => (jobs.iter().map(|job| nowhere(job, &why)).collect(), false),
    }
}

fn learn(shared: &AdvisorShared, asking: &Asking, jobs: &[Job]) -> Result<Knowledge, String> {
    let applications: BTreeSet<&str> = jobs.iter().map(|job| job.application.as_str()).collect();
    let scope = Request::Status(Scope::default());
    let mut requests = vec![(Address::any(Role::StatusServer), scope)];
    for name in &applications {
        let name = *name;
        let request = Request::MeansOf(Application { name: name.to_owned() });
        requests.push((Address::any(Role::RequirementDatabase), request));
    }
    let mut answers = shared.peers.call_all(requests).into_iter();
    let none = "no answer of the status server";
    let report = answers.next().ok_or(none)?.and_then(StatusReport::try_from);
    let mut machines = report.map_err(|error| format!("the status server: {error}"))?.machines;
    let silence_s = shared.options.silence.as_secs_f64();
    machines.retain(|machine| machine.age_s < silence_s && !asking.is_silent(&machine.machine));
    let (mut means, mut unknown) = (Vec::new(), BTreeMap::new());
    for (name, answer) in applications.into_iter().zip(answers) {
        match answer.and_then(Requirements::try_from) {
            Ok(of_one) => means.extend(of_one.means),
            Err(error) => {
                unknown.insert(name.to_owned(), format!("the requirement database: {error}"));
            }
        }
    }
    let mut given: HashMap<String, f64> = HashMap::new();
    for job in shared.lock().values().filter(|job| job.state.state == Phase::Running) {
        *given.entry(job.state.machine.clone()).or_default() += limited_s(job.expected_s);
    }
    Ok(Knowledge { machines, means, unknown, given })
}

/// When a job is to be done, in seconds since 1970; never, without a deadline.
fn due(job: &Accepted) -> f64 {
    if job.what.deadline_s > 0.0 { job.accepted_at + job.what.deadline_s } else { f64::INFINITY }
}

/// How much of a job's deadline is left; not 0, which would be none.
fn left_s(job: &Accepted) -> Option<f64> {
    (job.what.deadline_s > 0.0).then(|| (due(job) - now_s()).max(1e-6))
}

/// Places and starts the jobs that wait, a batch at a time: the earliest deadline first, then
/// those without one, each as they came.
fn start_waiting(shared: &AdvisorShared, rounds: &mut Rounds) {
    let is_waiting = |job: &&Accepted| job.state.state == Phase::Waiting;
    let waiting: Vec<Accepted> = {
        let jobs = shared.lock();
        let mut waiting: Vec<&Accepted> = jobs.values().filter(is_waiting).collect();
        let order = |a: &&Accepted, b: &&Accepted| {
            due(a).total_cmp(&due(b)).then(a.accepted_at.total_cmp(&b.accepted_at))
        };
        waiting.sort_by(order);
        if waiting.iter().all(|job| rounds.put_off.contains(&job.what.id)) {
            rounds.put_off.clear();
        }
        waiting.retain(|job| !rounds.put_off.contains(&job.what.id));
        waiting.into_iter().take(shared.options.batch_max).cloned().collect()
    };
    if waiting.is_empty() {
        return;
    }
    let job = |job: &Accepted| Job { deadline_s: left_s(job).unwrap_or(0.0), ..job.what.clone() };
    let jobs: Vec<Job> = waiting.iter().map(job).collect();
    let (placements, is_placeable) = place(shared, &rounds.asking, &jobs);
    if is_placeable {
        let failed = placements.iter().filter(|placement| placement.machine.is_empty());
        rounds.put_off.extend(failed.map(|placement| placement.job.clone()));
    }
    start(shared, rounds, waiting.into_iter().zip(placements).collect());
}

/// Starts jobs where they are placed. It is written down first: an advisor that takes over asks the
/// daemon.
fn start(shared: &AdvisorShared, rounds: &mut Rounds, jobs: Vec<(Accepted, Placement)>) {
    let mut placed = Vec::new();
    let changes = shared.changes();
    for (mut job, placement) in jobs {
        if !shared.is_as(&job) {
            // It has ended while it was placed.
            continue;
        }
        if placement.machine.is_empty() {
            tracing::debug!(job = job.what.id, why = placement.why, "the job waits on");
            continue;
        }
        job.state.state = Phase::Running;
        job.state.machine = placement.machine.clone();
        job.state.starts += 1;
        job.started_at = now_s();
        let format = job.what.formats.get(placement.format as usize);
        job.state.format = format.map(|format| format.name.clone()).unwrap_or_default();
        job.expected_s = placement.expected_s;
        job.format = placement.format;
        placed.push((job, placement));
    }
    let written: Vec<Accepted> = placed.iter().map(|(job, _)| job.clone()).collect();
    if let Err(error) = shared.journal.write(&written) {
        tracing::error!(%error, "the advisor's journal; jobs wait on");
        return;
    }
    written.into_iter().for_each(|job| shared.lock().insert(job));
    drop(changes);
    for (job, place) in placed {
        let completes_in_s = place.completes_in_s;
        let order = StartOrder {
            what: job.what.clone(),
            place,
            attempt: job.state.starts,
            advisor: shared.options.name.clone(),
        };
        rounds.asking.ask(shared, job, Request::Start(order), Question::Start(completes_in_s));
    }
}

/// A daemon has answered, or will not.
fn told(shared: &AdvisorShared, rounds: &mut Rounds, what: ToldOrder) {
    rounds.asking.heard(shared, &what);
    let ToldOrder { job, question, answer } = what;
    match question {
        Question::Start(completes_in_s) => {
            begun(shared, rounds, &job, completes_in_s, answer.and_then(Receipt::try_from));
        }
        Question::State => found(shared, &job, answer.and_then(Outcome::try_from)),
        Question::Stop | Question::Presence => {}
    }
}

/// A daemon took a job, or did not.
fn begun(
    shared: &AdvisorShared,
    rounds: &mut Rounds,
    job: &Accepted,
    completes_in_s: f64,
    answer: Result<Receipt, SystemException>,
) {
    match answer {
        Ok(receipt) if receipt.accepted => {
            // It may have ended already, and would be watched in vain.
            if shared.is_as(job) {
                watch(shared, job, completes_in_s, 0.0);
            }
        }
        other => {
            tracing::warn!(job = job.what.id, ?other, "the daemon did not take the job");
            let was_not_begun = was_not_begun(&other);
            if !was_not_begun {
                // It may have begun it, or be about to.
                rounds.asking.stop_when_reached(&job.state.machine, &job.what.id);
            }
            again(shared, &job.what.id, job.state.starts, was_not_begun);
        }
    }
}

/// What a daemon knows of a job that should run there.
fn found(shared: &AdvisorShared, job: &Accepted, answer: Result<Outcome, SystemException>) {
    match answer {
        Ok(outcome) if matches!(outcome.state, Phase::Done | Phase::Failed) => {
            finished(shared, &outcome);
        }
        Ok(outcome) if outcome.state == Phase::UnknownJob => {
            again(shared, &job.what.id, job.state.starts, false);
        }
        // It runs, or no daemon answers, which `Asking` remembers.
        _ => {}
    }
}

/// Has the status servers watch a job that runs.
fn watch(shared: &AdvisorShared, job: &Accepted, needs_s: f64, done_s: f64) {
    let order = WatchOrder {
        job: job.what.id.clone(),
        attempt: job.state.starts,
        machine: job.state.machine.clone(),
        advisor: shared.options.name.clone(),
        needs_s,
        done_s,
        deadline_s: left_s(job).unwrap_or(0.0),
    };
    shared.peers.tell_all(Role::StatusServer, &Request::Watch(order));
}

/// Whether it is certain that a job was not begun: its daemon said so, or was not there. Such an
/// attempt does not count.
fn was_not_begun(answer: &Result<Receipt, SystemException>) -> bool {
    use SystemExceptionKind as Kind;
    match answer {
        Ok(receipt) => !receipt.accepted,
        Err(exception) => {
            let is_absent = matches!(
                exception.kind,
                Kind::Transient | Kind::CommFailure | Kind::ObjectNotExist
            );
            is_absent && exception.completed == CompletionStatus::No
        }
    }
}

/// The attempt came to nothing: the job waits for the next one, or has failed for good.
fn again(shared: &AdvisorShared, id: &str, attempt: u32, was_not_begun: bool) {
    let _changes = shared.changes();
    let Some(mut job) = shared.lock().get(id).cloned() else { return };
    if job.state.state != Phase::Running || job.state.starts != attempt {
        return;
    }
    job.state.state = Phase::Waiting;
    if was_not_begun {
        job.state.starts -= 1;
    }
    if job.state.starts >= shared.options.starts_max {
        job.state.state = Phase::Failed;
        job.ended_at = now_s();
        job.state.why = format!("it was started {} times in vain", job.state.starts);
    }
    if let Err(error) = shared.change(job) {
        tracing::error!(%error, "the advisor's journal");
    }
}

/// A daemon says that a job has ended.
pub(super) fn finished(shared: &AdvisorShared, end: &Outcome) {
    let changes = shared.changes();
    let Some(mut job) = shared.lock().get(&end.job).cloned() else { return };
    let is_of_run = job.state.starts == end.starts && job.state.machine == end.machine;
    let is_end = matches!(end.state, Phase::Done | Phase::Failed);
    if job.state.state != Phase::Running || !is_of_run || !is_end {
        return;
    }
    job.state = end.clone();
    job.ended_at = now_s();
    job.state.late_by_s = (job.ended_at - due(&job)).max(0.0);
    if let Err(error) = shared.change(job) {
        // The round asks the daemon again.
        tracing::error!(%error, "the advisor's journal");
        return;
    }
    drop(changes);
    let which = JobId { id: end.job.clone() };
    shared.peers.tell_all(Role::StatusServer, &Request::Unwatch(which));
}

/// Asks daemons after jobs that run: what they told may be lost, and a daemon that was replaced
/// knows nothing of them.
fn look_after(shared: &AdvisorShared, rounds: &mut Rounds) {
    let running: Vec<Accepted> = {
        let jobs = shared.lock();
        let after = jobs.range(rounds.asked_until.clone()..).map(|(_, job)| job);
        let running = after.filter(|job| job.state.state == Phase::Running);
        running.take(ASKED_AT_A_TIME).cloned().collect()
    };
    rounds.asked_until = match running.last() {
        Some(job) if running.len() == ASKED_AT_A_TIME => format!("{}\0", job.what.id),
        _ => String::new(),
    };
    for job in running {
        watch_again(shared, rounds, &job);
        // One that is about to be started is not known there yet. To ask a host that is gone takes
        // time.
        if !rounds.asking.is_waited_for(&job) && !rounds.asking.is_doubtful(&job.state.machine) {
            let request = Request::State(JobId { id: job.what.id.clone() });
            rounds.asking.ask(shared, job, request, Question::State);
        }
    }
}

/// Moves jobs of machines whose daemons do not answer, also when those report.
fn leave_silent(shared: &AdvisorShared, rounds: &mut Rounds) {
    if Instant::now() < rounds.moves {
        return;
    }
    rounds.moves = Instant::now() + MOVE_EVERY;
    let there: Vec<Violation> = {
        let jobs = shared.lock();
        let is_there = |job: &&Accepted| {
            job.state.state == Phase::Running && rounds.asking.is_silent(&job.state.machine)
        };
        let after = jobs.range(rounds.moved_until.clone()..).map(|(_, job)| job);
        let there = after.filter(is_there).take(MOVED_AT_A_TIME);
        let violation = |job: &Accepted| Violation {
            job: job.what.id.clone(),
            machine: job.state.machine.clone(),
            late_by_s: f64::MAX,
            why: format!("the daemon of {} does not answer", job.state.machine),
        };
        there.map(violation).collect()
    };
    // Those that find no other machine do not keep the others from it.
    rounds.moved_until = match there.last() {
        Some(last) if there.len() == MOVED_AT_A_TIME => format!("{}\0", last.job),
        _ => String::new(),
    };
    rounds.violations.extend(there.into_iter().filter(|violation| shared.is_new(violation)));
}

/// A status server that was replaced has forgotten what it watched.
fn watch_again(shared: &AdvisorShared, rounds: &mut Rounds, job: &Accepted) {
    let told = rounds.watched.get(&job.what.id);
    if told.is_some_and(|at| at.elapsed() < WATCH_EVERY) {
        return;
    }
    rounds.watched.insert(job.what.id.clone(), Instant::now());
    // What it does not know it takes to have gone as expected.
    let needs_s = limited_s(job.expected_s);
    let done_s = (now_s() - job.started_at).min(needs_s).max(0.0);
    watch(shared, job, needs_s, done_s);
}

/// Figure 6: another machine or another format for jobs that will be late. Some of them: requests
/// for schedules do not wait for all.
fn rescue(shared: &AdvisorShared, rounds: &mut Rounds) {
    let count = rounds.violations.len().min(VIOLATIONS_AT_A_TIME);
    let mut late: Vec<(Accepted, Violation)> = Vec::new();
    for violation in rounds.violations.drain(..count) {
        shared.complaints().remove(&violation.job);
        let Some(job) = shared.lock().get(&violation.job).cloned() else { continue };
        if job.state.state == Phase::Running && job.state.machine == violation.machine {
            late.push((job, violation));
        }
    }
    // No daemon is left to say how the last attempt ends.
    let is_last = |job: &Accepted| job.state.starts >= shared.options.starts_max;
    for (job, _) in late.extract_if(.., |(job, _)| is_last(job)) {
        if rounds.asking.is_silent(&job.state.machine) {
            rounds.asking.stop(shared, &job.state.machine, &job.what.id);
            again(shared, &job.what.id, job.state.starts, false);
        }
    }
    if late.is_empty() {
        return;
    }
    let jobs: Vec<Job> = late.iter().map(|(job, _)| job.what.clone()).collect();
    let Ok(mut knowledge) = learn(shared, &rounds.asking, &jobs) else { return };
    let mut placed = Vec::new();
    for (job, violation) in late {
        let Some(placement) = elsewhere(&mut knowledge, &job) else { continue };
        tracing::info!(
            job = job.what.id,
            to = placement.machine,
            why = violation.why,
            "it is moved"
        );
        // A daemon that is given another attempt ends the one before by itself.
        if placement.machine != job.state.machine {
            rounds.asking.stop(shared, &job.state.machine, &job.what.id);
        }
        placed.push((job, placement));
    }
    start(shared, rounds, placed);
}

/// Where a job is in time after all; where its machine is silent, where it runs at all.
fn elsewhere(knowledge: &mut Knowledge, job: &Accepted) -> Option<Placement> {
    let machine = job.state.machine.as_str();
    let given = knowledge.given.get(machine).copied().unwrap_or(0.0);
    // It does not wait for itself.
    let without = (given - limited_s(job.expected_s)).max(0.0);
    knowledge.given.insert(machine.to_owned(), without);
    let is_silent = !knowledge.machines.iter().any(|known| known.machine == machine);
    let avoid = is_silent.then_some(machine);
    let rescued = knowledge.rescue(&job.what, job.format, left_s(job), avoid);
    // Late is better than never.
    let any = || is_silent.then(|| knowledge.rescue(&job.what, job.format, None, avoid))?;
    let found = rescued.or_else(any);
    let found = found.filter(|to| to.machine != machine || to.format != job.format);
    match &found {
        Some(to) => *knowledge.given.entry(to.machine.clone()).or_default() += to.expected_s,
        None => *knowledge.given.entry(machine.to_owned()).or_default() = given,
    }
    found
}
