//! Deactivation and destruction while requests are in servants, in the order that CORBA 3.3 P1
//! §15.3.9.4 and §15.3.9.18 demand.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod worker;

use corbie::{
    AdapterActivator, IdAssignment, IdUniqueness, Lifespan, ObjectId, Poa, PoaError,
    RequestProcessing, Servant, ServantActivator, ServantManager, ServantRefusal, ServerRequest,
    SystemException, SystemExceptionKind, ThreadModel, minor,
};
use std::sync::Arc;
use worker::{Door, Log, Site, Worker, eventually};

/// Makes workers named after their ids and notes what it is asked for.
struct Activator {
    log: Log,
    door: Door,
}

impl ServantActivator for Activator {
    fn incarnate(&self, id: &ObjectId, _poa: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.log.note(format!("incarnate {id}"));
        Ok(Worker::at(&id.to_string(), &self.door).logging(&self.log).servant())
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        poa: &Poa,
        servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    ) {
        let still = poa.id_to_servant(id).is_ok();
        self.log.note(format!(
            "etherealize {id} cleanup={cleanup_in_progress} remaining={remaining_activations} \
             active={still}"
        ));
        drop(servant);
    }
}

fn activated(site: &Site, name: &str, log: &Log, door: &Door) -> Poa {
    let policies = [
        IdAssignment::UserId.into(),
        RequestProcessing::ServantManager.into(),
        Lifespan::Persistent.into(),
    ];
    let poa = site.child(name, &policies);
    let activator = Activator { log: log.clone(), door: door.clone() };
    poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
    poa
}

#[test]
fn an_object_goes_when_its_last_request_has_ended() {
    let site = Site::new();
    let (log, door) = (Log::default(), Door::default());
    let poa = activated(&site, "poa", &log, &door);
    let worker = site.object(&poa, "a");
    let first = worker.stay_in_thread(&door);
    let second = worker.stay_in_thread(&door);
    let id = ObjectId::from("a");
    poa.deactivate_object(&id).unwrap();
    assert_eq!(poa.deactivate_object(&id), Err(PoaError::ObjectNotActive(id.clone())));
    assert!(matches!(poa.id_to_servant(&id), Err(PoaError::ObjectNotActive(_))));
    assert_eq!(log.lines(), ["incarnate a"], "two requests are inside");
    // A request that comes now waits for the etherealisation, then there is a new incarnation.
    let third = {
        let worker = worker.clone();
        std::thread::spawn(move || worker.name())
    };
    // So does an activation.
    door.open();
    assert_eq!(third.join().unwrap().unwrap(), "a");
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    let lines = log.wait_for(4);
    let without_drops = |line: &&String| !line.starts_with("drop");
    let lines: Vec<&String> = lines.iter().filter(without_drops).collect();
    let etherealize = "etherealize a cleanup=false remaining=false active=false";
    assert_eq!(lines, ["incarnate a", etherealize, "incarnate a"]);
}

#[test]
fn an_object_that_no_request_is_in_goes_at_once() {
    let site = Site::new();
    let log = Log::default();
    let reference = site.root.activate(Worker::new("w").logging(&log)).unwrap();
    let worker = site.client_view(&reference.0);
    assert_eq!(worker.name().unwrap(), "w");
    let id = site.root.reference_to_id(&reference.0).unwrap();
    site.root.deactivate_object(&id).unwrap();
    // The reply may be here before the request has left the servant.
    assert_eq!(log.wait_for(1), ["drop w"]);
    let exception = worker.name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
    assert_eq!(exception.minor, minor::OBJECT_NOT_EXIST_NO_MATCH);
}

#[test]
fn a_servant_may_deactivate_its_own_object() {
    let site = Site::new();
    let (poa, log) = (site.child("poa", &[IdAssignment::UserId.into()]), Log::default());
    let (inner, id) = (poa.clone(), ObjectId::from("self"));
    let job = {
        let id = id.clone();
        move || -> Result<String, SystemException> {
            inner.deactivate_object(&id)?;
            // It would wait for this request.
            let again = inner.activate_object_with_id(&id, Worker::new("new").servant());
            assert!(matches!(again, Err(PoaError::ObjectAlreadyActive(_))), "{again:?}");
            Ok("still here".to_owned())
        }
    };
    let servant = Worker::with_job(job).logging(&log).servant();
    poa.activate_object_with_id(&id, servant).unwrap();
    let worker = site.object(&poa, "self");
    assert_eq!(worker.run().unwrap(), "still here");
    assert_eq!(log.wait_for(1), ["drop "], "after the request");
    poa.activate_object_with_id(&id, Worker::new("new").servant()).unwrap();
    assert_eq!(worker.name().unwrap(), "new");
}

#[test]
fn reactivation_waits_for_the_last_request() {
    let site = Site::new();
    let (poa, door) = (site.child("poa", &[IdAssignment::UserId.into()]), Door::default());
    let id = ObjectId::from("a");
    poa.activate_object_with_id(&id, Worker::at("old", &door).servant()).unwrap();
    let worker = site.object(&poa, "a");
    let staying = worker.stay_in_thread(&door);
    poa.deactivate_object(&id).unwrap();
    let activation = {
        let (poa, id) = (poa.clone(), id.clone());
        std::thread::spawn(move || poa.activate_object_with_id(&id, Worker::new("new").servant()))
    };
    assert_eq!(worker.name().unwrap_err().kind, SystemExceptionKind::ObjectNotExist);
    assert!(!activation.is_finished());
    door.open();
    staying.join().unwrap().unwrap();
    activation.join().unwrap().unwrap();
    assert_eq!(worker.name().unwrap(), "new");
}

#[test]
fn destruction_waits_for_requests_then_etherealises() {
    let site = Site::new();
    let (log, door) = (Log::default(), Door::default());
    let poa = activated(&site, "poa", &log, &door);
    let worker = site.object(&poa, "a");
    let staying = worker.stay_in_thread(&door);
    assert_eq!(site.object(&poa, "b").name().unwrap(), "b");
    poa.destroy(true, false).unwrap();
    // The requests go on; new ones are told to try again; the name is not free yet.
    let exception = worker.name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Transient, "{exception}");
    assert_eq!(exception.minor, minor::TRANSIENT_POA_DESTROYED);
    let again = site.root.create_poa("poa", None, &[]).unwrap_err();
    assert_eq!(again, PoaError::AdapterAlreadyExists("poa".to_owned()));
    let child = poa.create_poa("child", None, &[]).unwrap_err();
    let PoaError::System(child) = child else { panic!("{child}") };
    assert_eq!(child.minor, minor::BAD_INV_ORDER_POA_BEING_DESTROYED);
    assert_eq!(log.lines().len(), 2, "{:?}", log.lines());
    door.open();
    staying.join().unwrap().unwrap();
    let lines = log.wait_for(6);
    for id in ["a", "b"] {
        let line = format!("etherealize {id} cleanup=true remaining=false active=false");
        assert!(lines.contains(&line), "{lines:?}");
    }
    poa.destroy(true, true).unwrap(); // waits for the end of the first
    assert!(site.root.create_poa("poa", None, &[]).is_ok());
    assert_eq!(worker.name().unwrap_err().kind, SystemExceptionKind::ObjectNotExist);
}

#[test]
fn destruction_that_waits_returns_when_all_is_done() {
    let site = Site::new();
    let (log, door) = (Log::default(), Door::default());
    let poa = activated(&site, "poa", &log, &door);
    let child = poa.create_poa("child", Some(&poa.the_poa_manager()), &[]).unwrap();
    let reference = child.activate(Worker::at("inner", &door)).unwrap();
    let inner = site.client_view(&reference.0);
    let staying = inner.stay_in_thread(&door);
    assert_eq!(site.object(&poa, "a").name().unwrap(), "a");
    let waiting = {
        let poa = poa.clone();
        std::thread::spawn(move || poa.destroy(true, true))
    };
    eventually("the destruction", || inner.name().err());
    assert!(!waiting.is_finished());
    assert_eq!(log.lines(), ["incarnate a"], "the parent waits for its child");
    door.open();
    waiting.join().unwrap().unwrap();
    assert!(log.lines()[1].starts_with("etherealize a"), "{:?}", log.lines());
    staying.join().unwrap().unwrap();
    assert!(site.root.the_children().is_empty());
}

#[test]
fn who_would_wait_for_himself_is_told_so() {
    let site = Site::new();
    let poa = site.child("poa", &[]);
    let other = site.child("other", &[]);
    let job = {
        let poa = poa.clone();
        move || -> Result<String, SystemException> {
            for poa in [&poa, &other] {
                let error = poa.destroy(true, true).unwrap_err();
                let PoaError::System(exception) = error else { panic!("{error}") };
                assert_eq!(exception.kind, SystemExceptionKind::BadInvOrder);
                assert_eq!(exception.minor, minor::BAD_INV_ORDER_WOULD_DEADLOCK);
            }
            poa.destroy(true, false)?;
            Ok("destroyed".to_owned())
        }
    };
    let reference = poa.activate(Worker::with_job(job)).unwrap();
    let worker = site.client_view(&reference.0);
    assert_eq!(worker.run().unwrap(), "destroyed");
    eventually("the end", || site.root.find_poa("poa", false).err());
    assert!(site.root.find_poa("other", false).is_ok());
}

#[test]
fn who_etherealises_is_told_that_it_would_wait_for_itself() {
    struct Impatient(Log);
    impl ServantActivator for Impatient {
        fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
            Ok(Worker::new(&id.to_string()).servant())
        }
        fn etherealize(&self, id: &ObjectId, poa: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {
            let would_deadlock = |exception: SystemException| {
                exception.kind == SystemExceptionKind::BadInvOrder
                    && exception.minor == minor::BAD_INV_ORDER_WOULD_DEADLOCK
            };
            let manager = poa.the_poa_manager().deactivate(true, true).map_err(Into::into);
            let destroyed = poa.destroy(true, true).map_err(Into::into);
            let told = [manager, destroyed].map(|outcome| outcome.is_err_and(would_deadlock));
            self.0.note(format!("etherealize {id} {told:?}"));
        }
    }
    let (site, log) = (Site::new(), Log::default());
    let policies = [IdAssignment::UserId.into(), RequestProcessing::ServantManager.into()];
    let poa = site.child("poa", &policies);
    poa.set_servant_manager(ServantManager::activator(Impatient(log.clone()))).unwrap();
    for id in ["a", "b"] {
        assert_eq!(site.object(&poa, id).name().unwrap(), id);
    }
    let ends = {
        let poa = poa.clone();
        std::thread::spawn(move || {
            poa.deactivate_object(&ObjectId::from("a")).unwrap();
            poa.destroy(true, true).unwrap();
        })
    };
    assert_eq!(log.wait_for(2), ["etherealize a [true, true]", "etherealize b [true, true]"]);
    ends.join().unwrap();
}

#[test]
fn without_etherealize_objects_servants_are_only_dropped() {
    let site = Site::new();
    let log = Log::default();
    let poa = activated(&site, "poa", &log, &Door::default());
    assert_eq!(site.object(&poa, "a").name().unwrap(), "a");
    poa.destroy(false, true).unwrap();
    assert_eq!(log.wait_for(2), ["incarnate a", "drop a"]);
    assert_eq!(poa.activate(Worker::new("late")).unwrap_err().to_string(), {
        let needed = "SYSTEM_ID; the operation with _with_id takes an id of yours";
        PoaError::WrongPolicy { operation: "activate_object", needed }.to_string()
    });
    let late = poa.activate_with_id("late", Worker::new("late")).unwrap_err();
    assert_eq!(late, PoaError::Destroyed);
}

#[test]
fn a_servant_of_several_objects_is_told_of_the_others() {
    struct Shared {
        servant: Arc<dyn Servant>,
        log: Log,
    }
    impl ServantActivator for Shared {
        fn incarnate(&self, _: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
            Ok(Arc::clone(&self.servant))
        }
        fn etherealize(
            &self,
            id: &ObjectId,
            _: &Poa,
            _: Arc<dyn Servant>,
            _: bool,
            remaining: bool,
        ) {
            self.log.note(format!("{id} {remaining}"));
        }
    }
    let site = Site::new();
    let policies = [
        IdAssignment::UserId.into(),
        IdUniqueness::MultipleId.into(),
        RequestProcessing::ServantManager.into(),
    ];
    let (poa, log) = (site.child("poa", &policies), Log::default());
    let servant = Worker::new("shared").servant();
    poa.set_servant_manager(ServantManager::activator(Shared { servant, log: log.clone() }))
        .unwrap();
    for id in ["a", "b"] {
        assert_eq!(site.object(&poa, id).name().unwrap(), "shared");
    }
    poa.deactivate_object(&ObjectId::from("a")).unwrap();
    poa.deactivate_object(&ObjectId::from("b")).unwrap();
    assert_eq!(log.wait_for(2), ["a true", "b false"]);
}

#[test]
fn a_destroyed_poa_lets_go_of_what_holds_it() {
    struct Holds {
        _poa: Poa,
        _servant: Arc<dyn Servant>,
    }
    impl ServantActivator for Holds {
        fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
            Ok(Worker::new(&id.to_string()).servant())
        }
        fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
    }
    impl AdapterActivator for Holds {
        fn unknown_adapter(&self, _: &Poa, _: &str) -> Result<bool, SystemException> {
            Ok(false)
        }
    }
    let (site, log) = (Site::new(), Log::default());
    let policies = [IdAssignment::UserId.into(), RequestProcessing::ServantManager.into()];
    let poa = site.child("poa", &policies);
    let holds =
        |name| Holds { _poa: poa.clone(), _servant: Worker::new(name).logging(&log).servant() };
    poa.set_servant_manager(ServantManager::activator(holds("activator"))).unwrap();
    poa.set_the_activator(Some(Arc::new(holds("adapter activator"))));
    let poa_default = site.child(
        "default",
        &[RequestProcessing::DefaultServant.into(), IdUniqueness::MultipleId.into()],
    );
    poa_default.set_servant(Worker::new("default").logging(&log).servant()).unwrap();
    poa.destroy(true, true).unwrap();
    poa_default.destroy(true, true).unwrap();
    assert_eq!(log.lines(), ["drop activator", "drop adapter activator", "drop default"]);
}

#[test]
fn shutdown_etherealises() {
    let site = Site::new();
    let log = Log::default();
    let poa = activated(&site, "poa", &log, &Door::default());
    assert_eq!(site.object(&poa, "a").name().unwrap(), "a");
    site.server.shutdown(true);
    let lines = log.wait_for(3);
    assert!(lines[1].starts_with("etherealize a cleanup=true"), "{lines:?}");
}

#[test]
fn an_id_is_free_again_when_dropping_its_servant_panicked() {
    struct Fragile;
    impl Servant for Fragile {
        fn _interfaces(&self) -> &'static [&'static str] {
            &[]
        }
        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            request.reply(&|_| Ok(()))
        }
    }
    impl Drop for Fragile {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "as asked");
        }
    }
    let site = Site::new();
    for thread_model in [ThreadModel::OrbControl, ThreadModel::SingleThread] {
        let name = format!("{thread_model:?}");
        let poa = site.child(&name, &[IdAssignment::UserId.into(), thread_model.into()]);
        let id = ObjectId::from("a");
        poa.activate_object_with_id(&id, Arc::new(Fragile)).unwrap();
        poa.deactivate_object(&id).unwrap();
        let worker = poa.activate_with_id("a", Worker::new("next")).unwrap();
        assert_eq!(site.client_view(&worker.0).name().unwrap(), "next", "{name}");
        poa.destroy(true, true).unwrap();
    }
}
