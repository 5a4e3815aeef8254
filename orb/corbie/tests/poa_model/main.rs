//! Random operations on POAs, their managers and objects, and requests to them, each compared with
//! a model that is as simple as can be (`model`). The model says what each operation and request
//! must do; `system` does it to a real server, with requests by message, through the POA and direct.
//!
//! A failure prints its seed and the last steps: `CORBIE_MODEL_SEED=n` runs it again, and
//! `CORBIE_MODEL_STEPS=n` runs longer ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a failing test says how it is run again")]

mod model;
mod random;
mod system;

use model::Model;
use random::Random;
use system::System;

/// Prints how a failing run is run again.
struct Told {
    seed: u64,
    steps: Vec<String>,
}

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let recent = self.steps.len().saturating_sub(40);
            eprintln!("CORBIE_MODEL_SEED={}; the last steps:", self.seed);
            self.steps[recent..].iter().for_each(|step| eprintln!("  {step}"));
        }
    }
}

fn run(seed: u64, steps: usize) {
    let strategies = ["thread-pool", "thread-per-connection", "reactor-per-thread"];
    let modes = [
        ["-ORBCollocation", "none"],
        ["-ORBCollocationStrategy", "through-poa"],
        ["-ORBCollocationStrategy", "direct"],
    ];
    let (strategy, mode) = (strategies[seed as usize % 3], modes[seed as usize / 3 % 3]);
    let mut told = Told { seed, steps: vec![format!("({strategy}, {mode:?})")] };
    let mut random = Random::new(seed);
    let mut model = Model::default();
    let mut system = System::new(strategy, mode);
    for number in 0..steps {
        let step = model.choose(&mut random);
        told.steps.push(format!("{number}: {step:?}"));
        let expected = model.apply(&step);
        let found = system.apply(&step, &expected);
        assert_eq!(found, expected, "seed {seed}, step {number}: {step:?}");
    }
    system.end(&model);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_server_does_what_the_model_says() {
    let steps = number("CORBIE_MODEL_STEPS").unwrap_or(1_500) as usize;
    if let Some(seed) = number("CORBIE_MODEL_SEED") {
        return run(seed, steps);
    }
    for seed in 0..9 {
        run(seed, steps);
    }
}
