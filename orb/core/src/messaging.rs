//! What the CORBA Messaging specification defines beside the calls themselves: exception holders,
//! pollers, pollable sets and the base of all reply handlers.
//!
//! Generated code builds on it (`sendc_…`, `sendp_…`, `…_async`); the calls go through
//! `client/asynchronous`. CORBA Messaging §22.6 to §22.10; paper AMI §1, §2.

#[cfg(feature = "messaging")]
mod exception_holder;
#[cfg(feature = "messaging")]
mod pollable;
#[cfg(feature = "messaging")]
mod pollable_set;
#[cfg(feature = "messaging")]
mod poller;
mod reply_future;
#[cfg(feature = "messaging")]
mod reply_handler;
#[cfg(feature = "messaging")]
mod value_header;

pub use reply_future::ReplyFuture;

#[cfg(feature = "messaging")]
mod whole {
    pub(crate) use super::exception_holder::reply_body_as;
    pub use super::exception_holder::{ExceptionHolder, Raised};
    pub use super::pollable::Pollable;
    pub(crate) use super::pollable_set::Membership;
    pub use super::pollable_set::{GetReadyPollableError, PollableSet, UnknownPollable};
    pub use super::poller::{Poller, TypedPoller};
    pub use super::reply_handler::{ReplyHandler, ReplyHandlerServant, ReplyTo};
}
#[cfg(feature = "messaging")]
pub use whole::*;
#[cfg(feature = "messaging")]
pub(crate) use whole::{Membership, reply_body_as};
