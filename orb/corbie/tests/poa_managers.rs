//! The states of POA managers as clients and servers see them, with every server concurrency
//! strategy (CORBA 3.3 P1 §15.3.2, §15.3.3): requests that wait block no thread, keep their order, are
//! bounded, and are answered one way or the other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::{Marshal, Operation, Reply, ReplyStub};
use corbie::{
    IdAssignment, Interface, Minor, Object, ObjectId, Orb, Poa, PoaManager, PoaManagerError,
    PoaManagerPolicy, PoaManagerState, PoaPolicy, ReplySink, RequestProcessing, Servant,
    ServantActivator, ServantManager, ServantRefusal, ServerRequest, SystemException,
    SystemExceptionKind, TypedServant, minor,
};
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread, loopback_orb};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::scope;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose root POA holds requests, and a client of it.
struct Scene {
    server: Orb,
    client: Orb,
    poa: Poa,
    manager: PoaManager,
    echo: Echo,
    noted: mpsc::Receiver<i64>,
    strategy: &'static str,
}

impl Scene {
    fn new(strategy: &'static str, more: &[&'static str]) -> Self {
        let mut arguments = vec!["-ORBServerConcurrency", strategy, "-ORBRequestTimeout", "60s"];
        arguments.extend(more);
        let (server, client) =
            (loopback_orb(&arguments), loopback_orb(&["-ORBRequestTimeout", "60s"]));
        lend_a_thread(&server);
        let poa = server.root_poa().unwrap();
        let manager = poa.the_poa_manager();
        let (servant, noted) = EchoServant::new();
        let echo = as_client(&client, &poa.activate(servant).unwrap());
        Scene { server, client, poa, manager, echo, noted, strategy }
    }

    fn each(run: impl Fn(Scene)) {
        STRATEGIES.iter().for_each(|strategy| run(Scene::new(strategy, &[])));
    }

    /// Waits until so many requests are held.
    fn wait_until_held(&self, count: usize) {
        wait_until(self.strategy, || self.manager.requests_held() == count);
    }

    fn end(self) {
        self.client.shutdown(true);
        self.server.shutdown(true);
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: waited in vain");
        std::thread::yield_now();
    }
}

/// Kind and minor code of an exception.
fn of(outcome: Result<i64, SystemException>) -> (SystemExceptionKind, Minor) {
    let exception = outcome.unwrap_err();
    (exception.kind, exception.minor)
}

const DISCARDED: (SystemExceptionKind, Minor) =
    (SystemExceptionKind::Transient, minor::TRANSIENT_REQUEST_DISCARDED);
const INACTIVE: (SystemExceptionKind, Minor) =
    (SystemExceptionKind::ObjAdapter, minor::OBJ_ADAPTER_UNKNOWN_ADAPTER);

#[test]
fn a_manager_begins_holding_and_serves_in_order_what_it_held() {
    Scene::each(|scene| {
        assert_eq!(scene.manager.get_state(), PoaManagerState::Holding);
        for value in 0..100 {
            scene.echo.note(value).unwrap();
        }
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.double(21));
            scene.wait_until_held(101);
            assert!(scene.noted.try_recv().is_err(), "{}: an upcall while holding", scene.strategy);
            scene.manager.activate().unwrap();
            // These come while the others are being served, or after.
            for value in 100..200 {
                scene.echo.note(value).unwrap();
            }
            assert_eq!(call.join().unwrap().unwrap(), 42);
        });
        for value in 0..200 {
            let noted = scene.noted.recv_timeout(PATIENCE).unwrap();
            assert_eq!(noted, value, "{}: out of order", scene.strategy);
        }
        assert_eq!(scene.manager.requests_held(), 0);
        scene.end();
    });
}

/// A name that will be bound, and the objects of a POA that will be there.
#[test]
fn clients_of_a_server_that_is_not_ready_wait_for_what_it_has_not_made_yet() {
    Scene::each(|scene| {
        let later = || {
            let policies = PoaPolicy::PERSISTENT_USER_ID;
            let poa = scene.poa.create_poa("later", None, &policies).unwrap();
            let id = ObjectId::from("echo");
            let echo = poa.create_reference_with_id(&id, Echo::REPOSITORY_ID).unwrap();
            (poa, id, Echo::from_object(echo))
        };
        let (poa, _, of_before) = later();
        poa.destroy(true, true).unwrap();
        let of_before = as_client(&scene.client, &of_before);
        let body = of_before.as_object().ior().iiop_profiles().unwrap()[0].clone();
        let url = |name: &str| format!("corbaloc:iiop:1.2@{}:{}/{name}", body.host, body.port);
        let named = |name: &str| scene.client.string_to_object(&url(name)).unwrap();
        let by_name = named("Echo");
        scope(|threads| {
            let calls = [of_before, Echo::from_object(by_name)].map(|echo| {
                // Some clients ask first where it is.
                threads.spawn(move || {
                    echo.as_object().locate().unwrap();
                    echo.double(21)
                })
            });
            scene.wait_until_held(2);
            let (poa, id, _) = later();
            poa.activate_object_with_id(&id, Arc::new(EchoServant::new().0)).unwrap();
            poa.the_poa_manager().activate().unwrap();
            scene.server.bind_object_key("Echo", scene.echo.as_object());
            scene.manager.activate().unwrap();
            for call in calls {
                assert_eq!(call.join().unwrap().unwrap(), 42, "{}", scene.strategy);
            }
        });
        // Now that all is there, what is not is said not to be.
        let (kind, _) = of(Echo::from_object(named("Nothing")).double(1));
        assert_eq!(kind, SystemExceptionKind::ObjectNotExist, "{}", scene.strategy);
        scene.end();
    });
}

#[test]
fn what_one_manager_holds_is_not_in_the_way_of_another() {
    Scene::each(|scene| {
        let other = scene.poa.create_poa("other", None, &[]).unwrap();
        other.the_poa_manager().activate().unwrap();
        let open = as_client(&scene.client, &other.activate(EchoServant::new().0).unwrap());
        scope(|threads| {
            let calls: Vec<_> = (0..4)
                .map(|value| {
                    threads.spawn({
                        let echo = &scene.echo;
                        move || echo.double(value)
                    })
                })
                .collect();
            scene.wait_until_held(4);
            // Also over a connection on which a oneway waits.
            scene.echo.note(1).unwrap();
            assert_eq!(open.double(4).unwrap(), 8, "{}", scene.strategy);
            scene.manager.activate().unwrap();
            for (value, call) in calls.into_iter().enumerate() {
                assert_eq!(call.join().unwrap().unwrap(), 2 * value as i64);
            }
        });
        scene.end();
    });
}

#[test]
fn discarding_answers_what_waits_and_what_comes() {
    Scene::each(|scene| {
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.double(1));
            scene.wait_until_held(1);
            scene.manager.discard_requests(false).unwrap();
            assert_eq!(of(call.join().unwrap()), DISCARDED, "{}", scene.strategy);
        });
        assert_eq!(scene.manager.get_state(), PoaManagerState::Discarding);
        assert_eq!(of(scene.echo.double(1)), DISCARDED);
        scene.manager.activate().unwrap();
        assert_eq!(scene.echo.double(1).unwrap(), 2);
        scene.manager.hold_requests(false).unwrap();
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.double(3));
            scene.wait_until_held(1);
            scene.manager.activate().unwrap();
            assert_eq!(call.join().unwrap().unwrap(), 6);
        });
        scene.end();
    });
}

#[test]
fn inactive_is_for_good() {
    Scene::each(|scene| {
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.double(1));
            scene.wait_until_held(1);
            scene.manager.deactivate(true, true).unwrap();
            assert_eq!(of(call.join().unwrap()), INACTIVE, "{}", scene.strategy);
        });
        assert_eq!(of(scene.echo.double(1)), INACTIVE);
        assert_eq!(scene.manager.get_state(), PoaManagerState::Inactive);
        assert_eq!(scene.manager.activate(), Err(PoaManagerError::AdapterInactive));
        assert_eq!(scene.manager.hold_requests(false), Err(PoaManagerError::AdapterInactive));
        assert_eq!(scene.manager.discard_requests(true), Err(PoaManagerError::AdapterInactive));
        scene.manager.deactivate(false, true).unwrap();
        // A POA of another manager is not concerned.
        let other = scene.poa.create_poa("other", None, &[]).unwrap();
        other.the_poa_manager().activate().unwrap();
        let open = as_client(&scene.client, &other.activate(EchoServant::new().0).unwrap());
        assert_eq!(open.double(1).unwrap(), 2);
        scene.end();
    });
}

#[test]
fn beyond_the_limits_requests_are_refused_and_the_rest_is_served() {
    for strategy in STRATEGIES {
        let scene =
            Scene::new(strategy, &["-ORBHeldRequestsMax", "3", "-ORBHeldOctetsMax", "64KiB"]);
        scope(|threads| {
            let calls: Vec<_> = (0..3).map(|_| threads.spawn(|| scene.echo.double(1))).collect();
            scene.wait_until_held(3);
            assert_eq!(of(scene.echo.double(1)), DISCARDED, "{strategy}");
            scene.manager.activate().unwrap();
            calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap().unwrap(), 2));
        });
        scene.manager.hold_requests(false).unwrap();
        let octets = vec![7; 40_000];
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.octets(&octets));
            scene.wait_until_held(1);
            let refused = scene.echo.octets(&octets).unwrap_err();
            assert_eq!(refused.minor, minor::TRANSIENT_REQUEST_DISCARDED, "{strategy}");
            scene.manager.activate().unwrap();
            assert_eq!(call.join().unwrap().unwrap(), octets);
        });
        scene.end();
    }
}

#[test]
fn a_manager_may_have_a_limit_of_its_own() {
    let scene = Scene::new("thread-pool", &[]);
    let factory = scene.poa.the_poa_manager_factory();
    let policies = [PoaManagerPolicy::HeldRequestsMax(1)];
    let manager = factory.create_poa_manager("small", &policies).unwrap();
    let poa = scene.poa.create_poa("small", Some(&manager), &[]).unwrap();
    let echo = as_client(&scene.client, &poa.activate(EchoServant::new().0).unwrap());
    scope(|threads| {
        let call = threads.spawn(|| echo.double(1));
        wait_until("one is held", || manager.requests_held() == 1);
        assert_eq!(of(echo.double(1)), DISCARDED);
        manager.activate().unwrap();
        assert_eq!(call.join().unwrap().unwrap(), 2);
    });
    let twice = [policies[0], policies[0]];
    let refused = factory.create_poa_manager("twice", &twice).unwrap_err();
    assert!(matches!(refused, PoaManagerError::InvalidPolicy { index: 1, .. }), "{refused}");
    scene.end();
}

#[test]
fn managers_are_made_listed_and_found_by_name() {
    let scene = Scene::new("thread-pool", &[]);
    let factory = scene.poa.the_poa_manager_factory();
    assert_eq!(scene.manager.get_id(), "RootPOAManager");
    assert_eq!(factory.find("RootPOAManager"), Some(scene.manager.clone()));
    let made = factory.create_poa_manager("mine", &[]).unwrap();
    assert_eq!(made.get_id(), "mine");
    let again = factory.create_poa_manager("mine", &[]).unwrap_err();
    assert_eq!(again, PoaManagerError::ManagerAlreadyExists("mine".to_owned()));
    let child = scene.poa.create_poa("child", Some(&made), &[]).unwrap();
    assert_eq!(child.the_poa_manager(), made);
    let own = scene.poa.create_poa("own", None, &[]).unwrap().the_poa_manager();
    let mut ids: Vec<_> = factory.list().iter().map(|m| m.get_id().to_owned()).collect();
    ids.sort();
    let mut expected = vec!["RootPOAManager", "mine", own.get_id()];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    assert_eq!(factory.find("missing"), None);
    scene.end();
}

/// Says that it has begun, and ends when it is told to.
struct Blocking {
    begun: mpsc::Sender<()>,
    end: Mutex<mpsc::Receiver<()>>,
    has_ended: Arc<AtomicBool>,
}

impl Servant for Blocking {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.begun.send(()).unwrap();
        self.end.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        self.has_ended.store(true, Ordering::SeqCst);
        request.reply(&|e| i64::encode(&0, e))
    }
}

impl TypedServant for Blocking {
    type Reference = Echo;
}

#[test]
fn holding_with_completion_waits_for_the_upcalls_under_way() {
    Scene::each(|scene| {
        scene.manager.activate().unwrap();
        let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let has_ended = Arc::new(AtomicBool::new(false));
        let servant = Blocking { begun, end: Mutex::new(ends), has_ended: Arc::clone(&has_ended) };
        let blocking = as_client(&scene.client, &scene.poa.activate(servant).unwrap());
        scope(|threads| {
            let call = threads.spawn(|| blocking.double(1));
            begins.recv_timeout(PATIENCE).unwrap();
            let waiting = threads.spawn({
                let (manager, has_ended) = (&scene.manager, &has_ended);
                move || {
                    manager.hold_requests(true).unwrap();
                    has_ended.load(Ordering::SeqCst)
                }
            });
            wait_until("holding", || scene.manager.get_state() == PoaManagerState::Holding);
            end.send(()).unwrap();
            assert!(waiting.join().unwrap(), "{}: returned too early", scene.strategy);
            call.join().unwrap().unwrap();
            let late = threads.spawn(|| scene.echo.double(4));
            scene.wait_until_held(1);
            scene.manager.activate().unwrap();
            assert_eq!(late.join().unwrap().unwrap(), 8);
        });
        scene.end();
    });
}

#[test]
fn waiting_for_completion_ends_when_another_thread_changes_the_state() {
    let scene = Scene::new("thread-pool", &[]);
    scene.manager.activate().unwrap();
    let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel());
    let servant = Blocking { begun, end: Mutex::new(ends), has_ended: Arc::default() };
    let blocking = as_client(&scene.client, &scene.poa.activate(servant).unwrap());
    scope(|threads| {
        let call = threads.spawn(|| blocking.double(1));
        begins.recv_timeout(PATIENCE).unwrap();
        let waiting = threads.spawn({
            let manager = &scene.manager;
            move || manager.hold_requests(true)
        });
        wait_until("holding", || scene.manager.get_state() == PoaManagerState::Holding);
        scene.manager.activate().unwrap();
        // The upcall is still under way.
        waiting.join().unwrap().unwrap();
        end.send(()).unwrap();
        call.join().unwrap().unwrap();
    });
    scene.end();
}

/// Asks its POA manager for something that would wait for this very upcall.
struct WaitsForItself {
    manager: PoaManager,
    outcomes: mpsc::Sender<Result<(), PoaManagerError>>,
}

impl Servant for WaitsForItself {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.outcomes.send(self.manager.hold_requests(true)).unwrap();
        self.outcomes.send(self.manager.discard_requests(true)).unwrap();
        self.outcomes.send(self.manager.deactivate(true, true)).unwrap();
        request.reply(&|e| i64::encode(&0, e))
    }
}

impl TypedServant for WaitsForItself {
    type Reference = Echo;
}

#[test]
fn an_upcall_does_not_wait_for_itself() {
    Scene::each(|scene| {
        scene.manager.activate().unwrap();
        // Of another manager, but of the same ORB.
        let other = scene.poa.create_poa("other", None, &[]).unwrap().the_poa_manager();
        for manager in [scene.manager.clone(), other] {
            let state = manager.get_state();
            let (outcomes, seen) = mpsc::channel();
            let servant = WaitsForItself { manager: manager.clone(), outcomes };
            let echo = as_client(&scene.client, &scene.poa.activate(servant).unwrap());
            echo.double(1).unwrap();
            for outcome in seen.try_iter() {
                let Err(PoaManagerError::System(exception)) = outcome else {
                    panic!("{}: {outcome:?}", scene.strategy)
                };
                assert_eq!(exception.kind, SystemExceptionKind::BadInvOrder);
                assert_eq!(exception.minor, minor::BAD_INV_ORDER_WOULD_DEADLOCK);
            }
            assert_eq!(manager.get_state(), state, "{}: it has changed", scene.strategy);
        }
        scene.end();
    });
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    Scene::each(|scene| {
        let gone = loopback_orb(&[]);
        let theirs = as_client(&gone, &scene.echo);
        theirs.note(1).unwrap();
        scene.wait_until_held(1);
        gone.shutdown(false);
        // Housekeeping notices; then there is room for others.
        scene.wait_until_held(0);
        scene.manager.activate().unwrap();
        assert_eq!(scene.echo.double(1).unwrap(), 2);
        assert!(scene.noted.try_recv().is_err(), "{}", scene.strategy);
        scene.end();
    });
}

#[test]
fn shutting_down_answers_what_waits() {
    Scene::each(|scene| {
        scope(|threads| {
            let call = threads.spawn(|| scene.echo.double(1));
            scene.wait_until_held(1);
            let begun = Instant::now();
            scene.server.shutdown(true);
            let exception = call.join().unwrap().unwrap_err();
            assert_eq!(
                exception.kind,
                SystemExceptionKind::Transient,
                "{}: {exception}",
                scene.strategy
            );
            assert!(begun.elapsed() < PATIENCE, "{}", scene.strategy);
        });
        scene.end();
    });
}

#[test]
fn nothing_is_lost_or_overtaken_while_the_states_change_at_random() {
    for strategy in STRATEGIES {
        // Discarding drops oneways, so it has a run of its own.
        for discards in [false, true] {
            changing_states(strategy, discards);
        }
    }
}

fn changing_states(strategy: &'static str, discards: bool) {
    const CALLS: i64 = 60;
    let scene = Scene::new(strategy, &[]);
    let is_done = AtomicBool::new(false);
    scope(|threads| {
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                let echo = &scene.echo;
                threads.spawn(move || {
                    let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
                    let echo = as_client(&client, echo);
                    for call in 0..CALLS {
                        echo.note(caller * 1_000 + call).unwrap();
                        match echo.double(call) {
                            Ok(doubled) => assert_eq!(doubled, call * 2),
                            Err(exception) => {
                                assert!(discards, "{strategy}: {exception}");
                                assert_eq!((exception.kind, exception.minor), DISCARDED);
                            }
                        }
                    }
                    client.shutdown(true);
                })
            })
            .collect();
        threads.spawn(|| {
            let mut turn = 0u32;
            while !is_done.load(Ordering::Acquire) {
                turn += 1;
                match turn % 3 {
                    0 => scene.manager.hold_requests(turn.is_multiple_of(2)).unwrap(),
                    1 if discards => scene.manager.discard_requests(false).unwrap(),
                    _ => scene.manager.activate().unwrap(),
                }
                std::thread::yield_now();
            }
            scene.manager.activate().unwrap();
        });
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        is_done.store(true, Ordering::Release);
    });
    wait_until(strategy, || scene.manager.requests_held() == 0);
    let mut last = [-1; 4];
    let count = if discards { 0 } else { 4 * CALLS };
    let timeout = |n| if n < count { PATIENCE } else { Duration::ZERO };
    for n in 0..4 * CALLS {
        let Ok(note) = scene.noted.recv_timeout(timeout(n)) else { break };
        let last = &mut last[(note / 1_000) as usize];
        assert!(note % 1_000 > *last, "{strategy}: {note} after {last}");
        *last = note % 1_000;
    }
    if !discards {
        assert_eq!(last, [CALLS - 1; 4], "{strategy}: a oneway was lost");
    }
    scene.end();
}

/// Notes what it got back.
struct Ledger {
    servant: Mutex<Option<Blocking>>,
    returned: Arc<Mutex<Vec<(ObjectId, bool)>>>,
    has_ended: Arc<AtomicBool>,
}

impl ServantActivator for Ledger {
    fn incarnate(&self, _id: &ObjectId, _poa: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        match self.servant.lock().unwrap().take() {
            Some(servant) => Ok(Arc::new(servant)),
            None => Ok(Arc::new(EchoServant::new().0)),
        }
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        _poa: &Poa,
        _servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        _remaining_activations: bool,
    ) {
        assert!(self.has_ended.load(Ordering::SeqCst), "a request is being served");
        self.returned.lock().unwrap().push((id.clone(), cleanup_in_progress));
    }
}

#[test]
fn deactivating_gives_servants_back_once_nobody_is_served() {
    for wait in [true, false] {
        let scene = Scene::new("thread-pool", &[]);
        scene.manager.activate().unwrap();
        let policies = [
            PoaPolicy::IdAssignment(IdAssignment::UserId),
            PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
        ];
        let poa = scene.poa.create_poa("child", None, &policies).unwrap();
        let manager = poa.the_poa_manager();
        manager.activate().unwrap();
        let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let (returned, has_ended) = (Arc::default(), Arc::default());
        let servant = Blocking { begun, end: Mutex::new(ends), has_ended: Arc::clone(&has_ended) };
        let ledger = Ledger {
            servant: Mutex::new(Some(servant)),
            returned: Arc::clone(&returned),
            has_ended: Arc::clone(&has_ended),
        };
        poa.set_servant_manager(ServantManager::activator(ledger)).unwrap();
        let object = poa.create_reference_with_id(&"x".into(), Echo::REPOSITORY_ID).unwrap();
        let echo = as_client(&scene.client, &Echo(object));
        scope(|threads| {
            let call = threads.spawn(|| echo.double(1));
            begins.recv_timeout(PATIENCE).unwrap();
            let deactivating = threads.spawn({
                let (manager, returned) = (&manager, Arc::clone(&returned));
                move || {
                    manager.deactivate(true, wait).unwrap();
                    returned.lock().unwrap().len()
                }
            });
            wait_until("inactive", || manager.get_state() == PoaManagerState::Inactive);
            assert_eq!(of(echo.double(1)), INACTIVE);
            end.send(()).unwrap();
            call.join().unwrap().unwrap();
            let returned_by_then = deactivating.join().unwrap();
            assert!(!wait || returned_by_then == 1, "it did not wait");
        });
        wait_until("etherealized", || !returned.lock().unwrap().is_empty());
        assert_eq!(*returned.lock().unwrap(), [(ObjectId::from("x"), true)]);
        scene.end();
    }
}

static DOUBLED: ReplyStub = ReplyStub {
    operation: Operation::twoway("note"),
    excep_operation: Operation::twoway("note_excep"),
    forward: |reply: &mut Reply, handler: Option<&Object>| {
        let value = reply.results_only(i64::decode)?;
        Echo(handler.unwrap().clone()).note(value)
    },
    exceptions: &[],
};

#[test]
fn replies_wait_for_the_manager_of_their_handler() {
    let scene = Scene::new("thread-pool", &[]);
    scene.manager.activate().unwrap();
    // The handler is an object of the client, whose own manager holds.
    let root = scene.client.root_poa().unwrap();
    let (servant, told) = EchoServant::new();
    let handler = root.activate(servant).unwrap();
    const DOUBLE: Operation = Operation::twoway("double");
    for value in 0..3 {
        let sink = ReplySink::handler(&handler.0, &DOUBLED);
        scene.echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
    }
    let manager = root.the_poa_manager();
    wait_until("replies are held", || manager.requests_held() == 3);
    assert!(told.try_recv().is_err());
    manager.activate().unwrap();
    let mut values: Vec<_> = (0..3).map(|_| told.recv_timeout(PATIENCE).unwrap()).collect();
    // The server may have answered them in another order.
    values.sort_unstable();
    assert_eq!(values, [0, 2, 4]);
    scene.end();
}
