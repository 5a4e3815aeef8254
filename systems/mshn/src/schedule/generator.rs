//! Matrices by class, as Braun et al. §3 make them: the range-based method.
//!
//! A task has a base time, uniform in `1..=φ_b`; on each machine it takes that times a factor,
//! uniform in `1..=φ_r`. How large the ranges are is the heterogeneity of tasks and machines;
//! whether a machine that is faster for one task is faster for all is the consistency.

use super::EtcMatrix;
use rand::SeedableRng;
use rand::distr::{Distribution, Uniform};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::str::FromStr;

/// Whether machines keep their order of speed from task to task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// A machine that is faster for one task is faster for all.
    Consistent,
    /// No order.
    Inconsistent,
    /// Every second machine keeps an order among those.
    SemiConsistent,
}

/// How much times differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heterogeneity {
    /// Tasks: up to 3,000 times. Machines: up to 1,000 times.
    High,
    /// Tasks: up to 100 times. Machines: up to 10 times.
    Low,
}

/// A class of matrices, written as in the names of the benchmark instances: `u_c_hihi` is
/// uniform, consistent, of high task and high machine heterogeneity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtcClass {
    /// Whether machines keep their order.
    pub consistency: Consistency,
    /// How much tasks differ.
    pub tasks: Heterogeneity,
    /// How much machines differ.
    pub machines: Heterogeneity,
}

impl EtcClass {
    /// All twelve, in the usual order.
    #[must_use]
    pub fn all() -> Vec<EtcClass> {
        let mut all = Vec::new();
        for consistency in
            [Consistency::Consistent, Consistency::Inconsistent, Consistency::SemiConsistent]
        {
            for tasks in [Heterogeneity::High, Heterogeneity::Low] {
                for machines in [Heterogeneity::High, Heterogeneity::Low] {
                    all.push(EtcClass { consistency, tasks, machines });
                }
            }
        }
        all
    }

    /// A matrix of this class. The same seed makes the same matrix, on every machine.
    ///
    /// ```
    /// use corbie_mshn::schedule::EtcClass;
    /// let class: EtcClass = "u_c_hihi".parse().unwrap();
    /// let etc = class.generate(512, 16, 0).unwrap();
    /// assert!(etc.of_task(7).is_sorted(), "consistent");
    /// ```
    ///
    /// # Errors
    /// [`super::EtcError::Size`].
    pub fn generate(
        self,
        tasks: usize,
        machines: usize,
        seed: u64,
    ) -> Result<EtcMatrix, super::EtcError> {
        super::etc_matrix::check_size(tasks, machines)?;
        let (base, factor) = (self.tasks.of_tasks(), self.machines.of_machines());
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut values = Vec::with_capacity(tasks * machines);
        for _ in 0..tasks {
            let base = base.sample(&mut random);
            let row = values.len();
            values.extend((0..machines).map(|_| base * factor.sample(&mut random)));
            self.consistency.order(&mut values[row..]);
        }
        EtcMatrix::new(tasks, machines, values)
    }
}

impl Heterogeneity {
    fn of_tasks(self) -> Uniform<f64> {
        up_to(if self == Heterogeneity::High { 3000.0 } else { 100.0 })
    }

    fn of_machines(self) -> Uniform<f64> {
        up_to(if self == Heterogeneity::High { 1000.0 } else { 10.0 })
    }

    fn letters(self) -> &'static str {
        if self == Heterogeneity::High { "hi" } else { "lo" }
    }
}

#[allow(clippy::expect_used, reason = "both ends are constants of this file")]
fn up_to(most: f64) -> Uniform<f64> {
    Uniform::new(1.0, most).expect("1 is less")
}

impl Consistency {
    fn order(self, row: &mut [f64]) {
        match self {
            Consistency::Inconsistent => {}
            Consistency::Consistent => row.sort_by(f64::total_cmp),
            Consistency::SemiConsistent => {
                let mut ordered: Vec<f64> = row.iter().step_by(2).copied().collect();
                ordered.sort_by(f64::total_cmp);
                row.iter_mut().step_by(2).zip(ordered).for_each(|(place, value)| *place = value);
            }
        }
    }

    fn letter(self) -> char {
        match self {
            Consistency::Consistent => 'c',
            Consistency::Inconsistent => 'i',
            Consistency::SemiConsistent => 's',
        }
    }
}

impl fmt::Display for EtcClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, machines) = (self.tasks.letters(), self.machines.letters());
        write!(f, "u_{}_{tasks}{machines}", self.consistency.letter())
    }
}

/// There is no such class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no class `{0}`; classes are u_x_yyzz: x is c, i or s; yy and zz are hi or lo, as in \
     u_c_hilo"
)]
pub struct UnknownClass(String);

impl FromStr for EtcClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        let found = EtcClass::all().into_iter().find(|class| class.to_string() == text);
        found.ok_or_else(|| UnknownClass(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Consistency, EtcClass};

    #[test]
    fn classes_have_the_names_of_the_instances() {
        let names: Vec<String> = EtcClass::all().iter().map(EtcClass::to_string).collect();
        assert_eq!(names[..4], ["u_c_hihi", "u_c_hilo", "u_c_lohi", "u_c_lolo"]);
        assert_eq!(names[4], "u_i_hihi");
        assert_eq!(names[11], "u_s_lolo");
        assert!("u_c_hi".parse::<EtcClass>().unwrap_err().to_string().contains("u_c_hilo"));
    }

    #[test]
    fn a_class_is_what_its_name_says() {
        for class in EtcClass::all() {
            let etc = class.generate(512, 16, 7).unwrap();
            let rows = || (0..512).map(|task| etc.of_task(task));
            let sorted = |row: &[f64]| row.is_sorted();
            let even = |row: &[f64]| row.iter().step_by(2).is_sorted();
            match class.consistency {
                Consistency::Consistent => assert!(rows().all(sorted), "{class}"),
                Consistency::SemiConsistent => {
                    assert!(rows().all(even) && !rows().any(sorted), "{class}");
                }
                Consistency::Inconsistent => assert!(!rows().any(even), "{class}"),
            }
            let largest = rows().flatten().copied().fold(0.0, f64::max);
            let most = class.tasks.of_tasks_most() * class.machines.of_machines_most();
            assert!(largest <= most && largest > most / 2.0, "{class}: {largest} of {most}");
        }
    }

    #[test]
    fn a_seed_makes_the_same_matrix_for_ever() {
        let class: EtcClass = "u_i_lolo".parse().unwrap();
        let etc = class.generate(4, 2, 1).unwrap();
        assert_eq!(etc, class.generate(4, 2, 1).unwrap());
        assert_ne!(etc, class.generate(4, 2, 2).unwrap());
    }

    impl super::Heterogeneity {
        fn of_tasks_most(self) -> f64 {
            if self == super::Heterogeneity::High { 3000.0 } else { 100.0 }
        }

        fn of_machines_most(self) -> f64 {
            if self == super::Heterogeneity::High { 1000.0 } else { 10.0 }
        }
    }
}
