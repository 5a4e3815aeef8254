//! A generated interface, a servant that does what a test tells it to, and the ways in which calls
//! reach it: shared by the tests of collocation, which ask each of them for the same behaviour.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)] // a part of each test

include!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../idl/codegen/tests/golden/collocation.rs.golden"
));

pub use colloc::worker::{ActError, RefuseError};
pub use colloc::{Longs, NamedServant, Refused, Worker, WorkerServant, WorkerSkeleton};

use corbie::{CompletionStatus, Minor, Orb, Poa, SystemException};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;

/// How calls reach a servant of their own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    None,
    ThroughPoa,
    Direct,
}

pub const MODES: [Mode; 3] = [Mode::None, Mode::ThroughPoa, Mode::Direct];

impl Mode {
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Mode::None => &["-ORBCollocation", "none"],
            Mode::ThroughPoa => {
                &["-ORBCollocation", "global", "-ORBCollocationStrategy", "through-poa"]
            }
            Mode::Direct => &["-ORBCollocation", "global", "-ORBCollocationStrategy", "direct"],
        }
    }

    /// An ORB that listens on loopback.
    pub fn orb(self) -> Orb {
        self.orb_with(&[])
    }

    pub fn orb_with(self, more: &[&str]) -> Orb {
        let mut arguments = vec!["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
        arguments.extend(self.arguments());
        arguments.extend(more);
        Orb::init(arguments).unwrap()
    }

    /// Whether a call runs its servant on the thread that makes it.
    pub fn is_collocated(self) -> bool {
        self != Mode::None
    }
}

/// Calls enough times that every way of the mode was taken: the first call goes through the POA.
pub const TIMES: usize = 3;

type Action = dyn Fn(&str) -> Result<(), ActError> + Send + Sync;

/// What the tests call.
pub struct Work {
    pub name: String,
    level: AtomicI32,
    notes: Sender<i32>,
    /// What `itself` gives.
    pub own: std::sync::Mutex<Option<Worker>>,
    action: Box<Action>,
    /// Tells who watches when the servant goes.
    _life: Arc<()>,
}

/// What a test keeps of a servant.
pub struct Watch {
    pub notes: Receiver<i32>,
    life: std::sync::Weak<()>,
}

impl Watch {
    pub fn is_alive(&self) -> bool {
        self.life.strong_count() > 0
    }
}

impl Work {
    pub fn new(name: &str) -> (Self, Watch) {
        Self::acting(name, |_| Ok(()))
    }

    pub fn acting(
        name: &str,
        action: impl Fn(&str) -> Result<(), ActError> + Send + Sync + 'static,
    ) -> (Self, Watch) {
        let (notes, noted) = channel();
        let life = Arc::new(());
        let watch = Watch { notes: noted, life: Arc::downgrade(&life) };
        let work = Work {
            name: name.to_owned(),
            level: AtomicI32::new(0),
            notes,
            own: std::sync::Mutex::default(),
            action: Box::new(action),
            _life: life,
        };
        (work, watch)
    }
}

impl NamedServant for Work {
    fn name(&self) -> Result<String, SystemException> {
        Ok(self.name.clone())
    }
}

impl WorkerServant for Work {
    fn level(&self) -> Result<i32, SystemException> {
        Ok(self.level.load(Ordering::SeqCst))
    }

    fn set_level(&self, value: i32) -> Result<(), SystemException> {
        self.level.store(value, Ordering::SeqCst);
        Ok(())
    }

    fn nothing(&self) -> Result<(), SystemException> {
        Ok(())
    }

    fn add(&self, a: i32, b: i32) -> Result<i32, SystemException> {
        Ok(a + b)
    }

    fn cube(&self, values: &[i32]) -> Result<Longs, SystemException> {
        Ok(values.iter().map(|value| value.wrapping_mul(*value).wrapping_mul(*value)).collect())
    }

    fn describe(&self, text: &str, counter: i32) -> Result<(String, i32, i32), SystemException> {
        Ok((format!("{}: {text}", self.name), counter + 1, text.len() as i32))
    }

    fn refuse(&self, why: &str) -> Result<(), RefuseError> {
        Err(Refused { why: why.to_owned() }.into())
    }

    fn fail(&self, kind: i32) -> Result<(), SystemException> {
        Err(match kind {
            0 => SystemException::no_permission(Minor::of::<7>(), CompletionStatus::No),
            1 => SystemException::object_not_exist(Minor::of::<8>(), CompletionStatus::Yes),
            2 => SystemException::transient(Minor::of::<9>(), CompletionStatus::Maybe),
            _ => SystemException::object_not_exist(Minor::of::<10>(), CompletionStatus::No),
        })
    }

    fn panics(&self) -> Result<(), SystemException> {
        panic!("as asked")
    }

    fn note(&self, value: i32) -> Result<(), SystemException> {
        // A test that does not listen has dropped the receiver.
        let _ = self.notes.send(value);
        Ok(())
    }

    fn length_of(&self, text: &str) -> Result<i32, SystemException> {
        Ok(text.len() as i32)
    }

    fn itself(&self) -> Result<Option<Worker>, SystemException> {
        Ok(self.own.lock().unwrap().clone())
    }

    fn bounce(&self, other: Option<&Worker>, depth: i32) -> Result<i32, SystemException> {
        let own = self.own.lock().unwrap().clone();
        match (other, depth) {
            (Some(other), 1..) => Ok(other.bounce(own.as_ref(), depth - 1)? + 1),
            _ => Ok(0),
        }
    }

    fn act(&self, what: &str) -> Result<(), ActError> {
        (self.action)(what)
    }
}

/// The root POA of `orb`, serving.
pub fn serving(orb: &Orb) -> Poa {
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    poa
}

/// A worker of the root POA of `orb`, and its reference as another process would get it.
pub fn worker(orb: &Orb) -> (Worker, Watch) {
    let (work, watch) = Work::new("one");
    let reference = serving(orb).activate(WorkerSkeleton::new(work)).unwrap();
    (through_text(orb, &reference), watch)
}

/// `reference` as `orb` reads it from a string.
pub fn through_text(orb: &Orb, reference: &Worker) -> Worker {
    let object = orb.string_to_object(&reference.as_object().to_string()).unwrap();
    Worker::unchecked_narrow(object)
}

/// A servant that says which thread serves it.
pub fn teller() -> (Work, Receiver<ThreadId>) {
    let (told, hear) = channel();
    let told = std::sync::Mutex::new(told);
    let (work, _watch) = Work::acting("teller", move |_| {
        told.lock().unwrap().send(std::thread::current().id()).unwrap();
        Ok(())
    });
    (work, hear)
}

/// Whether `worker` serves a call of this thread on this thread.
pub fn serves_here(worker: &Worker, hear: &Receiver<ThreadId>) -> bool {
    worker.act("who").unwrap();
    hear.recv().unwrap() == std::thread::current().id()
}
