//! References for people and scripts: what `corbie ior dump` shows.
//!
//! `read` gets the reference behind any URL, `facts` is its content as JSON, `ping` asks each
//! address. The tree in words is `Ior::describe`, drawn by `crate::tree`.

mod facts;
mod ping;
pub(crate) mod probe;
mod read;

pub(crate) use facts::facts;
pub(crate) use ping::{Answer, ping};
pub(crate) use read::read;
