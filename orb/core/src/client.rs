//! The client half of a call: from a stub to the connection and back.
//!
//! `call` is the way of synchronous calls; `attempts` says which place is next and whether another
//! attempt is safe; `bind` turns a reference into targets; `write` writes requests; `reply` holds
//! the results; `fault` becomes an exception; `locate` asks without calling. `asynchronous` sends
//! calls whose reply goes to a `reply_sink`, to which `delivery` brings it.

mod asynchronous;
pub(crate) mod attempts;
mod bind;
mod call;
pub(crate) mod delivery;
mod fault;
mod locate;
mod object;
mod oneway;
mod own_loop;
mod pending_reply;
mod policies;
pub(crate) mod rebind;
mod reply;
mod reply_sink;
mod shared_call;
mod waiting;
mod write;

pub(crate) use asynchronous::{AwaitedCall, Route, invoke_async, invoke_deferred, invoke_on};
pub(crate) use bind::{Binding, Target, bind, first_object_key};
pub(crate) use call::invoke;
pub(crate) use fault::CallFault;
pub(crate) use locate::{locate, locate_with};
pub(crate) use object::BindingRef;
pub(crate) use oneway::invoke_oneway;
pub use pending_reply::PendingReply;
pub use reply::Reply;
pub use reply_sink::{Deliver, ReplySink};
pub(crate) use waiting::Waiting;
pub(crate) use write::copy_from;
