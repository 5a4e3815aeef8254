//! The other components, as one sees them: found by name, called by a mechanism, found again when
//! a reference is stale (paper MSHN §3.4).
//!
//! Every component and the Client Library have one. References are resolved once and kept; a call
//! that fails because the component is gone forgets the reference, and goes to the one that has the
//! name now, or to another replica. All operations of MSHN may be made twice.

mod again;
mod known;
mod local;

use crate::address::{Address, Group, announce, escaped};
use crate::error::NodeError;
use crate::mechanism::{Link, Mechanism};
use crate::messages::{Component, Done, Reply, Request, Role};
use again::{Again, Retries};
use corbie::{CompletionStatus, Orb, SystemException, SystemExceptionKind, minor};
use corbie_naming::{Naming, NamingError};
use known::KnownPeers;
use local::Here;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a call is tried before its failure is passed on.
const PATIENCE_DEFAULT: Duration = Duration::from_secs(20);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Clone)]
pub struct Peers {
    shared: Arc<PeersShared>,
    patience: Duration,
}

struct PeersShared {
    way: Connected,
    /// Lock "peers": not held while a call is made.
    known: Mutex<KnownPeers>,
    retries: Retries,
}

enum Connected {
    Remote { naming: Naming, mechanism: Arc<dyn Mechanism> },
    Here(Here),
}

/// Whom a request goes to.
struct Chosen {
    group: Group,
    name: String,
    link: Arc<dyn Link>,
}

impl Peers {
    /// Components found in `naming`, called by `mechanism`. Clones share references.
    #[must_use]
    pub fn new(naming: Naming, mechanism: Arc<dyn Mechanism>) -> Self {
        Self::by(Connected::Remote { naming, mechanism })
    }

    /// Components of this process, which call each other's functions; they are made known by
    /// [`Peers::register`].
    #[must_use]
    pub fn local() -> Self {
        Self::by(Connected::Here(Here::default()))
    }

    fn by(way: Connected) -> Self {
        let (known, retries) = (Mutex::default(), Retries::default());
        let shared = Arc::new(PeersShared { way, known, retries });
        Self { shared, patience: PATIENCE_DEFAULT }
    }

    /// Makes a component of this process known to those of [`Peers::local`], as long as it lives.
    pub fn register(&self, role: Role, name: &str, component: &Arc<dyn Component>) {
        if let Connected::Here(here) = &self.shared.way {
            here.register(role, name, component);
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
        let Connected::Remote { naming, mechanism } = &self.shared.way else { return Ok(()) };
        let reference = mechanism.serve(orb, me, component)?;
        announce(naming, mechanism.context(), me, &reference)?;
        Ok(())
    }

    /// The names of all components of a kind, proxies aside.
    ///
    /// # Errors
    /// What the naming service says.
    pub fn names(&self, role: Role) -> Result<Vec<String>, NamingError> {
        self.list(Group { role, is_proxy: false })
    }

    fn list(&self, group: Group) -> Result<Vec<String>, NamingError> {
        let (naming, mechanism) = match &self.shared.way {
            Connected::Remote { naming, mechanism } => (naming, mechanism),
            Connected::Here(_) if group.is_proxy => return Ok(Vec::new()),
            Connected::Here(here) => return Ok(here.names(group.role)),
        };
        let listed = match naming.list(&group.context(mechanism.context())) {
            // No component of that kind has been there yet.
            Err(NamingError::NotFound { .. }) => return Ok(Vec::new()),
            listed => listed?,
        };
        let name = |entry: corbie_naming::Entry| {
            let parsed = corbie_naming::parse(&entry.name).ok()?;
            Some(parsed.into_iter().next()?.id)
        };
        let mut names: Vec<String> = listed.into_iter().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    /// The same as they were a moment ago, in alphabetical order.
    ///
    /// # Errors
    /// What the naming service says, when it never said anything else.
    pub(crate) fn replicas(&self, role: Role) -> Result<Arc<[String]>, SystemException> {
        self.members(Group { role, is_proxy: false })
    }

    /// Makes a request and waits for its answer; tries again and elsewhere as long as none is
    /// there and patience lasts.
    ///
    /// # Errors
    /// What the last attempt said; `COMPLETED_NO` only if no attempt was begun.
    pub fn call(&self, to: &Address, request: &Request) -> Result<Reply, SystemException> {
        if let Connected::Here(here) = &self.shared.way {
            return here.call(to, request);
        }
        let ends = Instant::now() + self.patience;
        let mut maybe_done = false;
        loop {
            let outcome = self.find(to).and_then(|chosen| {
                let outcome = chosen.link.call(request);
                outcome.inspect_err(|exception| self.forget_if_stale(&chosen, exception))
            });
            match outcome {
                Err(exception) if is_stale(&exception) && Instant::now() + PAUSE < ends => {
                    tracing::debug!(%exception, operation = request.operation(), "trying again");
                    maybe_done |= exception.completed != CompletionStatus::No;
                    std::thread::sleep(PAUSE);
                }
                outcome => return outcome.map_err(|last| after(maybe_done, last)),
            }
        }
    }

    /// Makes a request, once, and waits for its answer.
    ///
    /// # Errors
    /// What came instead.
    pub(crate) fn ask_once<T>(&self, to: &Address, request: &Request) -> Result<T, SystemException>
    where
        T: TryFrom<Reply, Error = SystemException>,
    {
        let outcome = match &self.shared.way {
            Connected::Here(here) => here.call(to, request),
            Connected::Remote { .. } => self.find(to).and_then(|chosen| {
                let outcome = chosen.link.call(request);
                outcome.inspect_err(|exception| self.forget_if_stale(&chosen, exception))
            }),
        };
        outcome.and_then(T::try_from)
    }

    /// The same as [`Peers::call`] with the answer as what it should be.
    ///
    /// # Errors
    /// As [`Peers::call`].
    pub fn ask<T>(&self, to: &Address, request: &Request) -> Result<T, SystemException>
    where
        T: TryFrom<Reply, Error = SystemException>,
    {
        self.call(to, request).and_then(T::try_from)
    }

    /// Makes a request; the answer goes to `done`. An attempt that found no component is repeated,
    /// as [`Peers::call`] does it.
    pub fn start(&self, to: &Address, request: Request, done: Done) {
        if let Connected::Here(here) = &self.shared.way {
            return here.start(to, request, done);
        }
        let ends = Instant::now() + self.patience;
        let (peers, to, maybe_done) = (self.clone(), to.clone(), false);
        self.attempt(Again { peers, to, request, done, ends, maybe_done });
    }

    fn attempt(&self, work: Again) {
        let Again { peers, to, request, done, ends, maybe_done } = work;
        let chosen = match self.find(&to) {
            Ok(chosen) => chosen,
            Err(exception) => {
                let work = Again { peers, to, request, done, ends, maybe_done };
                return self.later(work, exception);
            }
        };
        let (link, copy) = (Arc::clone(&chosen.link), request.clone());
        let finish: Done = Box::new(move |outcome| match outcome {
            Err(exception) if is_stale(&exception) => {
                peers.forget_if_stale(&chosen, &exception);
                let here = peers.clone();
                here.later(Again { peers, to, request: copy, done, ends, maybe_done }, exception);
            }
            outcome => done(outcome.map_err(|last| after(maybe_done, last))),
        });
        link.start(&request, finish);
    }

    /// Tries again after a pause, if there is time.
    fn later(&self, mut work: Again, exception: SystemException) {
        if !is_stale(&exception) || Instant::now() + PAUSE >= work.ends {
            return (work.done)(Err(after(work.maybe_done, exception)));
        }
        work.maybe_done |= exception.completed != CompletionStatus::No;
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
        let names = self.replicas(role).unwrap_or_default();
        for name in names.iter() {
            self.tell(&Address::named(role, name.clone()), request);
        }
    }

    /// Passes an update on that the next one makes up for: to a proxy, if there is one, which
    /// filters, else to all replicas.
    pub fn update_all(&self, role: Role, request: &Request) {
        match self.proxy(role) {
            Some(proxy) if self.tell(&proxy, request) => {}
            _ => self.tell_all(role, request),
        }
    }

    /// Passes an update on that must not be lost: to a proxy, if there is one, else to one of the
    /// replicas, which tell the others. `done` hears when it was taken.
    pub fn update_one(&self, role: Role, request: Request, done: Done) {
        let Some(proxy) = self.proxy(role) else {
            return self.start(&Address::any(role), request, done);
        };
        let (peers, copy) = (self.clone(), request.clone());
        let otherwise = move |outcome| match outcome {
            Err(exception) if is_stale(&exception) => peers.start(&Address::any(role), copy, done),
            outcome => done(outcome),
        };
        // A proxy may be gone for good.
        self.clone().with_patience(Duration::ZERO).start(&proxy, request, Box::new(otherwise));
    }

    /// A proxy that did not fail just now.
    fn proxy(&self, role: Role) -> Option<Address> {
        let group = Group { role, is_proxy: true };
        self.members(group).ok()?;
        let name = self.lock().choose_sound(group)?;
        Some(Address::proxy(role, name))
    }

    /// Makes a request whose answer is not needed. Whether a component is known to be there.
    fn tell(&self, to: &Address, request: &Request) -> bool {
        if let Connected::Here(here) = &self.shared.way {
            here.start(to, request.clone(), Box::new(|_| ()));
            return true;
        }
        let Ok(chosen) = self.find(to) else { return false };
        let (peers, link) = (self.clone(), Arc::clone(&chosen.link));
        let done = move |outcome: Result<Reply, SystemException>| {
            if let Err(exception) = outcome {
                peers.forget_if_stale(&chosen, &exception);
            }
        };
        link.start(request, Box::new(done));
        true
    }

    fn find(&self, to: &Address) -> Result<Chosen, SystemException> {
        let group = to.group();
        let name = match &to.name {
            Some(name) => name.clone(),
            None => {
                self.members(group)?;
                let chosen = self.lock().choose(group);
                chosen.ok_or_else(|| not_there(&format!("there is no {}", to.role)))?
            }
        };
        self.link(group, name)
    }

    fn link(&self, group: Group, name: String) -> Result<Chosen, SystemException> {
        let Connected::Remote { naming, mechanism } = &self.shared.way else {
            return Err(not_there(&"components of this process have no references"));
        };
        let key = (group, name);
        if let Some(link) = self.lock().links.get(&key) {
            return Ok(Chosen { group, link: Arc::clone(link), name: key.1 });
        }
        let path = format!("{}/{}", group.context(mechanism.context()), escaped(&key.1));
        let found = naming.resolve_object(&path).map_err(|e| not_there(&e))?;
        let made = mechanism.link(&found);
        let link = Arc::clone(self.lock().links.entry(key.clone()).or_insert(made));
        Ok(Chosen { group, link, name: key.1 })
    }

    /// The members of a group; the list may be a little old.
    fn members(&self, group: Group) -> Result<Arc<[String]>, SystemException> {
        let known = self.lock().names(group);
        if let Some((names, true)) = known {
            return Ok(names);
        }
        let names: Arc<[String]> = match (self.list(group), known) {
            (Ok(names), _) => names.into(),
            // Those that were there may still be, although no answer says so.
            (Err(_), Some((names, _))) => names,
            (Err(error), None) => return Err(not_there(&error)),
        };
        // That there is none need not be remembered of those who have to be there.
        if !names.is_empty() || group.is_proxy {
            self.lock().listed(group, &names);
        }
        Ok(names)
    }

    /// Resolves anew whom it calls next at that address, as the Client Library of the paper does
    /// before each request (§4.3).
    pub fn forget(&self, to: &Address) {
        self.lock().forget(to.group(), to.name.as_deref());
    }

    fn forget_if_stale(&self, asked: &Chosen, exception: &SystemException) {
        if is_stale(exception) {
            self.lock().failed(asked.group, &asked.name, &asked.link, exception);
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownPeers> {
        lock(&self.shared.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last exception of several attempts: an earlier one may have been carried out.
fn after(maybe_done: bool, mut last: SystemException) -> SystemException {
    if maybe_done && last.completed == CompletionStatus::No {
        last.completed = CompletionStatus::Maybe;
    }
    last
}

fn not_there(why: &dyn std::fmt::Display) -> SystemException {
    SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No)
        .with_detail(why.to_string())
}

fn forgotten() -> SystemException {
    SystemException::no_response(minor::NO_RESPONSE_UNANSWERED, CompletionStatus::Maybe)
        .with_detail("the answer was forgotten")
}

/// Whether another attempt may find a component: none was there, or it is gone.
pub(crate) fn is_stale(exception: &SystemException) -> bool {
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
