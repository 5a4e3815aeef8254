//! Calls of a reference: the operations that stubs are made of, and where their requests go.
//!
//! Called by generated stubs and applications. What a reference is stands in `handles/object`.

use crate::client::{self, Binding, PendingReply, Reply, ReplySink};
use crate::{Object, Operation};
use corbie_cdr::Encoder;
use corbie_types::SystemException;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Where the calls of a reference go.
#[derive(Default)]
struct Bindings {
    /// Where the reference itself leads; made by the first call.
    own: OnceLock<Result<Arc<Binding>, SystemException>>,
    /// Where a server said that the object is now. Lock "forwarded": never held across a call.
    forwarded: Mutex<Option<Arc<Binding>>>,
}

impl Bindings {
    fn forwarded(&self) -> MutexGuard<'_, Option<Arc<Binding>>> {
        self.forwarded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object {
    /// The object key of the first profile that can be read.
    pub fn object_key(&self) -> Option<Vec<u8>> {
        client::first_object_key(self.orb(), self.ior())
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

    /// Calls `operation` without waiting, neither for a connection nor for room nor for the server:
    /// `sink` gets the outcome, exactly once, and never before this returns an error. As
    /// [`Object::invoke`] otherwise. Requests of one thread to one object arrive in the order of
    /// the calls. While a connection is opened, and while the server takes nothing, the call is
    /// queued: up to four times `pending_requests_max` calls and four times `queued_octets_max`
    /// octets of a connection, or one call. It ends with its time at the latest.
    ///
    /// # Errors
    /// The call was not accepted, and `sink` is dropped without an outcome: `MARSHAL`
    /// (`COMPLETED_NO`) when an argument cannot be sent, `TRANSIENT` (`COMPLETED_NO`) with
    /// [`minor::TRANSIENT_OVERLOAD`] when too much is queued already (call again when there may be
    /// room), `INV_OBJREF`, and `BAD_INV_ORDER` after shutdown. That the server cannot be reached,
    /// `sink` is told.
    ///
    /// [`minor::TRANSIENT_OVERLOAD`]: corbie_types::minor::TRANSIENT_OVERLOAD
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

    /// Asks the server with a `LocateRequest` where the object is, following forwards.
    ///
    /// # Errors
    /// As [`Object::invoke`]; `OBJECT_NOT_EXIST` when the server does not know the object.
    pub fn locate(&self) -> Result<(), SystemException> {
        client::locate(self)
    }

    /// Whether requests that a synchronous call must not overtake are on their way, over a
    /// connection that calls share.
    #[inline]
    pub(crate) fn follows_shared_requests(&self) -> bool {
        let follows = |binding: BindingRef<'_>| binding.target(0).pool.has_shared_requests();
        self.binding().is_ok_and(follows)
    }

    /// Where calls go now: where a server forwarded us, or where the reference leads.
    pub(crate) fn binding(&self) -> Result<BindingRef<'_>, SystemException> {
        let bindings: &Bindings = self.bindings().get();
        if self.is_forwarded()
            && let Some(binding) = bindings.forwarded().clone()
        {
            return Ok(BindingRef::Forwarded(binding));
        }
        let bind = || client::bind(self.orb(), self.ior()).map(Arc::new);
        let bound = bindings.own.get_or_init(bind);
        match bound {
            Ok(binding) => Ok(BindingRef::Own(binding)),
            Err(exception) => Err(exception.clone()),
        }
    }

    /// Where the reference itself leads, if that was found out already.
    #[inline]
    pub(crate) fn own_binding(&self) -> Option<&Arc<Binding>> {
        self.bindings().get::<Bindings>().own.get()?.as_ref().ok()
    }

    /// A request was sent that calls of the same thread, which do not wait in any queue, must not
    /// overtake.
    fn note_shared_request(&self) {
        if !self.is_surely_elsewhere() {
            self.shortcuts().note_shared_request();
        }
    }

    /// Remembers (or forgets, with `None`) where a server forwarded us.
    pub(crate) fn set_forwarded(&self, binding: Option<Arc<Binding>>) {
        let mut slot = self.bindings().get::<Bindings>().forwarded();
        self.note_forwarded(binding.is_some());
        *slot = binding;
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

impl Deref for BindingRef<'_> {
    type Target = Binding;

    fn deref(&self) -> &Binding {
        match self {
            BindingRef::Own(binding) => binding,
            BindingRef::Forwarded(binding) => binding,
        }
    }
}
