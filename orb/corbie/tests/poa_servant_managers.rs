//! Servant activators, servant locators and default servants
//! (CORBA 3.3 P1 §15.3.5 to §15.3.7, §15.3.8.6).

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod worker;

use corbie::{
    CompletionStatus, Cookie, IdAssignment, IdUniqueness, Lifespan, Minor, Object, ObjectId, Poa,
    PoaError, PoaPolicy, RequestProcessing, Servant, ServantActivator, ServantLocator,
    ServantManager, ServantRefusal, ServantRetention, SystemException, SystemExceptionKind, minor,
};
use std::sync::{Arc, Mutex};
use worker::{Door, Log, Site, WORKER, Worker};

/// Gives a new worker for each request, with a cookie.
struct Locator {
    log: Log,
    elsewhere: Mutex<Option<Object>>,
}

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _poa: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        self.log.note(format!("pre {id} {operation}"));
        match id.to_string().as_str() {
            "moved" => {
                let elsewhere = self.elsewhere.lock().unwrap().clone();
                Err(ServantRefusal::ForwardRequest(elsewhere.unwrap()))
            }
            "none" => {
                Err(SystemException::no_permission(Minor::of::<7>(), corbie::CompletionStatus::No)
                    .into())
            }
            name => Ok((Worker::new(name).servant(), Box::new(format!("cookie of {id}")))),
        }
    }

    fn postinvoke(
        &self,
        id: &ObjectId,
        _poa: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        let cookie = *cookie.downcast::<String>().unwrap();
        let interface = servant._repository_id();
        self.log.note(format!("post {id} {operation} {cookie} {interface}"));
        match id.to_string().as_str() {
            "refused" => {
                Err(SystemException::no_permission(Minor::of::<9>(), CompletionStatus::Yes))
            }
            "panics" => panic!("as asked, too"),
            _ => Ok(()),
        }
    }
}

const LOCATED: [PoaPolicy; 4] = [
    PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
    PoaPolicy::ServantRetention(ServantRetention::NonRetain),
    PoaPolicy::IdAssignment(IdAssignment::UserId),
    PoaPolicy::Lifespan(Lifespan::Persistent),
];

fn located(site: &Site, log: &Log) -> Poa {
    let poa = site.child("located", &LOCATED);
    let target = site.root.activate(Worker::new("elsewhere")).unwrap();
    let locator = Locator { log: log.clone(), elsewhere: Mutex::new(Some(target.0)) };
    poa.set_servant_manager(ServantManager::locator(locator)).unwrap();
    poa
}

#[test]
fn a_locator_is_asked_before_and_after_each_request() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    let worker = site.object(&poa, "a");
    assert_eq!(worker.name().unwrap(), "a");
    assert_eq!(log.lines().len(), 2, "postinvoke comes before the answer leaves");
    assert!(worker.0.is_a("IDL:Other:1.0").is_ok_and(|is| !is));
    let expected = [
        "pre a name",
        "post a name cookie of a IDL:Test/Worker:1.0",
        "pre a _is_a",
        "post a _is_a cookie of a IDL:Test/Worker:1.0",
    ];
    assert_eq!(log.lines(), expected);
}

#[test]
fn a_locator_may_send_callers_on_and_refuse() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    let moved = site.object(&poa, "moved");
    assert_eq!(moved.name().unwrap(), "elsewhere");
    assert_eq!(moved.name().unwrap(), "elsewhere");
    let exception = site.object(&poa, "none").name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::NoPermission);
    assert_eq!(exception.minor, 7);
    assert!(log.lines().iter().all(|line| !line.starts_with("post")), "{:?}", log.lines());
}

#[test]
fn postinvoke_follows_a_panic_too() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    let exception = site.object(&poa, "a").panic().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Unknown);
    assert_eq!(log.lines()[1], "post a panic cookie of a IDL:Test/Worker:1.0");
}

#[test]
fn what_postinvoke_raises_replaces_the_answer() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    let refused = site.object(&poa, "refused");
    for exception in [
        refused.name().unwrap_err(),
        refused.run().unwrap_err(),
        refused.panic().unwrap_err(),
        refused.0.is_a("IDL:Other:1.0").unwrap_err(),
    ] {
        let SystemException { kind, completed, .. } = exception;
        assert_eq!(kind, SystemExceptionKind::NoPermission, "{exception}");
        assert_eq!((exception.minor, completed), (Minor::of::<9>(), CompletionStatus::Yes));
    }
    assert_eq!(log.lines().len(), 8, "{:?}", log.lines());
}

#[test]
fn two_panics_fail_one_request() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    let worker = site.object(&poa, "panics");
    for exception in [worker.panic().unwrap_err(), worker.name().unwrap_err()] {
        assert_eq!(exception.kind, SystemExceptionKind::Unknown, "{exception}");
        assert_eq!(exception.minor, minor::UNKNOWN_SERVANT_PANIC);
    }
    assert_eq!(site.object(&poa, "a").name().unwrap(), "a");
}

#[test]
fn objects_of_a_locator_are_located_without_being_called() {
    let (site, log) = (Site::new(), Log::default());
    let poa = located(&site, &log);
    site.object(&poa, "a").0.locate().unwrap();
    assert!(log.lines().is_empty());
}

type Outcome = dyn Fn(&ObjectId) -> Result<Arc<dyn Servant>, ServantRefusal> + Send + Sync;

/// Incarnates one object at a time, as slowly as the door allows.
struct Slow {
    log: Log,
    door: Door,
    outcome: Box<Outcome>,
}

impl ServantActivator for Slow {
    fn incarnate(&self, id: &ObjectId, _poa: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.log.note(format!("incarnate {id}"));
        self.door.stay();
        (self.outcome)(id)
    }

    fn etherealize(&self, id: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {
        self.log.note(format!("etherealize {id}"));
    }
}

const INCARNATED: [PoaPolicy; 2] = [
    PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
    PoaPolicy::IdAssignment(IdAssignment::UserId),
];

fn incarnated(
    site: &Site,
    log: &Log,
    door: &Door,
    outcome: impl Fn(&ObjectId) -> Result<Arc<dyn Servant>, ServantRefusal> + Send + Sync + 'static,
) -> Poa {
    let poa = site.child("incarnated", &INCARNATED);
    let (log, door) = (log.clone(), door.clone());
    let activator = Slow { log, door, outcome: Box::new(outcome) };
    poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
    poa
}

#[test]
fn an_object_is_incarnated_once_whoever_calls() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    let poa = incarnated(&site, &log, &door, |id| Ok(Worker::new(&id.to_string()).servant()));
    let worker = site.object(&poa, "a");
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let worker = worker.clone();
            std::thread::spawn(move || worker.name())
        })
        .collect();
    door.wait_for(1);
    // Another object does not wait for this one, but its activator would: so only look.
    assert!(matches!(poa.id_to_servant(&"a".into()), Err(PoaError::ObjectNotActive(_))));
    door.open();
    for call in calls {
        assert_eq!(call.join().unwrap().unwrap(), "a");
    }
    assert_eq!(log.lines(), ["incarnate a"]);
    assert!(poa.id_to_servant(&"a".into()).is_ok());
}

#[test]
fn when_incarnation_fails_the_next_request_tries_again() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    door.open();
    let times = Mutex::new(0);
    let poa = incarnated(&site, &log, &door, move |_| {
        let mut times = times.lock().unwrap();
        *times += 1;
        match *times {
            1 => {
                Err(SystemException::persist_store(Minor::of::<3>(), corbie::CompletionStatus::No)
                    .into())
            }
            _ => Ok(Worker::new("at last").servant()),
        }
    });
    let worker = site.object(&poa, "a");
    let exception = worker.name().unwrap_err();
    assert_eq!(
        (exception.kind, exception.minor),
        (SystemExceptionKind::PersistStore, Minor::of::<3>())
    );
    assert_eq!(worker.name().unwrap(), "at last");
    assert_eq!(log.lines(), ["incarnate a", "incarnate a"]);
}

#[test]
fn an_activator_may_send_callers_on() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    door.open();
    let target = site.root.activate(Worker::new("elsewhere")).unwrap();
    let poa = incarnated(&site, &log, &door, move |_| {
        Err(ServantRefusal::ForwardRequest(target.0.clone()))
    });
    assert_eq!(site.object(&poa, "a").name().unwrap(), "elsewhere");
}

#[test]
fn a_servant_that_unique_id_forbids_is_refused() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    door.open();
    let servant = Worker::new("the only one").servant();
    let poa = incarnated(&site, &log, &door, move |_| Ok(Arc::clone(&servant)));
    assert_eq!(site.object(&poa, "a").name().unwrap(), "the only one");
    let exception = site.object(&poa, "b").name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjAdapter);
    assert_eq!(exception.minor, minor::OBJ_ADAPTER_INCARNATE_POLICY);
}

#[test]
fn servant_managers_are_set_once_and_only_where_they_fit() {
    let (site, log, door) = (Site::new(), Log::default(), Door::default());
    let locator = || {
        let elsewhere = Mutex::new(None);
        ServantManager::locator(Locator { log: Log::default(), elsewhere })
    };
    let wrong = site.root.set_servant_manager(locator()).unwrap_err();
    assert!(matches!(wrong, PoaError::WrongPolicy { .. }), "{wrong}");
    assert!(site.root.get_servant_manager().is_err());
    let retain = site.child("retain", &INCARNATED);
    assert!(retain.get_servant_manager().unwrap().is_none());
    let PoaError::System(kind) = retain.set_servant_manager(locator()).unwrap_err() else {
        panic!("a locator under RETAIN")
    };
    assert_eq!(kind.minor, minor::OBJ_ADAPTER_NO_SERVANT_MANAGER);
    // Without one, requests get OBJ_ADAPTER.
    let exception = site.object(&retain, "a").name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjAdapter);
    assert_eq!(exception.minor, minor::OBJ_ADAPTER_NO_SERVANT_MANAGER);
    let poa = incarnated(&site, &log, &door, |_| Ok(Worker::new("w").servant()));
    let manager = poa.get_servant_manager().unwrap().unwrap();
    let PoaError::System(again) = poa.set_servant_manager(manager).unwrap_err() else {
        panic!("set twice")
    };
    assert_eq!(again.minor, minor::BAD_INV_ORDER_SERVANT_MANAGER_SET);
}

#[test]
fn a_default_servant_serves_what_is_not_active() {
    for retention in [ServantRetention::Retain, ServantRetention::NonRetain] {
        let site = Site::new();
        let policies = [
            RequestProcessing::DefaultServant.into(),
            IdUniqueness::MultipleId.into(),
            IdAssignment::UserId.into(),
            retention.into(),
        ];
        let poa = site.child("default", &policies);
        let worker = site.object(&poa, "a");
        assert_eq!(poa.get_servant().err(), Some(PoaError::NoServant));
        let exception = worker.name().unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::ObjAdapter);
        assert_eq!(exception.minor, minor::OBJ_ADAPTER_NO_DEFAULT_SERVANT);
        // It asks its POA which object it serves.
        let inner: Arc<Mutex<Option<Arc<dyn Servant>>>> = Arc::default();
        let job = {
            let (poa, inner) = (poa.clone(), Arc::clone(&inner));
            move || {
                let servant = inner.lock().unwrap().clone().unwrap();
                Ok(poa.servant_to_id(&servant)?.to_string())
            }
        };
        let servant = Worker::with_job(job).servant();
        *inner.lock().unwrap() = Some(Arc::clone(&servant));
        poa.set_servant(Arc::clone(&servant)).unwrap();
        assert_eq!(worker.run().unwrap(), "a");
        assert_eq!(site.object(&poa, "b").run().unwrap(), "b");
        assert!(Arc::ptr_eq(&poa.id_to_servant(&"any".into()).unwrap(), &servant));
        assert_eq!(poa.servant_to_id(&servant), Err(PoaError::ServantNotActive));
        if retention == ServantRetention::Retain {
            poa.activate_with_id("b", Worker::new("active")).unwrap();
            assert_eq!(site.object(&poa, "b").name().unwrap(), "active");
            poa.deactivate_object(&"b".into()).unwrap();
            assert_eq!(site.object(&poa, "b").run().unwrap(), "b");
        } else {
            let error = poa.activate_with_id("b", Worker::new("active")).unwrap_err();
            assert!(matches!(error, PoaError::WrongPolicy { .. }), "{error}");
        }
        inner.lock().unwrap().take();
    }
}

#[test]
fn references_are_made_without_objects() {
    let site = Site::new();
    let reference = site.root.create_reference(WORKER).unwrap();
    let worker = site.client_view(&reference);
    assert_eq!(worker.name().unwrap_err().kind, SystemExceptionKind::ObjectNotExist);
    let id = site.root.reference_to_id(&reference).unwrap();
    site.root.activate_object_with_id(&id, Worker::new("later").servant()).unwrap();
    assert_eq!(worker.name().unwrap(), "later");
    // Under SYSTEM_ID only ids of the POA's own will do.
    let PoaError::System(foreign) =
        site.root.create_reference_with_id(&"mine".into(), WORKER).unwrap_err()
    else {
        panic!("an id that the POA did not give")
    };
    assert_eq!(foreign.kind, SystemExceptionKind::BadParam);
    assert_eq!(foreign.minor, minor::BAD_PARAM_OBJECT_ID);
    let child = site.child("user", &[IdAssignment::UserId.into()]);
    assert!(matches!(child.create_reference(WORKER), Err(PoaError::WrongPolicy { .. })));
}
