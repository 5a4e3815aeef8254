//! The suites of calls once more, over unix-domain sockets (paper POA §3.3): what an application sees
//! is the same. `echo/mod.rs` has servers listen on one, as this test crate has the name that it has.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "amh.rs"]
mod amh;
#[path = "asynchronous.rs"]
mod asynchronous;
#[path = "asynchronous_failures.rs"]
mod asynchronous_failures;
#[path = "buffering.rs"]
mod buffering;
#[path = "calls.rs"]
mod calls;
#[path = "cancellation.rs"]
mod cancellation;
#[path = "dynamic.rs"]
mod dynamic;
#[path = "interceptors.rs"]
mod interceptors;
#[path = "order.rs"]
mod order;
#[path = "strategies.rs"]
mod strategies;
