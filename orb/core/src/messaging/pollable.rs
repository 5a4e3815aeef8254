//! `CORBA::Pollable`: what can be waited for in a [`PollableSet`].
//!
//! A poller of generated code, or the deferred requests of the dynamic invocation interface.
//! CORBA 3.3 P2 §10.5.4.

use crate::messaging::{Membership, PollableSet, Poller};
use corbie_types::SystemException;
use std::task::{Context, Poll};

/// Something that becomes ready. Cheap to clone; equal when it is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Pollable(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Poller(Poller),
}

impl Pollable {
    /// Whether it is ready. Never waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match &self.0 {
            Kind::Poller(poller) => poller.is_ready(),
        }
    }

    /// A set that has this pollable in it.
    ///
    /// # Errors
    /// `BAD_PARAM` when it is in a set already.
    pub fn create_pollable_set(&self) -> Result<PollableSet, SystemException> {
        match &self.0 {
            Kind::Poller(poller) => poller.create_pollable_set(),
        }
    }

    /// The poller that this is.
    #[must_use]
    pub fn as_poller(&self) -> Option<&Poller> {
        match &self.0 {
            Kind::Poller(poller) => Some(poller),
        }
    }

    /// Whether asking it now can bring a reply.
    pub(crate) fn has_reply(&self) -> bool {
        match &self.0 {
            Kind::Poller(poller) => !poller.is_delivered(),
        }
    }

    pub(crate) fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        match &self.0 {
            Kind::Poller(poller) => poller.poll_ready(context),
        }
    }

    pub(crate) fn membership(&self) -> &Membership {
        match &self.0 {
            Kind::Poller(poller) => poller.membership(),
        }
    }
}

impl From<Poller> for Pollable {
    fn from(poller: Poller) -> Self {
        Pollable(Kind::Poller(poller))
    }
}

impl From<&Poller> for Pollable {
    fn from(poller: &Poller) -> Self {
        poller.clone().into()
    }
}
