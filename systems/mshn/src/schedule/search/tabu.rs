//! Tabu search (Braun et al. §4.10): short hops to better neighbours until there are none, then a
//! long hop to a region that was not searched yet.
//!
//! A short hop moves a task, or exchanges two. Where the short hops end is put on the tabu list;
//! a long hop is to differ from everything on it in at least half of the tasks.

use super::Candidate;
use crate::schedule::{Control, Heuristic, Mapping, MinMin, Problem, Progress, Quiet};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Successful hops, short and long, after which it ends.
const HOPS: u32 = 1200;
/// Random mappings tried for one long hop before the list is thought to be full.
const TRIES: u32 = 100;

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
        let mut current = Candidate::of(&MinMin.map(problem, &mut Quiet), problem);
        let mut best = current.clone();
        let mut tabu: Vec<Candidate> = Vec::new();
        let mut hops = 0;
        while hops < HOPS {
            hops += descend(problem, &mut current, HOPS - hops);
            if current.makespan() < best.makespan() {
                best.copy_from(&current);
            }
            if progress.report(f64::from(hops.min(HOPS)) / f64::from(HOPS), best.makespan())
                == Control::Stop
            {
                break;
            }
            tabu.push(current.clone());
            let Some(far) = far_from(&tabu, problem, &mut random) else { break };
            current = far;
            hops += 1;
        }
        best.settle(problem);
        best.to_mapping()
    }
}

/// Short hops as long as there are better neighbours, at most `most`; how many they were.
fn descend(problem: &Problem, current: &mut Candidate, most: u32) -> u32 {
    let mut hops = 0;
    while hops < most && short_hop(problem, current) {
        hops += 1;
    }
    hops
}

/// Goes to the first better neighbour, if there is one.
fn short_hop(problem: &Problem, current: &mut Candidate) -> bool {
    let old = current.makespan();
    for first in 0..problem.tasks() {
        let from = current.machine_of(first);
        for machine in 0..problem.machines() {
            current.assign(problem, first, machine);
            if current.makespan() < old || exchange_helps(problem, current, first, from, old) {
                return true;
            }
        }
        current.assign(problem, first, from);
    }
    false
}

/// `first` was moved from the machine `from`: whether a task of its new machine that goes there
/// instead makes the whole better than `old`. It is there then.
fn exchange_helps(
    problem: &Problem,
    current: &mut Candidate,
    first: usize,
    from: usize,
    old: f64,
) -> bool {
    let machine = current.machine_of(first);
    if machine == from {
        return false;
    }
    for second in first + 1..problem.tasks() {
        if current.machine_of(second) != machine {
            continue;
        }
        current.assign(problem, second, from);
        if current.makespan() < old {
            return true;
        }
        current.assign(problem, second, machine);
    }
    false
}

/// A random mapping that differs from all of `tabu` in at least half of the tasks.
fn far_from(tabu: &[Candidate], problem: &Problem, random: &mut impl Rng) -> Option<Candidate> {
    let is_far = |candidate: &Candidate| {
        tabu.iter().all(|other| {
            let pairs = candidate.machines().iter().zip(other.machines());
            2 * pairs.filter(|(a, b)| a != b).count() >= problem.tasks()
        })
    };
    (0..TRIES).map(|_| Candidate::random(problem, random)).find(is_far)
}
