//! Tabu search (Braun et al. §4.10): short hops to better neighbours until there are none, then a
//! long hop to a region that was not searched yet.
//!
//! A short hop moves a task, or exchanges two. Where the short hops end is put on the tabu list;
//! a long hop is to differ from everything on it in at least half of the tasks.

use super::Candidate;
use crate::schedule::{
    Control, Heuristic, Mapping, MinMin, Problem, Progress, Quiet, ToldProgress,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Successful hops, short and long, after which it ends.
const HOPS: u32 = 1200;
/// Random mappings tried for one long hop before the list is thought to be full.
const TRIES: u32 = 100;

/// Mappings that are tried between two reports, about.
const TRIES_A_REPORT: usize = 10_000;

/// Tabu search.
#[derive(Clone, Copy, Debug)]
pub struct Tabu {
    seed: u64,
}

impl Tabu {
    /// The seed decides what is random.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Tabu { seed }
    }
}

impl Heuristic for Tabu {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let current = Candidate::of(&MinMin.map(problem, &mut Quiet), problem);
        let (best, told) = (current.makespan(), ToldProgress::new(progress));
        let mut search = Search { problem, current, told, best, hops: 0, tries: 0 };
        let mut best = search.current.clone();
        let mut tabu: Vec<Candidate> = Vec::new();
        while search.hops < HOPS {
            search.descend();
            search.current.settle(problem);
            if search.current.makespan() < best.makespan() {
                best.copy_from(&search.current);
            }
            search.best = best.makespan();
            if search.tell() == Control::Stop {
                break;
            }
            tabu.push(search.current.clone());
            let Some(far) = far_from(&tabu, &mut search, &mut random) else { break };
            search.current = far;
            search.hops += 1;
        }
        best.to_mapping()
    }
}

/// Where it is.
struct Search<'p> {
    problem: &'p Problem,
    current: Candidate,
    told: ToldProgress<'p>,
    /// The best makespan of those where short hops ended.
    best: f64,
    hops: u32,
    /// Since the last report.
    tries: usize,
}

impl Search<'_> {
    fn tell(&mut self) -> Control {
        self.tries = 0;
        self.told.report(f64::from(self.hops.min(HOPS)) / f64::from(HOPS), self.best)
    }

    /// Short hops as long as there are better neighbours.
    fn descend(&mut self) {
        while self.hops < HOPS && self.short_hop() {
            self.hops += 1;
        }
    }

    /// Goes to the first better neighbour, if there is one and it is not told to stop.
    fn short_hop(&mut self) -> bool {
        let old = self.current.makespan();
        for first in 0..self.problem.tasks() {
            let from = self.current.machine_of(first);
            for machine in 0..self.problem.machines() {
                self.current.assign(self.problem, first, machine);
                self.tries += 1;
                if self.current.makespan() < old || self.exchange_helps(first, from, old) {
                    return true;
                }
                if self.tries >= TRIES_A_REPORT && self.tell() == Control::Stop {
                    self.current.assign(self.problem, first, from);
                    return false;
                }
            }
            self.current.assign(self.problem, first, from);
        }
        false
    }

    /// `first` was moved from the machine `from`: whether a task of its new machine that goes there
    /// instead makes the whole better than `old`. It is there then.
    fn exchange_helps(&mut self, first: usize, from: usize, old: f64) -> bool {
        let machine = self.current.machine_of(first);
        if machine == from {
            return false;
        }
        for second in first + 1..self.problem.tasks() {
            if self.current.machine_of(second) != machine {
                continue;
            }
            self.current.assign(self.problem, second, from);
            self.tries += 1;
            if self.current.makespan() < old {
                return true;
            }
            self.current.assign(self.problem, second, machine);
        }
        false
    }
}

/// A random mapping that differs from all of `tabu` in at least half of the tasks.
fn far_from(
    tabu: &[Candidate],
    search: &mut Search<'_>,
    random: &mut impl Rng,
) -> Option<Candidate> {
    let problem = search.problem;
    for _ in 0..TRIES {
        let candidate = Candidate::random(problem, random);
        let is_far = tabu.iter().all(|other| {
            let pairs = candidate.machines().iter().zip(other.machines());
            2 * pairs.filter(|(a, b)| a != b).count() >= problem.tasks()
        });
        if is_far {
            return Some(candidate);
        }
        if search.tell() == Control::Stop {
            return None;
        }
    }
    None
}
