//! The hook for portable interceptors of a server: it sees a request from when it was received to
//! when it was answered, although no activation record spans that time (paper AMH §5, future work).
//!
//! What an interceptor keeps of a request travels with it: in the `ServerRequest`, and from
//! `ServerRequest::defer` on in the `ResponseHandler`. Without interceptors that is a null pointer,
//! and a request costs one branch. The interceptors of CORBA 3.3 P1 §16 build on this.

use crate::portable_interceptor::{
    FlowEnd, Interruption, Received, ServerWatch, ServiceContext, TargetInterface, service_contexts,
};
use crate::server::{Servant, ServerRequest, Wanted};
use crate::{Object, Orb};
use corbie_giop::{ReplyStatus, ResponseFlags};
use corbie_transport::PeerAddress;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// What an interceptor keeps of one request until it is answered, perhaps on another thread.
pub type RequestState = Option<Box<dyn Any + Send>>;

/// Sees every request that comes over a connection, twice: when it was received and when it was
/// answered. Of the threads that these calls come on, nothing can be said.
pub trait ServerInterceptor: Send + Sync {
    /// A request is here; its upcall has not begun. What is returned is given back at the end.
    ///
    /// # Errors
    /// The system exception that the client gets instead of an upcall; interceptors that were not
    /// asked yet do not see the request.
    fn receive_request(&self, request: &ServerRequest<'_>)
    -> Result<RequestState, SystemException>;

    /// The request was answered: exactly once for each that [`Self::receive_request`] let pass. The
    /// interceptors are asked in the order opposite to before.
    fn request_done(&self, request: &AnsweredRequest<'_>, state: RequestState);
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct AnsweredRequest<'a> {
    /// The name of the operation on the wire.
    pub operation: &'a str,
    /// Its number on its connection.
    pub request_id: u32,
    /// The client that sent it.
    pub peer: PeerAddress,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// With results.
    Results,
    /// With the user exception of this repository id.
    UserException(&'a str),
    /// With a system exception.
    SystemException(&'a SystemException),
    /// The client was sent on to another reference.
    Forward,
    /// The client did not wait (any more); the upcall is over.
    NoReply,
}

impl Outcome<'_> {
    /// The status of the reply that says so.
    #[inline]
    pub(crate) fn status(&self) -> ReplyStatus {
        match self {
            Outcome::Results | Outcome::NoReply => ReplyStatus::NoException,
            Outcome::UserException(_) => ReplyStatus::UserException,
            Outcome::SystemException(_) => ReplyStatus::SystemException,
            Outcome::Forward => ReplyStatus::LocationForward,
        }
    }
}

/// The interceptors of an ORB that are not portable.
#[derive(Default)]
pub(crate) struct Interceptors(OnceLock<Vec<Arc<dyn ServerInterceptor>>>);

impl Interceptors {
    fn all(&self) -> &[Arc<dyn ServerInterceptor>] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

impl Orb {
    /// Portable interceptors see the requests that this ORB serves from now on.
    pub(crate) fn expect_interceptors(&self) {
        self.server().attention.want(Wanted::Interceptors);
    }

    /// Whether portable interceptors see the requests that this ORB serves.
    pub(crate) fn intercepts_requests(&self) -> bool {
        cfg!(feature = "interceptors") && self.server().attention.has(Wanted::Interceptors)
    }
}

#[cfg(feature = "interceptors")]
impl Orb {
    /// Has `interceptors` see all requests that this ORB serves, the first of them first. To be
    /// called once, before the first POA is made.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when that is too late, or was done before.
    pub fn set_server_interceptors(
        &self,
        interceptors: Vec<Arc<dyn ServerInterceptor>>,
    ) -> Result<(), SystemException> {
        let refused = |why: &str| {
            let minor = minor::BAD_INV_ORDER_INTERCEPTOR_CALL;
            let exception = SystemException::bad_inv_order(minor, CompletionStatus::No);
            Err(exception.with_detail(format!("interceptors cannot be registered: {why}")))
        };
        if self.server().adapter.get().is_some() {
            return refused("there is a POA already, and requests may be under way; do it before");
        }
        match self.server().interceptors.0.set(interceptors) {
            Ok(()) => {
                self.server().attention.want(Wanted::Hooks);
                Ok(())
            }
            Err(_) => refused("that was done before; give all of them at once"),
        }
    }
}

/// What interceptors have of one request: the states of those that saw it, in the order of their
/// interceptors, and its way past the portable ones.
pub(crate) struct Intercepted {
    states: Vec<RequestState>,
    watch: Option<Arc<ServerWatch>>,
}

impl Intercepted {
    /// Shows `request` to the interceptors of its ORB. A portable one may have answered it.
    ///
    /// # Errors
    /// What the first raised that did not let it pass.
    #[cold]
    pub(crate) fn receive(request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let orb = request.orb();
        let interceptors = orb.server().interceptors.all();
        let mut states = Vec::with_capacity(interceptors.len());
        let mut outcome = Ok(());
        for interceptor in interceptors {
            let seen = catch_unwind(AssertUnwindSafe(|| interceptor.receive_request(request)));
            match seen.unwrap_or_else(|_| Err(panicked())) {
                Ok(state) => states.push(state),
                Err(exception) => {
                    outcome = Err(exception);
                    break;
                }
            }
        }
        let is_watched = outcome.is_ok() && orb.intercepts_requests();
        let watch = is_watched.then(|| Arc::new(watch_of(request)));
        request.set_intercepted(Box::new(Intercepted { states, watch: watch.clone() }));
        outcome?;
        match watch.map_or(Ok(()), |watch| watch.begin()) {
            Ok(()) => Ok(()),
            Err(Interruption::System(exception)) => Err(exception),
            Err(Interruption::Forward(to)) => request.forward(&to.forward),
        }
    }

    /// Its way past the portable interceptors.
    pub(crate) fn watch(&self) -> Option<&Arc<ServerWatch>> {
        self.watch.as_ref()
    }

    /// The request was answered.
    #[cold]
    pub(crate) fn done(self, orb: &Orb, request: &AnsweredRequest<'_>) {
        if let Some(watch) = &self.watch {
            // Nothing, where they have seen an answer.
            watch.end(FlowEnd::WithoutReply);
        }
        let seen = orb.server().interceptors.all().iter().zip(self.states);
        for (interceptor, state) in seen.rev() {
            let done = || interceptor.request_done(request, state);
            if catch_unwind(AssertUnwindSafe(done)).is_err() {
                tracing::error!(operation = request.operation, "an interceptor panicked");
            }
        }
    }
}

fn watch_of(request: &ServerRequest<'_>) -> ServerWatch {
    let contexts = service_contexts::kept(&request.request_contexts());
    let (orb, key) = (request.orb(), request.object_key());
    watch(orb, key, request.operation(), request.response(), contexts)
}

/// The way of a request to the object with this key.
pub(crate) fn watch(
    orb: &Orb,
    object_key: &[u8],
    operation: &str,
    response: ResponseFlags,
    contexts: Option<Vec<ServiceContext>>,
) -> ServerWatch {
    let (mut path, mut object_id) = (Vec::new(), Vec::new());
    if let Some(adapter) = orb.server().adapter.get() {
        adapter.name(object_key, &mut |names, id| {
            (path, object_id) = (names.to_vec(), id.to_vec());
        });
    }
    ServerWatch::new(Received { orb, operation, response, contexts, path, object_id })
}

impl TargetInterface for &dyn Servant {
    fn most_derived(&self) -> String {
        self._repository_id().to_owned()
    }

    fn is_a(&self, repository_id: &str) -> bool {
        self._is_a(repository_id)
    }
}

impl Outcome<'_> {
    /// As portable interceptors see it; `forward`: where the client is sent.
    pub(crate) fn as_end(&self, forward: Option<&Object>) -> FlowEnd {
        match (self, forward) {
            (Outcome::Results, _) => FlowEnd::Results,
            (Outcome::UserException(id), _) => FlowEnd::UserException((*id).to_owned()),
            (Outcome::SystemException(exception), _) => {
                FlowEnd::SystemException((*exception).clone())
            }
            (Outcome::Forward, Some(object)) => FlowEnd::Forward(object.clone()),
            (Outcome::Forward, None) | (Outcome::NoReply, _) => FlowEnd::WithoutReply,
        }
    }
}

#[cold]
fn panicked() -> SystemException {
    tracing::error!("an interceptor panicked");
    minor::UNKNOWN_INTERCEPTOR_PANIC.no("an interceptor of the server panicked before the upcall")
}
