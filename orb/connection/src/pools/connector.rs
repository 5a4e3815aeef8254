//! Opens connections for calls whose threads do not wait: asynchronous ones, and those that have to
//! be sent again. One attempt for the line of a pool; so neither a thread of the application nor
//! one that delivers replies is ever inside a connect.
//!
//! One thread watches all attempts that have begun and are not over, however many there are; it
//! makes no upcall, so no attempt waits for another. A few threads tell outcomes, as that may call
//! servants. Others resolve names, whose addresses are then attempts like others, or connect by
//! transports that wait ([`Begun::WouldWait`]). Each kind of work has threads of its own, so an
//! outcome or a name never waits behind a connect.

mod crew;

use super::{Lease, Opens, Pool};
use crate::connection::{Context as _, User};
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Pollers, Reactor, Source, Turn};
use corbie_threads::thread::Registration;
use corbie_transport::{Begun, Connecting, Endpoint, Link};
use crew::Crew;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// So many threads tell outcomes.
const TELLERS_MAX: usize = 16;
/// So many threads resolve names.
const RESOLVERS_MAX: usize = 16;
/// So many threads connect where a thread has to wait. An endpoint of that kind that does not
/// answer keeps one for `connect_timeout`.
const WAITERS_MAX: usize = 64;
/// So many addresses of a name are tried.
const ADDRESSES_MAX: usize = 16;

/// What connects for one ORB.
pub(super) struct Connector<U: Opens> {
    tellers: Arc<Crew<(Job<U>, io::Result<Link>)>>,
    resolvers: Arc<Crew<(Job<U>, Endpoint)>>,
    waiters: Arc<Crew<(Job<U>, Endpoint)>>,
    /// Attempts that are under way.
    attempts: OnceLock<Arc<Reactor<()>>>,
    watching: Ranked<rank::Leaf, Watching>,
}

#[derive(Default)]
struct Watching {
    /// Attempts that are watched, or are about to be.
    count: usize,
    /// A thread watches.
    has_thread: bool,
    /// The ORB was shut down.
    is_closed: bool,
}

/// A connection to be opened.
struct Job<U: Opens> {
    connector: Arc<Connector<U>>,
    context: WeakContext<U>,
    pool: Arc<Pool<U>>,
    lease: Lease,
    /// How long each address of the endpoint may take.
    each: Option<Duration>,
    /// What is left to be tried.
    addresses: VecDeque<Endpoint>,
    /// They are those of a name.
    is_resolved: bool,
}

type WeakContext<U> = Box<dyn Fn() -> Option<<U as User>::Context> + Send>;

impl<U: Opens> Default for Connector<U> {
    fn default() -> Self {
        Connector {
            tellers: Crew::new(TELLERS_MAX, |(job, link)| Job::tell(job, link)),
            resolvers: Crew::new(RESOLVERS_MAX, |(job, endpoint)| Job::resolve(job, &endpoint)),
            waiters: Crew::new(WAITERS_MAX, |(job, endpoint)| Job::connect(job, &endpoint)),
            attempts: OnceLock::new(),
            watching: Ranked::default(),
        }
    }
}

impl<U: Opens> Connector<U> {
    /// Opens a connection for the line of `pool`, which is told by [`Pool::connected`].
    pub(super) fn open(self: &Arc<Self>, context: &U::Context, pool: &Arc<Pool<U>>, lease: Lease) {
        let job = Job {
            connector: Arc::clone(self),
            context: U::downgrade(context),
            pool: Arc::clone(pool),
            lease,
            each: context.settings().connect_timeout,
            addresses: VecDeque::from([pool.endpoint.clone()]),
            is_resolved: false,
        };
        job.begin();
    }

    /// Ends all attempts that are watched: the ORB was shut down.
    pub(super) fn close(&self) {
        self.watching.lock().is_closed = true;
        self.attempts.get().into_iter().for_each(|attempts| attempts.close());
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
        if std::mem::replace(&mut self.watching.lock().has_thread, true) {
            return Ok(());
        }
        let connector = Arc::clone(self);
        crew::start(move || connector.watch_attempts())
            .inspect_err(|_| self.watching.lock().has_thread = false)
    }

    fn watch_attempts(&self) {
        let Some(attempts) = self.attempts.get() else { return };
        loop {
            attempts.run_until(&(), &|| self.watching.lock().count == 0, None);
            let mut watching = self.watching.lock();
            if watching.count == 0 || watching.is_closed {
                watching.has_thread = false;
                return;
            }
        }
    }
}

/// Whether an endpoint may have a name that is to be resolved.
fn has_name(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Tcp { .. } | Endpoint::TcpWithin { .. })
}

impl<U: Opens> Job<U> {
    /// Begins at the next address: without waiting where that can be, else on a thread that may.
    fn begin(mut self) {
        let Some(endpoint) = self.addresses.pop_front() else {
            return self.over(Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the name of the host has no address",
            )));
        };
        match Connecting::begin(&endpoint) {
            Ok(Begun::Open(link)) => self.over(Ok(link)),
            Ok(Begun::Waits(connecting)) => self.watch(connecting),
            Ok(Begun::WouldWait) => {
                let connector = Arc::clone(&self.connector);
                // The address of a name may be one in turn (IPv6 with a scope): connected to here.
                let is_name = !self.is_resolved && has_name(&endpoint);
                let crew = if is_name { &connector.resolvers } else { &connector.waiters };
                if let Err((error, jobs)) = crew.add((self, endpoint)) {
                    jobs.into_iter().for_each(|(job, _)| job.over(Err(again(&error))));
                }
            }
            Err(error) => self.failed(error),
        }
    }

    /// Connects, on a thread that may wait.
    fn connect(self, endpoint: &Endpoint) {
        match Link::connect(endpoint, self.each, None) {
            Ok(link) => self.over(Ok(link)),
            Err(error) => self.failed(error),
        }
    }

    /// Finds the addresses of a name, on a thread that may wait, and begins at the first.
    fn resolve(mut self, endpoint: &Endpoint) {
        match endpoint.resolve() {
            Ok(addresses) => {
                self.is_resolved = true;
                self.addresses.extend(addresses.into_iter().take(ADDRESSES_MAX));
                self.begin();
            }
            Err(error) => self.failed(error),
        }
    }

    /// Has the attempt watched until it is over.
    fn watch(self, connecting: Connecting) {
        let connector = Arc::clone(&self.connector);
        let until = self.each.and_then(|each| Instant::now().checked_add(each));
        let attempt = Arc::new(Attempt {
            connector: Arc::clone(&connector),
            connecting,
            job: Ranked::new(Some(self)),
            until,
            is_over: AtomicBool::new(false),
            registration: OnceLock::new(),
        });
        connector.watching.lock().count += 1;
        let added = connector
            .attempts()
            .and_then(|attempts| attempts.add(Arc::<Attempt<U>>::clone(&attempt)));
        match added.and_then(|registration| connector.ensure_watching().map(|()| registration)) {
            Ok(registration) => {
                attempt.registration.get_or_init(|| registration).again();
                if connector.watching.lock().is_closed {
                    // It may have come too late to be closed with the others.
                    attempt.end(Err(io::ErrorKind::ConnectionAborted.into()));
                }
            }
            Err(error) => {
                attempt.end(Err(error));
                // The thread that watches may have nothing to wait for any more.
                connector.attempts.get().into_iter().for_each(|attempts| attempts.wake());
            }
        }
    }

    /// The attempt at one address failed: the next one is tried, if there is any.
    fn failed(self, error: io::Error) {
        if self.addresses.is_empty() { self.over(Err(error)) } else { self.begin() }
    }

    /// Has a thread tell the outcome.
    fn over(self, link: io::Result<Link>) {
        let connector = Arc::clone(&self.connector);
        if let Err((error, jobs)) = connector.tellers.add((self, link)) {
            jobs.into_iter().for_each(|(job, _)| job.tell(Err(again(&error))));
        }
    }

    fn tell(self, link: io::Result<Link>) {
        if let Some(context) = (self.context)() {
            self.pool.connected(&context, self.lease, link);
        }
    }
}

/// The same error for another job.
fn again(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
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
            match link {
                Ok(link) => job.over(Ok(link)),
                Err(error) => job.failed(error),
            }
            // Not before the next attempt of the job is counted.
            self.connector.watching.lock().count -= 1;
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
