//! What holds for every heuristic, and what the searching ones are to be better at.

use crate::schedule::{
    AStar, Control, EtcClass, EtcMatrix, Heuristic, HeuristicName, Mapping, MinMin, Problem,
    Progress, Quiet,
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

/// Counts what is reported, keeps the last makespan, and stops at some report.
struct Reports {
    count: u32,
    stops_at: u32,
    makespan: f64,
}

impl Progress for Reports {
    fn report(&mut self, _done: f64, makespan: f64) -> Control {
        self.count += 1;
        self.makespan = makespan;
        if self.count >= self.stops_at { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn searches_report_so_often_that_they_can_be_stopped() {
    let problem = problem("u_i_hihi".parse().unwrap(), 256, 16, 2);
    let min_min = makespan(&MinMin, &problem);
    for name in [HeuristicName::SimulatedAnnealing, HeuristicName::Tabu] {
        let mut reports = Reports { count: 0, stops_at: 30, makespan: 0.0 };
        let found = name.heuristic(1).map(&problem, &mut reports).makespan(&problem);
        // Annealing had four reports, and tabu search one for each descent of hundreds of hops.
        assert_eq!(reports.count, 30, "{name}");
        assert!(found <= min_min, "{name}: {found}, min-min {min_min}");
    }
}

/// With some times of 1e20, which say "not there".
fn with_holes(problem: &Problem, is_hole: impl Fn(usize, usize) -> bool) -> Problem {
    let (tasks, machines) = (problem.tasks(), problem.machines());
    let all = (0..tasks).flat_map(|task| (0..machines).map(move |machine| (task, machine)));
    let time = |(task, machine)| {
        if is_hole(task, machine) { 1e20 } else { problem.etc().at(task, machine) }
    };
    Problem::new(EtcMatrix::new(tasks, machines, all.map(time).collect()).unwrap())
}

#[test]
fn what_is_reported_is_the_makespan() {
    for seed in 0..40 {
        let problem = problem("u_i_lolo".parse().unwrap(), 10, 2, seed);
        let problem = with_holes(&problem, |task, machine| machine == 1 && task < 2);
        let min_min = makespan(&MinMin, &problem);
        for name in [HeuristicName::Genetic, HeuristicName::GeneticSimulatedAnnealing]
            .into_iter()
            .chain([HeuristicName::SimulatedAnnealing, HeuristicName::Tabu])
        {
            let mut last = Reports { count: 0, stops_at: u32::MAX, makespan: 0.0 };
            let found = name.heuristic(seed).map(&problem, &mut last).makespan(&problem);
            let told = last.makespan;
            assert!((found - told).abs() <= 1e-6 * found, "{name}, {seed}: {found}, said {told}");
            assert!(found <= min_min, "{name}, {seed}: {found}, min-min {min_min}");
        }
    }
}

#[test]
fn searches_are_not_worse_than_min_min_with_very_unlike_times() {
    for seed in 0..5 {
        let problem = problem("u_i_hihi".parse().unwrap(), 64, 4, seed);
        let problem = with_holes(&problem, |task, machine| (task * 7 + machine) % 5 == 0);
        let min_min = makespan(&MinMin, &problem);
        for name in [HeuristicName::Genetic, HeuristicName::GeneticSimulatedAnnealing]
            .into_iter()
            .chain([HeuristicName::SimulatedAnnealing, HeuristicName::Tabu])
        {
            let found = makespan(&*name.heuristic(1), &problem);
            assert!(found <= min_min, "{name}, {seed}: {found}, min-min {min_min}");
        }
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
