//! A request as a skeleton sees it: the arguments to read and the reply to write.
//!
//! Lives on the stack of the serving thread; arguments are read from the received message and the
//! reply is written into the thread's own buffer, so nothing is allocated (invariant 4).

use crate::server::ServerConnection;
use crate::{Object, Orb};
use corbie_cdr::{ByteOrder, Decoder, Encoder, Marshal as _};
use corbie_giop::{
    MessageHeader, ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, ServiceContexts,
    finish_message, write_reply,
};
use corbie_types::{CompletionStatus, Ior, SystemException, minor};
use std::borrow::Cow;
use std::net::SocketAddr;

/// A buffer larger than this is given back after its reply was sent.
const KEPT_OCTETS: usize = 64 << 10;

/// One request on its way through the server.
pub struct ServerRequest<'r> {
    orb: &'r Orb,
    connection: &'r ServerConnection,
    header: RequestHeader<'r>,
    object_key: Cow<'r, [u8]>,
    arguments: Decoder<'r>,
    message: MessageHeader,
    buffer: &'r mut Vec<u8>,
    answered: bool,
}

impl<'r> ServerRequest<'r> {
    #[inline]
    pub(crate) fn new(
        orb: &'r Orb,
        connection: &'r ServerConnection,
        header: RequestHeader<'r>,
        object_key: Cow<'r, [u8]>,
        arguments: Decoder<'r>,
        message: MessageHeader,
        buffer: &'r mut Vec<u8>,
    ) -> Self {
        let answered = false;
        ServerRequest { orb, connection, header, object_key, arguments, message, buffer, answered }
    }

    /// The name of the operation on the wire: `_get_x` and `_set_x` for an attribute `x`.
    #[inline]
    #[must_use]
    pub fn operation(&self) -> &'r str {
        self.header.operation
    }

    /// The key of the object called.
    #[inline]
    #[must_use]
    pub fn object_key(&self) -> &[u8] {
        &self.object_key
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
        self.header.response.response_expected()
    }

    /// Who sent the request.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.connection.peer()
    }

    /// The ORB that serves it.
    #[must_use]
    pub fn orb(&self) -> &'r Orb {
        self.orb
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
        self.answer(ReplyStatus::NoException, results)
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
        self.answer(ReplyStatus::UserException, &|e: &mut Encoder<'a>| {
            write_repository_id(e, repository_id)?;
            members(e)
        })
    }

    /// Sends the client on to `object`, for this request and later ones (CORBA 3.3 P2 §9.4.3.2).
    ///
    /// # Errors
    /// As [`ServerRequest::reply`].
    pub fn forward(&mut self, object: &Object) -> Result<(), SystemException> {
        self.answer(ReplyStatus::LocationForward, &|e| Ior::encode(object.ior(), e))
    }

    /// The exception for an operation that the interface does not have: `BAD_OPERATION`,
    /// `COMPLETED_NO`.
    #[cold]
    #[must_use]
    pub fn unknown_operation(&self) -> SystemException {
        SystemException::bad_operation(minor::BAD_OPERATION_UNKNOWN, CompletionStatus::No)
            .with_detail(format!(
                "the object has no operation {:?}: client and server were built from different IDL",
                self.operation()
            ))
    }

    #[inline]
    fn answer<'a>(
        &mut self,
        status: ReplyStatus,
        body: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        if self.answered {
            return Err(second_answer(self.operation()));
        }
        if self.header.response == ResponseFlags::None {
            self.answered = true;
            return Ok(());
        }
        let mut encoder: Encoder<'a> = Encoder::new(std::mem::take(self.buffer), ByteOrder::NATIVE);
        encoder.set_version(self.message.version);
        encoder.set_code_sets(self.connection.code_sets());
        let header = ReplyHeader {
            request_id: self.header.request_id,
            status,
            service_contexts: ServiceContexts::EMPTY,
        };
        let written = write_reply(&mut encoder, &header).and_then(|start| {
            body(&mut encoder)?;
            finish_message(&mut encoder, start)
        });
        let sent = match written {
            Ok(()) => {
                self.answered = true;
                let fragments = self.orb.fragment_octets(self.message.version);
                self.connection.send(&encoder, fragments)
            }
            Err(error) => {
                *self.buffer = encoder.into_buffer();
                return Err(SystemException::from(error).completed(CompletionStatus::Yes));
            }
        };
        self.keep_buffer(encoder.into_buffer());
        if let Err(error) = sent {
            self.cannot_send(&error);
        }
        Ok(())
    }

    #[inline]
    fn keep_buffer(&mut self, buffer: Vec<u8>) {
        *self.buffer = buffer;
        if self.buffer.capacity() > KEPT_OCTETS {
            *self.buffer = Vec::new();
        }
    }

    #[cold]
    fn cannot_send(&self, error: &std::io::Error) {
        let (peer, operation) = (self.peer(), self.operation());
        tracing::debug!(%peer, operation, %error, "a reply could not be sent");
        self.connection.close(None);
    }

    /// The servant has returned: sends the exception it ended with, if any.
    #[inline]
    pub(crate) fn conclude(mut self, outcome: Result<(), SystemException>) {
        match outcome {
            Ok(()) if self.answered || !self.response_expected() => {}
            Ok(()) => self.raise(&no_answer(self.operation())),
            Err(exception) => self.raise(&exception),
        }
    }

    #[cold]
    fn raise(&mut self, exception: &SystemException) {
        let (peer, operation) = (self.peer(), self.operation());
        tracing::debug!(%peer, operation, %exception, "a request failed");
        let answered = self.answer(ReplyStatus::SystemException, &|e| exception.encode_reply(e));
        if let Err(second) = answered {
            tracing::warn!(%peer, operation, %exception, %second, "an exception could not be sent");
        }
    }
}

/// Repository ids are ASCII, whatever the code set of the connection is.
fn write_repository_id(e: &mut Encoder<'_>, id: &str) -> Result<(), corbie_cdr::Error> {
    e.write_length(id.len() + 1)?;
    e.write_octets(id.as_bytes());
    e.write_octet(0);
    Ok(())
}

#[cold]
fn second_answer(operation: &str) -> SystemException {
    SystemException::bad_inv_order(0, CompletionStatus::Yes)
        .with_detail(format!("{operation} was answered already"))
}

#[cold]
fn no_answer(operation: &str) -> SystemException {
    SystemException::no_response(0, CompletionStatus::Maybe)
        .with_detail(format!("the servant returned from {operation} without an answer"))
}
