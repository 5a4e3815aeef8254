//! A job that the status server watches: how far it is, as far as one can tell from outside, and
//! whether it will be done in time.

use crate::idl::{MachineStatus, Violation, WatchOrder};
use std::time::{Duration, Instant};

/// Between two callbacks about one job.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What is not said again for so long is not watched any more: who said so is gone.
const LEASE: Duration = Duration::from_secs(30);

pub(super) struct Watched {
    order: WatchOrder,
    since: Instant,
    /// Until when progress was counted, and the progress: seconds of an idle processor.
    looked: Instant,
    progress_s: f64,
    renewed: Instant,
    told: Option<Instant>,
}

impl Watched {
    pub(super) fn new(order: WatchOrder, now: Instant) -> Self {
        let progress_s = order.done_s;
        Self { order, since: now, looked: now, progress_s, renewed: now, told: None }
    }

    /// The same order again keeps what was seen so far; another one begins anew.
    pub(super) fn again(&mut self, order: WatchOrder, now: Instant) {
        let is_same = (self.order.attempt, &self.order.advisor) == (order.attempt, &order.advisor);
        if is_same {
            self.renewed = now;
        } else {
            *self = Self::new(order, now);
        }
    }

    /// Whether an advisor still wants it watched.
    pub(super) fn is_wanted(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.renewed) < LEASE
    }

    pub(super) fn machine(&self) -> &str {
        &self.order.machine
    }

    /// Counts progress and says whether the job will be late: whom to tell, and what.
    pub(super) fn look(
        &mut self,
        now: Instant,
        machine: Option<&(Instant, MachineStatus)>,
        silence: Duration,
    ) -> Option<(String, Violation)> {
        let heard = machine.map_or(self.since, |(at, _)| *at);
        let (late_by_s, why) = if now.saturating_duration_since(heard) > silence {
            (f64::MAX, format!("machine {} is silent", self.order.machine))
        } else {
            let rate = machine.map_or(1.0, |(_, status)| rate(status));
            self.progress_s += (now - self.looked).as_secs_f64() * rate;
            self.looked = now;
            let left_s = self.order.deadline_s - (now - self.since).as_secs_f64();
            let needs_s = (self.order.needs_s - self.progress_s).max(0.0) / rate;
            if self.order.deadline_s <= 0.0 || needs_s <= left_s {
                return None;
            }
            let why = format!("needs {needs_s:.2} s more, and has {left_s:.2} s");
            (needs_s - left_s, why)
        };
        if self.told.is_some_and(|told| now - told < TELL_EVERY) {
            return None;
        }
        self.told = Some(now);
        let (job, machine) = (self.order.job.clone(), self.order.machine.clone());
        Some((self.order.advisor.clone(), Violation { job, machine, late_by_s, why }))
    }
}

/// The share of a processor that one more runnable process of the machine gets.
pub(crate) fn rate(status: &MachineStatus) -> f64 {
    let processors = f64::from(status.processors.max(1));
    (processors / status.load.max(processors)).clamp(0.01, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(needs_s: f64, deadline_s: f64) -> WatchOrder {
        let text = |s: &str| s.to_owned();
        let (job, machine, advisor) = (text("j"), text("m"), text("a"));
        let (attempt, done_s) = (1, 0.0);
        WatchOrder { job, attempt, machine, advisor, needs_s, done_s, deadline_s }
    }

    fn loaded(load: f64) -> MachineStatus {
        MachineStatus { machine: "m".to_owned(), processors: 2, load, ..Default::default() }
    }

    #[test]
    fn a_job_is_late_when_its_machine_has_too_much_to_do() {
        let start = Instant::now();
        let silence = Duration::from_secs(5);
        let mut watched = Watched::new(order(2.0, 3.0), start);
        let at = |ms| start + Duration::from_millis(ms);
        assert!(watched.look(at(0), Some(&(at(0), loaded(1.0))), silence).is_none());
        // A second at full speed, then a quarter of it: one second more takes four, two are left.
        assert!(watched.look(at(1_000), Some(&(at(1_000), loaded(2.0))), silence).is_none());
        let busy = (at(1_000), loaded(8.0));
        let (advisor, violation) = watched.look(at(1_000), Some(&busy), silence).unwrap();
        assert_eq!((advisor.as_str(), violation.job.as_str()), ("a", "j"));
        assert!((violation.late_by_s - 2.0).abs() < 1e-6, "{violation:?}");
        // Told once a second.
        assert!(watched.look(at(1_500), Some(&busy), silence).is_none());
        assert!(watched.look(at(2_100), Some(&busy), silence).is_some());
    }

    #[test]
    fn silence_is_a_violation_also_without_a_deadline() {
        let start = Instant::now();
        let mut watched = Watched::new(order(1.0, 0.0), start);
        let silence = Duration::from_secs(5);
        let later = start + Duration::from_secs(6);
        assert!(watched.look(start, None, silence).is_none());
        let (_, violation) = watched.look(later, None, silence).unwrap();
        assert!(violation.why.contains("silent"), "{violation:?}");
    }

    #[test]
    fn what_is_said_again_is_watched_on_and_another_attempt_anew() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut watched = Watched::new(order(10.0, 100.0), start);
        let idle = (at(4), loaded(1.0));
        assert!(watched.look(at(4), Some(&idle), Duration::from_secs(5)).is_none());
        watched.again(WatchOrder { done_s: 1.0, ..order(10.0, 96.0) }, at(4));
        assert_eq!(watched.progress_s, 4.0);
        assert!(watched.is_wanted(at(33)) && !watched.is_wanted(at(34)));
        watched.again(WatchOrder { attempt: 2, done_s: 1.0, ..order(10.0, 96.0) }, at(4));
        assert_eq!(watched.progress_s, 1.0);
    }
}
