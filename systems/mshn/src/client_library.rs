//! The Client Library: what an application is linked with, or run by: asks for schedules, submits
//! jobs, wraps a run and measures what it uses (paper MSHN §2, arrows 1 and 2 of figure 4).
//!
//! Used by applications, by daemons around every job, and by `corbie mshn run`.

use crate::address::Address;
use crate::idl::{Job, JobId, Outcome, Phase, Placement, Receipt, Usage};
use crate::messages::{Done, Reply, Request, Role};
use crate::peers::Peers;
use corbie::{CompletionStatus, SystemException, minor};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process_group, waitid,
};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use wait4::Wait4 as _;

/// How often a run is looked at; also how late its end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long a job that no advisor knows is waited for: it may have been accepted by an advisor that
/// is new, and new ones are found within five seconds.
const UNKNOWN_MAX: Duration = Duration::from_secs(6);

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

impl Used {
    /// Whether it ran to its end and said that all is well: only then it is recorded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.exit_status == Some(0) && !self.is_stopped
    }

    /// As a record of one run.
    #[must_use]
    pub fn as_usage(&self, application: String, format: String, machine: String) -> Usage {
        Usage {
            application,
            format,
            machine,
            wall_s: self.wall_s,
            processor_s: self.processor_s,
            memory_kib: self.memory_kib,
            io_kib: self.io_kib,
            samples: 1,
        }
    }
}

/// One line, from which it can be made again; `is_stopped` is not in it.
impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall_s, processor_s, memory_kib, io_kib, .. } = self;
        write!(f, "used {wall_s} {processor_s} {memory_kib} {io_kib} ")?;
        match self.exit_status {
            Some(status) => write!(f, "{status}"),
            None => f.write_str("signal"),
        }
    }
}

/// This is no line that a [`Used`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not `used SECONDS SECONDS KIB KIB STATUS`")]
pub struct NotUsed;

impl FromStr for Used {
    type Err = NotUsed;

    fn from_str(line: &str) -> Result<Self, NotUsed> {
        fn next<T: FromStr>(word: Option<&str>) -> Result<T, NotUsed> {
            word.and_then(|word| word.parse().ok()).ok_or(NotUsed)
        }
        let mut words = line.strip_prefix("used ").ok_or(NotUsed)?.split_whitespace();
        Ok(Self {
            wall_s: next(words.next())?,
            processor_s: next(words.next())?,
            memory_kib: next(words.next())?,
            io_kib: next(words.next())?,
            exit_status: match words.next() {
                Some("signal") => None,
                status => Some(next(status)?),
            },
            is_stopped: false,
        })
    }
}

/// Which processes `stop` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The one that was started; what it started lives on.
    Process,
    /// Its process group, of which it is the leader, and what is left of that when it has ended.
    Group,
}

/// Runs a command to its end, or until `stop`, and measures it.
///
/// # Errors
/// When it cannot be started or watched.
pub fn run(command: &[String], stop: &AtomicBool) -> io::Result<Used> {
    watch(start(prepare(command)?)?, Ends::Process, stop)
}

/// The same for a job of a daemon's: in a process group of its own, which ends with it. What it
/// prints goes to a file, or nowhere.
///
/// # Errors
/// As [`run`], and when the file cannot be opened.
pub fn run_job(command: &[String], output: Option<&Path>, stop: &AtomicBool) -> io::Result<Used> {
    let mut command = prepare(command)?;
    print_to(&mut command, output)?;
    command.process_group(0);
    watch(start(command)?, Ends::Group, stop)
}

/// A command that reads nothing.
///
/// # Errors
/// When there is none.
pub fn prepare(command: &[String]) -> io::Result<Command> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

/// Has a command print to the end of a file, or nowhere: standard output and standard error.
///
/// # Errors
/// When the file cannot be opened.
pub fn print_to(command: &mut Command, output: Option<&Path>) -> io::Result<()> {
    let Some(path) = output else {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        return Ok(());
    };
    let mut options = std::fs::File::options();
    let file = options.append(true).create(true).mode(0o600).open(path);
    let file = file.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
    })?;
    command.stdout(file.try_clone()?).stderr(file);
    Ok(())
}

/// Starts a command.
///
/// # Errors
/// When it cannot be, with its name.
pub fn start(mut command: Command) -> io::Result<Child> {
    command.spawn().map_err(|error| {
        let program = command.get_program().display();
        io::Error::new(error.kind(), format!("cannot run {program}: {error}"))
    })
}

/// Watches a process to its end, or ends it when `stop` says so, and measures it.
///
/// # Errors
/// When the system does not say how it goes.
pub fn watch(mut child: Child, ends: Ends, stop: &AtomicBool) -> io::Result<Used> {
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
            match ends {
                Ends::Process => child.kill()?,
                Ends::Group => end_group(pid),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    used.wall_s = began.elapsed().as_secs_f64();
    used.io_kib = used.io_kib.max(io(id).unwrap_or(0));
    if ends == Ends::Group {
        // What a job leaves behind would compute beside those that come after it. The leader is
        // not reaped yet, so that its number is no one else's.
        end_group(pid);
    }
    let ended = child.wait4()?;
    used.processor_s = (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
    // Of a process that was gone before it was looked at, too.
    used.memory_kib = used.memory_kib.max(ended.rusage.maxrss / 1024);
    used.exit_status = ended.status.code();
    Ok(used)
}

fn end_group(leader: Pid) {
    if let Err(error) = kill_process_group(leader, Signal::KILL) {
        tracing::debug!(%error, group = %leader, "nothing of a process group was ended");
    }
}

/// For who runs a job of a daemon's that has ended: ends this process with all that the job has
/// started, as the daemon has made it the leader of their group. Does nothing in a group of others.
pub fn end_own_group() {
    if getpgrp() == getpid() {
        end_group(getpid());
    }
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
            return Err(SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No)
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
        Err(last.unwrap_or_else(not_there))
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
        last.unwrap_or_else(|| Err(not_there()))
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
    /// As [`ClientLibrary::outcome`]; `TIMEOUT` when it has not ended in that time, and
    /// `OBJECT_NOT_EXIST` when no advisor knows it for six seconds: it was not accepted, or ended
    /// so long ago that it is forgotten.
    pub fn wait(&self, job: &str, patience: Duration) -> Result<Outcome, SystemException> {
        // None: later than there is time.
        let ends = Instant::now().checked_add(patience);
        let mut known = Instant::now();
        loop {
            let outcome = self.outcome(job)?;
            match outcome.state {
                Phase::Done | Phase::Failed => return Ok(outcome),
                Phase::UnknownJob if known.elapsed() >= UNKNOWN_MAX => return Err(unknown(job)),
                Phase::UnknownJob => (),
                _ => known = Instant::now(),
            }
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                return Err(SystemException::timeout(minor::TIMEOUT_JOB, CompletionStatus::Yes)
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
        usage: Usage,
        command: &[String],
        stop: &AtomicBool,
    ) -> io::Result<Used> {
        let used = run(command, stop)?;
        if used.is_success() {
            let usage = used.as_usage(usage.application, usage.format, usage.machine);
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
        Err(SystemException::no_response(minor::NO_RESPONSE_UNANSWERED, maybe)
            .with_detail("the answer was forgotten"))
    })
}

fn unknown(job: &str) -> SystemException {
    SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_JOB, CompletionStatus::Yes).with_detail(format!(
        "no advisor knows job {job}: it was not accepted, or ended so long ago that it is forgotten"
    ))
}

fn not_there() -> SystemException {
    SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No)
        .with_detail("there is no advisor")
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

    /// Whether it is there, and not only waits to be reaped.
    fn lives(id: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    }

    #[test]
    fn a_job_ends_with_all_that_it_started() {
        let folder = corbie_testkit::servers::ScratchFolder::new("mshn-group");
        for (name, last, is_stopped) in [("stopped", "wait", true), ("left", "exit 0", false)] {
            let output = folder.path().join(name);
            let stop = AtomicBool::new(false);
            let script = format!("sleep 1000 & echo $!; {last}");
            let id = || std::fs::read_to_string(&output).unwrap_or_default().trim().to_owned();
            let used = std::thread::scope(|scope| {
                let run = scope.spawn(|| run_job(&shell(&script), Some(&output), &stop).unwrap());
                while is_stopped && id().is_empty() && !run.is_finished() {
                    std::thread::yield_now();
                }
                stop.store(is_stopped, Ordering::Release);
                run.join().unwrap()
            });
            assert_eq!((used.is_stopped, used.is_success()), (is_stopped, !is_stopped), "{used:?}");
            let ends = Instant::now() + Duration::from_secs(60);
            while lives(&id()) {
                assert!(Instant::now() < ends, "{name}: {} lives on", id());
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn what_was_used_is_the_same_after_it_was_a_line() {
        let exit_status = Some(7);
        let used = Used { wall_s: 0.1, memory_kib: 5, exit_status, ..Used::default() };
        assert_eq!(used.to_string().parse(), Ok(used.clone()));
        let killed = Used { exit_status: None, ..used };
        assert_eq!(killed.to_string().parse(), Ok(killed));
        for wrong in ["", "used", "used 1 2 3 4", "used 1 2 3 x 0", "1 2 3 4 0"] {
            assert_eq!(wrong.parse::<Used>(), Err(NotUsed), "{wrong}");
        }
    }
}
