//! Opens connections for calls whose threads do not wait: asynchronous ones, and those that have to
//! be sent again. One attempt for the line of a pool; so neither a thread of the application nor
//! one that delivers replies is ever inside a connect.
//!
//! One thread watches all attempts that have begun and are not over, however many there are; it
//! makes no upcall, so no attempt waits for another. Outcomes are told by a few threads, as that
//! may call servants. These also connect where a thread has to wait: names that have to be
//! resolved, and transports that say so ([`Begun::WouldWait`]). All threads are started when they
//! are needed, and end soon after.

use super::{Lease, Opens, Pool};
use crate::connection::{Context as _, User};
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_threads::reactor::{Next, Pollers, Reactor, Source, Turn};
use corbie_threads::thread::{Registration, begin_serving};
use corbie_transport::{Begun, Connecting, Link};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// So many threads tell outcomes, or connect where a thread has to wait. An endpoint of that kind
/// that does not answer keeps one for `connect_timeout`.
const THREADS_MAX: usize = 64;
/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(1);

/// What connects for one ORB.
pub(super) struct Connector<U: Opens> {
    jobs: Ranked<rank::Leaf, Jobs<U>>,
    /// Threads without work wait here.
    wanted: Signal,
    /// Attempts that are under way.
    attempts: OnceLock<Arc<Reactor<()>>>,
}

struct Jobs<U: Opens> {
    /// What the threads have to do.
    due: VecDeque<(Job<U>, Task)>,
    threads: usize,
    idle: usize,
    /// Attempts that are watched, or are about to be.
    watched: usize,
    /// A thread watches.
    is_watching: bool,
}

/// A connection to be opened.
struct Job<U: Opens> {
    context: WeakContext<U>,
    pool: Arc<Pool<U>>,
    lease: Lease,
    /// How long each address of the endpoint may take.
    each: Option<Duration>,
}

/// What is to be done for it.
enum Task {
    /// To connect, which waits.
    Connect,
    /// To tell the outcome.
    Tell(Box<io::Result<Link>>),
}

type WeakContext<U> = Box<dyn Fn() -> Option<<U as User>::Context> + Send>;

impl<U: Opens> Default for Connector<U> {
    fn default() -> Self {
        let due = VecDeque::new();
        let jobs = Jobs { due, threads: 0, idle: 0, watched: 0, is_watching: false };
        let (wanted, attempts) = (Signal::new(), OnceLock::new());
        Connector { jobs: Ranked::new(jobs), wanted, attempts }
    }
}

impl<U: Opens> Connector<U> {
    /// Opens a connection for the line of `pool`, which is told by [`Pool::connected`].
    pub(super) fn open(self: &Arc<Self>, context: &U::Context, pool: &Arc<Pool<U>>, lease: Lease) {
        let each = context.settings().connect_timeout;
        let job = Job { context: U::downgrade(context), pool: Arc::clone(pool), lease, each };
        match Connecting::begin(&pool.endpoint) {
            Ok(Begun::Open(link)) => self.add(job, Task::Tell(Box::new(Ok(link)))),
            Ok(Begun::WouldWait) => self.add(job, Task::Connect),
            Ok(Begun::Waits(connecting)) => self.watch(job, connecting),
            Err(error) => self.add(job, Task::Tell(Box::new(Err(error)))),
        }
    }

    /// Has a thread do `task`.
    fn add(self: &Arc<Self>, job: Job<U>, task: Task) {
        let mut jobs = self.jobs.lock();
        jobs.due.push_back((job, task));
        if jobs.idle >= jobs.due.len() || jobs.threads >= THREADS_MAX {
            drop(jobs);
            return self.wanted.wake_one();
        }
        jobs.threads += 1;
        drop(jobs);
        if let Err(error) = self.start(Self::work) {
            let mut jobs = self.jobs.lock();
            jobs.threads -= 1;
            // Those that there are do it later.
            if jobs.threads == 0 {
                let due = std::mem::take(&mut jobs.due);
                drop(jobs);
                for (job, _) in due {
                    job.tell(Err(io::Error::new(error.kind(), error.to_string())));
                }
            }
        }
    }

    fn start(self: &Arc<Self>, run: fn(&Arc<Self>)) -> io::Result<()> {
        let connector = Arc::clone(self);
        let thread = std::thread::Builder::new().name("corbie-connector".to_owned());
        thread.spawn(move || run(&connector)).map(drop)
    }

    fn work(self: &Arc<Self>) {
        // Outcomes are delivered here, which may call servants.
        begin_serving();
        while let Some((job, task)) = self.next() {
            let link = match task {
                Task::Connect => Link::connect(&job.pool.endpoint, job.each, None),
                Task::Tell(link) => *link,
            };
            job.tell(link);
        }
    }

    /// What is to be done next; `None`: nothing, and the thread ends.
    fn next(&self) -> Option<(Job<U>, Task)> {
        let mut jobs = self.jobs.lock();
        if jobs.due.is_empty() {
            jobs.idle += 1;
            let empty = |jobs: &mut Jobs<U>| jobs.due.is_empty();
            jobs = self.wanted.wait_while_until(jobs, Instant::now().checked_add(IDLE), empty);
            jobs.idle -= 1;
        }
        let next = jobs.due.pop_front();
        if next.is_none() {
            jobs.threads -= 1;
        }
        next
    }

    /// Has the attempt watched until it is over.
    fn watch(self: &Arc<Self>, job: Job<U>, connecting: Connecting) {
        let until = job.each.and_then(|each| Instant::now().checked_add(each));
        let attempt = Arc::new(Attempt {
            connector: Arc::clone(self),
            connecting,
            job: Ranked::new(Some(job)),
            until,
            is_over: AtomicBool::new(false),
            registration: OnceLock::new(),
        });
        self.jobs.lock().watched += 1;
        let added =
            self.attempts().and_then(|attempts| attempts.add(Arc::<Attempt<U>>::clone(&attempt)));
        match added.and_then(|registration| self.ensure_watching().map(|()| registration)) {
            Ok(registration) => attempt.registration.get_or_init(|| registration).again(),
            Err(error) => {
                attempt.end(Err(error));
                // The thread that watches may have nothing to wait for any more.
                self.attempts.get().into_iter().for_each(|attempts| attempts.wake());
            }
        }
    }

    fn attempts(&self) -> io::Result<&Arc<Reactor<()>>> {
        if self.attempts.get().is_none() {
            let attempts = Reactor::new(Pollers::OneAtATime, || Some(()))?;
            return Ok(self.attempts.get_or_init(|| attempts));
        }
        self.attempts.get().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Sees to it that a thread watches.
    fn ensure_watching(self: &Arc<Self>) -> io::Result<()> {
        if std::mem::replace(&mut self.jobs.lock().is_watching, true) {
            return Ok(());
        }
        self.start(Self::run_attempts).inspect_err(|_| self.jobs.lock().is_watching = false)
    }

    fn run_attempts(self: &Arc<Self>) {
        let Some(attempts) = self.attempts.get() else { return };
        loop {
            attempts.run_until(&(), &|| self.jobs.lock().watched == 0, None);
            let mut jobs = self.jobs.lock();
            if jobs.watched == 0 {
                jobs.is_watching = false;
                return;
            }
        }
    }
}

impl<U: Opens> Job<U> {
    fn tell(self, link: io::Result<Link>) {
        if let Some(context) = (self.context)() {
            self.pool.connected(&context, self.lease, link);
        }
    }
}

/// One attempt that is under way.
struct Attempt<U: Opens> {
    connector: Arc<Connector<U>>,
    connecting: Connecting,
    /// Until it is over.
    job: Ranked<rank::Leaf, Option<Job<U>>>,
    until: Option<Instant>,
    is_over: AtomicBool,
    registration: OnceLock<Registration>,
}

impl<U: Opens> Attempt<U> {
    /// It is over, with this outcome.
    fn end(&self, link: io::Result<Link>) {
        let job = self.job.lock().take();
        if let Some(job) = job {
            self.is_over.store(true, Ordering::Release);
            self.connector.jobs.lock().watched -= 1;
            self.connector.add(job, Task::Tell(Box::new(link)));
        }
        self.registration.get().into_iter().for_each(Registration::remove);
    }
}

impl<U: Opens> Source<()> for Attempt<U> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.connecting.as_fd())
    }

    fn handle_input(self: Arc<Self>, _context: &(), _turn: &mut Turn<'_, ()>) -> Next {
        match self.connecting.finish() {
            _ if self.is_over.load(Ordering::Acquire) => return Next::Remove,
            Ok(None) => return Next::Wait,
            Ok(Some(link)) => self.end(Ok(link)),
            Err(error) => self.end(Err(error)),
        }
        Next::Remove
    }

    fn handle_output(&self, _context: &()) {
        self.registration.get().into_iter().for_each(Registration::again);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.until.filter(|_| !self.is_over.load(Ordering::Acquire))
    }

    fn handle_timeout(self: Arc<Self>, _context: &(), _now: Instant) {
        let why = "the server did not accept the connection in time";
        self.end(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
    }
}
