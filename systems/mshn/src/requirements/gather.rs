//! The proxy of the requirement database: gathers what was used and passes means on, at once when
//! they differ from what it passed on before, else every so many runs.

use super::is_sound;
use crate::idl::Usage;
use crate::messages::{Component, Done, Request, accepted, refused};
use crate::peers::{Address, Peers};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Runs that are passed on together when they are as the ones before.
const RUNS_TOGETHER: u32 = 10;

/// A run that takes so much more or less than what was passed on is passed on at once.
const DIFFERENCE: f64 = 0.2;

/// See the module.
pub struct RequirementProxy {
    peers: Peers,
    upstream: Address,
    /// Lock "gathered": not held while somebody is called.
    gathered: Mutex<HashMap<(String, String, String), Gathered>>,
}

#[derive(Default)]
struct Gathered {
    /// The mean of what was not passed on yet; no samples: nothing.
    waiting: Usage,
    passed_wall_s: Option<f64>,
}

impl RequirementProxy {
    /// A proxy in front of `upstream`.
    #[must_use]
    pub fn new(peers: Peers, upstream: Address) -> Self {
        Self { peers, upstream, gathered: Mutex::default() }
    }

    /// Adds a run; what is to be passed on now.
    fn gather(&self, used: Usage) -> Option<Usage> {
        let key = (used.application.clone(), used.format.clone(), used.machine.clone());
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.entry(key).or_default().add(used)
    }
}

impl Gathered {
    fn add(&mut self, used: Usage) -> Option<Usage> {
        let last = &self.waiting;
        let before = (last.samples > 0).then_some((
            last.wall_s,
            last.processor_s,
            last.memory_kib,
            u64::from(last.samples),
        ));
        let (wall_s, processor_s, memory_kib, samples) = super::joined(before, &used);
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        self.waiting = Usage { wall_s, processor_s, memory_kib, samples, ..used };
        let is_as_before =
            self.passed_wall_s.is_some_and(|passed| (wall_s - passed).abs() <= passed * DIFFERENCE);
        if is_as_before && samples < RUNS_TOGETHER {
            return None;
        }
        self.passed_wall_s = Some(wall_s);
        Some(std::mem::take(&mut self.waiting))
    }
}

impl Component for RequirementProxy {
    fn serve(&self, request: Request, done: Done) {
        let request = match request {
            Request::Record(used) if !is_sound(&used) => {
                return done(Ok(refused("a time is negative or not finite").into()));
            }
            Request::Record(used) => match self.gather(used) {
                Some(mean) => Request::Record(mean),
                None => return done(Ok(accepted().into())),
            },
            other => other,
        };
        self.peers.start(&self.upstream, request, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_as_before_wait_and_others_do_not() {
        let run = |wall_s: f64| Usage { wall_s, samples: 1, ..Usage::default() };
        let mut gathered = Gathered::default();
        assert_eq!(gathered.add(run(1.0)).map(|mean| mean.samples), Some(1));
        for _ in 0..9 {
            assert_eq!(gathered.add(run(1.1)), None);
        }
        let together = gathered.add(run(1.1)).unwrap();
        assert_eq!(together.samples, 10);
        assert!((together.wall_s - 1.1).abs() < 1e-9);
        assert_eq!(gathered.add(run(3.0)).map(|mean| mean.wall_s), Some(3.0));
    }
}
