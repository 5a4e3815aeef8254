//! A mapping that is being changed, with the completion times of its machines.
//!
//! All searching heuristics work on these.

use crate::schedule::mapping::largest;
use crate::schedule::{Mapping, Problem};
use rand::Rng;

/// A mapping and when each machine is done with it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    machines: Vec<u32>,
    completions: Vec<f64>,
    makespan: f64,
}

impl Candidate {
    pub(super) fn of(mapping: &Mapping, problem: &Problem) -> Self {
        let completions = mapping.completions(problem);
        let makespan = largest(&completions);
        Candidate { machines: mapping.machines().to_vec(), completions, makespan }
    }

    /// Each task on some machine.
    pub(super) fn random(problem: &Problem, random: &mut impl Rng) -> Self {
        let any = 0..problem.machines() as u32;
        let machines = (0..problem.tasks()).map(|_| random.random_range(any.clone())).collect();
        Candidate::of(&Mapping::new(machines), problem)
    }

    pub(super) fn makespan(&self) -> f64 {
        self.makespan
    }

    pub(super) fn machine_of(&self, task: usize) -> usize {
        self.machines[task] as usize
    }

    pub(super) fn machines(&self) -> &[u32] {
        &self.machines
    }

    pub(super) fn to_mapping(&self) -> Mapping {
        Mapping::new(self.machines.clone())
    }

    /// Moves one task to another machine.
    pub(super) fn assign(&mut self, problem: &Problem, task: usize, machine: usize) {
        let from = self.machine_of(task);
        if from == machine {
            return;
        }
        let etc = problem.etc();
        self.completions[from] -= etc.at(task, from);
        self.completions[machine] += etc.at(task, machine);
        self.machines[task] = machine as u32;
        self.makespan = largest(&self.completions);
    }

    /// Takes the machines of `tasks` from `other`.
    pub(super) fn take(
        &mut self,
        problem: &Problem,
        other: &Candidate,
        tasks: std::ops::Range<usize>,
    ) {
        let etc = problem.etc();
        for task in tasks {
            let (from, to) = (self.machine_of(task), other.machine_of(task));
            if from != to {
                self.completions[from] -= etc.at(task, from);
                self.completions[to] += etc.at(task, to);
                self.machines[task] = to as u32;
            }
        }
        self.makespan = largest(&self.completions);
    }

    /// Takes all from `other`, without new memory.
    pub(super) fn copy_from(&mut self, other: &Candidate) {
        self.machines.copy_from_slice(&other.machines);
        self.completions.copy_from_slice(&other.completions);
        self.makespan = other.makespan;
    }

    /// Adds up anew what thousands of additions and subtractions have rounded.
    pub(super) fn settle(&mut self, problem: &Problem) {
        *self = Candidate::of(&self.to_mapping(), problem);
    }
}
