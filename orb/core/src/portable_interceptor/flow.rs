//! The flow stack (CORBA 3.3 P1 §16.3.2, §16.3.3): which interceptors see the end of a request, in
//! which order, and what they see after one of them has changed it.
//!
//! An interceptor whose starting point raised nothing is on the stack. At the end each of the stack
//! is called, the last first, by what the end is when its turn comes.

use crate::Object;
use corbie_types::{SystemException, minor};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `PortableInterceptor::ForwardRequest`: the request is to be sent to another object instead.
#[derive(Clone, Debug)]
pub struct ForwardRequest {
    /// Where it goes.
    pub forward: Object,
}

impl fmt::Display for ForwardRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an interceptor forwards the request to {}", self.forward)
    }
}

impl std::error::Error for ForwardRequest {}

/// What an interceptor raises to end a request, or to change its end.
#[derive(Clone, Debug)]
pub enum Interruption {
    /// The client gets this exception.
    System(SystemException),
    /// The request goes to another object.
    Forward(ForwardRequest),
}

impl From<SystemException> for Interruption {
    fn from(exception: SystemException) -> Self {
        Interruption::System(exception)
    }
}

impl From<ForwardRequest> for Interruption {
    fn from(forward: ForwardRequest) -> Self {
        Interruption::Forward(forward)
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interruption::System(exception) => exception.fmt(f),
            Interruption::Forward(forward) => forward.fmt(f),
        }
    }
}

impl std::error::Error for Interruption {}

/// How a request ended (`PortableInterceptor::ReplyStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ReplyStatus {
    /// With results; in `receive_other` and `send_other`: without any, as none are expected (yet).
    Successful = 0,
    /// With a system exception.
    SystemException = 1,
    /// With a user exception.
    UserException = 2,
    /// It goes to another object.
    LocationForward = 3,
    /// It is sent again to the same object.
    TransportRetry = 4,
    /// What became of it is not known.
    Unknown = 5,
}

/// How a request ended, with what belongs to it.
#[derive(Clone, Debug)]
pub(crate) enum FlowEnd {
    Results,
    /// With the user exception of this repository id.
    UserException(String),
    SystemException(SystemException),
    Forward(Object),
    Retry,
    /// None is expected, or not yet.
    WithoutReply,
    /// A oneway that waits to be sent.
    Unknown,
}

/// The interception point that an ending leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndingPoint {
    Reply,
    Exception,
    Other,
}

impl FlowEnd {
    pub(crate) fn point(&self) -> EndingPoint {
        match self {
            FlowEnd::Results => EndingPoint::Reply,
            FlowEnd::UserException(_) | FlowEnd::SystemException(_) => EndingPoint::Exception,
            FlowEnd::Forward(_) | FlowEnd::Retry | FlowEnd::WithoutReply | FlowEnd::Unknown => {
                EndingPoint::Other
            }
        }
    }

    pub(crate) fn status(&self) -> ReplyStatus {
        match self {
            FlowEnd::Results | FlowEnd::WithoutReply => ReplyStatus::Successful,
            FlowEnd::UserException(_) => ReplyStatus::UserException,
            FlowEnd::SystemException(_) => ReplyStatus::SystemException,
            FlowEnd::Forward(_) => ReplyStatus::LocationForward,
            FlowEnd::Retry => ReplyStatus::TransportRetry,
            FlowEnd::Unknown => ReplyStatus::Unknown,
        }
    }
}

impl From<Interruption> for FlowEnd {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::System(exception) => FlowEnd::SystemException(exception),
            Interruption::Forward(forward) => FlowEnd::Forward(forward.forward),
        }
    }
}

/// How many interceptors are on the stack: always the first ones of the list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowStack(usize);

impl FlowStack {
    /// Calls the starting point of each of `count` interceptors, until one raises something.
    ///
    /// # Errors
    /// What that was: neither it nor those after it are on the stack.
    pub(crate) fn wind(
        &mut self,
        count: usize,
        mut start: impl FnMut(usize) -> Result<(), Interruption>,
    ) -> Result<(), Interruption> {
        self.0 = 0;
        for index in 0..count {
            guarded(|| start(index))?;
            self.0 = index + 1;
        }
        Ok(())
    }

    /// Calls the ending point of each interceptor of the stack, which is empty afterwards; whether
    /// one of them changed the ending.
    pub(crate) fn unwind(
        &mut self,
        ending: &mut FlowEnd,
        mut end: impl FnMut(usize, &FlowEnd) -> Result<(), Interruption>,
    ) -> bool {
        let mut is_changed = false;
        while let Some(index) = self.0.checked_sub(1) {
            self.0 = index;
            if let Err(interruption) = guarded(|| end(index, ending)) {
                *ending = interruption.into();
                is_changed = true;
            }
        }
        is_changed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

/// Calls an interceptor: one that panics fails its one request.
pub(crate) fn guarded(
    point: impl FnOnce() -> Result<(), Interruption>,
) -> Result<(), Interruption> {
    catch_unwind(AssertUnwindSafe(point)).unwrap_or_else(|_| {
        tracing::error!("an interceptor panicked");
        Err(minor::UNKNOWN_INTERCEPTOR_PANIC.no("an interceptor panicked").into())
    })
}

/// Calls what can raise nothing.
pub(crate) fn quiet(call: impl FnOnce()) {
    let _ = guarded(|| {
        call();
        Ok(())
    });
}

#[cfg(test)]
mod tests;
