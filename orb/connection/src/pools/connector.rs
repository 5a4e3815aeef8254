//! Opens connections for calls whose threads do not wait: asynchronous ones, and those that have to
//! be sent again.
//!
//! A few threads, started when they are needed and gone soon after: so neither a thread of the
//! application nor one that delivers replies is ever inside a connect. One attempt an endpoint; its
//! calls stand in the `line` of the pool.

use super::{Lease, Opens, Pool};
use crate::connection::{Context as _, User};
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_threads::thread::begin_serving;
use corbie_transport::Link;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many endpoints are connected to at once; the others wait for their turn. An endpoint that
/// does not answer keeps one thread for `connect_timeout`.
const THREADS_MAX: usize = 64;
/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(1);

/// The threads that connect for one ORB.
pub(super) struct Connector<U: Opens> {
    state: Ranked<rank::Leaf, Jobs<U>>,
    /// Threads without work wait here.
    wanted: Signal,
}

struct Jobs<U: Opens> {
    jobs: VecDeque<Job<U>>,
    threads: usize,
    idle: usize,
}

/// A connection to be opened.
struct Job<U: Opens> {
    context: WeakContext<U>,
    pool: Arc<Pool<U>>,
    lease: Lease,
    /// How long each address of the endpoint may take.
    each: Option<Duration>,
}

type WeakContext<U> = Box<dyn Fn() -> Option<<U as User>::Context> + Send>;

impl<U: Opens> Default for Connector<U> {
    fn default() -> Self {
        let state = Jobs { jobs: VecDeque::new(), threads: 0, idle: 0 };
        Connector { state: Ranked::new(state), wanted: Signal::new() }
    }
}

impl<U: Opens> Connector<U> {
    /// Opens a connection for the line of `pool`, which is told by [`Pool::connected`].
    pub(super) fn open(self: &Arc<Self>, context: &U::Context, pool: &Arc<Pool<U>>, lease: Lease) {
        let each = context.settings().connect_timeout;
        let job = Job { context: U::downgrade(context), pool: Arc::clone(pool), lease, each };
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() || state.threads >= THREADS_MAX {
            drop(state);
            return self.wanted.wake_one();
        }
        state.threads += 1;
        let connector = Arc::clone(self);
        let thread = std::thread::Builder::new().name("corbie-connector".to_owned());
        if let Err(error) = thread.spawn(move || connector.run()) {
            state.threads -= 1;
            // Those that there are do it later.
            if state.threads == 0 {
                let jobs = std::mem::take(&mut state.jobs);
                drop(state);
                for Job { pool, lease, .. } in jobs {
                    let error = io::Error::new(error.kind(), error.to_string());
                    pool.connected(context, lease, Err(error));
                }
            }
        }
    }

    fn run(&self) {
        // Outcomes are delivered here, which may call servants.
        begin_serving();
        while let Some(Job { context, pool, lease, each }) = self.next() {
            let link = Link::connect(&pool.endpoint, each, None);
            if let Some(context) = context() {
                pool.connected(&context, lease, link);
            }
        }
    }

    /// What is to be done next; `None`: nothing, and the thread ends.
    fn next(&self) -> Option<Job<U>> {
        let mut state = self.state.lock();
        if state.jobs.is_empty() {
            state.idle += 1;
            let empty = |state: &mut Jobs<U>| state.jobs.is_empty();
            state = self.wanted.wait_while_until(state, Instant::now().checked_add(IDLE), empty);
            state.idle -= 1;
        }
        let job = state.jobs.pop_front();
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }
}
