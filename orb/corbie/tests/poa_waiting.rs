//! Requests that wait for a servant activator or an adapter activator wait in no thread
//! (CORBA 3.3 P1 §15.3.3, §15.3.6): other objects are served meanwhile, by however few threads; what
//! an adapter activator causes itself is served once the POA is made; and one client's requests keep
//! their order.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod worker;

use corbie::codegen::{Marshal, Operation, View};
use corbie::{
    AdapterActivator, IdAssignment, Object, ObjectId, Poa, PoaPolicy, RequestProcessing, Servant,
    ServantActivator, ServantManager, ServantRefusal, ServerRequest, SystemException,
    SystemExceptionKind,
};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use worker::{Door, Log, Site, WORKER, Worker, WorkerRef};

const STRATEGIES: [&str; 3] = ["thread-pool", "reactive", "thread-per-connection"];

/// A server of two threads at most, which a strategy of few threads has.
fn site(strategy: &str) -> Site {
    let few = ["-ORBServerConcurrency", strategy, "-ORBPoolThreadsMax", "2"];
    let site = Site::with(&few);
    for _ in 0..if strategy == "reactive" { 2 } else { 0 } {
        let server = site.server.clone();
        std::thread::spawn(move || server.run());
    }
    site
}

/// Incarnates one object at a time, as slowly as the door allows.
struct Slow(Door, Log);

impl ServantActivator for Slow {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.1.note(format!("incarnate {id}"));
        self.0.stay();
        Ok(Noting::servant(&self.1))
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}

/// Notes the numbers that it is sent.
struct Noting(Log);

impl Noting {
    fn servant(log: &Log) -> Arc<dyn Servant> {
        Arc::new(Noting(log.clone()))
    }
}

impl Servant for Noting {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[WORKER]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let operation = request.operation().to_owned();
        if operation == "note" {
            let number = request.arguments().read_long()?;
            self.0.note(format!("note {number}"));
        }
        request.reply(&|e| String::encode(&operation, e))
    }

    fn _view<'a>(&'a self, _: &mut View<'a>) {}
}

fn note(object: &Object, number: i32) {
    const NOTE: Operation = Operation::oneway("note");
    object
        .invoke_oneway(&NOTE, &|e| {
            e.write_long(number);
            Ok(())
        })
        .unwrap();
}

fn incarnated(site: &Site, door: &Door, log: &Log) -> Poa {
    let policies: [PoaPolicy; 2] =
        [RequestProcessing::ServantManager.into(), IdAssignment::UserId.into()];
    let poa = site.child("incarnated", &policies);
    let slow = Slow(door.clone(), log.clone());
    poa.set_servant_manager(ServantManager::activator(slow)).unwrap();
    poa
}

/// Calls from as many connections as threads.
fn calls(of: &Site, worker: &WorkerRef) -> Vec<JoinHandle<Result<String, SystemException>>> {
    let call = |_| {
        let client = corbie::Orb::init(["-ORBCollocation", "none"]).unwrap();
        let worker = WorkerRef(client.string_to_object(&worker.0.to_string()).unwrap());
        std::thread::spawn(move || {
            let name = worker.name();
            client.shutdown(true);
            name
        })
    };
    assert!(!of.server.is_shut_down());
    (0..6).map(call).collect()
}

#[test]
fn an_object_that_is_being_incarnated_keeps_no_thread_from_others() {
    for strategy in STRATEGIES {
        let (site, door, log) = (site(strategy), Door::default(), Log::default());
        let free = site.client_view(&site.root.activate(Worker::new("free")).unwrap().0);
        let poa = incarnated(&site, &door, &log);
        let waiting = calls(&site, &site.object(&poa, "a"));
        door.wait_for(1);
        for _ in 0..50 {
            assert_eq!(free.name().unwrap(), "free", "{strategy}");
        }
        door.open();
        for call in waiting {
            assert_eq!(call.join().unwrap().unwrap(), "name", "{strategy}");
        }
        assert_eq!(log.lines(), ["incarnate a"], "{strategy}");
    }
}

/// Makes the child `slow` with an object `o`, as slowly as the door allows.
struct SlowMaker(Door, Log);

impl AdapterActivator for SlowMaker {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        self.1.note(format!("make {name}"));
        self.0.stay();
        let manager = parent.the_poa_manager();
        let child = parent.create_poa(name, Some(&manager), &PoaPolicy::PERSISTENT_USER_ID)?;
        child.activate_object_with_id(&"o".into(), Noting::servant(&self.1))?;
        Ok(true)
    }
}

/// A reference to the object `o` of the child `name` of the root, which need not be there.
fn in_child(site: &Site, name: &str) -> WorkerRef {
    let length = u16::try_from(name.len() + 1).unwrap().to_be_bytes();
    let key = [&[0xCB, b'P'], &length[..], name.as_bytes(), b"\0o"].concat();
    site.client_view(&site.server.create_reference(&key, WORKER).unwrap())
}

#[test]
fn a_poa_that_is_being_made_keeps_no_thread_from_others() {
    for strategy in STRATEGIES {
        let (site, door, log) = (site(strategy), Door::default(), Log::default());
        let free = site.client_view(&site.root.activate(Worker::new("free")).unwrap().0);
        site.root.set_the_activator(Some(Arc::new(SlowMaker(door.clone(), log.clone()))));
        let waiting = calls(&site, &in_child(&site, "slow"));
        door.wait_for(1);
        for _ in 0..50 {
            assert_eq!(free.name().unwrap(), "free", "{strategy}");
        }
        door.open();
        for call in waiting {
            assert_eq!(call.join().unwrap().unwrap(), "name", "{strategy}");
        }
        assert_eq!(log.lines(), ["make slow"], "{strategy}");
    }
}

#[test]
fn what_is_sent_later_does_not_overtake_what_waits() {
    for strategy in STRATEGIES {
        let (site, door, log) = (site(strategy), Door::default(), Log::default());
        let poa = incarnated(&site, &door, &log);
        let first = calls(&site, &site.object(&poa, "a"));
        door.wait_for(1);
        let object = site.object(&poa, "a").0;
        (0..100).for_each(|number| note(&object, number));
        door.open();
        (100..200).for_each(|number| note(&object, number));
        let expected: Vec<_> = (0..200).map(|number| format!("note {number}")).collect();
        assert_eq!(log.wait_for(201)[1..], expected, "{strategy}");
        first.into_iter().for_each(|call| drop(call.join().unwrap().unwrap()));
    }
}

/// Sends the object of the POA that it makes a oneway, before and after that is there, and asks
/// another object of the server in between, so that a single thread serves what has come.
struct Calling {
    log: Log,
    own: Mutex<Option<Object>>,
    other: WorkerRef,
}

impl AdapterActivator for Calling {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        let own = self.own.lock().unwrap().clone().unwrap();
        note(&own, 1);
        for _ in 0..20 {
            self.other.name()?;
        }
        let manager = parent.the_poa_manager();
        let child = parent.create_poa(name, Some(&manager), &PoaPolicy::PERSISTENT_USER_ID)?;
        child.activate_object_with_id(&"o".into(), Noting::servant(&self.log))?;
        note(&own, 2);
        for _ in 0..20 {
            self.other.name()?;
        }
        self.log.note("made");
        Ok(true)
    }
}

#[test]
fn what_an_adapter_activator_sends_to_the_poa_it_makes_is_held_until_it_is_made() {
    for strategy in STRATEGIES {
        let site = Site::with(&["-ORBServerConcurrency", strategy]);
        if strategy == "reactive" {
            let server = site.server.clone();
            std::thread::spawn(move || server.run());
        }
        let log = Log::default();
        let other = site.root.activate(Worker::new("other")).unwrap();
        let over_the_wire =
            |object: &Object| WorkerRef(site.server.string_to_object(&object.to_string()).unwrap());
        let calling = Arc::new(Calling {
            log: log.clone(),
            own: Mutex::new(Some(over_the_wire(&in_child(&site, "own").0).0)),
            other: over_the_wire(&other.0),
        });
        site.root.set_the_activator(Some(Arc::clone(&calling) as Arc<dyn AdapterActivator>));
        assert_eq!(in_child(&site, "own").name().unwrap(), "name", "{strategy}");
        assert_eq!(log.wait_for(3), ["made", "note 1", "note 2"], "{strategy}");
        calling.own.lock().unwrap().take();
    }
}

#[test]
fn what_waits_when_the_server_ends_is_answered() {
    let (site, door, log) = (site("thread-pool"), Door::default(), Log::default());
    let poa = incarnated(&site, &door, &log);
    let waiting = calls(&site, &site.object(&poa, "a"));
    door.wait_for(1);
    site.server.shutdown(false);
    door.open();
    for call in waiting {
        if let Err(exception) = call.join().unwrap() {
            let kind = exception.kind;
            let ended = [SystemExceptionKind::Transient, SystemExceptionKind::CommFailure];
            assert!(ended.contains(&kind), "{exception}");
        }
    }
}
