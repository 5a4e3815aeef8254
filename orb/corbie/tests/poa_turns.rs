//! Under `SINGLE_THREAD_MODEL` servant managers and adapter activators take their turns with servants
//! (CORBA 3.3 P1 §15.3.8.1): etherealisation waits for the upcall under way, in no thread, and so
//! does an adapter activator. And what a destroyed POA and an upcall refuse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod worker;

use corbie::{
    AdapterActivator, IdAssignment, ObjectId, Poa, PoaError, PoaPolicy, RequestProcessing, Servant,
    ServantActivator, ServantManager, ServantRefusal, SystemException, SystemExceptionKind,
    ThreadModel, minor,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use worker::{Door, Log, Site, Worker};

/// Notes what it is asked, and how many requests are inside of the door meanwhile.
struct Noting {
    log: Log,
    door: Door,
}

impl ServantActivator for Noting {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        Ok(Worker::at(&id.to_string(), &self.door).servant())
    }

    fn etherealize(&self, id: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {
        self.log.note(format!("etherealize {id} beside {}", self.door.inside()));
    }
}

fn with_activator(site: &Site, log: &Log, door: &Door) -> Poa {
    let policies: [PoaPolicy; 3] = [
        ThreadModel::SingleThread.into(),
        RequestProcessing::ServantManager.into(),
        IdAssignment::UserId.into(),
    ];
    let poa = site.child("turns", &policies);
    let activator = Noting { log: log.clone(), door: door.clone() };
    poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
    poa
}

#[test]
fn etherealisation_waits_for_the_upcall_under_way() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    let poa = with_activator(&site, &log, &door);
    site.object(&poa, "b").name().unwrap();
    let inside = site.object(&poa, "a").stay_in_thread(&door);
    poa.deactivate_object(&"b".into()).unwrap();
    assert_eq!(log.lines(), [""; 0], "etherealised beside the upcall of another object");
    door.open();
    inside.join().unwrap().unwrap();
    assert_eq!(log.wait_for(1), ["etherealize b beside 0"]);
    // Its turn has ended: the object comes back.
    assert_eq!(site.object(&poa, "b").name().unwrap(), "b");
}

#[test]
fn a_destruction_that_waits_for_its_turn_is_complete_when_it_says_so() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    let poa = with_activator(&site, &log, &door);
    site.object(&poa, "b").name().unwrap();
    let inside = site.object(&poa, "a").stay_in_thread(&door);
    poa.deactivate_object(&"b".into()).unwrap();
    let destroying = std::thread::spawn({
        let poa = poa.clone();
        move || poa.destroy(true, true)
    });
    door.open();
    inside.join().unwrap().unwrap();
    destroying.join().unwrap().unwrap();
    let mut lines = log.lines();
    lines.sort();
    assert_eq!(lines, ["etherealize a beside 0", "etherealize b beside 0"]);
}

/// Makes any child, and says whether an upcall is under way meanwhile.
struct Makes {
    is_serving: Arc<AtomicBool>,
    was_asked: Arc<AtomicBool>,
    overlapped: Arc<Mutex<Vec<bool>>>,
}

impl AdapterActivator for Makes {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        self.was_asked.store(true, Ordering::SeqCst);
        self.overlapped.lock().unwrap().push(self.is_serving.load(Ordering::SeqCst));
        parent.create_poa(name, Some(&parent.the_poa_manager()), &[])?;
        Ok(true)
    }
}

#[test]
fn an_adapter_activator_waits_for_the_upcall_under_way() {
    let site = Site::new();
    let poa = site.child("turns", &[ThreadModel::SingleThread.into()]);
    let (is_serving, was_asked) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    let overlapped = Arc::new(Mutex::new(Vec::new()));
    let makes = Makes {
        is_serving: Arc::clone(&is_serving),
        was_asked: Arc::clone(&was_asked),
        overlapped: Arc::clone(&overlapped),
    };
    poa.set_the_activator(Some(Arc::new(makes)));
    let finding = Arc::new(Mutex::new(None));
    let job = {
        let (poa, finding) = (poa.clone(), Arc::clone(&finding));
        move || {
            is_serving.store(true, Ordering::SeqCst);
            let poa = poa.clone();
            let find = move || poa.find_poa("child", true);
            *finding.lock().unwrap() = Some(std::thread::spawn(find));
            // The other thread has every chance to ask the activator now.
            for _ in 0..10_000 {
                if was_asked.load(Ordering::SeqCst) {
                    break;
                }
                std::thread::yield_now();
            }
            is_serving.store(false, Ordering::SeqCst);
            Ok(String::new())
        }
    };
    let worker = site.client_view(&poa.activate(Worker::with_job(job)).unwrap().0);
    worker.run().unwrap();
    let finding = finding.lock().unwrap().take().unwrap();
    assert_eq!(finding.join().unwrap().unwrap().the_name(), "child");
    assert_eq!(*overlapped.lock().unwrap(), [false]);
}

#[test]
fn a_destroyed_poa_takes_neither_servant_nor_servant_manager() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    let poa = site.child("manager", &[RequestProcessing::ServantManager.into()]);
    poa.destroy(true, true).unwrap();
    let manager = ServantManager::activator(Noting { log, door });
    assert_eq!(poa.set_servant_manager(manager), Err(PoaError::Destroyed));
    assert!(poa.get_servant_manager().unwrap().is_none());
    let policies = [
        RequestProcessing::DefaultServant.into(),
        corbie::IdUniqueness::MultipleId.into(),
        ThreadModel::SingleThread.into(),
    ];
    let poa = site.child("default", &policies);
    poa.destroy(true, true).unwrap();
    assert_eq!(poa.set_servant(Worker::new("late").servant()), Err(PoaError::Destroyed));
    assert_eq!(poa.get_servant().err(), Some(PoaError::NoServant));
}

#[test]
fn an_upcall_does_not_wait_for_the_end_of_its_own_orb() {
    let site = Site::new();
    let server = site.server.clone();
    let job = move || {
        for refused in [server.try_shutdown(true), server.destroy()] {
            let exception = refused.unwrap_err();
            assert_eq!(exception.kind, SystemExceptionKind::BadInvOrder);
            assert_eq!(exception.minor, minor::BAD_INV_ORDER_WOULD_DEADLOCK);
        }
        assert!(!server.is_shut_down());
        Ok("not shut down".to_owned())
    };
    let worker = site.client_view(&site.root.activate(Worker::with_job(job)).unwrap().0);
    assert_eq!(worker.run().unwrap(), "not shut down");
    site.server.destroy().unwrap();
    assert!(site.server.is_shut_down());
    site.server.destroy().unwrap();
}
