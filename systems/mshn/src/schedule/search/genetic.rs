//! The genetic algorithm (Braun et al. §4.7): mappings are chromosomes, a task's machine is a gene.
//!
//! In each generation mappings are selected by the rank of their makespans, some exchange the
//! machines of the tasks in an interval, some have a task moved. The best one always stays, and
//! min-min's is there from the beginning, so the outcome is never worse than min-min's.

use super::Candidate;
use crate::schedule::{Control, Heuristic, Mapping, MinMin, Problem, Progress, Quiet};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Mappings in a generation.
pub(super) const POPULATION: usize = 200;
/// Generations at most.
pub(super) const GENERATIONS: u32 = 1000;
/// Generations without a better best after which it ends.
pub(super) const PATIENCE: u32 = 150;
/// How likely a pair exchanges.
pub(super) const CROSSOVER: f64 = 0.6;
/// How likely a mapping has a task moved.
pub(super) const MUTATION: f64 = 0.4;

/// The genetic algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Genetic {
    seed: u64,
}

impl Genetic {
    /// The seed decides what is random.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Genetic { seed }
    }
}

impl Heuristic for Genetic {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut population = first_generation(problem, &mut random);
        let mut next = population.clone();
        let mut unchanged = 0;
        for generation in 1..=GENERATIONS {
            let before = population[0].makespan();
            // Elitism: the best goes on as it is.
            next[0].copy_from(&population[0]);
            for candidate in &mut next[1..] {
                candidate.copy_from(&population[by_rank(&mut random)]);
            }
            for pair in next[1..].chunks_exact_mut(2) {
                if let [left, right] = pair
                    && random.random_bool(CROSSOVER)
                {
                    exchange(problem, left, right, &mut random);
                }
            }
            for candidate in &mut next[1..] {
                if random.random_bool(MUTATION) {
                    mutate(problem, candidate, &mut random);
                }
            }
            std::mem::swap(&mut population, &mut next);
            sort(&mut population);
            population[0].settle(problem);
            unchanged = if population[0].makespan() < before { 0 } else { unchanged + 1 };
            let done = f64::from(generation.max(unchanged * GENERATIONS / PATIENCE))
                / f64::from(GENERATIONS);
            let told = progress.report(done.min(1.0), population[0].makespan());
            if unchanged >= PATIENCE || told == Control::Stop {
                break;
            }
        }
        population[0].to_mapping()
    }
}

/// Random mappings and min-min's, the best first.
pub(super) fn first_generation(problem: &Problem, random: &mut ChaCha8Rng) -> Vec<Candidate> {
    let min_min = Candidate::of(&MinMin.map(problem, &mut Quiet), problem);
    let others = (1..POPULATION).map(|_| Candidate::random(problem, random));
    let mut population: Vec<Candidate> = std::iter::once(min_min).chain(others).collect();
    sort(&mut population);
    population
}

/// The best first.
pub(super) fn sort(population: &mut [Candidate]) {
    population.sort_by(|a, b| a.makespan().total_cmp(&b.makespan()));
}

/// A place in a sorted generation: the better, the more likely (linearly; the best twice as likely
/// as the one in the middle).
pub(super) fn by_rank(random: &mut ChaCha8Rng) -> usize {
    let (one, other) = (random.random_range(0..POPULATION), random.random_range(0..POPULATION));
    one.min(other)
}

/// Both exchange the machines of the tasks in a random interval.
pub(super) fn exchange(
    problem: &Problem,
    left: &mut Candidate,
    right: &mut Candidate,
    random: &mut ChaCha8Rng,
) {
    let (one, other) =
        (random.random_range(0..=problem.tasks()), random.random_range(0..=problem.tasks()));
    let tasks = one.min(other)..one.max(other);
    let old = left.clone();
    left.take(problem, right, tasks.clone());
    right.take(problem, &old, tasks);
}

/// One task goes to some machine.
pub(super) fn mutate(problem: &Problem, candidate: &mut Candidate, random: &mut ChaCha8Rng) {
    let task = random.random_range(0..problem.tasks());
    candidate.assign(problem, task, random.random_range(0..problem.machines()));
}
