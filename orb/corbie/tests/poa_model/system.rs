//! The steps of the model, done to a real server; requests go by message, or straight to the servant.

use crate::model::{DEFAULT, Kind, Outcome, State, Step, incarnated};
use corbie::codegen::{Marshal, Operation, View};
use corbie::{
    IdAssignment, IdUniqueness, Lifespan, Object, ObjectId, Orb, Poa, PoaCurrent, PoaError,
    PoaManager, PoaManagerError, PoaPolicy, RequestProcessing, Servant, ServantActivator,
    ServantDemux, ServantManager, ServantRefusal, ServerRequest, SystemException,
    SystemExceptionKind, ThreadModel,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const ID: &str = "IDL:Test/Modelled:1.0";
const PATIENCE: Duration = Duration::from_secs(60);

/// Says its number and which object it was called for.
struct Numbered(u32);

impl Numbered {
    fn answer(&self) -> Result<(u32, Vec<u8>), SystemException> {
        let id = PoaCurrent.get_object_id().map_err(SystemException::from)?;
        Ok((self.0, id.as_octets().to_vec()))
    }
}

impl Servant for Numbered {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[ID]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let (number, id) = self.answer()?;
        request.reply(&|e| {
            u32::encode(&number, e)?;
            e.write_octet_sequence(&id)
        })
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<Numbered>(self);
    }
}

/// What all servant activators know together.
#[derive(Default)]
struct Activators {
    /// How often each id was incarnated.
    incarnations: HashMap<(String, ObjectId), u32>,
    /// All servants ever made, so that none has the address of another.
    servants: Vec<(Arc<dyn Servant>, u32)>,
    etherealized: BTreeMap<u32, u32>,
}

struct Activator {
    path: String,
    all: Arc<Mutex<Activators>>,
}

impl ServantActivator for Activator {
    fn incarnate(&self, id: &ObjectId, _adapter: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        let mut all = self.all.lock().unwrap();
        let nth = all.incarnations.entry((self.path.clone(), id.clone())).or_insert(0);
        *nth += 1;
        let number = incarnated(&self.path, &id.to_string(), *nth);
        let servant: Arc<dyn Servant> = Arc::new(Numbered(number));
        all.servants.push((Arc::clone(&servant), number));
        Ok(servant)
    }

    fn etherealize(
        &self,
        _id: &ObjectId,
        _adapter: &Poa,
        servant: Arc<dyn Servant>,
        _cleanup_in_progress: bool,
        _remaining_activations: bool,
    ) {
        let mut all = self.all.lock().unwrap();
        let is_it = |other: &&(Arc<dyn Servant>, u32)| {
            std::ptr::addr_eq(Arc::as_ptr(&other.0), Arc::as_ptr(&servant))
        };
        let number = all.servants.iter().find(is_it).unwrap().1;
        *all.etherealized.entry(number).or_insert(0) += 1;
    }
}

/// A request that waits.
type Waiting = JoinHandle<Outcome>;

pub(crate) struct System {
    server: Orb,
    client: Orb,
    root: Poa,
    managers: Vec<PoaManager>,
    servants: Vec<Arc<dyn Servant>>,
    references: Vec<(String, Object)>,
    waiting: BTreeMap<usize, Vec<Waiting>>,
    activators: Arc<Mutex<Activators>>,
}

fn orb(strategy: &str, mode: [&str; 2]) -> Orb {
    let timeout = ["-ORBRequestTimeout", "60s"];
    let listen = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let strategy = ["-ORBServerConcurrency", strategy];
    Orb::init([timeout, listen, strategy, mode].concat()).unwrap()
}

fn policies(kind: Kind) -> Vec<PoaPolicy> {
    let lasting = PoaPolicy::PERSISTENT_USER_ID.to_vec();
    match kind {
        Kind::Plain => vec![],
        Kind::Lasting => lasting,
        Kind::Defaulted => vec![
            Lifespan::Transient.into(),
            IdAssignment::UserId.into(),
            IdUniqueness::MultipleId.into(),
            RequestProcessing::DefaultServant.into(),
        ],
        Kind::Incarnated => [lasting, vec![RequestProcessing::ServantManager.into()]].concat(),
        Kind::Single => vec![ThreadModel::SingleThread.into(), ServantDemux::Linear.into()],
    }
}

impl System {
    /// `mode`: how calls within the process are made.
    pub(crate) fn new(strategy: &str, mode: [&str; 2]) -> Self {
        let (server, client) = (orb(strategy, mode), orb("thread-per-connection", mode));
        let root = server.root_poa().unwrap();
        root.the_poa_manager().activate().unwrap();
        let servants: Vec<Arc<dyn Servant>> =
            (0..6).map(|number| Arc::new(Numbered(number)) as _).collect();
        let activators = Arc::<Mutex<Activators>>::default();
        let numbered = servants.iter().cloned().zip(0..);
        activators.lock().unwrap().servants.extend(numbered);
        let (managers, references, waiting) = (vec![], vec![], BTreeMap::new());
        System { server, client, root, managers, servants, references, waiting, activators }
    }

    fn find(&self, path: &str) -> Option<Poa> {
        path.split('/').try_fold(self.root.clone(), |poa, name| poa.find_poa(name, false).ok())
    }

    /// `expected` is looked at for one thing only: whether a request is to be waited for, or is to
    /// wait.
    pub(crate) fn apply(&mut self, step: &Step, expected: &Outcome) -> Outcome {
        match step {
            Step::MakeManager => {
                let id = format!("manager {}", self.managers.len());
                let factory = self.root.the_poa_manager_factory();
                self.managers.push(factory.create_poa_manager(&id, &[]).unwrap());
                Outcome::Done
            }
            Step::ChangeManager(manager, state) => self.change(*manager, *state, expected),
            Step::Create { path, manager, kind } => self.create(path, *manager, *kind),
            Step::Destroy { path, etherealize } => {
                let Some(poa) = self.find(path) else { return Outcome::NonExistent };
                poa.destroy(*etherealize, true).unwrap();
                Outcome::Done
            }
            Step::Find(path) => match self.find(path) {
                Some(_) => Outcome::Done,
                None => Outcome::NonExistent,
            },
            Step::Activate { path, servant } => {
                let Some(poa) = self.find(path) else { return Outcome::NonExistent };
                let servant = Arc::clone(&self.servants[*servant as usize]);
                let activated = poa.activate_object(servant);
                self.note(path, &poa, activated)
            }
            Step::ActivateWithId { path, id, servant } => {
                let Some(poa) = self.find(path) else { return Outcome::NonExistent };
                let (id, servant) = (id.as_str().into(), &self.servants[*servant as usize]);
                let activated = poa.activate_object_with_id(&id, Arc::clone(servant));
                self.note(path, &poa, activated.map(|()| id))
            }
            Step::Deactivate(reference) => self.deactivate(*reference),
            Step::MakeReference { path, id } => {
                let Some(poa) = self.find(path) else { return Outcome::NonExistent };
                let made = match poa.policies().id_assignment {
                    IdAssignment::SystemId => poa.create_reference(ID),
                    IdAssignment::UserId => poa.create_reference_with_id(&id.as_str().into(), ID),
                };
                self.references.push((path.clone(), made.unwrap()));
                Outcome::Reference
            }
            Step::ServantToId { path, servant } => {
                let Some(poa) = self.find(path) else { return Outcome::NonExistent };
                outcome(poa.servant_to_id(&self.servants[*servant as usize]))
            }
            Step::Ask(reference) => {
                let asking = self.ask(*reference);
                self.wait_or_answer(asking, expected)
            }
        }
    }

    fn note(&mut self, path: &str, poa: &Poa, activated: Result<ObjectId, PoaError>) -> Outcome {
        match activated {
            Ok(id) => {
                self.references.push((path.to_owned(), poa.id_to_reference(&id).unwrap()));
                Outcome::Reference
            }
            Err(error) => outcome::<()>(Err(error)),
        }
    }

    fn change(&mut self, number: usize, state: State, expected: &Outcome) -> Outcome {
        let manager = &self.managers[number];
        let changed = match state {
            State::Holding => manager.hold_requests(true),
            State::Active => manager.activate(),
            State::Discarding => manager.discard_requests(true),
            State::Inactive => manager.deactivate(true, true),
        };
        match changed {
            Err(PoaManagerError::AdapterInactive) => return Outcome::AdapterInactive,
            other => other.unwrap(),
        }
        let Outcome::Released(expected) = expected else { return Outcome::Done };
        if expected.is_empty() {
            return Outcome::Released(vec![]);
        }
        let waiting = self.waiting.remove(&number).unwrap_or_default();
        assert_eq!(waiting.len(), expected.len());
        let waiting = waiting.into_iter().zip(expected);
        Outcome::Released(waiting.map(|(asking, e)| self.wait_or_answer(asking, e)).collect())
    }

    fn create(&self, path: &str, manager: usize, kind: Kind) -> Outcome {
        let (parent, name) = match path.rsplit_once('/') {
            Some((parent, name)) => (self.find(parent), name),
            None => (Some(self.root.clone()), path),
        };
        let Some(parent) = parent else { return Outcome::NonExistent };
        let manager = &self.managers[manager];
        let poa = match parent.create_poa(name, Some(manager), &policies(kind)) {
            Ok(poa) => poa,
            Err(error) => return outcome::<()>(Err(error)),
        };
        if kind == Kind::Defaulted {
            poa.set_servant(Arc::new(Numbered(DEFAULT))).unwrap();
        }
        if kind == Kind::Incarnated {
            let activator = Activator { path: path.to_owned(), all: Arc::clone(&self.activators) };
            poa.set_servant_manager(ServantManager::activator(activator)).unwrap();
        }
        Outcome::Done
    }

    fn deactivate(&self, reference: usize) -> Outcome {
        let (path, object) = &self.references[reference];
        let Some(poa) = self.find(path) else { return Outcome::NonExistent };
        match poa.reference_to_id(object) {
            Ok(id) => outcome(poa.deactivate_object(&id)),
            Err(PoaError::WrongAdapter) => Outcome::NonExistent,
            Err(other) => panic!("{other}"),
        }
    }

    /// Sends a request on a thread of its own.
    fn ask(&self, reference: usize) -> Waiting {
        let object = self.client.string_to_object(&self.references[reference].1.to_string());
        let object = object.unwrap();
        std::thread::spawn(move || answer(&object))
    }

    fn wait_or_answer(&mut self, asking: Waiting, expected: &Outcome) -> Outcome {
        let Outcome::Waits(manager) = expected else { return asking.join().unwrap() };
        let waiting = self.waiting.entry(*manager).or_default();
        let end = Instant::now() + PATIENCE;
        while self.managers[*manager].requests_held() <= waiting.len() {
            if asking.is_finished() {
                return asking.join().unwrap();
            }
            assert!(Instant::now() < end, "a request neither waits nor is answered");
            std::thread::yield_now();
        }
        waiting.push(asking);
        Outcome::Waits(*manager)
    }

    /// Compares what activators got back, which happens after the last reply at times.
    pub(crate) fn end(self, model: &crate::model::Model) {
        let end = Instant::now() + PATIENCE;
        while self.activators.lock().unwrap().etherealized != model.etherealized {
            let found = &self.activators.lock().unwrap().etherealized;
            assert!(Instant::now() < end, "etherealized {found:?}, not {:?}", model.etherealized);
            std::thread::yield_now();
        }
        self.server.shutdown(true);
        for asking in self.waiting.into_values().flatten() {
            assert_eq!(asking.join().unwrap(), Outcome::Transient, "at the end");
        }
        self.client.shutdown(true);
    }
}

fn outcome<T>(result: Result<T, PoaError>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(PoaError::AdapterAlreadyExists(_)) => Outcome::AlreadyExists,
        Err(PoaError::AdapterNonExistent(_)) => Outcome::NonExistent,
        Err(PoaError::ObjectAlreadyActive(_)) => Outcome::ObjectActive,
        Err(PoaError::ServantAlreadyActive(_)) => Outcome::ServantActive,
        Err(PoaError::ObjectNotActive(_)) => Outcome::ObjectNotActive,
        Err(PoaError::ServantNotActive) => Outcome::ServantNotActive,
        Err(other) => panic!("{other}"),
    }
}

fn answer(object: &Object) -> Outcome {
    const ASK: Operation = Operation::twoway("ask");
    let answer = object.call(&ASK, Numbered::answer, || {
        let mut reply = object.invoke(&ASK, &|_| Ok(()))?;
        reply.results_only(|d| Ok((u32::decode(d)?, d.read_octet_sequence()?.to_vec())))
    });
    match answer {
        Ok((number, id)) => {
            // The end of the object key is the id.
            assert!(object.object_key().unwrap().ends_with(&id), "called for another object");
            Outcome::Answer(number)
        }
        Err(exception) => match exception.kind {
            SystemExceptionKind::ObjectNotExist => Outcome::NotExist,
            SystemExceptionKind::Transient => Outcome::Transient,
            SystemExceptionKind::ObjAdapter => Outcome::ObjAdapter,
            _ => panic!("{exception}"),
        },
    }
}
