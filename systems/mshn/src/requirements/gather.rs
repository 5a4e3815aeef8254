//! The proxy of the requirement database: gathers what was used and passes means on, at once when
//! they differ from what it passed on before, else every so many runs, or after a while.

use super::refusal_of;
use crate::address::Address;
use crate::idl::Usage;
use crate::messages::{Component, Done, Request, accepted, refused};
use crate::peers::Peers;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Runs that are passed on together when they are as the ones before.
const RUNS_TOGETHER: u32 = 10;

/// A run that takes so much more or less than what was passed on is passed on at once.
const DIFFERENCE: f64 = 0.2;

/// How long a run waits for others at most.
const WAITS_AT_MOST: Duration = Duration::from_secs(5);

/// Applications, formats and machines that are remembered.
const KNOWN_MAX: usize = 10_000;

/// See the module.
pub struct RequirementProxy {
    peers: Peers,
    upstream: Address,
    gathered: Arc<Mutex<All>>,
}

/// By application, format and machine. Lock "gathered": not held in calls.
type All = HashMap<(String, String, String), Gathered>;

fn lock(all: &Mutex<All>) -> MutexGuard<'_, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Gathered {
    /// The mean of what was not passed on yet, and since when it waits.
    waiting: Option<(Usage, Instant)>,
    passed_wall_s: Option<f64>,
}

impl RequirementProxy {
    /// A proxy in front of `upstream`.
    #[must_use]
    pub fn new(peers: Peers, upstream: Address) -> Self {
        let gathered = Arc::<Mutex<All>>::default();
        let (weak, to, by) = (Arc::downgrade(&gathered), upstream.clone(), peers.clone());
        std::thread::spawn(move || pass_on(&weak, &by, &to));
        Self { peers, upstream, gathered }
    }

    /// Adds a run; what is to be passed on now.
    fn gather(&self, used: Usage) -> Option<Usage> {
        let key = (used.application.clone(), used.format.clone(), used.machine.clone());
        lock(&self.gathered).entry(key).or_default().add(used, Instant::now())
    }
}

/// Passes on what has waited long enough.
fn pass_on(gathered: &Weak<Mutex<All>>, peers: &Peers, upstream: &Address) {
    loop {
        std::thread::sleep(WAITS_AT_MOST / 5);
        let Some(gathered) = gathered.upgrade() else { return };
        let now = Instant::now();
        let due: Vec<Usage> = {
            let mut all = lock(&gathered);
            let due = all.values_mut().filter_map(|gathered| gathered.due(now)).collect();
            forget(&mut all, KNOWN_MAX);
            due
        };
        for mean in due {
            peers.start(upstream, Request::Record(mean), Box::new(|_| ()));
        }
    }
}

/// When there are more than `most`: those with nothing to pass on. Their next run is passed on.
fn forget(all: &mut All, most: usize) {
    if all.len() > most {
        all.retain(|_, gathered| gathered.waiting.is_some());
    }
}

impl Gathered {
    fn add(&mut self, used: Usage, now: Instant) -> Option<Usage> {
        let (waiting, since) = match self.waiting.take() {
            Some((before, since)) => (super::joined(&before, &used), since),
            None => (Usage { samples: used.samples.max(1), ..used }, now),
        };
        let is_as_before = self
            .passed_wall_s
            .is_some_and(|passed| (waiting.wall_s - passed).abs() <= passed * DIFFERENCE);
        if is_as_before && waiting.samples < RUNS_TOGETHER {
            self.waiting = Some((waiting, since));
            return None;
        }
        self.passed_wall_s = Some(waiting.wall_s);
        Some(waiting)
    }

    fn due(&mut self, now: Instant) -> Option<Usage> {
        let (mean, _) = self.waiting.take_if(|(_, since)| now - *since >= WAITS_AT_MOST)?;
        self.passed_wall_s = Some(mean.wall_s);
        Some(mean)
    }
}

impl Component for RequirementProxy {
    fn serve(&self, request: Request, done: Done) {
        let request = match request {
            Request::Record(used) => {
                if let Some(why) = refusal_of(&used) {
                    return done(Ok(refused(why).into()));
                }
                match self.gather(used) {
                    Some(mean) => Request::Record(mean),
                    None => return done(Ok(accepted().into())),
                }
            }
            other => other,
        };
        self.peers.start(&self.upstream, request, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(wall_s: f64) -> Usage {
        Usage { wall_s, samples: 1, ..Usage::default() }
    }

    #[test]
    fn runs_as_before_wait_and_others_do_not() {
        let mut gathered = Gathered::default();
        let now = Instant::now();
        assert_eq!(gathered.add(run(1.0), now).map(|mean| mean.samples), Some(1));
        for _ in 0..9 {
            assert_eq!(gathered.add(run(1.1), now), None);
        }
        let together = gathered.add(run(1.1), now).unwrap();
        assert_eq!(together.samples, 10);
        assert!((together.wall_s - 1.1).abs() < 1e-9);
        assert_eq!(gathered.add(run(3.0), now).map(|mean| mean.wall_s), Some(3.0));
    }

    #[test]
    fn of_too_many_those_that_wait_stay() {
        let mut all = All::new();
        let of = |name: &str| (name.to_owned(), String::new(), String::new());
        let now = Instant::now();
        all.entry(of("passed on")).or_default().add(run(1.0), now);
        all.entry(of("waits")).or_default().add(run(1.0), now);
        all.entry(of("waits")).or_default().add(run(1.0), now);
        forget(&mut all, 2);
        assert_eq!(all.len(), 2);
        forget(&mut all, 1);
        assert!(all.keys().eq([&of("waits")]), "{:?}", all.keys());
    }

    #[test]
    fn what_waits_is_passed_on_after_a_while() {
        let mut gathered = Gathered::default();
        let now = Instant::now();
        gathered.add(run(1.0), now);
        assert_eq!(gathered.add(run(1.0), now), None);
        assert_eq!(gathered.due(now + WAITS_AT_MOST / 2), None);
        assert_eq!(gathered.due(now + WAITS_AT_MOST).map(|mean| mean.samples), Some(1));
        assert_eq!(gathered.due(now + 2 * WAITS_AT_MOST), None);
    }
}
