//! The untyped object reference: `CORBA::Object` (CORBA 3.3 P1 §8.3).
//!
//! A cheap handle. The first call binds it (`client/bind`); calls go through `client/call`.

use crate::Operation;
use crate::Orb;
use crate::client::{self, Binding, PendingReply, Reply, ReplySink};
use crate::collocation::{self, Shortcuts};
use crate::policy::{CachedPolicies, CallPolicies, PolicySet};
use crate::server::Servant;
use corbie_cdr::{Encoder, Marshal};
use corbie_types::{Ior, SystemException, SystemExceptionKind};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A reference to an object, anywhere. Clones are the same reference. Nil is `Option::None`.
#[derive(Clone)]
pub struct Object(Arc<ObjectInner>);

struct ObjectInner {
    orb: Orb,
    ior: Ior,
    /// Where the reference itself leads; made by the first call.
    binding: OnceLock<Result<Arc<Binding>, SystemException>>,
    /// Where a server said that the object is now. Lock "forwarded": never held across a call.
    forwarded: Mutex<Option<Arc<Binding>>>,
    /// The ways of calls of this process past the connection.
    shortcuts: Shortcuts,
    /// The object's key, where it is in this process.
    local_key: OnceLock<Option<Vec<u8>>>,
    /// Whether `forwarded` holds something: spares the lock on every call that was not forwarded.
    is_forwarded: AtomicBool,
    /// Whether a call was answered: from then on rebinding is what `RebindPolicy` restricts.
    is_bound: AtomicBool,
    /// Policies set on this reference.
    policy_overrides: PolicySet,
    /// What the server says of its policies in the reference.
    exposed_policies: OnceLock<Result<PolicySet, SystemException>>,
    /// What calls go by; made by the first one.
    policies: OnceLock<CachedPolicies>,
}

impl Object {
    /// The reference `ior`, used through `orb`. Nothing is connected yet.
    pub fn new(orb: &Orb, ior: Ior) -> Self {
        Self::with_policies(orb, ior, PolicySet::default())
    }

    /// The reference `ior` with policies of its own.
    pub(crate) fn with_policies(orb: &Orb, ior: Ior, policy_overrides: PolicySet) -> Self {
        Object(Arc::new(ObjectInner {
            orb: orb.clone(),
            ior,
            binding: OnceLock::new(),
            forwarded: Mutex::new(None),
            shortcuts: Shortcuts::default(),
            local_key: OnceLock::new(),
            is_forwarded: AtomicBool::new(false),
            is_bound: AtomicBool::new(false),
            policy_overrides,
            exposed_policies: OnceLock::new(),
            policies: OnceLock::new(),
        }))
    }

    /// The ORB that the reference belongs to.
    pub fn orb(&self) -> &Orb {
        &self.0.orb
    }

    /// What the reference consists of.
    pub fn ior(&self) -> &Ior {
        &self.0.ior
    }

    /// The object key of the first profile that can be read.
    pub fn object_key(&self) -> Option<Vec<u8>> {
        client::first_object_key(self.orb(), &self.0.ior)
    }

    /// Calls `operation`: `arguments` writes the in and inout arguments, the reply holds the
    /// results. Generated stubs are made of this; `arguments` runs again when the request has to
    /// be sent to another place.
    ///
    /// # Errors
    /// The system exception that the server raised or that happened on the way there:
    /// `TRANSIENT` (`COMPLETED_NO`) when nothing could be reached, `COMM_FAILURE` when the
    /// connection broke, `TIMEOUT` when no reply came in time, `MARSHAL` (`COMPLETED_NO`) when an
    /// argument cannot be sent, `INV_OBJREF` when the reference has no usable profile.
    pub fn invoke<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<Reply, SystemException> {
        client::invoke(self, operation, arguments)
    }

    /// Sends `operation` without waiting for a reply: returns when the request was handed to the
    /// transport (`SYNC_WITH_TRANSPORT`).
    ///
    /// # Errors
    /// As [`Object::invoke`], as far as it shows before and while sending.
    pub fn invoke_oneway<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        client::invoke_oneway(self, operation, arguments)?;
        self.note_shared_request();
        Ok(())
    }

    /// Calls `operation` without waiting: `sink` gets the outcome, exactly once, and never before
    /// this returns an error. As [`Object::invoke`] otherwise. Requests of one thread to one object
    /// arrive in the order of the calls.
    ///
    /// # Errors
    /// The call was not accepted, and `sink` is dropped without an outcome: `MARSHAL`
    /// (`COMPLETED_NO`) when an argument cannot be sent, `TRANSIENT` (`COMPLETED_NO`) when the
    /// server cannot be reached or too many calls are pending, `INV_OBJREF`, and `BAD_INV_ORDER`
    /// after shutdown.
    pub fn invoke_async<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        sink: ReplySink,
    ) -> Result<(), SystemException> {
        client::invoke_async(self, operation, arguments, sink)?;
        self.note_shared_request();
        Ok(())
    }

    /// As [`Object::invoke_async`], and never waits for the server to take what is sent to it, so
    /// that one that reads nothing keeps no other waiting: what it does not take is queued, up to
    /// four times `queued_octets_max` of a connection. (Where there is no connection, this opens
    /// one, which may take time.)
    ///
    /// # Errors
    /// As [`Object::invoke_async`]; `TRANSIENT` with [`minor::TRANSIENT_OVERLOAD`]
    /// (`COMPLETED_NO`) also when too much waits already: call again when there may be room.
    ///
    /// [`minor::TRANSIENT_OVERLOAD`]: corbie_types::minor::TRANSIENT_OVERLOAD
    pub fn invoke_async_if_room<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        sink: ReplySink,
    ) -> Result<(), SystemException> {
        client::invoke_if_room(self, operation, arguments, sink)?;
        self.note_shared_request();
        Ok(())
    }

    /// As [`Object::invoke_async`], over a connection that no other request uses until the reply is
    /// there: for calls that the server may answer late, so that a server which serves a
    /// connection's requests one after the other keeps no other request waiting behind it. Its
    /// order among other requests is not kept.
    ///
    /// # Errors
    /// As [`Object::invoke_async`].
    pub fn invoke_async_apart<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        sink: ReplySink,
    ) -> Result<(), SystemException> {
        client::invoke_on(client::Route::Own, self, operation, arguments, sink)
    }

    /// Calls `operation` and returns when the request was sent; the reply is asked for later.
    ///
    /// # Errors
    /// As [`Object::invoke_async`].
    pub fn invoke_deferred<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<PendingReply, SystemException> {
        let pending = client::invoke_deferred(self, operation, arguments)?;
        self.note_shared_request();
        Ok(pending)
    }

    /// Whether the object has the interface with this repository id. Asks the object unless its
    /// reference says yes.
    ///
    /// # Errors
    /// As [`Object::invoke`].
    pub fn is_a(&self, repository_id: &str) -> Result<bool, SystemException> {
        const IS_A: Operation = Operation::twoway("_is_a");
        if self.0.ior.type_id == repository_id {
            return Ok(true);
        }
        let is_a = |servant: &dyn Servant| {
            repository_id == "IDL:omg.org/CORBA/Object:1.0" || servant._is_a(repository_id)
        };
        if let Some(answer) = collocation::ask(self, &IS_A, is_a) {
            return answer;
        }
        let mut reply = self.invoke(&IS_A, &|e| e.write_string(repository_id))?;
        reply.results_only(|d| d.read_boolean())
    }

    /// Whether the object is known to be gone for good.
    ///
    /// # Errors
    /// As [`Object::invoke`]; `OBJECT_NOT_EXIST` is the answer `true`, not an error.
    pub fn non_existent(&self) -> Result<bool, SystemException> {
        const NON_EXISTENT: Operation = Operation::twoway("_non_existent");
        let answer = match collocation::ask(self, &NON_EXISTENT, |servant| servant._non_existent())
        {
            Some(answer) => answer,
            None => {
                let reply = self.invoke(&NON_EXISTENT, &|_| Ok(()));
                reply.and_then(|mut reply| reply.results_only(|d| d.read_boolean()))
            }
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(exception) if exception.kind == SystemExceptionKind::ObjectNotExist => Ok(true),
            Err(exception) => Err(exception),
        }
    }

    /// The repository id of the object's most derived interface, as the object itself says.
    ///
    /// # Errors
    /// As [`Object::invoke`].
    pub fn repository_id(&self) -> Result<String, SystemException> {
        const REPOSITORY_ID: Operation = Operation::twoway("_repository_id");
        let id = |servant: &dyn Servant| servant._repository_id().to_owned();
        if let Some(answer) = collocation::ask(self, &REPOSITORY_ID, id) {
            return answer;
        }
        let mut reply = self.invoke(&REPOSITORY_ID, &|_| Ok(()))?;
        reply.results_only(String::decode)
    }

    /// Asks the server with a `LocateRequest` where the object is, following forwards.
    ///
    /// # Errors
    /// As [`Object::invoke`]; `OBJECT_NOT_EXIST` when the server does not know the object.
    pub fn locate(&self) -> Result<(), SystemException> {
        client::locate(self)
    }

    /// A call was answered.
    #[inline]
    pub(crate) fn note_bound(&self) {
        if !self.0.is_bound.load(Ordering::Relaxed) {
            self.0.is_bound.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a call was ever answered.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.is_bound.load(Ordering::Relaxed)
    }

    /// Policies set on this reference.
    pub(crate) fn policy_overrides(&self) -> &PolicySet {
        &self.0.policy_overrides
    }

    /// What the reference says of its server's policies.
    ///
    /// # Errors
    /// `MARSHAL` (`COMPLETED_NO`) when it cannot be read.
    pub(crate) fn exposed_policies(&self) -> Result<&PolicySet, SystemException> {
        let read = || crate::policy::exposed_by(self.orb(), &self.0.ior);
        self.0.exposed_policies.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// What calls go by, as far as the thread says nothing.
    #[inline]
    pub(crate) fn cached_policies(&self) -> &CachedPolicies {
        self.0.policies.get_or_init(|| CallPolicies::to_cache(self))
    }

    /// Whether requests that a synchronous call must not overtake are on their way, over a
    /// connection that calls share.
    #[inline]
    pub(crate) fn follows_shared_requests(&self) -> bool {
        let follows = |binding: BindingRef<'_>| binding.target(0).pool.has_shared_requests();
        self.binding().is_ok_and(follows)
    }

    /// The object's key, if this ORB serves it: found out once.
    pub(crate) fn local_key(&self) -> Option<&[u8]> {
        self.0.local_key.get_or_init(|| self.orb().local_key(self.ior())).as_deref()
    }

    /// Where calls go now: where a server forwarded us, or where the reference leads.
    pub(crate) fn binding(&self) -> Result<BindingRef<'_>, SystemException> {
        if self.0.is_forwarded.load(Ordering::Acquire)
            && let Some(binding) = self.forwarded_slot().clone()
        {
            return Ok(BindingRef::Forwarded(binding));
        }
        let bound =
            self.0.binding.get_or_init(|| client::bind(&self.0.orb, &self.0.ior).map(Arc::new));
        match bound {
            Ok(binding) => Ok(BindingRef::Own(binding)),
            Err(exception) => Err(exception.clone()),
        }
    }

    /// Where the reference itself leads, if that was found out already.
    #[inline]
    pub(crate) fn own_binding(&self) -> Option<&Arc<Binding>> {
        self.0.binding.get()?.as_ref().ok()
    }

    /// Whether a server sent us on.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.0.is_forwarded.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn shortcuts(&self) -> &Shortcuts {
        &self.0.shortcuts
    }

    /// A request was sent that calls of the same thread, which do not wait in any queue, must not
    /// overtake.
    fn note_shared_request(&self) {
        if !self.is_surely_elsewhere() {
            self.0.shortcuts.note_shared_request();
        }
    }

    /// Remembers (or forgets, with `None`) where a server forwarded us.
    pub(crate) fn set_forwarded(&self, binding: Option<Arc<Binding>>) {
        let mut slot = self.forwarded_slot();
        self.0.shortcuts.set_forwarded(binding.is_some());
        self.0.is_forwarded.store(binding.is_some(), Ordering::Release);
        *slot = binding;
    }

    fn forwarded_slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Binding>>> {
        self.0.forwarded.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A binding in use: borrowed in the usual case, so that no counter is touched.
pub(crate) enum BindingRef<'o> {
    Own(&'o Arc<Binding>),
    Forwarded(Arc<Binding>),
}

impl BindingRef<'_> {
    pub(crate) fn is_forwarded(&self) -> bool {
        matches!(self, BindingRef::Forwarded(_))
    }
}

impl std::ops::Deref for BindingRef<'_> {
    type Target = Binding;

    fn deref(&self) -> &Binding {
        match self {
            BindingRef::Own(binding) => binding,
            BindingRef::Forwarded(binding) => binding,
        }
    }
}

impl PartialEq for Object {
    /// Whether both are surely references to the same object (`is_equivalent`, CORBA 3.3 P1
    /// §8.3.5.2): the same profiles. Two references that differ may lead to one object still.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.ior == other.0.ior
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("ior", &self.0.ior).finish()
    }
}

impl fmt::Display for Object {
    /// The stringified reference, `IOR:…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.ior.fmt(f)
    }
}
