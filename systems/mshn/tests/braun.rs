//! The heuristics on benchmark instances of Braun et al., against makespans that others computed.
//!
//! The instances and where they come from: `tests/braun/README.md`. With the environment variable
//! `CORBIE_BRAUN_INSTANCES` set to a folder, the instances in it are taken as well.

#![allow(clippy::unwrap_used)]

use corbie_mshn::schedule::{EtcMatrix, HeuristicName, Problem, Quiet};
use std::path::{Path, PathBuf};

/// The columns of [`MAKESPANS`].
const COLUMNS: [HeuristicName; 5] = [
    HeuristicName::Olb,
    HeuristicName::Met,
    HeuristicName::Mct,
    HeuristicName::MinMin,
    HeuristicName::MaxMin,
];

/// What another implementation found, rounded to three decimals, of all twelve instances.
///
/// Its values for sufferage are of another heuristic of that name: `tests/braun/README.md`.
#[rustfmt::skip]
const MAKESPANS: [(&str, [f64; 5]); 12] = [
    ("u_c_hihi", [14_376_662.176, 47_472_299.43, 11_422_624.494, 8_460_675.003, 12_385_671.828]),
    ("u_c_hilo", [221_051.824, 1_185_092.969, 185_887.404, 161_805.434, 204_054.589]),
    ("u_c_lohi", [477_357.02, 1_453_098.004, 378_303.625, 275_837.356, 392_566.686]),
    ("u_c_lolo", [7_306.596, 39_582.297, 6_360.055, 5_441.428, 6_945.362]),
    ("u_i_hihi", [26_102_017.618, 4_508_506.792, 4_413_582.982, 3_513_919.281, 8_018_378.072]),
    ("u_i_hilo", [272_785.201, 96_610.481, 94_855.913, 80_755.679, 151_923.835]),
    ("u_i_lohi", [833_605.655, 185_694.594, 143_816.094, 120_517.709, 251_528.848]),
    ("u_i_lolo", [8_938.027, 3_399.285, 3_137.35, 2_785.645, 5_177.709]),
    ("u_s_hihi", [19_464_875.91, 25_162_058.136, 6_693_923.896, 5_160_342.819, 9_208_811.495]),
    ("u_s_hilo", [250_362.114, 605_363.773, 126_587.591, 104_375.164, 172_822.698]),
    ("u_s_lohi", [603_231.467, 674_689.536, 186_151.286, 140_284.489, 282_085.731]),
    ("u_s_lolo", [8_938.389, 21_042.413, 4_436.118, 3_806.828, 6_232.242]),
];

struct Instance {
    name: String,
    problem: Problem,
    makespans: [f64; 5],
}

impl Instance {
    fn makespan(&self, heuristic: HeuristicName) -> f64 {
        heuristic.heuristic(1).map(&self.problem, &mut Quiet).makespan(&self.problem)
    }
}

/// The instances of `folder`: files of the names above with `.0` at the end.
fn instances_in(folder: &Path) -> Vec<Instance> {
    let mut found = Vec::new();
    for (name, makespans) in MAKESPANS {
        let path = folder.join(format!("{name}.0"));
        if path.exists() {
            let etc = EtcMatrix::parse(&std::fs::read_to_string(&path).unwrap());
            let etc = etc.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!((etc.tasks(), etc.machines()), (512, 16), "{}", path.display());
            found.push(Instance { name: name.to_owned(), problem: Problem::new(etc), makespans });
        }
    }
    assert!(!found.is_empty(), "{} has no file such as u_c_lolo.0", folder.display());
    found
}

/// The instances that are in the repository.
fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join("braun")
}

fn instances() -> Vec<Instance> {
    let mut all = instances_in(&kept());
    if let Some(folder) = std::env::var_os("CORBIE_BRAUN_INSTANCES") {
        all.extend(instances_in(Path::new(&folder)));
    }
    all
}

#[test]
fn makespans_are_those_that_others_found() {
    for instance in instances() {
        for (heuristic, expected) in COLUMNS.into_iter().zip(instance.makespans) {
            let makespan = instance.makespan(heuristic);
            assert!(
                (makespan - expected).abs() < 0.000_51,
                "{} on {}: {makespan}, not {expected}",
                heuristic,
                instance.name
            );
        }
    }
}

#[test]
fn instances_are_of_the_class_that_their_name_says() {
    for Instance { name, problem, .. } in instances() {
        let ordered = |step: usize| {
            (0..problem.tasks()).all(|task| {
                let times: Vec<f64> =
                    problem.etc().of_task(task).iter().copied().step_by(step).collect();
                times.is_sorted()
            })
        };
        // Consistent: a machine that is faster for one task is for all. Semi-consistent: every
        // second machine is.
        let expected = match name.split('_').nth(1) {
            Some("c") => (true, true),
            Some("s") => (false, true),
            _ => (false, false),
        };
        assert_eq!((ordered(1), ordered(2)), expected, "{name}");
    }
}

/// They were typed off, and makespans depend on few of the values; but all were numbers of single
/// precision when they were printed, which few slips leave them.
#[test]
fn values_are_as_numbers_of_single_precision_are_printed() {
    let mut values = 0;
    for (name, _) in MAKESPANS {
        let Ok(text) = std::fs::read_to_string(kept().join(format!("{name}.0"))) else { continue };
        for word in text.lines().skip(1).flat_map(str::split_whitespace) {
            assert_eq!(format!("{:.6}", word.parse::<f32>().unwrap()), word, "{name}");
            values += 1;
        }
    }
    assert!(values >= 12 * 512 * 16, "{values} values");
}

#[test]
fn searches_better_min_min() {
    for instance in instances() {
        let min_min = instance.makespan(HeuristicName::MinMin);
        for heuristic in [HeuristicName::Genetic, HeuristicName::Tabu] {
            let makespan = instance.makespan(heuristic);
            assert!(
                makespan < min_min,
                "{heuristic} on {}: {makespan}, min-min {min_min}",
                instance.name
            );
        }
    }
}
