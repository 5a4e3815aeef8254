//! The client half of a call: from a stub to the connection and back.
//!
//! `invocation` is a call as its caller makes it, and the way of synchronous ones; `awaited_call`
//! the way of the others, which may have to leave `later`. `attempts` says which place is next and
//! whether another attempt is safe; `bind` turns a reference into targets, `policies` says what its
//! calls go by; `write` writes requests, `reply` holds the results, and `fault` becomes an
//! exception. `csi` says as which user calls are made. `deliver` brings replies to their sinks, of
//! which a `reply_slot` is one for threads that wait.

pub(crate) mod attempts;
mod awaited_call;
mod bind;
mod csi;
pub(crate) mod deliver;
mod fault;
mod invocation;
mod later;
mod own_loop;
mod policies;
mod protection;
mod raised;
mod reply;
mod reply_slot;
mod write;

pub(crate) use awaited_call::AwaitedCall;
pub(crate) use bind::{Binding, BindingRef, Target};
pub use csi::Credentials;
pub use deliver::{Deliver, ReplySink};
pub(crate) use fault::CallFault;
pub(crate) use invocation::Invocation;
pub use raised::{Members, Raised};
pub use reply::Reply;
pub use reply_slot::PendingReply;
pub(crate) use reply_slot::ReplySlot;
