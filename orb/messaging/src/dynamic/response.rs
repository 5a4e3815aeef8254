//! What a dynamic servant answers with, and the answer as a value that outlives the upcall
//! (CORBA 3.3 P1 §12.3.1; paper AMH §3).

use super::{Flags, NvList};
use corbie_cdr::{Encoder, Error};
use corbie_core::server::{ResponseHandler, ServiceContext};
use corbie_types::{Any, CompletionStatus, SystemException, TcKind, minor};
use std::fmt;

/// Results or an exception.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) arguments: NvList,
    result: Option<Any>,
    exception: Option<Any>,
}

impl Answer {
    pub(super) fn is_exception(&self) -> bool {
        self.exception.is_some()
    }

    pub(super) fn is_set(&self) -> bool {
        self.exception.is_some() || self.result.is_some()
    }

    pub(super) fn set_result(&mut self, value: Any) {
        self.result = Some(value);
    }

    /// # Errors
    /// `BAD_PARAM`, minor 21, when it is no exception.
    pub(super) fn set_exception(&mut self, exception: Any) -> Result<(), SystemException> {
        let kind = exception.type_code().unaliased().map(|plain| plain.kind());
        if kind != Some(TcKind::Except) {
            return Err(minor::BAD_PARAM_NOT_AN_EXCEPTION
                .no(format!("set_exception needs an exception, not {}", exception.type_code())));
        }
        self.exception = Some(exception);
        Ok(())
    }

    /// The exception, if one was set, and its repository id.
    pub(super) fn exception(&self) -> Option<(String, &Any)> {
        let exception = self.exception.as_ref()?;
        Some((exception.type_code().unaliased().unwrap_or_default().id(), exception))
    }

    pub(super) fn encode_results<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
        if let Some(result) = &self.result {
            result.encode_value(e)?;
        }
        self.arguments.encode(Flags::is_returned, e)
    }
}

/// Answers one request to a dynamic servant, once, from any thread. Made by
/// [`DynamicServerRequest::defer`](super::DynamicServerRequest::defer).
///
/// Dropped without an answer, it sends `NO_RESPONSE`, see [`ResponseHandler`].
#[must_use = "dropped, it answers with NO_RESPONSE"]
pub struct DynamicResponse {
    operation: String,
    /// `None` when the answer was sent.
    handler: Option<ResponseHandler>,
    answer: Answer,
    /// Whether the arguments were read, so that results may be set.
    is_ready: bool,
}

impl DynamicResponse {
    pub(super) fn new(handler: ResponseHandler, answer: Answer, is_ready: bool) -> Self {
        let operation = handler.operation().to_owned();
        DynamicResponse { operation, handler: Some(handler), answer, is_ready }
    }

    /// The name of the operation on the wire.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// The arguments that the upcall read; values of inout and out parameters are set here.
    pub fn arguments_mut(&mut self) -> &mut NvList {
        &mut self.answer.arguments
    }

    /// Whether the client has gone, so that no answer would arrive.
    #[must_use]
    pub fn is_client_gone(&self) -> bool {
        self.handler.as_ref().is_some_and(ResponseHandler::is_client_gone)
    }

    /// Has `context` go back with the reply; does nothing when that was sent.
    pub fn set_reply_context(&self, context: ServiceContext) {
        if let Some(handler) = &self.handler {
            handler.set_reply_context(context);
        }
    }

    /// Sets the return value, once, unless the upcall did.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 9, when something was set before, when the arguments
    /// were never read, or when the answer was sent.
    pub fn set_result(&mut self, value: Any) -> Result<(), SystemException> {
        if self.handler.is_none() || self.answer.is_set() || !self.is_ready {
            return Err(minor::BAD_INV_ORDER_SET_RESULT
                .no(format!("the result of {} was set out of order", self.operation)));
        }
        self.answer.set_result(value);
        Ok(())
    }

    /// Sets the user exception that the client gets instead of results.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`), minor 21, when the any holds no exception.
    pub fn set_exception(&mut self, exception: Any) -> Result<(), SystemException> {
        self.answer.set_exception(exception)
    }

    /// Sends what was set: the user exception, or the results.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` for a second answer; `COMM_FAILURE` when the client is gone, `MARSHAL` or
    /// `BAD_PARAM` when a result cannot be sent, which the client gets, too (all `COMPLETED_YES`).
    pub fn reply(&mut self) -> Result<(), SystemException> {
        let (handler, answer) = (self.take_handler()?, &self.answer);
        match answer.exception() {
            Some((id, exception)) => {
                handler.reply_exception(&id, &|e| exception.encode_exception(e))
            }
            None => handler.reply(&|e| answer.encode_results(e)),
        }
    }

    /// Answers with a system exception, whatever was set.
    ///
    /// # Errors
    /// As [`DynamicResponse::reply`].
    pub fn raise(&mut self, exception: &SystemException) -> Result<(), SystemException> {
        self.take_handler()?.raise(exception)
    }

    fn take_handler(&mut self) -> Result<ResponseHandler, SystemException> {
        self.handler.take().ok_or_else(|| {
            minor::BAD_INV_ORDER_ANSWERED
                .raise(CompletionStatus::Yes, format!("{} was answered already", self.operation))
        })
    }
}

impl fmt::Debug for DynamicResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicResponse")
            .field("operation", &self.operation)
            .field("is_answered", &self.handler.is_none())
            .finish_non_exhaustive()
    }
}
