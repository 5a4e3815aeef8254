//! `CORBA::Pollable`: what can be waited for in a [`PollableSet`](crate::PollableSet).
//!
//! A poller of generated code, or the deferred requests of the dynamic invocation interface; each
//! is [`Polled`]. CORBA Messaging §22.9.

use corbie_core::Orb;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Something that becomes ready. Cheap to clone; equal when it is the same.
#[derive(Clone)]
pub struct Pollable(Arc<dyn Polled>);

/// What a [`PollableSet`](crate::PollableSet) asks of its members.
pub(crate) trait Polled: Any + fmt::Debug + Send + Sync {
    /// Whether it is ready. Never waits.
    fn is_ready(&self) -> bool;
    /// Whether asking it now can bring a reply.
    fn has_reply(&self) -> bool;
    /// As a future's `poll`.
    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()>;
    /// Whether it is in a set.
    fn membership(&self) -> &Membership;
    /// The ORB whose replies it waits for.
    fn orb(&self) -> &Orb;
}

/// Whether a pollable is in a set: in one at most (CORBA 3.3 P1 §A.5, BAD_PARAM minor 43).
#[derive(Debug, Default)]
pub(crate) struct Membership(AtomicBool);

impl Membership {
    pub(crate) fn is_member(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Enters a set; `false` when it is in one already.
    pub(crate) fn enter(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn leave(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Pollable {
    pub(crate) fn new(polled: impl Polled) -> Self {
        Pollable(Arc::new(polled))
    }

    /// Whether it is ready. Never waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    pub(crate) fn polled(&self) -> &dyn Polled {
        &*self.0
    }
}

impl From<&Pollable> for Pollable {
    fn from(pollable: &Pollable) -> Self {
        pollable.clone()
    }
}

impl PartialEq for Pollable {
    fn eq(&self, other: &Self) -> bool {
        // Clones of a poller are the same poller, and share what says whether it is in a set.
        std::ptr::eq(self.0.membership(), other.0.membership())
    }
}

impl fmt::Debug for Pollable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
