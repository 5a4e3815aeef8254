//! What the CORBA Messaging specification defines beside the calls themselves: exception holders,
//! pollers, pollable sets and the base of all reply handlers.
//!
//! Generated code builds on it (`sendc_…`, `sendp_…`, `…_async`); the calls go through
//! `client/asynchronous`. CORBA Messaging §22.6 to §22.10; paper AMI §1, §2.

mod exception_holder;
mod pollable;
mod pollable_set;
mod poller;
mod reply_future;
mod reply_handler;
mod value_header;

pub(crate) use exception_holder::reply_body_as;
pub use exception_holder::{ExceptionHolder, Raised};
pub use pollable::Pollable;
pub(crate) use pollable_set::Membership;
pub use pollable_set::{GetReadyPollableError, PollableSet, UnknownPollable};
pub use poller::{Poller, TypedPoller};
pub use reply_future::ReplyFuture;
pub use reply_handler::{ReplyHandler, ReplyHandlerServant, ReplyTo};
