//! A simulated network in virtual time that drives the `Connection` that ships, over links that it
//! plugs in, and `Attempts`.
//!
//! Nothing sleeps and no socket is opened. A seed makes a plan: servers, calls, and faults of the
//! network and of the peers. [`simulate`] runs it and checks what has to hold of every run.

mod checks;
mod end;
mod hostile;
mod plan;
mod seed;
mod wire;
mod world;

pub use checks::Counts;
pub use hostile::hostile_peer;
pub use plan::{CallPlan, Plan, ServerPlan};
pub use seed::Seed;
use world::World;

#[cfg(test)]
mod tests;

/// Prints how to run a seed again when its run panics.
struct Replay(u64);

impl Drop for Replay {
    #[allow(clippy::print_stderr, reason = "a test that fails says how to run it again")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", how_to_replay(self.0));
        }
    }
}

fn how_to_replay(seed: u64) -> String {
    format!("run it again: CORBIE_SIMULATION_SEED={seed} cargo test -p corbie-testkit simulation")
}

/// Runs the plan of this seed.
///
/// # Errors
/// What must not happen and did, with the plan and how to run it again.
pub fn simulate(number: u64) -> Result<Counts, String> {
    let _replay = Replay(number);
    let mut seed = Seed::new(number);
    let plan = Plan::of(&mut seed);
    let outcome = World::new(plan, seed.clone()).run();
    outcome.map_err(|what| {
        let plan = Plan::of(&mut Seed::new(number));
        format!("seed {number}: {what}\n{plan:#?}\n{}", how_to_replay(number))
    })
}
