//! Nested POAs and adapter activators (CORBA 3.3 P1 §15.3.3, §15.3.9.2, §15.3.9.3).

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod worker;

use corbie::{
    AdapterActivator, CompletionStatus, Lifespan, Minor, Poa, PoaError, PoaPolicy, SystemException,
    SystemExceptionKind, minor,
};
use std::sync::Arc;
use worker::{Door, Log, Site, Worker};

/// Makes any child but `no`, with an object `o`, and itself as the child's activator.
#[derive(Clone, Default)]
struct Maker {
    log: Log,
    door: Door,
}

impl AdapterActivator for Maker {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        self.log.note(format!("{} / {name}", parent.the_name()));
        self.door.stay();
        match name {
            "no" => return Ok(false),
            "liar" => return Ok(true),
            "fails" => {
                return Err(SystemException::no_memory(Minor::of::<5>(), CompletionStatus::No));
            }
            _ => {}
        }
        let manager = parent.the_poa_manager();
        let child = parent.create_poa(name, Some(&manager), &PoaPolicy::PERSISTENT_USER_ID)?;
        // The thread that makes a POA finds it at once.
        assert!(parent.find_poa(name, true).is_ok());
        child.set_the_activator(Some(Arc::new(self.clone())));
        child.activate_with_id("o", Worker::new(name))?;
        Ok(true)
    }
}

fn open() -> Maker {
    let maker = Maker::default();
    maker.door.open();
    maker
}

/// A key for the object `o` of the POA at `path`, made by hand.
fn key(path: &[&str]) -> Vec<u8> {
    let path: Vec<u8> = path.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
    let length = u16::try_from(path.len()).unwrap().to_be_bytes();
    [&[0xCB, b'P'], &length[..], &path, b"o"].concat()
}

fn at(site: &Site, path: &[&str]) -> worker::WorkerRef {
    let object = site.server.create_reference(&key(path), worker::WORKER).unwrap();
    site.client_view(&object)
}

#[test]
fn requests_have_missing_poas_made_parents_first() {
    let (site, maker) = (Site::new(), open());
    site.root.set_the_activator(Some(Arc::new(maker.clone())));
    let worker = at(&site, &["a", "b", "c"]);
    worker.0.locate().unwrap();
    assert!(maker.log.lines().is_empty(), "locating makes nothing");
    assert_eq!(worker.name().unwrap(), "c");
    assert_eq!(maker.log.lines(), ["RootPOA / a", "a / b", "b / c"]);
    assert_eq!(at(&site, &["a", "b"]).name().unwrap(), "b");
    assert_eq!(maker.log.lines().len(), 3);
    // Once destroyed, it can be made again.
    site.root.find_poa("a", false).unwrap().destroy(true, true).unwrap();
    assert_eq!(worker.name().unwrap(), "c");
    assert_eq!(maker.log.lines().len(), 6);
}

#[test]
fn an_activator_may_decline_and_fail() {
    let (site, maker) = (Site::new(), open());
    site.root.set_the_activator(Some(Arc::new(maker.clone())));
    for name in ["no", "liar"] {
        let exception = at(&site, &[name]).name().unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
        assert_eq!(exception.minor, minor::OBJECT_NOT_EXIST_NO_ADAPTER);
        let missing = site.root.find_poa(name, true).unwrap_err();
        assert_eq!(missing, PoaError::AdapterNonExistent(name.to_owned()));
    }
    let exception = at(&site, &["fails", "deeper"]).name().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjAdapter, "{exception}");
    assert_eq!(exception.minor, minor::OBJ_ADAPTER_UNKNOWN_ADAPTER);
    let PoaError::System(exception) = site.root.find_poa("fails", true).unwrap_err() else {
        panic!("no exception")
    };
    assert_eq!(exception.minor, minor::OBJ_ADAPTER_UNKNOWN_ADAPTER);
}

#[test]
fn one_thread_at_a_time_makes_a_poa_and_requests_wait_for_it() {
    let (site, maker) = (Site::new(), Maker::default());
    site.root.set_the_activator(Some(Arc::new(maker.clone())));
    let worker = at(&site, &["a"]);
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let worker = worker.clone();
            std::thread::spawn(move || worker.name())
        })
        .collect();
    maker.door.wait_for(1);
    let finder = {
        let root = site.root.clone();
        std::thread::spawn(move || root.find_poa("a", true))
    };
    assert!(site.root.find_poa("a", false).is_err(), "it is not there yet");
    maker.door.open();
    for call in calls {
        assert_eq!(call.join().unwrap().unwrap(), "a");
    }
    assert_eq!(finder.join().unwrap().unwrap().the_name(), "a");
    assert_eq!(maker.log.lines(), ["RootPOA / a"]);
}

#[test]
fn the_family_knows_itself() {
    let site = Site::new();
    let (a, b) = (site.child("a", &[]), site.child("b", &[]));
    let inner = a.create_poa("inner", None, &[]).unwrap();
    assert_eq!(inner.the_parent(), Some(a.clone()));
    assert_eq!(site.root.the_parent(), None);
    let names: Vec<_> =
        site.root.the_children().iter().map(|poa| poa.the_name().to_owned()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_ne!(a.id(), b.id());
    assert_eq!(a.id(), site.root.find_poa("a", false).unwrap().id());
    for name in ["\0", "a\0b"] {
        let error = site.root.create_poa(name, None, &[]).unwrap_err();
        assert_eq!(error, PoaError::BadName(name.to_owned()));
    }
    assert!(site.root.the_activator().is_none());
    site.root.set_the_activator(Some(Arc::new(open())));
    assert!(site.root.the_activator().is_some());
    site.root.set_the_activator(None);
    assert!(site.root.find_poa("c", true).is_err());
}

#[test]
fn an_illegal_policy_is_named_by_its_place() {
    let site = Site::new();
    let policies = [Lifespan::Persistent.into(), corbie::ServantRetention::NonRetain.into()];
    let error = site.root.create_poa("x", None, &policies).unwrap_err();
    assert!(matches!(error, PoaError::InvalidPolicy { index: 1, .. }), "{error}");
    assert!(site.root.the_children().is_empty());
}

#[test]
fn depth_does_not_matter() {
    for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
        let site = Site::new();
        let mut poa = site.root.clone();
        for depth in 0..25 {
            let manager = poa.the_poa_manager();
            let policies = [lifespan.into(), corbie::IdAssignment::UserId.into()];
            poa = poa.create_poa(&format!("poa {depth}"), Some(&manager), &policies).unwrap();
        }
        let reference = poa.activate_with_id("o", Worker::new("deep")).unwrap();
        assert_eq!(site.client_view(&reference.0).name().unwrap(), "deep");
    }
}
