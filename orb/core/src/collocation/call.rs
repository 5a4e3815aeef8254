//! A call of the same process through the object adapter: what a request would meet, without the
//! message.
//!
//! The way of the first call of a reference, of references that were forwarded, of objects without
//! an entry in the active object map, and of all calls where the setting `collocation_strategy`
//! says so. Whatever only a message can do is left to one ([`Called::Elsewhere`]).

use super::locality;
use crate::client::attempts::watched::Watched;
use crate::client::attempts::{self, Answer};
use crate::client::{BindingRef, Invocation};
use crate::handles::{Lent, View};
use crate::neighbours::Here;
use crate::policy::{CallPolicies, Effective, has_thread_overrides};
use crate::portable_interceptor::{FlowEnd, Interruption, Kind, ServerWatch, Watch};
use crate::server::{LocalRefusal, Reach, Servant, Wanted, interceptor, panic};
use crate::{Object, Operation, Orb};
use corbie_giop::{Attempts, ResponseFlags};
use corbie_types::{SystemException, SystemExceptionKind};
use std::any::TypeId;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is done with the servant.
pub(super) trait Upcall {
    /// Does it, once; `false`: it cannot be done, and nothing was.
    fn run(&mut self, servant: &dyn Servant) -> bool;

    /// Whether it can be done.
    fn fits(&self, servant: &dyn Servant) -> bool;

    /// How it ended, for interceptors.
    fn ending(&self) -> FlowEnd;
}

/// What became of a call.
pub(crate) enum Called {
    /// The upcall was made.
    Done,
    /// It was not, and the caller gets this.
    Raised(SystemException),
    /// It was not: it has to be invoked.
    Elsewhere,
    /// Likewise: the servant was there, and `upcall` had no use for it.
    ForMessages,
}

/// Calls `operation` of `object` seen as `interface`: `upcall` is run on its servant.
pub(super) fn call(
    object: &Object,
    operation: &Operation,
    interface: TypeId,
    upcall: &mut dyn Upcall,
) -> Called {
    let shortcuts = object.shortcuts();
    if shortcuts.is_for_messages() {
        return Called::Elsewhere;
    }
    let called = through(object, operation, upcall);
    match called {
        Called::Done if shortcuts.are_wanted() => make_shortcut(object, interface),
        Called::ForMessages => shortcuts.note_for_messages(),
        _ => {}
    }
    called
}

/// Enters `object` through the object adapter, where a former call did so and nothing is in the
/// way: its tables are looked through as for a request, but nothing is counted. `None`: [`call`].
pub(super) fn enter_looked_up<T: ?Sized + 'static>(object: &Object) -> Option<Lent<'_, T>> {
    let borrowed = object.shortcuts().looked_up(object.orb().policies().generation())?;
    let binding = BindingRef::Own(object.own_binding()?);
    let here = locality::here(object, &binding)?;
    let orb = here.orb(object.orb())?;
    let server = orb.server();
    let adapter = server.adapter.get()?;
    let is_refused = server.closing.load(Ordering::Acquire) || server.attention.has(Wanted::Hooks);
    if is_refused || !adapter.is_active_as(here.key(&binding), borrowed.activation()) {
        return None;
    }
    borrowed.enter()
}

/// Asks the servant of `object` what every servant knows: what `_is_a` and its like are made of.
/// `None` when the question has to be sent.
pub(crate) fn ask<R>(
    object: &Object,
    operation: &Operation,
    question: impl Fn(&dyn Servant) -> R,
) -> Option<Result<R, SystemException>> {
    if object.is_surely_elsewhere() {
        return None;
    }
    let mut asked = Question { operation, question, answer: None };
    let called = through(object, operation, &mut asked);
    match called {
        Called::Done => asked.answer,
        Called::Raised(exception) => Some(Err(exception)),
        Called::Elsewhere | Called::ForMessages => None,
    }
}

/// For [`ask`].
struct Question<'q, Q, R> {
    operation: &'q Operation,
    question: Q,
    answer: Option<Result<R, SystemException>>,
}

impl<Q: Fn(&dyn Servant) -> R, R> Upcall for Question<'_, Q, R> {
    fn run(&mut self, servant: &dyn Servant) -> bool {
        if self.fits(servant) {
            self.answer = Some(super::guarded(self.operation, || Ok((self.question)(servant))));
        }
        self.answer.is_some()
    }

    fn fits(&self, servant: &dyn Servant) -> bool {
        !servant._forwards()
    }

    fn ending(&self) -> FlowEnd {
        match &self.answer {
            Some(Err(exception)) => FlowEnd::SystemException(exception.clone()),
            _ => FlowEnd::Results,
        }
    }
}

fn through(object: &Object, operation: &Operation, upcall: &mut dyn Upcall) -> Called {
    // What the policies say, the marshalled way says better.
    let Ok(policies) = object.call_policies() else { return Called::Elsewhere };
    // What is wrong with a reference that leads nowhere, too.
    let Ok(binding) = object.binding() else { return Called::Elsewhere };
    let closing = &object.orb().server().closing;
    if !policies.are_met_without_message()
        || closing.load(Ordering::Acquire)
        || object.shortcuts().must_follow(|| object.follows_shared_requests())
    {
        return Called::Elsewhere;
    }
    if policies.is_watched {
        return through_watched(object, operation, &policies, binding, upcall);
    }
    let called = attempts::run(object, operation, &policies, binding, |binding, attempts| {
        // The upcall may begin: a call that ends now is not made again.
        attempts.sent();
        let Some(here) = locality::here(object, binding) else {
            return Ok(Answer::Done(Called::Elsewhere));
        };
        let answer = attempt(object, binding, here, operation, None, upcall);
        if let Answer::Done(Called::Done) = answer {
            object.note_bound();
        }
        Ok(answer)
    });
    match called {
        Ok(called) => called,
        Err(exception) => Called::Raised(exception),
    }
}

/// As [`through`], past the interceptors of the client: only where a servant is surely met. They
/// are to see a call once, and one that becomes a message passes them on that way.
#[cold]
fn through_watched(
    object: &Object,
    operation: &Operation,
    policies: &CallPolicies,
    binding: BindingRef<'_>,
    upcall: &mut dyn Upcall,
) -> Called {
    if !surely_met(object, &binding).is_some_and(|servant| upcall.fits(&*servant)) {
        return Called::Elsewhere;
    }
    let invocation = Invocation::new(object, operation, &|_| Ok(()), policies);
    let upcall = RefCell::new(upcall);
    let at = |binding: &BindingRef<'_>, attempts: &mut Attempts, watch: &Arc<Watch>| {
        attempts.sent();
        let Some(here) = locality::here(object, binding) else {
            return Ok(Answer::Done(Called::Elsewhere));
        };
        let mut upcall = upcall.borrow_mut();
        let answer = attempt(object, binding, here, operation, Some(watch), &mut **upcall);
        if let Answer::Done(Called::Done) = answer {
            object.note_bound();
        }
        Ok(answer)
    };
    let ending = |called: &mut Called| match called {
        Called::Done => upcall.borrow().ending(),
        Called::Raised(exception) => FlowEnd::SystemException(exception.clone()),
        _ => FlowEnd::Retry,
    };
    match Watched::new(&invocation, Kind::Synchronous).run(binding, at, ending) {
        Ok(called) => called,
        Err(exception) => Called::Raised(exception),
    }
}

/// The servant that a call without a message surely meets.
fn surely_met(object: &Object, binding: &BindingRef<'_>) -> Option<Arc<dyn Servant>> {
    let here = locality::here(object, binding)?;
    let orb = here.orb(object.orb())?;
    let adapter = orb.server().adapter.get()?;
    match adapter.active_object(here.key(binding))? {
        Reach::Straight(active) | Reach::LookedUp(active) => Some(Arc::clone(active.servant())),
    }
}

fn attempt(
    object: &Object,
    binding: &BindingRef<'_>,
    here: &Here,
    operation: &Operation,
    watch: Option<&Watch>,
    upcall: &mut dyn Upcall,
) -> Answer<Called> {
    let Some(orb) = here.orb(object.orb()) else { return Answer::Done(Called::Elsewhere) };
    let server = orb.server();
    // A server that closes is not there any more: what the client gets then, a connection says.
    let is_closing = || server.closing.load(Ordering::Acquire);
    let Some(adapter) = server.adapter.get().filter(|_| !is_closing()) else {
        return Answer::Done(Called::Elsewhere);
    };
    let looking = server.attention.now();
    if looking.has(Wanted::Hooks) {
        return Answer::Done(Called::Elsewhere);
    }
    let key = here.key(binding);
    let mut passed = match looking.has(Wanted::Interceptors) {
        false => None,
        true if !surely_met(object, binding).is_some_and(|servant| upcall.fits(&*servant)) => {
            return Answer::Done(Called::Elsewhere);
        }
        true => Some(Passing::new(&orb, key, operation, watch)),
    };
    if let Some(refused) = passed.take_if(|passed| !passed.begin()) {
        return refused.end(Answer::Done(Called::Done), upcall);
    }
    let mut was_run = false;
    // Servant managers are application code: one that panics fails its one call.
    let called = catch_unwind(AssertUnwindSafe(|| {
        adapter.call(key, operation.name(), &mut |servant| match &mut passed {
            None => was_run |= upcall.run(&**servant),
            Some(passed) => was_run |= passed.run(&**servant, upcall),
        })
    }));
    let answer = match called {
        Ok(Ok(())) if was_run => Answer::Done(Called::Done),
        // What a servant manager raises afterwards replaces the outcome.
        Ok(Err(LocalRefusal::Raised(exception))) if was_run => {
            Answer::Done(Called::Raised(exception))
        }
        Ok(Ok(())) => Answer::Done(Called::ForMessages),
        Ok(Err(LocalRefusal::Remote)) => Answer::Done(Called::Elsewhere),
        Ok(Err(LocalRefusal::Forward(target))) => Answer::forward(target.ior().clone()),
        Ok(Err(LocalRefusal::Raised(_))) if is_closing() => Answer::Done(Called::Elsewhere),
        Ok(Err(LocalRefusal::Raised(exception))) => refused(&orb, key, exception),
        Err(payload) => Answer::Raised(panic::panicked(operation.name(), None, &*payload)),
    };
    match passed {
        None => answer,
        Some(passed) => passed.end(answer, upcall),
    }
}

/// A call on its way past the interceptors of the server.
struct Passing<'w> {
    watch: ServerWatch,
    client: Option<&'w Watch>,
    /// What an interceptor raised before the upcall.
    refusal: Option<Interruption>,
}

impl<'w> Passing<'w> {
    fn new(orb: &Orb, key: &[u8], operation: &Operation, client: Option<&'w Watch>) -> Self {
        let contexts = client.map_or_else(Vec::new, Watch::added);
        let watch = interceptor::watch(
            orb,
            key,
            operation.name(),
            ResponseFlags::WithTarget,
            Some(contexts),
        );
        Passing { watch, client, refusal: None }
    }

    /// Whether the call goes on.
    fn begin(&mut self) -> bool {
        self.refusal = self.watch.begin().err();
        self.refusal.is_none()
    }

    /// Makes the upcall, unless interceptors refuse it; whether the call has come to its servant.
    fn run(&mut self, servant: &dyn Servant, upcall: &mut dyn Upcall) -> bool {
        self.refusal = self.watch.receive_request(&servant).err();
        let _slots = self.watch.slots_for_upcall();
        self.refusal.is_some() || upcall.run(servant)
    }

    /// What the caller gets.
    fn end(self, answer: Answer<Called>, upcall: &dyn Upcall) -> Answer<Called> {
        let is_refused = self.refusal.is_some();
        let end = match (self.refusal, &answer) {
            (Some(refusal), _) => refusal.into(),
            (None, Answer::Done(Called::Done)) => upcall.ending(),
            (None, Answer::Done(Called::Raised(exception)) | Answer::Raised(exception)) => {
                FlowEnd::SystemException(exception.clone())
            }
            (None, _) => FlowEnd::WithoutReply,
        };
        let changed = self.watch.end(end.clone());
        if let Some(client) = self.client {
            client.note_contexts(self.watch.reply_contexts());
        }
        match changed.or(is_refused.then_some(end)) {
            Some(FlowEnd::SystemException(exception)) => Answer::Done(Called::Raised(exception)),
            Some(FlowEnd::Forward(to)) => Answer::forward(to.ior().clone()),
            _ => answer,
        }
    }
}

/// No servant has this key: perhaps it is a plain name that was bound to an object, or may still
/// be. A request waits for that, so the call becomes one.
#[cold]
fn refused(orb: &Orb, key: &[u8], exception: SystemException) -> Answer<Called> {
    let is_unknown = exception.kind == SystemExceptionKind::ObjectNotExist;
    match orb.server().object_keys.get(key).filter(|_| is_unknown) {
        Some(target) => Answer::forward(target.ior().clone()),
        None if is_unknown && orb.server().adapter.get().is_some_and(|a| a.may_come(key)) => {
            Answer::Done(Called::Elsewhere)
        }
        None => Answer::Raised(exception),
    }
}

/// A call went through the object adapter: the next one may go straight to the servant.
fn make_shortcut(object: &Object, interface: TypeId) {
    let shortcuts = object.shortcuts();
    let generation = object.orb().policies().generation();
    if has_thread_overrides() || shortcuts.find(interface, generation).is_some() {
        return;
    }
    // What holds for this thread now has to hold for all, as long as the policies stay.
    // Interceptors are to see every call.
    let is_met = |p: Effective<'_>| p.are_met_without_message() && !p.is_watched;
    let met = object.call_policies().is_ok_and(is_met);
    if !met || generation != object.orb().policies().generation() {
        return;
    }
    let Some(binding) = object.own_binding().filter(|_| !object.is_forwarded()) else { return };
    let binding = BindingRef::Own(binding);
    let Some(here) = locality::here(object, &binding) else { return };
    let orb = here.orb(object.orb());
    if orb.as_ref().is_none_or(|orb| orb.intercepts_requests()) {
        return;
    }
    let adapter = orb.as_ref().and_then(|orb| orb.server().adapter.get());
    match adapter.and_then(|adapter| adapter.active_object(here.key(&binding))) {
        Some(Reach::Straight(active)) => shortcuts.add(&active, show, interface, generation),
        Some(Reach::LookedUp(active)) => {
            shortcuts.add_looked_up(&active, show, interface, generation);
        }
        None => shortcuts.note_refused(),
    }
}

/// The servant shows itself.
fn show<'v>(servant: &'v dyn Servant, view: &mut View<'v>) {
    servant._view(view);
}
