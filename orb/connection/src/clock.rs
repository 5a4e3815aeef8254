//! The time that a call has: from its beginning to its reply, whatever it waits for in between.
//!
//! Made by `policy/call` for calls and by `locate`. The system's clock is read once a call; again
//! only when something may have taken time, which is noted here.

use std::time::{Duration, Instant};

/// The time of one call.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When it began.
    pub start: Instant,
    /// When what is being done now has to end, from `start`: sending, or the whole call.
    timeout: Option<Duration>,
    /// Whether anything was waited for since `start`.
    pub has_waited: bool,
    /// Where sending and receiving have times of their own.
    phases: Option<Phases>,
}

#[derive(Clone, Copy, Debug)]
struct Phases {
    /// Until the request is sent, from the start.
    sending: Option<Duration>,
    /// How long each sending may take: a setting, that has no meaning for the call as a whole.
    each_sending: Option<Duration>,
    /// When the sending that is under way has to end by that, from the start.
    sending_end: Option<Duration>,
    is_sent: bool,
    /// Until the reply is here, from the start.
    whole: Option<Duration>,
    /// Until the reply is here, from when the request was sent.
    reply: Option<Duration>,
}

impl Phases {
    fn until_sent(&self) -> Option<Duration> {
        [self.sending, self.sending_end, self.whole].into_iter().flatten().min()
    }
}

impl Clock {
    /// A call begins now and may take `timeout`; `None`: for ever.
    #[inline]
    pub fn start(timeout: Option<Duration>) -> Self {
        Clock { start: Instant::now(), timeout, has_waited: false, phases: None }
    }

    /// A call begins now, that may take `sending` until its request is sent, `reply` from then on,
    /// and `whole` altogether; and `each_sending` for the first sending, and for each that follows
    /// one that went out.
    #[cold]
    pub fn in_phases(
        sending: Option<Duration>,
        each_sending: Option<Duration>,
        whole: Option<Duration>,
        reply: Option<Duration>,
    ) -> Self {
        let sending_end = each_sending;
        let phases = Phases { sending, each_sending, sending_end, is_sent: false, whole, reply };
        let (timeout, phases) = (phases.until_sent(), Some(phases));
        Clock { start: Instant::now(), timeout, has_waited: false, phases }
    }

    /// The request is sent.
    #[inline]
    pub fn sent(&mut self) {
        if let Some(phases) = &mut self.phases {
            phases.is_sent = true;
            let reply = phases.reply.map(|reply| self.start.elapsed().saturating_add(reply));
            self.timeout = phases.whole.into_iter().chain(reply).min();
            self.has_waited = true;
        }
    }

    /// The request has to be sent again.
    #[inline]
    pub fn sending_again(&mut self) {
        if let Some(phases) = &mut self.phases {
            if std::mem::take(&mut phases.is_sent) {
                let again = |each: Duration| self.start.elapsed().saturating_add(each);
                phases.sending_end = phases.each_sending.map(again);
            }
            self.timeout = phases.until_sent();
        }
        self.has_waited = true;
    }

    /// When what is being done now has to end.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| self.start.checked_add(timeout))
    }

    /// How long what is being done now may take, from the start of the call.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What is left of the time.
    pub fn left(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Something was done that may have taken long: notes it if it did. Less than an eighth of the
    /// time is no reason to set other time-outs, which costs a system call each.
    pub fn note_long_wait(&mut self) {
        let is_long = |timeout: Duration| self.start.elapsed() > timeout / 8;
        self.has_waited |= self.timeout.is_some_and(is_long);
    }

    /// How long the next wait may take: all of the time, unless some of it has passed.
    #[inline]
    pub fn next_wait(&self) -> Option<Duration> {
        if self.has_waited { self.left() } else { self.timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A call whose request went out, and has to be sent again after a minute of waiting.
    fn again(sending: Option<Duration>, each_sending: Option<Duration>) -> Clock {
        let mut clock = Clock::in_phases(sending, each_sending, None, Some(200 * SECOND));
        assert_eq!(clock.timeout(), Some(30 * SECOND));
        clock.sent();
        clock.start -= 60 * SECOND;
        clock.sending_again();
        clock
    }

    #[test]
    fn a_setting_bounds_each_sending_and_a_policy_all_of_them() {
        let clock = again(None, Some(30 * SECOND));
        assert!(clock.left() > Some(15 * SECOND), "{clock:?}");
        let clock = again(Some(30 * SECOND), Some(40 * SECOND));
        assert_eq!(clock.left(), Some(Duration::ZERO));
    }

    #[test]
    fn another_address_gives_no_more_time_to_send() {
        let mut clock = Clock::in_phases(None, Some(SECOND), None, Some(200 * SECOND));
        clock.sending_again();
        assert_eq!(clock.timeout(), Some(SECOND));
    }
}
