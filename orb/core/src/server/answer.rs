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
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    Queued(u64),
    /// The connection is closed, now at the latest.
    Lost,
    /// So much waits for the client to take it that this has no room.
    NoRoom,
}

/// What is done about a client that does not take its replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The thread is the connection's own.
    Always,
    /// It is another: what waits is queued while there is room.
    WithoutRoom,
    /// It does not wait at all.
    Never,
}

/// Answers a request of `connection`. A reply that cannot be sent closes the
/// connection.
///
/// # Errors
/// What `body` says; nothing was sent then.
#[inline]
pub(crate) fn send<'a>(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    to: &ReplyTo,
    status: ReplyStatus,
    body: Body<'_, 'a>,
    waits: Waits,
) -> Result<Sent, Error> {
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
    let fragment_octets = orb.fragment_octets(to.version);
    let sent = match waits {
        Waits::Always => connection.send(orb, &mut encoder, fragment_octets).map(|()| 0),
        // Nobody else sends on what a client does not take.
        Waits::WithoutRoom if orb.server().closing.load(Ordering::Acquire) => {
            connection.send(orb, &mut encoder, fragment_octets).map(|()| 0)
        }
        Waits::WithoutRoom | Waits::Never => {
            match connection.send_without_waiting(orb, &mut encoder, fragment_octets) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && waits == Waits::Never => {
                    return Ok(Sent::NoRoom);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.send(orb, &mut encoder, fragment_octets).map(|()| 0)
                }
                sent => sent,
            }
        }
    };
    Ok(match sent {
        Ok(0) => Sent::Out,
        Ok(end) => Sent::Queued(end),
        Err(error) => {
            cannot_send(connection, &error);
            Sent::Lost
        }
    })
}

#[cold]
fn cannot_send(connection: &ServerConnection, error: &std::io::Error) {
    tracing::debug!(peer = %connection.peer(), %error, "a reply could not be sent");
    connection.cut();
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
