//! Which of many links can be read: the leader of a thread pool waits here.
//!
//! Each link is registered once and armed for one event at a time, so that exactly one thread gets
//! it; the thread arms it again when it has taken what it wanted. [`OneShotReadiness::wake`] ends one wait
//! from another thread.

use crate::Link;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The token that stands for [`OneShotReadiness::wake`].
const WAKE: u64 = u64::MAX;

/// What a link is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// The next octets, or the peer's close.
    Octets,
    /// At once: the link has octets that were received but not handled yet, and any other thread
    /// shall take them.
    Now,
}

/// A set of links, waited on by one thread at a time.
#[derive(Debug)]
pub struct OneShotReadiness {
    epoll: OwnedFd,
    wake: OwnedFd,
}

impl OneShotReadiness {
    /// An empty set.
    ///
    /// # Errors
    /// What the system says, for example that there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        Ok(OneShotReadiness { epoll, wake })
    }

    /// Adds `link` under `token` (less than `u64::MAX`), armed for the next octets.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(&self, link: &Link, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, link, data, flags(Interest::Octets))?)
    }

    /// Arms `link` again after an event.
    ///
    /// # Errors
    /// What the system says.
    pub fn arm(&self, link: &Link, token: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::modify(&self.epoll, link, data, flags(interest))?)
    }

    /// Takes `link` out of the set.
    pub fn remove(&self, link: &Link) {
        // It may have gone already with its descriptor.
        let _ = epoll::delete(&self.epoll, link);
    }

    /// The token of one link that is ready; `None` after [`OneShotReadiness::wake`] or `timeout`.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<u64>> {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut space = [const { std::mem::MaybeUninit::<epoll::Event>::uninit() }; 1];
        match epoll::wait(&self.epoll, &mut space[..], Some(&timeout)) {
            Ok((events, _)) => {
                let token = events.first().map(|event| event.data.u64());
                Ok(token.filter(|token| *token != WAKE))
            }
            Err(Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends this and every later wait at once: the set is being closed.
    pub fn wake(&self) {
        // The counter is never read, so the event stays: each waiting thread sees it.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    let one = epoll::EventFlags::ONESHOT | epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
    match interest {
        Interest::Octets => one,
        // A link can nearly always be written to, which makes this event fire at once.
        Interest::Now => one | epoll::EventFlags::OUT,
    }
}
