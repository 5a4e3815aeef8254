//! What a servant may ask of the request that it serves: `PortableServer::Current`, in every kind of
//! upcall and nowhere else (CORBA 3.3 P1 §15.3.11); `Current`, in `request_current`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
#[path = "poa_current/request_current.rs"]
mod request_current;

use corbie::codegen::Marshal;
use corbie::{
    Cookie, IdAssignment, IdUniqueness, Interface, Lifespan, Object, ObjectId, Orb, Poa,
    PoaCurrent, PoaCurrentError, PoaPolicy, RequestProcessing, Servant, ServantLocator,
    ServantManager, ServantRefusal, ServantRetention, ServerRequest, SystemException, TypedServant,
};
use echo::{Echo, STRATEGIES, as_client, lend_a_thread, loopback_orb};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// What `PoaCurrent` said in one upcall.
#[derive(Debug)]
struct Seen {
    poa: String,
    id: ObjectId,
    reference: Object,
    is_self: bool,
}

fn look(servant: Option<&Witness>) -> Seen {
    let current = PoaCurrent;
    let at = Arc::as_ptr(&current.get_servant().unwrap()).cast::<Witness>();
    Seen {
        poa: current.get_poa().unwrap().the_name().to_owned(),
        id: current.get_object_id().unwrap(),
        reference: current.get_reference().unwrap(),
        is_self: servant.is_some_and(|servant| std::ptr::addr_eq(at, servant)),
    }
}

/// Tells the test what it sees; calls on, defers, or just answers.
struct Witness {
    seen: mpsc::Sender<Seen>,
}

impl Servant for Witness {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.seen.send(look(Some(self))).unwrap();
        if request.operation() == "wait" {
            let response = request.defer();
            self.seen.send(look(Some(self))).unwrap();
            let thread = std::thread::spawn(move || {
                // Not in the upcall any more.
                let outside = PoaCurrent.get_poa().unwrap_err();
                assert_eq!(outside, PoaCurrentError::NoContext);
                response.reply(&|e| i64::encode(&1, e)).unwrap();
            });
            return thread.join().map_err(|_| request.unknown_operation());
        }
        if request.operation() == "call_back" {
            let other = Echo(Object::decode(&mut request.arguments())?.unwrap());
            other.double(1)?;
            // The nested upcall has ended.
            self.seen.send(look(Some(self))).unwrap();
        }
        request.reply(&|e| i64::encode(&1, e))
    }
}

impl TypedServant for Witness {
    type Reference = Echo;
}

struct Scene {
    server: Orb,
    client: Orb,
    poa: Poa,
    seen: mpsc::Receiver<Seen>,
    sender: mpsc::Sender<Seen>,
}

impl Scene {
    fn new(strategy: &str, policies: &[PoaPolicy]) -> Self {
        let server =
            loopback_orb(&["-ORBServerConcurrency", strategy, "-ORBRequestTimeout", "60s"]);
        lend_a_thread(&server);
        let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
        let root = server.root_poa().unwrap();
        let manager = root.the_poa_manager();
        manager.activate().unwrap();
        let poa = root.create_poa("child", Some(&manager), policies).unwrap();
        let (sender, seen) = mpsc::channel();
        Scene { server, client, poa, seen, sender }
    }

    fn witness(&self) -> Witness {
        Witness { seen: self.sender.clone() }
    }

    /// What the next upcall saw is right for `id`.
    fn check(&self, id: &str, what: &str) {
        let seen = self.seen.recv_timeout(PATIENCE).unwrap();
        assert_eq!(seen.poa, "child", "{what}");
        assert_eq!(seen.id, ObjectId::from(id), "{what}");
        assert!(seen.is_self, "{what}: another servant");
        assert_eq!(
            self.poa.reference_to_id(&seen.reference).unwrap(),
            ObjectId::from(id),
            "{what}"
        );
        assert_eq!(seen.reference.ior().type_id, Echo::REPOSITORY_ID, "{what}");
    }

    fn end(self) {
        assert_eq!(self.seen.try_iter().count(), 0);
        self.client.shutdown(true);
        self.server.shutdown(true);
    }
}

const USER_ID: PoaPolicy = PoaPolicy::IdAssignment(IdAssignment::UserId);

#[test]
fn remote_local_deferred_and_nested_upcalls_know_their_object() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[USER_ID]);
        let near = scene.poa.activate_with_id("a", scene.witness()).unwrap();
        let other = scene.poa.activate_with_id("b", scene.witness()).unwrap();
        let far = as_client(&scene.client, &near);
        far.double(1).unwrap();
        scene.check("a", strategy);
        near.double(1).unwrap();
        scene.check("a", &format!("{strategy}, local"));
        far.wait(Duration::ZERO).unwrap();
        scene.check("a", &format!("{strategy}, before defer"));
        scene.check("a", &format!("{strategy}, after defer"));
        far.call_back(&other, 1).unwrap();
        scene.check("a", &format!("{strategy}, outer"));
        scene.check("b", &format!("{strategy}, inner"));
        scene.check("a", &format!("{strategy}, outer again"));
        scene.end();
    }
}

#[test]
fn one_default_servant_tells_its_objects_apart() {
    let scene = Scene::new(
        "thread-pool",
        &[
            USER_ID,
            PoaPolicy::IdUniqueness(IdUniqueness::MultipleId),
            PoaPolicy::RequestProcessing(RequestProcessing::DefaultServant),
            PoaPolicy::ServantRetention(ServantRetention::NonRetain),
            PoaPolicy::Lifespan(Lifespan::Persistent),
        ],
    );
    scene.poa.set_servant(Arc::new(scene.witness())).unwrap();
    for id in ["one", "two"] {
        let object = scene.poa.create_reference_with_id(&id.into(), Echo::REPOSITORY_ID).unwrap();
        let far = as_client(&scene.client, &Echo(object.clone()));
        far.double(1).unwrap();
        scene.check(id, "default servant");
        Echo(object).double(1).unwrap();
        scene.check(id, "default servant, local");
    }
    scene.end();
}

/// A servant for each request; notes what it could see itself.
struct Locator {
    witness: Arc<dyn Servant>,
    seen: Mutex<Vec<(ObjectId, PoaCurrentError)>>,
}

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _adapter: &Poa,
        _operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        // The request is known, its servant is not.
        assert_eq!(PoaCurrent.get_object_id().unwrap(), *id);
        let unknown = PoaCurrent.get_servant().map(drop).unwrap_err();
        self.seen.lock().unwrap().push((id.clone(), unknown));
        Ok((Arc::clone(&self.witness), Box::new(())))
    }

    fn postinvoke(
        &self,
        _id: &ObjectId,
        _adapter: &Poa,
        _operation: &str,
        _cookie: Cookie,
        _servant: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn servants_of_a_locator_know_their_object() {
    let scene = Scene::new(
        "thread-per-connection",
        &[
            USER_ID,
            PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
            PoaPolicy::ServantRetention(ServantRetention::NonRetain),
        ],
    );
    let locator = Arc::new(Locator { witness: Arc::new(scene.witness()), seen: Mutex::default() });
    scene.poa.set_servant_manager(ServantManager::Locator(Arc::clone(&locator) as _)).unwrap();
    let object = scene.poa.create_reference_with_id(&"x".into(), Echo::REPOSITORY_ID).unwrap();
    as_client(&scene.client, &Echo(object)).double(1).unwrap();
    scene.check("x", "servant locator");
    let seen = locator.seen.lock().unwrap().clone();
    assert_eq!(seen, [(ObjectId::from("x"), PoaCurrentError::NoContext)]);
    scene.end();
}

#[test]
fn outside_of_upcalls_there_is_no_context() {
    let orb = loopback_orb(&[]);
    let current = orb.poa_current();
    assert_eq!(current.get_poa().map(drop), Err(PoaCurrentError::NoContext));
    assert_eq!(current.get_object_id(), Err(PoaCurrentError::NoContext));
    assert_eq!(current.get_reference().map(drop), Err(PoaCurrentError::NoContext));
    assert_eq!(current.get_servant().map(drop), Err(PoaCurrentError::NoContext));
    orb.shutdown(true);
}

#[test]
fn it_is_an_initial_reference() {
    let orb = loopback_orb(&[]);
    assert!(orb.list_initial_services().contains(&"POACurrent".to_owned()));
    let object = orb.resolve_initial_references("POACurrent").unwrap();
    assert_eq!(PoaCurrent::narrow(&object), Some(orb.poa_current()));
    let other = orb.root_poa().unwrap().create_reference("IDL:Test/Echo:1.0").unwrap();
    assert_eq!(PoaCurrent::narrow(&other), None);
    // It is no object that can be called, and says so.
    assert!(object.non_existent().is_err());
    orb.shutdown(true);
}
