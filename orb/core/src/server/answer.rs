//! Writing a reply and handing it to the transport: the same for a servant that answers within its
//! upcall ([`ServerRequest`]) and for one that answers later ([`ResponseHandler`]).
//!
//! [`ServerRequest`]: crate::server::ServerRequest
//! [`ResponseHandler`]: crate::server::ResponseHandler

use crate::Orb;
use crate::server::ServerConnection;
use corbie_cdr::{ByteOrder, Encoder, Error, Version};
use corbie_connection::{Position, SendFault};
use corbie_giop::{
    ReplyHeader, ReplyStatus, ResponseFlags, ServiceContexts, finish_message, write_reply,
};
use corbie_threads::thread::Patience;
use corbie_types::{CompletionStatus, SystemException};
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
    Queued(Position),
    /// The connection is closed, now at the latest.
    Lost,
    /// So much waits for the client to take it that this has no room.
    NoRoom,
}

/// Answers a request of `connection`. A reply that cannot be sent closes the connection.
/// `patience`: Block for the connection's own thread, Queue for another, which waits only beyond
/// four times `queued_octets_max`, and Refuse for one that does not wait then either.
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
    patience: Patience,
) -> Result<Sent, Error> {
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(to.version);
    encoder.set_code_sets(connection.state().code_sets.get());
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id: to.request_id, status, service_contexts };
    let written = write_reply(&mut encoder, &header).and_then(|start| {
        body(&mut encoder)?;
        finish_message(&mut encoder, start)
    });
    written?;
    let fragment_octets = orb.fragment_octets(to.version);
    let mut send = |patience| connection.send_reply(orb, &mut encoder, fragment_octets, patience);
    let own = connection.patience();
    let sent = match patience {
        Patience::Block | Patience::RunLoop => send(own),
        // No thread is left to send on what a client does not take.
        Patience::Queue if orb.server().closing.load(Ordering::Acquire) => send(own),
        Patience::Queue => match send(Patience::Queue) {
            Err(SendFault::Full(_)) => send(own),
            sent => sent,
        },
        Patience::Refuse => match send(Patience::Queue) {
            Err(SendFault::Full(_)) => return Ok(Sent::NoRoom),
            sent => sent,
        },
    };
    Ok(match sent {
        Ok(None) => Sent::Out,
        Ok(Some(end)) => Sent::Queued(end),
        Err(fault) => {
            cannot_send(connection, &fault);
            Sent::Lost
        }
    })
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
