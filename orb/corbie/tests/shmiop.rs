//! The suites of calls once more, over shared memory: what an application sees is the same (paper
//! POA §3.3). `echo/mod.rs` has servers listen for both, and references name shared memory first,
//! as this test crate has the name that it has.
//!
//! What shared memory alone does is tested in `shmiop_endpoints.rs` and in `transport/tests`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "amh.rs"]
mod amh;
#[path = "asynchronous.rs"]
mod asynchronous;
#[path = "asynchronous_edges.rs"]
mod asynchronous_edges;
#[path = "asynchronous_failures.rs"]
mod asynchronous_failures;
#[path = "attempts.rs"]
mod attempts;
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
#[path = "qos.rs"]
mod qos;
#[path = "strategies.rs"]
mod strategies;
