//! What requests do, from a client's side: to active objects, to references without an object, to
//! objects that were deactivated, and to POAs that were destroyed and made again
//! (CORBA 3.3 P1 §15.2, §15.3.8).

use crate::site::{Case, Site};
use crate::witness::{Asked, ID, Manager, Notes, Witness};
use corbie::{
    Lifespan, Minor, ObjectId, Poa, RequestProcessing, ServantDemux, ServantManager,
    SystemException, SystemExceptionKind, ThreadModel, minor,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const DEFAULT: u32 = 1;
const ACTIVE: u32 = 2;

/// A POA with what its policies want, and what its servants noted.
struct Scene<'s> {
    site: &'s Site,
    case: &'s Case,
    poa: Poa,
    notes: Arc<Notes>,
    manager: Manager,
    what: &'s str,
}

type Answer = Result<(u32, Vec<u8>), SystemException>;

impl<'s> Scene<'s> {
    fn new(site: &'s Site, case: &'s Case, demux: ServantDemux, what: &'s str) -> Self {
        let poa = site.child(case, demux);
        let notes = Arc::default();
        let manager = Manager::new(&notes);
        Scene { site, case, poa, notes, manager, what }
    }

    fn ask(&self, object: &corbie::Object) -> Answer {
        let object = self.site.far(object);
        self.site.call(move || object.ask())
    }

    fn reference(&self, id: &str) -> corbie::Object {
        if self.case.gives_ids() {
            return self.poa.create_reference(ID).unwrap();
        }
        self.poa.create_reference_with_id(&id.into(), ID).unwrap()
    }

    fn id(&self, reference: &corbie::Object) -> ObjectId {
        self.poa.reference_to_id(reference).unwrap()
    }

    fn refused(&self, answer: Answer, kind: SystemExceptionKind, code: Minor) {
        let exception = answer.unwrap_err();
        assert_eq!((exception.kind, exception.minor), (kind, code), "{}", self.what);
    }

    /// Without a default servant or servant manager where the policies want one.
    fn nothing_is_set(&self) {
        let reference = self.reference("early");
        let answer = self.ask(&reference);
        match self.case.processing {
            RequestProcessing::ActiveObjectMapOnly => self.no_object(answer),
            RequestProcessing::DefaultServant => {
                let code = minor::OBJ_ADAPTER_NO_DEFAULT_SERVANT;
                self.refused(answer, SystemExceptionKind::ObjAdapter, code);
            }
            RequestProcessing::ServantManager => {
                let code = minor::OBJ_ADAPTER_NO_SERVANT_MANAGER;
                self.refused(answer, SystemExceptionKind::ObjAdapter, code);
            }
        }
    }

    fn no_object(&self, answer: Answer) {
        let code = minor::OBJECT_NOT_EXIST_NO_MATCH;
        self.refused(answer, SystemExceptionKind::ObjectNotExist, code);
    }

    fn set_what_is_wanted(&self) {
        if self.case.has_default_servant() {
            self.poa.set_servant(Witness::servant(DEFAULT, &self.notes)).unwrap();
        }
        if self.case.has_servant_manager() {
            let manager = self.manager.clone();
            let manager = match self.case.retains() {
                true => ServantManager::activator(manager),
                false => ServantManager::locator(manager),
            };
            self.poa.set_servant_manager(manager).unwrap();
        }
    }

    /// A request for an object that is not active.
    fn inactive(&self, reference: &corbie::Object) {
        let id = self.id(reference);
        let octets = id.as_octets().to_vec();
        let answer = self.ask(reference);
        match (self.case.processing, self.case.retains()) {
            (RequestProcessing::ActiveObjectMapOnly, _) => self.no_object(answer),
            (RequestProcessing::DefaultServant, _) => {
                assert_eq!(answer.unwrap(), (DEFAULT, octets), "{}", self.what);
            }
            (RequestProcessing::ServantManager, true) => {
                let (first, called) = answer.unwrap();
                assert_eq!(called, octets, "{}", self.what);
                // It is active now: the second request asks no servant manager.
                assert_eq!(self.ask(reference).unwrap(), (first, octets), "{}", self.what);
                assert_eq!(self.manager.take(), [Asked::Incarnate(id.clone())], "{}", self.what);
                self.poa.deactivate_object(&id).unwrap();
                let asked = Asked::Etherealize {
                    id,
                    cleanup_in_progress: false,
                    remaining_activations: false,
                };
                assert_eq!(self.eventually_asked(), [asked], "{}", self.what);
            }
            (RequestProcessing::ServantManager, false) => {
                let (first, called) = answer.unwrap();
                assert_eq!(called, octets, "{}", self.what);
                // Each request has a servant of its own.
                assert_eq!(self.ask(reference).unwrap(), (first + 1, octets), "{}", self.what);
                let (before, after) = (Asked::Preinvoke(id.clone()), Asked::Postinvoke(id));
                self.eventually(|| self.manager.asked.lock().unwrap().len() >= 4);
                let mut asked = self.manager.take();
                assert_eq!(asked[0], before, "{}", self.what);
                // A call of the same process may come between a reply and what follows it.
                asked.sort_by_key(|asked| *asked == after);
                let all = [before.clone(), before, after.clone(), after];
                assert_eq!(asked, all, "{}", self.what);
            }
        }
    }

    /// The reply leaves before the upcall has ended, so what comes after it is waited for.
    fn eventually(&self, condition: impl Fn() -> bool) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !condition() {
            assert!(std::time::Instant::now() < end, "{}: waited in vain", self.what);
            std::thread::yield_now();
        }
    }

    fn eventually_asked(&self) -> Vec<Asked> {
        self.eventually(|| !self.manager.asked.lock().unwrap().is_empty());
        self.manager.take()
    }

    /// A request for an active object, and then for one that is active no more.
    fn active(&self) {
        if !self.case.retains() {
            return;
        }
        let before = self.reference("object");
        let id = self.id(&before);
        let servant = Witness::servant(ACTIVE, &self.notes);
        self.poa.activate_object_with_id(&id, servant).unwrap();
        let octets = id.as_octets().to_vec();
        // Also by a reference from before the activation.
        for reference in [&before, &self.poa.id_to_reference(&id).unwrap()] {
            assert_eq!(self.ask(reference).unwrap(), (ACTIVE, octets.clone()), "{}", self.what);
        }
        assert_eq!(self.manager.take(), [], "{}", self.what);
        self.poa.deactivate_object(&id).unwrap();
        if self.case.has_servant_manager() {
            self.eventually_asked();
        }
        self.inactive(&before);
    }

    /// Which threads were inside, and how many at once.
    fn threads(&self) {
        let threads = self.notes.threads.lock().unwrap();
        if self.case.thread == ThreadModel::MainThread {
            let is_main = threads.iter().all(|thread| *thread == self.site.main);
            assert!(is_main, "{}: an upcall on another thread", self.what);
        }
        if self.case.thread != ThreadModel::OrbControl {
            assert!(self.notes.most_inside.load(Ordering::SeqCst) <= 1, "{}", self.what);
        }
    }
}

pub(crate) fn check(site: &Site, case: &Case, demux: ServantDemux, what: &str) {
    let scene = Scene::new(site, case, demux, what);
    scene.nothing_is_set();
    scene.set_what_is_wanted();
    let reference = scene.reference("never");
    scene.inactive(&reference);
    scene.active();
    scene.threads();
    let id = scene.id(&reference);
    scene.poa.destroy(true, true).unwrap();
    scene.no_adapter(&reference);
    // The same POA made again: in effect another life of the server.
    let again = Scene::new(site, case, demux, what);
    again.set_what_is_wanted();
    match (case.lifespan, case.gives_ids()) {
        (Lifespan::Transient, _) => again.no_adapter(&reference),
        (Lifespan::Persistent, _) if case.processing == RequestProcessing::ActiveObjectMapOnly => {
            again.no_object(again.ask(&reference));
            if !case.gives_ids() {
                let servant = Witness::servant(ACTIVE, &again.notes);
                again.poa.activate_object_with_id(&id, servant).unwrap();
                let expected = (ACTIVE, id.as_octets().to_vec());
                assert_eq!(again.ask(&reference).unwrap(), expected, "{what}");
            }
        }
        (Lifespan::Persistent, _) => {
            let (_, called) = again.ask(&reference).unwrap();
            assert_eq!(called, id.as_octets(), "{what}");
        }
    }
    again.poa.destroy(true, true).unwrap();
}

impl Scene<'_> {
    fn no_adapter(&self, reference: &corbie::Object) {
        let exception = self.ask(reference).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{}", self.what);
    }
}
