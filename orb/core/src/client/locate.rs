//! Asks where an object is without calling it: `LocateRequest` (CORBA 3.3 P2 §9.4.5).
//!
//! Used by `Object::locate` and through it by `corbie ping`. Tried again and forwarded as a call
//! is.

use crate::client::Target;
use crate::client::attempts::{Answer, redirected_to};
use crate::client::call::{Exchange, over_exclusive};
use crate::client::fault::CallFault;
use crate::client::write::{addressed, tagged_profiles};
use crate::connection::{ClientConnection, ConnectionFault};
use crate::policy::CallPolicies;
use crate::{Object, Operation};
use corbie_cdr::Decoder;
use corbie_giop::{
    LocateRequestHeader, LocateStatus, MessageKind, finish_message, write_locate_request,
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
    over_exclusive(object, &LOCATE, policies, ask)
}

/// One question and its answer.
fn ask(mut exchange: Exchange<'_>, ior: &Ior) -> Result<Answer<()>, CallFault> {
    let target = exchange.target;
    let id = exchange.send(|encoder, request_id, target| {
        let profiles = tagged_profiles(ior);
        let header = LocateRequestHeader { request_id, target: addressed(target, ior, &profiles) };
        write_locate_request(encoder, &header).and_then(|start| finish_message(encoder, start))
    })?;
    let (status, body) = exchange.answer(id, |message| {
        let is_answer = message.header.kind == MessageKind::LocateReply;
        is_answer.then(|| {
            let (header, decoder) = message.locate_reply()?;
            Ok((header.request_id, (header.status, decoder.position())))
        })
    })?;
    let message = exchange.connection.peek().and_then(ClientConnection::message);
    let message = message.ok_or_else(ConnectionFault::gone)?;
    let mut decoder = Decoder::with_position(message.octets, body, message.header.order);
    decoder.set_version(message.header.version);
    Ok(read(status, &mut decoder, target)?)
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
            SystemException::object_not_exist(
                minor::OBJECT_NOT_EXIST_UNKNOWN,
                CompletionStatus::No,
            )
            .with_detail(format!("{} does not know the object", target.pool.endpoint)),
        ),
        LocateStatus::SystemException => Answer::Raised(SystemException::decode_reply(decoder)?),
        LocateStatus::ObjectForward | LocateStatus::ObjectForwardPerm => {
            redirected_to(decoder, false)?
        }
        LocateStatus::NeedsAddressingMode => redirected_to(decoder, true)?,
    })
}
