//! The hook for portable interceptors of a server: it sees a request from when it was received to
//! when it was answered, although no activation record spans that time (paper AMH §5, future work).
//!
//! What an interceptor keeps of a request travels with it: in the `ServerRequest`, and from
//! `ServerRequest::defer` on in the `ResponseHandler`. Without interceptors that is a null pointer,
//! and a request costs one branch. The interceptors of CORBA 3.3 P1 §16 build on this.

use crate::Orb;
use crate::server::ServerRequest;
use corbie_giop::ReplyStatus;
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

/// The interceptors of an ORB.
#[derive(Default)]
pub(crate) struct Interceptors(OnceLock<Vec<Arc<dyn ServerInterceptor>>>);

impl Interceptors {
    /// Whether there are any.
    #[inline]
    pub(crate) fn exist(&self) -> bool {
        cfg!(feature = "interceptors") && self.0.get().is_some()
    }

    fn all(&self) -> &[Arc<dyn ServerInterceptor>] {
        self.0.get().filter(|_| self.exist()).map_or(&[], Vec::as_slice)
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
                self.server().attention.want_interceptors();
                Ok(())
            }
            Err(_) => refused("that was done before; give all of them at once"),
        }
    }
}

/// The states of one request, in the order of their interceptors: of those that saw it.
pub(crate) struct Intercepted(Vec<RequestState>);

impl Intercepted {
    /// Shows `request` to the interceptors of its ORB.
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
        request.set_intercepted(Box::new(Intercepted(states)));
        outcome
    }

    /// The request was answered.
    #[cold]
    pub(crate) fn done(self, orb: &Orb, request: &AnsweredRequest<'_>) {
        let seen = orb.server().interceptors.all().iter().zip(self.0);
        for (interceptor, state) in seen.rev() {
            let done = || interceptor.request_done(request, state);
            if catch_unwind(AssertUnwindSafe(done)).is_err() {
                tracing::error!(operation = request.operation, "an interceptor panicked");
            }
        }
    }
}

#[cold]
fn panicked() -> SystemException {
    tracing::error!("an interceptor panicked");
    minor::UNKNOWN_INTERCEPTOR_PANIC.no("an interceptor of the server panicked before the upcall")
}
