//! The suites of calls once more, in a message protocol that an application brings along
//! (`examples/protocol/crc.rs`), over unix-domain sockets alone: see `gioplite.rs`.
//!
//! What such a protocol alone does is tested in `message_protocols.rs`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "asynchronous.rs"]
mod asynchronous;
#[path = "buffering.rs"]
mod buffering;
#[path = "calls.rs"]
mod calls;
#[path = "dynamic.rs"]
mod dynamic;
#[path = "interceptors.rs"]
mod interceptors;
#[path = "order.rs"]
mod order;
#[path = "strategies.rs"]
mod strategies;
