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

/// Answers a request of `connection`. A reply that cannot be sent closes the connection; whether it
/// was sent.
///
/// # Errors
/// What `body` says; nothing was sent then.
#[inline]
pub(crate) fn send<'a>(
    orb: &Orb,
    connection: &ServerConnection,
    to: &ReplyTo,
    status: ReplyStatus,
    body: Body<'_, 'a>,
) -> Result<bool, Error> {
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(to.version);
    encoder.set_code_sets(connection.code_sets());
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id: to.request_id, status, service_contexts };
    let written = write_reply(&mut encoder, &header).and_then(|start| {
        body(&mut encoder)?;
        finish_message(&mut encoder, start)
    });
    written?;
    let sent = connection.send(orb, &mut encoder, orb.fragment_octets(to.version));
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
