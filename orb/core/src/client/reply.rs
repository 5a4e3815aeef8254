//! The reply to a call, read by the stub without a copy: still in the buffer of the exclusive
//! connection, which it holds until dropped, or in a buffer of its own.
//!
//! A stub drops it as soon as it has the results.

use crate::client::attempts::{Answer, redirected_to};
use crate::client::csi::{self, Answered, Names};
use crate::connection::{Connection, PooledConnection};
use crate::portable_interceptor::{FlowEnd, Watch};
use crate::{Object, Operation};
use corbie_cdr::payload::{self, PayloadMemory};
use corbie_cdr::{ByteOrder, Decoder};
use corbie_giop::{Message, OwnedMessage, ReplyStatus};
use corbie_transport::Endpoint;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A reply with results or a user exception.
pub struct Reply {
    /// The object that answered.
    object: Object,
    source: Source,
    status: ReplyStatus,
    /// Where the body begins within the message.
    body: usize,
}

/// Where the octets of the reply are.
enum Source {
    /// In the connection that one call uses.
    Exclusive(PooledConnection),
    /// In a buffer, taken out of a connection that many calls share.
    Owned(OwnedReply),
}

/// A reply that was taken out of the connection's reader.
pub(crate) struct OwnedReply {
    message: OwnedMessage,
    pub(crate) connection: Arc<Connection>,
}

impl OwnedReply {
    #[inline]
    pub(crate) fn new(message: OwnedMessage, connection: Arc<Connection>) -> Self {
        OwnedReply { message, connection }
    }

    #[inline]
    pub(crate) fn message(&self) -> Message<'_> {
        self.message.as_message()
    }

    /// The memory that the application's allocator gave for it.
    #[inline]
    pub(crate) fn memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        self.message.memory()
    }
}

impl Reply {
    #[inline]
    pub(crate) fn new(
        object: &Object,
        connection: PooledConnection,
        status: ReplyStatus,
        body: usize,
    ) -> Self {
        Reply { object: object.clone(), source: Source::Exclusive(connection), status, body }
    }

    /// A reply that was taken out of its connection.
    #[inline]
    pub(crate) fn owned(
        object: &Object,
        owned: OwnedReply,
        status: ReplyStatus,
        body: usize,
    ) -> Self {
        Reply { object: object.clone(), source: Source::Owned(owned), status, body }
    }

    /// The octets of the body as they came, and their byte order.
    pub fn body_octets(&self) -> (ByteOrder, &[u8]) {
        let octets =
            self.message().and_then(|m| Some((m.header.order, m.octets.get(self.body..)?)));
        octets.unwrap_or((ByteOrder::NATIVE, &[]))
    }

    /// The data of the service context `id` that came with the reply, if one did.
    #[must_use]
    pub fn context(&self, id: u32) -> Option<&[u8]> {
        let (header, _) = self.message()?.reply().ok()?;
        header.service_contexts.find(id)
    }

    /// The repository id of the user exception that the operation raised, if it raised one.
    /// [`Reply::results`] then reads the exception's members.
    ///
    /// ```
    /// # fn stub(mut reply: corbie_core::Reply) -> Result<i32, Box<dyn std::error::Error>> {
    /// match reply.user_exception() {
    ///     None => Ok(reply.results(|d| d.read_long())?),
    ///     Some(id) => Err(format!("the operation raised {id}").into()),
    /// }
    /// # }
    /// ```
    #[inline]
    pub fn user_exception(&mut self) -> Option<&str> {
        if self.status != ReplyStatus::UserException {
            return None;
        }
        self.exception_id()
    }

    /// Whether the operation raised a user exception.
    #[inline]
    pub fn is_user_exception(&self) -> bool {
        self.status == ReplyStatus::UserException
    }

    #[cold]
    fn exception_id(&mut self) -> Option<&str> {
        let decoder = self.decoder()?;
        Some(match decoder.clone().read_octet_sequence() {
            Ok([id @ .., 0]) => std::str::from_utf8(id).unwrap_or_default(),
            // An id that cannot be read is none that a stub knows.
            _ => "",
        })
    }

    /// Reads results (or, after [`Reply::user_exception`], the members of the exception).
    ///
    /// # Errors
    /// `MARSHAL` or what else `read` makes of the octets, `COMPLETED_YES`.
    #[inline]
    pub fn results<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<T, corbie_cdr::Error>,
    ) -> Result<T, SystemException> {
        let is_exception = self.status == ReplyStatus::UserException;
        let Some(mut decoder) = self.decoder() else { return Err(unknown_user_exception("")) };
        if is_exception {
            // The repository id stands before the members.
            decoder.read_octet_sequence().map_err(unreadable)?;
        }
        match self.memory() {
            None => read(&mut decoder),
            // What is read may be kept where it is.
            memory => payload::reading(memory, || read(&mut decoder)),
        }
        .map_err(unreadable)
    }

    /// Reads results of an operation that raises no user exceptions.
    ///
    /// # Errors
    /// As [`Reply::results`]; `UNKNOWN` for any user exception.
    #[inline]
    pub fn results_only<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<T, corbie_cdr::Error>,
    ) -> Result<T, SystemException> {
        if self.status == ReplyStatus::UserException {
            return Err(self.unknown_user_exception());
        }
        self.results(read)
    }

    /// The exception for a user exception that is not in the operation's `raises` clause
    /// (CORBA 3.3 P1 §8.11: `UNKNOWN`, minor 1, `COMPLETED_YES`).
    #[must_use]
    pub fn unknown_user_exception(&mut self) -> SystemException {
        unknown_user_exception(self.user_exception().unwrap_or_default())
    }

    /// As [`Reply::into_answer`], of a server that takes users: notes what it says of the security
    /// context. One that has forgotten the context which the request named gets it again.
    #[cold]
    pub(crate) fn into_answer_of_user(
        mut self,
        operation: &Operation,
        names: Names,
    ) -> Answer<Self> {
        match csi::answered(&self) {
            Answered::Nothing => {}
            Answered::Established(id) => self.set_established(id),
            Answered::Refused => self.set_established(0),
            Answered::Forgotten => {
                self.set_established(0);
                if self.status == ReplyStatus::SystemException && names == Names::Context {
                    return Answer::same_place();
                }
            }
        }
        self.into_answer(operation)
    }

    /// The server keeps this context of its connection.
    fn set_established(&mut self, id: u64) {
        match &mut self.source {
            Source::Exclusive(connection) => {
                if let Ok(connection) = connection.get() {
                    connection.established = id;
                }
            }
            Source::Owned(owned) => {
                owned.connection.state().established.store(id, Ordering::Relaxed);
            }
        }
    }

    /// What the reply is: for the stub, for another place, or a system exception.
    #[inline]
    pub(crate) fn into_answer(self, operation: &Operation) -> Answer<Self> {
        match self.status {
            ReplyStatus::NoException | ReplyStatus::UserException => Answer::Done(self),
            _ => self.other_answer(operation).unwrap_or_else(Answer::Raised),
        }
    }

    /// The answer that is neither a result nor a user exception.
    #[cold]
    fn other_answer(self, operation: &Operation) -> Result<Answer<Self>, SystemException> {
        let completed = |e: SystemException| e.completed(CompletionStatus::Yes);
        let Some(mut decoder) = self.decoder() else { return Ok(Answer::Done(self)) };
        match self.status {
            ReplyStatus::LocationForward | ReplyStatus::LocationForwardPerm => {
                redirected_to(&mut decoder, false).map_err(completed)
            }
            ReplyStatus::NeedsAddressingMode => redirected_to(&mut decoder, true),
            _ => {
                let mut exception =
                    SystemException::decode_reply(&mut decoder).map_err(unreadable)?;
                if exception.detail.is_none() {
                    exception = exception.with_detail(format!(
                        "raised by {} in answer to {}",
                        self.server(),
                        operation.name
                    ));
                }
                Ok(Answer::Raised(exception))
            }
        }
    }

    /// How the request ended, for interceptors.
    #[cold]
    pub(crate) fn ending(&mut self) -> FlowEnd {
        match self.user_exception() {
            Some(id) => FlowEnd::UserException(id.to_owned()),
            None => FlowEnd::Results,
        }
    }

    /// Tells interceptors of the service contexts that came with it.
    #[cold]
    pub(crate) fn show_contexts(&self, watch: &Watch) {
        if let Some(Ok((header, _))) = self.message().map(|message| message.reply()) {
            watch.note_reply(&header.service_contexts);
        }
    }

    fn message(&self) -> Option<Message<'_>> {
        match &self.source {
            Source::Exclusive(connection) => connection.peek()?.message(),
            Source::Owned(owned) => Some(owned.message()),
        }
    }

    /// The memory that the application's allocator gave for the message.
    #[inline]
    fn memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        match &self.source {
            Source::Exclusive(connection) => connection.peek()?.message_memory(),
            Source::Owned(owned) => owned.memory(),
        }
    }

    /// The server, for messages to people.
    fn server(&self) -> String {
        let endpoint = match &self.source {
            Source::Exclusive(connection) => Some(connection.endpoint()),
            Source::Owned(owned) => owned.connection.state().endpoint.as_ref(),
        };
        endpoint.map_or_else(String::new, Endpoint::to_string)
    }

    /// A decoder that stands at the body; `None` when the connection has given it up.
    #[inline]
    pub fn decoder(&self) -> Option<Decoder<'_>> {
        let (message, code_sets) = match &self.source {
            Source::Exclusive(connection) => {
                let connection = connection.peek()?;
                (connection.message()?, connection.code_sets())
            }
            Source::Owned(owned) => (owned.message(), owned.connection.state().code_sets.get()),
        };
        let mut decoder = Decoder::with_position(message.octets, self.body, message.header.order);
        decoder.set_version(message.header.version);
        decoder.set_code_sets(code_sets);
        decoder.set_limits(self.object.orb().limits());
        decoder.set_context(Some(&self.object));
        Some(decoder)
    }
}

#[cold]
fn unreadable(error: corbie_cdr::Error) -> SystemException {
    SystemException::from(error).completed(CompletionStatus::Yes)
}

#[cold]
fn unknown_user_exception(id: &str) -> SystemException {
    minor::UNKNOWN_USER_EXCEPTION.raise(
        CompletionStatus::Yes,
        format!("the user exception {id:?} is not in the IDL of the operation"),
    )
}
