//! The heuristics that try many mappings, and what they share.
//!
//! All start from [`Candidate`]s, whose makespan is kept up to date as single tasks move, so that a
//! try costs as many steps as there are machines and not as there are tasks.

mod a_star;
mod candidate;
mod genetic;
mod genetic_annealing;
mod simulated_annealing;
mod tabu;

pub use a_star::AStar;
pub use genetic::Genetic;
pub use genetic_annealing::GeneticSimulatedAnnealing;
pub use simulated_annealing::SimulatedAnnealing;
pub use tabu::Tabu;

use candidate::Candidate;

#[cfg(test)]
mod tests;
