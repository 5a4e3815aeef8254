//! Simulated annealing (Braun et al. §4.8): a mapping changes at random; what is worse is accepted
//! the less, the colder it is.

use super::Candidate;
use crate::schedule::{Control, Heuristic, Mapping, MinMin, Problem, Progress, Quiet};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How much of the temperature is left after each step.
const COOLING: f64 = 0.9;
/// Steps without a change after which a run ends; a step tries each task once on average.
const PATIENCE: u32 = 200;
/// Below this part of the first temperature nothing worse is accepted any more.
const FROZEN: f64 = 1e-200;
/// Runs; the best one counts. The last begins with what min-min makes.
const RUNS: u32 = 4;

/// Simulated annealing.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedAnnealing {
    seed: u64,
}

impl SimulatedAnnealing {
    /// The seed decides what is random.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SimulatedAnnealing { seed }
    }
}

impl Heuristic for SimulatedAnnealing {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut best: Option<Candidate> = None;
        for run in 0..RUNS {
            let start = if run + 1 == RUNS {
                Candidate::of(&MinMin.map(problem, &mut Quiet), problem)
            } else {
                Candidate::random(problem, &mut random)
            };
            let found = anneal(problem, start, &mut random);
            if best.as_ref().is_none_or(|best| found.makespan() < best.makespan()) {
                best = Some(found);
            }
            let done = f64::from(run + 1) / f64::from(RUNS);
            let makespan = best.as_ref().map_or(0.0, Candidate::makespan);
            if progress.report(done, makespan) == Control::Stop {
                break;
            }
        }
        best.map_or_else(|| MinMin.map(problem, progress), |best| best.to_mapping())
    }
}

/// Lets `current` cool down; the best that it ever was.
fn anneal(problem: &Problem, mut current: Candidate, random: &mut ChaCha8Rng) -> Candidate {
    let mut best = current.clone();
    let mut temperature = current.makespan();
    let coldest = temperature * FROZEN;
    let mut unchanged = 0;
    while unchanged < PATIENCE && temperature > coldest {
        let before = current.makespan();
        for _ in 0..problem.tasks() {
            step(problem, &mut current, temperature, random);
            if current.makespan() < best.makespan() {
                best.copy_from(&current);
            }
        }
        unchanged = if current.makespan() == before { unchanged + 1 } else { 0 };
        temperature *= COOLING;
    }
    best.settle(problem);
    best
}

/// Moves one task, and back unless that is accepted.
fn step(problem: &Problem, current: &mut Candidate, temperature: f64, random: &mut ChaCha8Rng) {
    let task = random.random_range(0..problem.tasks());
    let (from, old) = (current.machine_of(task), current.makespan());
    current.assign(problem, task, random.random_range(0..problem.machines()));
    let worse = current.makespan() - old;
    if worse > 0.0 && random.random::<f64>() >= acceptance(worse, temperature) {
        current.assign(problem, task, from);
    }
}

/// How likely something worse is accepted: a half for what is hardly worse, ever less for more.
pub(super) fn acceptance(worse: f64, temperature: f64) -> f64 {
    1.0 / (1.0 + (worse / temperature).exp())
}
