//! The heuristics that map one task after the other and never take a decision back.
//!
//! They answer within milliseconds; of several machines or tasks that are equally good the first
//! is taken, so that results are reproducible. Braun et al. §4.1 to §4.6; Sufferage: Maheswaran et
//! al., "Dynamic Matching and Scheduling …", HCW 1999.

use super::mapping::largest;
use super::{Control, Heuristic, Mapping, Problem, Progress};

/// Opportunistic load balancing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Olb;

/// Minimum execution time, also called user-directed assignment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met;

/// Minimum completion time, also called fast greedy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mct;

/// Min-min.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinMin;

/// Max-min.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxMin;

/// The better of min-min and max-min.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duplex;

/// Sufferage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sufferage;

impl Heuristic for Olb {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        in_order(problem, progress, |_task, ready, machine| ready[machine])
    }
}

impl Heuristic for Met {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        in_order(problem, progress, |task, _ready, machine| task[machine])
    }
}

impl Heuristic for Mct {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        in_order(problem, progress, |task, ready, machine| ready[machine] + task[machine])
    }
}

impl Heuristic for MinMin {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        batch(problem, progress, |candidate, chosen| candidate < chosen)
    }
}

impl Heuristic for MaxMin {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        batch(problem, progress, |candidate, chosen| candidate > chosen)
    }
}

impl Heuristic for Duplex {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let min_min = MinMin.map(problem, progress);
        let max_min = MaxMin.map(problem, progress);
        if max_min.makespan(problem) < min_min.makespan(problem) { max_min } else { min_min }
    }
}

/// Maps the tasks in their order, each to the machine with the least `cost(task, ready, machine)`.
fn in_order(
    problem: &Problem,
    progress: &mut dyn Progress,
    cost: impl Fn(&[f64], &[f64], usize) -> f64,
) -> Mapping {
    let mut ready = problem.ready().to_vec();
    let mut machines = Vec::with_capacity(problem.tasks());
    for task in 0..problem.tasks() {
        let times = problem.etc().of_task(task);
        let machine = least(problem.machines(), |machine| cost(times, &ready, machine));
        ready[machine] += times[machine];
        machines.push(machine as u32);
    }
    progress.report(1.0, largest(&ready));
    Mapping::new(machines)
}

/// Maps, again and again, of all tasks that are left the one that `is_better` picks by its least
/// completion time.
fn batch(
    problem: &Problem,
    progress: &mut dyn Progress,
    is_better: impl Fn(f64, f64) -> bool,
) -> Mapping {
    let mut ready = problem.ready().to_vec();
    let mut machines = vec![0; problem.tasks()];
    let mut left: Vec<Choice> =
        (0..problem.tasks()).map(|t| Choice::of(problem, &ready, t)).collect();
    while let Some(first) = left.first() {
        let mut chosen = (0, first.completion);
        for (place, choice) in left.iter().enumerate().skip(1) {
            if is_better(choice.completion, chosen.1) {
                chosen = (place, choice.completion);
            }
        }
        // In order, so that of equal tasks the first is taken.
        let Choice { task, machine, completion } = left.remove(chosen.0);
        machines[task] = machine as u32;
        ready[machine] = completion;
        // Only tasks that wanted this machine can find another one better now.
        for choice in left.iter_mut().filter(|choice| choice.machine == machine) {
            *choice = Choice::of(problem, &ready, choice.task);
        }
        let done = 1.0 - left.len() as f64 / problem.tasks() as f64;
        if left.len().is_multiple_of(64) && progress.report(done, largest(&ready)) == Control::Stop
        {
            return finish_greedily(problem, ready, machines, &left);
        }
    }
    Mapping::new(machines)
}

/// No task waits any longer: the rest goes where it is done first.
fn finish_greedily(
    problem: &Problem,
    mut ready: Vec<f64>,
    mut machines: Vec<u32>,
    left: &[Choice],
) -> Mapping {
    for choice in left {
        let choice = Choice::of(problem, &ready, choice.task);
        ready[choice.machine] = choice.completion;
        machines[choice.task] = choice.machine as u32;
    }
    Mapping::new(machines)
}

/// The machine on which a task is done first.
struct Choice {
    task: usize,
    machine: usize,
    completion: f64,
}

impl Choice {
    fn of(problem: &Problem, ready: &[f64], task: usize) -> Choice {
        let times = problem.etc().of_task(task);
        let machine = least(times.len(), |machine| ready[machine] + times[machine]);
        Choice { task, machine, completion: ready[machine] + times[machine] }
    }
}

/// The first of `machines` with the least `cost`.
fn least(machines: usize, cost: impl Fn(usize) -> f64) -> usize {
    let mut best = (0, cost(0));
    for machine in 1..machines {
        let cost = cost(machine);
        if cost < best.1 {
            best = (machine, cost);
        }
    }
    best.0
}

impl Heuristic for Sufferage {
    /// In each pass every task that is left asks for its best machine; of those that ask for the
    /// same one, that one gets it whose second best is worst by most. The others wait for the next
    /// pass.
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let mut ready = problem.ready().to_vec();
        let mut machines = vec![0; problem.tasks()];
        let mut left: Vec<usize> = (0..problem.tasks()).collect();
        while !left.is_empty() {
            let mut holders: Vec<Option<(usize, f64)>> = vec![None; problem.machines()];
            for task in &left {
                let (machine, sufferage) = best_and_sufferage(problem, &ready, *task);
                if holders[machine].is_none_or(|(_, other)| sufferage > other) {
                    holders[machine] = Some((*task, sufferage));
                }
            }
            for (machine, holder) in holders.iter().enumerate() {
                if let Some((task, _)) = holder {
                    machines[*task] = machine as u32;
                    ready[machine] += problem.etc().at(*task, machine);
                }
            }
            left.retain(|task| !holders.iter().flatten().any(|(holder, _)| holder == task));
            let done = 1.0 - left.len() as f64 / problem.tasks() as f64;
            // A pass is short: there is no use in stopping.
            progress.report(done, largest(&ready));
        }
        Mapping::new(machines)
    }
}

/// The machine on which `task` is done first, and how much later it is done on the second best.
fn best_and_sufferage(problem: &Problem, ready: &[f64], task: usize) -> (usize, f64) {
    let times = problem.etc().of_task(task);
    let (mut best, mut second) = ((0, f64::INFINITY), f64::INFINITY);
    for (machine, time) in times.iter().enumerate() {
        let completion = ready[machine] + time;
        if completion < best.1 {
            second = best.1;
            best = (machine, completion);
        } else if completion < second {
            second = completion;
        }
    }
    // With one machine no task suffers by the lack of a second.
    (best.0, if second.is_finite() { second - best.1 } else { 0.0 })
}

#[cfg(test)]
mod tests;
