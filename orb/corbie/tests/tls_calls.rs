//! The suites of calls once more, over TLS with certificates on both sides: what an application sees
//! is the same, in each concurrency and wait strategy. `echo/mod.rs` has servers listen for it, as
//! this test crate has the name that it has. What TLS alone does is tested in `tls.rs`.
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
#[path = "order.rs"]
mod order;
#[path = "qos.rs"]
mod qos;
#[path = "strategies.rs"]
mod strategies;
