//! The suites of calls once more, in a message protocol that an application brings along
//! (`examples/protocol/crc.rs`), over TCP: see `gioplite.rs`.
//!
//! What such a protocol alone does is tested in `message_protocols.rs`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "amh.rs"]
mod amh;
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
#[path = "qos.rs"]
mod qos;
#[path = "strategies.rs"]
mod strategies;
