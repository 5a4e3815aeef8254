//! Writing a reply and handing it to the transport: the same for a servant that answers within its
//! upcall ([`ServerRequest`]) and for one that answers later ([`ResponseHandler`]).
//!
//! [`ServerRequest`]: crate::server::ServerRequest
//! [`ResponseHandler`]: crate::server::ResponseHandler

use crate::Orb;
use crate::server::ServerConnection;
use corbie_cdr::{ByteOrder, Encoder, Error, Version};
use corbie_giop::{
    ReplyHeader, ReplyStatus, ResponseFlags, ServiceContexts, finish_message, write_reply,
};
use corbie_types::{CompletionStatus, SystemException};
use std::cell::Cell;

/// A buffer larger than this is given back after its reply was sent.
const KEPT_OCTETS: usize = 64 << 10;

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

/// Answers a request of `connection`, in `buffer`. A reply that cannot be sent closes the
/// connection; whether it was sent.
///
/// # Errors
/// What `body` says; nothing was sent then.
#[inline]
pub(crate) fn send<'a>(
    orb: &Orb,
    connection: &ServerConnection,
    to: &ReplyTo,
    buffer: &mut Vec<u8>,
    status: ReplyStatus,
    body: Body<'_, 'a>,
) -> Result<bool, Error> {
    let mut encoder: Encoder<'a> = Encoder::new(std::mem::take(buffer), ByteOrder::NATIVE);
    encoder.set_version(to.version);
    encoder.set_code_sets(connection.code_sets());
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id: to.request_id, status, service_contexts };
    let written = write_reply(&mut encoder, &header).and_then(|start| {
        body(&mut encoder)?;
        finish_message(&mut encoder, start)
    });
    let sent = match written {
        Ok(()) => connection.send(orb, &encoder, orb.fragment_octets(to.version)),
        Err(error) => {
            *buffer = encoder.into_buffer();
            return Err(error);
        }
    };
    *buffer = encoder.into_buffer();
    if buffer.capacity() > KEPT_OCTETS {
        *buffer = Vec::new();
    }
    if let Err(error) = &sent {
        cannot_send(connection, error);
    }
    Ok(sent.is_ok())
}

#[cold]
fn cannot_send(connection: &ServerConnection, error: &std::io::Error) {
    tracing::debug!(peer = %connection.peer(), %error, "a reply could not be sent");
    connection.close(None);
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

thread_local! {
    /// A buffer for replies that are sent from outside the thread that read the request.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Runs `answer` with this thread's buffer. A body that answers another request gets a new one.
pub(crate) fn with_buffer<T>(answer: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = BUFFER.take();
    let outcome = answer(&mut buffer);
    BUFFER.set(buffer);
    outcome
}
