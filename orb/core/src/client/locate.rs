//! Asks where an object is without calling it: `LocateRequest` (CORBA 3.3 P2 §9.4.5).
//!
//! Used by `Object::locate` and through it by `corbie ping`.

use crate::client::Target;
use crate::client::exchange::{addressed, tagged_profiles};
use crate::client::invoke::{Elsewhere, circle, count_forward, follow};
use crate::connection::{ClientConnection, PooledConnection};
use crate::{Object, Operation};
use corbie_cdr::Marshal as _;
use corbie_giop::{
    AddressingDisposition, LocateRequestHeader, LocateStatus, MessageKind, finish_message,
    write_locate_request,
};
use corbie_types::{CompletionStatus, Ior, SystemException};
use std::time::{Duration, Instant};

const LOCATE: Operation = Operation::twoway("LocateRequest");

/// Finds the object, following forwards, which are remembered for later calls.
///
/// # Errors
/// `OBJECT_NOT_EXIST` when the server does not know it, else as [`Object::invoke`].
pub(crate) fn locate(object: &Object) -> Result<(), SystemException> {
    let timeout = object.orb().settings().request_timeout;
    let mut forwards = 0;
    loop {
        let binding = object.binding()?;
        let now = Instant::now();
        let deadline = timeout.and_then(|timeout| now.checked_add(timeout));
        let mut last = None;
        let mut answer = None;
        for attempt in 0..binding.targets() {
            let target = binding.target(attempt);
            match target.pool.take(object.orb(), now, deadline) {
                Ok(connection) => {
                    answer = Some(ask(object, connection, target, timeout)?);
                    break;
                }
                Err(failure) => last = Some(failure.exception),
            }
        }
        match (answer, last) {
            (Some(None), _) => return Ok(()),
            (Some(Some(elsewhere)), _) => {
                forwards = count_forward(forwards, &LOCATE, circle(&LOCATE))?;
                follow(object, &binding, elsewhere)?;
            }
            (None, Some(exception)) => return Err(exception),
            (None, None) => return Err(no_answer("the reference has no address")),
        }
    }
}

/// One question and its answer; `None`: the object is there.
fn ask(
    object: &Object,
    mut pooled: PooledConnection,
    target: &Target,
    timeout: Option<Duration>,
) -> Result<Option<Elsewhere>, SystemException> {
    let Some(connection) = pooled.get() else { return Err(no_answer("no connection")) };
    let id = send(connection, object.ior(), target)?;
    connection.link.set_receive_timeout(timeout).map_err(|error| no_answer(&error))?;
    connection.receive(timeout).map_err(|failure| no_answer(&format_args!("{failure:?}")))?;
    let Some(message) = connection.message() else { return Err(no_answer("no message")) };
    if message.header.kind != MessageKind::LocateReply {
        return Err(no_answer(&format_args!("{:?} came instead", message.header.kind)));
    }
    let malformed = |error: corbie_giop::GiopError| error.to_system_exception(CompletionStatus::No);
    let (header, mut decoder) = message.locate_reply().map_err(malformed)?;
    if header.request_id != id {
        return Err(no_answer("the reply is to another request"));
    }
    let elsewhere = match header.status {
        LocateStatus::ObjectHere => None,
        LocateStatus::UnknownObject => {
            return Err(SystemException::object_not_exist(0, CompletionStatus::No)
                .with_detail(format!("{} does not know the object", target.pool.endpoint)));
        }
        LocateStatus::ObjectForward | LocateStatus::ObjectForwardPerm => {
            Some(Elsewhere::Reference(Ior::decode(&mut decoder)?))
        }
        LocateStatus::SystemException => return Err(SystemException::decode_reply(&mut decoder)?),
        LocateStatus::NeedsAddressingMode => Some(Elsewhere::Addressing(
            AddressingDisposition::decode(&mut decoder).map_err(malformed)?,
        )),
    };
    pooled.set_reusable();
    Ok(elsewhere)
}

fn send(
    connection: &mut ClientConnection,
    ior: &Ior,
    target: &Target,
) -> Result<u32, SystemException> {
    let request_id = connection.next_request_id();
    let mut encoder = connection.encoder();
    encoder.set_version(target.version);
    let profiles = tagged_profiles(ior);
    let header = LocateRequestHeader { request_id, target: addressed(target, ior, &profiles) };
    let start = write_locate_request(&mut encoder, &header)?;
    finish_message(&mut encoder, start)?;
    let sent = connection.send(&encoder, None);
    connection.keep_buffer(encoder.into_buffer());
    sent.map_err(|error| no_answer(&error))?;
    Ok(request_id)
}

#[cold]
fn no_answer(why: &(impl std::fmt::Display + ?Sized)) -> SystemException {
    SystemException::comm_failure(0, CompletionStatus::No)
        .with_detail(format!("the LocateRequest was not answered: {why}"))
}
