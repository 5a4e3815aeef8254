//! Mapping independent tasks to machines of different abilities (paper MSHN §2; the heuristics are
//! those that Braun et al., "A Comparison of Eleven Static Heuristics …", JPDC 61 (2001), compare).
//!
//! A [`Problem`] is an [`EtcMatrix`] (how long each task would take on each machine) and the times
//! at which the machines become free. A [`Heuristic`] makes a [`Mapping`] of it, and tells how far
//! it is through [`Progress`]. All of it is deterministic: what is random has a seed.

mod etc_matrix;
mod gantt;
mod generator;
mod heuristic;
mod list;
mod mapping;
mod problem;
mod progress;
mod search;

pub use etc_matrix::{EtcError, EtcMatrix};
pub use gantt::gantt_svg;
pub use generator::{Consistency, EtcClass, Heterogeneity};
pub use heuristic::{Heuristic, HeuristicName, UnknownHeuristic};
pub use list::{Duplex, MaxMin, Mct, Met, MinMin, Olb, Sufferage};
pub use mapping::Mapping;
pub use problem::Problem;
use progress::ToldProgress;
pub use progress::{Control, Progress, Quiet};
pub use search::{AStar, Genetic, GeneticSimulatedAnnealing, SimulatedAnnealing, Tabu};
