//! A* (Braun et al. §4.11): a tree whose nodes are partial mappings, tasks in their order.
//!
//! A node's cost is the makespan so far and an estimate, never too high, of what the rest adds.
//! The best node is expanded next, into one for each machine. So that it ends in bearable time,
//! only the best nodes are kept; with all of them the result would be the best that there is.

use crate::schedule::mapping::largest;
use crate::schedule::{Control, Heuristic, Mapping, MinMin, Problem, Progress};
use std::rc::Rc;

/// A* with a bound on the nodes that are kept.
#[derive(Clone, Copy, Debug)]
pub struct AStar {
    nodes: usize,
}

impl AStar {
    /// Keeps at most `nodes` (at least 1) partial mappings.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        AStar { nodes: nodes.max(1) }
    }
}

impl Default for AStar {
    /// 1,024 nodes, as Braun et al.
    fn default() -> Self {
        AStar::new(1024)
    }
}

/// The machines of the first tasks, the last of them first; shared between nodes.
struct Step {
    machine: u32,
    before: Option<Rc<Step>>,
}

struct Node {
    /// Tasks mapped; their machines are `last` and what is before it.
    depth: usize,
    last: Option<Rc<Step>>,
    completions: Vec<f64>,
    /// What the whole will cost at least.
    cost: f64,
}

impl Heuristic for AStar {
    fn map(&self, problem: &Problem, progress: &mut dyn Progress) -> Mapping {
        let rest = least_times_of_rest(problem);
        let root = Node { depth: 0, last: None, completions: problem.ready().to_vec(), cost: 0.0 };
        // Ordered by cost, the best last: there are few, and the worst are thrown away often.
        let mut open = vec![root];
        let mut deepest = 0;
        while let Some(node) = open.pop() {
            if node.depth == problem.tasks() {
                return mapping(&node);
            }
            for machine in 0..problem.machines() {
                let child = child(problem, &node, machine, rest[node.depth + 1]);
                let place = open.partition_point(|other| other.cost > child.cost);
                open.insert(place, child);
            }
            let too_many = open.len().saturating_sub(self.nodes);
            open.drain(..too_many);
            if node.depth > deepest {
                deepest = node.depth;
                let done = deepest as f64 / problem.tasks() as f64;
                if progress.report(done, node.cost) == Control::Stop {
                    break;
                }
            }
        }
        // Stopped before any mapping was whole.
        MinMin.map(problem, progress)
    }
}

fn child(problem: &Problem, node: &Node, machine: usize, rest: f64) -> Node {
    let mut completions = node.completions.clone();
    completions[machine] += problem.etc().at(node.depth, machine);
    let depth = node.depth + 1;
    let so_far = largest(&completions);
    let last = Step { machine: machine as u32, before: node.last.clone() };
    let cost = so_far.max(by_task(problem, depth, &completions)).max(by_work(&completions, rest));
    Node { depth, last: Some(Rc::new(last)), completions, cost }
}

/// No task that is left can be done before its least completion time.
fn by_task(problem: &Problem, depth: usize, completions: &[f64]) -> f64 {
    let least = |task: usize| {
        let times = problem.etc().of_task(task).iter().zip(completions);
        times.map(|(time, ready)| time + ready).fold(f64::INFINITY, f64::min)
    };
    (depth..problem.tasks()).map(least).fold(0.0, f64::max)
}

/// The work that is left, each task on its fastest machine, spread over all machines evenly.
fn by_work(completions: &[f64], rest: f64) -> f64 {
    (completions.iter().sum::<f64>() + rest) / completions.len() as f64
}

/// At `t`: the sum of the least times of task `t` and all behind it.
fn least_times_of_rest(problem: &Problem) -> Vec<f64> {
    let mut rest = vec![0.0; problem.tasks() + 1];
    for task in (0..problem.tasks()).rev() {
        let times = problem.etc().of_task(task);
        rest[task] = rest[task + 1] + times.iter().copied().fold(f64::INFINITY, f64::min);
    }
    rest
}

fn mapping(node: &Node) -> Mapping {
    let mut machines = Vec::with_capacity(node.depth);
    let mut step = node.last.as_deref();
    while let Some(Step { machine, before }) = step {
        machines.push(*machine);
        step = before.as_deref();
    }
    machines.reverse();
    Mapping::new(machines)
}
