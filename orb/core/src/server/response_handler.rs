//! The answer to a request as a value: asynchronous method handling (paper AMH §2, §3).
//!
//! Made by [`ServerRequest::defer`]. It holds what a reply needs and nothing of the upcall, so the
//! upcall may return and the thread serve other requests. It lives where the application puts it;
//! nothing of it is on the heap (but for operation names of more than 46 octets).
//!
//! [`ServerRequest::defer`]: crate::server::ServerRequest::defer

use crate::portable_interceptor::{FlowEnd, ServiceContext};
use crate::server::interceptor::{AnsweredRequest, Outcome};
use crate::server::operation_name::OperationName;
use crate::server::request::{self, Body, Carried, ReplyTo, Sent, peer_of, second_answer};
use crate::server::service_contexts::RequestContext;
use crate::server::{ServerConnection, due_responses};
use crate::{Object, Orb};
use corbie_cdr::{Encoder, Marshal as _};
use corbie_giop::{ReplyStatus, ResponseFlags, ServiceContexts};
use corbie_threads::thread::Patience;
use corbie_transport::PeerAddress;
use corbie_types::{CompletionStatus, Ior, SystemException, minor};
use std::fmt;
use std::sync::Arc;

/// Answers one request, once, from any thread, before or after the upcall has returned.
///
/// Dropped without an answer, it sends the client `NO_RESPONSE` (`COMPLETED_MAYBE`), so no client
/// waits in vain. While it lives, its request counts as being served: a shutdown waits for it, and
/// at most `pending_responses_max` of a connection and `pending_responses_total_max` of the ORB
/// live at once, since no more requests are read then.
#[must_use = "dropped, it answers with NO_RESPONSE"]
pub struct ResponseHandler {
    orb: Orb,
    /// `None` when no peer awaits the answer: a request from this process, or one answered
    /// elsewhere.
    connection: Option<Arc<ServerConnection>>,
    to: ReplyTo,
    operation: OperationName,
    progress: Progress,
    pub(super) carried: Carried,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Unanswered,
    Answered,
    /// The request was answered before this handler was made.
    Second,
}

impl ResponseHandler {
    pub(crate) fn new(
        orb: &Orb,
        connection: Option<&Arc<ServerConnection>>,
        to: ReplyTo,
        operation: &str,
    ) -> Self {
        if let Some(connection) = connection {
            due_responses::begin(orb, connection);
        }
        ResponseHandler {
            orb: orb.clone(),
            connection: connection.cloned(),
            to,
            operation: OperationName::new(operation),
            progress: Progress::Unanswered,
            carried: Carried::default(),
        }
    }

    /// A handler for a request that was answered already.
    #[cold]
    pub(crate) fn second(orb: &Orb, operation: &str) -> Self {
        let version = corbie_giop::Version::V1_2;
        let to = ReplyTo { request_id: 0, response: ResponseFlags::None, version };
        let mut handler = ResponseHandler::new(orb, None, to, operation);
        handler.progress = Progress::Second;
        handler
    }

    /// Answers with results: `results` writes the return value, then inout and out arguments.
    /// Returns when the reply was handed to the transport, or waits for the client to take it. A
    /// client that does not keeps the caller waiting only when more than `queued_octets_max` wait
    /// for it, and then for `message_timeout` at most; see [`ResponseHandler::reply_if_room`].
    ///
    /// # Errors
    /// `COMM_FAILURE` (`COMPLETED_YES`) when the client is gone; `MARSHAL` and what else `results`
    /// makes (`COMPLETED_YES`), which the client gets, too; `BAD_INV_ORDER` when the request was
    /// answered before it was deferred.
    pub fn reply<'a>(
        mut self,
        results: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        self.answer(Outcome::Results, results)
    }

    /// As [`ResponseHandler::reply`], and never waits: for a thread that has other clients to
    /// answer. `then` learns once that the reply was handed to the transport, or that it is lost,
    /// as [`ResponseHandler::reply`] would say it: in the usual case before this returns, else on
    /// the thread that sends it. Nothing is allocated for it in the usual case.
    ///
    /// # Errors
    /// Too much waits for the client to take it ([`ResponseHandler::is_client_behind`]): the
    /// response comes back, still due, and `then` is dropped.
    pub fn reply_if_room<'a>(
        mut self,
        results: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        then: impl FnOnce(Result<(), SystemException>) + Send + 'static,
    ) -> Result<(), Self> {
        match self.answer_waiting(Outcome::Results, results, Patience::Refuse) {
            Ok(Sent::NoRoom) => return Err(self),
            Ok(Sent::Queued(end)) if let Some(connection) = &self.connection => {
                let (peer, operation) = (connection.peer(), self.operation().to_owned());
                let told = move |sent| {
                    then(if sent { Ok(()) } else { Err(client_gone(&operation, &peer)) });
                };
                connection.sender().when_sent(end, Box::new(told));
            }
            Ok(_) => then(Ok(())),
            Err(exception) => then(Err(exception)),
        }
        Ok(())
    }

    /// Whether much of what the client was answered before still waits for it to take it. `false`
    /// is what is known now.
    #[must_use]
    pub fn is_client_behind(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.sender().is_over_half())
    }

    /// Answers with a user exception: `members` writes its members.
    ///
    /// # Errors
    /// As [`ResponseHandler::reply`].
    pub fn reply_exception<'a>(
        mut self,
        repository_id: &'a str,
        members: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        self.answer(Outcome::UserException(repository_id), &|e: &mut Encoder<'a>| {
            request::write_exception(e, repository_id, members)
        })
    }

    /// Answers with a system exception.
    ///
    /// # Errors
    /// As [`ResponseHandler::reply`].
    pub fn raise(mut self, exception: &SystemException) -> Result<(), SystemException> {
        self.answer(Outcome::SystemException(exception), &|e| exception.encode_reply(e))
    }

    /// Sends the client on to `object`, for this request and later ones (CORBA 3.3 P2 §9.4.3.2).
    ///
    /// # Errors
    /// As [`ResponseHandler::reply`].
    pub fn forward(mut self, object: &Object) -> Result<(), SystemException> {
        let body: Body<'_, '_> = &|e| Ior::encode(object.ior(), e);
        if self.carried.intercepted.is_some() && self.progress == Progress::Unanswered {
            let patience = Patience::Queue;
            return self
                .answer_intercepted(Outcome::Forward, Some(object), body, patience)
                .map(drop);
        }
        self.answer(Outcome::Forward, body)
    }

    /// Whether the connection of the client is closed, so that an answer would not arrive. `true`
    /// is for ever; `false` is what is known now.
    #[must_use]
    pub fn is_client_gone(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_ending())
    }

    /// Whether the client waits for a reply. To a oneway, answers are accepted and not sent.
    #[must_use]
    pub fn response_expected(&self) -> bool {
        self.to.response.response_expected()
    }

    /// The name of the operation on the wire.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.operation.as_str()
    }

    /// The peer that sent the request; [`PeerAddress::Here`] when it came from this process without
    /// a connection.
    #[must_use]
    pub fn peer(&self) -> PeerAddress {
        peer_of(self.connection.as_deref())
    }

    /// The service contexts that came with the request, in their order. They are kept for answers
    /// that are deferred once the application has called [`Orb::current`].
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the request came before that; `IMP_LIMIT`
    /// (`COMPLETED_NO`) when they have more than 16 KiB.
    pub fn request_contexts(&self) -> Result<Vec<ServiceContext>, SystemException> {
        match self.context() {
            Some(context) => context.came().map(<[_]>::to_vec),
            None => Err(minor::BAD_INV_ORDER_NO_UPCALL.no(
                "the service contexts of this request were not kept: call Orb::current before \
                 requests come, or read them in the upcall",
            )),
        }
    }

    /// Has `context` go back with the reply, whether that brings results or an exception; instead
    /// of one that was set with the same id.
    pub fn set_reply_context(&self, context: ServiceContext) {
        self.context_to_write().set_reply(context);
    }

    /// What is kept of the service contexts of its request, if anything is.
    pub(crate) fn context(&self) -> Option<&Arc<RequestContext>> {
        self.carried.context.get()
    }

    /// The ORB that the request came to.
    #[must_use]
    pub fn orb(&self) -> &Orb {
        &self.orb
    }

    fn answer(&mut self, outcome: Outcome<'_>, body: Body<'_, '_>) -> Result<(), SystemException> {
        self.answer_waiting(outcome, body, Patience::Queue).map(drop)
    }

    /// What became of the answer; without room for it, it is still due.
    fn answer_waiting(
        &mut self,
        outcome: Outcome<'_>,
        body: Body<'_, '_>,
        patience: Patience,
    ) -> Result<Sent, SystemException> {
        if self.progress != Progress::Unanswered {
            return Err(second_answer(self.operation()));
        }
        if self.carried.intercepted.is_some() {
            return self.answer_intercepted(outcome, None, body, patience);
        }
        // A body that panics leaves it unanswered, so that the client gets NO_RESPONSE.
        let sent = self.send(outcome.status(), body, patience);
        if !matches!(sent, Ok(Sent::NoRoom)) {
            self.progress = Progress::Answered;
        }
        sent
    }

    /// The same past interceptors. `forward`: where the client is sent.
    #[cold]
    fn answer_intercepted(
        &mut self,
        outcome: Outcome<'_>,
        forward: Option<&Object>,
        body: Body<'_, '_>,
        patience: Patience,
    ) -> Result<Sent, SystemException> {
        let waits = self.to.response != ResponseFlags::None && !self.is_client_gone();
        let connection = self.connection.as_deref().filter(|_| waits);
        let check = |connection| request::check_body(connection, &self.to, body);
        let checked = connection.map_or(Ok(()), check).map_err(request::unwritable);
        let outcome = checked.as_ref().map_or_else(Outcome::SystemException, |()| outcome);
        let watch = self.carried.intercepted.as_ref().and_then(|one| one.watch()).cloned();
        let settled = watch.and_then(|watch| {
            let end = if waits { outcome.as_end(forward) } else { FlowEnd::WithoutReply };
            request::settle(&watch, end, || self.context_to_write())
        });
        let (outcome, sent) = match (&settled, &checked) {
            (Some(FlowEnd::SystemException(exception)), _) | (None, Err(exception)) => {
                let body: Body<'_, '_> = &|e| exception.encode_reply(e);
                let outcome = Outcome::SystemException(exception);
                (outcome, self.send(outcome.status(), body, patience))
            }
            (Some(FlowEnd::Forward(object)), _) => {
                let body: Body<'_, '_> = &|e| Ior::encode(object.ior(), e);
                (Outcome::Forward, self.send(ReplyStatus::LocationForward, body, patience))
            }
            _ => (outcome, self.send(outcome.status(), body, patience)),
        };
        if matches!(sent, Ok(Sent::NoRoom)) {
            return sent;
        }
        self.progress = Progress::Answered;
        self.tell_interceptors(match &sent {
            Ok(_) if self.response_expected() => outcome,
            Err(exception) if !self.is_client_gone() => Outcome::SystemException(exception),
            _ => Outcome::NoReply,
        });
        checked.and(sent)
    }

    /// Its service contexts and those of its reply.
    fn context_to_write(&self) -> &Arc<RequestContext> {
        let connection = self.connection.as_ref();
        let nothing =
            || RequestContext::new(connection, &self.carried.caller, &ServiceContexts::EMPTY);
        self.carried.context.get_or_init(nothing)
    }

    #[cold]
    fn tell_interceptors(&mut self, outcome: Outcome<'_>) {
        let Some(intercepted) = self.carried.intercepted.take() else { return };
        let (operation, request_id) = (self.operation(), self.to.request_id);
        let answered = AnsweredRequest { operation, request_id, peer: self.peer(), outcome };
        intercepted.done(&self.orb, &answered);
    }

    fn send(
        &self,
        status: ReplyStatus,
        body: Body<'_, '_>,
        patience: Patience,
    ) -> Result<Sent, SystemException> {
        let Some(connection) = &self.connection else { return Ok(Sent::Out) };
        if self.to.response == ResponseFlags::None {
            return Ok(Sent::Out);
        }
        if connection.is_ending() {
            return Err(client_gone(self.operation(), &connection.peer()));
        }
        let (orb, to) = (&self.orb, &self.to);
        let context = self.context().map(|context| &**context);
        let sent = request::send_reply(orb, connection, to, status, context, body, patience);
        let sent = sent.map_err(|error| {
            // The client gets the exception for the results that could not be written.
            let unwritable = request::unwritable(error);
            let body: Body<'_, '_> = &|e| unwritable.encode_reply(e);
            let status = ReplyStatus::SystemException;
            let patience = Patience::Queue; // It is small.
            let _ = request::send_reply(orb, connection, to, status, context, body, patience);
            unwritable
        })?;
        match sent {
            Sent::Lost => Err(client_gone(self.operation(), &connection.peer())),
            sent => Ok(sent),
        }
    }
}

impl Drop for ResponseHandler {
    fn drop(&mut self) {
        if self.progress == Progress::Unanswered && self.response_expected() {
            let exception = dropped(self.operation());
            let (peer, operation) = (self.peer(), self.operation());
            tracing::warn!(%peer, operation, "a response was dropped unanswered");
            let answered =
                self.answer(Outcome::SystemException(&exception), &|e| exception.encode_reply(e));
            if let Err(gone) = answered {
                tracing::debug!(%gone, "no client waits for the response that was dropped");
            }
        }
        if self.carried.intercepted.is_some() {
            self.tell_interceptors(Outcome::NoReply);
        }
        if let Some(connection) = &self.connection {
            due_responses::end(&self.orb, connection);
        }
    }
}

#[cold]
fn dropped(operation: &str) -> SystemException {
    minor::NO_RESPONSE_UNANSWERED.raise(
        CompletionStatus::Maybe,
        format!(
            "the response to {operation} was dropped unanswered: the server gave the request up"
        ),
    )
}

#[cold]
fn client_gone(operation: &str, peer: &PeerAddress) -> SystemException {
    minor::COMM_FAILURE_CLOSED.raise(
        CompletionStatus::Yes,
        format!(
            "the answer to {operation} cannot be sent: the connection of {peer} is closed; ask \
             is_client_gone() before work that only the client needs"
        ),
    )
}

impl fmt::Debug for ResponseHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseHandler")
            .field("operation", &self.operation())
            .field("peer", &self.peer())
            .field("request_id", &self.to.request_id)
            .finish_non_exhaustive()
    }
}
