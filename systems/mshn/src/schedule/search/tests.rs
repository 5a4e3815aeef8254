//! What holds for every heuristic, and what the searching ones are to be better at.

use crate::schedule::{
    AStar, Control, EtcClass, Heuristic, HeuristicName, Mapping, MinMin, Problem, Progress, Quiet,
};
use proptest::prelude::*;

fn problem(class: EtcClass, tasks: usize, machines: usize, seed: u64) -> Problem {
    Problem::new(class.generate(tasks, machines, seed).unwrap())
}

fn makespan(heuristic: &dyn Heuristic, problem: &Problem) -> f64 {
    heuristic.map(problem, &mut Quiet).makespan(problem)
}

/// The best of all mappings.
fn optimum(problem: &Problem) -> f64 {
    let (tasks, machines) = (problem.tasks() as u32, problem.machines() as u64);
    let all = 0..machines.pow(tasks);
    let mapping = |number: u64| {
        (0..tasks).map(|task| (number / machines.pow(task) % machines) as u32).collect()
    };
    all.map(|number| Mapping::new(mapping(number)).makespan(problem)).fold(f64::INFINITY, f64::min)
}

#[test]
fn nothing_is_better_than_the_optimum_and_a_star_with_all_nodes_finds_it() {
    for class in EtcClass::all() {
        let problem = problem(class, 8, 3, 5);
        let optimum = optimum(&problem);
        for name in HeuristicName::ALL {
            let found = makespan(&*name.heuristic(1), &problem);
            assert!(found >= optimum * (1.0 - 1e-9), "{class}: {name} {found} of {optimum}");
        }
        let found = makespan(&AStar::new(usize::MAX), &problem);
        assert!((found - optimum).abs() <= optimum * 1e-9, "{class}: {found} of {optimum}");
    }
}

#[test]
fn the_genetic_ones_improve_on_min_min() {
    for class in EtcClass::all() {
        let problem = problem(class, 128, 8, 11);
        let min_min = makespan(&MinMin, &problem);
        for name in [HeuristicName::Genetic, HeuristicName::GeneticSimulatedAnnealing] {
            let found = makespan(&*name.heuristic(3), &problem);
            assert!(found < min_min, "{class}: {name} {found}, min-min {min_min}");
        }
        for name in [HeuristicName::Tabu, HeuristicName::SimulatedAnnealing] {
            let found = makespan(&*name.heuristic(3), &problem);
            assert!(found <= min_min, "{class}: {name} {found}, min-min {min_min}");
        }
    }
}

/// Stops at once; counts.
struct Impatient(u32);

impl Progress for Impatient {
    fn report(&mut self, done: f64, makespan: f64) -> Control {
        assert!((0.0..=1.0).contains(&done) && makespan >= 0.0);
        self.0 += 1;
        Control::Stop
    }
}

/// Never falls, ends at 1.
struct Rising(f64);

impl Progress for Rising {
    fn report(&mut self, done: f64, _makespan: f64) -> Control {
        assert!(done <= 1.0);
        self.0 = self.0.max(done);
        Control::Continue
    }
}

#[test]
fn who_is_told_to_stop_stops_with_a_whole_mapping() {
    let problem = problem("u_i_hihi".parse().unwrap(), 60, 8, 1);
    for name in HeuristicName::ALL {
        let mut impatient = Impatient(0);
        let mapping = name.heuristic(1).map(&problem, &mut impatient);
        assert_eq!(mapping.machines().len(), 60, "{name}");
        assert!(impatient.0 >= 1, "{name} tells how far it is");
        let mut rising = Rising(0.0);
        name.heuristic(1).map(&problem, &mut rising);
        assert!(rising.0 > 0.9, "{name}: {}", rising.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_mapping_is_whole_and_the_same_again(
        tasks in 1usize..24,
        machines in 1usize..6,
        seed: u64,
        class in 0usize..12,
    ) {
        let problem = problem(EtcClass::all()[class], tasks, machines, seed);
        for name in HeuristicName::ALL {
            let mapping = name.heuristic(seed).map(&problem, &mut Quiet);
            prop_assert_eq!(mapping.machines().len(), tasks);
            prop_assert!(mapping.machines().iter().all(|m| (*m as usize) < machines));
            prop_assert_eq!(&name.heuristic(seed).map(&problem, &mut Quiet), &mapping);
        }
    }
}
