//! Deferred synchronous calls: the request is sent now and its answer asked for later
//! (CORBA 3.3 P1 §11.2.5 to §11.2.7).
//!
//! The answer is a `PendingReply`, as for pollers and futures.

use super::{Exception, Request};
use corbie_core::{PendingReply, Reply};
use corbie_types::{SystemException, minor};
use std::fmt;
use std::task::{Context, Poll};

/// How far a request is.
pub(super) enum State {
    /// Not sent.
    Ready,
    /// Sent, and no answer comes here.
    Sent,
    /// Sent, the answer may be there.
    Deferred(PendingReply),
    /// The answer is there and was not looked at.
    Arrived(Result<Reply, SystemException>),
    /// Invoked synchronously; results are in the request.
    Done(Result<(), Exception>),
    /// The answer was taken; results are in the request.
    Taken(Result<(), Exception>),
}

impl Request {
    /// Sends the request; the answer is asked for later.
    ///
    /// # Errors
    /// The request was not accepted, see [`Object::invoke_async`](corbie_core::Object::invoke_async), and
    /// may be sent again; `BAD_INV_ORDER` (`COMPLETED_NO`), minor 10, when it was used before.
    pub fn send_deferred(&mut self) -> Result<(), SystemException> {
        self.check_unused(minor::BAD_INV_ORDER_REQUEST_SENT)?;
        self.operation.response_expected = true;
        let pending = self.target.invoke_deferred(&self.operation, &|e| self.write(e))?;
        self.state = State::Deferred(pending);
        Ok(())
    }

    /// Whether the answer is there. Never waits.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`): minor 11 when the request was not sent, 12 when the answer
    /// was taken already, 13 when it was not sent by [`Request::send_deferred`].
    pub fn poll_response(&self) -> Result<bool, SystemException> {
        match &self.state {
            State::Deferred(pending) => Ok(pending.is_ready()),
            State::Arrived(_) => Ok(true),
            other => Err(self.out_of_order(other)),
        }
    }

    /// Waits for the answer and takes it: results are in the request afterwards.
    ///
    /// # Errors
    /// What the operation raised, as [`Request::invoke`]; `BAD_INV_ORDER` as
    /// [`Request::poll_response`].
    pub fn get_response(&mut self) -> Result<(), Exception> {
        let reply = match std::mem::replace(&mut self.state, State::Ready) {
            State::Deferred(pending) => {
                pending.wait(None);
                pending.take()
            }
            State::Arrived(reply) => reply,
            other => {
                let error = self.out_of_order(&other);
                self.state = other;
                return Err(error.into());
            }
        };
        self.conclude(reply)
    }

    /// Awaits the answer and takes it, as [`Request::get_response`] without blocking.
    ///
    /// # Errors
    /// As [`Request::get_response`].
    pub async fn response(&mut self) -> Result<(), Exception> {
        let reply = std::future::poll_fn(|context| self.poll_reply(context)).await?;
        self.conclude(reply)
    }

    /// The reply, when it is there; else `context` is woken when it is.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` as [`Request::poll_response`].
    fn poll_reply(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Result<Reply, SystemException>, SystemException>> {
        if let State::Deferred(pending) = &mut self.state {
            return pending.poll_reply(context).map(Ok);
        }
        match std::mem::replace(&mut self.state, State::Ready) {
            State::Arrived(reply) => Poll::Ready(Ok(reply)),
            other => {
                let error = self.out_of_order(&other);
                self.state = other;
                Poll::Ready(Err(error))
            }
        }
    }

    /// Takes the reply in when it is there; else `context` is woken when it is. Whether it is.
    pub(super) fn arrive(&mut self, context: &mut Context<'_>) -> bool {
        if let State::Deferred(pending) = &mut self.state {
            match pending.poll_reply(context) {
                Poll::Ready(reply) => self.state = State::Arrived(reply),
                Poll::Pending => return false,
            }
        }
        true
    }

    /// The answer to a request that could not be sent.
    pub(super) fn refused(&mut self, exception: SystemException) {
        self.state = State::Arrived(Err(exception));
    }

    fn conclude(&mut self, reply: Result<Reply, SystemException>) -> Result<(), Exception> {
        let outcome = reply.map_err(Exception::System).and_then(|reply| self.read(reply));
        self.state = State::Taken(outcome.clone());
        outcome
    }

    #[cold]
    fn out_of_order(&self, state: &State) -> SystemException {
        let (minor, text) = match state {
            State::Ready => (minor::BAD_INV_ORDER_REQUEST_NOT_SENT, "was not sent yet"),
            State::Sent => (minor::BAD_INV_ORDER_REQUEST_SYNCHRONOUS, "gets no answer here"),
            State::Taken(_) => {
                (minor::BAD_INV_ORDER_RESULT_TAKEN, "was answered, and the answer was taken")
            }
            _ => (minor::BAD_INV_ORDER_REQUEST_SYNCHRONOUS, "was invoked synchronously"),
        };
        minor.no(format!(
            "the request for {} {text}; only one sent by send_deferred can be asked for its answer",
            self.operation()
        ))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Ready => f.write_str("not sent"),
            State::Sent => f.write_str("sent, no answer comes here"),
            State::Deferred(_) => f.write_str("sent"),
            State::Arrived(_) => f.write_str("answered"),
            State::Done(Ok(())) | State::Taken(Ok(())) => f.write_str("done"),
            State::Done(Err(exception)) | State::Taken(Err(exception)) => {
                write!(f, "raised {exception}")
            }
        }
    }
}
