//! A request as a dynamic servant sees it (CORBA 3.3 P1 §12.3.1: `ServerRequest`): the servant says
//! of what types the arguments are, gets them, and sets results or an exception.
//!
//! Made by `servant` around the request of the static dispatch; `response` is its second half when
//! the answer is deferred.

use super::response::Answer;
use super::{Context, DynamicResponse, Flags, NvList};
use corbie_cdr::Decoder;
use corbie_core::Orb;
use corbie_core::generated_code::decode_context;
use corbie_core::server::{ServerRequest, ServiceContext};
use corbie_types::{Any, Minor, SystemException, minor};

/// One request to a [`DynamicImplementation`](super::DynamicImplementation).
pub struct DynamicServerRequest<'q, 'r> {
    request: &'q mut ServerRequest<'r>,
    answer: Answer,
    /// Behind the arguments; `None` before [`DynamicServerRequest::arguments`].
    rest: Option<Decoder<'r>>,
    has_context: bool,
    is_deferred: bool,
}

impl<'q, 'r> DynamicServerRequest<'q, 'r> {
    pub(super) fn new(request: &'q mut ServerRequest<'r>) -> Self {
        let answer = Answer::default();
        Self { request, answer, rest: None, has_context: false, is_deferred: false }
    }

    /// The name of the operation on the wire: `_get_x` and `_set_x` for an attribute `x`.
    #[must_use]
    pub fn operation(&self) -> &'r str {
        self.request.operation()
    }

    /// The ORB that serves it.
    #[must_use]
    pub fn orb(&self) -> &'r Orb {
        self.request.orb()
    }

    /// The request as generated skeletons see it: who sent it, the object key, and so on.
    #[must_use]
    pub fn request(&self) -> &ServerRequest<'r> {
        self.request
    }

    /// Says of what types the parameters are, all of them in order, and reads the in and inout
    /// ones. Called once, before anything is set; the list comes back with their values. Values of
    /// inout and out parameters are set in it, through [`DynamicServerRequest::arguments_mut`].
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 7, when called a second time or after an exception
    /// was set; `MARSHAL` when the request has not these arguments.
    pub fn arguments(&mut self, parameters: NvList) -> Result<&mut NvList, SystemException> {
        if self.rest.is_some() || self.answer.is_exception() || self.is_deferred {
            return Err(self.out_of_order("arguments", minor::BAD_INV_ORDER_ARGUMENTS));
        }
        let mut decoder = self.request.arguments();
        self.answer.arguments = parameters;
        self.answer.arguments.decode(Flags::is_sent, &mut decoder)?;
        self.rest = Some(decoder);
        Ok(&mut self.answer.arguments)
    }

    /// The arguments that [`DynamicServerRequest::arguments`] read.
    pub fn arguments_mut(&mut self) -> &mut NvList {
        &mut self.answer.arguments
    }

    /// The context of an operation with a `context` clause, which the caller must know to have
    /// one. Called once, after [`DynamicServerRequest::arguments`] and before anything is set.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 8, when called at another time; `MARSHAL` when the
    /// request has no context.
    pub fn ctx(&mut self) -> Result<Context, SystemException> {
        let is_late = self.has_context || self.answer.is_set() || self.is_deferred;
        let Some(rest) = self.rest.as_mut().filter(|_| !is_late) else {
            return Err(self.out_of_order("ctx", minor::BAD_INV_ORDER_CTX));
        };
        let context = decode_context(rest)?;
        self.has_context = true;
        Ok(context)
    }

    /// Sets the return value. Called once, after [`DynamicServerRequest::arguments`], and not for
    /// operations that return nothing.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 9, when called at another time.
    pub fn set_result(&mut self, value: Any) -> Result<(), SystemException> {
        if self.rest.is_none() || self.answer.is_set() || self.is_deferred {
            return Err(self.out_of_order("set_result", minor::BAD_INV_ORDER_SET_RESULT));
        }
        self.answer.set_result(value);
        Ok(())
    }

    /// Sets the exception that the client gets instead of results; the last one counts.
    /// System exceptions are returned by
    /// [`DynamicImplementation::invoke`](super::DynamicImplementation::invoke).
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`), minor 21, when the any holds no exception.
    pub fn set_exception(&mut self, exception: Any) -> Result<(), SystemException> {
        self.answer.set_exception(exception)
    }

    /// Has `context` go back with the reply; see
    /// [`ServerRequest::set_reply_context`](corbie_core::server::ServerRequest::set_reply_context).
    pub fn set_reply_context(&self, context: ServiceContext) {
        self.request.set_reply_context(context);
    }

    /// Takes the answer out of the upcall, as
    /// [`ServerRequest::defer`](corbie_core::server::ServerRequest::defer) does: it is sent by
    /// [`DynamicResponse::reply`], now or later, from any thread. What was set is in it.
    ///
    /// Called a second time, it gives one whose answers are refused.
    pub fn defer(&mut self) -> DynamicResponse {
        let is_ready = self.rest.is_some();
        self.is_deferred = true;
        DynamicResponse::new(self.request.defer(), std::mem::take(&mut self.answer), is_ready)
    }

    /// The exception for an operation that the object does not have: `BAD_OPERATION`,
    /// `COMPLETED_NO`.
    #[must_use]
    pub fn unknown_operation(&self) -> SystemException {
        self.request.unknown_operation()
    }

    /// The servant has returned: sends what it set, unless the answer is deferred.
    pub(super) fn conclude(self) -> Result<(), SystemException> {
        if self.is_deferred {
            return Ok(());
        }
        let (request, answer) = (self.request, &self.answer);
        match answer.exception() {
            Some((id, exception)) => {
                request.reply_exception(&id, &|e| exception.encode_exception(e))
            }
            None => request.reply(&|e| answer.encode_results(e)),
        }
    }

    #[cold]
    fn out_of_order(&self, what: &str, minor: Minor) -> SystemException {
        minor.no(format!(
            "{what} was called out of order while serving {}: first arguments, then ctx, then \
             set_result, each once, or set_exception",
            self.operation()
        ))
    }
}
