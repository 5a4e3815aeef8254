//! A call of the same process behaves as one over a connection, in every mode: results, exceptions,
//! and whose servant is asked (paper POA §3.1).

#![allow(clippy::unwrap_used)] // also in the functions that the tests use

mod collocated;

use collocated::colloc::Named;
use collocated::{
    Longs, MODES, Mode, RefuseError, Refused, TIMES, Work, Worker, WorkerSkeleton, serves_here,
    serving, teller, through_text, worker,
};
use corbie::{CompletionStatus, Minor, Orb, SystemException, SystemExceptionKind, minor};
use std::time::Duration;

/// What a client can tell of a system exception.
fn told(exception: &SystemException) -> (SystemExceptionKind, Minor, CompletionStatus) {
    (exception.kind, exception.minor, exception.completed)
}

#[test]
fn results_are_the_same_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        for round in 0..TIMES {
            assert_eq!(worker.add(2, 3), Ok(5), "{mode:?}, round {round}");
            assert_eq!(worker.cube(&[1, -2, 3]), Ok(vec![1, -8, 27]), "{mode:?}");
            let described = worker.describe("text", 41);
            assert_eq!(described, Ok(("one: text".to_owned(), 42, 4)), "{mode:?}");
            let level = round as i32;
            worker.set_level(level).unwrap();
            assert_eq!(worker.level(), Ok(level), "{mode:?}");
            assert_eq!(worker.name(), Ok("one".to_owned()), "{mode:?}: of the base");
            assert_eq!(worker.length_of("four"), Ok(4), "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn a_bound_is_checked_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let kinds: Vec<_> =
            (0..TIMES).map(|_| told(&worker.length_of("five!").unwrap_err())).collect();
        assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{mode:?}: {kinds:?}");
        assert_eq!(kinds[0].0, SystemExceptionKind::BadParam, "{mode:?}");
        orb.shutdown(true);
    }
}

#[test]
fn exceptions_are_the_same_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        for _ in 0..TIMES {
            let refused = RefuseError::Refused(Refused { why: "so".to_owned() });
            assert_eq!(worker.refuse("so"), Err(refused), "{mode:?}");
            let expected = [
                (SystemExceptionKind::NoPermission, Minor::of::<7>(), CompletionStatus::No),
                (SystemExceptionKind::ObjectNotExist, Minor::of::<8>(), CompletionStatus::Yes),
                (SystemExceptionKind::Transient, Minor::of::<9>(), CompletionStatus::Maybe),
                (SystemExceptionKind::ObjectNotExist, Minor::of::<10>(), CompletionStatus::No),
            ];
            for (kind, expected) in expected.into_iter().enumerate() {
                let raised = worker.fail(kind as i32).unwrap_err();
                assert_eq!(told(&raised), expected, "{mode:?}, {kind}");
            }
        }
        orb.shutdown(true);
    }
}

#[test]
fn a_panic_is_unknown_in_every_mode_and_the_object_goes_on() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        for _ in 0..TIMES {
            let raised = worker.panics().unwrap_err();
            let unknown = (
                SystemExceptionKind::Unknown,
                minor::UNKNOWN_SERVANT_PANIC,
                CompletionStatus::Maybe,
            );
            assert_eq!(told(&raised), unknown, "{mode:?}");
            assert_eq!(worker.add(1, 1), Ok(2), "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn the_thread_tells_the_modes_apart() {
    for mode in MODES {
        let orb = mode.orb();
        let (work, hear) = teller();
        let reference = serving(&orb).activate(WorkerSkeleton::new(work)).unwrap();
        let worker = through_text(&orb, &reference);
        for _ in 0..TIMES {
            assert_eq!(serves_here(&worker, &hear), mode.is_collocated(), "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn an_object_is_asked_what_it_is_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let object = worker.as_object();
        assert!(object.is_a("IDL:Colloc/Named:1.0").unwrap(), "{mode:?}: a base");
        assert!(object.is_a("IDL:omg.org/CORBA/Object:1.0").unwrap(), "{mode:?}");
        assert!(!object.is_a("IDL:Colloc/Other:1.0").unwrap(), "{mode:?}");
        assert!(!object.non_existent().unwrap(), "{mode:?}");
        assert_eq!(object.repository_id().unwrap(), Worker::REPOSITORY_ID, "{mode:?}");
        assert!(Named::narrow(object).unwrap().is_some(), "{mode:?}");
        orb.shutdown(true);
    }
}

#[test]
fn a_reference_of_the_base_calls_the_same_servant() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let named = Named::from(worker.clone());
        for _ in 0..TIMES {
            assert_eq!(named.name(), Ok("one".to_owned()), "{mode:?}");
            assert_eq!(worker.add(1, 2), Ok(3), "{mode:?}: both views of one reference");
        }
        let wrong = Worker::unchecked_narrow(named.into_object());
        assert_eq!(wrong.add(1, 2), Ok(3), "{mode:?}: derived again");
        orb.shutdown(true);
    }
}

#[test]
fn an_operation_that_the_object_does_not_have_is_refused_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (servant, _noted) = collocated_echo::EchoServant::new();
        let echo = serving(&orb).activate(servant).unwrap();
        let wrong = Worker::unchecked_narrow(echo.0.clone());
        for _ in 0..TIMES {
            let raised = wrong.add(1, 2).unwrap_err();
            assert_eq!(raised.kind, SystemExceptionKind::BadOperation, "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[path = "echo/mod.rs"]
mod collocated_echo;

#[test]
fn a_servant_without_a_view_is_called_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (servant, _noted) = collocated_echo::EchoServant::new();
        let echo = serving(&orb).activate(servant).unwrap();
        for value in 0..TIMES as i64 {
            assert_eq!(echo.double(value).unwrap(), 2 * value, "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn oneways_do_not_wait_for_their_servant_and_keep_their_order() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, watch) = worker(&orb);
        assert_eq!(worker.add(1, 1), Ok(2));
        for round in 0..50 {
            for value in 0..4 {
                worker.note(round * 10 + value).unwrap();
            }
            // A call does not overtake the oneways of its own thread.
            worker.set_level(round).unwrap();
            let noted: Vec<i32> = watch.notes.try_iter().collect();
            let all: Vec<i32> = (0..4).map(|value| round * 10 + value).collect();
            assert_eq!(noted, all, "{mode:?}, round {round}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn a_oneway_to_itself_under_a_lock_does_not_deadlock() {
    for mode in MODES {
        let orb = mode.orb();
        let lock = std::sync::Arc::new(std::sync::Mutex::new(None::<Worker>));
        let inside = std::sync::Arc::clone(&lock);
        let (entered, enter) = std::sync::mpsc::channel();
        let entered = std::sync::Mutex::new(entered);
        let (work, watch) = Work::acting("locked", move |_| {
            let own = inside.lock().unwrap();
            own.as_ref().unwrap().note(1)?;
            entered.lock().unwrap().send(()).unwrap();
            Ok(())
        });
        let reference = serving(&orb).activate(WorkerSkeleton::new(work)).unwrap();
        *lock.lock().unwrap() = Some(reference.clone());
        for _ in 0..TIMES {
            reference.act("note").unwrap();
            enter.recv_timeout(Duration::from_secs(60)).unwrap();
            assert_eq!(watch.notes.recv_timeout(Duration::from_secs(60)), Ok(1), "{mode:?}");
        }
        *lock.lock().unwrap() = None;
        orb.shutdown(true);
    }
}

#[test]
fn calls_nest_deeper_than_a_thread_has_places_for() {
    for mode in MODES {
        let orb = mode.orb();
        let poa = serving(&orb);
        let (left, right) =
            (std::sync::Arc::new(Work::new("l").0), std::sync::Arc::new(Work::new("r").0));
        let first = poa.activate(WorkerSkeleton::new(std::sync::Arc::clone(&left))).unwrap();
        let second = poa.activate(WorkerSkeleton::new(std::sync::Arc::clone(&right))).unwrap();
        *left.own.lock().unwrap() = Some(first.clone());
        *right.own.lock().unwrap() = Some(second.clone());
        for depth in [0, 1, 2, 7, 8, 9, 20] {
            assert_eq!(first.bounce(Some(&second), depth), Ok(depth), "{mode:?}");
            assert_eq!(first.bounce(Some(&first), depth), Ok(depth), "{mode:?}: itself");
        }
        *left.own.lock().unwrap() = None;
        *right.own.lock().unwrap() = None;
        orb.shutdown(true);
    }
}

#[test]
fn an_object_gives_its_own_reference_and_is_called_by_it() {
    for mode in MODES {
        let orb = mode.orb();
        let work = std::sync::Arc::new(Work::new("self").0);
        let skeleton = WorkerSkeleton::new(std::sync::Arc::clone(&work));
        let reference = serving(&orb).activate(skeleton).unwrap();
        *work.own.lock().unwrap() = Some(reference.clone());
        for _ in 0..TIMES {
            let own = reference.itself().unwrap().unwrap();
            assert_eq!(own.name(), Ok("self".to_owned()), "{mode:?}");
            assert_eq!(own, reference, "{mode:?}");
        }
        *work.own.lock().unwrap() = None;
        orb.shutdown(true);
    }
}

#[test]
fn long_sequences_are_the_same_in_every_mode() {
    for mode in MODES {
        let orb = mode.orb();
        let (worker, _watch) = worker(&orb);
        let values: Longs = (0..1024).collect();
        let cubes: Longs = values.iter().map(|v| v * v * v).collect();
        for _ in 0..TIMES {
            assert_eq!(worker.cube(&values), Ok(cubes.clone()), "{mode:?}");
        }
        orb.shutdown(true);
    }
}

#[test]
fn a_reference_of_another_orb_of_the_process_is_called_in_every_mode() {
    for mode in MODES {
        let (server, client) = (mode.orb(), mode.orb());
        let (work, hear) = teller();
        let reference = serving(&server).activate(WorkerSkeleton::new(work)).unwrap();
        let worker = through_text(&client, &reference);
        for _ in 0..TIMES {
            assert_eq!(serves_here(&worker, &hear), mode.is_collocated(), "{mode:?}");
        }
        client.shutdown(true);
        let raised = worker.act("who").unwrap_err();
        assert!(format!("{raised}").contains("BAD_INV_ORDER"), "{mode:?}: {raised}");
        server.shutdown(true);
    }
}

#[test]
fn the_scope_of_collocation_is_what_both_orbs_say() {
    let per_orb = ["-ORBCollocation", "per-orb"];
    let none = ["-ORBCollocation", "none"];
    let cases: [(&[&str], &[&str], bool, bool); 4] = [
        (&[], &[], true, true),
        (&per_orb, &[], true, false),
        (&[], &per_orb, true, false),
        (&none, &[], false, false),
    ];
    for (of_server, of_client, own, others) in cases {
        let orb = |more: &[&str]| {
            let listen = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
            let base = ["-ORBCollocation", "global"];
            let more = if more.is_empty() { &base[..] } else { more };
            Orb::init(listen.iter().chain(more).copied()).unwrap()
        };
        let (server, client) = (orb(of_server), orb(of_client));
        let (work, hear) = teller();
        let reference = serving(&server).activate(WorkerSkeleton::new(work)).unwrap();
        assert_eq!(serves_here(&reference, &hear), own, "{of_server:?} itself");
        let worker = through_text(&client, &reference);
        assert_eq!(serves_here(&worker, &hear), others, "{of_client:?} to {of_server:?}");
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_reference_is_read_before_its_server_listens() {
    // The table is asked again when an ORB begins to listen.
    let mode = Mode::Direct;
    let client = mode.orb();
    let port = {
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        free.local_addr().unwrap().port()
    };
    let url = format!("corbaloc::127.0.0.1:{port}/worker");
    let worker = Worker::unchecked_narrow(client.string_to_object(&url).unwrap());
    let raised = worker.add(1, 1).unwrap_err();
    assert_eq!(raised.kind, SystemExceptionKind::Transient, "no server listens yet");
    let server = Orb::init(["-ORBListenEndpoints", &format!("iiop://127.0.0.1:{port}")]).unwrap();
    let (work, hear) = teller();
    let reference = serving(&server).activate(WorkerSkeleton::new(work)).unwrap();
    server.bind_object_key("worker", reference.as_object());
    for _ in 0..TIMES {
        // The plain name forwards to the object; both are of this process.
        assert!(serves_here(&worker, &hear));
    }
    client.shutdown(true);
    server.shutdown(true);
}
