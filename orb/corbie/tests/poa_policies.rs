//! Demultiplexing strategies, locks, implicit activation, `_this`, persistence, and keys that no
//! POA made (CORBA 3.3 P1 §15.3.8; paper POA §2.2, §2.4).

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod worker;

use corbie::{
    EventLoop, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, ObjectId, Orb, PoaError,
    PoaPolicy, Servant, ServantDemux, ServerConcurrency, Synchronization, SystemExceptionKind,
    SystemIds, This,
};
use corbie_testkit::{corbaloc, made_up_keys, object_key_in};
use std::sync::{Arc, mpsc};
use worker::{Site, WORKER, Worker, WorkerRef};

#[test]
fn every_strategy_finds_every_servant_and_no_stale_one() {
    for demux in [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear] {
        for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
            let site = Site::new();
            let policies = [demux.into(), lifespan.into(), IdAssignment::UserId.into()];
            let poa = site.child("poa", &policies);
            let references: Vec<WorkerRef> = (0..50)
                .map(|n| {
                    let name = format!("worker {n}");
                    let reference = poa.activate_with_id(&name, Worker::new(&name)).unwrap();
                    site.client_view(&reference.0)
                })
                .collect();
            for (n, worker) in references.iter().enumerate() {
                assert_eq!(worker.name().unwrap(), format!("worker {n}"));
            }
            // Each place is taken anew by another object; old references do not reach it.
            for n in 0..50 {
                poa.deactivate_object(&ObjectId::from(&*format!("worker {n}"))).unwrap();
            }
            for n in 0..50 {
                poa.activate_with_id(format!("other {n}"), Worker::new("other")).unwrap();
            }
            for worker in &references {
                let exception = worker.name().unwrap_err();
                assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
            }
            // But the same object, activated again elsewhere in the map, is the same object.
            poa.activate_with_id("worker 7", Worker::new("again")).unwrap();
            assert_eq!(references[7].name().unwrap(), "again");
        }
    }
}

/// A peer that may call one object, and counts.
#[test]
fn secret_ids_of_the_poa_are_not_those_that_a_peer_makes_up() {
    for demux in [ServantDemux::Active, ServantDemux::DynamicHash, ServantDemux::Linear] {
        let site = Site::new();
        let poa = site.child("poa", &[SystemIds::Secret.into(), demux.into()]);
        let made = ["one", "two"].map(|name| poa.activate(Worker::new(name)).unwrap());
        let keys = made.each_ref().map(|worker| object_key_in(&worker.0.to_string()));
        let address = site.server.listen_addresses()[0];
        let by_key = |key: &[u8]| {
            let object = site.client.string_to_object(&corbaloc(address, key)).unwrap();
            WorkerRef(object)
        };
        assert_eq!(by_key(&keys[1]).name().unwrap(), "two");
        for key in made_up_keys(&keys[0], &keys[1], 16) {
            let exception = by_key(&key).name().unwrap_err();
            assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
        }
        // Its own ids the POA knows again.
        let id = poa.reference_to_id(&made[0].0).unwrap();
        poa.deactivate_object(&id).unwrap();
        poa.activate_object_with_id(&id, Arc::new(Worker::new("again"))).unwrap();
        assert_eq!(by_key(&keys[0]).name().unwrap(), "again");
        for octets in [&id.as_octets()[..8], &[&id.as_octets()[..8], &[0; 16]].concat()] {
            let made_up = poa.create_reference_with_id(&ObjectId::new(octets), "IDL:Worker:1.0");
            assert!(matches!(made_up, Err(PoaError::System(_))), "{made_up:?}");
        }
    }
}

#[test]
fn implicit_activation_gives_a_servant_its_object() {
    let site = Site::new();
    let servant = Arc::new(Worker::new("implicit"));
    let first = servant._this(&site.root).unwrap();
    assert_eq!(site.client_view(&first.0).name().unwrap(), "implicit");
    assert_eq!(servant._this(&site.root).unwrap().0, first.0, "UNIQUE_ID: the same object");
    let erased: Arc<dyn Servant> = servant;
    let id = site.root.servant_to_id(&erased).unwrap();
    assert_eq!(site.root.reference_to_id(&first.0).unwrap(), id);
    assert!(Arc::ptr_eq(&site.root.reference_to_servant(&first.0).unwrap(), &erased));
    let policies = [IdUniqueness::MultipleId.into(), ImplicitActivation::Implicit.into()];
    let multiple = site.child("multiple", &policies);
    let ids = [0, 1].map(|_| multiple.servant_to_id(&erased).unwrap());
    assert_ne!(ids[0], ids[1], "MULTIPLE_ID: a new object each time");
    let explicit = site.child("explicit", &[]);
    assert_eq!(explicit.servant_to_id(&erased), Err(PoaError::ServantNotActive));
    explicit.activate_object(Arc::clone(&erased)).unwrap();
    assert!(explicit.servant_to_reference(&erased).is_ok());
    let again = explicit.activate_object(Arc::clone(&erased)).unwrap_err();
    assert!(matches!(again, PoaError::ServantAlreadyActive(_)), "{again}");
    let neither = site.child("neither", &[IdUniqueness::MultipleId.into()]);
    let wrong = neither.servant_to_id(&erased).unwrap_err();
    assert!(matches!(wrong, PoaError::WrongPolicy { .. }), "{wrong}");
    let foreign = explicit.reference_to_id(&first.0).unwrap_err();
    assert_eq!(foreign, PoaError::WrongAdapter);
}

#[test]
fn within_a_request_this_is_the_object_of_the_request() {
    let site = Site::new();
    let policies = [IdUniqueness::MultipleId.into(), IdAssignment::UserId.into()];
    let poa = site.child("poa", &policies);
    let (root, (sender, receiver)) = (site.root.clone(), mpsc::channel::<Arc<Worker>>());
    let receiver = std::sync::Mutex::new(receiver);
    let servant = Arc::new(Worker::with_job(move || {
        let me = receiver.lock().unwrap().recv().unwrap();
        Ok(me._this(&root)?.0.to_string())
    }));
    for id in ["a", "b"] {
        poa.activate_object_with_id(&id.into(), Arc::<Worker>::clone(&servant)).unwrap();
        let worker = site.object(&poa, id);
        sender.send(Arc::clone(&servant)).unwrap();
        let this = site.server.string_to_object(&worker.run().unwrap()).unwrap();
        assert_eq!(poa.reference_to_id(&this).unwrap(), ObjectId::from(id));
    }
}

#[test]
fn persistent_references_survive_a_restart_transient_ones_do_not() {
    let life = |endpoint: &str| {
        let server = Orb::init(["-ORBListenEndpoints", endpoint]).unwrap();
        let root = server.root_poa().unwrap();
        root.the_poa_manager().activate().unwrap();
        let manager = Some(root.the_poa_manager());
        let outer = root.create_poa("outer", manager.as_ref(), &[]).unwrap();
        let policies = PoaPolicy::PERSISTENT_USER_ID;
        let poa = outer.create_poa("inner", manager.as_ref(), &policies).unwrap();
        let kept = poa.activate_with_id("kept", Worker::new("kept")).unwrap();
        let lost = root.activate(Worker::new("lost")).unwrap();
        (server, kept, lost)
    };
    let (first, kept, lost) = life("iiop://127.0.0.1:0");
    let port = first.listen_addresses()[0].port();
    let client = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap();
    let view =
        |object: &corbie::Object| WorkerRef(client.string_to_object(&object.to_string()).unwrap());
    let (kept, lost) = (view(&kept.0), view(&lost.0));
    assert_eq!(kept.name().unwrap(), "kept");
    assert_eq!(lost.name().unwrap(), "lost");
    first.shutdown(true);
    let (second, new, _) = life(&format!("iiop://127.0.0.1:{port}"));
    assert_eq!(kept.name().unwrap(), "kept");
    assert_eq!(new.0.object_key(), kept.0.object_key(), "the key is the same in every life");
    assert_eq!(lost.name().unwrap_err().kind, SystemExceptionKind::ObjectNotExist);
    client.shutdown(true);
    second.shutdown(true);
}

#[test]
fn keys_that_no_poa_made_find_nothing() {
    let site = Site::new();
    let poa = site.child("poa", &PoaPolicy::PERSISTENT_USER_ID);
    let persistent = poa.activate_with_id("id", Worker::new("p")).unwrap();
    let transient = site.root.activate(Worker::new("t")).unwrap();
    let call = |key: &[u8]| {
        let object = site.server.create_reference(key, WORKER).unwrap();
        site.client_view(&object).name()
    };
    // Where the object stands is a hint: POA and id are what names it. Of the path, its hash is.
    let path = 20..20 + "poa\0".len();
    let hints = [(persistent.0, "p", vec![2..18, path]), (transient.0, "t", vec![14..18, 18..22])];
    for (reference, its_name, hints) in hints {
        let key = reference.object_key().unwrap();
        assert!(call(&key).is_ok());
        for at in 0..key.len() {
            let mut other = key.clone();
            other[at] ^= 0x40;
            match call(&other) {
                Ok(name) => {
                    assert_eq!(name, its_name);
                    assert!(hints.iter().any(|hint| hint.contains(&at)), "octet {at}");
                }
                Err(exception) => {
                    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "octet {at}");
                }
            }
            let exception = call(&key[..at]).unwrap_err();
            assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{at} octets");
        }
        assert!(call(&[&key[..], b"x"].concat()).is_err());
    }
}

#[test]
fn a_null_lock_poa_belongs_to_the_thread_that_used_it_first() {
    let site = Site::new();
    let poa = site.child("poa", &[Synchronization::NullLock.into()]);
    assert_eq!(poa.policies().synchronization, Synchronization::NullLock);
    assert_eq!(site.root.policies().synchronization, Synchronization::ThreadLock);
    let reference = poa.activate(Worker::new("mine")).unwrap();
    let elsewhere = {
        let poa = poa.clone();
        std::thread::spawn(move || {
            let activated = poa.activate(Worker::new("theirs"));
            (activated.err(), poa.destroy(true, false).err())
        })
    };
    let (activation, destruction) = elsewhere.join().unwrap();
    assert_eq!(activation, Some(PoaError::OtherThread));
    assert_eq!(destruction, Some(PoaError::OtherThread));
    // The thread of a connection is another one.
    let theirs = site.client_view(&reference.0);
    let exception = std::thread::spawn(move || theirs.name().unwrap_err()).join().unwrap();
    assert_eq!(exception.kind, SystemExceptionKind::ObjAdapter, "{exception}");
    let id = poa.reference_to_id(&reference.0).unwrap();
    poa.deactivate_object(&id).unwrap();
    poa.destroy(true, true).unwrap();
}

/// Paper POA §2.5: an ORB core and a POA for each thread, without locks, beside an ordinary one.
#[test]
fn an_orb_core_per_thread_serves_without_locks() {
    let shared = Site::new();
    let common = shared.root.activate(Worker::new("shared")).unwrap();
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..2)
        .map(|n| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let orb = Orb::builder()
                    .settings(|s| {
                        s.server_concurrency(ServerConcurrency::Reactive)
                            .event_loop(EventLoop::Application)
                            .poa_lock(corbie::PoaLock::Null)
                    })
                    .arguments(&mut vec![
                        "-ORBListenEndpoints".to_owned(),
                        "iiop://127.0.0.1:0".to_owned(),
                    ])
                    .build()
                    .unwrap();
                let poa = orb.root_poa().unwrap();
                assert_eq!(poa.policies().synchronization, Synchronization::NullLock);
                poa.the_poa_manager().activate().unwrap();
                let worker = poa.activate(Worker::new(&format!("thread {n}"))).unwrap();
                sender.send((n, orb.clone(), worker.0.to_string())).unwrap();
                orb.run();
            })
        })
        .collect();
    for _ in 0..2 {
        let (n, orb, reference) = receiver.recv_timeout(worker::PATIENCE).unwrap();
        let worker = WorkerRef(shared.client.string_to_object(&reference).unwrap());
        for _ in 0..10 {
            assert_eq!(worker.name().unwrap(), format!("thread {n}"));
            assert_eq!(shared.client_view(&common.0).name().unwrap(), "shared");
        }
        orb.shutdown(true);
    }
    for thread in threads {
        thread.join().unwrap();
    }
}
