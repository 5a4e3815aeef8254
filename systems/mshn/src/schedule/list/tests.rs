//! The one-pass heuristics on matrices whose outcome was worked out by hand.

use super::*;
use crate::schedule::{EtcClass, EtcMatrix, HeuristicName, Quiet};

fn problem(tasks: usize, machines: usize, values: &[f64]) -> Problem {
    Problem::new(EtcMatrix::new(tasks, machines, values.to_vec()).unwrap())
}

fn map(heuristic: &dyn Heuristic, problem: &Problem) -> (Vec<u32>, f64) {
    let mapping = heuristic.map(problem, &mut Quiet);
    (mapping.machines().to_vec(), mapping.makespan(problem))
}

/// Three tasks on two machines.
fn small() -> Problem {
    problem(3, 2, &[4.0, 2.0, 3.0, 1.0, 2.0, 9.0])
}

#[test]
fn each_does_what_its_name_says() {
    let small = small();
    // Free first: task 0 to 0 (free at 4), task 1 to 1 (1), task 2 to 1 (10).
    assert_eq!(map(&Olb, &small), (vec![0, 1, 1], 10.0));
    assert_eq!(map(&Met, &small), (vec![1, 1, 0], 3.0));
    // Done first: 0 at 2 on 1; 1 at 3 on both, so on 0; 2 at 5 on 0.
    assert_eq!(map(&Mct, &small), (vec![1, 0, 0], 5.0));
    // 1 (1 on 1), then 2 (2 on 0), then 0 at 3 on 1.
    assert_eq!(map(&MinMin, &small), (vec![1, 1, 0], 3.0));
    // The largest of least completions: 0 and 2 with 2, the first is 0 on 1; then 1 at 3 (0 first);
    // then 2 at 5.
    assert_eq!(map(&MaxMin, &small), (vec![1, 0, 0], 5.0));
    assert_eq!(map(&Duplex, &small), (vec![1, 1, 0], 3.0));
}

#[test]
fn a_long_task_goes_first_in_max_min_only() {
    // One long task and four short ones: max-min runs the short ones beside the long one.
    let values = [[8.0, 8.0], [2.0, 2.0], [2.0, 2.0], [2.0, 2.0], [2.0, 2.0]].concat();
    let problem = problem(5, 2, &values);
    assert_eq!(map(&MaxMin, &problem).1, 8.0);
    assert_eq!(map(&MinMin, &problem).1, 12.0);
    assert_eq!(map(&Duplex, &problem).1, 8.0);
}

#[test]
fn who_would_suffer_most_gets_its_machine() {
    // Both want machine 0; task 1 would suffer by 9 from the other, task 0 by 1.
    let problem = problem(2, 2, &[3.0, 4.0, 3.0, 12.0]);
    assert_eq!(map(&Sufferage, &problem), (vec![1, 0], 4.0));
    assert_eq!(map(&MinMin, &problem).1, 6.0);
}

#[test]
fn machines_that_are_busy_are_free_later() {
    let etc = EtcMatrix::new(1, 2, vec![1.0, 5.0]).unwrap();
    let problem = Problem::with_ready(etc, vec![10.0, 0.0]).unwrap();
    for name in HeuristicName::ALL {
        let (mapping, makespan) = map(&*name.heuristic(1), &problem);
        let expected = if *name == HeuristicName::Met { (vec![0], 11.0) } else { (vec![1], 10.0) };
        assert_eq!((mapping, makespan), expected, "{name}");
    }
}

/// Min-min by its definition, without any short cut.
fn min_min_by_definition(problem: &Problem) -> f64 {
    let mut ready = problem.ready().to_vec();
    let mut left: Vec<usize> = (0..problem.tasks()).collect();
    while !left.is_empty() {
        let mut best = (f64::INFINITY, 0, 0);
        for (place, task) in left.iter().enumerate() {
            for (machine, free) in ready.iter().enumerate() {
                let completion = free + problem.etc().at(*task, machine);
                if completion < best.0 {
                    best = (completion, place, machine);
                }
            }
        }
        left.remove(best.1);
        ready[best.2] = best.0;
    }
    largest(&ready)
}

#[test]
fn min_min_is_what_its_definition_makes() {
    for class in EtcClass::all() {
        let problem = Problem::new(class.generate(128, 8, 3).unwrap());
        let (found, expected) = (map(&MinMin, &problem).1, min_min_by_definition(&problem));
        // Added up in another order.
        assert!((found - expected).abs() <= expected * 1e-12, "{class}: {found}, {expected}");
    }
}

#[test]
fn on_a_consistent_matrix_the_fastest_machine_gets_all_of_met() {
    let class: EtcClass = "u_c_lolo".parse().unwrap();
    let problem = Problem::new(class.generate(64, 8, 1).unwrap());
    assert!(map(&Met, &problem).0.iter().all(|machine| *machine == 0));
}
