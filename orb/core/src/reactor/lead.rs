//! Who waits for events when several threads use one loop (leader/followers).
//!
//! One thread leads: it waits and handles. The others follow: each sleeps on a condition of its
//! own until what it waits for is there or it is to lead. The lead is given away before an upcall,
//! and taken again after it.

use super::{Reactor, Waiting, lock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Where one thread sleeps while it follows. Not `std::thread::park`, whose token may be meant for
/// the application's own use.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    /// Lock "sleeper".
    is_woken: Mutex<bool>,
    woken: Condvar,
    /// Whether the thread leads, so that it may sleep in the system instead.
    is_leading: AtomicBool,
}

thread_local! {
    static SLEEPER: Arc<Sleeper> = Arc::default();
}

impl Sleeper {
    /// That of this thread.
    pub(crate) fn current() -> Arc<Sleeper> {
        SLEEPER.with(Arc::clone)
    }

    /// Wakes the thread if it follows; whether it leads, and is to be woken by the reactor.
    pub(super) fn wake(&self) -> bool {
        *lock(&self.is_woken) = true;
        self.woken.notify_one();
        self.is_leading.load(Ordering::SeqCst)
    }

    /// Takes the word that it was woken.
    fn take_wake(&self) -> bool {
        std::mem::take(&mut *lock(&self.is_woken))
    }

    fn sleep(&self, deadline: Option<Instant>) {
        let mut is_woken = lock(&self.is_woken);
        if !*is_woken {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let patience = left.unwrap_or(Duration::from_secs(3600));
            let waited = self.woken.wait_timeout(is_woken, patience);
            is_woken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_woken = false;
    }
}

/// Lock "lead".
#[derive(Default)]
pub(super) struct Lead(Mutex<State>);

#[derive(Default)]
struct State {
    leader: Option<ThreadId>,
    /// Those that sleep, the last one next to lead.
    followers: Vec<Arc<Sleeper>>,
}

impl Lead {
    /// Sleeps until `done`, `deadline`, or there is nobody who leads.
    pub(super) fn follow(
        &self,
        done: &dyn Fn() -> bool,
        deadline: Option<Instant>,
        is_closed: impl Fn() -> bool,
    ) {
        let sleeper = Sleeper::current();
        {
            let mut state = lock(&self.0);
            if state.leader.is_none() {
                return;
            }
            state.followers.push(Arc::clone(&sleeper));
        }
        // Whoever unblocks us after this look wakes us.
        if !done() && !is_closed() {
            sleeper.sleep(deadline);
        }
        lock(&self.0).followers.retain(|follower| !Arc::ptr_eq(follower, &sleeper));
        // It may have been woken to lead, and has what it wanted: then another one shall.
        self.wake_one_to_lead();
    }

    fn wake_one_to_lead(&self) {
        let next = {
            let mut state = lock(&self.0);
            if state.leader.is_some() { None } else { state.followers.pop() }
        };
        if let Some(sleeper) = next {
            sleeper.wake();
        }
    }

    pub(super) fn wake_all(&self) {
        for follower in lock(&self.0).followers.drain(..) {
            follower.wake();
        }
    }
}

impl Reactor {
    /// Leads, unless another thread does. A thread that leads may lead again inside.
    pub(super) fn try_lead(&self) -> Option<Leading<'_>> {
        if self.waiting == Waiting::Many {
            return Some(Leading { reactor: self, is_outermost: false });
        }
        let me = std::thread::current().id();
        let mut state = lock(&self.lead.0);
        match state.leader {
            Some(leader) if leader != me => None,
            Some(_) => Some(Leading { reactor: self, is_outermost: false }),
            None => {
                state.leader = Some(me);
                SLEEPER.with(|sleeper| sleeper.is_leading.store(true, Ordering::SeqCst));
                Some(Leading { reactor: self, is_outermost: true })
            }
        }
    }

    /// Leads on, or again if a handler gave the lead away and nobody took it; whether it does. The
    /// guard of [`Reactor::try_lead`] gives it back.
    pub(super) fn lead_again(&self) -> bool {
        self.waiting == Waiting::Many
            || SLEEPER.with(|s| s.is_leading.load(Ordering::SeqCst))
            || self.try_lead().map(std::mem::forget).is_some()
    }

    /// Whether nobody has woken this thread since it looked last.
    pub(super) fn waits_for_nobody(&self) -> bool {
        self.waiting == Waiting::Many || SLEEPER.with(|sleeper| !sleeper.take_wake())
    }

    /// Another thread may lead.
    pub(super) fn give_lead_away(&self) {
        if self.waiting == Waiting::Many {
            return;
        }
        {
            let mut state = lock(&self.lead.0);
            if state.leader != Some(std::thread::current().id()) {
                return;
            }
            state.leader = None;
        }
        SLEEPER.with(|sleeper| sleeper.is_leading.store(false, Ordering::SeqCst));
        self.lead.wake_one_to_lead();
    }
}

/// This thread leads, until dropped.
pub(super) struct Leading<'r> {
    reactor: &'r Reactor,
    is_outermost: bool,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if self.is_outermost {
            self.reactor.give_lead_away();
        }
    }
}
