//! `CORBA::Pollable`: what can be waited for in a [`PollableSet`].
//!
//! A poller of generated code, or the deferred requests of the dynamic invocation interface.
//! CORBA Messaging §22.9.

#[cfg(feature = "dynamic")]
use crate::dynamic::DiiPollable;
use crate::messaging::{Membership, PollableSet, Poller};
use corbie_types::SystemException;
use std::task::{Context, Poll};

/// Something that becomes ready. Cheap to clone; equal when it is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Pollable(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Poller(Poller),
    #[cfg(feature = "dynamic")]
    Dii(DiiPollable),
}

impl Pollable {
    /// Whether it is ready. Never waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match &self.0 {
            Kind::Poller(poller) => poller.is_ready(),
            #[cfg(feature = "dynamic")]
            Kind::Dii(pollable) => pollable.is_ready(),
        }
    }

    /// A set that has this pollable in it.
    ///
    /// # Errors
    /// `BAD_PARAM` when it is in a set already.
    pub fn create_pollable_set(&self) -> Result<PollableSet, SystemException> {
        match &self.0 {
            Kind::Poller(poller) => poller.create_pollable_set(),
            #[cfg(feature = "dynamic")]
            Kind::Dii(pollable) => {
                let set = PollableSet::new(pollable.orb());
                set.add_pollable(self.clone())?;
                Ok(set)
            }
        }
    }

    /// The poller that this is; `None` for deferred requests of the dynamic invocation interface.
    #[must_use]
    pub fn as_poller(&self) -> Option<&Poller> {
        match &self.0 {
            Kind::Poller(poller) => Some(poller),
            #[cfg(feature = "dynamic")]
            Kind::Dii(_) => None,
        }
    }

    /// Whether asking it now can bring a reply.
    pub(crate) fn has_reply(&self) -> bool {
        match &self.0 {
            Kind::Poller(poller) => !poller.is_delivered(),
            #[cfg(feature = "dynamic")]
            Kind::Dii(pollable) => pollable.is_ready(),
        }
    }

    pub(crate) fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        match &self.0 {
            Kind::Poller(poller) => poller.poll_ready(context),
            #[cfg(feature = "dynamic")]
            Kind::Dii(pollable) => pollable.poll_ready(context),
        }
    }

    pub(crate) fn membership(&self) -> &Membership {
        match &self.0 {
            Kind::Poller(poller) => poller.membership(),
            #[cfg(feature = "dynamic")]
            Kind::Dii(pollable) => pollable.membership(),
        }
    }
}

#[cfg(feature = "dynamic")]
impl From<DiiPollable> for Pollable {
    fn from(pollable: DiiPollable) -> Self {
        Pollable(Kind::Dii(pollable))
    }
}

impl From<&Pollable> for Pollable {
    fn from(pollable: &Pollable) -> Self {
        pollable.clone()
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
