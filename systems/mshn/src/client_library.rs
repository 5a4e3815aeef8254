//! The Client Library: what an application is linked with, or run by: asks for schedules, submits
//! jobs, wraps a run and measures what it uses (paper MSHN §2, arrows 1 and 2 of figure 4).
//!
//! Used by applications, by daemons around every job, and by `corbie mshn run`.

use crate::idl::{Job, JobId, Outcome, Phase, Placement, Receipt, Usage};
use crate::messages::{Done, Reply, Request, Role};
use crate::peers::{Address, Peers};
use corbie::{CompletionStatus, SystemException};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use wait4::Wait4 as _;

/// How often a run is looked at; also how late its end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What a run used, and how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    /// From start to end, in seconds.
    pub wall_s: f64,
    /// Of processors, its own and its children's that it waited for, in seconds.
    pub processor_s: f64,
    /// Most memory that was resident at one time, in KiB: its own or of one of its children.
    pub memory_kib: u64,
    /// Read and written, by itself and by children that it waited for, in KiB.
    pub io_kib: u64,
    /// The exit status; none when a signal ended it.
    pub exit_status: Option<i32>,
    /// Whether it was ended because `stop` said so.
    pub is_stopped: bool,
}

/// Runs a command to its end, or until `stop`, and measures it.
///
/// # Errors
/// When it cannot be started or watched.
pub fn run(command: &[String], stop: &AtomicBool) -> io::Result<Used> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let child = command.spawn();
    let child =
        child.map_err(|e| io::Error::new(e.kind(), format!("cannot run {program}: {e}")))?;
    watch(child, stop)
}

/// Watches a process to its end, or ends it when `stop` says so, and measures it.
///
/// # Errors
/// When the system does not say how it goes.
pub fn watch(mut child: Child, stop: &AtomicBool) -> io::Result<Used> {
    let began = Instant::now();
    let mut used = Used::default();
    let id = child.id();
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other(format!("{id} is no process")))?;
    // Kept as a zombie until it was measured: what it read and wrote is complete only then.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(pid), options)?.is_none() {
        used.memory_kib = used.memory_kib.max(memory(id).unwrap_or(0));
        used.io_kib = used.io_kib.max(io(id).unwrap_or(0));
        if !used.is_stopped && stop.load(Ordering::Acquire) {
            used.is_stopped = true;
            end(&mut child)?;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    used.wall_s = began.elapsed().as_secs_f64();
    used.io_kib = used.io_kib.max(io(id).unwrap_or(0));
    let ended = child.wait4()?;
    used.processor_s = (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
    // Of a process that was gone before it was looked at, too.
    used.memory_kib = used.memory_kib.max(ended.rusage.maxrss / 1024);
    used.exit_status = ended.status.code();
    Ok(used)
}

/// Who is connected by its standard input ends by itself when that is closed; others are killed.
fn end(child: &mut Child) -> io::Result<()> {
    if child.stdin.take().is_none() {
        child.kill()?;
    }
    Ok(())
}

/// The most memory that the process had; nothing once it has ended.
fn memory(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What went through `read` and `write`, files and sockets alike, in KiB.
fn io(id: u32) -> Option<u64> {
    let io = std::fs::read_to_string(format!("/proc/{id}/io")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = io.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some((field("rchar:")? + field("wchar:")?) / 1024)
}

/// An application's side of MSHN.
#[derive(Clone)]
pub struct ClientLibrary {
    peers: Peers,
}

impl ClientLibrary {
    /// For an application that talks to these.
    ///
    /// # Errors
    /// `TRANSIENT` when there is no advisor, and what the naming service says.
    pub fn new(peers: Peers) -> Result<Self, SystemException> {
        if peers.replicas(Role::Advisor)?.is_empty() {
            return Err(SystemException::transient(0, CompletionStatus::No)
                .with_detail("there is no advisor"));
        }
        Ok(Self { peers })
    }

    /// Where and how a job should run; the application starts it (figure 5, arrows 1 and 6). The
    /// advisors there are take turns.
    ///
    /// # Errors
    /// What came instead of an answer.
    pub fn schedule(&self, job: &Job) -> Result<Placement, SystemException> {
        self.peers.ask(&Address::any(Role::Advisor), &Request::Schedule(job.clone()))
    }

    /// The same without waiting.
    pub fn schedule_later(
        &self,
        job: Job,
        done: impl FnOnce(Result<Placement, SystemException>) + Send + 'static,
    ) {
        let done: Done = Box::new(move |outcome: Result<Reply, SystemException>| {
            done(outcome.and_then(Placement::try_from));
        });
        self.peers.start(&Address::any(Role::Advisor), Request::Schedule(job), done);
    }

    /// Has a job run (figure 5, arrows 1a and 6a). Once this returns a receipt that says yes, it
    /// will run, whatever component fails. The id decides which advisor is asked, so that the same
    /// job submitted again is the same job; only when that one stays away, another is asked.
    ///
    /// # Errors
    /// What came instead of an answer; the job may be submitted again under the same id.
    pub fn submit(&self, job: &Job) -> Result<Receipt, SystemException> {
        let request = Request::Submit(job.clone());
        let mut last = None;
        for advisor in self.advisors(&job.id)? {
            match self.peers.ask(&advisor, &request) {
                Err(exception) => last = Some(exception),
                receipt => return receipt,
            }
        }
        Err(last.unwrap_or_else(nobody))
    }

    /// How a job is.
    ///
    /// # Errors
    /// What came instead of an answer.
    pub fn outcome(&self, job: &str) -> Result<Outcome, SystemException> {
        let request = Request::OutcomeOf(JobId { id: job.to_owned() });
        let mut last = None;
        for advisor in self.advisors(job)? {
            match self.peers.ask::<Outcome>(&advisor, &request) {
                // Another one may have accepted it.
                Ok(outcome) if outcome.state == Phase::UnknownJob => {
                    last.get_or_insert(Ok(outcome));
                }
                Ok(outcome) => return Ok(outcome),
                Err(exception) => last = Some(Err(exception)),
            }
        }
        last.unwrap_or_else(|| Err(nobody()))
    }

    /// The advisors, that of the job first.
    fn advisors(&self, job: &str) -> Result<Vec<Address>, SystemException> {
        let names = self.peers.replicas(Role::Advisor)?;
        let mut hasher = DefaultHasher::new();
        job.hash(&mut hasher);
        let first = hasher.finish() as usize % names.len().max(1);
        let in_turn = names.iter().cycle().skip(first).take(names.len());
        Ok(in_turn.map(|name| Address::named(Role::Advisor, name.clone())).collect())
    }

    /// Waits until a job has ended.
    ///
    /// # Errors
    /// As [`ClientLibrary::outcome`]; `TIMEOUT` when it has not ended in that time.
    pub fn wait(&self, job: &str, patience: Duration) -> Result<Outcome, SystemException> {
        let ends = Instant::now() + patience;
        loop {
            let outcome = self.outcome(job)?;
            if matches!(outcome.state, Phase::Done | Phase::Failed) {
                return Ok(outcome);
            }
            if Instant::now() >= ends {
                return Err(SystemException::timeout(0, CompletionStatus::Yes)
                    .with_detail(format!("job {job} has not ended in {patience:?}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Runs a command here, and tells the requirement database what it used.
    ///
    /// # Errors
    /// When it cannot be started or watched. What cannot be recorded is only logged.
    pub fn run(
        peers: &Peers,
        mut usage: Usage,
        command: &[String],
        stop: &AtomicBool,
    ) -> io::Result<Used> {
        let used = run(command, stop)?;
        if used.exit_status == Some(0) && !used.is_stopped {
            usage.wall_s = used.wall_s;
            usage.processor_s = used.processor_s;
            usage.memory_kib = used.memory_kib;
            usage.io_kib = used.io_kib;
            usage.samples = 1;
            if let Err(exception) = record(peers, usage) {
                tracing::warn!(%exception, "what a run used could not be recorded");
            }
        }
        Ok(used)
    }
}

/// Tells a replica of the requirement database what was used, or a proxy in front of them.
///
/// # Errors
/// What came instead of an answer.
pub fn record(peers: &Peers, usage: Usage) -> Result<Receipt, SystemException> {
    let (sender, receiver) = channel();
    let done = move |outcome: Result<Reply, SystemException>| {
        // The receiver waits below.
        let _ = sender.send(outcome.and_then(Receipt::try_from));
    };
    peers.update_one(Role::RequirementDatabase, Request::Record(usage), Box::new(done));
    receiver.recv().unwrap_or_else(|_| {
        let maybe = CompletionStatus::Maybe;
        Err(SystemException::no_response(0, maybe).with_detail("the answer was forgotten"))
    })
}

fn nobody() -> SystemException {
    SystemException::transient(0, CompletionStatus::No).with_detail("there is no advisor")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_run_is_measured() {
        let stop = AtomicBool::new(false);
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7";
        let used = run(&shell(script), &stop).unwrap();
        assert_eq!(used.exit_status, Some(7));
        assert!(used.processor_s > 0.0 && used.wall_s > 0.0, "{used:?}");
        assert!(used.memory_kib > 0 && !used.is_stopped, "{used:?}");
    }

    #[test]
    fn a_run_that_is_over_at_once_is_measured() {
        let stop = AtomicBool::new(false);
        for _ in 0..20 {
            let used = run(&shell("exit 0"), &stop).unwrap();
            // Less than one tick of the clock by which `/proc` counts.
            assert!(used.processor_s > 0.0 && used.memory_kib > 0, "{used:?}");
        }
    }

    #[test]
    fn what_a_run_reads_and_writes_is_measured() {
        let stop = AtomicBool::new(false);
        let script = "head -c 4194304 /dev/zero > /dev/null";
        let used = run(&shell(script), &stop).unwrap();
        // Read and written by a child.
        assert!(used.io_kib >= 8192, "{used:?}");
    }

    #[test]
    fn a_run_is_stopped() {
        let stop = AtomicBool::new(true);
        let used = run(&shell("exec sleep 1000"), &stop).unwrap();
        assert!(used.is_stopped && used.exit_status.is_none(), "{used:?}");
        assert!(run(&[], &stop).is_err() && run(&["/nowhere".to_owned()], &stop).is_err());
    }
}
