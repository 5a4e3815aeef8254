//! Which machine runs which task: what heuristics make, and how good it is (its makespan).
//!
//! Made by every `Heuristic`; drawn by `gantt`.

use super::Problem;

/// A machine for each task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping(Vec<u32>);

impl Mapping {
    /// Task `t` runs on machine `machines[t]`.
    #[must_use]
    pub fn new(machines: Vec<u32>) -> Self {
        Mapping(machines)
    }

    /// The machine of each task.
    #[must_use]
    pub fn machines(&self) -> &[u32] {
        &self.0
    }

    /// The machine of one task; `None` when there is no such task.
    #[must_use]
    pub fn machine_of(&self, task: usize) -> Option<usize> {
        self.0.get(task).map(|machine| *machine as usize)
    }

    /// When each machine has done its tasks, with those that it had before.
    ///
    /// # Panics
    /// When the mapping is not one of this problem: it has other tasks, or machines that the
    /// problem has not.
    #[must_use]
    pub fn completions(&self, problem: &Problem) -> Vec<f64> {
        assert_eq!(self.0.len(), problem.tasks(), "a mapping of another problem");
        let mut completions = problem.ready().to_vec();
        for (task, machine) in self.0.iter().enumerate() {
            completions[*machine as usize] += problem.etc().at(task, *machine as usize);
        }
        completions
    }

    /// When the last machine has done its tasks: what all heuristics make small.
    ///
    /// # Panics
    /// As [`Mapping::completions`].
    #[must_use]
    pub fn makespan(&self, problem: &Problem) -> f64 {
        largest(&self.completions(problem))
    }
}

/// The largest of some times; 0 when there are none.
pub(super) fn largest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}
