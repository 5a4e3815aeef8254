//! Which thread waits for events when several threads use one loop (leader/followers).
//!
//! One thread leads: it waits and handles. The others follow: each sleeps on a condition of its
//! own until what it waits for is there or it is to lead. The lead is given away before an upcall,
//! and taken again after it.

use super::{Pollers, Reactor};
use crate::lock::{Ranked, rank};
use crate::thread::{Sleeper, leads, set_leads, take_wake};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Instant;

#[derive(Default)]
pub(super) struct Lead(Ranked<rank::Reactor, Leadership>);

#[derive(Default)]
struct Leadership {
    leader: Option<ThreadId>,
    /// Those that sleep, the last one next to lead.
    followers: Vec<Arc<Sleeper>>,
}

impl Lead {
    /// Sleeps until `done`, `deadline`, or no thread leads.
    pub(super) fn follow(
        &self,
        done: &dyn Fn() -> bool,
        deadline: Option<Instant>,
        is_closed: impl Fn() -> bool,
    ) {
        let sleeper = Sleeper::current();
        {
            let mut state = self.0.lock();
            if state.leader.is_none() {
                return;
            }
            state.followers.push(Arc::clone(&sleeper));
        }
        // A thread that unblocks this one after this look wakes it.
        if !done() && !is_closed() {
            sleeper.sleep(deadline);
        }
        self.0.lock().followers.retain(|follower| !Arc::ptr_eq(follower, &sleeper));
        // It may have been woken to lead, and has what it wanted: then another one shall.
        self.wake_one_to_lead();
    }

    fn wake_one_to_lead(&self) {
        let next = {
            let mut state = self.0.lock();
            if state.leader.is_some() { None } else { state.followers.pop() }
        };
        if let Some(sleeper) = next {
            sleeper.wake();
        }
    }

    pub(super) fn wake_all(&self) {
        for follower in self.0.lock().followers.drain(..) {
            follower.wake();
        }
    }
}

impl<C: 'static> Reactor<C> {
    /// Leads, unless another thread does. A thread that leads may lead again inside.
    pub(super) fn try_lead(&self) -> Option<Leading<'_, C>> {
        if self.pollers != Pollers::OneAtATime {
            return Some(Leading { reactor: self, is_outermost: false });
        }
        let me = std::thread::current().id();
        let mut state = self.lead.0.lock();
        match state.leader {
            Some(leader) if leader != me => None,
            Some(_) => Some(Leading { reactor: self, is_outermost: false }),
            None => {
                state.leader = Some(me);
                set_leads(true);
                Some(Leading { reactor: self, is_outermost: true })
            }
        }
    }

    /// Leads on, or again if a handler gave the lead away and no thread took it; whether it does.
    /// The guard of [`Reactor::try_lead`] gives it back.
    pub(super) fn lead_again(&self) -> bool {
        self.pollers != Pollers::OneAtATime
            || leads()
            || self.try_lead().map(std::mem::forget).is_some()
    }

    /// Whether no thread has woken this one since it looked last.
    pub(super) fn may_wait(&self) -> bool {
        self.pollers != Pollers::OneAtATime || !take_wake()
    }

    /// Another thread may lead.
    pub(super) fn give_lead_away(&self) {
        if self.pollers != Pollers::OneAtATime {
            return;
        }
        {
            let mut state = self.lead.0.lock();
            if state.leader != Some(std::thread::current().id()) {
                return;
            }
            state.leader = None;
        }
        set_leads(false);
        self.lead.wake_one_to_lead();
    }
}

/// This thread leads, until dropped.
pub(super) struct Leading<'r, C: 'static> {
    reactor: &'r Reactor<C>,
    is_outermost: bool,
}

impl<C: 'static> Drop for Leading<'_, C> {
    fn drop(&mut self) {
        if self.is_outermost {
            self.reactor.give_lead_away();
        }
    }
}
