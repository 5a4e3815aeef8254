//! One attempt of a call on one connection: write the request, send it, read the reply.
//!
//! `client/invoke` decides from the outcome whether there is another attempt. The calling thread
//! does all of it (invariant 3 of `ARCHITECTURE.md`).

use crate::client::failure::{CallFailure, Retry};
use crate::client::{Clock, Reply, Target};
use crate::connection::driver::ReceiveFailure;
use crate::connection::{ClientConnection, PooledConnection};
use crate::policy::{CallPolicies, InvocationContext};
use crate::server::relief;
use crate::{Operation, Orb};
use corbie_cdr::{ByteOrder, CodeSets, Encoder};
use corbie_giop::{
    self as giop, AddressingDisposition, CodeSetContext, MessageKind, RequestHeader, ResponseFlags,
    Tagged, TaggedList, cancel_request, finish_message, write_request,
};
use corbie_types::{CompletionStatus, Ior, SystemException, minor};
use std::io;
use std::time::Duration;

/// Sending more than this may take so long that the clock is looked at afterwards.
const LARGE_OCTETS: usize = 64 << 10;

/// What a request is made of.
pub(crate) struct Request<'r, 'a> {
    pub(crate) operation: &'r Operation,
    pub(crate) arguments: &'r dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    /// The reference called, for servers that ask for more than its key.
    pub(crate) ior: &'r Ior,
    pub(crate) policies: &'r CallPolicies,
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
    response: ResponseFlags,
    clock: &mut Clock,
) -> Result<Reply, CallFailure> {
    let Some(connection) = pooled.get() else { return Err(lost_connection()) };
    let id = send(orb, connection, target, request, response, clock)?;
    clock.sent();
    let _relief = relief::while_waiting();
    loop {
        let Some(connection) = pooled.get() else { return Err(lost_connection()) };
        if let Err(failure) = receive(connection, clock) {
            give_up(&mut pooled, target, id, &failure);
            return Err(no_reply(request.operation, &pooled, failure, clock));
        }
        let Some(message) = connection.message() else { return Err(lost_connection()) };
        let kind = message.header.kind;
        if kind == MessageKind::Reply {
            let (header, decoder) = message.reply().map_err(|error| {
                CallFailure::from(error.to_system_exception(CompletionStatus::Maybe))
            })?;
            if header.request_id == id {
                let (status, body) = (header.status, decoder.position());
                pooled.set_reusable();
                return Ok(Reply::new(orb, pooled, status, body));
            }
        }
        pass_over(&mut pooled, request.operation, kind)?;
        clock.has_waited = true;
    }
}

/// A message came that does not answer the request: a late reply to one that was given up, or the
/// end of the connection.
///
/// # Errors
/// For what is no late reply.
#[cold]
pub(crate) fn pass_over(
    pooled: &mut PooledConnection,
    operation: &Operation,
    kind: MessageKind,
) -> Result<(), CallFailure> {
    let Some(connection) = pooled.get() else { return Err(lost_connection()) };
    match kind {
        MessageKind::Reply => connection.note_late_reply(),
        MessageKind::LocateReply if connection.owes_replies() => connection.note_late_reply(),
        _ => return Err(instead_of_reply(operation, pooled, kind)),
    }
    Ok(())
}

/// Receives the next message, in the time that the call has left.
///
/// # Errors
/// Why none came.
#[inline]
pub(crate) fn receive(
    connection: &mut ClientConnection,
    clock: &Clock,
) -> Result<(), ReceiveFailure> {
    let timeout = clock.next_wait();
    // Looked at here, too, as a server may send so much else that nothing is ever waited for.
    if timeout == Some(Duration::ZERO) {
        return Err(ReceiveFailure::NothingCame);
    }
    connection.link.set_receive_timeout(timeout).map_err(ReceiveFailure::Io)?;
    connection.receive(clock.deadline())
}

/// Writes and sends the request; its id.
#[inline]
fn send<'a>(
    orb: &Orb,
    connection: &mut ClientConnection,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
    clock: &mut Clock,
) -> Result<u32, CallFailure> {
    let id = connection.next_request_id();
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(target.version);
    encoder.set_code_sets(connection.code_sets);
    let announce = target.announces_code_sets && !connection.code_sets_announced;
    let code_sets = announce.then_some(connection.code_sets);
    let written = write(&mut encoder, id, target, request, response, code_sets);
    let sent = match written {
        Ok(()) => send_in_time(orb, connection, &encoder, target, clock),
        // Nothing was sent: the caller's arguments are at fault, not the connection.
        Err(error) => return Err(SystemException::from(error).into()),
    };
    if let Err(error) = sent {
        return Err(not_sent(request.operation, target, &error));
    }
    connection.code_sets_announced |= announce;
    Ok(id)
}

/// Sends the message in `encoder` in the time that the call has left.
///
/// # Errors
/// What the system says; `TimedOut`.
#[inline]
pub(crate) fn send_in_time(
    orb: &Orb,
    connection: &mut ClientConnection,
    encoder: &Encoder<'_>,
    target: &Target,
    clock: &mut Clock,
) -> io::Result<()> {
    let timeout = clock.next_wait().or(orb.settings().message_timeout);
    connection.link.set_send_timeout(timeout)?;
    connection.send(encoder, orb.fragment_octets(target.version))?;
    if encoder.len() > LARGE_OCTETS {
        clock.note_long_wait();
    }
    Ok(())
}

/// Writes a whole request, which announces `code_sets` if there are any.
///
/// # Errors
/// What `request.arguments` makes; a message of 4 GiB or more.
#[inline]
pub(crate) fn write<'a>(
    encoder: &mut Encoder<'a>,
    id: u32,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
    code_sets: Option<CodeSets>,
) -> Result<(), corbie_cdr::Error> {
    if code_sets.is_some() || request.policies.travel {
        write_with_contexts(encoder, id, target, request, response, code_sets)
    } else {
        write_plain(encoder, id, target, request, response, &[])
    }
}

/// Writes a request that tells of more than itself.
#[cold]
fn write_with_contexts<'a>(
    encoder: &mut Encoder<'a>,
    request_id: u32,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
    code_sets: Option<CodeSets>,
) -> Result<(), corbie_cdr::Error> {
    let code_sets = code_sets.map(|sets| CodeSetContext::new(sets, ByteOrder::NATIVE));
    let policies = request.policies.travel.then(|| InvocationContext::new(request.policies));
    let of_code_sets = code_sets.as_ref().map(CodeSetContext::as_context);
    let of_policies = policies.as_ref().map(InvocationContext::as_context);
    let none = Tagged { tag: 0, data: &[] };
    let contexts = match (of_code_sets, of_policies) {
        (Some(first), Some(second)) => [first, second],
        (first, second) => [first.or(second).unwrap_or(none), none],
    };
    let count = usize::from(of_code_sets.is_some()) + usize::from(of_policies.is_some());
    write_plain(encoder, request_id, target, request, response, &contexts[..count])
}

#[inline]
fn write_plain<'a>(
    encoder: &mut Encoder<'a>,
    request_id: u32,
    target: &Target,
    request: &Request<'_, 'a>,
    response: ResponseFlags,
    contexts: &[Tagged<'_>],
) -> Result<(), corbie_cdr::Error> {
    let operation = request.operation.name();
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

/// Tells the server that nobody waits any more, and keeps the connection where only time ran out:
/// the late reply is passed over when it comes (CORBA 3.3 P2 §9.4.4).
#[cold]
pub(crate) fn give_up(
    pooled: &mut PooledConnection,
    target: &Target,
    id: u32,
    failure: &ReceiveFailure,
) {
    if !matches!(failure, ReceiveFailure::NothingCame | ReceiveFailure::TooSlow) {
        return;
    }
    let Some(connection) = pooled.get().filter(|connection| !connection.is_confused()) else {
        return;
    };
    let cancel = cancel_request(target.version, ByteOrder::NATIVE, id);
    // Half a message would make the connection useless; none at all only means that the server
    // learns nothing.
    if matches!(connection.link.try_send(&cancel), Ok(sent) if sent == 0 || sent == cancel.len()) {
        connection.owe_reply();
        pooled.set_reusable();
    }
}

#[cold]
fn lost_connection() -> CallFailure {
    SystemException::internal(0, CompletionStatus::Maybe)
        .with_detail("a connection was used after it was given back: please report this")
        .into()
}

#[cold]
pub(crate) fn not_sent(operation: &Operation, target: &Target, error: &io::Error) -> CallFailure {
    // The server may have read a part of the request, but never a whole one: CORBA 3.3 P1 §8.11
    // allows COMPLETED_NO, and sending it again is safe.
    let no = CompletionStatus::No;
    let (exception, retry) = match error.kind() {
        io::ErrorKind::TimedOut => {
            (SystemException::timeout(minor::TIMEOUT_CALL, no), Retry::Never)
        }
        _ => (SystemException::comm_failure(minor::COMM_FAILURE_SEND, no), Retry::SameTarget),
    };
    let exception = exception.with_detail(format!(
        "the request {} could not be sent to {}: {error}",
        operation.name, target.pool.endpoint
    ));
    CallFailure::new(exception, retry)
}

/// A request went out with others when the connection broke.
#[cold]
pub(crate) fn broke_while_sending(
    operation: &Operation,
    target: &Target,
    error: &io::Error,
) -> CallFailure {
    SystemException::comm_failure(minor::COMM_FAILURE_SEND, CompletionStatus::Maybe)
        .with_detail(format!(
            "the connection to {} broke while {} was sent with other requests: {error}; the \
             server may have got it",
            target.pool.endpoint, operation.name
        ))
        .into()
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

/// Another message came than the reply that was waited for.
#[cold]
pub(crate) fn instead_of_reply(
    operation: &Operation,
    pooled: &PooledConnection,
    kind: MessageKind,
) -> CallFailure {
    if kind == MessageKind::CloseConnection {
        return closed_orderly(operation, pooled);
    }
    SystemException::comm_failure(minor::COMM_FAILURE_PROTOCOL, CompletionStatus::Maybe)
        .with_detail(format!(
            "{} answered {} with {kind:?} instead of a reply",
            pooled.endpoint(),
            operation.name
        ))
        .into()
}

#[cold]
pub(crate) fn no_reply(
    operation: &Operation,
    pooled: &PooledConnection,
    failure: ReceiveFailure,
    clock: &Clock,
) -> CallFailure {
    let maybe = CompletionStatus::Maybe;
    let exception = match failure {
        ReceiveFailure::NothingCame | ReceiveFailure::TooSlow => SystemException::timeout(
            minor::TIMEOUT_CALL,
            maybe,
        )
        .with_detail(format!(
            "{} gave no whole reply to {} within {:?}; raise request_timeout, or the time that a \
                 policy sets, if it may take longer",
            pooled.endpoint(),
            operation.name,
            clock.timeout().unwrap_or_default()
        )),
        ReceiveFailure::Closed => broken(operation, pooled, &"the server closed it", maybe),
        ReceiveFailure::Io(error) => broken(operation, pooled, &error, maybe),
        ReceiveFailure::Giop(error) => error.to_system_exception(maybe),
    };
    exception.into()
}
