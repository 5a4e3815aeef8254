//! A pool of threads takes turns: one leads, the others follow (paper POA §2.5, leader/followers).
//!
//! The leader waits for any connection to become readable, hands the lead on, and then reads,
//! dispatches and answers on the spot: no queue and no hand-over of a request. While a two-way
//! request is served, its connection is armed again, so that other requests on it go on; during
//! oneways it is not, so that they keep their order.

use crate::Orb;
use crate::connection::driver::ReceiveFailure;
use crate::server::connection::{Buffers, Taken};
use crate::server::{ServerConnection, dispatch, pending, relief, thread_per_connection};
use corbie_giop::{MessageKind, OwnedMessage};
use corbie_transport::{Interest, OneShotReadiness};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A follower that was not needed for so long ends, as long as enough others stay.
const FOLLOWER_PATIENCE: Duration = Duration::from_secs(10);
/// The leader looks up this often whether the pool is closing.
const LEADER_PATIENCE: Duration = Duration::from_secs(1);

/// The threads and what they wait on.
pub(crate) struct ThreadPool {
    readiness: OneShotReadiness,
    /// Lock "leader": whether some thread leads. Never held while waiting for octets.
    has_leader: Mutex<bool>,
    lead_is_free: Condvar,
    threads: AtomicU32,
    /// Threads that lead or follow: `idle <= threads`.
    idle: AtomicU32,
    closing: AtomicBool,
}

impl ThreadPool {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(ThreadPool {
            readiness: OneShotReadiness::new()?,
            has_leader: Mutex::new(false),
            lead_is_free: Condvar::new(),
            threads: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            closing: AtomicBool::new(false),
        })
    }

    /// Serves `connection` from now on.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn add(&self, connection: &ServerConnection) -> io::Result<()> {
        self.readiness.add(&connection.link, connection.id)
    }

    /// The threads end when they have served what they serve.
    pub(crate) fn close(&self) {
        // Under the lock, so that no follower misses it between its look and its sleep.
        let guard = self.has_leader.lock().unwrap_or_else(PoisonError::into_inner);
        self.closing.store(true, Ordering::Release);
        drop(guard);
        self.readiness.wake();
        self.lead_is_free.notify_all();
    }

    /// Becomes the leader; `false` when this thread is not needed any more, which is then not
    /// among the idle.
    fn take_the_lead(&self, keep: u32) -> bool {
        let mut has_leader = self.has_leader.lock().unwrap_or_else(PoisonError::into_inner);
        while *has_leader && !self.closing.load(Ordering::Acquire) {
            let waited = self.lead_is_free.wait_timeout(has_leader, FOLLOWER_PATIENCE);
            let (guard, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
            has_leader = guard;
            if outcome.timed_out() && *has_leader && self.leave_unless_needed(keep) {
                return false;
            }
        }
        if self.closing.load(Ordering::Acquire) {
            self.idle.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        *has_leader = true;
        true
    }

    /// Counts this thread out, as long as `keep` others remain. In one step, as the leader relies
    /// on the count when it decides that nobody has to be started.
    fn leave_unless_needed(&self, keep: u32) -> bool {
        let fewer = |idle: u32| (idle > keep).then(|| idle - 1);
        self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer).is_ok()
    }

    fn hand_the_lead_on(&self) {
        *self.has_leader.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.lead_is_free.notify_one();
    }
}

/// Makes the pool of `orb` and starts its first threads.
///
/// # Errors
/// What the system says when there are no descriptors or threads.
pub(crate) fn start(orb: &Orb) -> io::Result<()> {
    let pool = ThreadPool::new()?;
    if orb.server().pool.set(pool).is_ok() {
        for _ in 0..orb.settings().pool_threads_min {
            start_thread(orb)?;
        }
    }
    Ok(())
}

fn start_thread(orb: &Orb) -> io::Result<()> {
    let Some(pool) = orb.server().pool.get() else { return Ok(()) };
    pool.threads.fetch_add(1, Ordering::AcqRel);
    pool.idle.fetch_add(1, Ordering::AcqRel);
    let thread = std::thread::Builder::new().name("corbie-pool".to_owned());
    let orb = orb.clone();
    let started = thread.spawn(move || {
        if let Some(pool) = orb.server().pool.get() {
            run(&orb, pool);
            pool.threads.fetch_sub(1, Ordering::AcqRel);
        }
    });
    started.map(|_| ()).inspect_err(|_| {
        pool.threads.fetch_sub(1, Ordering::AcqRel);
        pool.idle.fetch_sub(1, Ordering::AcqRel);
    })
}

fn run(orb: &Orb, pool: &ThreadPool) {
    relief::begin_serving();
    let mut buffers = Buffers::default();
    while pool.take_the_lead(orb.settings().pool_threads_min) {
        let event = pool.readiness.wait(LEADER_PATIENCE);
        match event {
            Ok(None) => pool.hand_the_lead_on(),
            Ok(Some(id)) => {
                leave_the_idle(orb, pool);
                pool.hand_the_lead_on();
                if let Some(connection) = orb.server().registry.get(id) {
                    serve_ready(orb, pool, &connection, &mut buffers);
                }
                pool.idle.fetch_add(1, Ordering::AcqRel);
            }
            Err(error) => {
                tracing::error!(%error, "the thread pool cannot wait for its connections");
                pool.idle.fetch_sub(1, Ordering::AcqRel);
                pool.hand_the_lead_on();
                return;
            }
        }
    }
}

/// This thread goes to work: sees to it that another one can lead.
fn leave_the_idle(orb: &Orb, pool: &ThreadPool) {
    let others = pool.idle.fetch_sub(1, Ordering::AcqRel) - 1;
    if others == 0
        && pool.threads.load(Ordering::Acquire) < orb.settings().pool_threads_max
        && let Err(error) = start_thread(orb)
    {
        tracing::warn!(%error, "the thread pool cannot grow");
    }
}

fn serve_ready(
    orb: &Orb,
    pool: &ThreadPool,
    connection: &Arc<ServerConnection>,
    buffers: &mut Buffers,
) {
    pending::wait_for_room(orb, connection);
    let arm = |interest| pool.readiness.arm(&connection.link, connection.id, interest);
    let outcome = match connection.try_receive(orb, buffers) {
        Ok(Taken::NotYet) => arm(Interest::Octets).map(|()| true),
        Ok(Taken::Message(message, more)) => {
            let next = if more { Interest::Now } else { Interest::Octets };
            let overlaps = may_overlap(connection, &message);
            let armed_first = if overlaps { arm(next) } else { Ok(()) };
            let goes_on = dispatch::message(orb, connection, &message, &mut buffers.reply);
            let armed = if overlaps { armed_first } else { arm(next) };
            buffers.keep_message(message, orb.retained_octets());
            armed.map(|()| goes_on)
        }
        Err(failure) => {
            thread_per_connection::end(connection, &failure);
            Ok(false)
        }
    };
    let goes_on = outcome.unwrap_or_else(|error| {
        thread_per_connection::end(connection, &ReceiveFailure::Io(error));
        false
    });
    if !goes_on || connection.is_closing() {
        pool.readiness.remove(&connection.link);
        orb.server().registry.remove(connection.id);
    }
}

/// Whether the next message may be served before this one is done: oneways are served in the order
/// in which they came, and code sets hold from the request that announces them.
fn may_overlap(connection: &ServerConnection, message: &OwnedMessage) -> bool {
    let message = message.as_message();
    if message.header.kind != MessageKind::Request {
        return true;
    }
    let Ok((header, _)) = message.request() else { return false };
    if !header.service_contexts.is_empty()
        && let Ok(Some(code_sets)) = header.service_contexts.code_sets()
    {
        connection.set_code_sets(code_sets);
    }
    header.response.response_expected()
}
