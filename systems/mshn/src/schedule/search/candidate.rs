//! A mapping that is being changed, with the completion times of its machines.
//!
//! All searching heuristics work on these.

use crate::schedule::mapping::largest;
use crate::schedule::{Mapping, Problem};
use rand::Rng;

/// Where so little is left of a sum when a time is taken from it, it may be rounding: times are as
/// unlike as 1 and 1e20, which is how some matrices say "not there".
const COARSE: f64 = 1e-6;

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
        self.machines[task] = machine as u32;
        self.completions[machine] += etc.at(task, machine);
        if self.subtract(from, etc.at(task, from)) {
            self.add_up(problem, from);
        }
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
        let mut is_coarse = false;
        for task in tasks {
            let (from, to) = (self.machine_of(task), other.machine_of(task));
            if from != to {
                is_coarse |= self.subtract(from, etc.at(task, from));
                self.completions[to] += etc.at(task, to);
                self.machines[task] = to as u32;
            }
        }
        if is_coarse {
            return self.settle(problem);
        }
        self.makespan = largest(&self.completions);
    }

    /// Whether what is left has to be added up anew.
    fn subtract(&mut self, machine: usize, time: f64) -> bool {
        self.completions[machine] -= time;
        self.completions[machine] < time * COARSE
    }

    /// Adds up anew what one machine has to do.
    fn add_up(&mut self, problem: &Problem, machine: usize) {
        let own = self.machines.iter().enumerate().filter(|(_, at)| **at as usize == machine);
        let times = own.map(|(task, _)| problem.etc().at(task, machine));
        self.completions[machine] = times.fold(problem.ready()[machine], |sum, time| sum + time);
    }

    /// Takes all from `other`, without new memory.
    pub(super) fn copy_from(&mut self, other: &Candidate) {
        self.machines.copy_from_slice(&other.machines);
        self.completions.copy_from_slice(&other.completions);
        self.makespan = other.makespan;
    }

    /// Adds up anew what thousands of additions and subtractions have rounded.
    pub(super) fn settle(&mut self, problem: &Problem) {
        self.completions.copy_from_slice(problem.ready());
        for (task, machine) in self.machines.iter().enumerate() {
            self.completions[*machine as usize] += problem.etc().at(task, *machine as usize);
        }
        self.makespan = largest(&self.completions);
    }
}
