//! The other components, as one sees them: found by name, called by a mechanism, found again when
//! a reference is stale (paper MSHN §3.4).
//!
//! Every component and the Client Library have one. References are resolved once and kept; a call
//! that fails because nobody is there forgets the reference, and goes to whoever has the name now,
//! or to another replica. All operations of MSHN may be made twice.

use crate::mechanism::Mechanism;
use crate::messages::{Component, Done, Reply, Request, Role};
use corbie::{Object, SystemException, SystemExceptionKind};
use corbie_naming::{Naming, NamingError};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Which component: a certain one, or any of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Its kind.
    pub role: Role,
    /// Its name; none: any replica.
    pub name: Option<String>,
}

impl Address {
    /// Any component of this kind.
    #[must_use]
    pub fn any(role: Role) -> Self {
        Self { role, name: None }
    }

    /// The component of that kind and name.
    #[must_use]
    pub fn named(role: Role, name: impl Into<String>) -> Self {
        Self { role, name: Some(name.into()) }
    }
}

/// How long a call is tried before its failure is passed on.
const PATIENCE_DEFAULT: Duration = Duration::from_secs(20);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// See the module. Clones share references.
#[derive(Clone)]
pub struct Peers {
    shared: Arc<Shared>,
    patience: Duration,
}

struct Shared {
    way: Way,
    /// Lock "peers": not held while a call is made.
    known: Mutex<Known>,
}

/// Components of this process, by kind and name.
type Here = Mutex<BTreeMap<(Role, String), Weak<dyn Component>>>;

enum Way {
    Remote {
        naming: Naming,
        mechanism: Arc<dyn Mechanism>,
    },
    /// The paper's "non-CORBA" case: all components in one process, calling each other's functions.
    Here(Here),
}

#[derive(Default)]
struct Known {
    references: HashMap<Address, Object>,
    /// How often a replica was chosen: the next choice is another one.
    choices: usize,
}

impl Peers {
    /// Components found in `naming`, called by `mechanism`.
    #[must_use]
    pub fn new(naming: Naming, mechanism: Arc<dyn Mechanism>) -> Self {
        Self::by(Way::Remote { naming, mechanism })
    }

    /// Components of this process, which call each other's functions; they are made known by
    /// [`Peers::register`].
    #[must_use]
    pub fn local() -> Self {
        Self::by(Way::Here(Mutex::default()))
    }

    fn by(way: Way) -> Self {
        let shared = Arc::new(Shared { way, known: Mutex::default() });
        Self { shared, patience: PATIENCE_DEFAULT }
    }

    /// Makes a component of this process known to those of [`Peers::local`], as long as it lives.
    pub fn register(&self, role: Role, name: &str, component: &Arc<dyn Component>) {
        if let Way::Here(here) = &self.shared.way {
            let key = (role, name.to_owned());
            lock(here).insert(key, Arc::downgrade(component));
        }
    }

    /// The same with another time for which calls are tried.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Puts `reference` where others look for this component, in place of what was there.
    ///
    /// # Errors
    /// What the naming service says.
    pub fn announce(&self, me: &Address, reference: &Object) -> Result<(), NamingError> {
        let Way::Remote { naming, mechanism } = &self.shared.way else { return Ok(()) };
        let context = format!("{}/{}", mechanism.context(), me.role);
        naming.make_contexts(&context)?;
        let name = me.name.as_deref().unwrap_or("0");
        naming.rebind(&format!("{context}/{}", escaped(name)), reference)
    }

    /// The names of all components of a kind.
    ///
    /// # Errors
    /// What the naming service says.
    pub fn names(&self, role: Role) -> Result<Vec<String>, NamingError> {
        let (naming, mechanism) = match &self.shared.way {
            Way::Remote { naming, mechanism } => (naming, mechanism),
            Way::Here(here) => {
                let here = lock(here);
                let of_role = here.keys().filter(|(found, _)| *found == role);
                return Ok(of_role.map(|(_, name)| name.clone()).collect());
            }
        };
        let context = format!("{}/{role}", mechanism.context());
        let listed = match naming.list(&context) {
            // Nobody of that kind has been there yet.
            Err(NamingError::NotFound { .. }) => return Ok(Vec::new()),
            listed => listed?,
        };
        let name = |entry: corbie_naming::Entry| {
            let parsed = corbie_naming::parse(&entry.name).ok()?;
            Some(parsed.into_iter().next()?.id)
        };
        Ok(listed.into_iter().filter_map(name).collect())
    }

    /// Makes a request and waits for its answer; tries again and elsewhere as long as nobody is
    /// there and patience lasts.
    ///
    /// # Errors
    /// What the last attempt said.
    pub fn call(&self, to: &Address, request: &Request) -> Result<Reply, SystemException> {
        let mechanism = match &self.shared.way {
            Way::Remote { mechanism, .. } => mechanism,
            Way::Here(here) => return call_here(here, to, request),
        };
        let ends = Instant::now() + self.patience;
        loop {
            let outcome = self.find(to).and_then(|target| {
                let outcome = mechanism.call(&target, request);
                outcome.inspect_err(|exception| self.forget_if_stale(to, &target, exception))
            });
            match outcome {
                Err(exception) if is_stale(&exception) && Instant::now() + PAUSE < ends => {
                    tracing::debug!(%exception, operation = request.operation(), "trying again");
                    std::thread::sleep(PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// The same with the answer as what it should be.
    ///
    /// # Errors
    /// As [`Peers::call`].
    pub fn ask<T>(&self, to: &Address, request: &Request) -> Result<T, SystemException>
    where
        T: TryFrom<Reply, Error = SystemException>,
    {
        self.call(to, request).and_then(T::try_from)
    }

    /// Makes a request; the answer goes to `done`. An attempt that found nobody is repeated by a
    /// thread of its own, as [`Peers::call`] does it.
    pub fn start(&self, to: &Address, request: Request, done: Done) {
        let mechanism = match &self.shared.way {
            Way::Remote { mechanism, .. } => mechanism,
            Way::Here(here) => return start_here(here, to, request, done),
        };
        let target = match self.find(to) {
            Ok(target) => target,
            Err(_) => return self.again(to, request, done),
        };
        let (peers, to, asked) = (self.clone(), to.clone(), target.clone());
        let copy = request.clone();
        let finish: Done = Box::new(move |outcome| match outcome {
            Err(exception) if is_stale(&exception) => {
                peers.forget_if_stale(&to, &asked, &exception);
                peers.again(&to, copy, done);
            }
            outcome => done(outcome),
        });
        mechanism.start(&target, &request, finish);
    }

    /// Makes several requests at once and waits for all answers, in the order of the requests.
    #[must_use]
    pub fn call_all(
        &self,
        requests: Vec<(Address, Request)>,
    ) -> Vec<Result<Reply, SystemException>> {
        let (sender, receiver) = channel();
        let mut answers: Vec<_> = requests.iter().map(|_| Err(forgotten())).collect();
        for (index, (to, request)) in requests.into_iter().enumerate() {
            let sender = sender.clone();
            let done = move |outcome| {
                // The receiver waits below.
                let _ = sender.send((index, outcome));
            };
            self.start(&to, request, Box::new(done));
        }
        drop(sender);
        for (index, outcome) in receiver {
            answers[index] = outcome;
        }
        answers
    }

    /// Makes the same request of every component of a kind: of all replicas. Failures are left to
    /// the next time.
    pub fn tell_all(&self, role: Role, request: &Request) {
        let names = self.names(role).unwrap_or_default();
        for name in names {
            let to = Address::named(role, name);
            let mechanism = match &self.shared.way {
                Way::Remote { mechanism, .. } => mechanism,
                Way::Here(here) => {
                    start_here(here, &to, request.clone(), Box::new(|_| ()));
                    continue;
                }
            };
            let Ok(target) = self.find(&to) else { continue };
            let (peers, asked) = (self.clone(), target.clone());
            let done = move |outcome: Result<Reply, SystemException>| {
                if let Err(exception) = outcome {
                    peers.forget_if_stale(&to, &asked, &exception);
                }
            };
            mechanism.start(&target, request, Box::new(done));
        }
    }

    fn again(&self, to: &Address, request: Request, done: Done) {
        let (peers, to) = (self.clone(), to.clone());
        std::thread::spawn(move || done(peers.call(&to, &request)));
    }

    fn find(&self, to: &Address) -> Result<Object, SystemException> {
        let Way::Remote { naming, mechanism } = &self.shared.way else {
            return Err(nobody(&"components of this process have no references"));
        };
        if let Some(known) = self.lock().references.get(to) {
            return Ok(known.clone());
        }
        let name = match &to.name {
            Some(name) => name.clone(),
            None => self.choose(to.role)?,
        };
        let path = format!("{}/{}/{}", mechanism.context(), to.role, escaped(&name));
        let found = naming.resolve_object(&path).map_err(|e| nobody(&e))?;
        self.lock().references.insert(to.clone(), found.clone());
        Ok(found)
    }

    fn choose(&self, role: Role) -> Result<String, SystemException> {
        let mut names = self.names(role).map_err(|error| nobody(&error))?;
        if names.is_empty() {
            return Err(nobody(&format!("there is no {role}")));
        }
        let mut known = self.lock();
        known.choices = known.choices.wrapping_add(1);
        Ok(names.swap_remove(known.choices % names.len()))
    }

    fn forget_if_stale(&self, to: &Address, asked: &Object, exception: &SystemException) {
        if is_stale(exception) {
            let mut known = self.lock();
            if known.references.get(to) == Some(asked) {
                known.references.remove(to);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.shared.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start_here(here: &Here, to: &Address, request: Request, done: Done) {
    let found = {
        let here = lock(here);
        let is_asked = |(role, name): &&(Role, String)| {
            *role == to.role && to.name.as_ref().is_none_or(|wanted| wanted == name)
        };
        here.keys().find(is_asked).and_then(|key| here.get(key)?.upgrade())
    };
    match found {
        Some(component) => component.serve(request, done),
        None => done(Err(nobody(&format!("there is no {} here", to.role)))),
    }
}

fn call_here(here: &Here, to: &Address, request: &Request) -> Result<Reply, SystemException> {
    let (sender, receiver) = channel();
    let done = move |outcome| {
        // The receiver waits below.
        let _ = sender.send(outcome);
    };
    start_here(here, to, request.clone(), Box::new(done));
    receiver.recv().unwrap_or_else(|_| Err(forgotten()))
}

/// A name of ours as one component of a name as text.
fn escaped(name: &str) -> String {
    let component = corbie_naming::NameComponent { id: name.to_owned(), kind: String::new() };
    corbie_naming::stringify(&[component])
}

fn nobody(why: &dyn std::fmt::Display) -> SystemException {
    SystemException::transient(0, corbie::CompletionStatus::No).with_detail(why.to_string())
}

fn forgotten() -> SystemException {
    SystemException::no_response(0, corbie::CompletionStatus::Maybe)
        .with_detail("the answer was forgotten")
}

/// Whether another attempt may find somebody: nobody was there, or who was there is gone.
fn is_stale(exception: &SystemException) -> bool {
    use SystemExceptionKind as Kind;
    matches!(
        exception.kind,
        Kind::Transient
            | Kind::CommFailure
            | Kind::ObjectNotExist
            | Kind::InvObjref
            | Kind::NoResponse
            | Kind::Timeout
    )
}
