//! `CORBA::PollableSet`: waits for whichever of many replies comes first.
//!
//! Every member wakes the set when its reply is here, so looking costs the same for any number of
//! members. CORBA Messaging §22.9 (Pollable, DIIPollable, PollableSet).

use crate::pollable::Pollable;
use corbie_core::Orb;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_types::{SystemException, minor};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

/// A set of pollables. Clones are the same set.
#[derive(Clone)]
pub struct PollableSet {
    orb: Orb,
    shared: Arc<SharedMembers>,
}

#[derive(Default)]
struct SharedMembers {
    members: Ranked<rank::PollableSet, Members>,
    changed: Signal,
}

#[derive(Default)]
struct Members {
    /// By the order in which they came.
    all: HashMap<u64, Pollable>,
    /// Those whose reply is here, in the order of the replies.
    ready: VecDeque<u64>,
    next: u64,
}

/// What [`PollableSet::get_ready_pollable`] can fail with.
#[derive(Clone, Debug, PartialEq)]
pub enum GetReadyPollableError {
    /// The set is empty, or all of its members have handed out their replies.
    NoPossiblePollable,
    /// `NO_RESPONSE`: nothing is ready and the time-out is zero. `TIMEOUT`: nothing was in time.
    System(SystemException),
}

/// What [`PollableSet::remove`] fails with: the pollable is not in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPollable;

impl Pollable {
    /// A set that has this pollable in it.
    ///
    /// # Errors
    /// `BAD_PARAM` when it is in a set already.
    pub fn create_pollable_set(&self) -> Result<PollableSet, SystemException> {
        let set = PollableSet::new(self.polled().orb());
        set.add_pollable(self)?;
        Ok(set)
    }
}

impl PollableSet {
    /// An empty set.
    #[must_use]
    pub fn new(orb: &Orb) -> Self {
        PollableSet { orb: orb.clone(), shared: Arc::default() }
    }

    /// The ORB that the set belongs to.
    #[must_use]
    pub fn orb(&self) -> &Orb {
        &self.orb
    }

    /// Adds a poller or other pollable.
    ///
    /// # Errors
    /// `BAD_PARAM` when it is in a set already.
    pub fn add_pollable(&self, potential: impl Into<Pollable>) -> Result<(), SystemException> {
        let pollable = potential.into();
        if !pollable.polled().membership().enter() {
            return Err(minor::BAD_PARAM_ALREADY_IN_POLLABLE_SET
                .no("the pollable is in a set already; remove it there first"));
        }
        let id = {
            let mut members = self.shared.members.lock();
            members.next += 1;
            let id = members.next;
            members.all.insert(id, pollable.clone());
            id
        };
        let member = Arc::new(Member { id, set: Arc::downgrade(&self.shared) });
        let waker = Waker::from(Arc::clone(&member));
        if pollable.polled().poll_ready(&mut Context::from_waker(&waker)).is_ready() {
            member.wake();
        }
        Ok(())
    }

    /// A pollable that is ready, taken out of the set: waits for one, at most for `timeout`
    /// (`None`: as long as the calls may take).
    ///
    /// # Errors
    /// See [`GetReadyPollableError`].
    pub fn get_ready_pollable(
        &self,
        timeout: Option<Duration>,
    ) -> Result<Pollable, GetReadyPollableError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut members = self.shared.members.lock();
        loop {
            while let Some(id) = members.ready.pop_front() {
                let Some(pollable) = members.all.remove(&id) else { continue };
                pollable.polled().membership().leave();
                // Its reply may have been handed out meanwhile.
                if pollable.polled().has_reply() {
                    return Ok(pollable);
                }
            }
            if members.all.is_empty() {
                return Err(GetReadyPollableError::NoPossiblePollable);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            members = match left {
                None => self.shared.changed.wait(members),
                Some(Duration::ZERO) => return Err(nothing_ready(members.all.len(), timeout)),
                Some(left) => self.shared.changed.wait_for(members, left),
            };
        }
    }

    /// Takes a pollable out.
    ///
    /// # Errors
    /// When it is not in this set.
    pub fn remove(&self, potential: impl Into<Pollable>) -> Result<(), UnknownPollable> {
        let pollable = potential.into();
        let mut members = self.shared.members.lock();
        let found = members.all.iter().find(|(_, member)| **member == pollable);
        let id = found.map(|(id, _)| *id).ok_or(UnknownPollable)?;
        members.all.remove(&id);
        pollable.polled().membership().leave();
        Ok(())
    }

    /// How many pollables are in the set.
    #[must_use]
    pub fn number_left(&self) -> usize {
        self.shared.members.lock().all.len()
    }
}

impl Drop for SharedMembers {
    fn drop(&mut self) {
        self.members
            .get_mut()
            .all
            .values()
            .for_each(|pollable| pollable.polled().membership().leave());
    }
}

/// Tells the set that one of its members is ready.
struct Member {
    id: u64,
    set: Weak<SharedMembers>,
}

impl Wake for Member {
    fn wake(self: Arc<Self>) {
        let Some(set) = self.set.upgrade() else { return };
        let mut members = set.members.lock();
        if members.all.contains_key(&self.id) {
            members.ready.push_back(self.id);
            drop(members);
            set.changed.wake_all();
        }
    }
}

#[cold]
fn nothing_ready(members: usize, timeout: Option<Duration>) -> GetReadyPollableError {
    let timeout = timeout.unwrap_or_default();
    let exception = match timeout.is_zero() {
        true => minor::NO_RESPONSE_NOT_YET.no(format!("none of {members} replies is here yet")),
        false => {
            minor::TIMEOUT_POLLER.no(format!("none of {members} replies came within {timeout:?}"))
        }
    };
    GetReadyPollableError::System(exception)
}

impl fmt::Display for GetReadyPollableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPossiblePollable => f.write_str("the pollable set has nothing to wait for"),
            Self::System(exception) => exception.fmt(f),
        }
    }
}

impl std::error::Error for GetReadyPollableError {}

impl fmt::Display for UnknownPollable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pollable is not in this set")
    }
}

impl std::error::Error for UnknownPollable {}

impl fmt::Debug for PollableSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollableSet").field("number_left", &self.number_left()).finish()
    }
}
