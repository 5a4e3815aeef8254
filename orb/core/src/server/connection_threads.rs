//! The threads of one connection, where each connection has threads of its own: one that reads and
//! serves, those that wait inside an upcall for a call of their own, and those that rest.
//!
//! At most one reads and serves, so that requests are served in the order in which they came. When
//! it has to wait it calls one that rests, or a new one; when it comes back and another has taken
//! its place meanwhile, one of the two rests.

use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Default)]
pub(crate) struct ConnectionThreads {
    state: Ranked<rank::Leaf, State>,
    called: Signal,
    /// All threads: for a look without the lock.
    threads: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    threads: u32,
    waiting: u32,
    resting: u32,
    /// Of those that rest, how many were called.
    called: u32,
    is_dismissed: bool,
}

impl State {
    /// Threads that read or serve.
    fn active(&self) -> u32 {
        self.threads - self.waiting - self.resting
    }
}

impl ConnectionThreads {
    fn lock(&self) -> Guard<'_, rank::Leaf, State> {
        self.state.lock()
    }

    /// A thread more is about to serve.
    pub(crate) fn join(&self) {
        let mut state = self.lock();
        state.threads += 1;
        self.threads.store(state.threads, Ordering::Release);
    }

    /// A thread ends; whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.lock();
        state.threads -= 1;
        self.threads.store(state.threads, Ordering::Release);
        state.threads == 0
    }

    /// Before it reads the next message: rests while another thread serves.
    #[inline]
    pub(crate) fn rest_if_another_serves(&self) {
        if self.threads.load(Ordering::Relaxed) > 1 {
            self.rest();
        }
    }

    #[cold]
    fn rest(&self) {
        let mut state = self.lock();
        // The thread that called this one may be back before it is awake: one too many again.
        while state.active() > 1 && !state.is_dismissed {
            state.resting += 1;
            let idle = |state: &mut State| state.called == 0 && !state.is_dismissed;
            state = self.called.wait_while(state, idle);
            // Dismissed, it goes on too, and finds the connection closed.
            state.called = state.called.saturating_sub(1);
            state.resting -= 1;
        }
    }

    /// The thread is about to wait for a call of its own; whether a new thread is needed so that
    /// the connection stays served, which is never more than `most`.
    pub(crate) fn begin_waiting(&self, most: u32) -> bool {
        let mut state = self.lock();
        state.waiting += 1;
        if state.active() + state.called > 0 {
            return false;
        }
        if state.resting > 0 {
            state.called += 1;
            self.called.wake_one();
            return false;
        }
        state.threads < most
    }

    /// It has what it waited for.
    pub(crate) fn end_waiting(&self) {
        self.lock().waiting -= 1;
    }

    /// The connection is closed: no thread rests any more.
    pub(crate) fn dismiss(&self) {
        self.lock().is_dismissed = true;
        self.called.wake_all();
    }
}
