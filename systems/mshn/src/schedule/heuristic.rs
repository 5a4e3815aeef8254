//! The heuristics behind one trait, and their names (Braun et al. §4).
//!
//! `corbie mshn schedule --heuristic` and the Scheduling Advisor choose by name.

use super::{
    AStar, Duplex, Genetic, GeneticSimulatedAnnealing, Mapping, MaxMin, Mct, Met, MinMin, Olb,
    Problem, Progress, SimulatedAnnealing, Sufferage, Tabu,
};
use std::fmt;
use std::str::FromStr;

/// Makes mappings. The same problem and the same seed make the same mapping.
pub trait Heuristic: Send + Sync {
    /// A machine for each task of `problem`.
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping;
}

macro_rules! names {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal => |$seed:ident| $make:expr;)+) => {
        /// The heuristics by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HeuristicName { $($(#[doc = $doc])+ $variant,)+ }

        impl HeuristicName {
            /// All of them, in the order of the comparison by Braun et al.
            pub const ALL: &'static [HeuristicName] = &[$(HeuristicName::$variant,)+];

            /// The name as it is written on the command line, for example `min-min`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(HeuristicName::$variant => $name,)+ }
            }

            /// What it does, in a sentence.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(HeuristicName::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The heuristic. Those that are not random take no notice of `seed`.
            #[must_use]
            pub fn heuristic(self, seed: u64) -> Box<dyn Heuristic> {
                match self { $(HeuristicName::$variant => { let $seed = seed; $make })+ }
            }
        }
    };
}

names! {
    /// Opportunistic load balancing: each task to the machine that is free first.
    Olb = "olb" => |_seed| Box::new(Olb);
    /// Minimum execution time: each task to the machine that runs it fastest, however busy.
    Met = "met" => |_seed| Box::new(Met);
    /// Minimum completion time: each task to the machine that has it done first.
    Mct = "mct" => |_seed| Box::new(Mct);
    /// The task that can be done first goes first, to the machine that has it done first.
    MinMin = "min-min" => |_seed| Box::new(MinMin);
    /// As min-min, but the task that is done last goes first.
    MaxMin = "max-min" => |_seed| Box::new(MaxMin);
    /// The better one of min-min and max-min.
    Duplex = "duplex" => |_seed| Box::new(Duplex);
    /// Genetic algorithm: 200 mappings evolve, min-min's among them.
    Genetic = "ga" => |seed| Box::new(Genetic::new(seed));
    /// Simulated annealing from a random mapping.
    SimulatedAnnealing = "sa" => |seed| Box::new(SimulatedAnnealing::new(seed));
    /// Genetic simulated annealing: a genetic algorithm that accepts offspring as annealing does.
    GeneticSimulatedAnnealing = "gsa" => |seed| Box::new(GeneticSimulatedAnnealing::new(seed));
    /// Tabu search: short hops to better neighbours, long hops to regions not seen yet.
    Tabu = "tabu" => |seed| Box::new(Tabu::new(seed));
    /// A tree of partial mappings, searched best first, with at most 1,024 of them kept.
    AStar = "a-star" => |_seed| Box::new(AStar::default());
    /// The task that would suffer most from its second best machine gets its best one.
    Sufferage = "sufferage" => |_seed| Box::new(Sufferage);
}

impl fmt::Display for HeuristicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no heuristic of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no heuristic `{0}`; there are {all}", all = all())]
pub struct UnknownHeuristic(String);

fn all() -> String {
    HeuristicName::ALL.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

impl FromStr for HeuristicName {
    type Err = UnknownHeuristic;

    fn from_str(text: &str) -> Result<Self, UnknownHeuristic> {
        let same = |name: &&HeuristicName| name.as_str().eq_ignore_ascii_case(text);
        let found = HeuristicName::ALL.iter().find(same);
        found.copied().ok_or_else(|| UnknownHeuristic(text.chars().take(40).collect()))
    }
}
