//! One attempt of a call on one connection: write the request, send it, read the reply.
//!
//! `client/invoke` decides from the outcome whether there is another attempt. The calling thread
//! does all of it (invariant 3 of `ARCHITECTURE.md`).

use crate::client::failure::{CallFailure, Retry};
use crate::client::{Reply, Target};
use crate::connection::driver::ReceiveFailure;
use crate::connection::{ClientConnection, PooledConnection};
use crate::server::relief;
use crate::{Operation, Orb};
use corbie_cdr::{ByteOrder, Encoder};
use corbie_giop::{
    self as giop, AddressingDisposition, CodeSetContext, MessageKind, RequestHeader, ResponseFlags,
    Tagged, TaggedList, cancel_request, finish_message, write_request,
};
use corbie_types::{CompletionStatus, Ior, SystemException, minor};
use std::time::{Duration, Instant};

/// What a request is made of.
pub(crate) struct Request<'r, 'a> {
    pub(crate) operation: &'r Operation,
    pub(crate) arguments: &'r dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    /// The reference called, for servers that ask for more than its key.
    pub(crate) ior: &'r Ior,
}

/// Sends `request` to `target` over `connection` and reads the reply.
///
/// # Errors
/// What went wrong, and whether the request may be sent again.
#[inline]
pub(crate) fn call(
    orb: &Orb,
    mut pooled: PooledConnection,
    target: &Target,
    request: &Request<'_, '_>,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
) -> Result<Reply, CallFailure> {
    let Some(connection) = pooled.get() else { return Err(lost_connection()) };
    let id = send(orb, connection, target, request, ResponseFlags::WithTarget)?;
    if let Err(error) = connection.link.set_receive_timeout(timeout) {
        return Err(broken(request.operation, &pooled, &error, CompletionStatus::Maybe).into());
    }
    let _relief = relief::while_waiting();
    loop {
        let Some(connection) = pooled.get() else { return Err(lost_connection()) };
        if let Err(failure) = connection.receive(remaining(deadline, timeout)) {
            cancel(connection, target, id, &failure);
            return Err(no_reply(request.operation, &pooled, failure, timeout));
        }
        let Some(message) = connection.message() else { return Err(lost_connection()) };
        match message.header.kind {
            MessageKind::Reply => {}
            MessageKind::CloseConnection => return Err(closed_orderly(request.operation, &pooled)),
            kind => return Err(unexpected(request.operation, &pooled, kind)),
        }
        let (header, decoder) = message.reply().map_err(|error| {
            CallFailure::from(error.to_system_exception(CompletionStatus::Maybe))
        })?;
        if header.request_id == id {
            let (status, body) = (header.status, decoder.position());
            pooled.set_reusable();
            return Ok(Reply::new(orb, pooled, status, body));
        }
        // A late reply to a request that was cancelled: nobody waits for it.
        tracing::debug!(id = header.request_id, "reply to an unknown request ignored");
    }
}

/// Sends `request` without waiting.
///
/// # Errors
/// As [`call`], as far as it shows while sending.
#[inline]
pub(crate) fn send_only(
    orb: &Orb,
    mut pooled: PooledConnection,
    target: &Target,
    request: &Request<'_, '_>,
) -> Result<(), CallFailure> {
    let Some(connection) = pooled.get() else { return Err(lost_connection()) };
    send(orb, connection, target, request, ResponseFlags::None)?;
    pooled.set_reusable();
    Ok(())
}

/// Writes and sends the request; its id.
#[inline]
fn send<'a>(
    orb: &Orb,
    connection: &mut ClientConnection,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
) -> Result<u32, CallFailure> {
    let id = connection.next_request_id();
    let mut encoder: Encoder<'a> = connection.encoder();
    encoder.set_version(target.version);
    encoder.set_code_sets(connection.code_sets);
    let announce = target.announces_code_sets && !connection.code_sets_announced;
    let context = CodeSetContext::new(connection.code_sets, ByteOrder::NATIVE);
    let contexts = [context.as_context()];
    let contexts = if announce { &contexts[..] } else { &[] };
    let written = write(&mut encoder, id, target, request, response, contexts);
    let sent = match written {
        Ok(()) => connection.send(&encoder, orb.fragment_octets(target.version)),
        Err(error) => {
            connection.keep_buffer(encoder.into_buffer());
            // Nothing was sent: the caller's arguments are at fault, not the connection.
            return Err(SystemException::from(error).into());
        }
    };
    connection.keep_buffer(encoder.into_buffer());
    if let Err(error) = sent {
        return Err(not_sent(request.operation, target, &error));
    }
    connection.code_sets_announced |= announce;
    Ok(id)
}

#[inline]
fn write<'a>(
    encoder: &mut Encoder<'a>,
    request_id: u32,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
    contexts: &[Tagged<'_>],
) -> Result<(), corbie_cdr::Error> {
    let operation = request.operation.name;
    let service_contexts = TaggedList::new(contexts);
    let by_key = target.addressing() == AddressingDisposition::Key;
    let start = if by_key
        && contexts.is_empty()
        && let Some(template) = &target.template
    {
        template.write(encoder, request_id, response, operation)?
    } else if by_key {
        let target = giop::Target::Key(&target.object_key);
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        write_request(encoder, &header)?
    } else {
        let profiles = tagged_profiles(request.ior);
        let target = addressed(target, request.ior, &profiles);
        let header = RequestHeader { request_id, response, target, operation, service_contexts };
        write_request(encoder, &header)?
    };
    (request.arguments)(encoder)?;
    finish_message(encoder, start)
}

/// The profiles of the reference in the form of a request header.
pub(crate) fn tagged_profiles(ior: &Ior) -> Vec<Tagged<'_>> {
    ior.profiles.iter().map(|profile| Tagged { tag: profile.tag, data: &profile.data }).collect()
}

/// The target in the form that the server asked for (CORBA 3.3 P2 §9.4.2.4).
#[cold]
pub(crate) fn addressed<'t>(
    target: &'t Target,
    ior: &'t Ior,
    profiles: &'t [Tagged<'t>],
) -> giop::Target<'t> {
    let profile = profiles.get(target.profile as usize).copied();
    match (target.addressing(), profile) {
        (AddressingDisposition::Profile, Some(profile)) => giop::Target::Profile(profile),
        (AddressingDisposition::Reference, Some(_)) => giop::Target::Reference {
            selected_profile: target.profile,
            type_id: ior.type_id.as_bytes(),
            profiles: TaggedList::new(profiles),
        },
        _ => giop::Target::Key(&target.object_key),
    }
}

/// What is left of the call's time for the rest of a message that began to arrive.
fn remaining(deadline: Option<Instant>, timeout: Option<Duration>) -> Option<Duration> {
    // Looked at only when a reply comes in pieces, so the clock is not read here: the pieces get
    // the whole time-out again at most once.
    deadline.and(timeout)
}

/// Tells the server that nobody waits any more, as far as that is possible.
#[cold]
fn cancel(connection: &ClientConnection, target: &Target, id: u32, failure: &ReceiveFailure) {
    if matches!(failure, ReceiveFailure::NothingCame) {
        // When it cannot be sent, the connection is about to be closed anyway.
        let _ = connection.link.send_one(&cancel_request(target.version, ByteOrder::NATIVE, id));
    }
}

#[cold]
fn lost_connection() -> CallFailure {
    SystemException::internal(0, CompletionStatus::Maybe)
        .with_detail("a connection was used after it was given back: please report this")
        .into()
}

#[cold]
fn not_sent(operation: &Operation, target: &Target, error: &std::io::Error) -> CallFailure {
    // The server may have read a part of the request, but never a whole one: CORBA 3.3 P1 §8.11
    // allows COMPLETED_NO, and sending it again is safe.
    let exception = SystemException::comm_failure(minor::COMM_FAILURE_SEND, CompletionStatus::No)
        .with_detail(format!(
            "the request {} could not be sent to {}: {error}",
            operation.name, target.pool.endpoint
        ));
    let retry = match error.kind() {
        std::io::ErrorKind::TimedOut => Retry::Never,
        _ => Retry::SameTarget,
    };
    CallFailure::new(exception, retry)
}

#[cold]
fn broken(
    operation: &Operation,
    pooled: &PooledConnection,
    error: &dyn std::fmt::Display,
    completed: CompletionStatus,
) -> SystemException {
    SystemException::comm_failure(minor::COMM_FAILURE_CLOSED, completed).with_detail(format!(
        "the connection to {} broke while {} waited for its reply: {error}; the server may have \
         carried it out",
        pooled.endpoint(),
        operation.name
    ))
}

#[cold]
fn closed_orderly(operation: &Operation, pooled: &PooledConnection) -> CallFailure {
    // CORBA 3.3 P2 §9.4.7: requests without a reply were not served and may be sent again.
    let exception =
        SystemException::transient(minor::TRANSIENT_CLOSE_CONNECTION, CompletionStatus::No)
            .with_detail(format!(
                "{} closed the connection before it served {}",
                pooled.endpoint(),
                operation.name
            ));
    CallFailure::new(exception, Retry::SameTarget)
}

#[cold]
fn unexpected(operation: &Operation, pooled: &PooledConnection, kind: MessageKind) -> CallFailure {
    SystemException::comm_failure(minor::COMM_FAILURE_PROTOCOL, CompletionStatus::Maybe)
        .with_detail(format!(
            "{} answered {} with {kind:?} instead of a reply",
            pooled.endpoint(),
            operation.name
        ))
        .into()
}

#[cold]
fn no_reply(
    operation: &Operation,
    pooled: &PooledConnection,
    failure: ReceiveFailure,
    timeout: Option<Duration>,
) -> CallFailure {
    let maybe = CompletionStatus::Maybe;
    let exception = match failure {
        ReceiveFailure::NothingCame | ReceiveFailure::TooSlow(_) => {
            SystemException::timeout(minor::TIMEOUT_CALL, maybe).with_detail(format!(
                "{} gave no whole reply to {} within {:?}; raise request_timeout if it may take \
                 longer",
                pooled.endpoint(),
                operation.name,
                timeout.unwrap_or_default()
            ))
        }
        ReceiveFailure::Closed => broken(operation, pooled, &"the server closed it", maybe),
        ReceiveFailure::Io(error) => broken(operation, pooled, &error, maybe),
        ReceiveFailure::Giop(error) => error.to_system_exception(maybe),
    };
    exception.into()
}
