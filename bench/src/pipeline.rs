//! Asynchronous calls without end: how many come back, and what they cost meanwhile.
//!
//! A contender says how it sends one call ([`Client::pipelined`](crate::driver::Client) and
//! `unbounded`), and lets every reply count in a [`Tally`]; the rest is here, once. One thread
//! sends, whichever thread the contender has dispatches replies (paper AMI §4.2).

use crate::driver::Failure;
use crate::orders::{Answer, Step};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long nothing may come back while calls are outstanding.
const PATIENCE: Duration = Duration::from_secs(10);

/// So many calls may be under way before their sender waits, until half of them have ended: an
/// ORB whose asynchronous calls never wait refuses them at some point instead.
const UNDER_WAY_MAX: u64 = 16 * 1024;

/// Waits while too many calls are under way: `begun` is how many were sent, `ended` tells how many
/// have their outcome.
pub(crate) fn leave_room(begun: u64, ended: impl Fn() -> u64) {
    if begun.saturating_sub(ended()) < UNDER_WAY_MAX {
        return;
    }
    while begun.saturating_sub(ended()) > UNDER_WAY_MAX / 2 {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// What became of the calls.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    replies: AtomicU64,
    /// The sum of the values that came back.
    sum: AtomicU64,
    failures: AtomicU64,
}

impl Tally {
    /// Counts a reply.
    pub(crate) fn reply(&self, value: i64) {
        self.sum.fetch_add(value as u64, Ordering::Relaxed);
        self.replies.fetch_add(1, Ordering::Release);
    }

    /// Counts a call that failed.
    pub(crate) fn failure(&self) {
        self.failures.fetch_add(1, Ordering::Release);
    }

    /// How many calls have their outcome.
    pub(crate) fn answered(&self) -> u64 {
        self.replies.load(Ordering::Acquire) + self.failures.load(Ordering::Acquire)
    }

    /// Waits until `sent` calls are answered, each with its own value: 0, 1, 2, …
    fn settle(&self, sent: u64) -> Result<(), Failure> {
        let (mut before, mut since) = (self.answered(), Instant::now());
        loop {
            let answered = self.answered();
            if answered >= sent {
                break;
            }
            if answered > before {
                (before, since) = (answered, Instant::now());
            } else if since.elapsed() > PATIENCE {
                return Err(format!("{answered} of {sent} calls were answered, then none").into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let failures = self.failures.load(Ordering::Acquire);
        if failures > 0 {
            return Err(format!("{failures} of {sent} calls failed").into());
        }
        let expected = (0..sent).fold(0_u64, u64::wrapping_add);
        match self.answered() == sent && self.sum.load(Ordering::Acquire) == expected {
            true => Ok(()),
            false => Err("calls were answered twice, or with another's value".into()),
        }
    }
}

/// Makes `calls` calls with `send`; the time ends with the last reply.
///
/// # Errors
/// When a call is refused, fails, or is answered wrongly.
pub(crate) fn calls(
    calls: u64,
    tally: &Tally,
    mut send: impl FnMut(i64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let start = Instant::now();
    for value in 0..calls {
        send(value as i64)?;
    }
    tally.settle(calls)?;
    Ok(Answer::Rate { calls, nanoseconds: start.elapsed().as_nanos() as u64 })
}

/// Makes calls with `send` until the window is over, and notes every `step` how far it has come.
///
/// # Errors
/// When a call is refused, fails, or is answered wrongly.
pub(crate) fn unbounded(
    window: Duration,
    step: Duration,
    tally: &Tally,
    mut send: impl FnMut(i64) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let start = Instant::now();
    let (mut steps, mut sent, mut answered) = (Vec::new(), 0_u64, 0);
    let mut note = |sent: u64| {
        let now_answered = tally.answered();
        steps.push(Step {
            at_us: start.elapsed().as_micros() as u64,
            replies: now_answered - answered,
            pending: sent.saturating_sub(now_answered),
            resident_kib: resident_kib(),
        });
        answered = now_answered;
    };
    let mut next = step;
    loop {
        // The clock costs as much as a call does; a step has thousands of them.
        for _ in 0..16 {
            send(sent as i64)?;
            sent += 1;
        }
        let elapsed = start.elapsed();
        if elapsed >= next {
            note(sent);
            next = elapsed + step;
        }
        if elapsed >= window {
            break;
        }
    }
    tally.settle(sent)?;
    Ok(Answer::Steps(steps))
}

/// Memory of this process that is in the machine's.
fn resident_kib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok());
    resident.unwrap_or(0) * rustix::param::page_size() as u64 / 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Answers on a thread of its own, adding `wrong` to every value.
    fn answering(tally: &'static Tally, wrong: i64) -> Sender<i64> {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            receiver.iter().for_each(|value: i64| tally.reply(value + wrong));
        });
        sender
    }

    fn leaked() -> &'static Tally {
        Box::leak(Box::default())
    }

    #[test]
    fn every_call_is_counted_once() {
        let tally = leaked();
        let server = answering(tally, 0);
        let answer = calls(5_000, tally, |value| Ok(server.send(value)?)).unwrap();
        assert!(matches!(answer, Answer::Rate { calls: 5_000, nanoseconds: 1.. }));
    }

    #[test]
    fn a_wrong_value_and_a_failure_are_noticed() {
        let tally = leaked();
        let server = answering(tally, 1);
        let error = calls(10, tally, |value| Ok(server.send(value)?)).unwrap_err();
        assert!(error.to_string().contains("another's value"), "{error}");
        let tally = leaked();
        let error = calls(10, tally, |_| {
            tally.failure();
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "10 of 10 calls failed");
    }

    #[test]
    fn steps_say_how_far_it_came() {
        let tally = leaked();
        let server = answering(tally, 0);
        let (window, step) = (Duration::from_millis(40), Duration::from_millis(10));
        let answer = unbounded(window, step, tally, |value| Ok(server.send(value)?)).unwrap();
        let Answer::Steps(steps) = answer else { unreachable!("no steps: {answer}") };
        assert!((1..=5).contains(&steps.len()), "{steps:?}");
        assert!(steps.iter().all(|step| step.resident_kib > 100), "{steps:?}");
        assert!(steps.windows(2).all(|pair| pair[0].at_us < pair[1].at_us));
    }
}
