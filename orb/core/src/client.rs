//! The client half of a call: from a stub to the connection and back.
//!
//! `invoke` is the way of every call; `bind` turns a reference into targets; `reply` holds the
//! results; `failure` says whether a call may be tried elsewhere; `locate` asks without calling.

mod bind;
mod clock;
mod exchange;
mod failure;
mod invoke;
mod locate;
mod reply;

pub(crate) use bind::{Binding, Target, bind, first_object_key};
pub(crate) use clock::Clock;
pub(crate) use failure::{CallFailure, Retry};
pub(crate) use invoke::{invoke, invoke_oneway};
pub(crate) use locate::locate;
pub use reply::Reply;
