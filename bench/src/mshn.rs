//! The Client Library of MSHN under load: makes requests for schedules one after the other or in a
//! burst, and counts what was asked and answered (paper MSHN §4.2).
//!
//! The harness starts `corbie-bench drive mshn MECHANISM …`, has the other components started
//! ([`system`]), each a process of its own, and sends the order. The paper's "non-CORBA" base is
//! the same components within this process ([`local`]).

pub(crate) mod component;
mod local;
mod options;
mod system;
mod tally;
mod work;

use crate::driver::{self, Failure};
use crate::orders::{Answer, Answered, Requests};
use crate::placement;
use corbie_mshn::idl::{Format, Job};
use corbie_mshn::messages::{Request, Role};
use corbie_mshn::{Address, Peers};
use options::LoadOptions;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use system::LoadedSystem;
use tally::ScheduleTally;

/// The application that schedules are requested for.
pub(super) const APPLICATION: &str = "solver";
/// The machine that has reported.
pub(super) const MACHINE: &str = "m1";

/// The Client Library's process.
pub(crate) struct LibraryProcess {
    options: LoadOptions,
    /// Once the components were started.
    system: Mutex<Option<LoadedSystem>>,
}

impl LibraryProcess {
    /// A client by its words on the command line; nothing is started yet.
    ///
    /// # Errors
    /// When the words make no sense.
    pub(crate) fn new(words: Vec<String>) -> Result<Self, Failure> {
        Ok(Self { options: LoadOptions::parse(words)?, system: Mutex::default() })
    }
}

impl driver::Client for LibraryProcess {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        Err::<fn(i64) -> Result<i64, Failure>, _>("MSHN's components echo nothing".into())
    }

    fn oneways(&self, _window: Duration) -> Result<Answer, Failure> {
        Err("MSHN's components count no oneways".into())
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        Err::<fn(&[u8], bool) -> Result<(), Failure>, _>("MSHN's components echo nothing".into())
    }

    fn components(&self, pause: Duration) -> Result<Answer, Failure> {
        let begin = Instant::now();
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        // The one before ends first.
        drop(system.take());
        let started = LoadedSystem::start(&self.options, pause)?;
        let calls = started.size() as u64;
        *system = Some(started);
        Ok(Answer::Rate { calls, nanoseconds: begin.elapsed().as_nanos() as u64 })
    }

    fn requests(&self, requests: &Requests) -> Result<Answer, Failure> {
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        let system = system.as_mut().ok_or("the components have not been started")?;
        let advisor = match self.options.advisors {
            1 => Address::named(Role::Advisor, system::names('a', 1).remove(0)),
            _ => Address::any(Role::Advisor),
        };
        placement::on_core(self.options.place.advisors(), || {
            Ok(measure(system, &advisor, requests).map(Answer::Answered))
        })?
    }
}

/// Warms up, makes the requests, and looks what that cost and who did it.
fn measure(
    system: &mut LoadedSystem,
    advisor: &Address,
    requests: &Requests,
) -> Result<Answered, Failure> {
    let peers = system.peers().clone();
    let warm_up = Requests { count: requests.warm_up, ..*requests };
    if warm_up.count > 0 {
        make(&peers, advisor, &warm_up, "w")?;
    }
    let before = system.work()?;
    let answered = make(&peers, advisor, requests, "j")?;
    let work = system.work()?.since(&before);
    let processor_ns = work.processor_time().as_nanos() as u64;
    Ok(Answered { processor_ns, shares: work.shares(), ..answered })
}

fn make(
    peers: &Peers,
    advisor: &Address,
    requests: &Requests,
    prefix: &str,
) -> Result<Answered, Failure> {
    let tally = ScheduleTally::new(requests.count)?;
    match requests.is_bursty {
        true => burst(peers, advisor, requests, prefix, &tally)?,
        false => consecutive(peers, advisor, requests, prefix, &tally)?,
    }
    tally.answered()
}

/// Each request waits for the answer to the one before.
fn consecutive(
    peers: &Peers,
    advisor: &Address,
    requests: &Requests,
    prefix: &str,
    tally: &ScheduleTally,
) -> Result<(), Failure> {
    for number in 0..requests.count {
        let job = job(prefix, number);
        let id = job.id.clone();
        let asked = tally.ask();
        if requests.resolves {
            peers.forget(advisor);
        }
        let outcome = peers.call(advisor, &Request::Schedule(job));
        tally.take(number, &id, asked, outcome);
        tally.show(requests.count)?;
    }
    Ok(())
}

/// A request every so often, whatever becomes of those before; then waits for the answers.
fn burst(
    peers: &Peers,
    advisor: &Address,
    requests: &Requests,
    prefix: &str,
    tally: &ScheduleTally,
) -> Result<(), Failure> {
    let begin = Instant::now();
    for number in 0..requests.count {
        let due = begin + Duration::from_micros(requests.gap_us.saturating_mul(number));
        let left = due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            std::thread::sleep(left);
        }
        let job = job(prefix, number);
        if requests.resolves {
            peers.forget(advisor);
        }
        let (taker, id) = (tally.clone(), job.id.clone());
        let asked = tally.ask();
        let done = move |outcome| taker.take(number, &id, asked, outcome);
        peers.start(advisor, Request::Schedule(job), Box::new(done));
        tally.show(requests.count)?;
    }
    tally.wait(requests.count)
}

/// What a schedule is requested for: a job with two formats, as large as jobs are.
fn job(prefix: &str, number: u64) -> Job {
    let format = |name: &str, step: &str| Format {
        name: name.to_owned(),
        command: ["solver", "--step", step, "--mesh", "wing.msh"].map(str::to_owned).to_vec(),
    };
    Job {
        id: format!("{prefix}-{number}"),
        application: APPLICATION.to_owned(),
        formats: vec![format("fine", "0.001"), format("coarse", "0.01")],
        deadline_s: 0.0,
    }
}
