//! What generated response types of AMH have in common, and how `async` servants are started.
//!
//! Used by code that `corbie_codegen` writes. The typed form, [`TypedResponse`], is consumed by its
//! answer, so that a second one does not compile; [`SharedResponse`] is asked again and refuses
//! (paper AMH §2: `BAD_INV_ORDER`).

use crate::Object;
use crate::server::request::second_answer;
use crate::server::{ResponseHandler, ServerRequest, ServiceContext, Wanted, current};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::fmt;
use std::future::Future;
use tracing::Instrument as _;

/// The response to one operation, in the form that the IDL gives it.
///
/// Its own methods, which the IDL names, answer with results or an exception; these here are the
/// same for all. Dropped unanswered, it answers with `NO_RESPONSE`.
pub trait TypedResponse: Sized + Send + 'static {
    /// What the operation of an ordinary servant returns: `Result<i32, GetQuoteError>`.
    type Outcome;

    /// For generated code: the response to a request of this operation.
    #[doc(hidden)]
    fn from_handler(handler: ResponseHandler) -> Self;

    /// Answers with what an ordinary servant would have returned.
    ///
    /// # Errors
    /// As [`ResponseHandler::reply`].
    fn finish(self, outcome: Self::Outcome) -> Result<(), SystemException>;

    /// What it answers through.
    fn handler(&self) -> &ResponseHandler;

    /// The same without its type.
    fn into_handler(self) -> ResponseHandler;

    /// Whether an answer would not arrive; see [`ResponseHandler::is_client_gone`].
    fn is_client_gone(&self) -> bool {
        self.handler().is_client_gone()
    }

    /// Has `context` go back with the reply; see [`ResponseHandler::set_reply_context`].
    fn set_reply_context(&self, context: ServiceContext) {
        self.handler().set_reply_context(context);
    }

    /// Sends the client on to `object`, for this request and later ones.
    ///
    /// # Errors
    /// As [`ResponseHandler::reply`].
    fn forward_to(self, object: &Object) -> Result<(), SystemException> {
        self.into_handler().forward(object)
    }
}

/// A response that any operation of an interface may be the answer to, and that is shared rather
/// than consumed.
pub struct SharedResponse {
    operation: &'static str,
    handler: Ranked<rank::Leaf, Option<ResponseHandler>>,
}

impl SharedResponse {
    /// The response to the operation of this name on the wire.
    #[must_use]
    pub fn new(operation: &'static str, handler: ResponseHandler) -> Self {
        SharedResponse { operation, handler: Ranked::new(Some(handler)) }
    }

    /// The name of the operation on the wire.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Takes the handler, in order to answer `operation`.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_YES`) when it was taken before; `BAD_OPERATION`
    /// (`COMPLETED_NO`) when the request is for another operation: it can still be answered.
    pub fn take(&self, operation: &str) -> Result<ResponseHandler, SystemException> {
        let mut handler = self.handler.lock();
        if handler.is_some() && operation != self.operation {
            return Err(other_operation(self.operation, operation));
        }
        handler.take().ok_or_else(|| second_answer(self.operation))
    }

    /// Whether an answer would not arrive: the client is gone, or the request is answered.
    #[must_use]
    pub fn is_client_gone(&self) -> bool {
        let handler = self.handler.lock();
        handler.as_ref().is_none_or(ResponseHandler::is_client_gone)
    }
}

impl fmt::Debug for SharedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedResponse").field("operation", &self.operation).finish_non_exhaustive()
    }
}

#[cold]
fn other_operation(asked: &str, answered: &str) -> SystemException {
    minor::BAD_OPERATION_UNKNOWN
        .no(format!("the client called {asked}, so results of {answered} cannot be the answer"))
}

/// The exception for one that the operation does not raise: `UNKNOWN`, as if the servant of a
/// language with unchecked exceptions had raised it.
#[cold]
#[must_use]
pub fn not_raised(operation: &str, exception: &dyn fmt::Display) -> SystemException {
    minor::UNKNOWN_USER_EXCEPTION.raise(
        CompletionStatus::Maybe,
        format!("{operation} does not raise {exception}: it is not in its IDL"),
    )
}

impl ServerRequest<'_> {
    /// Runs a future on the executor of the ORB; it answers the request when it is done.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the ORB has no executor.
    pub fn spawn<F>(
        &mut self,
        serve: impl FnOnce(ResponseHandler) -> F,
    ) -> Result<(), SystemException>
    where
        F: Future<Output = Result<(), SystemException>> + Send + 'static,
    {
        let executor = self.orb().executor_for_servants()?;
        let response = self.defer();
        let context = response.context().cloned();
        let are_spans_wanted = self.orb().server().attention.has(Wanted::Spans);
        let served = to_the_end(serve(response));
        executor.spawn(match (context, are_spans_wanted) {
            (None, false) => Box::pin(served),
            (Some(context), false) => Box::pin(current::showing(context, served)),
            (None, true) => Box::pin(served.in_current_span()),
            (Some(context), true) => Box::pin(current::showing(context, served.in_current_span())),
        });
        Ok(())
    }
}

/// Runs `served`; that its answer could not be sent goes to the log.
async fn to_the_end(served: impl Future<Output = Result<(), SystemException>>) {
    if let Err(exception) = served.await {
        tracing::debug!(%exception, "the answer of an async servant was not sent");
    }
}
