//! The recorder: a reply handler of this process that others send replies to, and calls of reply
//! handlers in other processes. Activated by `host`; `deliver` is used by the client, too.

use super::handler::Recorded;
use super::{nil, numbers, work};
use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{AmiCallsHandler, Calls, Delivery, Nothing, RecorderServant, Refused};
use crate::peer::servants::Side;
use crate::values::Different;
use corbie::messaging::ExceptionHolder;
use corbie::{Marshal, Object, Orb, SystemException};
use std::time::Duration;

pub(super) struct RecorderOne {
    orb: Orb,
    handler: Object,
    recorded: Recorded,
}

impl RecorderOne {
    pub(super) fn new(side: &Side) -> Result<RecorderOne, Different> {
        let recorded = Recorded::new(side)?;
        let handler = recorded.handler.as_object().clone();
        Ok(RecorderOne { orb: side.orb.clone(), handler, recorded })
    }
}

/// The handler, without asking: JacORB's have other repository ids.
fn handler(to: Option<&Object>) -> Result<AmiCallsHandler, SystemException> {
    Ok(AmiCallsHandler::unchecked_narrow(to.ok_or_else(nil)?.clone()))
}

/// Calls `work` or `work_excep` of that `AMI_CallsHandler`, as the reply of work(number) does.
pub(super) fn deliver(orb: &Orb, to: Option<&Object>, number: i32) -> Result<(), SystemException> {
    let to = handler(to)?;
    let holder = match work(number, &numbers(1, 3)) {
        Ok((item, some, text)) => return to.work(&item, &some, &text),
        Err(WorkError::Refused(e)) => {
            ExceptionHolder::of_user(orb, Refused::REPOSITORY_ID, &|out| Refused::encode(&e, out))
        }
        Err(WorkError::Nothing(e)) => {
            ExceptionHolder::of_user(orb, Nothing::REPOSITORY_ID, &|out| Nothing::encode(&e, out))
        }
        Err(WorkError::System(e)) => ExceptionHolder::of_system(&e),
    }?;
    to.work_excep(&holder)
}

impl RecorderServant for RecorderOne {
    fn handler(&self) -> Result<Option<Object>, SystemException> {
        Ok(Some(self.handler.clone()))
    }

    fn next(&self, milliseconds: u32) -> Result<(bool, Delivery), SystemException> {
        let time = Duration::from_millis(milliseconds.into());
        let delivery = self.recorded.next_in(time);
        Ok((delivery.is_some(), delivery.unwrap_or_default()))
    }

    fn deliver(&self, to: Option<&Object>, number: i32) -> Result<(), SystemException> {
        deliver(&self.orb, to, number)
    }

    fn send(
        &self,
        target: Option<&Calls>,
        to: Option<&Object>,
        number: i32,
    ) -> Result<(), SystemException> {
        target.ok_or_else(nil)?.sendc_work(&handler(to)?, number, &numbers(1, 3))
    }
}
