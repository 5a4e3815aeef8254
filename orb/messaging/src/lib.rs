//! What the CORBA Messaging specification and the dynamic interfaces add to calls: reply handlers,
//! exception holders, pollers, pollable sets, futures; requests and servants without stubs.
//!
//! Generated code builds on it (`sendc_…`, `sendp_…`, `…_async`); the calls are those of
//! `orb/core`, which knows this crate by its traits `Deliver` and `Part` only.
//! CORBA Messaging §22.6 to §22.10; CORBA 3.3 P1 §11, §12; paper AMI §1, §2.
#![forbid(unsafe_code)]

// layers: reply_future pollable < exception_holder pollable_set < delivery < reply_handler
//    < poller < dynamic
#[cfg(feature = "messaging")]
mod delivery;
#[cfg(feature = "dynamic")]
pub mod dynamic;
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

pub use reply_future::ReplyFuture;

#[cfg(feature = "messaging")]
pub use delivery::{ExceptionType, ReplyStub};
#[cfg(feature = "messaging")]
pub use exception_holder::{ExceptionHolder, Raised};
#[cfg(feature = "messaging")]
pub use pollable::Pollable;
#[cfg(feature = "messaging")]
pub use pollable_set::{GetReadyPollableError, PollableSet, UnknownPollable};
#[cfg(feature = "messaging")]
pub use poller::{Poller, TypedPoller};
#[cfg(feature = "messaging")]
pub use reply_handler::{ReplyHandler, ReplyHandlerServant, ReplyTo};
