//! `corbie mshn up`, and a system of processes in which components are killed while jobs are
//! accepted and run: none is lost.

#![allow(clippy::unwrap_used)]

mod process;

use corbie::Orb;
use corbie_mshn::idl::{Format, Job, Phase};
use corbie_mshn::system::{System, SystemOptions};
use corbie_mshn::{ClientLibrary, MechanismName, node};
use corbie_testkit::servers::ScratchFolder;
use process::corbie;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn up_starts_a_system_that_runs_its_jobs() {
    for mechanism in MechanismName::ALL {
        let name = mechanism.to_string();
        let outcome =
            corbie(&["mshn", "up", "--jobs", "4", "--compute", "0.01", "--mechanism", &name]);
        assert_eq!(outcome.status, 0, "{name}: {outcome:?}");
        assert_eq!(outcome.stdout.matches(": done on m").count(), 4, "{outcome:?}");
        assert!(outcome.stdout.contains("4 jobs in ") && outcome.stdout.contains("0 not done"));
        for component in ["naming", "advisor a0", "status s0", "requirements r0", "daemon m2"] {
            assert!(outcome.stdout.contains(&format!("{component}: process ")), "{outcome:?}");
        }
    }
}

#[test]
fn no_accepted_job_is_lost_when_components_are_killed() {
    for mechanism in MechanismName::ALL {
        kill_components(*mechanism);
    }
}

/// One of each kind, under a stream of jobs.
fn kill_components(mechanism: MechanismName) {
    let folder = ScratchFolder::new("mshn");
    let system = System::start(&SystemOptions {
        program: env!("CARGO_BIN_EXE_corbie").into(),
        folder: folder.path().to_owned(),
        mechanism,
        event_servers: 1,
        machines: 2,
        replicas: 1,
        slots: 4,
    })
    .unwrap();
    let endpoint = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let orb = Orb::init([["-ORBRequestTimeout", "20s"], endpoint].concat()).unwrap();
    let peers = node::peers(&orb, system.naming(&orb).unwrap(), mechanism);
    let client = ClientLibrary::new(peers.with_patience(PATIENCE)).unwrap();
    let mut victims = vec!["advisor a0", "daemon m1", "status s0", "requirements r0", "naming"];
    if mechanism.needs_channels() {
        victims.push("events e0");
    }
    let mut accepted = Vec::new();
    for number in 0..5 * victims.len() {
        let id = format!("job-{number}");
        let command = ["/bin/sh", "-c", "sleep 0.2"].map(str::to_owned).to_vec();
        let formats = vec![Format { name: "only".to_owned(), command }];
        let application = "test".to_owned();
        let job = Job { id: id.clone(), application, formats, deadline_s: 0.0 };
        assert!(client.submit(&job).unwrap().accepted);
        accepted.push(id);
        if number % 5 == 4 {
            assert!(system.kill(victims[number / 5]));
        }
    }
    for id in &accepted {
        let end = client.wait(id, PATIENCE).unwrap();
        assert_eq!(end.state, Phase::Done, "{mechanism}: {end:?}");
    }
    let ends = Instant::now() + PATIENCE;
    while (system.restarts() as usize) < victims.len() {
        assert!(Instant::now() < ends, "{mechanism}: {} were replaced", system.restarts());
        std::thread::yield_now();
    }
    orb.shutdown(true);
}
