//! The advisor against senseless numbers, floods of violations, machines that are gone for good,
//! and orders whose fate is not known.

#![allow(clippy::unwrap_used)]

mod fixture;

use corbie::{CompletionStatus, Object, Orb, SystemException, minor};
use corbie_mshn::idl::{
    MachineStatus, Phase, Receipt, Requirements, Scope, StatusReport, Usage, Violation, WatchOrder,
};
use corbie_mshn::messages::{Component, Done, Request, Role, accepted};
use corbie_mshn::node::{self, Kind};
use corbie_mshn::{
    Address, Advisor, AdvisorOptions, ClientLibrary, DaemonOptions, MechanismName, Peers,
    StatusOptions,
};
use corbie_naming::cos_naming::{BindingType, NamingContext};
use fixture::{ENDLESS, PATIENCE, System, await_machines, shell, until};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn usage(application: &str, format: &str, wall_s: f64) -> Usage {
    let (application, format) = (application.to_owned(), format.to_owned());
    Usage { application, format, machine: "m1".to_owned(), wall_s, samples: 1, ..Usage::default() }
}

#[test]
fn a_senseless_record_is_refused() {
    let mut system = System::start(MechanismName::Asynchronous);
    system.join(&Kind::RequirementDatabase, "r");
    let (_, peers) = system.peers();
    for wall_s in [f64::MAX, f64::INFINITY, f64::NAN, -1.0, 1.1e9] {
        let to = Address::any(Role::RequirementDatabase);
        let record = Request::Record(usage("test", "only", wall_s));
        let receipt: Receipt = peers.ask(&to, &record).unwrap();
        assert!(!receipt.accepted && receipt.why.contains("1e9"), "{wall_s}: {receipt:?}");
    }
}

/// A peer that is allowed to use a system makes as many jobs and records as it can, and as large
/// ones.
#[test]
fn what_peers_that_are_allowed_may_have_kept_is_bounded() {
    let mut system = System::start(MechanismName::Asynchronous);
    let options = AdvisorOptions {
        jobs_max: 40,
        jobs_octets_max: 256 << 10,
        requests_octets_max: 64 << 10,
        // Its thread takes its time for each schedule.
        pause: Duration::from_millis(20),
        batch_max: 1,
        ..AdvisorOptions::new("a")
    };
    system.join(&Kind::StatusServer(StatusOptions::default()), "s");
    system.join(&Kind::RequirementDatabase, "r");
    system.join(&Kind::Advisor(options), "a");
    let (_, peers) = system.peers();
    let advisor = Address::any(Role::Advisor);
    let submit = |id: &str, octets: usize| -> Receipt {
        let job = shell(id, &[("only", &"x".repeat(octets))]);
        peers.ask(&advisor, &Request::Submit(job)).unwrap()
    };
    // No machine runs them, so they wait: by octets, by number, and each by its own.
    let large = (0..10).filter(|n| submit(&format!("large {n}"), 60_000).accepted).count();
    assert_eq!(large, 4, "of 60 KB each in 256 KiB");
    let small = (0..100).filter(|n| submit(&format!("small {n}"), 10).accepted).count();
    assert!(small > 10 && small <= 36, "{small} beside {large}");
    assert!(submit("small 0", 10).accepted, "it is known");
    for (id, octets, why) in [("too large", 70_000, "65536"), (&"n".repeat(300), 1, "256")] {
        let receipt = submit(id, octets);
        assert!(!receipt.accepted && receipt.why.contains(why), "{receipt:?}");
    }
    let full = submit("one more", 10);
    assert!(!full.accepted && full.why.contains("wait or run"), "{full:?}");
    // Requests for schedules that wait for its thread.
    let (sender, answers) = channel();
    for number in 0..40 {
        let (sender, id) = (sender.clone(), format!("request {number}"));
        let job = shell(&id, &[("only", &"x".repeat(20_000))]);
        let done = move |answer: Result<_, SystemException>| {
            let placement = answer.and_then(corbie_mshn::idl::Placement::try_from);
            sender.send(placement.unwrap().why).unwrap();
        };
        peers.start(&advisor, Request::Schedule(job), Box::new(done));
    }
    let whys: Vec<String> = (0..40).map(|_| answers.recv_timeout(PATIENCE).unwrap()).collect();
    let refused = whys.iter().filter(|why| why.contains("wait, of 65536 at most")).count();
    assert!((1..40).contains(&refused), "{refused} of 40: {:?}", whys.last());
    // Names of records, of machines and of what is watched.
    let database = Address::any(Role::RequirementDatabase);
    let record = Request::Record(usage(&"n".repeat(300), "only", 1.0));
    let receipt: Receipt = peers.ask(&database, &record).unwrap();
    assert!(!receipt.accepted && receipt.why.contains("256"), "{receipt:?}");
    let machine = "m".repeat(300);
    let status = Address::any(Role::StatusServer);
    let watch = WatchOrder { job: "j".to_owned(), machine, ..WatchOrder::default() };
    let receipt: Receipt = peers.ask(&status, &Request::Watch(watch)).unwrap();
    assert!(!receipt.accepted && receipt.why.contains("256"), "{receipt:?}");
}

/// All objects that a system has bound, of those contexts that could be read.
fn bound(orb: &Orb, root: &str) -> Vec<Object> {
    let root = NamingContext::unchecked_narrow(orb.string_to_object(root).unwrap());
    let (mut contexts, mut found) = (vec![root], Vec::new());
    while let Some(context) = contexts.pop() {
        let Ok((bindings, _)) = context.list(1000) else { continue };
        for binding in bindings {
            let Ok(Some(object)) = context.resolve(&binding.binding_name) else { continue };
            match binding.binding_type {
                BindingType::Ncontext => contexts.push(NamingContext::unchecked_narrow(object)),
                BindingType::Nobject => found.push(object),
            }
        }
    }
    found
}

#[test]
fn what_a_system_has_bound_answers_from_the_first_moment() {
    let mut system = System::start(MechanismName::Asynchronous);
    let ((orb, _), url) = (system.peers(), system.url.clone());
    let is_complete = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let looker = threads.spawn(|| {
            loop {
                let is_last = is_complete.load(Ordering::SeqCst);
                let found = bound(&orb, &url);
                for object in &found {
                    assert!(!object.non_existent().unwrap(), "{}", object.ior().type_id);
                }
                if is_last {
                    return found.len();
                }
            }
        });
        system.servers();
        system.daemon("m1");
        is_complete.store(true, Ordering::SeqCst);
        assert!(looker.join().unwrap() >= 4);
    });
}

#[test]
fn a_report_of_no_machine_is_refused() {
    let peers = Peers::local();
    let status = Kind::StatusServer(StatusOptions::default()).component(None, &peers).unwrap();
    peers.register(Role::StatusServer, "s", &status);
    let to = Address::any(Role::StatusServer);
    let receipt: Receipt = peers.ask(&to, &Request::Report(MachineStatus::default())).unwrap();
    assert!(!receipt.accepted && receipt.why.contains("machine"), "{receipt:?}");
    let known: StatusReport = peers.ask(&to, &Request::Status(Scope::default())).unwrap();
    assert!(known.machines.is_empty(), "{known:?}");
}

/// A requirement database that says nothing sensible of any application, and of one nothing.
struct Lying;

impl Component for Lying {
    fn serve(&self, request: Request, done: Done) {
        match request {
            Request::MeansOf(which) if which.name == "silent" => {
                let why = SystemException::bad_operation(
                    minor::BAD_OPERATION_UNKNOWN,
                    CompletionStatus::No,
                );
                done(Err(why));
            }
            Request::MeansOf(which) => {
                let mean = |format, wall_s| usage(&which.name, format, wall_s);
                let means = vec![mean("fine", f64::INFINITY), mean("coarse", -5.0)];
                done(Ok(Requirements { means }.into()));
            }
            _ => done(Ok(accepted().into())),
        }
    }
}

#[test]
fn a_database_that_lies_stops_nobody() {
    let mut system = System::start(MechanismName::Asynchronous);
    system.join(&Kind::StatusServer(StatusOptions::default()), "s");
    let options = AdvisorOptions { batch_max: 2, ..AdvisorOptions::new("a") };
    system.join(&Kind::Advisor(options), "a");
    let (orb, peers) = system.peers();
    let lying: Arc<dyn Component> = Arc::new(Lying);
    peers.serve(&orb, &Address::named(Role::RequirementDatabase, "r"), &lying).unwrap();
    system.daemon("m1");
    let (peers, client) = system.client();
    await_machines(&peers, 1);
    // More of them than are placed together, before all others.
    for number in 0..3 {
        let mut unplaced = shell(&format!("unplaced-{number}"), &[("only", "exit 0")]);
        (unplaced.application, unplaced.deadline_s) = ("silent".to_owned(), 1.0);
        assert!(client.submit(&unplaced).unwrap().accepted);
    }
    let end = |id: &str, deadline_s| {
        let mut job = shell(id, &[("fine", "exit 0"), ("coarse", "exit 0")]);
        job.deadline_s = deadline_s;
        assert!(client.submit(&job).unwrap().accepted);
        client.wait(id, PATIENCE).unwrap()
    };
    let never = end("endless", 0.0);
    assert_eq!((never.state, never.format.as_str()), (Phase::Done, "fine"), "{never:?}");
    // Less than nothing is in time. While it runs the advisor says to the status server how far it
    // is; what runs now is asked after again and again.
    let formats = [("fine", "exit 1"), ("coarse", ENDLESS)];
    let mut runs = shell("runs", &formats);
    runs.deadline_s = 600.0;
    assert!(client.submit(&runs).unwrap().accepted);
    until("it runs", || client.outcome("runs").unwrap().state == Phase::Running);
    for number in 0..5 {
        let early = end(&format!("early-{number}"), 600.0);
        assert_eq!((early.state, early.format.as_str()), (Phase::Done, "coarse"), "{early:?}");
    }
    assert_eq!(client.outcome("unplaced-0").unwrap().state, Phase::Waiting);
}

/// A requirement database that takes its callers along.
struct Panicking;

impl Component for Panicking {
    fn serve(&self, _: Request, _: Done) {
        panic!("as the test wants it");
    }
}

#[test]
fn an_advisor_whose_thread_panics_ends_and_accepts_nothing_more() {
    let peers = Peers::local();
    let status = Kind::StatusServer(StatusOptions::default()).component(None, &peers).unwrap();
    peers.register(Role::StatusServer, "s", &status);
    let panicking: Arc<dyn Component> = Arc::new(Panicking);
    peers.register(Role::RequirementDatabase, "r", &panicking);
    let advisor: Arc<dyn Component> =
        Arc::new(Advisor::new(AdvisorOptions::new("a"), None, peers.clone()).unwrap());
    peers.register(Role::Advisor, "a", &advisor);
    let (sender, receiver) = channel();
    advisor.on_failure(Box::new(move |why| sender.send(why.to_owned()).unwrap()));
    let client = ClientLibrary::new(peers.clone()).unwrap();
    assert!(client.schedule(&shell("asked", &[("only", "exit 0")])).is_err());
    let why = receiver.recv_timeout(PATIENCE).unwrap();
    assert!(why.contains("as the test wants it"), "{why}");
    let refused = client.submit(&shell("late", &[("only", "exit 0")])).unwrap_err();
    assert!(refused.to_string().contains("panicked"), "{refused}");
}

#[test]
fn the_orb_of_an_advisor_whose_thread_panics_ends() {
    let peers = Peers::local();
    let status = Kind::StatusServer(StatusOptions::default()).component(None, &peers).unwrap();
    peers.register(Role::StatusServer, "s", &status);
    let panicking: Arc<dyn Component> = Arc::new(Panicking);
    peers.register(Role::RequirementDatabase, "r", &panicking);
    let folder = corbie_testkit::servers::ScratchFolder::new("panics");
    let journal = folder.path().join("jobs");
    // What it accepted before makes it panic as soon as it is there.
    {
        let without_peers = Peers::local();
        let advisor =
            Advisor::new(AdvisorOptions::new("a"), Some(&journal), without_peers).unwrap();
        let (sender, receiver) = channel();
        let done: Done = Box::new(move |reply| sender.send(reply).unwrap());
        advisor.serve(Request::Submit(shell("left", &[("only", "exit 0")])), done);
        receiver.recv_timeout(PATIENCE).unwrap().unwrap();
    }
    let orb = fixture::orb();
    let kind = Kind::Advisor(AdvisorOptions::new("a"));
    let mut joined = None;
    until("the journal is free", || {
        joined = node::join(&orb, &peers, &kind, "a", Some(&journal)).ok();
        joined.is_some()
    });
    orb.run();
    let joined = joined.unwrap();
    assert!(joined.failure().unwrap().contains("as the test wants it"), "{joined:?}");
}

/// Says of the job that is called so, again and again until the test ends, that it will be late.
fn complain(peers: &Peers, job: &'static str) -> Arc<AtomicU32> {
    let (peers, said) = (peers.clone(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::downgrade(&said);
    std::thread::spawn(move || {
        while let Some(said) = counted.upgrade() {
            let (job, machine) = (job.to_owned(), "m1".to_owned());
            let violation = Violation { job, machine, late_by_s: 1.0, why: "test".to_owned() };
            if peers.call(&Address::any(Role::Advisor), &Request::Violated(violation)).is_ok() {
                said.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    said
}

/// A status server that counts how often it is asked, and takes its time.
struct Counting {
    status: Arc<dyn Component>,
    asked: AtomicU32,
}

impl Component for Counting {
    fn serve(&self, request: Request, done: Done) {
        if matches!(request, Request::Status(_)) {
            self.asked.fetch_add(1, Ordering::Relaxed);
            // tidy: sleep: a server that takes its time is the subject.
            std::thread::sleep(Duration::from_millis(5));
        }
        self.status.serve(request, done);
    }
}

#[test]
fn violations_do_not_keep_requests_waiting() {
    let peers = Peers::local();
    let component = |kind: Kind| kind.component(None, &peers).unwrap();
    let status = component(Kind::StatusServer(StatusOptions::default()));
    let counting = Arc::new(Counting { status, asked: AtomicU32::new(0) });
    let status: Arc<dyn Component> = Arc::clone(&counting) as _;
    let database = component(Kind::RequirementDatabase);
    let advisor = component(Kind::Advisor(AdvisorOptions::new("a")));
    let daemon = component(Kind::Daemon(DaemonOptions::new("m1")));
    peers.register(Role::StatusServer, "s", &status);
    peers.register(Role::RequirementDatabase, "r", &database);
    peers.register(Role::Advisor, "a", &advisor);
    peers.register(Role::Daemon, "m1", &daemon);
    let client = ClientLibrary::new(peers.clone()).unwrap();
    assert!(client.submit(&shell("runs", &[("only", ENDLESS)])).unwrap().accepted);
    until("it runs", || client.outcome("runs").unwrap().state == Phase::Running);
    let complaints = complain(&peers, "runs");
    until("the flood", || complaints.load(Ordering::Relaxed) > 2_000);
    // By far fewer questions than complaints: 5 ms each in a row would be 10 s.
    let (sender, receiver) = channel();
    let job = shell("asked", &[("only", "exit 0")]);
    let counted = Arc::clone(&counting);
    let before = counting.asked.load(Ordering::Relaxed);
    client.schedule_later(job, move |placement| {
        sender.send((placement, counted.asked.load(Ordering::Relaxed))).unwrap();
    });
    let (placement, after) = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(placement.unwrap().machine, "m1");
    // What was under way, its own, a turn or two of rounds, and what came while this thread was
    // kept from asking: not one a complaint.
    let asked = after - before;
    assert!(asked < 500, "{asked} questions before the answer");
}

#[test]
fn a_job_whose_last_machine_is_gone_for_good_has_failed() {
    let mut system = System::start(MechanismName::Asynchronous);
    system.join(&Kind::StatusServer(StatusOptions::default()), "s");
    system.join(&Kind::RequirementDatabase, "r");
    let silence = Duration::from_secs(1);
    let options = AdvisorOptions { starts_max: 1, silence, ..AdvisorOptions::new("a") };
    system.join(&Kind::Advisor(options), "a");
    let daemon = system.daemon("m1");
    let (peers, client) = system.client();
    await_machines(&peers, 1);
    assert!(client.submit(&shell("runs", &[("only", ENDLESS)])).unwrap().accepted);
    until("it runs", || client.outcome("runs").unwrap().state == Phase::Running);
    let impatient = client.wait("runs", Duration::ZERO).unwrap_err();
    assert_eq!(impatient.minor, corbie::minor::TIMEOUT_JOB, "{impatient}");
    daemon.shutdown(true);
    let end = client.wait("runs", PATIENCE).unwrap();
    assert_eq!((end.state, end.starts), (Phase::Failed, 1), "{end:?}");
    assert!(end.why.contains("in vain"), "{end:?}");
}

/// A daemon of which one cannot know whether it began the first job that it was to start; it is
/// not there any more then, and is back later.
#[derive(Default)]
struct Doubtful {
    starts: AtomicU32,
    /// The number of the last attempt.
    attempt: AtomicU32,
    is_back: AtomicBool,
    stopped: Mutex<Vec<String>>,
}

impl Component for Doubtful {
    fn serve(&self, request: Request, done: Done) {
        let is_first = self.starts.load(Ordering::Acquire) == 0;
        if let Request::Start(order) = &request {
            self.attempt.store(order.attempt, Ordering::Release);
            self.starts.fetch_add(1, Ordering::AcqRel);
            if is_first {
                return done(Err(SystemException::comm_failure(
                    minor::COMM_FAILURE_CLOSED,
                    CompletionStatus::Maybe,
                )));
            }
        }
        if !self.is_back.load(Ordering::Acquire) {
            return done(Err(SystemException::transient(
                minor::TRANSIENT_NOT_NOW,
                CompletionStatus::No,
            )));
        }
        if let Request::Stop(which) = request {
            self.stopped.lock().unwrap().push(which.id);
        }
        done(Ok(accepted().into()));
    }
}

#[test]
fn a_start_of_which_nobody_knows_counts_and_is_stopped_later() {
    let mut system = System::start(MechanismName::Asynchronous);
    let silence = PATIENCE;
    let status = StatusOptions { silence, ..StatusOptions::default() };
    system.join(&Kind::StatusServer(status), "s");
    system.join(&Kind::RequirementDatabase, "r");
    system.join(&Kind::Advisor(AdvisorOptions { silence, ..AdvisorOptions::new("a") }), "a");
    let (orb, peers) = system.peers();
    let doubtful = Arc::new(Doubtful::default());
    let daemon: Arc<dyn Component> = Arc::clone(&doubtful) as _;
    peers.serve(&orb, &Address::named(Role::Daemon, "doubtful"), &daemon).unwrap();
    let (peers, client) = system.client();
    let report = || {
        let machine = "doubtful".to_owned();
        let load = 1e6;
        let status = MachineStatus { machine, processors: 1, load, ..MachineStatus::default() };
        peers.call(&Address::any(Role::StatusServer), &Request::Report(status)).unwrap();
    };
    assert!(client.submit(&shell("job", &[("only", "exit 0")])).unwrap().accepted);
    // The only machine there is; it has much to do.
    until("the first start", || {
        report();
        doubtful.starts.load(Ordering::Acquire) > 0
    });
    // That it is to start the job again, and does not hear of it, undoes nothing of that.
    until("the next attempt", || {
        report();
        doubtful.attempt.load(Ordering::Acquire) > 1
    });
    system.daemon("well");
    let end = client.wait("job", PATIENCE).unwrap();
    // The first attempt counts, those that found no daemon do not.
    let expected = (Phase::Done, "well", 2);
    assert_eq!((end.state, end.machine.as_str(), end.starts), expected, "{end:?}");
    assert!(doubtful.stopped.lock().unwrap().is_empty());
    doubtful.is_back.store(true, Ordering::Release);
    until("the stop", || doubtful.stopped.lock().unwrap().contains(&"job".to_owned()));
}
