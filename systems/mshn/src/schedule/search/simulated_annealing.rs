//! Simulated annealing (Braun et al. §4.8): a mapping changes at random; what is worse is accepted
//! the less, the colder it is.
//!
//! As there, the first temperature is the first makespan, what is worse is accepted with a chance
//! of `1 / (1 + e^(worse / temperature))`, and a run ends at `1e-200` or when nothing changes any
//! more. Other than there, it cools after so many changes as there are tasks and not after each, so
//! that it looks as thoroughly in large problems as in small ones; and there are four runs at one
//! rate of cooling, the first from min-min's mapping, so that who stops it has one at least as
//! good.

use super::Candidate;
use crate::schedule::{
    Control, Heuristic, Mapping, MinMin, Problem, Progress, Quiet, ToldProgress,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How much of the temperature is left after each step.
const COOLING: f64 = 0.9;
/// Steps without a change after which a run ends; a step tries each task once on average.
const PATIENCE: u32 = 200;
/// Below this part of the first temperature nothing worse is accepted any more.
const FROZEN: f64 = 1e-200;
/// Steps in which it cools down so far.
const STEPS: f64 = 4371.0;
/// Runs; the best one counts. The first begins with what min-min makes.
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
        let mut told = ToldProgress::new(progress);
        let mut best = Candidate::of(&MinMin.map(problem, &mut Quiet), problem);
        for run in 0..RUNS {
            let start =
                if run == 0 { best.clone() } else { Candidate::random(problem, &mut random) };
            let before = f64::from(run) / f64::from(RUNS);
            let mut tell = |done: f64, makespan: f64| {
                told.report(before + done / f64::from(RUNS), makespan) == Control::Stop
            };
            let found = anneal(problem, start, &mut random, &mut tell);
            if found.makespan() < best.makespan() {
                best.copy_from(&found);
            }
            if tell(1.0, best.makespan()) {
                break;
            }
        }
        best.to_mapping()
    }
}

/// Lets `current` cool down; the best that it ever was. `tell` is told after each step how far it
/// is, and says whether it is to stop.
fn anneal(
    problem: &Problem,
    mut current: Candidate,
    random: &mut ChaCha8Rng,
    tell: &mut impl FnMut(f64, f64) -> bool,
) -> Candidate {
    let mut best = current.clone();
    let mut temperature = current.makespan();
    let coldest = temperature * FROZEN;
    let (mut unchanged, mut steps) = (0, 0.0);
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
        steps += 1.0;
        if tell(steps / STEPS, best.makespan()) {
            break;
        }
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
fn acceptance(worse: f64, temperature: f64) -> f64 {
    1.0 / (1.0 + (worse / temperature).exp())
}
