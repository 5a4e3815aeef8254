//! A short soak of channels: `corbie events` processes, some of which are killed, and every event
//! accounted for; and servers that are attacked. `cargo xtask soak` has the long ones.

use corbie_soak::{HostileOptions, Length, Options, run, run_hostile};
use std::sync::{Mutex, PoisonError};

/// Held by each test: one alone keeps a machine busy, and times are compared.
static ALONE: Mutex<()> = Mutex::new(());

fn soak(seed: u64, is_durable: bool) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options {
        corbie: env!("CARGO_BIN_EXE_corbie").into(),
        length: Length::Kills(12),
        seed,
        is_durable,
    };
    let mut progress = Vec::new();
    let report = run(&options, &mut |line| progress.push(line.to_owned()))
        .unwrap_or_else(|why| panic!("{why}\n{}", progress.join("\n")));
    assert!(report.faults().is_empty(), "{report}\n{}", progress.join("\n"));
}

#[test]
fn who_stays_gets_everything_while_others_are_killed() {
    soak(1, false);
}

#[test]
fn durable_consumers_get_everything_while_they_and_the_server_are_killed() {
    soak(3, true);
}

#[test]
fn honest_clients_are_served_while_servers_are_attacked() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let corbie = env!("CARGO_BIN_EXE_corbie").into();
    let options = HostileOptions { corbie, length: std::time::Duration::from_secs(16) };
    let report = run_hostile(&options, &mut |_| {}).unwrap_or_else(|why| panic!("{why}"));
    assert!(report.faults().is_empty(), "{report}");
}
