//! The time that a call has: from its beginning to its reply, whatever it waits for in between.
//!
//! Made by `invoke` and `locate`. The system's clock is read once a call; again only when something
//! may have taken time, which is noted here.

use std::time::{Duration, Instant};

/// The time of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) start: Instant,
    timeout: Option<Duration>,
    /// Whether anything was waited for since `start`.
    pub(crate) has_waited: bool,
}

impl Clock {
    /// A call begins now and may take `timeout`; `None`: for ever.
    #[inline]
    pub(crate) fn start(timeout: Option<Duration>) -> Self {
        Clock { start: Instant::now(), timeout, has_waited: false }
    }

    /// When the call has to end.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| self.start.checked_add(timeout))
    }

    /// How long the whole call may take.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What is left of the time.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Something was done that may have taken long: notes it if it did. Less than an eighth of the
    /// time is no reason to set other time-outs, which costs a system call each.
    pub(crate) fn note_long_wait(&mut self) {
        let is_long = |timeout: Duration| self.start.elapsed() > timeout / 8;
        self.has_waited |= self.timeout.is_some_and(is_long);
    }

    /// How long the next wait may take: all of the time, unless some of it has passed.
    #[inline]
    pub(crate) fn next_wait(&self) -> Option<Duration> {
        if self.has_waited { self.left() } else { self.timeout }
    }
}
