//! A request as a skeleton sees it: the arguments to read and the reply to write.
//!
//! Lives on the stack of the serving thread; arguments are read from the received message and the
//! reply is written into buffers of the thread's pool, so nothing is allocated (invariant 4). What
//! is to be answered after the upcall is taken out by [`ServerRequest::defer`] (paper AMH §3); its
//! [`ResponseHandler`] writes and sends by the same functions.

use crate::interface::giver_of;
use crate::policy::InvocationPolicies;
use crate::portable_interceptor::ServiceContext;
use crate::server::held::{self, HeldRequest};
use crate::server::interceptor::{Intercepted, Outcome};
use crate::server::service_contexts::RequestContext;
use crate::server::{Caller, ResponseHandler, ServerConnection, current, panic};
use crate::{Object, Orb};
use corbie_cdr::{ByteOrder, Decoder, Encoder, Error, Marshal as _, Version};
use corbie_connection::{Position, SendFault};
use corbie_giop::{
    Message, ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, ServiceContexts,
    finish_message, service_context_id, write_reply,
};
use corbie_settings::TlsProtection;
use corbie_threads::thread::Patience;
use corbie_transport::PeerAddress;
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

mod intercepted;
mod user;

pub(crate) use intercepted::{check_body, settle};

/// One request on its way through the server.
pub struct ServerRequest<'r> {
    orb: &'r Orb,
    /// `None` for a request from this process, whose results are not sent.
    connection: Option<&'r Arc<ServerConnection>>,
    header: &'r RequestHeader<'r>,
    /// Whether and when the client gets an answer.
    response: ResponseFlags,
    object_key: &'r [u8],
    /// Stands at the first argument.
    arguments: &'r Decoder<'r>,
    progress: Progress,
    /// The whole message that it came in.
    message: Option<&'r Message<'r>>,
    /// The queue that it waited in last; 0: in none.
    held_by: u64,
    carried: Carried,
    /// What the object adapter does before the answer leaves.
    postinvoke: Option<Postinvoke<'r>>,
}

/// What is done when the servant has its results, and before they are sent. The exception that it
/// raises is sent instead.
pub type Postinvoke<'r> = Box<dyn FnOnce() -> Result<(), SystemException> + 'r>;

/// What travels with a request until it is answered, perhaps on another thread: nothing, in the
/// usual case.
#[derive(Default)]
pub(crate) struct Carried {
    /// What interceptors keep of it; `None` without interceptors.
    pub(crate) intercepted: Option<Box<Intercepted>>,
    /// Its service contexts and those of its reply; empty where none were asked for or set.
    pub(crate) context: OnceLock<Arc<RequestContext>>,
    /// The user that it is made for, as CSIv2 says it.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Whether it is still to be admitted: it waits until its user is known.
    pub(crate) is_to_admit: bool,
}

/// How far the answer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Unanswered,
    Answered,
    /// The answer is the business of a [`ResponseHandler`].
    Deferred,
}

/// What a reply has to know of its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTo {
    pub(crate) request_id: u32,
    /// Whether the client waits.
    pub(crate) response: ResponseFlags,
    pub(crate) version: Version,
}

/// Writes the body of a reply.
pub(crate) type Body<'b, 'a> = &'b dyn Fn(&mut Encoder<'a>) -> Result<(), Error>;

/// What became of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It was handed to the transport.
    Out,
    /// It waits for the client to take what is before it, and ends here.
    Queued(Position),
    /// The connection is closed, now at the latest.
    Lost,
    /// So much waits for the client to take it that this has no room.
    NoRoom,
}

impl<'r> ServerRequest<'r> {
    /// `arguments` stands at the first argument and has the version of the message. `message`: in
    /// which it came, so that it can be held.
    #[inline]
    pub(crate) fn new(
        orb: &'r Orb,
        connection: Option<&'r Arc<ServerConnection>>,
        header: &'r RequestHeader<'r>,
        object_key: &'r [u8],
        arguments: &'r Decoder<'r>,
        message: Option<&'r Message<'r>>,
    ) -> Self {
        ServerRequest {
            orb,
            connection,
            header,
            response: header.response,
            object_key,
            arguments,
            progress: Progress::Unanswered,
            message,
            held_by: 0,
            carried: Carried::default(),
            postinvoke: None,
        }
    }

    /// It waited in `queue`.
    pub(crate) fn was_held(&mut self, queue: u64, carried: Carried) {
        self.held_by = queue;
        self.carried = carried;
    }

    /// The queue that it waited in last.
    pub(crate) fn held_by(&self) -> Option<u64> {
        (self.held_by != 0).then_some(self.held_by)
    }

    /// Whether it came in a way that `protection` lets be used. Calls of this process leave no
    /// machine.
    #[must_use]
    pub fn is_permitted_by(&self, protection: TlsProtection) -> bool {
        self.connection.is_none_or(|connection| is_permitted_over(connection, protection))
    }

    /// The number of its connection; calls of this process have one together.
    pub(crate) fn connection_id(&self) -> u64 {
        self.connection.map_or(u64::MAX, |connection| connection.state().accepted.id)
    }

    /// Takes it out of the thread that serves it, to be served later.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when too much is held already.
    #[cold]
    pub(crate) fn hold(&mut self, reason: held::Reason) -> Result<HeldRequest, SystemException> {
        if self.progress != Progress::Unanswered {
            return Err(second_answer(self.operation()));
        }
        let mut held = match (self.connection, self.message) {
            (Some(connection), Some(message)) => {
                HeldRequest::of_message(self.orb, connection, message, self.response, reason)?
            }
            _ => {
                let (key, operation) = (self.object_key, self.operation());
                HeldRequest::of_local_call(self.orb, key, operation, self.arguments, reason)?
            }
        };
        held.set_carried(std::mem::take(&mut self.carried));
        self.progress = Progress::Deferred;
        Ok(held)
    }

    /// The name of the operation on the wire: `_get_x` and `_set_x` for an attribute `x`.
    #[inline]
    #[must_use]
    pub fn operation(&self) -> &'r str {
        self.header.operation
    }

    /// Its number on its connection.
    #[must_use]
    pub fn request_id(&self) -> u32 {
        self.header.request_id
    }

    /// The key of the object called.
    #[inline]
    #[must_use]
    pub fn object_key(&self) -> &'r [u8] {
        self.object_key
    }

    /// The in and inout arguments, from the first.
    #[inline]
    #[must_use]
    pub fn arguments(&self) -> Decoder<'r> {
        self.arguments.clone()
    }

    /// Whether the client waits for a reply.
    #[inline]
    #[must_use]
    pub fn response_expected(&self) -> bool {
        self.response.response_expected()
    }

    /// The policies that the client sent with the request: its end time, priorities and so on.
    /// Corbie's strategies serve requests as they come; what order and priority mean to the
    /// application is up to its servants.
    ///
    /// # Errors
    /// `MARSHAL` (`COMPLETED_NO`) when they cannot be read.
    pub fn invocation_policies(&self) -> Result<Option<InvocationPolicies>, SystemException> {
        let id = service_context_id::INVOCATION_POLICIES;
        self.header.service_contexts.find(id).map(InvocationPolicies::read).transpose()
    }

    /// The service contexts that came with it, where they lie in its message; none with a request
    /// of this process.
    #[inline]
    #[must_use]
    pub fn request_contexts(&self) -> ServiceContexts<'r> {
        self.header.service_contexts
    }

    /// The data of the service context `id` that came with it, if one did.
    #[must_use]
    pub fn request_context(&self, id: u32) -> Option<&'r [u8]> {
        self.header.service_contexts.find(id)
    }

    /// Has `context` go back with the reply, whether that brings results or an exception; instead
    /// of one that was set with the same id. For an answer that is deferred this may be called
    /// before, or of the [`ResponseHandler`].
    pub fn set_reply_context(&self, context: ServiceContext) {
        self.context().set_reply(context);
    }

    /// The service contexts that were set to go back with the reply.
    #[must_use]
    pub fn reply_contexts(&self) -> Vec<ServiceContext> {
        let context = self.carried.context.get();
        context.map(|context| context.reply_contexts()).unwrap_or_default()
    }

    /// Its upcall begins, in as many upcalls of its thread as that is in now. Called by object
    /// adapters that are in more than one when they call the servant.
    pub fn upcall_begins(&self) {
        if self.carried.context.get().is_some() {
            current::upcall_begins();
        }
    }

    /// Whether and when the client gets an answer.
    pub(crate) fn response(&self) -> ResponseFlags {
        self.response
    }

    /// Tells the client that the request is here, before the upcall (`SYNC_WITH_SERVER`); nothing
    /// else is sent afterwards.
    ///
    /// # Errors
    /// As [`ServerRequest::reply`].
    pub(crate) fn acknowledge(&mut self) -> Result<(), SystemException> {
        let intercepted = self.carried.intercepted.take();
        self.answer(Outcome::Results, &|_| Ok(()))?;
        self.carried.intercepted = intercepted;
        self.response = ResponseFlags::None;
        self.progress = Progress::Unanswered;
        Ok(())
    }

    /// The peer that sent the request; [`PeerAddress::Here`] when it comes from this process
    /// without a connection, as a reply to a local reply handler does.
    #[must_use]
    pub fn peer(&self) -> PeerAddress {
        peer_of(self.connection.map(|connection| &**connection))
    }

    /// The reference `ior`, which was read from the arguments: rules of egress hold for it.
    #[must_use]
    pub fn reference(&self, ior: Ior) -> Object {
        Object::given(self.orb, ior, giver_of(self.arguments))
    }

    /// The ORB that serves it.
    #[must_use]
    pub fn orb(&self) -> &'r Orb {
        self.orb
    }

    /// Has `postinvoke` run once: before the answer leaves, or when
    /// [`ServerRequest::postinvoke`] is called. For object adapters
    /// (`ServantLocator::postinvoke`).
    pub fn set_postinvoke(&mut self, postinvoke: Postinvoke<'r>) {
        self.postinvoke = Some(postinvoke);
    }

    /// Runs what [`ServerRequest::set_postinvoke`] was given, unless it has run. A panic in it is
    /// caught.
    ///
    /// # Errors
    /// What it raised; `UNKNOWN` (`COMPLETED_MAYBE`) when it panicked.
    #[cold]
    pub fn postinvoke(&mut self) -> Result<(), SystemException> {
        let Some(postinvoke) = self.postinvoke.take() else { return Ok(()) };
        panic::caught(self.operation(), Some(self.peer()), postinvoke)
    }

    /// Answers with results: `results` writes the return value, then inout and out arguments.
    /// Returns when the reply was handed to the transport. A client that does not wait gets
    /// nothing.
    ///
    /// # Errors
    /// `MARSHAL` and what else `results` makes (`COMPLETED_YES`): the skeleton passes it on, so
    /// that the client gets it instead. `BAD_INV_ORDER` for a second answer.
    #[inline]
    pub fn reply<'a>(
        &mut self,
        results: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        self.answer(Outcome::Results, results)
    }

    /// Answers with a user exception: `members` writes its members.
    ///
    /// # Errors
    /// As [`ServerRequest::reply`].
    pub fn reply_exception<'a>(
        &mut self,
        repository_id: &'a str,
        members: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        self.answer(Outcome::UserException(repository_id), &|e: &mut Encoder<'a>| {
            write_exception(e, repository_id, members)
        })
    }

    /// Sends the client on to `object`, for this request and later ones (CORBA 3.3 P2 §9.4.3.2).
    ///
    /// # Errors
    /// As [`ServerRequest::reply`].
    pub fn forward(&mut self, object: &Object) -> Result<(), SystemException> {
        if self.carried.intercepted.is_some() && self.progress == Progress::Unanswered {
            self.postinvoke()?;
            let body: Body<'_, '_> = &|e| Ior::encode(object.ior(), e);
            return self.answer_intercepted(Outcome::Forward, Some(object), body);
        }
        self.answer(Outcome::Forward, &|e| Ior::encode(object.ior(), e))
    }

    /// Takes the answer out of the upcall: the servant may return, and the owner of the
    /// [`ResponseHandler`] answers, now or later, on any thread (paper AMH §2). Arguments are to be
    /// read before the upcall returns.
    ///
    /// Takes what is there and allocates nothing. Called when the request was answered or deferred
    /// already, it gives a handler whose answers are refused with `BAD_INV_ORDER`.
    pub fn defer(&mut self) -> ResponseHandler {
        let operation = self.operation();
        if self.progress != Progress::Unanswered {
            return ResponseHandler::second(self.orb, operation);
        }
        self.progress = Progress::Deferred;
        let mut handler =
            ResponseHandler::new(self.orb, self.connection, self.reply_to(), operation);
        handler.carried = std::mem::take(&mut self.carried);
        handler
    }

    /// The exception for an operation that the interface does not have: `BAD_OPERATION`,
    /// `COMPLETED_NO`.
    #[cold]
    #[must_use]
    pub fn unknown_operation(&self) -> SystemException {
        minor::BAD_OPERATION_UNKNOWN.no(format!(
            "the object has no operation {:?}: client and server were built from different IDL",
            self.operation()
        ))
    }

    #[inline]
    fn reply_to(&self) -> ReplyTo {
        let (request_id, response) = (self.header.request_id, self.response);
        ReplyTo { request_id, response, version: self.arguments.version() }
    }

    /// Inlined always, so that the outcome of the usual answer is a constant.
    #[inline(always)]
    fn answer(&mut self, outcome: Outcome<'_>, body: Body<'_, '_>) -> Result<(), SystemException> {
        if self.progress != Progress::Unanswered {
            return Err(second_answer(self.operation()));
        }
        if self.postinvoke.is_some() {
            self.postinvoke()?;
        }
        if self.carried.intercepted.is_some() {
            return self.answer_intercepted(outcome, None, body);
        }
        if self.response != ResponseFlags::None
            && let Some(connection) = self.connection
        {
            let to = self.reply_to();
            // A request that was held is served by a thread that has others to serve.
            let patience = if self.held_by == 0 { Patience::Block } else { Patience::Queue };
            let context = self.carried.context.get().map(|context| &**context);
            send_reply(self.orb, connection, &to, outcome.status(), context, body, patience)
                .map_err(unwritable)?;
        }
        self.progress = Progress::Answered;
        Ok(())
    }

    /// The servant has returned: sends the exception it ended with, if any.
    #[inline]
    pub(crate) fn conclude(self, outcome: Result<(), SystemException>) {
        if outcome.is_err() || self.progress == Progress::Unanswered {
            self.conclude_otherwise(outcome);
        }
    }

    /// No answer was made of what the servant returned.
    #[cold]
    fn conclude_otherwise(mut self, outcome: Result<(), SystemException>) {
        match (outcome, self.progress) {
            (Ok(()), Progress::Answered | Progress::Deferred) => {}
            (Ok(()), Progress::Unanswered) if !self.response_expected() => {
                if self.carried.intercepted.is_some() {
                    self.tell_interceptors(Outcome::NoReply);
                }
            }
            (Ok(()), Progress::Unanswered) => self.raise(&no_answer(self.operation())),
            (Err(exception), _) => self.raise(&exception),
        }
    }

    #[cold]
    fn raise(&mut self, exception: &SystemException) {
        let (peer, operation) = (self.peer(), self.operation());
        if exception.kind == SystemExceptionKind::Marshal
            && exception.completed == CompletionStatus::No
        {
            tracing::warn!(%peer, operation, %exception, "a request was refused");
        } else {
            tracing::debug!(%peer, operation, %exception, "a request failed");
        }
        let outcome = Outcome::SystemException(exception);
        let answered = self.answer(outcome, &|e| exception.encode_reply(e));
        if let Err(second) = answered {
            tracing::warn!(%peer, operation, %exception, %second, "an exception could not be sent");
        }
    }
}

/// Answers a request of `connection`. A reply that cannot be sent closes the connection.
/// `patience`: Block for the connection's own thread, Queue for another, which waits only beyond
/// four times `queued_octets_max`, and Refuse for one that does not wait then either.
///
/// # Errors
/// What `body` says; nothing was sent then.
#[inline]
pub(crate) fn send_reply<'a>(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    to: &ReplyTo,
    status: ReplyStatus,
    context: Option<&RequestContext>,
    body: Body<'_, 'a>,
    patience: Patience,
) -> Result<Sent, Error> {
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(to.version);
    encoder.set_code_sets(connection.state().code_sets.get());
    let begun = match context {
        None => {
            let (request_id, service_contexts) = (to.request_id, ServiceContexts::EMPTY);
            write_reply(&mut encoder, &ReplyHeader { request_id, status, service_contexts })
        }
        Some(context) => context.write_reply(&mut encoder, to.request_id, status),
    };
    let written = begun.and_then(|start| {
        body(&mut encoder)?;
        finish_message(&mut encoder, start)
    });
    written?;
    let fragment_octets = orb.fragment_octets(to.version);
    Ok(match patience {
        Patience::Block | Patience::RunLoop => {
            let own = connection.patience();
            let sent = connection.send_reply(orb, &mut encoder, fragment_octets, own);
            what_became(connection, sent)
        }
        _ => send_in_passing(orb, connection, &mut encoder, fragment_octets, patience),
    })
}

/// As [`send_reply`], for a thread that has others to answer.
#[inline(never)]
fn send_in_passing(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    encoder: &mut Encoder<'_>,
    fragment_octets: Option<usize>,
    patience: Patience,
) -> Sent {
    let mut send = |patience| connection.send_reply(orb, encoder, fragment_octets, patience);
    // No thread is left to send on what a client does not take.
    let is_ending = patience == Patience::Queue && orb.server().closing.load(Ordering::Acquire);
    let first = if is_ending { connection.patience() } else { Patience::Queue };
    let sent = match send(first) {
        Err(SendFault::Full(_)) if patience == Patience::Refuse => return Sent::NoRoom,
        Err(SendFault::Full(_)) if !is_ending => send(connection.patience()),
        sent => sent,
    };
    what_became(connection, sent)
}

#[inline]
fn what_became(connection: &ServerConnection, sent: Result<Option<Position>, SendFault>) -> Sent {
    match sent {
        Ok(None) => Sent::Out,
        Ok(Some(end)) => Sent::Queued(end),
        Err(fault) => {
            cannot_send(connection, &fault);
            Sent::Lost
        }
    }
}

#[cold]
fn cannot_send(connection: &ServerConnection, fault: &SendFault) {
    tracing::debug!(peer = %connection.peer(), ?fault, "a reply could not be sent");
    // What was put before the last word is still sent.
    if !matches!(fault, SendFault::Closed) {
        connection.cut();
    }
}

/// Writes a user exception: `members` writes its members.
///
/// # Errors
/// The encoder's.
pub(crate) fn write_exception<'a>(
    e: &mut Encoder<'a>,
    repository_id: &str,
    members: Body<'_, 'a>,
) -> Result<(), Error> {
    // Repository ids are ASCII, whatever the code set of the connection is.
    e.write_length(repository_id.len() + 1)?;
    e.write_octets(repository_id.as_bytes());
    e.write_octet(0);
    members(e)
}

/// The exception for results that cannot be written.
pub(crate) fn unwritable(error: Error) -> SystemException {
    SystemException::from(error).completed(CompletionStatus::Yes)
}

pub(crate) fn peer_of(connection: Option<&ServerConnection>) -> PeerAddress {
    connection.map_or(PeerAddress::Here, ServerConnection::peer)
}

#[cold]
pub(crate) fn second_answer(operation: &str) -> SystemException {
    minor::BAD_INV_ORDER_ANSWERED
        .raise(CompletionStatus::Yes, format!("{operation} was answered already"))
}

#[cold]
fn no_answer(operation: &str) -> SystemException {
    minor::NO_RESPONSE_UNANSWERED.raise(
        CompletionStatus::Maybe,
        format!("the servant returned from {operation} without an answer"),
    )
}
/// Whether `protection` lets what comes over `connection` be used.
pub(crate) fn is_permitted_over(connection: &ServerConnection, protection: TlsProtection) -> bool {
    match protection {
        TlsProtection::Required => !connection.link().is_plain(),
        TlsProtection::Preferred => true,
        TlsProtection::Forbidden => !connection.link().is_encrypted(),
    }
}
