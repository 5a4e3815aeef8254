//! A pool of threads takes turns at one event loop (paper POA §2.5, leader/followers).
//!
//! All idle threads wait on the loop's one set of connections, and the system picks one for each
//! event: it is what keeps leader and followers apart, so no lock is handed on and no thread is
//! woken for nothing. The thread reads, dispatches and answers on the spot: no queue and no
//! hand-over of a request. Two-way requests of one connection are served at the same time; during
//! oneways the connection waits, so that they keep their order.

use crate::Orb;
use crate::reactor::Reactor;
use corbie_cdr::buffers;
use corbie_threads::thread::begin_serving;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A thread that was not needed for so long ends, as long as enough others stay.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many threads there are.
#[derive(Default)]
pub(super) struct Pool {
    threads: AtomicU32,
    /// Threads that serve nothing: `idle <= threads`.
    idle: AtomicU32,
}

impl Pool {
    /// This thread goes to work: sees to it that another one waits for events.
    #[inline]
    pub(super) fn leave_the_idle(&self, orb: &Orb) {
        if self.idle.fetch_sub(1, Ordering::AcqRel) == 1
            && self.threads.load(Ordering::Acquire) < orb.settings().pool_threads_max
            && let Some(Err(error)) = orb.server().loops.first().map(|first| start(orb, first))
        {
            tracing::warn!(%error, "the thread pool cannot grow");
        }
    }

    #[inline]
    pub(super) fn return_to_the_idle(&self) {
        self.idle.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts this thread out, as long as `keep` others remain. In one step, as a thread that goes
    /// to work relies on the count when it decides that no thread has to be started.
    fn leave_unless_needed(&self, keep: u32) -> bool {
        let fewer = |idle: u32| (idle > keep).then(|| idle - 1);
        self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer).is_ok()
    }
}

/// Starts one more thread, which runs `reactor`.
///
/// # Errors
/// What the system says.
pub(super) fn start(orb: &Orb, reactor: &Arc<Reactor>) -> io::Result<()> {
    let pool = &orb.server().loops.pool;
    pool.threads.fetch_add(1, Ordering::AcqRel);
    pool.idle.fetch_add(1, Ordering::AcqRel);
    let thread = std::thread::Builder::new().name("corbie-pool".to_owned());
    let started = thread.spawn({
        let (orb, reactor) = (orb.clone(), Arc::clone(reactor));
        move || {
            begin_serving();
            prepare_buffers();
            run(&orb, &reactor);
            orb.server().loops.pool.threads.fetch_sub(1, Ordering::AcqRel);
        }
    });
    started.map(drop).inspect_err(|_| {
        pool.threads.fetch_sub(1, Ordering::AcqRel);
        pool.idle.fetch_sub(1, Ordering::AcqRel);
    })
}

/// This thread is about to serve, and has buffers for it from the beginning: for the messages and
/// replies of a request and of one nested in it.
fn prepare_buffers() {
    let messages = [buffers::MESSAGE_OCTETS; 2].map(buffers::take_filled);
    let replies = [0; 2].map(buffers::take);
    messages.into_iter().for_each(buffers::give_filled);
    replies.into_iter().for_each(buffers::give);
}

fn run(orb: &Orb, reactor: &Reactor) {
    let pool = &orb.server().loops.pool;
    loop {
        reactor.run_while_busy(orb, PATIENCE);
        if reactor.is_closed() || pool.leave_unless_needed(orb.settings().pool_threads_min) {
            return;
        }
    }
}
