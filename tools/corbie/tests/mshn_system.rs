//! `corbie mshn up`, and a system of processes in which components are killed while jobs are
//! accepted and run: none is lost.

#![allow(clippy::unwrap_used)]

mod process;

use corbie::Orb;
use corbie_mshn::idl::{Application, Format, Job, Phase, Requirements};
use corbie_mshn::messages::{Request, Role};
use corbie_mshn::system::{System, SystemOptions, SystemProcess};
use corbie_mshn::{Address, ClientLibrary, MechanismName, Peers, node};
use corbie_testkit::CapturedLog;
use corbie_testkit::servers::ScratchFolder;
use process::corbie;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
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
        for component in ["naming", "advisor a0", "status s0", "requirements r0", "daemon m2"]
            .into_iter()
            .chain(["status-proxy p0", "requirements-proxy p0"])
        {
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

/// What the proxy, which was replaced, hears from one of them.
fn behind_proxy(peers: &Peers) -> Requirements {
    let which = Application { name: "test".to_owned() };
    let proxy = Address::proxy(Role::RequirementDatabase, "p0");
    peers.ask(&proxy, &Request::MeansOf(which)).unwrap()
}

/// Each of these jobs, which are formats of their own, was recorded at least once, and both
/// replicas know it.
fn databases_agree(peers: &Peers, jobs: &[String]) {
    let means = |name: &str| -> Requirements {
        let which = Application { name: "test".to_owned() };
        peers
            .ask(&Address::named(Role::RequirementDatabase, name), &Request::MeansOf(which))
            .unwrap()
    };
    let ends = Instant::now() + PATIENCE;
    loop {
        let (first, second) = (means("r0"), means("r1"));
        let is_recorded = |job: &String| first.means.iter().any(|mean| mean.format == *job);
        let is_whole = first == second && jobs.iter().all(is_recorded);
        // A run that is counted twice may come in between.
        if is_whole && behind_proxy(peers) == first {
            return;
        }
        assert!(Instant::now() < ends, "{first:?} {second:?}");
        std::thread::sleep(Duration::from_millis(20)); // tidy: sleep: the other processes work
    }
}

/// A system of two machines in `folder`, with one of each other component.
fn options(folder: &ScratchFolder, mechanism: MechanismName) -> SystemOptions {
    SystemOptions {
        program: env!("CARGO_BIN_EXE_corbie").into(),
        folder: folder.path().to_owned(),
        mechanism,
        event_servers: 1,
        machines: 2,
        replicas: 1,
        proxies: 1,
        slots: 4,
        outputs: None,
        log: vec![],
        metrics: None,
    }
}

/// What runs `/bin/true`.
fn short_job(id: &str) -> Job {
    let command = vec!["/bin/true".to_owned()];
    let formats = vec![Format { name: "only".to_owned(), command }];
    Job { id: id.to_owned(), application: "test".to_owned(), formats, deadline_s: 0.0 }
}

/// One of each kind, under a stream of jobs.
fn kill_components(mechanism: MechanismName) {
    let folder = ScratchFolder::new("mshn");
    let system = System::start(&SystemOptions {
        event_servers: 2,
        replicas: 2,
        ..options(&folder, mechanism)
    })
    .unwrap();
    let endpoint = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let orb = Orb::init([["-ORBRequestTimeout", "60s"], endpoint].concat()).unwrap();
    let peers = node::peers(&orb, system.naming(&orb).unwrap(), mechanism);
    let peers = peers.with_patience(PATIENCE);
    let client = ClientLibrary::new(peers.clone()).unwrap();
    let mut victims = vec!["advisor a1", "daemon m1", "status s0", "requirements r1", "naming"];
    victims.extend(["requirements-proxy p0", "status-proxy p0"]);
    if mechanism.needs_channels() {
        victims.push("events e0");
    }
    let (mut accepted, mut before_daemon) = (Vec::new(), 0);
    for number in 0..5 * victims.len() {
        let id = format!("job-{number}");
        let command = ["/bin/sh", "-c", "sleep 0.2; echo printed"].map(str::to_owned).to_vec();
        // The first run in a format is passed on at once: a proxy that is killed has gathered none.
        let formats = vec![Format { name: id.clone(), command }];
        let application = "test".to_owned();
        let job = Job { id: id.clone(), application, formats, deadline_s: 0.0 };
        assert!(client.submit(&job).unwrap().accepted);
        accepted.push(id);
        if number % 5 == 4 {
            let victim = victims[number / 5];
            assert!(system.kill(victim));
            if victim == "daemon m1" {
                before_daemon = accepted.len();
            }
        }
    }
    for id in &accepted {
        let end = client.wait(id, PATIENCE).unwrap();
        assert_eq!(end.state, Phase::Done, "{mechanism}: {end:?}");
    }
    let ends = Instant::now() + PATIENCE;
    // What a daemon was recording when it was killed is lost.
    assert!(before_daemon > 0);
    databases_agree(&peers, &accepted[before_daemon..]);
    while (system.restarts() as usize) < victims.len() {
        assert!(Instant::now() < ends, "{mechanism}: {} were replaced", system.restarts());
        std::thread::yield_now();
    }
    orb.shutdown(true);
}

/// Sends a signal to a process of the system.
fn signal(system: &System, name: &str, signal: &str) {
    let found = system.processes().into_iter().find(|process| process.name == name);
    let pid = found.unwrap().id.to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

const PEACEFUL: &str = "exit status: 0";

/// Each process of a system is told to end, one after the other, while jobs are submitted and run.
#[test]
fn components_that_are_told_to_end_under_traffic_end_in_peace() {
    let log = CapturedLog::install();
    for mechanism in [MechanismName::Static, MechanismName::Typed] {
        let folder = ScratchFolder::new("mshn-told-to-end");
        let system =
            System::start(&SystemOptions { replicas: 2, ..options(&folder, mechanism) }).unwrap();
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap();
        let peers = node::peers(&orb, system.naming(&orb).unwrap(), mechanism);
        let client = ClientLibrary::new(peers.with_patience(PATIENCE)).unwrap();
        let (done, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    run_one(&client, done.load(Ordering::Acquire));
                    done.fetch_add(1, Ordering::AcqRel);
                }
            });
            let over = Over(&is_over);
            for (replaced, process) in (1..).zip(system.processes()) {
                let SystemProcess { name, id, .. } = process;
                let before = done.load(Ordering::Acquire);
                until(&format!("jobs run before {name}"), || done.load(Ordering::Acquire) > before);
                // Those that other tests kill end by a signal.
                let is_it = |line: &&String| line.contains(&name) && line.contains(PEACEFUL);
                let peaceful = || log.lines_with("is replaced").iter().filter(is_it).count();
                let ended = peaceful();
                assert!(Command::new("kill").arg(id.to_string()).status().unwrap().success());
                // It was said before that it is replaced.
                until(&format!("{name} is replaced"), || system.restarts() == replaced);
                assert!(peaceful() > ended, "{mechanism}: {name}");
            }
            let before = done.load(Ordering::Acquire);
            until("jobs run afterwards", || done.load(Ordering::Acquire) > before + 1);
            drop(over);
        });
        assert_eq!(system.restarts() as usize, system.processes().len(), "{mechanism}");
        orb.shutdown(true);
    }
}

/// Ends the thread that submits jobs, also where the test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A job that is accepted is done.
fn run_one(client: &ClientLibrary, number: u32) {
    let id = format!("under-way-{number}");
    assert!(client.submit(&short_job(&id)).unwrap().accepted);
    let end = client.wait(&id, PATIENCE).unwrap();
    assert_eq!(end.state, Phase::Done, "{end:?}");
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let ends = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < ends, "{what}");
        std::thread::sleep(Duration::from_millis(5)); // tidy: sleep: the other processes work
    }
}

#[test]
fn a_daemon_that_is_stopped_holds_nobody_back() {
    for mechanism in [MechanismName::Static, MechanismName::Typed] {
        let folder = ScratchFolder::new("mshn-stopped");
        let system = System::start(&options(&folder, mechanism)).unwrap();
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap();
        let peers = node::peers(&orb, system.naming(&orb).unwrap(), mechanism);
        let client = ClientLibrary::new(peers.with_patience(PATIENCE)).unwrap();
        let run = |ids: &[String]| -> Vec<String> {
            for id in ids {
                assert!(client.submit(&short_job(id)).unwrap().accepted);
            }
            let end = |id: &String| {
                let end = client.wait(id, PATIENCE).unwrap();
                assert_eq!(end.state, Phase::Done, "{mechanism}: {end:?}");
                end.machine
            };
            ids.iter().map(end).collect()
        };
        let ids = |what: &str, count: usize| -> Vec<String> {
            (0..count).map(|number| format!("{what}-{number}")).collect()
        };
        run(&ids("before", 4));
        signal(&system, "daemon m1", "-STOP");
        // What is given to it at first goes elsewhere.
        assert!(run(&ids("stopped", 16)).iter().all(|machine| machine == "m2"), "{mechanism}");
        signal(&system, "daemon m1", "-CONT");
        let ends = Instant::now() + PATIENCE;
        let mut round = 0;
        while !run(&ids(&format!("after-{round}"), 8)).iter().any(|machine| machine == "m1") {
            assert!(Instant::now() < ends, "{mechanism}: m1 is given no jobs any more");
            round += 1;
        }
        assert_eq!(system.restarts(), 0, "{mechanism}");
        orb.shutdown(true);
    }
}

#[test]
fn a_system_that_stays_takes_jobs_of_others() {
    let folder = ScratchFolder::new("mshn-stays");
    let system = System::start(&SystemOptions {
        machines: 1,
        proxies: 0,
        slots: 2,
        outputs: Some(folder.path().join("outputs")),
        ..options(&folder, MechanismName::Typed)
    })
    .unwrap();
    let naming = system.naming_url();
    let submit = |more: &[&str]| corbie(&[&["mshn", "submit", "-n", naming], more].concat());
    // No option says by which mechanism.
    let outcome = submit(&["--wait", "100", "--deadline", "100", "--", "/bin/true"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.stdout.contains(": done on m1 as given"), "{outcome:?}");
    let outcome = submit(&["--id", "mine", "--wait", "100", "--", "/bin/sh", "-c", "exit 3"]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("it exited with status 3"), "{outcome:?}");
    let outcome = corbie(&["mshn", "job", "-n", naming, "mine"]);
    assert!(outcome.status == 1 && outcome.stdout.starts_with("mine: failed on m1"), "{outcome:?}");
    let outcome = corbie(&["mshn", "machines", "-n", naming]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(
        outcome.stdout.contains("m1: ") && outcome.stdout.contains("advisor: a0"),
        "{outcome:?}"
    );
    // More than a pipe holds, and what goes wrong with it.
    let script = "seq 1 20000; echo done >&2";
    let outcome = submit(&["--id", "print/s", "--wait", "100", "--", "/bin/sh", "-c", script]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let printed = std::fs::read_to_string(folder.path().join("outputs/print%2Fs.out")).unwrap();
    assert!(
        printed.starts_with("1\n2\n") && printed.ends_with("20000\ndone\n"),
        "{}",
        printed.len()
    );
    let outcome = submit(&["--wait", "100", "--", "/nowhere/program"]);
    assert!(outcome.status == 1 && outcome.stdout.contains("127: a command was"), "{outcome:?}");
    let nowhere = corbie(&["mshn", "job", "mine"]);
    assert!(nowhere.status == 64 && nowhere.stderr.contains("--name-service"), "{nowhere:?}");
}

/// Whether it is there, and not only waits to be reaped.
fn lives(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn with_a_daemon_that_is_killed_all_ends_that_its_jobs_have_started() {
    let folder = ScratchFolder::new("mshn-groups");
    let system = System::start(&SystemOptions {
        machines: 1,
        proxies: 0,
        slots: 2,
        outputs: Some(folder.path().to_owned()),
        ..options(&folder, MechanismName::Static)
    })
    .unwrap();
    // A child of the job's; its parent waits for it.
    let command = ["/bin/sh", "-c", "sleep 1000 & echo $!; wait"];
    let naming = system.naming_url();
    let submitted =
        corbie(&[&["mshn", "submit", "-n", naming, "--id", "job", "--"], &command[..]].concat());
    assert_eq!(submitted.status, 0, "{submitted:?}");
    let started = |count: usize| -> Vec<String> {
        let ends = Instant::now() + PATIENCE;
        loop {
            let printed = std::fs::read_to_string(folder.path().join("job.out"));
            let ids: Vec<String> =
                printed.unwrap_or_default().split_inclusive('\n').map(str::to_owned).collect();
            if ids.len() >= count && ids.iter().all(|id| id.ends_with('\n')) {
                return ids.iter().map(|id| id.trim().to_owned()).collect();
            }
            assert!(Instant::now() < ends, "{ids:?}");
            std::thread::sleep(Duration::from_millis(20)); // tidy: sleep: the other processes work
        }
    };
    started(1);
    assert!(system.kill("daemon m1"));
    let ends = Instant::now() + PATIENCE;
    // An answer that comes late has it run once more, instead of the one before.
    while !started(2).last().is_some_and(|last| lives(last)) {
        assert!(Instant::now() < ends, "the job does not run again");
        std::thread::yield_now();
    }
    let gone = |id: &str| {
        let ends = Instant::now() + PATIENCE;
        while lives(id) {
            assert!(Instant::now() < ends, "{id} lives on");
            std::thread::yield_now();
        }
    };
    gone(&started(2)[0]);
    drop(system);
    started(2).iter().for_each(|id| gone(id));
}
