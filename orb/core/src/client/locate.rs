//! Asks where an object is without calling it: `LocateRequest` (CORBA 3.3 P2 §9.4.5).
//!
//! Used by `Object::locate` and through it by `corbie ping`. Tried again and forwarded as a call
//! is.

use crate::client::exchange::{
    addressed, give_up, no_reply, not_sent, pass_over, receive, send_in_time, tagged_profiles,
};
use crate::client::invoke::{Answer, Elsewhere, carry_out};
use crate::client::{CallFailure, Clock, Target};
use crate::connection::{ClientConnection, PooledConnection};
use crate::policy::CallPolicies;
use crate::{Object, Operation, Orb};
use corbie_cdr::{ByteOrder, Decoder, Encoder, Marshal as _};
use corbie_giop::{
    AddressingDisposition, GiopError, LocateRequestHeader, LocateStatus, MessageKind,
    finish_message, write_locate_request,
};
use corbie_types::{CompletionStatus, Ior, SystemException, minor};

const LOCATE: Operation = Operation::twoway("LocateRequest");

/// Finds the object, following forwards, which are remembered for later calls.
///
/// # Errors
/// `OBJECT_NOT_EXIST` when the server does not know it, else as [`Object::invoke`].
pub(crate) fn locate(object: &Object) -> Result<(), SystemException> {
    locate_with(object, &*CallPolicies::effective(object)?)
}

/// As [`locate`], with these policies.
///
/// # Errors
/// As there.
pub(crate) fn locate_with(object: &Object, policies: &CallPolicies) -> Result<(), SystemException> {
    let orb = object.orb();
    carry_out(object, &LOCATE, policies, |connection, target, ior, clock| {
        ask(orb, connection, ior, target, clock)
    })
}

/// One question and its answer.
fn ask(
    orb: &Orb,
    mut pooled: PooledConnection,
    ior: &Ior,
    target: &Target,
    clock: &mut Clock,
) -> Result<Answer<()>, CallFailure> {
    let Some(connection) = pooled.get() else { return Err(unanswered(target, "no connection")) };
    let id = send(orb, connection, ior, target, clock)?;
    clock.sent();
    let (status, body) = loop {
        let Some(connection) = pooled.get() else { return Err(unanswered(target, "it is gone")) };
        if let Err(failure) = receive(connection, clock) {
            give_up(&mut pooled, target, id, &failure);
            return Err(no_reply(&LOCATE, &pooled, failure, clock));
        }
        let Some(message) = connection.message() else {
            return Err(unanswered(target, "no message"));
        };
        let kind = message.header.kind;
        if kind == MessageKind::LocateReply {
            let (header, decoder) = message.locate_reply().map_err(malformed)?;
            if header.request_id == id {
                break (header.status, decoder.position());
            }
        }
        pass_over(&mut pooled, &LOCATE, kind)?;
        clock.has_waited = true;
    };
    let Some(message) = pooled.peek().and_then(ClientConnection::message) else {
        return Err(unanswered(target, "no message"));
    };
    let mut decoder = Decoder::with_position(message.octets, body, message.header.order);
    decoder.set_version(message.header.version);
    let answer = read(status, &mut decoder, target)?;
    pooled.set_reusable();
    Ok(answer)
}

fn malformed(error: GiopError) -> SystemException {
    error.to_system_exception(CompletionStatus::No)
}

/// What the LocateReply says; `decoder` stands at its body.
fn read(
    status: LocateStatus,
    decoder: &mut Decoder<'_>,
    target: &Target,
) -> Result<Answer<()>, SystemException> {
    Ok(match status {
        LocateStatus::ObjectHere => Answer::Done(()),
        LocateStatus::UnknownObject => Answer::Raised(
            SystemException::object_not_exist(0, CompletionStatus::No)
                .with_detail(format!("{} does not know the object", target.pool.endpoint)),
        ),
        LocateStatus::ObjectForward | LocateStatus::ObjectForwardPerm => {
            Answer::Elsewhere(Elsewhere::Reference(Ior::decode(decoder)?))
        }
        LocateStatus::SystemException => Answer::Raised(SystemException::decode_reply(decoder)?),
        LocateStatus::NeedsAddressingMode => Answer::Elsewhere(Elsewhere::Addressing(
            AddressingDisposition::decode(decoder).map_err(malformed)?,
        )),
    })
}

fn send(
    orb: &Orb,
    connection: &mut ClientConnection,
    ior: &Ior,
    target: &Target,
    clock: &mut Clock,
) -> Result<u32, CallFailure> {
    let request_id = connection.next_request_id();
    let mut encoder = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(target.version);
    let profiles = tagged_profiles(ior);
    let header = LocateRequestHeader { request_id, target: addressed(target, ior, &profiles) };
    let written = write_locate_request(&mut encoder, &header)
        .and_then(|start| finish_message(&mut encoder, start));
    let sent = match written {
        Ok(()) => send_in_time(orb, connection, &encoder, target, clock)
            .map_err(|error| not_sent(&LOCATE, target, &error)),
        Err(error) => Err(SystemException::from(error).into()),
    };
    sent.map(|()| request_id)
}

#[cold]
fn unanswered(target: &Target, why: &str) -> CallFailure {
    SystemException::comm_failure(minor::COMM_FAILURE_PROTOCOL, CompletionStatus::No)
        .with_detail(format!("{} did not answer a LocateRequest: {why}", target.pool.endpoint))
        .into()
}
