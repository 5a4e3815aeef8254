//! A servant that says who it is and can be kept inside a request until the test lets it go.
//! Shared by the tests of the object adapter.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)] // a part of each test

use corbie::codegen::{Marshal, Operation, View};
use corbie::{
    Interface, Object, ObjectId, Orb, Poa, Servant, ServerRequest, SystemException, TypedServant,
};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interface of [`Worker`].
pub const WORKER: &str = "IDL:Test/Worker:1.0";
/// How long a test waits for what has to happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct WorkerRef(pub Object);

impl Interface for WorkerRef {
    const REPOSITORY_ID: &'static str = WORKER;
    const BASES: &'static [&'static str] = &[];
    fn from_object(object: Object) -> Self {
        WorkerRef(object)
    }
    fn as_object(&self) -> &Object {
        &self.0
    }
    fn into_object(self) -> Object {
        self.0
    }
}

impl WorkerRef {
    /// The servant's name.
    pub fn name(&self) -> Result<String, SystemException> {
        const OPERATION: Operation = Operation::twoway("name");
        self.0.call(
            &OPERATION,
            |worker: &Worker| Ok(worker.name.clone()),
            || {
                let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
                reply.results_only(String::decode)
            },
        )
    }

    /// Stays inside the servant until the [`Door`] is opened.
    pub fn stay(&self) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::twoway("stay");
        let upcall = |worker: &Worker| {
            worker.door.stay();
            Ok(())
        };
        self.0.call(&OPERATION, upcall, || self.0.invoke(&OPERATION, &|_| Ok(())).map(|_| ()))
    }

    /// Runs what the test gave the servant.
    pub fn run(&self) -> Result<String, SystemException> {
        const OPERATION: Operation = Operation::twoway("run");
        self.0.call(&OPERATION, Worker::run, || {
            let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
            reply.results_only(String::decode)
        })
    }

    pub fn panic(&self) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::twoway("panic");
        self.0.call(
            &OPERATION,
            |_: &Worker| panic!("as asked"),
            || self.0.invoke(&OPERATION, &|_| Ok(())).map(|_| ()),
        )
    }

    /// [`WorkerRef::stay`] in a thread of its own; returns once it is inside.
    pub fn stay_in_thread(&self, door: &Door) -> JoinHandle<Result<(), SystemException>> {
        let (worker, inside) = (self.clone(), door.inside());
        let thread = std::thread::spawn(move || worker.stay());
        door.wait_for(inside + 1);
        thread
    }
}

/// Keeps requests inside their servants.
#[derive(Clone, Default)]
pub struct Door(Arc<(Mutex<DoorState>, Condvar)>);

#[derive(Default)]
struct DoorState {
    is_open: bool,
    inside: usize,
}

impl Door {
    /// How many requests are waiting inside.
    pub fn inside(&self) -> usize {
        self.0.0.lock().unwrap().inside
    }

    pub fn wait_for(&self, inside: usize) {
        let state = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(state, PATIENCE, |s| s.inside < inside).unwrap();
        assert!(!waited.1.timed_out(), "no request came in");
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().is_open = true;
        self.0.1.notify_all();
    }

    pub fn stay(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.inside += 1;
        self.0.1.notify_all();
        let (mut state, waited) =
            self.0.1.wait_timeout_while(state, PATIENCE, |s| !s.is_open).unwrap();
        state.inside -= 1;
        assert!(!waited.timed_out(), "no thread opened the door");
    }
}

type Job = dyn Fn() -> Result<String, SystemException> + Send + Sync;

#[derive(Default)]
pub struct Worker {
    pub name: String,
    pub door: Door,
    pub job: Option<Box<Job>>,
    /// Notes when the servant is dropped.
    gone: Option<NotesDrop>,
}

struct NotesDrop(String, Log);

impl Drop for NotesDrop {
    fn drop(&mut self) {
        self.1.note(format!("drop {}", self.0));
    }
}

impl Worker {
    pub fn new(name: &str) -> Self {
        Worker { name: name.to_owned(), ..Worker::default() }
    }

    pub fn at(name: &str, door: &Door) -> Self {
        Worker { name: name.to_owned(), door: door.clone(), ..Worker::default() }
    }

    pub fn with_job(
        job: impl Fn() -> Result<String, SystemException> + Send + Sync + 'static,
    ) -> Self {
        Worker { job: Some(Box::new(job)), ..Worker::default() }
    }

    /// Notes in `log` when the servant is dropped.
    pub fn logging(mut self, log: &Log) -> Self {
        self.gone = Some(NotesDrop(self.name.clone(), log.clone()));
        self
    }

    fn run(&self) -> Result<String, SystemException> {
        match &self.job {
            Some(job) => job(),
            None => Ok(String::new()),
        }
    }

    /// The servant as the POA takes it.
    pub fn servant(self) -> Arc<dyn Servant> {
        Arc::new(self)
    }
}

impl Servant for Worker {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[WORKER]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match request.operation() {
            "name" => request.reply(&|e| String::encode(&self.name, e)),
            "stay" => {
                self.door.stay();
                request.reply(&|_| Ok(()))
            }
            "run" => {
                let result = self.run()?;
                request.reply(&|e| String::encode(&result, e))
            }
            "panic" => panic!("as asked"),
            _ => Err(request.unknown_operation()),
        }
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<Worker>(self);
    }
}

impl TypedServant for Worker {
    type Reference = WorkerRef;
}

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Vec<String>>, Condvar)>);

impl Log {
    pub fn note(&self, what: impl Into<String>) {
        self.0.0.lock().unwrap().push(what.into());
        self.0.1.notify_all();
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }

    /// The log once it has this many lines.
    pub fn wait_for(&self, lines: usize) -> Vec<String> {
        let state = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(state, PATIENCE, |l| l.len() < lines).unwrap();
        assert!(!waited.1.timed_out(), "only {:?}", *waited.0);
        waited.0.clone()
    }
}

/// How calls reach objects of the process: over the wire, but in `tests/collocation_direct.rs` and
/// `tests/collocation_through_poa.rs`, which have the same suites without it.
pub fn collocation() -> &'static [&'static str] {
    match env!("CARGO_CRATE_NAME") {
        "collocation_direct" => &["-ORBCollocation", "global", "-ORBCollocationStrategy", "direct"],
        "collocation_through_poa" => {
            &["-ORBCollocation", "global", "-ORBCollocationStrategy", "through-poa"]
        }
        _ => &["-ORBCollocation", "none"],
    }
}

/// A server that takes requests, and a client.
pub struct Site {
    pub server: Orb,
    pub client: Orb,
    pub root: Poa,
}

impl Site {
    pub fn new() -> Self {
        Site::with(&[])
    }

    pub fn with(more: &[&str]) -> Self {
        let orb = |more: &[&str]| {
            let mut arguments = vec!["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
            arguments.extend(collocation());
            arguments.extend(more);
            Orb::init(arguments).unwrap()
        };
        let server = orb(more);
        let root = server.root_poa().unwrap();
        root.the_poa_manager().activate().unwrap();
        Site { server, client: orb(&[]), root }
    }

    /// A child of the root that takes requests.
    pub fn child(&self, name: &str, policies: &[corbie::PoaPolicy]) -> Poa {
        self.root.create_poa(name, Some(&self.root.the_poa_manager()), policies).unwrap()
    }

    /// The client's view of a reference, as another process gets it.
    pub fn client_view(&self, object: &Object) -> WorkerRef {
        WorkerRef(self.client.string_to_object(&object.to_string()).unwrap())
    }

    /// The client's view of the object `id`, which need not be active.
    pub fn object(&self, poa: &Poa, id: &str) -> WorkerRef {
        self.client_view(&poa.create_reference_with_id(&ObjectId::from(id), WORKER).unwrap())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.client.shutdown(true);
        self.server.shutdown(true);
    }
}

/// Does `attempt` until it succeeds; for what another thread brings about soon.
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = std::time::Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::yield_now();
    }
}
