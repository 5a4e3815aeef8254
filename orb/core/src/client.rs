//! The client half of a call: from a stub to the connection and back.
//!
//! `invoke` is the way of every call; `bind` turns a reference into targets; `reply` holds the
//! results; `failure` says whether a call may be tried elsewhere; `locate` asks without calling.
//! `asynchronous` sends calls whose reply goes to a `reply_sink`, to which `delivery` brings it.

mod asynchronous;
mod bind;
mod clock;
pub(crate) mod delivery;
mod exchange;
mod failure;
mod invoke;
mod locate;
mod oneway;
mod pending_reply;
pub(crate) mod rebind;
mod reply;
mod reply_sink;
mod shared_call;
mod waiting;

pub(crate) use asynchronous::{
    PendingRequest, Route, invoke_async, invoke_deferred, invoke_if_room, invoke_on,
};
pub(crate) use bind::{Binding, Target, bind, first_object_key};
pub(crate) use clock::Clock;
pub(crate) use failure::{CallFailure, Retry};
pub(crate) use invoke::{Elsewhere, MAX_FORWARDS, fall_back, follow, invoke, too_many_forwards};
pub(crate) use locate::{locate, locate_with};
pub(crate) use oneway::invoke_oneway;
pub use pending_reply::PendingReply;
pub use reply::Reply;
pub use reply_sink::ReplySink;
#[cfg(feature = "messaging")]
pub use reply_sink::{ExceptionType, ReplyStub};
pub(crate) use waiting::Waiting;
