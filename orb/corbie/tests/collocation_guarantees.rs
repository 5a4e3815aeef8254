//! What the object adapter promises of a request holds of a call of the same process, in every
//! mode: Current, the states of the POA manager, servant managers, the active object map, forwards,
//! thread policies, interceptors, policies of the client, shutdown (paper POA §3.1, the list of
//! what its own collocation left out).

#![allow(clippy::unwrap_used)] // also in the functions that the tests use

mod collocated;

use collocated::{
    ActError, MODES, Mode, TIMES, Watch, Work, Worker, WorkerSkeleton, serves_here, serving,
    teller, through_text, worker,
};
use corbie::interceptor::{AnsweredRequest, RequestState, ServerInterceptor};
use corbie::policy::{Policy, SetOverrideType};
use corbie::{
    Collocation, CompletionStatus, Cookie, ForwardServant, IdAssignment, Interface, Minor,
    ObjectId, Poa, PoaCurrent, PoaPolicy, RequestProcessing, Servant, ServantActivator,
    ServantLocator, ServantManager, ServantRefusal, ServantRetention, ServerRequest,
    SystemException, SystemExceptionKind, ThreadModel,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn child(root: &Poa, name: &str, policies: &[PoaPolicy]) -> Poa {
    root.create_poa(name, Some(&root.the_poa_manager()), policies).unwrap()
}

fn raises(call: Result<i32, SystemException>) -> (SystemExceptionKind, Minor, CompletionStatus) {
    let exception = call.unwrap_err();
    (exception.kind, exception.minor, exception.completed)
}

fn arc(work: Work) -> Arc<dyn Servant> {
    Arc::new(WorkerSkeleton::new(work))
}

#[test]
fn current_knows_object_and_poa_and_what_was_around_it() {
    for mode in MODES {
        let orb = mode.orb();
        let root = serving(&orb);
        let poa = child(&root, "child", &[IdAssignment::UserId.into()]);
        let (told, tells) = mpsc::channel();
        let told = Mutex::new(told);
        let inner = Arc::new(Mutex::new(None::<Worker>));
        let next = Arc::clone(&inner);
        let (work, _watch) = Work::acting("current", move |what| {
            let tell = || {
                let id = PoaCurrent.get_object_id().map_err(SystemException::from)?;
                let poa = PoaCurrent.get_poa().map_err(SystemException::from)?;
                let reference = PoaCurrent.get_reference().map_err(SystemException::from)?;
                let said = (id.to_string(), poa.the_name().to_owned(), reference);
                told.lock().unwrap().send(said).unwrap();
                Ok::<_, ActError>(())
            };
            tell()?;
            if what == "nest" {
                let worker = next.lock().unwrap().clone();
                worker.unwrap().act("inner")?;
                tell()?; // The outer one is current again.
            }
            Ok(())
        });
        let work = Arc::new(work);
        let outer = poa.activate_with_id("outer", WorkerSkeleton::new(Arc::clone(&work))).unwrap();
        let other = poa.activate_with_id("inner", WorkerSkeleton::new(Arc::clone(&work))).unwrap();
        *inner.lock().unwrap() = Some(other.clone());
        for _ in 0..TIMES {
            outer.act("nest").unwrap();
            let said: Vec<_> = tells.try_iter().collect();
            let ids: Vec<&str> = said.iter().map(|(id, ..)| id.as_str()).collect();
            assert_eq!(ids, ["outer", "inner", "outer"], "{mode:?}");
            assert!(said.iter().all(|(_, poa, _)| poa == "child"), "{mode:?}");
            assert_eq!(said[1].2, *other.as_object(), "{mode:?}");
        }
        assert!(PoaCurrent.get_object_id().is_err(), "{mode:?}: outside there is none");
        *inner.lock().unwrap() = None;
        orb.shutdown(true);
    }
}

#[test]
fn a_poa_manager_that_holds_lets_calls_wait() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let manager = orb.root_poa().unwrap().the_poa_manager();
        for _ in 0..TIMES {
            assert_eq!(worker.add(1, 1), Ok(2));
        }
        manager.hold_requests(false).unwrap();
        let caller = {
            let worker = worker.clone();
            std::thread::spawn(move || worker.add(2, 2))
        };
        let begin = std::time::Instant::now();
        while manager.requests_held() == 0 {
            assert!(begin.elapsed() < PATIENCE, "{mode:?}: the call is not held");
            std::thread::yield_now();
        }
        assert!(!caller.is_finished(), "{mode:?}");
        manager.activate().unwrap();
        assert_eq!(caller.join().unwrap(), Ok(4), "{mode:?}");
        assert_eq!(worker.add(3, 3), Ok(6), "{mode:?}");
        orb.shutdown(true);
    }
}

#[test]
fn a_poa_manager_that_discards_or_is_inactive_refuses_calls() {
    let mut outcomes = Vec::new();
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let manager = orb.root_poa().unwrap().the_poa_manager();
        for _ in 0..TIMES {
            assert_eq!(worker.add(1, 1), Ok(2));
        }
        manager.discard_requests(false).unwrap();
        let discarded = raises(worker.add(1, 1));
        manager.activate().unwrap();
        assert_eq!(worker.add(1, 1), Ok(2), "{mode:?}: active again");
        manager.deactivate(false, false).unwrap();
        let inactive = raises(worker.add(1, 1));
        assert_eq!(discarded.0, SystemExceptionKind::Transient, "{mode:?}");
        assert_eq!(inactive.0, SystemExceptionKind::ObjAdapter, "{mode:?}");
        outcomes.push((discarded, inactive));
        orb.shutdown(true);
    }
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
}

#[test]
fn a_deactivated_servant_is_not_called_and_not_kept() {
    let mut outcomes = Vec::new();
    for mode in MODES {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "child", &[IdAssignment::UserId.into()]);
        let mut watches: Vec<Watch> = Vec::new();
        let mut reference = None;
        // More lives than a reference keeps shortcuts for.
        for life in 0..20 {
            let (work, watch) = Work::new(&format!("life {life}"));
            let typed = poa.activate_with_id("object", WorkerSkeleton::new(work)).unwrap();
            let worker = reference.get_or_insert_with(|| through_text(&orb, &typed));
            for _ in 0..TIMES {
                let name = worker.name();
                assert_eq!(name, Ok(format!("life {life}")), "{mode:?}: the servant of this life");
            }
            poa.deactivate_object(&ObjectId::from("object")).unwrap();
            // Over a connection, the servant is left after its reply.
            let begin = std::time::Instant::now();
            while watch.is_alive() {
                assert!(!mode.is_collocated(), "{mode:?}: the reference keeps life {life}");
                assert!(begin.elapsed() < PATIENCE, "{mode:?}: the servant stays");
                std::thread::yield_now();
            }
            outcomes.push(raises(worker.add(1, 1)));
            watches.push(watch);
        }
        orb.shutdown(true);
    }
    assert_eq!(outcomes[0].0, SystemExceptionKind::ObjectNotExist);
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
}

#[test]
fn deactivation_waits_for_the_call_that_is_inside() {
    for mode in MODES {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "child", &[IdAssignment::UserId.into()]);
        let id = ObjectId::from("itself");
        let itself = (poa.clone(), id.clone());
        let (work, watch) = Work::acting("deactivates itself", move |_| {
            itself.0.deactivate_object(&itself.1).map_err(SystemException::from)?;
            Ok(())
        });
        let worker = poa.activate_with_id("itself", WorkerSkeleton::new(work)).unwrap();
        for _ in 0..TIMES {
            assert_eq!(worker.add(1, 1), Ok(2));
        }
        worker.act("deactivate").unwrap();
        let gone = raises(worker.add(1, 1)).0;
        assert_eq!(gone, SystemExceptionKind::ObjectNotExist, "{mode:?}");
        let begin = std::time::Instant::now();
        while watch.is_alive() {
            assert!(begin.elapsed() < PATIENCE, "{mode:?}: the servant stays");
            std::thread::yield_now();
        }
        orb.shutdown(true);
    }
}

#[test]
fn calls_race_with_deactivation_and_never_meet_a_servant_that_is_gone() {
    for mode in [Mode::ThroughPoa, Mode::Direct] {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "child", &[IdAssignment::UserId.into()]);
        let reference = poa.create_reference_with_id(&"o".into(), Worker::REPOSITORY_ID).unwrap();
        let worker = Worker::unchecked_narrow(reference);
        let done = Arc::new(AtomicUsize::new(0));
        let served = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let worker = worker.clone();
                let (done, served) = (Arc::clone(&done), Arc::clone(&served));
                std::thread::spawn(move || {
                    while done.load(Ordering::Relaxed) == 0 {
                        match worker.name() {
                            Ok(name) => {
                                assert_eq!(name, "a servant with a long name");
                                served.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(e) => assert_eq!(e.kind, SystemExceptionKind::ObjectNotExist),
                        }
                    }
                })
            })
            .collect();
        for round in 0..=300 {
            let (work, _watch) = Work::new("a servant with a long name");
            poa.activate_with_id("o", WorkerSkeleton::new(work)).unwrap();
            std::thread::yield_now();
            // On a busy machine no caller may have had its turn in any of the rounds.
            let begin = std::time::Instant::now();
            while round == 300 && served.load(Ordering::Relaxed) == 0 {
                assert!(begin.elapsed() < PATIENCE, "{mode:?}: no call is served");
                std::thread::yield_now();
            }
            poa.deactivate_object(&"o".into()).unwrap();
        }
        done.store(1, Ordering::Relaxed);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        orb.shutdown(true);
    }
}

/// Incarnates workers, and counts.
struct Activator {
    incarnated: Arc<AtomicUsize>,
    forward: Option<Worker>,
}

impl ServantActivator for Activator {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.incarnated.fetch_add(1, Ordering::SeqCst);
        match &self.forward {
            Some(worker) => Err(ServantRefusal::ForwardRequest(worker.as_object().clone())),
            None => Ok(arc(Work::new(&id.to_string()).0)),
        }
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}

const WITH_MANAGER: [PoaPolicy; 2] = [
    PoaPolicy::IdAssignment(IdAssignment::UserId),
    PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
];

fn reference(poa: &Poa, id: &str) -> Worker {
    let object = poa.create_reference_with_id(&id.into(), Worker::REPOSITORY_ID).unwrap();
    let text = object.to_string();
    Worker::unchecked_narrow(poa.orb().string_to_object(&text).unwrap())
}

#[test]
fn a_servant_activator_is_asked_once_a_life() {
    for mode in MODES {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "child", &WITH_MANAGER);
        let incarnated = Arc::new(AtomicUsize::new(0));
        let activator = Activator { incarnated: Arc::clone(&incarnated), forward: None };
        poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
        let worker = reference(&poa, "made");
        for life in 1..=3 {
            for _ in 0..TIMES {
                assert_eq!(worker.name(), Ok("made".to_owned()), "{mode:?}");
                assert_eq!(incarnated.load(Ordering::SeqCst), life, "{mode:?}");
            }
            poa.deactivate_object(&"made".into()).unwrap();
        }
        orb.shutdown(true);
    }
}

/// Gives a worker for each request, with a cookie; notes both calls.
#[derive(Default)]
struct Locator {
    notes: Mutex<Vec<String>>,
    forward: Mutex<Option<Worker>>,
}

struct Shared(Arc<Locator>);

impl ServantLocator for Shared {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        self.0.notes.lock().unwrap().push(format!("pre {operation}"));
        match &*self.0.forward.lock().unwrap() {
            Some(worker) => Err(ServantRefusal::ForwardRequest(worker.as_object().clone())),
            None => Ok((arc(Work::new(&id.to_string()).0), Box::new(operation.len()))),
        }
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        operation: &str,
        cookie: Cookie,
        _: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        assert_eq!(cookie.downcast_ref(), Some(&operation.len()), "the cookie of this request");
        self.0.notes.lock().unwrap().push(format!("post {operation}"));
        Ok(())
    }
}

fn with_locator(root: &Poa) -> (Poa, Arc<Locator>) {
    let mut policies = WITH_MANAGER.to_vec();
    policies.push(ServantRetention::NonRetain.into());
    let poa = child(root, "located", &policies);
    let locator = Arc::new(Locator::default());
    let shared = Shared(Arc::clone(&locator));
    poa.set_servant_manager(ServantManager::locator(shared)).unwrap();
    (poa, locator)
}

#[test]
fn a_servant_locator_is_asked_before_and_after_each_call() {
    for mode in MODES {
        let orb = mode.orb();
        let (poa, locator) = with_locator(&serving(&orb));
        let worker = reference(&poa, "located");
        for round in 0..TIMES {
            assert_eq!(worker.name(), Ok("located".to_owned()), "{mode:?}");
            let begin = std::time::Instant::now();
            // Over a connection, `postinvoke` comes after the reply.
            while locator.notes.lock().unwrap().len() < 2 {
                assert!(begin.elapsed() < PATIENCE, "{mode:?}, {round}");
                std::thread::yield_now();
            }
            let notes = std::mem::take(&mut *locator.notes.lock().unwrap());
            assert_eq!(notes, ["pre _get_name", "post _get_name"], "{mode:?}, {round}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn a_default_servant_is_called_by_every_reference() {
    for mode in MODES {
        let orb = mode.orb();
        let policies = [
            PoaPolicy::IdAssignment(IdAssignment::UserId),
            RequestProcessing::DefaultServant.into(),
            PoaPolicy::IdUniqueness(corbie::IdUniqueness::MultipleId),
        ];
        let poa = child(&serving(&orb), "child", &policies);
        let (told, tells) = mpsc::channel();
        let told = Mutex::new(told);
        let (work, _watch) = Work::acting("default", move |_| {
            let id = PoaCurrent.get_object_id().map_err(SystemException::from)?;
            told.lock().unwrap().send(id.to_string()).unwrap();
            Ok(())
        });
        poa.set_servant(arc(work)).unwrap();
        for id in ["a", "b"] {
            let worker = reference(&poa, id);
            for _ in 0..TIMES {
                worker.act("who").unwrap();
                assert_eq!(tells.recv_timeout(PATIENCE).unwrap(), id, "{mode:?}");
            }
        }
        orb.shutdown(true);
    }
}

#[test]
fn forwards_are_followed_and_remembered() {
    for mode in MODES {
        let orb = mode.orb();
        let root = serving(&orb);
        let (target, _watch) = worker(&orb);
        // By a servant that does nothing else.
        let moved = root.activate_object(Arc::new(ForwardServant::new(target.as_object().clone())));
        let moved = root.id_to_reference(&moved.unwrap()).unwrap();
        let moved = through_text(&orb, &Worker::unchecked_narrow(moved));
        // By a servant activator: only the first call asks it.
        let poa = child(&root, "forwarding", &WITH_MANAGER);
        let incarnated = Arc::new(AtomicUsize::new(0));
        let forward = Some(target.clone());
        let activator = Activator { incarnated: Arc::clone(&incarnated), forward };
        poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
        let forwarded = reference(&poa, "elsewhere");
        // By a servant locator.
        let (poa, locator) = with_locator(&root);
        *locator.forward.lock().unwrap() = Some(target.clone());
        let located = reference(&poa, "elsewhere");
        for _ in 0..TIMES {
            for worker in [&moved, &forwarded, &located] {
                assert_eq!(worker.name(), Ok("one".to_owned()), "{mode:?}");
                assert!(worker.as_object().is_a("IDL:Colloc/Named:1.0").unwrap(), "{mode:?}");
            }
        }
        assert_eq!(incarnated.load(Ordering::SeqCst), 1, "{mode:?}: later calls go straight on");
        assert_eq!(locator.notes.lock().unwrap().len(), 1, "{mode:?}: likewise");
        orb.shutdown(true);
    }
}

#[test]
fn a_reference_falls_back_when_what_it_was_forwarded_to_is_gone() {
    for mode in MODES {
        let orb = mode.orb();
        let root = serving(&orb);
        let users = child(&root, "users", &[IdAssignment::UserId.into()]);
        let names = ["first", "second"];
        let targets = names.map(|name| {
            let work = WorkerSkeleton::new(Work::new(name).0);
            users.activate_with_id(name, work).unwrap()
        });
        let (poa, locator) = with_locator(&root);
        let worker = reference(&poa, "elsewhere");
        for (name, target) in names.iter().zip(&targets) {
            *locator.forward.lock().unwrap() = Some(target.clone());
            for _ in 0..TIMES {
                assert_eq!(worker.name(), Ok((*name).to_owned()), "{mode:?}");
            }
            users.deactivate_object(&(*name).into()).unwrap();
        }
        let gone = worker.name().unwrap_err();
        assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist, "{mode:?}");
        orb.shutdown(true);
    }
}

#[test]
fn a_circle_of_forwards_ends() {
    let mut outcomes = Vec::new();
    for mode in MODES {
        let orb = mode.orb();
        let (poa, locator) = with_locator(&serving(&orb));
        let (a, b) = (reference(&poa, "a"), reference(&poa, "b"));
        *locator.forward.lock().unwrap() = Some(b);
        outcomes.push(raises(a.add(1, 1)));
        orb.shutdown(true);
    }
    assert_eq!(outcomes[0].0, SystemExceptionKind::Transient);
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
}

#[test]
fn a_single_thread_poa_lets_one_in_at_a_time_and_itself_again() {
    for mode in MODES {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "single", &[ThreadModel::SingleThread.into()]);
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&inside), Arc::clone(&most));
        let (work, _watch) = Work::acting("single", move |_| {
            let now = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
            counts.1.fetch_max(now, Ordering::SeqCst);
            std::thread::yield_now();
            counts.0.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        });
        let work = Arc::new(work);
        let worker = poa.activate(WorkerSkeleton::new(Arc::clone(&work))).unwrap();
        *work.own.lock().unwrap() = Some(worker.clone());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..50).for_each(|_| worker.act("count").unwrap()));
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1, "{mode:?}");
        if mode.is_collocated() {
            // On one thread: an upcall that calls its own POA is inside of it twice.
            assert_eq!(worker.bounce(Some(&worker), 5), Ok(5), "{mode:?}");
        }
        *work.own.lock().unwrap() = None;
        orb.shutdown(true);
    }
}

#[test]
fn a_main_thread_poa_is_served_by_the_main_thread_only() {
    for mode in MODES {
        let orb = mode.orb();
        let poa = child(&serving(&orb), "main", &[ThreadModel::MainThread.into()]);
        let (work, hear) = teller();
        let worker = poa.activate(WorkerSkeleton::new(work)).unwrap();
        let main = {
            let orb = orb.clone();
            std::thread::spawn(move || orb.run())
        };
        let main_id = main.thread().id();
        for _ in 0..TIMES {
            worker.act("who").unwrap();
            assert_eq!(hear.recv_timeout(PATIENCE), Ok(main_id), "{mode:?}");
        }
        orb.shutdown(true);
        main.join().unwrap();
    }
}

#[derive(Default)]
struct Counting {
    received: AtomicUsize,
    done: AtomicUsize,
}

struct Interceptor(Arc<Counting>);

impl ServerInterceptor for Interceptor {
    fn receive_request(
        &self,
        request: &ServerRequest<'_>,
    ) -> Result<RequestState, SystemException> {
        self.0.received.fetch_add(1, Ordering::SeqCst);
        if request.operation() == "fail" {
            return Err(SystemException::no_permission(Minor::of::<5>(), CompletionStatus::No));
        }
        Ok(None)
    }

    fn request_done(&self, _: &AnsweredRequest<'_>, _: RequestState) {
        self.0.done.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn interceptors_see_every_call_and_may_refuse_it() {
    for mode in MODES {
        let orb = mode.orb();
        let counting = Arc::new(Counting::default());
        let interceptor = Arc::new(Interceptor(Arc::clone(&counting)));
        orb.set_server_interceptors(vec![interceptor]).unwrap();
        let (worker, _watch) = worker(&orb);
        for round in 1..=TIMES {
            assert_eq!(worker.add(1, 1), Ok(2), "{mode:?}");
            assert_eq!(counting.received.load(Ordering::SeqCst), 2 * round - 1, "{mode:?}");
            assert_eq!(worker.fail(0).unwrap_err().minor, 5, "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn policies_of_the_client_hold() {
    for mode in MODES {
        let orb = mode.orb();
        let entered = Arc::new(Barrier::new(2));
        let leave = Arc::new(Barrier::new(2));
        let barriers = (Arc::clone(&entered), Arc::clone(&leave));
        let (work, _watch) = Work::acting("slow", move |what| {
            if what == "wait" {
                barriers.0.wait();
                barriers.1.wait();
            }
            Ok(())
        });
        let worker = serving(&orb).activate(WorkerSkeleton::new(work)).unwrap();
        for _ in 0..TIMES {
            worker.act("").unwrap();
        }
        // A time-out that is asked for is kept, whichever thread runs the servant.
        // It is long enough for a busy machine to let the servant begin.
        let soon = [Policy::RelativeRoundtripTimeout(Duration::from_secs(2))];
        let hasty = worker.set_policy_overrides(&soon, SetOverrideType::Add).unwrap();
        hasty.act("").unwrap();
        let caller = std::thread::spawn(move || hasty.act("wait"));
        entered.wait();
        let Err(ActError::System(late)) = caller.join().unwrap() else { panic!("{mode:?}") };
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{mode:?}");
        leave.wait();
        // Likewise where the thread or the ORB asks for it, also after calls without it.
        let none_left = [Policy::RelativeRoundtripTimeout(Duration::ZERO)];
        let scope = orb.policy_current().scope(&none_left).unwrap();
        let Err(ActError::System(late)) = worker.act("") else { panic!("{mode:?}: thread") };
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{mode:?}");
        drop(scope);
        worker.act("").unwrap();
        let manager = orb.policy_manager();
        manager.set_policy_overrides(&none_left, SetOverrideType::Add).unwrap();
        let Err(ActError::System(late)) = worker.act("") else { panic!("{mode:?}: ORB") };
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{mode:?}");
        manager.set_policy_overrides(&[], SetOverrideType::Set).unwrap();
        worker.act("").unwrap();
        orb.shutdown(true);
    }
}

#[test]
fn a_poa_has_a_policy_of_its_own() {
    let orb = Mode::ThroughPoa.orb();
    let root = serving(&orb);
    for (policy, expected) in [
        (Collocation::OrbDefault, true),
        (Collocation::None, false),
        (Collocation::ThroughPoa, true),
        (Collocation::Direct, true),
    ] {
        let poa = child(&root, &format!("{policy:?}"), &[policy.into()]);
        let (work, hear) = teller();
        let worker = poa.activate(WorkerSkeleton::new(work)).unwrap();
        for _ in 0..TIMES {
            assert_eq!(serves_here(&worker, &hear), expected, "{policy:?}");
        }
    }
    orb.shutdown(true);
}

#[test]
fn an_endpoint_of_a_priority_group_is_collocated_for_that_group_only() {
    let listen = |group: &str| format!("iiop://127.0.0.1:0/priority_group={group}");
    let orb = |endpoint: &str, group: &str| {
        let arguments = ["-ORBListenEndpoints", endpoint, "-ORBPriorityGroup", group];
        corbie::Orb::init(arguments.iter().chain(Mode::Direct.arguments()).copied()).unwrap()
    };
    let server = orb(&listen("7"), "7");
    let (work, hear) = teller();
    let worker = serving(&server).activate(WorkerSkeleton::new(work)).unwrap();
    let groups = [("7", true), ("8", false), ("none", false)];
    for (group, expected) in groups {
        let client = orb("iiop://127.0.0.1:0", group);
        let worker = through_text(&client, &worker);
        for _ in 0..TIMES {
            assert_eq!(serves_here(&worker, &hear), expected, "group {group}");
        }
        client.shutdown(true);
    }
    assert!(serves_here(&worker, &hear), "the server is of the group itself");
    server.shutdown(true);
}

#[test]
fn objects_are_found_by_every_protocol() {
    let endpoints = "uiop://,iiop://127.0.0.1:0";
    let orb = |endpoints: &str| {
        let arguments = ["-ORBListenEndpoints", endpoints];
        corbie::Orb::init(arguments.iter().chain(Mode::Direct.arguments()).copied()).unwrap()
    };
    for endpoints in [endpoints, "uiop://", "iiop://127.0.0.1:0"] {
        let (server, client) = (orb(endpoints), orb("iiop://127.0.0.1:0"));
        let (work, hear) = teller();
        let worker = serving(&server).activate(WorkerSkeleton::new(work)).unwrap();
        let worker = through_text(&client, &worker);
        for _ in 0..TIMES {
            assert!(serves_here(&worker, &hear), "{endpoints}");
        }
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn after_shutdown_calls_fail_alike_and_nothing_is_kept() {
    let mut outcomes = Vec::new();
    for mode in MODES {
        let (server, client) = (mode.orb(), mode.orb());
        let (work, watch) = Work::new("kept by its own reference");
        let work = Arc::new(work);
        let poa = serving(&server);
        let own = poa.activate(WorkerSkeleton::new(Arc::clone(&work))).unwrap();
        *work.own.lock().unwrap() = Some(own.clone());
        drop(work);
        let worker = through_text(&client, &own);
        for _ in 0..TIMES {
            assert_eq!(worker.bounce(Some(&own), 1), Ok(1), "{mode:?}");
            assert_eq!(own.add(1, 1), Ok(2), "{mode:?}");
        }
        drop(poa);
        server.shutdown(true);
        let begin = std::time::Instant::now();
        while watch.is_alive() {
            // A servant that holds its own reference goes with its POA.
            assert!(begin.elapsed() < PATIENCE, "{mode:?}: the servant is kept");
            std::thread::yield_now();
        }
        outcomes.push((raises(worker.add(1, 1)).0, raises(own.add(1, 1)).0));
        client.shutdown(true);
        outcomes.push((raises(worker.add(1, 1)).0, raises(own.add(1, 1)).0));
    }
    let of_first: Vec<_> = outcomes[..2].to_vec();
    assert_eq!(of_first[1].0, SystemExceptionKind::BadInvOrder);
    assert!(outcomes.chunks(2).all(|outcome| outcome == of_first), "{outcomes:?}");
}

#[test]
fn a_servant_that_shuts_its_orb_down_comes_back() {
    for mode in MODES {
        let orb = mode.orb();
        let inside = orb.clone();
        let (work, _watch) = Work::acting("shuts down", move |what| {
            if what == "shutdown" {
                inside.shutdown(true);
            }
            Ok(())
        });
        let worker = serving(&orb).activate(WorkerSkeleton::new(work)).unwrap();
        for _ in 0..TIMES {
            worker.act("").unwrap();
        }
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || done.send(worker.act("shutdown")));
        let outcome = is_done.recv_timeout(PATIENCE).expect("the servant waits for itself");
        assert_eq!(outcome, Ok(()), "{mode:?}");
    }
}

#[test]
fn shutdown_waits_for_calls_that_are_inside() {
    for mode in MODES {
        let orb = mode.orb();
        let (entered, leave) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let barriers = (Arc::clone(&entered), Arc::clone(&leave));
        let finished = Arc::new(AtomicUsize::new(0));
        let finishes = Arc::clone(&finished);
        let (work, _watch) = Work::acting("slow", move |what| {
            if what == "wait" {
                barriers.0.wait();
                barriers.1.wait();
                finishes.store(1, Ordering::SeqCst);
            }
            Ok(())
        });
        let worker = serving(&orb).activate(WorkerSkeleton::new(work)).unwrap();
        for _ in 0..TIMES {
            worker.act("").unwrap();
        }
        let caller = std::thread::spawn(move || worker.act("wait"));
        entered.wait();
        let stopping = {
            let (orb, finished) = (orb.clone(), Arc::clone(&finished));
            std::thread::spawn(move || {
                orb.shutdown(true);
                finished.load(Ordering::SeqCst)
            })
        };
        leave.wait();
        assert_eq!(caller.join().unwrap(), Ok(()), "{mode:?}");
        assert_eq!(stopping.join().unwrap(), 1, "{mode:?}: shutdown came before the servant's end");
    }
}
