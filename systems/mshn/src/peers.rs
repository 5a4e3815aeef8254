//! The other components, as one sees them: found by name, called by a mechanism, found again when
//! a reference is stale (paper MSHN §3.4).
//!
//! Every component and the Client Library have one. References are resolved once and kept; a call
//! that fails because nobody is there forgets the reference, and goes to whoever has the name now,
//! or to another replica. All operations of MSHN may be made twice.

mod again;

use crate::mechanism::{Link, Mechanism};
use crate::messages::{Component, Done, Reply, Request, Role};
use crate::node::NodeError;
use again::{Again, Retries};
use corbie::{Object, Orb, SystemException, SystemExceptionKind};
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

/// How old a list of replicas may be: new ones are found after so long.
const LIST_AGE: Duration = Duration::from_secs(5);

/// A replica that failed is passed over for so long, if there are others.
const AVOIDED: Duration = Duration::from_secs(1);

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
    retries: Retries,
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
    links: HashMap<(Role, String), Arc<dyn Link>>,
    replicas: HashMap<Role, Replicas>,
}

/// The components of one kind, as they were when last asked for.
struct Replicas {
    names: Arc<[String]>,
    listed: Instant,
    /// The next choice is another one.
    choices: usize,
    failed: HashMap<String, Instant>,
}

/// Whom a request goes to.
struct Chosen {
    name: String,
    link: Arc<dyn Link>,
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
        let (known, retries) = (Mutex::default(), Retries::default());
        let shared = Arc::new(Shared { way, known, retries });
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

    /// Serves `component` in `orb` by the mechanism, and has others find it under the name of
    /// `me`, in place of what had it before.
    ///
    /// # Errors
    /// What the mechanism says.
    pub fn serve(
        &self,
        orb: &Orb,
        me: &Address,
        component: &Arc<dyn Component>,
    ) -> Result<(), NodeError> {
        let Way::Remote { naming, mechanism } = &self.shared.way else { return Ok(()) };
        let reference = mechanism.serve(orb, me, component)?;
        announce(naming, mechanism.context(), me, &reference)?;
        Ok(())
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
        if let Way::Here(here) = &self.shared.way {
            return call_here(here, to, request);
        }
        let ends = Instant::now() + self.patience;
        loop {
            let outcome = self.find(to).and_then(|chosen| {
                let outcome = chosen.link.call(request);
                outcome.inspect_err(|exception| self.forget_if_stale(to.role, &chosen, exception))
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

    /// Makes a request; the answer goes to `done`. An attempt that found nobody is repeated, as
    /// [`Peers::call`] does it.
    pub fn start(&self, to: &Address, request: Request, done: Done) {
        if let Way::Here(here) = &self.shared.way {
            return start_here(here, to, request, done);
        }
        let ends = Instant::now() + self.patience;
        self.attempt(Again { peers: self.clone(), to: to.clone(), request, done, ends });
    }

    fn attempt(&self, work: Again) {
        let Again { peers, to, request, done, ends } = work;
        let chosen = match self.find(&to) {
            Ok(chosen) => chosen,
            Err(exception) => {
                return self.later(Again { peers, to, request, done, ends }, exception);
            }
        };
        let (link, copy) = (Arc::clone(&chosen.link), request.clone());
        let finish: Done = Box::new(move |outcome| match outcome {
            Err(exception) if is_stale(&exception) => {
                peers.forget_if_stale(to.role, &chosen, &exception);
                let here = peers.clone();
                here.later(Again { peers, to, request: copy, done, ends }, exception);
            }
            outcome => done(outcome),
        });
        link.start(&request, finish);
    }

    /// Tries again after a pause, if there is time.
    fn later(&self, work: Again, exception: SystemException) {
        if !is_stale(&exception) || Instant::now() + PAUSE >= work.ends {
            return (work.done)(Err(exception));
        }
        tracing::debug!(%exception, operation = work.request.operation(), "trying again");
        self.shared.retries.put(work);
    }

    /// Makes several requests at once and waits for all answers, in the order of the requests.
    #[must_use]
    pub fn call_all(
        &self,
        mut requests: Vec<(Address, Request)>,
    ) -> Vec<Result<Reply, SystemException>> {
        let (sender, receiver) = channel();
        let mut answers: Vec<_> = requests.iter().map(|_| Err(forgotten())).collect();
        // This thread would only wait: it makes the last one itself while the others are under way.
        let own = requests.pop();
        for (index, (to, request)) in requests.into_iter().enumerate() {
            let sender = sender.clone();
            let done = move |outcome| {
                // The receiver waits below.
                let _ = sender.send((index, outcome));
            };
            self.start(&to, request, Box::new(done));
        }
        drop(sender);
        if let (Some((to, request)), Some(answer)) = (own, answers.last_mut()) {
            *answer = self.call(&to, &request);
        }
        for (index, outcome) in receiver {
            answers[index] = outcome;
        }
        answers
    }

    /// Makes the same request of every component of a kind: of all replicas. Failures are left to
    /// the next time.
    pub fn tell_all(&self, role: Role, request: &Request) {
        if let Way::Here(here) = &self.shared.way {
            for name in self.names(role).unwrap_or_default() {
                let to = Address::named(role, name);
                start_here(here, &to, request.clone(), Box::new(|_| ()));
            }
            return;
        }
        let names = self.replicas(role).unwrap_or_default();
        for name in names.iter() {
            let Ok(chosen) = self.link(role, name.clone()) else { continue };
            let (peers, link) = (self.clone(), Arc::clone(&chosen.link));
            let done = move |outcome: Result<Reply, SystemException>| {
                if let Err(exception) = outcome {
                    peers.forget_if_stale(role, &chosen, &exception);
                }
            };
            link.start(request, Box::new(done));
        }
    }

    fn find(&self, to: &Address) -> Result<Chosen, SystemException> {
        let name = match &to.name {
            Some(name) => name.clone(),
            None => self.choose(to.role)?,
        };
        self.link(to.role, name)
    }

    fn link(&self, role: Role, name: String) -> Result<Chosen, SystemException> {
        let Way::Remote { naming, mechanism } = &self.shared.way else {
            return Err(nobody(&"components of this process have no references"));
        };
        let key = (role, name);
        if let Some(link) = self.lock().links.get(&key) {
            return Ok(Chosen { link: Arc::clone(link), name: key.1 });
        }
        let path = format!("{}/{role}/{}", mechanism.context(), escaped(&key.1));
        let found = naming.resolve_object(&path).map_err(|e| nobody(&e))?;
        let made = mechanism.link(&found);
        let link = Arc::clone(self.lock().links.entry(key.clone()).or_insert(made));
        Ok(Chosen { link, name: key.1 })
    }

    /// The replicas there are; the list may be a little old.
    fn replicas(&self, role: Role) -> Result<Arc<[String]>, SystemException> {
        let known = self.lock().replicas.get(&role).map(|r| (Arc::clone(&r.names), r.listed));
        if let Some((names, listed)) = &known
            && listed.elapsed() < LIST_AGE
        {
            return Ok(Arc::clone(names));
        }
        let names: Arc<[String]> = match (self.names(role), known) {
            (Ok(names), _) => names.into(),
            // Whoever was there may still be, although nobody says so.
            (Err(_), Some((names, _))) => names,
            (Err(error), None) => return Err(nobody(&error)),
        };
        if names.is_empty() {
            self.lock().replicas.remove(&role);
            return Ok(names);
        }
        let mut known = self.lock();
        let now = Instant::now();
        let replicas = known.replicas.entry(role).or_insert_with(|| Replicas {
            names: Arc::clone(&names),
            listed: now,
            // Not every process begins with the same one.
            choices: std::process::id() as usize,
            failed: HashMap::new(),
        });
        (replicas.names, replicas.listed) = (Arc::clone(&names), now);
        Ok(names)
    }

    /// The replicas in turns, those that failed just now aside.
    fn choose(&self, role: Role) -> Result<String, SystemException> {
        let names = self.replicas(role)?;
        let mut known = self.lock();
        let Some(replicas) = known.replicas.get_mut(&role) else {
            return Err(nobody(&format!("there is no {role}")));
        };
        replicas.failed.retain(|_, at| at.elapsed() < AVOIDED);
        replicas.choices = replicas.choices.wrapping_add(1);
        let (first, count) = (replicas.choices, names.len().max(1));
        let turns = (0..count).filter_map(|turn| names.get(first.wrapping_add(turn) % count));
        let mut sound = turns.clone().filter(|name| !replicas.failed.contains_key(*name));
        let chosen = sound.next().or_else(|| turns.clone().next());
        chosen.cloned().ok_or_else(|| nobody(&format!("there is no {role}")))
    }

    /// Resolves anew whom it calls next at that address, as the Client Library of the paper does
    /// before each request (§4.3).
    pub fn forget(&self, to: &Address) {
        let mut known = self.lock();
        match &to.name {
            Some(name) => {
                known.links.remove(&(to.role, name.clone()));
            }
            None => {
                known.links.retain(|(role, _), _| *role != to.role);
                known.replicas.remove(&to.role);
            }
        }
    }

    fn forget_if_stale(&self, role: Role, asked: &Chosen, exception: &SystemException) {
        if !is_stale(exception) {
            return;
        }
        let key = (role, asked.name.clone());
        let mut known = self.lock();
        if known.links.get(&key).is_some_and(|link| Arc::ptr_eq(link, &asked.link)) {
            known.links.remove(&key);
        }
        if let Some(replicas) = known.replicas.get_mut(&role) {
            replicas.failed.insert(key.1, Instant::now());
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

/// Puts `reference` where others look for this component, in place of what was there.
pub(crate) fn announce(
    naming: &Naming,
    context: &str,
    me: &Address,
    reference: &Object,
) -> Result<(), NamingError> {
    let context = format!("{context}/{}", me.role);
    naming.make_contexts(&context)?;
    let name = me.name.as_deref().unwrap_or("0");
    naming.rebind(&format!("{context}/{}", escaped(name)), reference)
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
