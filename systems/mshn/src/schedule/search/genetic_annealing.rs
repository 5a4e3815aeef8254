//! Genetic simulated annealing (Braun et al. §4.9): the genetic algorithm, but offspring compete
//! with what they came from at a temperature that falls from one generation to the next.
//!
//! As there, what is worse by less than the temperature is accepted; there is no chance in it.

use super::Candidate;
use super::genetic::{
    CROSSOVER, GENERATIONS, MUTATION, PATIENCE, POPULATION, by_rank, exchange, first_generation,
    mutate, sort,
};
use crate::schedule::{Control, Heuristic, Mapping, Problem, Progress};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How much of the temperature is left after each generation.
const COOLING: f64 = 0.9;

/// Genetic simulated annealing.
#[derive(Clone, Copy, Debug)]
pub struct GeneticSimulatedAnnealing {
    seed: u64,
}

impl GeneticSimulatedAnnealing {
    /// The seed decides what is random.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        GeneticSimulatedAnnealing { seed }
    }
}

impl Heuristic for GeneticSimulatedAnnealing {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut population = first_generation(problem, &mut random);
        let total: f64 = population.iter().map(Candidate::makespan).sum();
        let mut temperature = total / POPULATION as f64;
        let mut unchanged = 0;
        for generation in 1..=GENERATIONS {
            let before = population[0].makespan();
            for _ in 0..POPULATION / 2 {
                breed(problem, &mut population, temperature, &mut random);
            }
            sort(&mut population);
            population[0].settle(problem);
            temperature *= COOLING;
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

/// Two mappings have two children; each takes its parent's place if it is accepted. The best
/// mapping gives its place to a better one only.
fn breed(
    problem: &Problem,
    population: &mut [Candidate],
    temperature: f64,
    random: &mut ChaCha8Rng,
) {
    let parents = [by_rank(random), by_rank(random)];
    let mut children = parents.map(|parent| population[parent].clone());
    let [left, right] = &mut children;
    if random.random_bool(CROSSOVER) {
        exchange(problem, left, right, random);
    }
    for (child, parent) in children.iter_mut().zip(parents) {
        if random.random_bool(MUTATION) {
            mutate(problem, child, random);
        }
        let warmth = if parent == 0 { 0.0 } else { temperature };
        if child.makespan() < population[parent].makespan() + warmth {
            population[parent].copy_from(child);
        }
    }
}
